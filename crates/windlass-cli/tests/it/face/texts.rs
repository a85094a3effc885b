//! Texts that are stopped.

use rustix::process::{Pid, Signal, kill_process};

use super::talk;
use crate::kit::Home;
use crate::server::Reply;

#[test]
fn ctrl_c_amid_a_text_keeps_what_came() {
    let home = Home::new();
    let pieces = vec!["A first paragraph.\n\nA second", " one", " that has no end."];
    let (mut seat, server) = talk(&home, vec![Reply::Pieces(pieces)], "", (80, 24));
    seat.keys("Tell\r");
    server.go.send(()).unwrap();
    seat.shows("A second one");
    kill_process(Pid::from_child(&seat.child), Signal::INT).unwrap();
    seat.shows("cancelled; the conversation continues");
    let whole = seat.whole();
    assert!(whole.contains("A first paragraph.\n\nA second one\nstopping…\n"), "{whole}");
    assert!(!whole.contains("broke off"), "{whole}");
    seat.keys("\u{4}");
    assert_eq!(seat.code(), 0);
}
