//! Work in progress: calls with their time, the wait, and everything of the calls that have ended.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use windlass_core::event::Millis;
use windlass_core::message::{Content, Part};
use windlass_core::{CallOutcome, RunId};
use windlass_read::words::{count, outcome, span};
use windlass_terminal::markdown::Look;
use windlass_terminal::rows::{Cut, Margin, fitted, width, wrapped};
use windlass_terminal::{Color, Line, Modifier, Span, Style};

use crate::waiting::picture;

/// Calls whose whole text is kept for those who want to see it.
const DETAILS: usize = 32;
/// The most bytes that are kept of such a text: 256 KiB.
const DETAIL_BYTES: usize = 256 * 1024;
/// Digits of a digest that name a text.
const DIGITS: usize = 12;
/// Calls that are shown one by one; the others are counted.
const CALLS: usize = 6;

/// A call that has begun.
#[derive(Debug)]
struct Call {
    id: String,
    name: String,
    args: String,
    /// `None`: it does not run.
    since: Option<Instant>,
}

/// Work in progress.
#[derive(Debug, Default)]
pub(super) struct Live {
    calls: Vec<Call>,
    /// The event that the run waits for, and the time since when.
    pub(super) wait: Option<(String, Millis)>,
    /// Whether the end of the input was asked for while a call runs: the next time it is meant.
    pub(super) leaves: bool,
    /// Calls that have ended: what they were, and their result.
    details: VecDeque<(String, String)>,
}

impl Live {
    pub(super) fn begin(&mut self, id: &str, name: &str, args: &str) {
        // Another try takes the place of the one before.
        self.calls.retain(|call| call.id != id);
        self.push(id, name, args, Some(Instant::now()));
    }

    pub(super) fn never_began(&mut self, id: &str, name: &str, args: &str) {
        self.push(id, name, args, None);
    }

    fn push(&mut self, id: &str, name: &str, args: &str, since: Option<Instant>) {
        self.calls.push(Call { id: id.to_owned(), name: name.to_owned(), args: args.to_owned(), since });
    }

    /// The name of a call that runs.
    pub(super) fn running(&self) -> Option<&str> {
        self.calls.iter().find(|call| call.since.is_some()).map(|call| call.name.as_str())
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.calls.iter().any(|call| call.id == id)
    }

    /// The line of a call that has ended. `None`: it had not begun here.
    pub(super) fn end(&mut self, id: &str, result: &str, failed: bool, look: Look) -> Option<Line<'static>> {
        let at = self.calls.iter().position(|call| call.id == id)?;
        let call = self.calls.remove(at);
        let (mark, colour) = match (failed, look.unicode) {
            (false, true) => ("✓ ", Color::Green),
            (true, true) => ("✗ ", Color::Red),
            (false, false) => ("ok ", Color::Green),
            (true, false) => ("failed ", Color::Red),
        };
        let mark = Span::styled(mark, Style::new().fg(colour));
        let arrow = if look.unicode { " → " } else { " -> " };
        let took = call.since.map(|since| format!("  {}", span(since.elapsed().as_millis() as u64)));
        let time = took.unwrap_or_default();
        let mut lines = result.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or_default();
        let more = match lines.count() {
            0 => String::new(),
            more => format!(" (+{}, Ctrl-O)", count(more as u64, "line")),
        };
        let others = mark.width() + width(&time) + width(arrow) + width(&more);
        let room = look.columns.saturating_sub(others);
        let result = fitted(first, room.saturating_sub(width(&call.name) + 1).max(room / 2));
        let mut row = vec![mark];
        row.extend(call.words(room.saturating_sub(width(&result))));
        let more = Span::styled(more, dim());
        row.extend([Span::raw(arrow), Span::raw(result), more, Span::styled(time, dim())]);
        Some(Line::from(row))
    }

    /// Nothing goes on any more.
    pub(super) fn rest(&mut self) {
        self.calls.clear();
        self.wait = None;
        self.leaves = false;
    }

    pub(super) fn is_moving(&self) -> bool {
        self.wait.is_some() || !self.calls.is_empty()
    }

    pub(super) fn detail(&mut self, title: &str, text: &str) {
        if self.details.len() == DETAILS {
            self.details.pop_front();
        }
        self.details.push_back((bounded(title), bounded(text)));
    }

    /// Everything of the calls that have ended since this was asked for last.
    pub(super) fn details(&mut self, look: Look) -> Vec<Line<'static>> {
        let margin = Margin { first: vec![Span::raw("  ")], rest: vec![Span::raw("  ")] };
        let mut rows = Vec::new();
        for (title, text) in std::mem::take(&mut self.details) {
            let bold = Style::new().add_modifier(Modifier::BOLD);
            rows.extend(wrapped(&[Span::styled(title, bold)], look.columns, &Margin::default(), Cut::Words));
            for line in text.trim_end_matches('\n').split('\n') {
                let line = Span::styled(line.to_owned(), dim());
                rows.extend(wrapped(&[line], look.columns, &margin, Cut::Anywhere));
            }
        }
        for call in self.calls.iter().filter(|call| call.since.is_some()) {
            let (bold, title) =
                (Style::new().add_modifier(Modifier::BOLD), format!("{} {}", call.name, call.args));
            let parts = [Span::styled(title, bold), Span::styled("  it is running", dim())];
            rows.extend(wrapped(&parts, look.columns, &Margin::default(), Cut::Words));
        }
        rows
    }

    /// The rows at that time.
    pub(super) fn rows(&self, now: Millis, look: Look) -> Vec<Line<'static>> {
        let spinner = picture(now, look.unicode);
        let mut rows = Vec::new();
        for call in self.calls.iter().take(CALLS) {
            let time = call.since.map(|since| format!("  {}", seconds(since.elapsed()))).unwrap_or_default();
            let room = look.columns.saturating_sub(2 + width(&time));
            let mut row = vec![Span::styled(format!("{spinner} "), Style::new().fg(Color::Cyan))];
            row.extend(call.words(room));
            row.push(Span::styled(time, dim()));
            rows.push(Line::from(row));
        }
        if self.calls.len() > CALLS {
            let more = format!("  … {} more", self.calls.len() - CALLS);
            rows.push(Line::styled(more, dim()));
        }
        // A line for each call says what is waited for.
        if let Some((what, since)) = self.wait.as_ref().filter(|_| self.calls.is_empty()) {
            let elapsed = now.saturating_sub(*since) / 1_000;
            let dot = if look.unicode { " · " } else { " - " };
            let (time, hint) = (format!("{dot}{elapsed} s"), format!("{dot}Ctrl-C stops"));
            let room = look.columns.saturating_sub(2 + width(&time));
            // The time is worth more than the hint.
            let hint = if width(what) + width(&hint) <= room { hint } else { String::new() };
            rows.push(Line::styled(format!("{spinner} {}{time}{hint}", fitted(what, room)), dim()));
        }
        rows
    }
}

impl Call {
    /// Its name and as much of its arguments as fits.
    fn words(&self, room: usize) -> Vec<Span<'static>> {
        let name = fitted(&self.name, room);
        let left = room.saturating_sub(width(&name) + 1);
        let args = if left > 3 { format!(" {}", fitted(&self.args, left)) } else { String::new() };
        vec![Span::styled(name, Style::new().add_modifier(Modifier::BOLD)), Span::styled(args, dim())]
    }
}

/// Everything that is known of an outcome. Of a long text these are its ends, and the command that writes it to a file.
pub(super) fn whole(ended: &CallOutcome, artifacts: &str) -> String {
    let CallOutcome::Ok { content: Content::Parts(parts) } = ended else { return outcome(ended) };
    let words = parts.iter().map(|part| match part {
        Part::Text { text } => text.to_string(),
        Part::Stored(stored) => {
            let left = stored.bytes.saturating_sub((stored.head.len() + stored.tail.len()) as u64);
            let digits = stored.sha256.get(..DIGITS).unwrap_or(&stored.sha256);
            let command = format!("`{artifacts} {digits} --to FILE` writes all of it to a file");
            format!("{}\n… {}: {command}\n{}", stored.head, count(left, "more byte"), stored.tail)
        }
        Part::Image(media) | Part::File(media) => format!("[{}]", media.media_type),
    });
    words.collect::<Vec<_>>().join("\n")
}

/// The command that lists the long texts of a run. The end of its id denotes it.
pub(crate) fn artifacts(log: &str, run: RunId) -> String {
    let id = run.to_string();
    let end = id.rsplit('-').next().unwrap_or(&id);
    format!("windlass runs artifacts{log} {end}")
}

/// The text up to [`DETAIL_BYTES`].
fn bounded(text: &str) -> String {
    let mut end = text.len().min(DETAIL_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (kept, rest) = text.split_at(end);
    format!("{kept}{}", if rest.is_empty() { "" } else { "\n…" })
}

fn seconds(elapsed: Duration) -> String {
    format!("{} s", elapsed.as_secs())
}

pub(super) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}
