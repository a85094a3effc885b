//! Stands in for the child in a program that was built without the interpreter.

use std::{io, process};

use crate::CodeError;
use crate::protocol::{self, Reply};

/// The exit code of a child that refuses.
const REFUSED: i32 = 2;

/// Returns at once: this program was built without the interpreter. A process that was started to run code says so and ends.
pub fn child() {
    if protocol::is_child() {
        // The parent may have gone; then nobody is told.
        let _sent = protocol::write(
            &mut io::stdout().lock(),
            &Reply::Refused { reason: CodeError::NotBuilt.to_string() },
        );
        process::exit(REFUSED);
    }
}

/// Whether this process's program can be a child.
///
/// # Errors
/// Always: it was built without the interpreter.
pub(crate) fn can_serve() -> Result<(), CodeError> {
    Err(CodeError::NotBuilt)
}
