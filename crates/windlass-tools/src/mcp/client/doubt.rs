//! Whether a call that failed may have happened all the same: the server's own word and refusals before the call began leave
//! no doubt, everything else does.

use rmcp::model::{ErrorCode, ErrorData};

use super::reading;

/// Codes under which libraries give up on a connection or a request themselves. Servers use them for errors of their own, too.
const GIVEN_UP: [i32; 2] = [-32000, -32001];

/// Words with which libraries do so, however they are joined.
const LOST: [&str; 15] = [
    "closed",
    "timed out",
    "timedout",
    "timeout",
    "time out",
    "disconnect",
    "terminated",
    "reset",
    "aborted",
    "lost",
    "hang up",
    "broken pipe",
    "brokenpipe",
    "epipe",
    "deadline exceeded",
];

/// With these words rmcp itself ends the calls that were open when the server no longer knew its session.
const BEGUN_ANEW: &str = "session was re initialized before the response arrived";

/// Whether an error leaves it open what became of the call: it cannot be read, or says so.
pub(super) fn leaves(error: &ErrorData) -> bool {
    !reading::is_answer(error) || says_lost(error)
}

/// Whether an error answer says that the connection or the request was given up, and not what became of the call.
pub(super) fn says_lost(error: &ErrorData) -> bool {
    let text = spelled(&error.message);
    GIVEN_UP.contains(&error.code.0) && LOST.iter().any(|word| text.contains(word))
        || error.code == ErrorCode::INTERNAL_ERROR && text.contains(BEGUN_ANEW)
}

/// The words in lower case, with one blank for whatever stands between them: hyphens, underscores, line breaks.
fn spelled(message: &str) -> String {
    let words = message.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e30_an_error_that_a_library_made_is_no_word_of_the_server() {
        let lost = |code, words: &'static str| says_lost(&ErrorData::new(ErrorCode(code), words, None));
        assert!(lost(-32000, "Connection closed") && lost(-32001, "Request timed out"));
        assert!(lost(-32603, "streamable HTTP session was re-initialized before the response arrived"));
        for words in [
            "Connection timed-out",
            "TIMED_OUT",
            "connect ETIMEDOUT",
            "java.net.SocketTimeoutException",
            "request time-out",
            "Request timed\u{2011}out",
            "the server timed\n  out",
            "CONNECTION_CLOSED",
            "ConnectionClosed",
            "Client-disconnected",
            "socket hang-up",
            "write EPIPE",
            "DeadlineExceeded: deadline_exceeded",
        ] {
            assert!(lost(-32000, words) && lost(-32001, words) && !lost(-32602, words), "{words}");
        }
        assert!(!lost(-32603, "Internal error: no such row"));
        assert!(!lost(-32000, "the card was refused"));
        assert!(!lost(-32602, "the request timed out is no date"));
    }
}
