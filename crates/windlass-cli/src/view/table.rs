//! Lists as tables.

use crate::out::{self, Style};

/// Each row as a line, with its cells padded to their column's width.
pub(crate) fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> Vec<String> {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A line below a list that shows the newest only of more entries, which were counted up to a number.
pub(crate) fn left_out(listed: usize, of: usize, counted: usize) {
    if of > listed {
        let of = if of > counted { format!("over {counted}") } else { of.to_string() };
        let line = format!("{listed} newest of {of}; `--limit N` shows more");
        out::note_styled(&[(Style::Dim, &line)]);
    }
}
