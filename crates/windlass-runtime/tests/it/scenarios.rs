//! Runs of every kind, each a function of the conversation so far, so that it goes the same way after an interruption.

use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream;
use windlass_core::event::QuestionKind;
use windlass_core::model::FailureKind;
use windlass_core::policy::LimitKind;
use windlass_core::tool::{Effect, ToolKind};
use windlass_core::{Answer, Message};
use windlass_models::{Delta, ModelRequest};
use windlass_runtime::{Agent, AgentBuilder, DriveOptions, Environment};
use windlass_testing::{FnModel, FnPeople, FnTool, called, model_failure, text_reply, yield_now};
use windlass_tools::ToolError;

use crate::ground::{Ground, Guard, options};

/// A kind of run.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    build: fn(&Ground) -> AgentBuilder,
    people: bool,
}

impl Scenario {
    pub(crate) fn agent(&self, ground: &Ground) -> Agent {
        (self.build)(ground).build().unwrap()
    }

    pub(crate) fn options(&self, ground: &Ground) -> DriveOptions {
        let people = self.people.then(|| Arc::new(people(ground)) as _);
        DriveOptions { people, ..options() }
    }
}

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario { name: "a plain answer", build: plain, people: false },
    Scenario { name: "a streamed answer", build: streamed, people: false },
    Scenario { name: "one tool", build: one_tool, people: false },
    Scenario { name: "parallel tools", build: parallel, people: false },
    Scenario { name: "an approval", build: approval, people: true },
    Scenario { name: "a wait before the next try of a model", build: model_retry, people: false },
    Scenario { name: "a wait before the next try of a tool", build: tool_retry, people: false },
    Scenario { name: "a question to a person", build: asks, people: true },
    Scenario { name: "a child process that hangs", build: child_process, people: false },
    Scenario { name: "a tool that ignores the request to stop", build: ignores_cancel, people: false },
    Scenario { name: "tools with effects, checked or in doubt", build: effects, people: true },
    Scenario { name: "a deadline with a closing call", build: deadline, people: false },
];

/// How many results stand at the end of the conversation.
pub(crate) fn results(request: &ModelRequest) -> usize {
    let messages: Vec<&Message> = request.messages.iter().map(|message| &**message).collect();
    messages.iter().rev().take_while(|message| matches!(message, Message::Tool(_))).count()
}

/// A model that asks for these calls after each input, and answers once there are results.
pub(crate) fn calls_then_answers(calls: &'static [(&'static str, &'static str)]) -> FnModel {
    FnModel::new(move |request| match results(request) {
        0 => called(calls),
        _ => text_reply("done"),
    })
    .step_by_step()
}

/// A tool that only reads, takes so long, in virtual milliseconds, and stops when it is asked to.
pub(crate) fn slow_tool(ground: &Ground, name: &'static str, ms: u64) -> FnTool {
    let (seen, environment) = (ground.seen.clone(), ground.environment.clone());
    FnTool::new(name, move |context, _| {
        let (seen, environment) = (seen.clone(), environment.clone());
        async move {
            let _alive = seen.begin(&context.call);
            yield_now().await;
            let work = environment.sleep_until(environment.now() + ms);
            if context.cancelled.run_until_cancelled(work).await.is_none() {
                return Err(ToolError::new("stopped"));
            }
            seen.end(&context.call);
            Ok(format!("{name} is done").into())
        }
    })
    .effect(Effect::ReadOnly)
}

fn plain(ground: &Ground) -> AgentBuilder {
    ground.agent(FnModel::new(|_| text_reply("Hello.")))
}

fn streamed(ground: &Ground) -> AgentBuilder {
    let model = FnModel::new(|_| {
        let mut pieces: Vec<_> =
            ["I ", "think ", "that ", "I ", "am."].map(|text| Delta::Text(text.into())).into();
        pieces.insert(0, Delta::Reasoning("Hm.".into()));
        pieces.extend(text_reply(""));
        pieces
    });
    ground.agent(model.step_by_step())
}

fn one_tool(ground: &Ground) -> AgentBuilder {
    ground.agent(calls_then_answers(&[("look", "{}")])).tool(slow_tool(ground, "look", 10))
}

fn parallel(ground: &Ground) -> AgentBuilder {
    let calls =
        &[("long", "{}"), ("short", "{}"), ("middle", "{}"), ("nowhere", "{}"), ("short", "{\"again\": 1}")];
    ground
        .agent(calls_then_answers(calls))
        .tool(slow_tool(ground, "long", 30))
        .tool(slow_tool(ground, "short", 10))
        .tool(slow_tool(ground, "middle", 20))
}

fn approval(ground: &Ground) -> AgentBuilder {
    ground
        .agent(calls_then_answers(&[("look", "{}"), ("pay", "{}")]))
        .tool(slow_tool(ground, "look", 5))
        .tool(slow_tool(ground, "pay", 5).spec(|spec| spec.approve = true))
}

/// A model that fails once for every new conversation.
fn model_retry(ground: &Ground) -> AgentBuilder {
    let longest = AtomicUsize::new(0);
    ground.agent(FnModel::streaming(move |_, request| {
        let long = request.messages.len();
        if longest.fetch_max(long, Ordering::SeqCst) < long {
            return Box::pin(stream::iter([Err(model_failure(
                &request,
                FailureKind::RateLimited,
                "too much",
            ))]));
        }
        Box::pin(stream::iter(text_reply("done").into_iter().map(Ok)))
    }))
}

fn tool_retry(ground: &Ground) -> AgentBuilder {
    let (seen, tried) = (ground.seen.clone(), Arc::new(AtomicUsize::new(0)));
    let shaky = FnTool::new("shaky", move |context, _| {
        let (seen, tried) = (seen.clone(), tried.clone());
        async move {
            let _alive = seen.begin(&context.call);
            yield_now().await;
            if tried.fetch_add(1, Ordering::SeqCst) == 0 {
                return Err(ToolError::new("not yet"));
            }
            seen.end(&context.call);
            Ok("at last".into())
        }
    });
    ground
        .agent(calls_then_answers(&[("shaky", "{}")]))
        .tool(shaky.effect(Effect::ReadOnly).spec(|spec| spec.retries = Some(2)))
}

fn asks(ground: &Ground) -> AgentBuilder {
    let ask = FnTool::new("ask", |_, _| async { Err(ToolError::new("people answer this")) });
    ground
        .agent(calls_then_answers(&[("ask", r#"{"question": "Which?"}"#), ("look", "{}")]))
        .tool(ask.spec(|spec| spec.kind = ToolKind::Ask))
        .tool(slow_tool(ground, "look", 60))
}

/// A child process that is killed with what holds it.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn child_process(ground: &Ground) -> AgentBuilder {
    let seen = ground.seen.clone();
    let hangs = FnTool::new("hangs", move |context, _| {
        let guard: Guard = seen.begin(&context.call);
        async move {
            // The guard goes after the child: while a process is left, something is alive.
            let _alive = guard;
            let _child = Killed(Command::new("sleep").arg("60").spawn().unwrap());
            std::future::pending().await
        }
    });
    let hangs = hangs.effect(Effect::ReadOnly).spec(|spec| spec.timeout_ms = Some(500));
    ground.agent(calls_then_answers(&[("hangs", "{}")])).tool(hangs)
}

fn ignores_cancel(ground: &Ground) -> AgentBuilder {
    let (seen, environment) = (ground.seen.clone(), ground.environment.clone());
    let deaf = FnTool::new("deaf", move |context, _| {
        let (seen, environment) = (seen.clone(), environment.clone());
        async move {
            let _alive = seen.begin(&context.call);
            environment.sleep_until(environment.now() + 10_000).await;
            seen.end(&context.call);
            Ok("deaf is done".into())
        }
    });
    ground
        .agent(calls_then_answers(&[("deaf", "{}"), ("look", "{}")]))
        .tool(deaf.effect(Effect::ReadOnly))
        .tool(slow_tool(ground, "look", 5))
}

fn effects(ground: &Ground) -> AgentBuilder {
    let seen = ground.seen.clone();
    let checked =
        slow_tool(ground, "checked", 15).spec(|spec| spec.effect = Effect::Once).check(move |context, _| {
            let happened = seen.happened.lock().unwrap().contains(&context.call);
            async move {
                yield_now().await;
                Ok(happened.then(|| windlass_core::CallOutcome::Ok { content: "checked is done".into() }))
            }
        });
    ground
        .agent(calls_then_answers(&[("checked", "{}"), ("once", "{}"), ("again", "{}")]))
        .tool(checked)
        .tool(slow_tool(ground, "once", 10).spec(|spec| spec.effect = Effect::Once))
        .tool(slow_tool(ground, "again", 5).spec(|spec| spec.effect = Effect::Idempotent))
        .settings(&serde_json::json!({ "batch": "staged" }))
}

fn deadline(ground: &Ground) -> AgentBuilder {
    ground
        .agent(calls_then_answers(&[("look", "{}"), ("wait", "{}")]))
        .tool(slow_tool(ground, "look", 10))
        .tool(slow_tool(ground, "wait", 5_000))
        .settings(&serde_json::json!({ "at_limit": "wrap_up" }))
        .limit(LimitKind::Seconds, 1.0)
}

/// People who think for 50 ms, allow everything, and know what happened.
fn people(ground: &Ground) -> FnPeople {
    let (seen, environment) = (ground.seen.clone(), ground.environment.clone());
    FnPeople::thinking(move |state, question| {
        let call = question.call.clone();
        let name =
            call.as_ref().and_then(|call| state.open_call(call)).map(|open| open.call.name.to_string());
        let answer = match (question.kind, call) {
            (QuestionKind::Approval, _) => Answer::Approve,
            (QuestionKind::Outcome, Some(call)) if seen.happened.lock().unwrap().contains(&call) => {
                Answer::Result(format!("{} is done", name.unwrap_or_default()).into())
            }
            (QuestionKind::Outcome, _) => Answer::RunAgain,
            (QuestionKind::Clarify, _) => Answer::Text("this one".into()),
            (QuestionKind::Plan, _) => Answer::Accept,
            (QuestionKind::Result, _) => Answer::Result("done".into()),
            (QuestionKind::Pause, _) => Answer::Resume { text: None },
            (QuestionKind::Auth, _) => Answer::Retry,
            (QuestionKind::Limit(_), _) => Answer::Conclude("enough".into()),
        };
        let thought = environment.sleep_until(environment.now() + 50);
        Some(Box::pin(async move {
            thought.await;
            answer
        }))
    })
}
