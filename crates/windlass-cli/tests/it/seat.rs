//! A seat at a pseudo-terminal, which stands in for a real one.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetwinsize};

use crate::kit::{Home, until};

/// Clears the last line.
pub(crate) const CLEAR: &str = "\r\u{1b}[K";
/// Around a waiting line that replaces the one before it.
const AGAIN: (&str, &str) = ("7\r", "\u{1b}8");
/// The pictures of the spinner, with which a waiting line begins.
pub(crate) const SPINNER: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

/// What is shown without the waiting lines, which hold no control characters of others.
fn without_waits(raw: &str) -> String {
    let mut kept = String::new();
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        if let Some((_, after)) = after.strip_prefix(AGAIN.0).and_then(|after| after.split_once(AGAIN.1)) {
            kept.push_str(before);
            rest = after;
        } else if let (Some(before), Some(after)) = (before.strip_suffix('\r'), after.strip_prefix("[K")) {
            kept.push_str(before);
            rest = match after.chars().next() {
                Some(first) if SPINNER.contains(first) => {
                    after.find(['\r', '\u{1b}']).map_or("", |end| &after[end..])
                }
                _ => after,
            };
        } else {
            kept.push_str(before);
            kept.push('\u{1b}');
            rest = after;
        }
    }
    kept + rest
}

/// A command at a terminal, and everything that the terminal has shown.
pub(crate) struct Seat {
    pub(crate) child: Child,
    keys: File,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Seat {
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_with(home, args, "xterm")
    }

    /// With more variables in its environment.
    pub(crate) fn start_with_env(home: &Home, args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::seated(home, args, &[&[("TERM", "xterm")], variables].concat())
    }

    /// At a terminal of that many columns and rows, which shows what a real one would.
    pub(crate) fn sized(home: &Home, args: &[&str], (columns, rows): (u16, u16)) -> Self {
        let seat = Self::seated(
            home,
            args,
            &[("TERM", "xterm-256color"), ("LC_ALL", "C.UTF-8"), ("WINDLASS_PLAIN", "")],
        );
        seat.resize((columns, rows));
        seat
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, (columns, rows): (u16, u16)) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.keys, size).unwrap();
        // The command is no session's leader: nobody else tells it.
        let _ended = kill_process(Pid::from_child(&self.child), Signal::WINCH);
    }

    /// Everything that a terminal of its size would show, from the beginning of its scrollback on.
    pub(crate) fn whole(&self) -> String {
        let size = tcgetwinsize(&self.keys).unwrap();
        let cells = |number: u16| NonZero::new(number).unwrap();
        let mut terminal = vt100::Parser::new(cells(size.ws_row), cells(size.ws_col), 20_000);
        terminal.process(self.raw().as_bytes());
        let screen = terminal.screen_mut();
        screen.set_scrollback(usize::MAX);
        let mut rows = Vec::new();
        for back in (1..=screen.scrollback()).rev() {
            screen.set_scrollback(back);
            rows.extend(screen.rows(0, size.ws_col).next());
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, size.ws_col));
        let text: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
        text.join("\n").trim_end().to_owned()
    }

    /// Waits until the terminal shows that.
    pub(crate) fn shows(&self, text: &str) {
        self.shows_that(text, |whole| whole.contains(text));
    }

    /// Waits until that is among the last bytes that the terminal was sent: to draw all of many megabytes would take long.
    pub(crate) fn shows_at_end(&self, text: &str) {
        until(text, || self.is_at_end(text));
    }

    fn is_at_end(&self, text: &str) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let last = seen.len().saturating_sub(4_000);
        String::from_utf8_lossy(&seen[last..]).contains(text)
    }

    /// Waits until the terminal shows something of which that holds.
    pub(crate) fn shows_that(&self, text: &str, holds: impl Fn(&str) -> bool) {
        let held = std::panic::AssertUnwindSafe(|| until(text, || holds(&self.whole())));
        assert!(std::panic::catch_unwind(held).is_ok(), "not shown: {text}\n{}", self.whole());
    }

    /// At a terminal of that kind.
    pub(crate) fn start_with(home: &Home, args: &[&str], term: &str) -> Self {
        Self::seated(home, args, &[("TERM", term)])
    }

    fn seated(home: &Home, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let open = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let mut command = home.command(args);
        // Lines one after another, unless a test is about what is drawn.
        command.env("WINDLASS_PLAIN", "1");
        command.envs(variables.iter().copied()).env("NO_COLOR", "1");
        command.stdin(Stdio::from(open())).stdout(Stdio::from(open())).stderr(Stdio::from(open()));
        let child = command.spawn().unwrap();
        drop(command);
        let keys = File::from(rustix::io::dup(&master).unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shown = seen.clone();
        std::thread::spawn(move || read(master, &shown));
        Self { child, keys, seen }
    }

    /// Everything that the terminal has shown but the waiting lines, which a slow machine shows in any test.
    pub(crate) fn seen(&self) -> String {
        without_waits(&self.raw())
    }

    /// Everything that the terminal has shown.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Waits until the terminal's last line is a waiting line with that in it.
    pub(crate) fn waits_for(&self, text: &str) {
        until(text, || self.raw().rsplit_once(CLEAR).is_some_and(|(_, last)| last.contains(text)));
    }

    /// Waits until the terminal has shown that.
    pub(crate) fn expect(&self, text: &str) {
        until(text, || self.seen().contains(text));
    }

    /// Waits until there is a prompt after that: keys before it would belong to the turn that is going on.
    pub(crate) fn prompted_after(&self, text: &str) {
        until(text, || self.seen().rsplit_once(text).is_some_and(|(_, rest)| rest.contains("> ")));
    }

    pub(crate) fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn code(mut self) -> i32 {
        self.ended()
    }

    pub(crate) fn ended(&mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap_or(-1)
    }

    /// How the terminal is set.
    pub(crate) fn modes(&self) -> Termios {
        tcgetattr(&self.keys).unwrap()
    }

    /// Whether each key goes to the command at once, and nobody shows it.
    pub(crate) fn is_raw(&self) -> bool {
        !self.modes().local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Whether the terminal was told that last: `h` turns a mode on, `l` turns it off.
    pub(crate) fn is_on(&self, mode: &str) -> bool {
        let seen = self.seen();
        let last = |turn: char| seen.rfind(&format!("\u{1b}[?{mode}{turn}"));
        last('h') > last('l')
    }
}

/// A command whose test has failed would wait for keys for ever.
impl Drop for Seat {
    fn drop(&mut self) {
        let _ended_before = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The terminal's end comes when the last process has closed it.
fn read(master: OwnedFd, shown: &Mutex<Vec<u8>>) {
    let mut master = File::from(master);
    let mut bytes = [0; 1024];
    while let Ok(count @ 1..) = master.read(&mut bytes) {
        shown.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&bytes[..count]);
    }
}
