use windlass_core::message::ProviderMetadata;
use windlass_core::model::{FailureKind, Reply, StopReason, Usage};
use windlass_core::text::steps::{doubling, taken};

use super::{Assembler, MAX_CALLS, MAX_REPLY_BYTES};
use crate::Delta;

fn call(index: Option<u32>, id: Option<&str>, name: Option<&str>, args: &str) -> Delta {
    Delta::Call { index, id: id.map(Into::into), name: name.map(Into::into), args: args.into() }
}

fn fold(deltas: &[Delta]) -> Reply {
    let mut assembler = Assembler::new("m");
    for delta in deltas {
        assembler.push(delta.clone()).expect("small");
    }
    assembler.finish()
}

fn calls(deltas: &[Delta]) -> Vec<(Option<String>, String, String)> {
    fold(deltas)
        .calls
        .iter()
        .map(|call| (call.id.as_deref().map(str::to_owned), call.name.to_string(), call.args.to_string()))
        .collect()
}

fn made(id: &str, name: &str, args: &str) -> (Option<String>, String, String) {
    ((!id.is_empty()).then(|| id.to_owned()), name.to_owned(), args.to_owned())
}

#[test]
fn text_reasoning_and_usage_add_up() {
    let sealed = ProviderMetadata { provider: "p".into(), data: "d".into() };
    let reply = fold(&[
        Delta::Reasoning("I ".into()),
        Delta::Reasoning("think".into()),
        Delta::Sealed(sealed.clone()),
        Delta::Text(String::new()),
        Delta::Text("Hel".into()),
        Delta::Text("lo".into()),
        Delta::Usage(Usage { input: 1, ..Usage::default() }),
        Delta::Usage(Usage { input: 2, output: 3, ..Usage::default() }),
        Delta::Stop(StopReason::Length),
    ]);
    assert_eq!(reply.text.as_deref(), Some("Hello"));
    let reasoning = reply.reasoning.expect("there is some");
    assert_eq!(&*reasoning.text, "I think");
    assert_eq!(reasoning.provider_metadata, Some(sealed));
    assert_eq!(reply.usage, Usage { input: 2, output: 3, ..Usage::default() });
    assert_eq!(reply.stop, StopReason::Length);
    assert_eq!(&*reply.model, "m");
}

#[test]
fn nothing_is_an_empty_reply_and_empty_text_is_no_text() {
    assert_eq!(fold(&[]), Reply { model: "m".into(), ..Reply::default() });
    assert_eq!(fold(&[Delta::Text(String::new())]), fold(&[]));
    let whole = Reply { text: Some("".into()), model: "m".into(), ..Reply::default() };
    assert_eq!(fold(&[Delta::Whole(Box::new(whole))]), fold(&[]));
}

#[test]
fn calls_without_a_stop_reason_are_tool_calls() {
    assert_eq!(fold(&[call(None, None, Some("f"), "{}")]).stop, StopReason::ToolCalls);
    let stopped = [call(None, None, Some("f"), "{}"), Delta::Stop(StopReason::Stop)];
    assert_eq!(fold(&stopped).stop, StopReason::ToolCalls, "some servers say `stop` beside calls");
    let cut = [call(None, None, Some("f"), "{"), Delta::Stop(StopReason::Length)];
    assert_eq!(fold(&cut).stop, StopReason::Length);
}

#[test]
fn e14_pieces_that_interleave_find_their_calls() {
    let deltas = [
        call(Some(0), Some("a"), Some("f"), ""),
        call(Some(1), Some("b"), Some("g"), ""),
        call(Some(0), None, None, "{\"x\""),
        call(Some(1), None, None, "{\"y\""),
        call(Some(1), None, None, ":2}"),
        call(Some(0), None, None, ":1}"),
    ];
    assert_eq!(calls(&deltas), [made("a", "f", "{\"x\":1}"), made("b", "g", "{\"y\":2}")]);
}

#[test]
fn e14_indexes_give_the_order_and_may_leave_gaps() {
    let deltas = [call(Some(7), Some("b"), Some("g"), "{}"), call(Some(1), Some("a"), Some("f"), "{}")];
    assert_eq!(calls(&deltas), [made("a", "f", "{}"), made("b", "g", "{}")]);
}

#[test]
fn e14_calls_that_arrive_whole_without_an_index() {
    let deltas = [call(None, Some("a"), Some("f"), "{}"), call(None, Some("b"), Some("f"), "{}")];
    assert_eq!(calls(&deltas), [made("a", "f", "{}"), made("b", "f", "{}")]);
    let nameless_ids = [call(None, None, Some("f"), "{}"), call(None, None, Some("f"), "{}")];
    assert_eq!(calls(&nameless_ids), [made("", "f", "{}"), made("", "f", "{}")]);
}

#[test]
fn e14_pieces_without_an_index_go_by_id_or_to_the_last_call() {
    let deltas = [
        call(None, Some("a"), Some("f"), ""),
        call(None, Some("b"), Some("g"), "{"),
        call(None, Some("a"), None, "{\"x\":1"),
        call(None, None, None, "}"),
        call(None, Some("a"), None, "}"),
    ];
    assert_eq!(calls(&deltas), [made("a", "f", "{\"x\":1}"), made("b", "g", "{}")]);
}

#[test]
fn e14_arguments_before_the_name() {
    let with_index = [call(Some(0), None, None, "{\"x\""), call(Some(0), Some("a"), Some("f"), ":1}")];
    assert_eq!(calls(&with_index), [made("a", "f", "{\"x\":1}")]);
    let without = [
        call(None, None, None, "{\"x\""),
        call(None, None, None, ":1}"),
        call(None, Some("a"), None, ""),
        call(None, None, Some("f"), ""),
        call(None, Some("b"), Some("g"), "{}"),
    ];
    assert_eq!(calls(&without), [made("a", "f", "{\"x\":1}"), made("b", "g", "{}")]);
}

#[test]
fn e14_a_provider_that_calls_every_call_number_zero() {
    let ids = [
        call(Some(0), Some("a"), Some("f"), "{}"),
        call(Some(0), Some("b"), Some("f"), "{"),
        call(Some(0), None, None, "}"),
    ];
    assert_eq!(calls(&ids), [made("a", "f", "{}"), made("b", "f", "{}")]);
    let names = [call(Some(0), None, Some("f"), "{}"), call(Some(0), None, Some("g"), "{}")];
    assert_eq!(calls(&names), [made("", "f", "{}"), made("", "g", "{}")]);
    let equal = [call(Some(0), None, Some("f"), "{}"), call(Some(0), None, Some("f"), "{}")];
    assert_eq!(calls(&equal), [made("", "f", "{}"), made("", "f", "{}")]);
}

#[test]
fn e14_a_name_or_id_in_every_piece_counts_once() {
    let deltas = [
        call(Some(0), Some("a"), Some("f"), "{\"x\""),
        call(Some(0), Some("a"), Some("f"), ":1"),
        call(Some(0), Some(""), Some(""), "}"),
    ];
    assert_eq!(calls(&deltas), [made("a", "f", "{\"x\":1}")]);
    let no_ids = [call(Some(0), None, Some("f"), "{\"x\""), call(Some(0), None, Some("f"), ":1}")];
    assert_eq!(calls(&no_ids), [made("", "f", "{\"x\":1}")]);
    let new_ids = [call(Some(0), Some("a"), Some("f"), "{"), call(Some(0), Some("b"), None, "}")];
    assert_eq!(calls(&new_ids), [made("a", "f", "{}")], "without a name it is the same call");
}

#[test]
fn e14_any_grouping_of_indexed_pieces_gives_the_same_calls() {
    // The same two argument texts, cut at every place, the pieces of the second one between those of the first.
    let args = "{\"text\":\"héllo\"}";
    for cut in (0..=args.len()).filter(|at| args.is_char_boundary(*at)) {
        let (head, tail) = args.split_at(cut);
        let deltas = [
            call(Some(0), Some("a"), Some("f"), head),
            call(Some(1), Some("b"), Some("f"), head),
            call(Some(0), None, None, tail),
            call(Some(1), None, None, tail),
        ];
        assert_eq!(calls(&deltas), [made("a", "f", args), made("b", "f", args)], "cut at {cut}");
    }
}

#[test]
fn a_call_without_anything_is_none() {
    assert!(calls(&[call(Some(0), None, None, "")]).is_empty());
    assert_eq!(
        calls(&[call(Some(0), None, None, "{}")]),
        [made("", "", "{}")],
        "the core says what is wrong"
    );
}

#[test]
fn too_many_calls_fail_with_what_was_paid() {
    let mut assembler = Assembler::new("m");
    let paid = Usage { input: 9, ..Usage::default() };
    assembler.push(Delta::Usage(paid)).expect("small");
    for at in 0..MAX_CALLS {
        assembler.push(call(Some(at as u32), None, Some("f"), "{}")).expect("within the bound");
    }
    let failure = assembler.push(call(None, Some("new"), Some("f"), "{}")).expect_err("one too many");
    assert_eq!((failure.kind, failure.usage), (FailureKind::Protocol, paid));
    assert!(failure.message.contains("4096"), "{}", failure.message);
}

#[test]
fn too_long_a_reply_fails() {
    let mut assembler = Assembler::new("m");
    let quarter = "x".repeat(MAX_REPLY_BYTES as usize / 4);
    assembler.push(Delta::Text(quarter.clone())).expect("a quarter");
    assembler.push(Delta::Reasoning(quarter.clone())).expect("a half");
    assembler.push(call(None, None, None, &quarter)).expect("three quarters");
    assembler.push(Delta::Text(quarter)).expect("exactly the bound");
    assert_eq!(assembler.push(Delta::Text("x".into())).expect_err("beyond").kind, FailureKind::TooLarge);
    // A bound of its own, and a reply that comes whole.
    let mut assembler = Assembler::new("m").bounded(3);
    let usage = Usage { output: 7, ..Usage::default() };
    let reply = Reply { text: Some("four".into()), usage, ..Reply::default() };
    let failure = assembler.push(Delta::Whole(Box::new(reply))).expect_err("beyond");
    assert_eq!((failure.kind, failure.usage), (FailureKind::TooLarge, usage));
    assert_eq!(&*failure.message, "the reply is longer than max_reply_bytes (3 bytes)");
}

#[test]
fn putting_a_reply_together_costs_its_length() {
    // A name in each piece made the arguments be read anew each time.
    let pieces = |n: usize, piece: &str| {
        let mut assembler = Assembler::new("m");
        assembler.push(call(Some(0), None, Some("f"), "{")).expect("small");
        taken(|| {
            for _ in 0..n {
                assembler.push(call(Some(0), None, Some("f"), piece)).expect("small");
            }
        })
    };
    for piece in ["\"a\":1,", "}{", "[]", "\"", "{}"] {
        doubling(|n| pieces(n, piece)).unwrap_or_else(|fault| panic!("{piece}: {fault}"));
    }
}

#[test]
fn parallel_calls_that_are_glued_together_are_split_by_their_brackets() {
    let two = [made("c1", "f", r#"{"a":1}"#), made("", "f", r#"{"a":"}{"}"#)];
    // One piece, pieces cut anywhere, and pieces under one id.
    assert_eq!(calls(&[call(Some(0), Some("c1"), Some("f"), r#"{"a":1} {"a":"}{"}"#)]), two);
    for cut in 1..14 {
        let (first, rest) = r#"{"a":1}{"a":"}{"}"#.split_at(cut);
        let id = Some("c1");
        assert_eq!(
            calls(&[call(Some(0), id, Some("f"), first), call(Some(0), None, None, rest)]),
            two,
            "{cut}"
        );
        assert_eq!(calls(&[call(None, id, Some("f"), first), call(None, id, None, rest)]), two, "{cut}");
    }
    // What comes twice under one id is one call; without an id nobody knows.
    let twice = r#"{"a":1}{"a": 1}"#;
    assert_eq!(calls(&[call(Some(0), Some("c1"), Some("f"), twice)]), [made("c1", "f", r#"{"a":1}"#)]);
    let piece = |id| call(Some(0), id, Some("f"), r#"{"a":1}"#);
    assert_eq!(calls(&[piece(Some("c1")), piece(Some("c1"))]), [made("c1", "f", r#"{"a":1}"#)]);
    assert_eq!(calls(&[call(Some(0), None, Some("f"), twice)]).len(), 2);
    // An id of its own, and no name.
    let named = [made("c1", "f", r#"{"a":1}"#), made("c2", "f", r#"{"a":2}"#)];
    assert_eq!(
        calls(&[
            call(Some(0), Some("c1"), Some("f"), r#"{"a":1}"#),
            call(Some(0), Some("c2"), None, r#"{"a":2}"#)
        ]),
        named
    );
    // What is no row of objects stays as it came, for the model to be told.
    for args in [r#"{"a":1}x"#, r#"{"a":1}{"a""#, r#"{"a":1}[2]"#, r#"{"a":1}}"#, "12 13"] {
        assert_eq!(calls(&[call(Some(0), Some("c1"), Some("f"), args)]), [made("c1", "f", args)], "{args}");
    }
    // The beginning of a call, before its arguments came, beside the whole one.
    let (bare, whole) =
        (call(Some(0), Some("c1"), Some("f"), ""), call(Some(1), Some("c1"), Some("f"), "{\"a\":1}"));
    for both in [[bare.clone(), whole.clone()], [whole.clone(), bare.clone()]] {
        assert_eq!(calls(&both), [made("c1", "f", "{\"a\":1}")]);
    }
    let other = call(Some(1), Some("c2"), Some("f"), "{\"a\":1}");
    assert_eq!(calls(&[bare, other]), [made("c1", "f", "{}"), made("c2", "f", "{\"a\":1}")]);
    // Another id in each piece of one call is no other call.
    assert_eq!(
        calls(&[
            call(Some(0), Some("c1"), Some("f"), "{"),
            call(Some(0), Some("c2"), None, "}"),
            call(Some(0), Some("c3"), None, "")
        ]),
        [made("c1", "f", "{}")]
    );
}
