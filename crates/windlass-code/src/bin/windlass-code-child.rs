//! A program that does nothing but run code: for tests and measurements.

fn main() {
    windlass_code::child();
}
