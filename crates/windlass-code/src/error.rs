//! Errors of sessions. A failure of the code is none: it is a [`Step`](crate::Step).

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use windlass_error::Diagnostic;

use crate::{HostCall, Recorded};

/// Errors of a session.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum CodeError {
    /// Nothing can run code: this program's main does not call [`child`](crate::child), and no other program is named.
    #[error("no program can run code: this program's main does not call windlass_code::child()")]
    #[diagnostic(
        kind = Invalid,
        code = "code.no_program",
        help = "call windlass_code::child() as the first line of main, or name the windlass binary, which runs code, too"
    )]
    NoProgram,
    /// This program was built without the interpreter, and no other program is named.
    #[error("this program was built without the interpreter of code")]
    #[diagnostic(
        kind = Invalid,
        code = "code.not_built",
        help = "build with the feature `interpreter`, or name the windlass binary, which runs code, too"
    )]
    NotBuilt,
    /// The child cannot be started.
    #[error("cannot start {path} to run code: {source}", path = path.display())]
    #[diagnostic(
        kind = Unavailable,
        code = "code.spawn",
        help = "check that the program is there and may be executed"
    )]
    Spawn {
        /// The program.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The program does not serve as a child.
    #[error("{path} does not run code: {found}", path = path.display())]
    #[diagnostic(
        kind = Invalid,
        code = "code.not_a_child",
        help = "name a program whose main calls windlass_code::child() first, of the same release"
    )]
    NotAChild {
        /// The program.
        path: PathBuf,
        /// Its behaviour instead.
        found: String,
    },
    /// Two functions or inputs have the same name in the code.
    #[error("{name:?} is twice among the names that the code is given")]
    #[diagnostic(
        kind = Invalid,
        code = "code.same_name",
        help = "rename one of them: characters other than letters and digits are _ in code"
    )]
    SameName {
        /// The name in the code.
        name: String,
    },
    /// An input has a name that is none in Python.
    #[error("{name:?} is no name of a variable")]
    #[diagnostic(kind = Invalid, code = "code.input_name", help = "use letters, digits and _, and no digit first")]
    InputName {
        /// The name.
        name: String,
    },
    /// The frames of the child make no sense.
    #[error("the child that runs code broke the protocol: {reason}")]
    #[diagnostic(kind = Internal, code = "code.protocol")]
    Protocol {
        /// How.
        reason: String,
    },
    /// Results that were handed in are not those of the open calls.
    #[error("results for places {found:?}, expected {expected:?}")]
    #[diagnostic(kind = Invalid, code = "code.answers")]
    Answers {
        /// The places of open calls without a result.
        expected: Vec<u32>,
        /// The places of the results.
        found: Vec<u32>,
    },
    /// The step is at its end already.
    #[error("the step of code is at its end already")]
    #[diagnostic(kind = Conflict, code = "code.ended")]
    Ended,
    /// The code made another call than the recorded one.
    #[error("the code's call at place {place} is {found}, and {expected} is recorded", found = display_call(found.as_deref()), expected = display_call(Some(expected)))]
    #[diagnostic(
        kind = Conflict,
        code = "code.diverged",
        help = "the recorded results belong to other source, or to another release of the interpreter: run the step anew"
    )]
    Diverged {
        /// The place.
        place: u32,
        /// The recorded call.
        expected: Box<HostCall>,
        /// The call that the code made; `None`: it came to its end.
        found: Option<Box<HostCall>>,
    },
}

fn display_call(call: Option<&HostCall>) -> String {
    /// Maximum length of arguments that are shown, in bytes.
    const MOST: usize = 200;
    let Some(call) = call else { return "missing: it came to its end".to_owned() };
    let args = serde_json::Value::Object(call.args.clone()).to_string();
    let end = args.floor_char_boundary(MOST);
    let more = if end < args.len() { "…" } else { "" };
    format!("{}({}{more})", call.name, args.get(..end).unwrap_or_default())
}

impl CodeError {
    /// The error of a step that came to its end before a recorded call.
    pub(crate) fn missing(recorded: Recorded) -> Self {
        Self::Diverged { place: recorded.call.place, expected: Box::new(recorded.call), found: None }
    }
}
