//! A program that was built without the interpreter of code.
#![cfg(not(feature = "interpreter"))]

use windlass_code::Code;
use windlass_error::{Diagnostic as _, Kind};

#[test]
fn a_program_without_the_interpreter_says_how_to_get_it() {
    let error = Code::this_program().unwrap_err();
    assert_eq!((error.code(), error.kind()), ("code.not_built", Kind::Invalid));
    assert!(error.help().unwrap().contains("feature `interpreter`"));
}
