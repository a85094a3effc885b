use std::task::Context;

use windlass_core::RunId;
use windlass_core::secret::Secret;
use windlass_store::MemoryLog;

use super::*;
use crate::platform::environment::SystemEnvironment;

const KEY: &str = "sk-asking-0123456789";

fn incoming(publisher: Publisher) -> Box<Incoming> {
    drop(Secret::new(KEY));
    let action = ActionId { run: RunId::from_number(1), seq: 1 };
    let taking = Taking {
        action,
        showing: Showing { action, answer: None },
        publisher,
        display: DisplayLock::default(),
        withheld: Vec::new(),
        content: None,
        for_actions: false,
        voice: true,
        assembler: Assembler::new("m"),
        partial: None,
        spent: Spent { sent: 0, received: 0, counted: false },
        published: false,
        taken: 0,
        unpublished: None,
    };
    Box::new(Incoming { thoughts: Thoughts::default(), masks: Masks::of_process(), taking })
}

#[test]
fn e53_what_was_held_back_of_a_reply_that_breaks_off_is_part_of_it() {
    let mut incoming = incoming(Publisher::default());
    incoming.take(Delta::Text("half sk-".to_owned())).unwrap();
    assert_eq!((incoming.taking.assembler.text(), incoming.taking.taken), ("half ", 1));
    incoming.end().unwrap();
    assert_eq!((incoming.taking.assembler.text(), incoming.taking.taken), ("half sk-", 2));
}

/// A large piece is masked, put together and shown as a small one is, in order with those around it.
#[tokio::test(flavor = "current_thread")]
async fn a_large_piece_is_taken_elsewhere_as_it_is_here() {
    let publisher = Publisher::default();
    let mut updates = publisher.subscribe(RunId::from_number(1), Arc::new(MemoryLog::new()));
    let mut incoming = incoming(publisher);
    incoming.take(Delta::Text("a sk-ask".to_owned())).unwrap();
    let large = format!("ing-0123456789 {}", "b".repeat(LARGE_BYTES as usize));
    let mut piece = Box::pin(incoming.take_large(&SystemEnvironment, Delta::Text(large.clone())));
    let first = piece.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop()));
    assert!(first.is_pending(), "it is done on the spot");
    let taken;
    (incoming, taken) = piece.await;
    taken.unwrap();
    incoming.take(Delta::Text("c".to_owned())).unwrap();
    incoming.end().unwrap();
    let whole = format!("a ***{}c", &large["ing-0123456789".len()..]);
    assert_eq!(incoming.taking.assembler.text(), whole);
    drop(incoming);
    let mut shown = String::new();
    while let Some(update) = updates.next().await {
        if let Update::Text { text, .. } = update {
            shown.push_str(&text);
        }
    }
    assert_eq!(shown, whole);
}

#[tokio::test(flavor = "current_thread")]
async fn e19_of_a_piece_that_is_taken_elsewhere_nothing_is_told_once_the_call_is_dropped() {
    let publisher = Publisher::default();
    let mut updates = publisher.subscribe(RunId::from_number(1), Arc::new(MemoryLog::new()));
    let incoming = incoming(publisher);
    let mut piece =
        Box::pin(incoming.take_large(&SystemEnvironment, Delta::Text("b".repeat(LARGE_BYTES as usize))));
    assert!(piece.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_pending());
    drop(piece);
    assert_eq!(updates.next().await, None);
}
