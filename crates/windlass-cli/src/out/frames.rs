//! The rows below everything else on a terminal: the tail of a conversation, which is drawn again while text goes to the
//! scrollback above it.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::termios::tcgetwinsize;
use windlass_terminal::rows::{Cut, Margin, encoded, fitted, row_width, wrapped};
use windlass_terminal::screen::{Screen, Tail};
use windlass_terminal::{Line, Modifier, Span};

use super::printer::printer;
use super::{Style, colours, plain, stderr_is_terminal, stdout_is_terminal, wants_lines};

/// Columns and rows of a terminal that does not say how many it has.
const SIZE: (usize, usize) = (80, 24);

/// Whether a conversation has the terminal.
static OPEN: AtomicBool = AtomicBool::new(false);

/// The tail, and what the terminal shows of it.
#[derive(Debug, Default)]
pub(super) struct Frames {
    screen: Screen,
    tail: Tail,
    /// A wait that is none of the tail's own.
    waits: Option<(String, usize)>,
    /// Whether the tail is another one than the terminal shows.
    changed: bool,
    leaves: bool,
    /// Lines that wait for the end of a block; `None`: they do not wait.
    held: Option<String>,
}

impl Frames {
    /// Whether there is something to write without new text.
    pub(super) fn is_due(&self) -> bool {
        self.changed || self.leaves
    }

    /// The bytes of the next frame, and whether it is the last one.
    pub(super) fn next(&mut self, finished: &[u8]) -> (Vec<u8>, bool) {
        let (columns, _) = size();
        self.changed = false;
        let finished = String::from_utf8_lossy(finished);
        let frame = if self.leaves {
            self.screen.leave(&finished, columns)
        } else {
            self.screen.frame(&finished, self.whole(), columns)
        };
        (frame.into_bytes(), self.leaves)
    }

    fn whole(&self) -> Tail {
        let mut tail = self.tail.clone();
        if let Some(wait) = &self.waits {
            tail.rows.insert(0, wait.clone());
            tail.cursor = tail.cursor.map(|(row, column)| (row + 1, column));
        }
        tail
    }
}

/// Columns and rows of the terminal.
pub(crate) fn size() -> (usize, usize) {
    let size = tcgetwinsize(io::stderr().as_fd());
    let (columns, rows) = size.map_or((0, 0), |size| (usize::from(size.ws_col), usize::from(size.ws_row)));
    (if columns == 0 { SIZE.0 } else { columns }, if rows == 0 { SIZE.1 } else { rows })
}

/// Whether a tail can be drawn: both streams are one terminal, which moves its cursor, and nobody asks for lines.
pub(crate) fn can_draw() -> bool {
    let known = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    known && !wants_lines() && stdout_is_terminal() && stderr_is_terminal() && printer().is_shared()
}

/// Whether the terminal has colours.
pub(crate) fn has_colours() -> bool {
    colours()
}

/// Whether a conversation has the terminal: text goes above its tail.
pub(crate) fn is_drawn() -> bool {
    OPEN.load(Ordering::Relaxed)
}

/// Whether a line waits: the text above the tail is amid a block that it would cut in two.
pub(super) fn holds(line: &str) -> bool {
    printer().frames(|frames| match frames.as_mut().and_then(|frames| frames.held.as_mut()) {
        Some(held) => {
            held.push_str(line);
            true
        }
        None => false,
    })
}

/// Lets lines wait from now on, or returns those that have waited.
pub(super) fn hold(holds: bool) -> Option<String> {
    printer().frames(|frames| {
        let frames = frames.as_mut()?;
        if holds {
            frames.held.get_or_insert_default();
            return None;
        }
        frames.held.take().filter(|held| !held.is_empty())
    })
}

/// Draws this tail below everything.
pub(crate) fn draw(tail: Tail) {
    OPEN.store(true, Ordering::Relaxed);
    printer().frames(|frames| {
        let frames = frames.get_or_insert_default();
        frames.changed |= frames.tail != tail;
        frames.tail = tail;
    });
}

/// Shows this wait as the first row of the tail, or takes it back.
pub(super) fn waiting(line: Option<&str>) {
    let columns = size().0.saturating_sub(1).max(1);
    let row = line.map(|line| {
        let row = Line::styled(fitted(&plain(line), columns), Modifier::DIM);
        (encoded(&row, colours()), row_width(&row))
    });
    printer().frames(|frames| {
        if let Some(frames) = frames
            && frames.waits != row
        {
            frames.waits = row;
            frames.changed = true;
        }
    });
}

/// Draws the tail once more: the terminal has another size, or was left to another program.
pub(crate) fn redraw(anew: bool) {
    printer().frames(|frames| {
        if let Some(frames) = frames {
            frames.changed = true;
            if anew {
                frames.screen.forget();
            } else {
                frames.screen.resized();
            }
        }
    });
}

/// A line in rows that are cut at spaces, as everything above a tail is.
pub(super) fn wrapped_note(parts: &[(Style, &str)]) -> String {
    let columns = size().0.saturating_sub(1).max(1);
    let spans: Vec<Span<'_>> =
        parts.iter().map(|(style, text)| Span::styled(*text, style.on_row())).collect();
    let rows = wrapped(&spans, columns, &Margin::default(), Cut::Spaces);
    rows.iter().map(|row| encoded(row, colours()) + "\n").collect()
}

/// Takes the tail away. The next text begins where it stood.
pub(crate) fn leave() {
    OPEN.store(false, Ordering::Relaxed);
    printer().frames(|frames| {
        if let Some(frames) = frames {
            frames.leaves = true;
        }
    });
}
