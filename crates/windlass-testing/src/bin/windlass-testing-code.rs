//! Runs code for tests of this crate, whose test binary cannot.

fn main() {
    windlass_runtime::code_child();
}
