//! The lines of the table, as long as they are: the face fits them to the terminal.

use std::time::Duration;

use windlass_read::words::{count, cut, name, span};

use super::Watch;
use super::looks::Waiting;
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
/// The keys and their effects.
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
            let line = &run.line;
            let question = cut(&without_call(line.headline.question.as_deref().unwrap_or_default()), SHORT);
            let title = cut(&run.title, TITLE);
            let age = span(now().saturating_sub(line.updated_at));
            rows.push((weight, format!("{mark} {} asks: {question} ({title}, {age})", name(&line.agent))));
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

    /// The counts, the most important one first: a narrow terminal shows the beginning.
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

impl Waiting {
    /// The run as people tell it from others.
    pub(super) fn label(&self) -> String {
        format!("run {} of {}: {}", self.short, name(&self.line.agent), cut(&self.title, TITLE))
    }
}

/// A question without the id of its call, which tells a person nothing: of an approval it stands behind the arguments, of a call in
/// doubt before them.
fn without_call(question: &str) -> String {
    const CALL: &str = " (call ";
    let place = match question {
        approval if approval.starts_with("May `") => question.rfind(CALL),
        doubt if doubt.starts_with('`') => question.find(CALL),
        _ => None,
    };
    let parts = place.and_then(|place| {
        let (before, call) = question.split_at_checked(place)?;
        Some((before, call.split_once(')')?.1))
    });
    parts.map_or_else(|| question.to_owned(), |(before, after)| format!("{before}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_call_is_left_out_and_nothing_else() {
        for (question, without) in [
            (
                "May `pay` run with {\"to\":\"x (call y)\"}? (call c1)",
                "May `pay` run with {\"to\":\"x (call y)\"}?",
            ),
            (
                "May `pay` run with {}? (call c1) You are asked again.",
                "May `pay` run with {}? You are asked again.",
            ),
            (
                "`pay` (call c1) had started with {\"to\":\"(call y)\"}.",
                "`pay` had started with {\"to\":\"(call y)\"}.",
            ),
            ("Whom (call by name)?", "Whom (call by name)?"),
        ] {
            assert_eq!(without_call(question), without);
        }
    }
}
