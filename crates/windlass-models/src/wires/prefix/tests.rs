use std::cell::Cell;
use std::sync::Arc;

use windlass_core::{Message, ToolSpec};

use super::{Conversation, Kept, with_kept};
use crate::model::prefix::MOST_LISTS;
use crate::wires::{Dialect, WIRES, testing};
use crate::{ModelRequest, PrefixCell};

thread_local! {
    /// Messages and lists of tools that were encoded in this test.
    static ENCODED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// A conversation that only counts.
struct Counting;

impl Conversation for Counting {
    fn start(_: usize) -> Self {
        Self
    }

    fn add(&mut self, _: &Dialect, _: &Message) {
        ENCODED.set((ENCODED.get().0 + 1, ENCODED.get().1));
    }

    fn tools(_: &ModelRequest) -> Vec<u8> {
        ENCODED.set((ENCODED.get().0, ENCODED.get().1 + 1));
        Vec::new()
    }
}

fn long() -> ModelRequest {
    let messages = (0..500).map(|at| Message::user(format!("message {at}"))).collect();
    let mut asked = testing::request("p/m0", messages);
    asked.tools = Arc::new(vec![ToolSpec::new("f", "", serde_json::json!({ "type": "object" }))]);
    asked
}

#[test]
fn e43_ten_fallbacks_of_one_provider_encode_the_history_once() {
    let (mut asked, dialect) = (long(), Dialect { label: "p".into(), ..Dialect::default() });
    for model in 0..10 {
        asked.model.name = format!("p/m{model}").into();
        with_kept(&asked.prefix, &dialect, &asked, |_: &Kept<Counting>| ());
    }
    assert_eq!(ENCODED.get(), (501, 1), "instructions and 500 messages; the tools");
    asked.messages.push(Arc::new(Message::user("one more")));
    with_kept(&asked.prefix, &dialect, &asked, |_: &Kept<Counting>| ());
    assert_eq!(ENCODED.get(), (502, 1), "a turn encodes what is new");
}

/// The bytes that a wire keeps for one model are sent to another one of the provider, but for the name.
#[test]
fn e43_fallbacks_of_one_provider_are_sent_the_same_bytes_on_every_wire() {
    for wire in WIRES {
        let (mut asked, dialect) = (long(), Dialect { label: "p".into(), ..Dialect::default() });
        for name in ["p/m0", "p/m1", "p/m2"] {
            asked.model.name = name.into();
            let kept = wire.encode(&dialect, &asked).body;
            let fresh = ModelRequest { prefix: PrefixCell::default(), ..asked.clone() };
            assert_eq!(kept, wire.encode(&dialect, &fresh).body, "{} {name}", wire.facts().name);
        }
    }
}

#[test]
fn runs_that_share_their_tools_encode_them_once_in_each_form() {
    let (mut asked, dialect) = (long(), Dialect::default());
    let turn = |asked: &ModelRequest| with_kept(&asked.prefix, &dialect, asked, |_: &Kept<Counting>| ());
    let lists = || ENCODED.get().1;
    turn(&asked);
    for strict in [false, true, false, true] {
        asked.prefix = asked.prefix.for_another_run();
        asked.model.strict = strict;
        turn(&asked);
    }
    assert_eq!(lists(), 2, "plain and strict");
    // A list that is equal but another one may have changed since.
    asked.tools = Arc::new(asked.tools.to_vec());
    turn(&asked);
    assert_eq!(lists(), 3);
    let first = asked.tools.clone();
    for _ in 0..MOST_LISTS {
        asked.tools = Arc::new(asked.tools.to_vec());
        turn(&asked);
    }
    asked.tools = first;
    turn(&asked);
    assert_eq!(lists(), 4 + MOST_LISTS, "a list that others took the place of is encoded again");
}
