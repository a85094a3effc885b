//! Writing to stdout and stderr: never panics, never depends on colour, and lets no control sequences through.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the last thing on stdout was a piece of a line.
static WITHIN_LINE: AtomicBool = AtomicBool::new(false);

/// A line on stdout.
///
/// # Errors
/// As of writing; a reader that went away is an error of kind `BrokenPipe`.
pub(crate) fn line(text: impl fmt::Display) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")
}

/// A piece of text on stdout, shown at once.
pub(crate) fn piece(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if !text.is_empty() {
        WITHIN_LINE.store(!text.ends_with('\n'), Ordering::Relaxed);
    }
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Whether the last piece of text on stdout did not end its line.
pub(crate) fn within_line() -> bool {
    WITHIN_LINE.load(Ordering::Relaxed)
}

/// A JSON value on a line of its own on stdout, shown at once.
pub(crate) fn json(value: &serde_json::Value) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{value}")?;
    stdout.flush()
}

/// A line on stderr. If nobody can read it, nobody misses it.
pub(crate) fn note(text: impl fmt::Display) {
    let _unread = writeln!(io::stderr().lock(), "{text}");
}

/// What a piece of text is, for terminals with colours.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    /// Beside the point.
    Dim,
    /// What something is called.
    Bold,
    /// Something went wrong.
    Error,
    /// What to do about it.
    Hint,
}

/// The text in its style, where stderr is a terminal and `NO_COLOR` is not set.
pub(crate) fn styled(style: Style, text: &str) -> Cow<'_, str> {
    if !colours() {
        return Cow::Borrowed(text);
    }
    let code = match style {
        Style::Dim => "2",
        Style::Bold => "1",
        Style::Error => "1;31",
        Style::Hint => "1;36",
    };
    Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m"))
}

fn colours() -> bool {
    static COLOURS: OnceLock<bool> = OnceLock::new();
    *COLOURS.get_or_init(|| {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        io::stderr().is_terminal() && !set("NO_COLOR") && !dumb
    })
}

/// The text without control characters other than line ends and tabs: what a model or tool says must not steer the
/// terminal (ECMA-48 control sequences all begin with one).
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let bad = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
    if text.contains(bad) { Cow::Owned(text.replace(bad, "")) } else { Cow::Borrowed(text) }
}

/// What somebody else said, for stdout: without control sequences on a terminal, as it is elsewhere.
pub(crate) fn for_stdout(text: &str) -> Cow<'_, str> {
    static TERMINAL: OnceLock<bool> = OnceLock::new();
    if *TERMINAL.get_or_init(|| io::stdout().is_terminal()) { plain(text) } else { Cow::Borrowed(text) }
}
