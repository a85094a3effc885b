//! The only way to stdout and stderr: never panics, never depends on colour, removes control sequences, and never blocks a
//! process that drives a run (see [`printer`](mod@printer)).
//!
//! Everything but [`exact`], [`json`] and an [`answer`] for a pipe goes through [`plain`](fn@plain). Clippy refuses `print!` and the
//! standard streams in the rest of the crate (`clippy.toml`, `main.rs`).
#![expect(clippy::disallowed_methods, reason = "this is the module that the ban points to")]

mod closing;
pub(crate) mod frames;
mod printer;
mod sink;
mod waiting;
mod wrapping;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windlass_core::secret::mask;
use windlass_core::text::{in_json, on_one_line, plain};
use windlass_terminal::Span;

pub(crate) use closing::{UNREAD, Unwritten, close, hurry};
pub(crate) use printer::{Stream, left_out, never_wait};
use printer::{Weight, framed, is_live, printer};
pub(crate) use waiting::{Prompting, calm, can_wait, is_calm, is_prompting, waiting};

/// Time to wait for a panic's message to be written: a tenth of a second.
const PANIC_WAIT: Duration = Duration::from_millis(100);

/// Indentation of the lines after the first of what is said of an empty list, or of an error.
const EMPTY_INDENT: usize = 2;

/// Whether the last thing on stdout was a piece of a line.
static WITHIN_LINE: AtomicBool = AtomicBool::new(false);

/// A line on stdout.
///
/// # Errors
/// As of writing, possibly an earlier line's; a reader that went away is an error of kind `BrokenPipe`.
pub(crate) fn line(text: impl fmt::Display) -> io::Result<()> {
    whole(Stream::Out, &format!("{}\n", plain(&text.to_string())))
}

/// A line on stdout that a terminal shows in as many lines as it needs: they break between words, and those after the first are
/// indented. Elsewhere it stays one line.
///
/// # Errors
/// As of [`line()`].
pub(crate) fn item(text: &str, indent: usize) -> io::Result<()> {
    let text = on_one_line(text);
    if !stdout_is_terminal() {
        return line(text);
    }
    let columns = waiting::columns(io::stdout().as_fd());
    wrapping::lines(&text, indent, columns).iter().try_for_each(line)
}

/// Rows of a list on stdout. A terminal shows as much of each as fits on one line: its last cells give way. Elsewhere rows stay whole.
///
/// # Errors
/// As of [`line()`].
pub(crate) fn rows(rows: &[String]) -> io::Result<()> {
    if !stdout_is_terminal() {
        return rows.iter().try_for_each(line);
    }
    let columns = waiting::columns(io::stdout().as_fd());
    rows.iter().map(|row| windlass_terminal::rows::fitted(row, columns)).try_for_each(line)
}

/// Rows of two cells, the second ones below each other. A terminal that is too narrow shows a row in several lines.
///
/// # Errors
/// As of [`line()`].
pub(crate) fn pairs(rows: &[[String; 2]], indent: usize) -> io::Result<()> {
    let columns = if stdout_is_terminal() { waiting::columns(io::stdout().as_fd()) } else { usize::MAX };
    let rows: Vec<_> =
        rows.iter().map(|row| row.each_ref().map(|cell| on_one_line(cell).into_owned())).collect();
    wrapping::pairs(&rows, indent, columns).iter().try_for_each(line)
}

/// An [`item`] on stderr that is never left out.
pub(crate) fn say_item(text: &str, indent: usize) {
    let text = on_one_line(text);
    if !stderr_is_terminal() {
        return say(text);
    }
    let columns = waiting::columns(io::stderr().as_fd());
    wrapping::lines(&text, indent, columns).iter().for_each(say);
}

/// A text on stderr that says what went wrong or what to do, behind a word in a style. A terminal shows each line of it in as many
/// lines as it needs, which break between words.
pub(crate) fn say_wrapped(head: Option<(Style, &str)>, text: &str) {
    let parts: Vec<_> = head.into_iter().chain([(Style::Plain, text)]).collect();
    if !stderr_is_terminal() || frames::is_drawn() {
        return say_styled(&parts);
    }
    let columns = waiting::columns(io::stderr().as_fd());
    let mut head = head;
    for line in text.split('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len() + EMPTY_INDENT;
        let parts = head.take().into_iter().chain([(Style::Plain, line)]);
        let spans: Vec<_> = parts.map(|(style, part)| Span::styled(part, style.of_head())).collect();
        let rows = wrapping::styled_lines(&spans, indent, columns, colours());
        let _unread = whole(Stream::Err, &(rows.join("\n") + "\n"));
    }
}

/// Why a list is empty and what to type next, on stderr.
pub(crate) fn empty(text: &str) {
    say_item(text, EMPTY_INDENT);
}

/// A piece of an answer on stdout, shown at once: byte for byte, unless stdout is a terminal.
pub(crate) fn answer(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    WITHIN_LINE.store(!text.ends_with('\n'), Ordering::SeqCst);
    let text = if stdout_is_terminal() { plain(text) } else { Cow::Borrowed(text) };
    whole(Stream::Out, &text)
}

/// Whether the last piece of an answer on stdout did not end its line.
pub(crate) fn within_line() -> bool {
    WITHIN_LINE.load(Ordering::Relaxed)
}

/// A JSON value on a line of its own on stdout, shown at once.
pub(crate) fn json(value: &serde_json::Value) -> io::Result<()> {
    whole(Stream::Out, &format!("{}\n", in_json(&value.to_string())))
}

/// A line of an export on stdout. It is JSON already, and a pipe gets it byte for byte.
pub(crate) fn exact(json: &str) -> io::Result<()> {
    let json = if stdout_is_terminal() { in_json(json) } else { Cow::Borrowed(json) };
    whole(Stream::Out, &format!("{json}\n"))
}

/// A line on stderr. It is dropped if stderr is not read while a run is driven.
pub(crate) fn note(text: impl fmt::Display) {
    note_styled(&[(Style::Plain, &text.to_string())]);
}

/// A line like [`note`], each part in its style.
pub(crate) fn note_styled(parts: &[(Style, &str)]) {
    let printer = printer();
    // Where both streams are one, who shows a run has waited for room.
    let spare = is_live() && !printer.is_shared();
    let weight = if spare { Weight::Spare } else { Weight::Whole };
    let text = if frames::is_drawn() { frames::wrapped_note(parts) } else { styled(parts) };
    if frames::is_drawn() && frames::holds(&text) {
        return;
    }
    let _unread = printer.put(Stream::Err, text.as_bytes(), weight);
}

/// A line on stderr that is never left out: what went wrong, what is asked.
pub(crate) fn say(text: impl fmt::Display) {
    say_styled(&[(Style::Plain, &text.to_string())]);
}

/// A line like [`say`], each part in its style.
pub(crate) fn say_styled(parts: &[(Style, &str)]) {
    let text = if frames::is_drawn() { frames::wrapped_note(parts) } else { styled(parts) };
    let _unread = whole(Stream::Err, &text);
}

/// Rows with their styles, above the tail of a conversation.
pub(crate) fn finished(rows: &[windlass_terminal::Line<'_>]) {
    if !rows.is_empty() {
        let text: String =
            rows.iter().map(|row| windlass_terminal::rows::encoded(row, colours()) + "\n").collect();
        let _unseen = whole(Stream::Err, &text);
    }
}

/// Whether lines of others wait: the text that is shown is amid a block. Those that have waited are shown at its end.
pub(crate) fn amid_block(amid: bool) {
    if let Some(held) = frames::hold(amid) {
        let _unseen = whole(Stream::Err, &held);
    }
}

/// Text on stderr without a line end: the user's input follows.
pub(crate) fn prompt(text: &str) {
    let _unseen = whole(Stream::Err, &plain(text));
}

/// Puts base64 text on the terminal's clipboard (xterm: OSC 52).
pub(crate) fn clipboard(base64: &str) {
    printer().control(&format!("\x1b]52;c;{base64}\x07"));
}

/// A sequence for the terminal itself. It shows nothing.
pub(crate) fn control(sequence: &'static str) {
    printer().control(sequence);
}

/// Leaves the second screen that an editor may have been on when it was killed.
pub(crate) fn leave_screen() {
    let _unseen = framed(|| whole(Stream::Err, "\x1b[?1049l\r"));
}

fn whole(stream: Stream, text: &str) -> io::Result<()> {
    printer().put(stream, text.as_bytes(), Weight::Whole)
}

/// Whether that stream takes more now.
pub(crate) fn has_room(stream: Stream) -> bool {
    printer().has_room(stream)
}

/// Waits until the stream takes more. A process that drives a run waits here before it shows more of the run.
pub(crate) async fn room(stream: Stream) {
    printer().room(stream).await;
}

/// Shows nothing until the guard is dropped: another program has the terminal. What is printed meanwhile is queued.
pub(crate) fn pause() -> Paused {
    printer().pause(true);
    Paused(())
}

/// See [`pause`].
#[derive(Debug)]
pub(crate) struct Paused(());

impl Drop for Paused {
    fn drop(&mut self) {
        printer().pause(false);
    }
}

/// Waits until everything is written: needed before other code writes to the terminal.
pub(crate) async fn drained() {
    printer().drained().await;
}

/// Log lines on stderr, each on one line and with secrets masked, because libraries without knowledge of secrets log, too. They
/// are dropped while stderr is not read.
#[derive(Debug)]
pub(crate) struct LogLines;

impl io::Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let text = format!("{}\n", on_one_line(&mask(text.trim_end())));
        printer().put(Stream::Err, text.as_bytes(), Weight::Spare).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints panics through the printer, too: the default hook would block on a slow reader.
pub(crate) fn hook_panics() {
    std::panic::set_hook(Box::new(|panic| {
        note(mask(&panic.to_string()));
        let trace = std::backtrace::Backtrace::capture();
        if trace.status() == std::backtrace::BacktraceStatus::Captured {
            note(trace);
        }
        printer().drained_within(PANIC_WAIT);
    }));
}

/// Role of a piece of text, for terminals with colours.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    /// Nothing special.
    Plain,
    /// Beside the point.
    Dim,
    /// A name.
    Bold,
    /// Something went wrong.
    Error,
    /// Advice.
    Hint,
    /// A line that is added.
    Added,
    /// A line that is removed.
    Removed,
}

impl Style {
    /// The same on a row.
    pub(crate) fn on_row(self) -> windlass_terminal::Style {
        use windlass_terminal::{Color, Modifier, Style};
        let plain = Style::new();
        match self {
            Self::Plain => plain,
            Self::Dim => plain.add_modifier(Modifier::DIM),
            Self::Bold => plain.add_modifier(Modifier::BOLD),
            Self::Error | Self::Removed => plain.fg(Color::Red),
            Self::Hint => plain.fg(Color::Cyan),
            Self::Added => plain.fg(Color::Green),
        }
    }

    /// That of a word before a line that is wrapped: as [`styled`] shows it.
    fn of_head(self) -> windlass_terminal::Style {
        match self {
            Self::Error | Self::Hint if colours() => {
                self.on_row().add_modifier(windlass_terminal::Modifier::BOLD)
            }
            _ => windlass_terminal::Style::new(),
        }
    }

    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Dim => Some("2"),
            Self::Bold => Some("1"),
            Self::Error => Some("1;31"),
            Self::Hint => Some("1;36"),
            Self::Added => Some("32"),
            Self::Removed => Some("31"),
        }
    }
}

/// A line of such parts, in their styles where stderr is a terminal and `NO_COLOR` is not set.
fn styled(parts: &[(Style, &str)]) -> String {
    let mut text = String::new();
    for (style, part) in parts {
        let part = plain(part);
        let _infallible = match style.code().filter(|_| colours()) {
            Some(code) => write!(text, "\x1b[{code}m{part}\x1b[0m"),
            None => write!(text, "{part}"),
        };
    }
    text.push('\n');
    text
}

fn colours() -> bool {
    static COLOURS: OnceLock<bool> = OnceLock::new();
    *COLOURS.get_or_init(|| {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        stderr_is_terminal() && !set("NO_COLOR") && !dumb
    })
}

/// Whether the environment asks for lines one after another (`WINDLASS_PLAIN`): nothing is drawn again.
pub(crate) fn wants_lines() -> bool {
    static LINES: OnceLock<bool> = OnceLock::new();
    *LINES.get_or_init(|| {
        std::env::var_os("WINDLASS_PLAIN").is_some_and(|value| !value.is_empty() && value != "0")
    })
}

/// Whether stdout is a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    static TERMINAL: OnceLock<bool> = OnceLock::new();
    *TERMINAL.get_or_init(|| io::stdout().is_terminal())
}

/// Whether stderr is a terminal.
pub(crate) fn stderr_is_terminal() -> bool {
    static TERMINAL: OnceLock<bool> = OnceLock::new();
    *TERMINAL.get_or_init(|| io::stderr().is_terminal())
}
