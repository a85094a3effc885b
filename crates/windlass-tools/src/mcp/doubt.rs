//! Whether a call that failed may have happened all the same: the server's own word and refusals before the call began leave
//! no doubt, everything else does.

use rmcp::model::ErrorData;

/// Codes under which libraries give up on a connection or a request themselves. Servers use them for errors of their own, too.
const GIVEN_UP: [i32; 2] = [-32000, -32001];

/// Words with which libraries do so.
const LOST: [&str; 11] = [
    "closed",
    "timed out",
    "timeout",
    "time out",
    "disconnect",
    "terminated",
    "reset",
    "aborted",
    "lost",
    "hang up",
    "broken pipe",
];

/// Whether an error answer says that the connection or the request was given up, and not what became of the call.
pub(super) fn says_lost(error: &ErrorData) -> bool {
    let said = error.message.to_lowercase();
    GIVEN_UP.contains(&error.code.0) && LOST.iter().any(|word| said.contains(word))
}
