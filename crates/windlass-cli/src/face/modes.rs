//! The modes of the terminal: each key at once and unseen, pastes as such. Ctrl-C and Ctrl-Z stay signals, so that a process that
//! hangs can be stopped.

use std::io;

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use crate::out;

/// Pastes come between marks (xterm: mode 2004).
const PASTES: (&str, &str) = ("\x1b[?2004h", "\x1b[?2004l");

/// How the terminal was.
#[derive(Debug)]
pub(super) struct Modes {
    before: Termios,
}

impl Modes {
    pub(super) fn take() -> Option<Self> {
        let modes = Self { before: tcgetattr(io::stdin()).ok()? };
        modes.set().then_some(modes)
    }

    fn set(&self) -> bool {
        let mut raw = self.before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
        raw.local_modes.insert(LocalModes::ISIG);
        raw.input_modes.remove(InputModes::ICRNL | InputModes::INLCR | InputModes::IGNCR | InputModes::IXON);
        raw.output_modes.insert(OutputModes::OPOST | OutputModes::ONLCR);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Ctrl-\ and Ctrl-Y have their usual effects only where they are signals.
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
        let _kept = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
