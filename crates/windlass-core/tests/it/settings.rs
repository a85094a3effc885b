//! The `loop` section: every value that is taken, and what it does to the preset's. What is said of every other value is
//! shown by the reader of agent files, which knows places.

use serde_json::{Value, json};
use windlass_core::Policy;
use windlass_core::policy::{
    AtLimit, Batch, DefaultLoop, LATER, Limit, LimitKind, Malformed, Memory, MemoryBounds, Preset,
    Repetition, Talk, Turns, Watched, Wire,
};
use windlass_core::policy::{LoopKeys, Results};

fn policy(settings: &Value) -> Result<Policy, serde_json::Error> {
    let keys: LoopKeys = serde_json::from_value(settings.clone())?;
    Ok(keys.policy(DefaultLoop::Chat))
}

fn set(settings: &Value) -> Policy {
    policy(settings).unwrap_or_else(|error| panic!("{settings}: {error}"))
}

/// The usual values with a change.
fn chat(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Preset::CHAT.policy();
    change(&mut policy);
    policy
}

#[test]
fn each_slot_is_set_on_its_own() {
    assert_eq!(set(&json!({})), Preset::CHAT.policy());
    assert_eq!(set(&json!({ "preset": "chat" })), Preset::CHAT.policy());
    let alias = set(&json!({ "preset": "swiftagent" }));
    assert_eq!(alias, Preset::CHAT.policy(), "the system's own name is an alias");
    assert_eq!(set(&json!({ "wire": "native" })), chat(|policy| policy.request.wire = Wire::Native));
    for (value, talk) in [
        (json!("answer"), Talk::Answer),
        (json!({ "remind": 2 }), Talk::Remind(2)),
        (json!({ "clarify": 0 }), Talk::Clarify(0)),
        (json!({ "correct": 1 }), Talk::Correct(1)),
    ] {
        assert_eq!(set(&json!({ "talk": value })), chat(|policy| policy.replies.talk = talk));
    }
    for (value, malformed) in [
        (json!("answer"), Malformed::Answer),
        (json!("fail"), Malformed::Fail),
        (json!(2), Malformed::FeedBack(2)),
        (json!({ "feed_back": 0 }), Malformed::FeedBack(0)),
    ] {
        assert_eq!(set(&json!({ "malformed": value })), chat(|policy| policy.replies.malformed = malformed));
    }
    for (value, batch) in [
        (json!("concurrent"), Batch::Concurrent(10)),
        (json!({ "concurrent": 3 }), Batch::Concurrent(3)),
        (json!("first"), Batch::First),
        (json!("serial"), Batch::Serial),
        (json!("staged"), Batch::Staged),
    ] {
        assert_eq!(set(&json!({ "batch": value })), chat(|policy| policy.calls.batch = batch));
    }
    for (value, repetition) in [
        (json!("off"), Repetition::Off),
        (json!(false), Repetition::Off),
        (json!(true), Repetition::ON),
        (json!({ "stop_at": 9 }), Repetition::Watched(Watched { note_at: 3, stop_at: 9 })),
    ] {
        assert_eq!(set(&json!({ "repetition": value })), chat(|policy| policy.calls.repetition = repetition));
    }
    let approve = set(&json!({ "approve": ["pay_*"] }));
    assert_eq!(approve, chat(|policy| policy.tools.approve = vec!["pay_*".into()]));
}

#[test]
fn memory_is_off_unbounded_or_bounded() {
    for (value, memory) in [
        (json!("off"), Memory::Off),
        (json!(false), Memory::Off),
        (json!("unbounded"), Memory::Unbounded),
        (
            json!({ "max_sessions": 3 }),
            Memory::Bounded(MemoryBounds { max_sessions: 3, ..Default::default() }),
        ),
    ] {
        assert_eq!(set(&json!({ "memory": value })), chat(|policy| policy.past.memory = memory));
    }
}

#[test]
fn results_are_worded_as_a_preset_words_them() {
    for name in Results::names() {
        let found = set(&json!({ "results": name })).wording.results;
        assert_eq!(Some(&found), Results::named(name).as_ref());
    }
    assert_eq!(set(&json!({ "results": "kaos" })).wording.results, Preset::TEXT.policy().wording.results);
    assert_eq!(set(&json!({ "results": "plain" })), Preset::CHAT.policy());
}

#[test]
fn a_limit_on_model_calls_lifts_the_single_turn() {
    assert_eq!(set(&json!({ "preset": "typed" })).bounds.turns, Turns::One);
    let more = set(&json!({ "preset": "typed", "limits": { "tool_calls": 2 } }));
    assert_eq!(more.bounds.turns, Turns::One);
    let lifted = set(&json!({ "preset": "typed", "limits": { "model_calls": 2 } }));
    assert_eq!(lifted.bounds.turns, Turns::Many);
}

#[test]
fn outcomes_of_limits() {
    for (value, at_limit) in [
        (json!({ "text": "after {n}" }), AtLimit::Text("after {n}".into())),
        (json!("last_text"), AtLimit::LastText(None)),
        (json!({ "last_text": "none" }), AtLimit::LastText(Some("none".into()))),
        (json!("wrap_up"), AtLimit::WrapUp),
        (json!("ask"), AtLimit::Ask),
        (json!("fail"), AtLimit::Fail),
        (json!("none"), AtLimit::None),
    ] {
        let own = set(&json!({ "limits": { "tool_calls": { "max": 2, "at_limit": value } } }));
        assert_eq!(own.at_limit(LimitKind::ToolCalls), &at_limit);
        assert_ne!(own.at_limit(LimitKind::ModelCalls), &at_limit);
        let all = set(&json!({ "at_limit": value }));
        assert_eq!(all.at_limit(LimitKind::ModelCalls), &at_limit);
        assert_eq!(all.at_limit(LimitKind::Seconds), &at_limit);
        // The outcome of one limit goes before the one for all.
        let both =
            set(&json!({ "at_limit": "none", "limits": { "model_calls": { "max": 2, "at_limit": value } } }));
        assert_eq!(both.at_limit(LimitKind::ModelCalls), &at_limit);
    }
}

#[test]
fn a_limit_in_words_agrees_with_its_number() {
    let amount = |kind: LimitKind, written: f64| kind.amount(kind.keep(written).unwrap());
    for (kind, one, two) in [
        (LimitKind::ModelCalls, "1 model call", "2 model calls"),
        (LimitKind::ToolRounds, "1 tool round", "2 tool rounds"),
        (LimitKind::ToolCalls, "1 tool call", "2 tool calls"),
        (LimitKind::Retries, "1 retry", "2 retries"),
        (LimitKind::Tokens, "1 token", "2 tokens"),
        (LimitKind::InputTokens, "1 input token", "2 input tokens"),
        (LimitKind::OutputTokens, "1 output token", "2 output tokens"),
        (LimitKind::Seconds, "1 second", "2 seconds"),
        (LimitKind::StallSeconds, "1 second without progress", "2 seconds without progress"),
        (LimitKind::CostUsd, "1 USD", "2 USD"),
        (LimitKind::Repetition, "1 equal call in a row", "2 equal calls in a row"),
    ] {
        assert_eq!((amount(kind, 1.0).as_str(), amount(kind, 2.0).as_str()), (one, two));
    }
    assert_eq!(amount(LimitKind::Seconds, 0.25), "0.25 seconds");
    assert_eq!(amount(LimitKind::CostUsd, 0.000_015), "0.000015 USD");
    assert_eq!(amount(LimitKind::ModelCalls, 0.0), "0 model calls");
}

#[test]
fn e1_every_limit_takes_0_1_and_n() {
    for kind in LimitKind::SETTABLE {
        for written in [0_u32, 1, 7] {
            let set = set(&json!({ "limits": { kind.name(): written } }));
            let max = kind.keep(f64::from(written)).unwrap();
            assert_eq!(set.limit(kind), Some(max));
            // A number alone leaves the outcome as the preset has it.
            let then =
                Preset::CHAT.policy().bounds.limits.get(&kind).and_then(|limit| limit.at_limit.clone());
            assert_eq!(set.bounds.limits.get(&kind), Some(&Limit { max, at_limit: then }));
        }
    }
}

#[test]
fn limits_that_are_not_named_stay_those_of_the_preset() {
    let set = set(&json!({ "limits": { "seconds": 2.5 } }));
    assert_eq!(set.limit(LimitKind::Seconds), Some(2_500));
    assert_eq!(set.limit(LimitKind::ModelCalls), Some(10));
}

#[test]
fn a_policy_is_stored_as_it_is() {
    let settings = [
        json!({}),
        json!({ "preset": "text", "memory": "off", "context": { "spill_bytes": 5 } }),
        json!({ "preset": "typed", "cache": true, "repetition": { "note_at": 4 }, "results": "announced" }),
        json!({ "cache": [{ "location": "message", "index": -1 }], "at_limit": "last_text", "malformed": 1 }),
        json!({ "limits": { "cost_usd": { "max": 9_000.123_456_789, "at_limit": "ask" } }, "memory": {} }),
    ];
    for settings in settings {
        let policy = set(&settings);
        let stored = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&stored).unwrap(), policy, "{stored}");
    }
}

#[test]
fn a_policy_has_few_parts() {
    let policy = json!(Preset::TYPED.policy());
    let parts = policy.as_object().unwrap();
    assert!(parts.len() <= 14, "{:?}", parts.keys());
    assert!(parts.values().all(|part| !part.is_boolean()));
}

#[test]
fn what_comes_later_is_no_key_and_no_value() {
    for later in LATER {
        let value = later.later.first().map_or_else(|| json!({ "zzz": 1 }), |word| json!(word));
        let settings = match later.path.split_once('.') {
            Some((section, key)) => json!({ section: { key: value } }),
            None => json!({ later.path: value }),
        };
        assert!(policy(&settings).is_err(), "{} works: take it out of LATER", later.path);
    }
}

#[test]
fn patterns_cover_whole_names() {
    let set = set(&json!({ "approve": ["files__write_*", "a?c"], "deny": ["pay"] }));
    for (tool, wanted) in [
        ("files__write_all", true),
        ("files__write_", true),
        ("files__read", false),
        ("abc", true),
        ("abbc", false),
    ] {
        assert_eq!(set.wants_approval(tool), wanted, "{tool}");
    }
    assert_eq!(set.denied("pay").map(|pattern| &**pattern), Some("pay"));
    assert_eq!(set.denied("repay"), None);
}
