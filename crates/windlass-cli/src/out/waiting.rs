//! The waiting line: the last line of a terminal, which the next text replaces.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::termios::tcgetwinsize;

use super::printer::{framed, printer};
use super::{Style, WITHIN_LINE, colours, plain, stderr_is_terminal, stdout_is_terminal, wants_lines};

/// Number of columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// Whether this process was told to show no progress.
static CALM: AtomicBool = AtomicBool::new(false);
/// Number of prompts at which somebody may be typing.
static PROMPTS: AtomicUsize = AtomicUsize::new(0);

/// From here on nothing is said of waiting, if `wanted`.
pub(crate) fn calm(wanted: bool) {
    CALM.fetch_or(wanted, Ordering::Relaxed);
}

/// Whether nothing is said of waiting.
pub(crate) fn is_calm() -> bool {
    CALM.load(Ordering::Relaxed) || wants_lines()
}

/// Whether a line can be shown and taken back: on a terminal that moves its cursor. If stdout is another terminal, it could be the
/// same screen under another name, whose text would not be seen to come.
pub(crate) fn can_wait() -> bool {
    static MOVES: OnceLock<bool> = OnceLock::new();
    let moves = || {
        let known = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        known && stderr_is_terminal() && (!stdout_is_terminal() || printer().is_shared())
    };
    !is_calm() && *MOVES.get_or_init(moves)
}

/// Shows this line until the next text comes, or takes it back. A line that somebody types, or that an answer is being written to,
/// is left alone. Where a tail is drawn, the line is its first.
pub(crate) fn waiting(line: Option<&str>) {
    match line {
        line if super::frames::is_drawn() => super::frames::waiting(line),
        None => printer().withdraw(),
        Some(_) if is_taken() => {}
        Some(line) => {
            let (text, width) = fitted(&plain(line), columns(io::stderr().as_fd()));
            let text = match Style::Dim.code().filter(|_| colours()) {
                Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
                None => text,
            };
            printer().show_waiting(&text, width, is_taken);
        }
    }
}

/// Whether somebody is asked something at this terminal.
pub(crate) fn is_prompting() -> bool {
    PROMPTS.load(Ordering::SeqCst) > 0
}

/// Whether something else has the last line.
fn is_taken() -> bool {
    is_prompting() || stdout_is_terminal() && WITHIN_LINE.load(Ordering::SeqCst)
}

/// As much of a line as fits on a terminal's last line, and its width.
fn fitted(line: &str, columns: usize) -> (String, usize) {
    // The last column stays free: some terminals begin a new line after it.
    let room = columns.saturating_sub(1);
    let mut width = 0;
    let text = line.chars().map(|char| if char == '\n' || char == '\t' { ' ' } else { char });
    let text = text.take_while(|char| {
        width += columns_of(*char);
        width <= room
    });
    let text: String = text.collect();
    let width = text.chars().map(columns_of).sum();
    (text, width)
}

/// How many columns that terminal has.
pub(super) fn columns(terminal: BorrowedFd<'_>) -> usize {
    let columns = tcgetwinsize(terminal).map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { COLUMNS } else { columns }
}

/// The most columns that a character takes. The spinner's are narrow; many others are wide.
pub(super) fn columns_of(char: char) -> usize {
    if char.is_ascii() || matches!(char, '\u{2800}'..='\u{28ff}' | '…') { 1 } else { 2 }
}

/// The frame of a question: while it stands, the waiting line stays away, and what others print on the terminal comes after it.
#[derive(Debug)]
pub(crate) struct Prompting(());

impl Prompting {
    pub(crate) fn begin() -> Self {
        PROMPTS.fetch_add(1, Ordering::SeqCst);
        // Above a tail nothing disturbs a question.
        let apart = super::frames::is_drawn();
        printer().hold(!apart && stdout_is_terminal(), !apart && stderr_is_terminal());
        Self(())
    }

    /// Prints something of the question.
    #[expect(clippy::unused_self, reason = "only the question that stands may print within its frame")]
    pub(crate) fn show<T>(&self, print: impl FnOnce() -> T) -> T {
        framed(print)
    }
}

impl Drop for Prompting {
    fn drop(&mut self) {
        if PROMPTS.fetch_sub(1, Ordering::SeqCst) == 1 {
            printer().let_go();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_never_reaches_the_last_column() {
        assert_eq!(fitted("waiting", 80), ("waiting".to_owned(), 7));
        assert_eq!(fitted("waiting", 8), ("waiting".to_owned(), 7));
        assert_eq!(fitted("waiting", 5), ("wait".to_owned(), 4));
        // A wide character takes two columns.
        assert_eq!(fitted("⠋ 東京", 6), ("⠋ 東".to_owned(), 4));
        assert_eq!(fitted("a\nb", 0), (String::new(), 0));
    }
}
