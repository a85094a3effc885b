//! The `loop` section: every value that is taken, and what is said of every value that is not.

use serde_json::{Map, Value, json};
use windlass_core::{
    AtLimit, Batch, Limit, LimitKind, Malformed, Policy, Preset, Repetition, Results, Talk, Wire,
};

fn policy(settings: &Value) -> Result<Policy, windlass_core::PolicyError> {
    let none = Map::new();
    Policy::from_settings(settings.as_object().unwrap_or(&none))
}

#[test]
fn every_fault_names_the_key_and_what_fits() {
    let bad = [
        json!({ "preset": "chatty" }),
        json!({ "preset": "zzz" }),
        json!({ "preset": 3 }),
        json!({ "preset": "plan" }),
        json!({ "wires": "auto" }),
        json!({ "zzz": 1 }),
        json!({ "wire": "smoke" }),
        json!({ "view": "minimal" }),
        json!({ "stop": "judge" }),
        json!({ "talk": "reply" }),
        json!({ "talk": { "remind": -1 } }),
        json!({ "talk": { "remind": 1.5 } }),
        json!({ "talk": { "reminds": 1 } }),
        json!({ "talk": { "remind": 1, "clarify": 1 } }),
        json!({ "malformed": "ignore" }),
        json!({ "malformed": { "feed_back": "often" } }),
        json!({ "batch": "parallel" }),
        json!({ "batch": { "concurrent": 0 } }),
        json!({ "batch": { "serial": 2 } }),
        json!({ "results": "loud" }),
        json!({ "retries": -1 }),
        json!({ "retry_wait_ms": "1s" }),
        json!({ "parse_retries": null }),
        json!({ "another": "always" }),
        json!({ "verify": { "threshold": 0.7 } }),
        json!({ "repetition": { "note_at": 1 } }),
        json!({ "repetition": { "stop": 3 } }),
        json!({ "repetition": 3 }),
        json!({ "strategy": "exploratory" }),
        json!({ "ask_on_replan": true }),
        json!({ "ask_on_replan": "no" }),
        json!({ "limits": 10 }),
        json!({ "limits": { "model_call": 10 } }),
        json!({ "limits": { "model_calls": -1 } }),
        json!({ "limits": { "model_calls": 1.5 } }),
        json!({ "limits": { "model_calls": "ten" } }),
        json!({ "limits": { "model_calls": { "at_limit": "fail" } } }),
        json!({ "limits": { "model_calls": { "max": 1, "most": 2 } } }),
        json!({ "limits": { "model_calls": { "max": 1, "at_limit": "stop" } } }),
        json!({ "limits": { "iterations": 1 } }),
        json!({ "limits": { "plan_steps": 1 } }),
        json!({ "limits": { "max_steps": 1 } }),
        json!({ "limits": { "repetition": 1 } }),
        json!({ "at_limit": "stop" }),
        json!({ "at_limit": { "text": 3 } }),
        json!({ "at_limit": { "words": "x" } }),
        json!({ "approve": "pay" }),
        json!({ "deny": [1] }),
        json!({ "context": { "max_tokens": 100 } }),
        json!({ "context": 5 }),
    ];
    let lines: Vec<String> = bad
        .iter()
        .map(|settings| {
            let error = policy(settings).expect_err(&settings.to_string());
            format!("{settings}\n  {} at {}: {error}", error.code(), error.path())
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn each_slot_is_set_on_its_own() {
    let chat = Policy::preset(Preset::Chat).unwrap();
    let set = |settings: Value| policy(&settings).unwrap();
    assert_eq!(set(json!({})), chat);
    assert_eq!(set(json!({ "preset": "chat" })), chat);
    assert_eq!(set(json!({ "preset": "swiftagent" })), chat, "the system's own name is an alias");
    let wire = Wire::Native;
    assert_eq!(set(json!({ "wire": "native" })), Policy { wire, ..chat.clone() });
    for (value, talk) in [
        (json!("answer"), Talk::Answer),
        (json!({ "remind": 2 }), Talk::Remind(2)),
        (json!({ "clarify": 0 }), Talk::Clarify(0)),
        (json!({ "correct": 1 }), Talk::Correct(1)),
    ] {
        assert_eq!(set(json!({ "talk": value })), Policy { talk, ..chat.clone() });
    }
    for (value, malformed) in [
        (json!("answer"), Malformed::Answer),
        (json!("fail"), Malformed::Fail),
        (json!(2), Malformed::FeedBack(2)),
        (json!({ "feed_back": 0 }), Malformed::FeedBack(0)),
    ] {
        assert_eq!(set(json!({ "malformed": value })), Policy { malformed, ..chat.clone() });
    }
    for (value, batch) in [
        (json!("concurrent"), Batch::Concurrent(10)),
        (json!({ "concurrent": 3 }), Batch::Concurrent(3)),
        (json!("first"), Batch::First),
        (json!("serial"), Batch::Serial),
        (json!("staged"), Batch::Staged),
    ] {
        assert_eq!(set(json!({ "batch": value })), Policy { batch, ..chat.clone() });
    }
    for (value, repetition) in [
        (json!("off"), None),
        (json!(false), None),
        (json!(true), Some(Repetition { note_at: 3, stop_at: 6 })),
        (json!({ "stop_at": 9 }), Some(Repetition { note_at: 3, stop_at: 9 })),
    ] {
        assert_eq!(set(json!({ "repetition": value })), Policy { repetition, ..chat.clone() });
    }
    let results = Results::Announced;
    assert_eq!(set(json!({ "results": "announced" })), Policy { results, ..chat.clone() });
    let approve = vec!["pay_*".into()];
    assert_eq!(set(json!({ "approve": ["pay_*"] })), Policy { approve, ..chat });
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
        let own = policy(&json!({ "limits": { "tool_calls": { "max": 2, "at_limit": value } } })).unwrap();
        assert_eq!(own.at_limit(LimitKind::ToolCalls), &at_limit);
        assert_ne!(own.at_limit(LimitKind::ModelCalls), &at_limit);
        let all = policy(&json!({ "at_limit": value })).unwrap();
        assert_eq!(all.at_limit(LimitKind::ModelCalls), &at_limit);
    }
}

#[test]
fn e1_every_limit_takes_0_1_and_n() {
    for kind in LimitKind::SETTABLE {
        if matches!(kind, LimitKind::Iterations | LimitKind::PlanSteps) {
            continue;
        }
        for written in [0_u32, 1, 7] {
            let set = policy(&json!({ "limits": { kind.name(): written } })).unwrap();
            let max = kind.keep(f64::from(written)).unwrap();
            assert_eq!(set.limits.get(&kind), Some(&Limit { max, at_limit: None }));
        }
    }
}

#[test]
fn the_system_s_name_of_a_limit() {
    let set = policy(&json!({ "limits": { "maxAgenticIterations": 4 } })).unwrap();
    assert_eq!(set.limit(LimitKind::ModelCalls), Some(4));
    let above = policy(&json!({ "maxAgenticIterations": 4 })).unwrap();
    assert_eq!(above.limit(LimitKind::ModelCalls), Some(4));
}

#[test]
fn patterns_cover_whole_names() {
    let set = policy(&json!({ "approve": ["files__write_*", "a?c"], "deny": ["pay"] })).unwrap();
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
