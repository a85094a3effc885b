//! The rows of the tail, from its state.

use std::sync::OnceLock;
use std::time::Instant;

use windlass_runtime::{Environment as _, SystemEnvironment};
use windlass_terminal::markdown::Look;
use windlass_terminal::rows::{Cut, Margin, encoded, fitted, row_width, wrapped};
use windlass_terminal::screen::Tail;
use windlass_terminal::{Line, Modifier, Span, Style};

use super::State;
use super::live::dim;
use super::question::Asking;
use crate::out::{self, frames};

/// Rows that the person's message takes at most, in a terminal that has room for them.
const EDITOR_ROWS: usize = 10;

/// How text is drawn here.
pub(super) fn look() -> Look {
    let (columns, _) = frames::size();
    Look { columns: columns.saturating_sub(1).max(1), unicode: is_unicode(), colours: frames::has_colours() }
}

/// Whether the locale writes UTF-8 (POSIX: the first of these that is set and not empty).
pub(crate) fn is_unicode() -> bool {
    static UNICODE: OnceLock<bool> = OnceLock::new();
    *UNICODE.get_or_init(|| {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Whether the tail changes by itself.
pub(super) fn is_moving(state: &State) -> bool {
    state.live.is_moving() || state.asking.as_ref().is_some_and(Asking::is_moving)
}

/// Draws the tail, after everything that is finished.
pub(super) fn draw(state: &mut State) {
    if state.away > 0 {
        return;
    }
    let look = look();
    closed(state, look);
    let (_, height) = frames::size();
    frames::draw(tail(state, look, height.saturating_sub(1).max(1)));
    state.drawn = Instant::now();
    state.stale = false;
}

/// Finishes the blocks of the text that no further text can change.
pub(super) fn closed(state: &mut State, look: Look) {
    let closed = state.stream.closed(look);
    finish(state, Part::Text, &closed);
}

/// A part of what is finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Part {
    #[default]
    Message,
    Text,
    /// A text that is whole: the next one stands apart from it.
    WholeText,
    Call,
}

/// Adds finished rows. Text and calls have a blank row between them.
pub(super) fn finish(state: &mut State, part: Part, rows: &[Line<'static>]) {
    if rows.is_empty() {
        out::amid_block(state.stream.is_within());
        return;
    }
    if state.part != part && state.part != Part::Message {
        out::finished(&[Line::default()]);
    }
    state.part = part;
    out::finished(rows);
    out::amid_block(state.stream.is_within());
}

/// The person's message with the files that go with it, as it stands in the scrollback.
pub(super) fn echo(state: &mut State, text: &str, files: &[String]) {
    state.hint = None;
    state.part = Part::Message;
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let margin = Margin { first: vec![Span::styled("> ", dim())], rest: vec![Span::raw("  ")] };
    let mut rows = vec![Line::default()];
    rows.extend(wrapped(&[Span::styled(text.to_owned(), bold)], look().columns, &margin, Cut::Words));
    let with = Margin { first: vec![Span::raw("  ")], rest: vec![Span::raw("    ")] };
    for file in files {
        rows.extend(wrapped(&[Span::styled(format!("+ {file}"), dim())], look().columns, &with, Cut::Words));
    }
    rows.push(Line::default());
    out::finished(&rows);
}

/// The rows of a panel in a terminal of that size.
fn panel_rows(
    panel: &[(out::Style, String)],
    look: Look,
    most: usize,
) -> impl Iterator<Item = Line<'static>> + '_ {
    let row =
        move |(style, text): &(out::Style, String)| Line::styled(fitted(text, look.columns), style.on_row());
    panel.iter().take(most).map(row)
}

fn tail(state: &State, look: Look, height: usize) -> Tail {
    let now = SystemEnvironment.now();
    let mut bottom = if state.asking.is_some() { vec![Line::default()] } else { Vec::new() };
    let cursor = if let Some(asking) = &state.asking {
        asking.rows(look, height.saturating_sub(2), &mut bottom)
    } else if let Some(panel) = &state.panel {
        bottom.extend(panel_rows(panel, look, height));
        (0, 0)
    } else {
        let most = EDITOR_ROWS.min(height / 2).max(1);
        let (rows, cursor) = state.editor.rows("> ", look.columns, most);
        bottom.extend(rows);
        cursor
    };
    let status = match &state.hint {
        Some(hint) => fitted(hint, look.columns),
        None => fitted(&state.status.words(look.unicode), look.columns),
    };
    if state.panel.is_none() || state.hint.is_some() {
        bottom.push(Line::styled(status, dim()));
    }
    // A question is what is waited for.
    let mut moving = if state.asking.is_some() { Vec::new() } else { state.live.rows(now, look) };
    if let Some(panel) = state.panel.as_ref().filter(|_| state.asking.is_some()) {
        moving.extend(panel_rows(panel, look, height.saturating_sub(bottom.len() + 1)));
    }
    for message in &state.unheard {
        let text = format!("  not heard yet: {}", message.replace('\n', " "));
        moving.push(Line::styled(fitted(&text, look.columns), dim()));
    }
    if !moving.is_empty() || state.stream.has_begun() {
        moving.push(Line::default());
    }
    let room = height.saturating_sub(bottom.len());
    let kept = moving.len().min(room);
    let moving = moving.split_off(moving.len() - kept);
    let mut rows = state.stream.open(look);
    let over = (rows.len() + moving.len()).saturating_sub(room);
    rows.drain(..over.min(rows.len()));
    if !rows.is_empty() && moving.is_empty() && rows.len() < room {
        rows.push(Line::default());
    }
    rows.extend(moving);
    let first = rows.len();
    rows.extend(bottom);
    let over = rows.len().saturating_sub(height);
    rows.drain(..over);
    // A panel has no place to type.
    let types = state.asking.is_some() || state.panel.is_none();
    let cursor = (first + cursor.0).checked_sub(over).map(|row| (row, cursor.1)).filter(|_| types);
    let rows = rows.iter().map(|row| (encoded(row, look.colours), row_width(row))).collect();
    Tail { rows, cursor }
}
