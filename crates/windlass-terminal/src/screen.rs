//! Frames: finished text above, the tail below it, as the bytes of one write.
//!
//! All moves are relative to the cursor, so that nobody has to ask the terminal where it stands, and the lines above stay the
//! terminal's. Terminals that know synchronized updates (mode 2026) show a frame at once.

use std::fmt::Write as _;

/// The rows that are drawn again and again below the finished text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Its rows, with their sequences, and the columns that each takes.
    pub rows: Vec<(String, usize)>,
    /// Row and column of the cursor; `None`: it is hidden.
    pub cursor: Option<(usize, usize)>,
}

/// The rows that a terminal shows below the finished text.
#[derive(Debug, Default)]
pub struct Screen {
    tail: Tail,
    /// The row of the tail in which the cursor stands.
    row: usize,
}

const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?2026l";
/// Clears the cursor's row, which it stands at the beginning of, and all rows below. A screen that is cleared from its first cell on goes to
/// tmux's scrollback, tail and all: this begins at the second one.
const CLEAR: &str = "\x1b[K\x1b[C\x1b[J\r";

impl Screen {
    /// The bytes that add finished text above the tail, and draw the tail anew. `columns` is the width of the terminal now, which
    /// may be another one than before: terminals wrap what stands on them anew.
    pub fn frame(&mut self, finished: &str, tail: Tail, columns: usize) -> String {
        let mut out = String::from(BEGIN);
        let up = self.rows_before(columns);
        if up > 0 {
            let _infallible = write!(out, "\x1b[{up}A");
        }
        out.push('\r');
        let rewrapped = self.tail.rows.iter().any(|(_, width)| *width > columns);
        if finished.is_empty() && !rewrapped {
            self.changed_rows(&mut out, &tail);
        } else {
            out.push_str(CLEAR);
            if !finished.is_empty() {
                let ends = finished.strip_suffix('\n').unwrap_or(finished);
                ends.split('\n').for_each(|line| out.extend([line, "\r\n"]));
            }
            for (at, (row, _)) in tail.rows.iter().enumerate() {
                out.extend([if at > 0 { "\r\n" } else { "" }, row]);
            }
        }
        self.row = tail.rows.len().saturating_sub(1);
        if let Some((row, column)) = tail.cursor {
            let up = self.row.saturating_sub(row);
            if up > 0 {
                let _infallible = write!(out, "\x1b[{up}A");
            }
            out.push('\r');
            if column > 0 {
                let _infallible = write!(out, "\x1b[{column}C");
            }
            self.row = row.min(self.row);
            out.push_str("\x1b[?25h");
        } else {
            out.push('\r');
        }
        out.push_str(END);
        self.tail = tail;
        out
    }

    /// The bytes that add finished text and take the tail away: the next line begins where it stood.
    pub fn leave(&mut self, finished: &str, columns: usize) -> String {
        let mut out = self.frame(finished, Tail::default(), columns);
        out.push_str("\x1b[?25h");
        out
    }

    /// The terminal has another size, and may have cut rows off: the next frame writes all of them.
    pub fn resized(&mut self) {
        for (row, _) in &mut self.tail.rows {
            row.clear();
        }
    }

    /// Somebody else has written to the terminal: what stands there is left as it is, and the tail is drawn below.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The rows between the first one of the tail and the cursor, as the terminal shows them now.
    fn rows_before(&self, columns: usize) -> usize {
        let columns = columns.max(1);
        let taken = |width: usize| width.max(1).div_ceil(columns);
        let before: usize = self.tail.rows.iter().take(self.row).map(|(_, width)| taken(*width)).sum();
        let column = self.tail.cursor.map_or(0, |(_, column)| column);
        before + column / columns
    }

    /// Draws the rows that have changed. The cursor stands before the first row, and afterwards in the last one.
    fn changed_rows(&self, out: &mut String, tail: &Tail) {
        let before = &self.tail.rows;
        for (at, row) in tail.rows.iter().enumerate() {
            if at > 0 {
                out.push_str("\r\n");
            }
            if before.get(at) != Some(row) {
                out.extend(["\x1b[K", &row.0]);
            }
        }
        if before.len() > tail.rows.len() {
            // What stands below the last row goes; an empty tail leaves the cursor where its first row stood.
            out.push_str(if tail.rows.is_empty() { CLEAR } else { "\r\n\x1b[J\x1b[A" });
        }
    }
}

#[cfg(test)]
mod tests;
