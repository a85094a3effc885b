//! Python that a model wrote, run in a child process with hard limits.
//!
//! The interpreter is the crate `monty`: no CPython, no files, no network. It runs in a process of its own, so that a fault of it
//! or a hit limit ends that process and nothing else. The code reaches nothing but the host's functions: at a call it stops, and
//! the host gets the call ([`Step::Calls`]) and hands in the result.
//!
//! ```no_run
//! use windlass_code::{Answer, Code, Function, HostResult, Limits, Program, Step};
//!
//! # async fn run() -> Result<(), windlass_code::CodeError> {
//! let program = Program::new("words = [search(q) for q in ('owl', 'mouse')]\nreturn len(words)")
//!     .function(Function::new("search", ["query"]));
//! let mut session = Code::this_program()?.start(&Limits::default(), program).await?;
//! let mut step = session.next(Vec::new()).await?;
//! while let Step::Calls(calls) = step {
//!     let found = |call: windlass_code::HostCall| Answer {
//!         place: call.place,
//!         result: HostResult::Value(format!("found {}", call.args["query"]).into()),
//!     };
//!     step = session.next(calls.into_iter().map(found).collect()).await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A step is its source and the recorded results of its calls, in order ([`Recorded`]). The same source with the same results makes
//! the same calls: code has no clock, no chance, and no order of hashes. [`Session::feed`] takes results that are known already,
//! and none of those calls is made again.
//!
//! `child` is the entry of the child, `session` its parent's side, `protocol` the frames between them; `interpreter` runs code in a
//! thread, its `rewrite` changes source before, and its `values` are Python's values as JSON.
//!
//! The Cargo feature `interpreter`, which is on by default, brings the last two and their dependencies. Without it `no_child` stands
//! in for `child`: a session can be started with another program only.

#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(feature = "interpreter")]
mod child;
#[cfg(not(feature = "interpreter"))]
#[path = "no_child.rs"]
mod child;
mod error;
#[cfg(feature = "interpreter")]
mod interpreter;
mod limits;
mod program;
mod protocol;
mod session;

pub use child::child;
pub use error::CodeError;
pub use limits::{Limit, Limits};
pub use program::{
    Answer, Failure, FailureKind, Function, HostCall, HostResult, Output, Program, Recorded, Step,
};
pub use session::{Code, Session};
