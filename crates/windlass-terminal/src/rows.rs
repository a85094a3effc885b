//! Styled text in rows: cut at words by display width (UAX 14, UAX 11), never within a cluster of characters (UAX 29).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_linebreak::linebreaks;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;
use windlass_text::display::plain::plain;

/// The columns of a tab.
const TAB: &str = "    ";

/// The columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The columns that a row takes.
pub fn row_width(row: &Line<'_>) -> usize {
    row.spans.iter().map(|span| width(&span.content)).sum()
}

/// The margin before the rows of a text: before the first one, and before all others.
#[derive(Clone, Debug, Default)]
pub struct Margin {
    /// Before the first row.
    pub first: Vec<Span<'static>>,
    /// Before each further row.
    pub rest: Vec<Span<'static>>,
}

/// The way of cutting a text that is longer than a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Where a line may be broken; a longer word is cut.
    Words,
    /// Where the row is full, as code wants it.
    Anywhere,
    /// At spaces, for text that people copy from: a command in backticks is one word where it fits on a row. A longer word stays whole,
    /// and the terminal breaks it.
    Spaces,
    /// The same, but a longer command stays whole, too: what the terminal breaks is copied as one line.
    Commands,
}

/// The columns that text has beside its margin, one at least.
#[derive(Clone, Copy)]
struct Room {
    first: usize,
    rest: usize,
}

impl Room {
    fn of_row(self, number: usize) -> usize {
        if number == 0 { self.first } else { self.rest }
    }
}

/// Cuts a styled text into rows of at most so many columns. Each `\n` begins a new row. Characters that could steer the terminal
/// become escapes.
pub fn wrapped(spans: &[Span<'_>], columns: usize, margin: &Margin, cut: Cut) -> Vec<Line<'static>> {
    let (text, styles) = joined(spans);
    let side = |spans: &[Span<'static>]| spans.iter().map(|span| width(&span.content)).sum::<usize>();
    let room = |side: usize| columns.saturating_sub(side).max(1);
    let room = Room { first: room(side(&margin.first)), rest: room(side(&margin.rest)) };
    let mut rows = Vec::new();
    for (from, to) in ranges(&text, room, cut) {
        let before = if rows.is_empty() { &margin.first } else { &margin.rest };
        let mut row = before.clone();
        row.extend(between(&text, &styles, from, to));
        rows.push(Line::from(row));
    }
    rows
}

/// The whole text without characters that steer, and the style of each part of it by its end.
fn joined(spans: &[Span<'_>]) -> (String, Vec<(usize, Style)>) {
    let (mut text, mut styles) = (String::new(), Vec::new());
    for span in spans {
        let content = plain(&span.content);
        let content = if content.contains('\t') { Cow::Owned(content.replace('\t', TAB)) } else { content };
        text.push_str(&content);
        styles.push((text.len(), span.style));
    }
    (text, styles)
}

/// The spans of a part of the text.
fn between(text: &str, styles: &[(usize, Style)], from: usize, to: usize) -> Vec<Span<'static>> {
    let (mut spans, mut start) = (Vec::new(), 0);
    for (end, style) in styles {
        let (begin, stop) = (from.max(start), to.min(*end));
        if let Some(part) = text.get(begin..stop).filter(|part| begin < stop && !part.is_empty()) {
            spans.push(Span::styled(part.to_owned(), *style));
        }
        start = *end;
    }
    spans
}

/// Where each row begins and ends in the text, without the spaces at its end.
fn ranges(text: &str, columns: Room, cut: Cut) -> Vec<(usize, usize)> {
    let mut rows = Vec::new();
    let mut at = 0;
    for line in text.split('\n') {
        let mut row = (at, at);
        let mut used = 0;
        for piece in pieces(line, cut, columns.rest) {
            let room = columns.of_row(rows.len());
            let (begin, end) = (at + piece.0, at + piece.1);
            let whole = text.get(begin..end).unwrap_or_default();
            let word = whole.trim_end_matches(' ');
            if used + width(word) > room {
                rows.extend((row.1 > row.0).then_some(row));
                (row, used) = ((begin, begin), 0);
            }
            if width(word) > room && !matches!(cut, Cut::Spaces | Cut::Commands) {
                (row, used) = split(text, begin..begin + word.len(), columns, &mut rows);
                used += whole.len() - word.len();
            } else {
                row.1 = begin + word.len();
                used += width(whole);
            }
        }
        rows.push(row);
        at += line.len() + 1;
    }
    rows
}

/// Cuts a word that is longer than a row. Returns its last row, and the columns used there.
fn split(
    text: &str,
    word: Range<usize>,
    columns: Room,
    rows: &mut Vec<(usize, usize)>,
) -> ((usize, usize), usize) {
    let (mut row, mut used) = ((word.start, word.start), 0);
    for cluster in text.get(word).unwrap_or_default().graphemes(true) {
        let wide = width(cluster);
        if used + wide > columns.of_row(rows.len()) && used > 0 {
            rows.push(row);
            (row, used) = ((row.1, row.1), 0);
        }
        row.1 += cluster.len();
        used += wide;
    }
    (row, used)
}

/// The parts of a line that stay together, each with the spaces behind it.
fn pieces(line: &str, cut: Cut, columns: usize) -> Vec<(usize, usize)> {
    if line.is_empty() {
        return vec![(0, 0)];
    }
    match cut {
        Cut::Anywhere => vec![(0, line.len())],
        Cut::Words => until(0, linebreaks(line).map(|(end, _)| end)),
        Cut::Spaces | Cut::Commands => words(line, columns, cut),
    }
}

/// The pieces that end there.
fn until(mut begin: usize, ends: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
    ends.map(|end| (std::mem::replace(&mut begin, end), end)).collect()
}

/// The words between spaces; a command in backticks is one. A word that is longer than so many columns breaks where its script breaks
/// without spaces.
fn words(line: &str, columns: usize, cut: Cut) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    for (begin, end) in until(0, ends(line, true)) {
        let word = line.get(begin..end).unwrap_or_default();
        if width(word.trim_end()) <= columns || cut == Cut::Commands && word.is_ascii() {
            all.push((begin, end));
            continue;
        }
        for (from, to) in until(0, ends(word, false)) {
            let inner = word.get(from..to).unwrap_or_default();
            if inner.is_ascii() || width(inner.trim_end()) <= columns {
                all.push((begin + from, begin + to));
            } else {
                all.extend(until(begin + from, linebreaks(inner).map(|(to, _)| begin + from + to)));
            }
        }
    }
    all
}

/// Where the words of a line end, with the spaces behind them. Space at the beginning belongs to the first one.
fn ends(line: &str, keeps_commands: bool) -> impl Iterator<Item = usize> {
    let last = line.rfind('`').filter(|_| keeps_commands);
    let (mut within, mut before, mut blank) = (false, ' ', true);
    let end = move |(at, char): (usize, char)| {
        let ends = before == ' ' && char != ' ' && !within && !std::mem::take(&mut blank);
        // A mark that nothing closes holds nothing together.
        within = within != (char == '`') && last > Some(at);
        before = char;
        ends.then_some(at)
    };
    line.char_indices().filter_map(end).chain([line.len()])
}

/// As much of a text as fits into so many columns; `…` stands for the rest.
pub fn fitted(text: &str, columns: usize) -> String {
    let text = plain(text).replace(['\n', '\t'], " ");
    if width(&text) <= columns {
        return text;
    }
    let (mut short, mut used) = (String::new(), 0);
    for cluster in text.graphemes(true) {
        used += width(cluster);
        if used + 1 > columns {
            break;
        }
        short.push_str(cluster);
    }
    if columns > 0 {
        short.push('…');
    }
    short
}

/// A row with the sequences that show its styles (ECMA-48: SGR). Without colours, weights and underlines stay.
pub fn encoded(row: &Line<'_>, colours: bool) -> String {
    let mut out = String::new();
    for span in &row.spans {
        let text = plain(&span.content);
        let codes = codes(row.style.patch(span.style), colours);
        let _infallible =
            if codes.is_empty() { write!(out, "{text}") } else { write!(out, "\x1b[{codes}m{text}\x1b[0m") };
    }
    out
}

fn codes(style: Style, colours: bool) -> String {
    const WEIGHTS: [(Modifier, &str); 6] = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ];
    let mut codes: Vec<&str> = WEIGHTS
        .iter()
        .filter(|(weight, _)| style.add_modifier.contains(*weight))
        .map(|(_, code)| *code)
        .collect();
    if let Some(code) = style.fg.filter(|_| colours).and_then(colour) {
        codes.push(code);
    }
    codes.join(";")
}

/// One of the eight colours, which every terminal's theme makes readable.
fn colour(colour: Color) -> Option<&'static str> {
    Some(match colour {
        Color::Red => "31",
        Color::Green => "32",
        Color::Yellow => "33",
        Color::Blue => "34",
        Color::Magenta => "35",
        Color::Cyan => "36",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
