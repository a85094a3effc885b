//! Conversations at a terminal: how one begins, is at work, and is left.

use crate::kit::{Home, SLOW, lines, until};
use crate::seat::Seat;

/// The key that leaves.
pub(crate) const CTRL_D: &str = "\u{4}";

/// The agent, whose sums a person must allow.
pub(crate) fn asking(agent: &str) -> String {
    format!("{agent}loop: {{ approve: [calculate] }}\n")
}

impl Seat {
    /// A command that shows that once it has begun.
    pub(crate) fn begun(home: &Home, args: &[&str], size: (u16, u16), shows: &str) -> Self {
        let seat = Self::sized(home, args, size);
        seat.shows(shows);
        seat
    }

    /// A conversation with an agent, at its prompt.
    pub(crate) fn chat(home: &Home, agent: &str, more: &[&str], size: (u16, u16)) -> Self {
        home.write("agent.yaml", agent);
        Self::begun(home, &[&["chat", "agent.yaml"], more].concat(), size, "\n>")
    }

    /// A conversation whose slow sum has begun: it waits for the file `go`.
    pub(crate) fn working(home: &Home, more: &[&str], size: (u16, u16)) -> Self {
        let mut seat = Self::chat(home, SLOW, more, size);
        seat.slow_sum(home);
        seat
    }

    /// Asks for a slow sum, which begins.
    pub(crate) fn slow_sum(&mut self, home: &Home) {
        self.keys("What is 2 + 5?\r");
        until("the sum has begun", || lines(&home.path("sums")) == 1);
    }

    /// Leaves it by these keys: it ends, and all is well.
    pub(crate) fn leave(&mut self, keys: &str) {
        self.keys(keys);
        self.ends_with(0);
    }

    /// Waits for its end, which is no longer than others away.
    pub(crate) fn ends_with(&mut self, code: i32) {
        until("it has ended", || self.child.try_wait().unwrap().is_some());
        assert_eq!(self.ended(), code, "{}", self.whole());
    }
}
