//! The lines of the table, as long as they are: the face fits them to the terminal.

use std::time::Duration;

use windlass_read::words::{count, cut, name, span};

use super::Watch;
use crate::agents::now;
use crate::face::is_unicode;
use crate::out::Style;

/// Questions that are shown at once.
const QUESTIONS: usize = 10;
/// Characters of a question in its line.
const SHORT: usize = 160;
/// Characters of the run's first message there.
const TITLE: usize = 40;
/// Time after which a look that has not come is told of.
const LATE: Duration = Duration::from_secs(5);
/// What keys do.
const KEYS: [&str; 3] = ["Up, Down choose a question", "Enter answers it", "q leaves"];

impl Watch {
    /// All lines, the one with the state of the watch first.
    pub(super) fn rows(&self) -> Vec<(Style, String)> {
        let mut rows = vec![(Style::Dim, self.head())];
        let Some(look) = &self.look else { return rows };
        let chosen = self.place();
        let first = (chosen + 1).saturating_sub(QUESTIONS);
        for (place, run) in look.inbox.iter().enumerate().skip(first).take(QUESTIONS) {
            let (mark, weight) = if place == chosen { (">", Style::Bold) } else { (" ", Style::Plain) };
            // The id of the call tells a person nothing.
            let question = run.headline.question.as_deref().unwrap_or_default();
            let question = cut(question.rsplit_once(" (call ").map_or(question, |(words, _)| words), SHORT);
            let title = cut(&run.title, TITLE);
            let age = span(now().saturating_sub(run.updated_at));
            rows.push((weight, format!("{mark} {} asks: {question} ({title}, {age})", name(&run.agent))));
        }
        rows.push((Style::Plain, String::new()));
        if look.table.is_empty() {
            rows.push((Style::Plain, self.answers.source.args.no_runs()));
        }
        let table = look.table.iter().enumerate();
        rows.extend(
            table.map(|(place, line)| (if place == 0 { Style::Dim } else { Style::Plain }, line.clone())),
        );
        rows
    }

    /// What matters most first: a narrow terminal shows the beginning.
    fn head(&self) -> String {
        let mut parts = Vec::new();
        let late = self.reached.elapsed();
        if self.is_away || late >= LATE {
            parts.push(format!("not reached for {} s", late.as_secs()));
        }
        if !self.driven.is_empty() {
            let runs = self.driven.len() as u64;
            let goes = if runs == 1 { "goes" } else { "go" };
            let then = match (self.leaves, runs) {
                (false, _) => "",
                (true, 1) => ": q again leaves it, and its end ends the watch",
                (true, _) => ": q again leaves them, and their end ends the watch",
            };
            parts.push(format!("{} {goes} on here{then}", count(runs, "run")));
        }
        match &self.look {
            Some(look) => parts.push(count(look.inbox.len() as u64, "question")),
            None => parts.push("reading the runs".to_owned()),
        }
        parts.extend(KEYS.map(str::to_owned));
        parts.join(if is_unicode() { " · " } else { " | " })
    }
}
