//! Tables: columns by display width, cells that wrap where the terminal is narrow.

use pulldown_cmark::Alignment;
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::Look;
use crate::rows::{Cut, Margin, row_width, wrapped};

/// A column is at least so wide, or the table becomes a list.
const LEAST: usize = 4;

type Cell = Vec<Span<'static>>;

/// A table: the first row is its head.
#[derive(Debug)]
pub(super) struct Table {
    aligned: Vec<Alignment>,
    pub(super) rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(super) fn new(aligned: Vec<Alignment>) -> Self {
        Self { aligned, rows: Vec::new() }
    }

    pub(super) fn rendered(self, columns: usize, look: Look) -> Vec<Line<'static>> {
        let count = self.aligned.len();
        let between = 3 * count.saturating_sub(1);
        if count == 0 || columns < between + count * LEAST {
            return self.into_list(columns);
        }
        let widths = shrunk(self.natural(), columns - between);
        let bar = Span::styled(look.pick(" │ ", " | "), Style::new().add_modifier(Modifier::DIM));
        let mut rows = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<Line<'static>>> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| lines(row.get(column).map_or(&[], Vec::as_slice), *width, at == 0))
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(1);
            for line in 0..height {
                let mut spans = Vec::new();
                for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                    if column > 0 {
                        spans.push(bar.clone());
                    }
                    let last = column + 1 == count;
                    let aligned = self.aligned.get(column).copied().unwrap_or(Alignment::None);
                    spans.extend(padded(cell.get(line), *width, aligned, last));
                }
                rows.push(Line::from(spans));
            }
            if at == 0 {
                let (line, cross) = (look.pick("─", "-"), look.pick("─┼─", "-+-"));
                let rule = widths.iter().map(|width| line.repeat(*width)).collect::<Vec<_>>().join(cross);
                rows.push(Line::from(Span::styled(rule, Style::new().add_modifier(Modifier::DIM))));
            }
        }
        rows
    }

    /// The columns that each column would like.
    fn natural(&self) -> Vec<usize> {
        let width = |cell: &Cell| cell.iter().map(Span::width).sum::<usize>();
        let of = |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(width).max();
        (0..self.aligned.len()).map(|column| of(column).unwrap_or(0).max(1)).collect()
    }

    /// Each row below the last: `head: cell`, for terminals that are too narrow.
    fn into_list(self, columns: usize) -> Vec<Line<'static>> {
        let mut rows = self.rows.into_iter();
        let head = rows.next().unwrap_or_default();
        let margin = Margin { first: Vec::new(), rest: vec![Span::raw("  ")] };
        let mut out = Vec::new();
        for (at, row) in rows.enumerate() {
            if at > 0 {
                out.push(Line::default());
            }
            for (head, cell) in head.iter().zip(row) {
                let mut text: Cell = head.iter().cloned().map(bold).collect();
                text.push(Span::raw(": "));
                text.extend(cell);
                out.extend(wrapped(&text, columns, &margin, Cut::Words));
            }
        }
        out
    }
}

fn bold(span: Span<'static>) -> Span<'static> {
    let style = span.style.add_modifier(Modifier::BOLD);
    span.style(style)
}

/// A cell in rows.
fn lines(cell: &[Span<'static>], width: usize, head: bool) -> Vec<Line<'static>> {
    let cell: Cell = cell.iter().cloned().map(|span| if head { bold(span) } else { span }).collect();
    wrapped(&cell, width, &Margin::default(), Cut::Words)
}

/// A row of a cell with spaces up to its width. Behind the last column there are none.
fn padded(line: Option<&Line<'static>>, width: usize, aligned: Alignment, last: bool) -> Cell {
    let used = line.map_or(0, row_width);
    let free = width.saturating_sub(used);
    let before = match aligned {
        Alignment::Right => free,
        Alignment::Center => free / 2,
        Alignment::Left | Alignment::None => 0,
    };
    let after = if last { 0 } else { free - before };
    let mut cell = vec![Span::raw(" ".repeat(before))];
    cell.extend(line.into_iter().flat_map(|line| line.spans.clone()));
    cell.push(Span::raw(" ".repeat(after)));
    cell.retain(|span| !span.content.is_empty());
    cell
}

/// Takes columns from the widest ones until all fit.
fn shrunk(mut widths: Vec<usize>, room: usize) -> Vec<usize> {
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max() else { break };
        if *widest <= 1 {
            break;
        }
        *widest -= 1;
    }
    widths
}
