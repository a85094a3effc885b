//! The modes of the terminal: each key at once and unseen, pastes as such. Ctrl-C and Ctrl-Z stay signals, so that a process that
//! hangs can be stopped.

use std::io;

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, SpecialCodeIndex, Termios, tcflush,
    tcgetattr, tcsetattr,
};
use windlass_terminal::crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use crate::out;

/// Pastes come between marks (xterm: mode 2004).
const PASTES: (&str, &str) = ("\x1b[?2004h", "\x1b[?2004l");

/// How the terminal was.
#[derive(Debug)]
pub(super) struct Modes {
    before: Termios,
}

/// Whether the terminal is still there. One that has hung up gives nothing, and says so to no read.
pub(super) fn is_there() -> bool {
    tcgetattr(io::stdin()).is_ok()
}

/// Drops what was typed and not read.
pub(super) fn drop_input() {
    let _kept = tcflush(io::stdin(), QueueSelector::IFlush);
}

impl Modes {
    pub(super) fn take() -> Option<Self> {
        let modes = Self { before: tcgetattr(io::stdin()).ok()? };
        modes.set().then_some(modes)
    }

    fn set(&self) -> bool {
        // The reader of keys tells Ctrl-J from Enter only where it has set the terminal itself.
        let _known = enable_raw_mode();
        let mut raw = self.before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
        raw.local_modes.insert(LocalModes::ISIG);
        raw.input_modes.remove(InputModes::ICRNL | InputModes::INLCR | InputModes::IGNCR | InputModes::IXON);
        raw.output_modes.insert(OutputModes::OPOST | OutputModes::ONLCR);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        let set = tcsetattr(io::stdin(), OptionalActions::Now, &raw).is_ok();
        if set {
            out::control(PASTES.0);
        }
        set
    }

    /// Takes the terminal once more: another program had it.
    pub(super) fn take_again(&self) {
        self.set();
    }

    /// Gives the terminal back as it was.
    pub(super) fn give_back(&self) {
        out::control(PASTES.1);
        let _known = disable_raw_mode();
        let _kept = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
