//! Size of what is looked at when an input is decided on.

use crate::protocol::input::InputKind;
use crate::state::State;

impl State {
    /// About how many bytes are looked at when this input is decided on: its own, and those of the calls that it lets go on.
    pub fn work_bytes(&self, what: &InputKind) -> u64 {
        let open = self.open_calls().map(|open| open.args().len() as u64);
        let mut names = 0;
        if let InputKind::Replied { reply, .. } = what {
            // Each call is looked for among all tools.
            names = reply.calls.len().saturating_mul(self.toolbox.all().len()) as u64;
        }
        open.fold(what.text_bytes().saturating_add(names), u64::saturating_add)
    }
}
