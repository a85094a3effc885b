//! E28: what does not fit is refused, with what was found and what was expected. The texts go to people.

use std::sync::Arc;

use serde_json::json;
use windlass_core::model::Usage;
use windlass_core::policy::{AtLimit, Limit, LimitKind, Preset};
use windlass_core::{
    ActionId, Answer, CallOutcome, Input, InputKind, InvalidInput, RunId, State, accept, evolve,
};
use windlass_error::Diagnostic as _;

use crate::environment::{self, BEGINNING};

struct Run {
    state: State,
    lines: Vec<String>,
}

impl Run {
    fn take(&mut self, what: InputKind) {
        let events = accept(&self.state, Input { at: BEGINNING, what }).unwrap();
        self.state = events.iter().fold(self.state.clone(), evolve);
    }

    fn refuse(&mut self, name: &str, what: InputKind) {
        let invalid: InvalidInput = accept(&self.state, Input { at: BEGINNING, what }).unwrap_err();
        let help = invalid.help().map(|help| format!("\n  help: {help}")).unwrap_or_default();
        self.lines.push(format!("{name}\n  {}: {invalid}{help}", invalid.code()));
    }

    fn action(&self, seq: u64) -> ActionId {
        ActionId { run: self.state.run(), seq }
    }

    fn reply(&mut self, seq: u64, calls: Vec<(&str, &str, Option<&str>)>) {
        let reply = environment::reply(Some("Hm."), calls, Usage::default());
        let action = self.action(seq);
        self.take(InputKind::replied(action, reply));
    }
}

fn answered(question: &str, answer: Answer) -> InputKind {
    InputKind::Answered { question: question.into(), answer, by: None }
}

#[test]
fn e28_every_refusal_says_what_was_found_and_what_was_expected() {
    let mut policy = Preset::CHAT.policy();
    policy.bounds.limits.insert(LimitKind::ModelCalls, Limit { max: 1, at_limit: Some(AtLimit::Ask) });
    policy.bounds.limits.insert(LimitKind::Seconds, Limit { max: 60_000, at_limit: None });
    policy.tools.approve = vec!["strict".into()];
    let tools = Arc::new(environment::tools());
    let start = environment::start(policy, &tools).what;
    let mut run = Run { state: State::new(environment::run_id()), lines: Vec::new() };

    run.refuse("before the start", InputKind::Cancel { reason: None });
    run.take(start.clone());
    run.refuse("a second start", start);
    run.refuse("an answer that nobody asked for", answered("q1", Answer::Approve));
    let foreign = ActionId { run: RunId::from_number(9), seq: 2 };
    run.refuse("another run's action", InputKind::TimerFired { action: foreign });
    run.refuse("a timer before its time", InputKind::TimerFired { action: run.action(1) });

    run.reply(2, vec![("strict", "{\"n\":1}", Some("a")), ("read", "{}", Some("b"))]);
    let done = CallOutcome::Ok { content: "done".into() };
    run.refuse(
        "a call's end as the model's",
        InputKind::CallEnded { action: run.action(2), outcome: done.clone() },
    );
    run.refuse("an answer of another kind", answered("q1", Answer::Conclude("enough".into())));
    run.refuse("an answer to another question", answered("q9", Answer::Approve));
    run.refuse(
        "arguments that do not fit",
        answered("q1", Answer::ApproveWith { args: json!({ "n": "x" }) }),
    );
    let read = InputKind::CallEnded { action: run.action(6), outcome: done };
    run.take(read.clone());
    run.refuse("a second result", read);
    run.take(answered("q1", Answer::Deny { reason: None }));
    run.refuse("a second answer", answered("q1", Answer::Approve));

    run.refuse("a limit that is not raised", answered("q2", Answer::Raise(1.0)));
    run.refuse("half a call", answered("q2", Answer::Raise(2.5)));
    run.take(answered("q2", Answer::Raise(2.0)));
    run.take(InputKind::Cancel { reason: None });
    run.refuse("a second cancel", InputKind::Cancel { reason: None });
    run.refuse("steering what stops", InputKind::Steer("left".into()));
    run.refuse("pausing what stops", InputKind::Pause { reason: None });
    let seq = run.state.version() - 1;
    run.reply(seq, Vec::new());
    assert!(run.state.is_finished());
    run.refuse("anything after the end", InputKind::Steer("left".into()));
    insta::assert_snapshot!(run.lines.join("\n"));
}
