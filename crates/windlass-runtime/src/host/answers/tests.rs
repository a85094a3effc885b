use serde_json::json;
use windlass_core::Answer;
use windlass_core::event::QuestionKind;
use windlass_core::policy::LimitKind;

use super::read_answer as read;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn each_kind_takes_its_own_words() {
    let limit = QuestionKind::Limit(LimitKind::ModelCalls);
    let cases = [
        (QuestionKind::Approval, "approve", Answer::Approve),
        (QuestionKind::Approval, "yes", Answer::Approve),
        (QuestionKind::Approval, "n too dear", Answer::Deny { reason: Some("too dear".into()) }),
        (QuestionKind::Approval, "always", Answer::Always),
        (QuestionKind::Approval, "deny", Answer::Deny { reason: None }),
        (QuestionKind::Approval, "deny not now", Answer::Deny { reason: Some("not now".into()) }),
        (QuestionKind::Approval, r#"args {"a":1}"#, Answer::ApproveWith { args: json!({ "a": 1 }) }),
        (QuestionKind::Clarify, "approve it", Answer::Text("approve it".into())),
        (QuestionKind::Outcome, "result paid in full", Answer::Result("paid in full".into())),
        (QuestionKind::Outcome, "run_again", Answer::RunAgain),
        (QuestionKind::Outcome, "unknown", Answer::Unknown),
        (QuestionKind::Pause, "resume", Answer::Resume { text: None }),
        (QuestionKind::Pause, "resume with tests", Answer::Resume { text: Some("with tests".into()) }),
        (limit, "conclude that is all", Answer::Conclude("that is all".into())),
        (limit, "raise 20", Answer::Raise(20.0)),
        (limit, "conclude", Answer::Conclude("".into())),
        (QuestionKind::Result, "42 files", Answer::Result("42 files".into())),
        (QuestionKind::Plan, "accept", Answer::Accept),
        (
            QuestionKind::Plan,
            "plan Step 0: look; Step 1: say it",
            Answer::Plan { plan: vec!["Step 0: look".into(), "Step 1: say it".into()], step: None },
        ),
        (
            QuestionKind::Plan,
            r#"plan {"plan":["a"],"step":{"type":"CODE","code":"return 1"}}"#,
            Answer::Plan {
                plan: vec!["a".into()],
                step: Some(json!({ "type": "CODE", "code": "return 1" })),
            },
        ),
        (
            QuestionKind::Plan,
            r#"json {"final_answer":"it is so","confidence":0.9,"original_goal_achieved":false}"#,
            Answer::Final {
                final_answer: "it is so".into(),
                confidence: Some("0.9".into()),
                original_goal_achieved: false,
            },
        ),
        (
            limit,
            r#"json {"final_answer":"42"}"#,
            Answer::Final { final_answer: "42".into(), confidence: None, original_goal_achieved: true },
        ),
    ];
    for (kind, text, answer) in cases {
        assert_eq!(read(kind, &words(text)), Ok(answer), "{text}");
    }
}

#[test]
fn e28_words_that_do_not_fit_say_what_was_expected() {
    let error = read(QuestionKind::Approval, &words("perhaps later")).unwrap_err();
    assert_eq!(error, r#"found "perhaps later", expected approve or always or deny [REASON] or args JSON"#);
    for (kind, text) in [
        (QuestionKind::Approval, "approve now"),
        (QuestionKind::Approval, "y please"),
        (QuestionKind::Approval, "always now"),
        (QuestionKind::Approval, "args"),
        (QuestionKind::Approval, "args 3"),
        (QuestionKind::Approval, "args {"),
        (QuestionKind::Clarify, ""),
        (QuestionKind::Outcome, "result"),
        (QuestionKind::Pause, "later"),
        (QuestionKind::Outcome, "approve"),
        (QuestionKind::Limit(LimitKind::Seconds), "raise much"),
        (QuestionKind::Plan, "plan"),
        (QuestionKind::Plan, r#"plan {"lines":[]}"#),
        (QuestionKind::Plan, "json 42"),
        (QuestionKind::Plan, r#"json {"answer":"42"}"#),
        (QuestionKind::Plan, r#"json {"final_answer":"42","original_goal_achieved":"yes"}"#),
    ] {
        assert!(read(kind, &words(text)).is_err(), "{text}");
    }
}
