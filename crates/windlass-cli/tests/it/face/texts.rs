//! Texts that are stopped, and texts that follow each other.

use rustix::process::{Pid, Signal, kill_process};

use super::{stable, talk};
use crate::kit::Home;
use crate::server::Reply;
use crate::talks::CTRL_D;

#[test]
fn ctrl_c_amid_a_text_keeps_what_came() {
    let home = Home::new();
    let pieces = vec!["A first paragraph.\n\nA second", " one", " that has no end."];
    let (mut seat, server) = talk(&home, vec![Reply::Pieces(pieces)], "", (80, 24));
    seat.keys("Tell\r");
    server.go.send(()).unwrap();
    seat.shows("A second one");
    kill_process(Pid::from_child(&seat.child), Signal::INT).unwrap();
    seat.shows("cancelled: ");
    let whole = seat.whole();
    assert!(whole.contains("A first paragraph.\n\nA second one\nstopping…\n"), "{whole}");
    assert!(!whole.contains("broke off"), "{whole}");
    seat.leave(CTRL_D);
}

#[test]
fn the_text_after_a_steering_stands_apart_from_the_one_before() {
    let home = Home::new();
    let replies = vec![Reply::Pieces(vec!["The first", " answer."]), Reply::Pieces(vec!["A brief one."])];
    let (mut seat, server) = talk(&home, replies, "", (80, 24));
    seat.keys("Tell\r");
    seat.shows("The first");
    seat.keys("be brief\r");
    seat.shows("steered: be brief");
    server.go.send(()).unwrap();
    seat.shows("answered: ");
    let whole = stable(&seat.whole());
    assert!(whole.contains("The first answer.\n\nA brief one.\n"), "{whole}");
    seat.leave(CTRL_D);
}
