//! E20, E21, E22: the grace, what is said in mid-run, and deadlines, exact in virtual time.

use std::sync::Arc;
use windlass_core::event::CallFact;

use futures_util::future::join;
use windlass_core::policy::{LimitKind, Preset};
use windlass_core::tool::ToolKind;
use windlass_core::{CallOutcome, Fact, InputKind, Message, Status};
use windlass_runtime::{Agent, AgentBuilder, DriveOptions, Environment, Run};
use windlass_store::Store;
use windlass_testing::{BEGINNING, FnModel, FnTool, called, model_failure, text_reply};
use windlass_tools::ToolError;

use crate::ground::{Ground, assert_sound, options};
use crate::scenarios::{SCENARIOS, calls_then_answers, results, slow_tool};

fn outcomes(ground: &Ground, run: &Run) -> Vec<CallOutcome> {
    let facts = ground.facts(run.id()).into_iter();
    facts
        .filter_map(|fact| {
            if let Fact::Call(CallFact::Finished(finished)) = fact { Some(finished.outcome) } else { None }
        })
        .collect()
}

/// A tool that, once it is asked to stop, takes so long to do it.
fn lingering(ground: &Ground, ms: u64, end: Result<&'static str, &'static str>) -> FnTool {
    let (seen, environment) = (ground.seen.clone(), ground.environment.clone());
    FnTool::new("lingering", move |context, _| {
        let (seen, environment) = (seen.clone(), environment.clone());
        async move {
            let _alive = seen.begin(&context.call);
            context.cancelled.cancelled().await;
            environment.sleep_until(environment.now() + ms).await;
            end.map(Into::into).map_err(ToolError::new)
        }
    })
    // A call that may have had an effect would be in doubt.
    .spec(|spec| spec.effect = windlass_core::tool::Effect::ReadOnly)
}

fn one_call(ground: &Ground, tool: FnTool) -> AgentBuilder {
    ground.agent(calls_then_answers(&[("lingering", "{}")])).tool(tool)
}

/// A run that is cancelled after 100 ms; gives how long after that it ended.
fn cancelled(ground: &Ground, agent: &Agent) -> (Run, u64) {
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let handle = prepared.handle();
    let cancel = async {
        ground.environment.sleep_until(BEGINNING + 100).await;
        handle.cancel("enough").await.unwrap();
    };
    let (run, ()) = ground.wait(join(prepared.drive(), cancel));
    assert_eq!(ground.seen.alive(), 0);
    (run.unwrap(), ground.environment.now() - BEGINNING - 100)
}

#[test]
fn e20_a_tool_that_ends_within_the_grace_keeps_its_result() {
    let ground = Ground::new();
    let agent = one_call(&ground, lingering(&ground, 1_999, Ok("it happened"))).build().unwrap();
    let (run, took) = cancelled(&ground, &agent);
    assert_eq!((run.status(), took), (Some(Status::Cancelled), 1_999));
    assert_eq!(outcomes(&ground, &run), [CallOutcome::Ok { content: "it happened".into() }]);
    assert_sound(&ground, &run);
}

#[test]
fn e20_a_tool_that_stops_is_interrupted_and_one_that_does_not_is_abandoned_after_the_grace() {
    let ground = Ground::new();
    let agent = one_call(&ground, lingering(&ground, 5, Err("stopped"))).build().unwrap();
    let (run, took) = cancelled(&ground, &agent);
    assert_eq!(took, 5);
    assert_eq!(outcomes(&ground, &run), [CallOutcome::Interrupted]);

    let ground = Ground::new();
    let agent = one_call(&ground, lingering(&ground, 2_001, Ok("too late"))).build().unwrap();
    let (run, took) = cancelled(&ground, &agent);
    assert_eq!(took, 2_000);
    assert_eq!(outcomes(&ground, &run), [CallOutcome::Abandoned]);

    let mut policy = Preset::CHAT.policy();
    policy.bounds.grace_ms = 70;
    let ground = Ground::new();
    let agent = one_call(&ground, lingering(&ground, 71, Ok("too late"))).policy(policy).build().unwrap();
    assert_eq!(cancelled(&ground, &agent).1, 70);
}

#[test]
fn e20_a_tool_that_is_out_of_time_has_its_grace_and_its_late_result_does_not_count() {
    for (linger, ends) in [(10, 510), (5_000, 2_500)] {
        let ground = Ground::new();
        let tool = lingering(&ground, linger, Ok("late")).spec(|spec| spec.timeout_ms = Some(500));
        let agent = one_call(&ground, tool).build().unwrap();
        let run = ground.wait(agent.run("Go.")).unwrap();
        assert_eq!(run.status(), Some(Status::Answered));
        assert_eq!(ground.environment.now() - BEGINNING, ends);
        assert_eq!(outcomes(&ground, &run), [CallOutcome::TimedOut { after_ms: 500 }]);
    }
}

#[test]
fn e30_a_call_that_never_began_is_not_in_doubt_when_its_time_is_over() {
    for unsent in [true, false] {
        let ground = Ground::new();
        let tool = FnTool::new("lingering", move |context, _| async move {
            context.cancelled.cancelled().await;
            Err(ToolError { unsent, ..ToolError::new("not connected") })
        });
        let tool = tool.spec(|spec| {
            spec.timeout_ms = Some(500);
            spec.effect = windlass_core::tool::Effect::Once;
        });
        let agent = one_call(&ground, tool).build().unwrap();
        let run = ground.wait(agent.run("Go.")).unwrap();
        if unsent {
            assert_eq!(run.status(), Some(Status::Answered));
            let failed = CallOutcome::Error { kind: None, message: "not connected".into() };
            assert_eq!(outcomes(&ground, &run), [failed]);
        } else {
            assert_eq!((run.status(), outcomes(&ground, &run)), (None, Vec::new()), "a person is asked");
        }
    }
}

#[test]
fn e20_a_check_that_hangs_ends_with_the_grace() {
    let ground = Ground::new();
    let tool = lingering(&ground, 0, Ok("never"))
        .spec(|spec| spec.effect = windlass_core::tool::Effect::Once)
        .check({
            let seen = ground.seen.clone();
            move |_, _| {
                let guard = seen.guard();
                async move {
                    let _alive = guard;
                    std::future::pending().await
                }
            }
        });
    let agent = one_call(&ground, tool).build().unwrap();
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let run = prepared.id();
    ground.drive(prepared, |_| !ground.seen.begun.lock().unwrap().is_empty());
    let prepared = ground.wait(agent.resume(run).options(options()).prepare()).unwrap();
    let handle = prepared.handle();
    let began = ground.environment.now();
    let (run, ()) = ground.wait(join(prepared.drive(), async {
        ground.environment.sleep_until(began + 100).await;
        handle.cancel("enough").await.unwrap();
    }));
    let run = run.unwrap();
    assert_eq!(run.status(), Some(Status::Cancelled));
    assert_eq!(outcomes(&ground, &run), [CallOutcome::Unknown]);
    assert_eq!(ground.environment.now() - began, 2_100);
    assert_eq!(ground.seen.alive(), 0);
}

/// What users said, in order, and whether the model has answered since.
fn said_by_users(run: &Run) -> (Vec<String>, bool) {
    let mut users = Vec::new();
    let mut answered = false;
    for message in run.messages() {
        match &**message {
            Message::User { content, .. } => {
                users.push(content.text().into_owned());
                answered = false;
            }
            Message::Assistant(_) => answered = true,
            Message::System { .. } | Message::TaskDelegation { .. } | Message::Tool(_) => {}
        }
    }
    (users, answered)
}

#[test]
fn e21_what_is_said_at_any_moment_enters_once_in_order_and_is_answered() {
    for scenario in SCENARIOS.iter().filter(|scenario| !scenario.name.contains("deadline")) {
        let mut heard = 0;
        for polls in 0.. {
            let ground = Ground::slow();
            let prepared =
                ground.wait(scenario.agent(&ground).prepare("Go.", scenario.options(&ground))).unwrap();
            let handle = prepared.handle();
            let sent = std::cell::Cell::new(false);
            let steer = || {
                sent.set(true);
                handle.send_now(InputKind::Steer("first".into()));
                handle.send_now(InputKind::Steer("second".into()));
            };
            if polls == 0 {
                steer();
            }
            let step = |count| {
                if count == polls {
                    steer();
                }
                false
            };
            let run = ground.drive(prepared, step).unwrap();
            let at = format!("{}, after {polls} polls", scenario.name);
            let (users, answered) = said_by_users(&run);
            let steered = ground.kinds(run.id()).iter().filter(|kind| **kind == "Steered").count();
            assert_eq!(users, ["Go.", "first", "second"][..=steered], "{at}");
            assert!(answered, "{at}");
            assert_eq!(run.status(), Some(Status::Answered), "{at}");
            assert_sound(&ground, &run);
            heard += steered;
            if !sent.get() {
                break;
            }
        }
        assert!(heard >= 4, "{}: heard {heard}", scenario.name);
    }
}

/// A run with a second to live; gives its status and when it ended, in ms after its beginning.
fn with_a_second(build: impl FnOnce(&Ground) -> AgentBuilder, drive: DriveOptions) -> (Ground, Run, u64) {
    let ground = Ground::new();
    let agent = build(&ground)
        .settings(&serde_json::json!({ "at_limit": "none", "limits": { "seconds": 1 }, "retries": 3,
            "retry_wait_ms": 20_000 }))
        .build()
        .unwrap();
    let prepared = ground.wait(agent.prepare("Go.", drive)).unwrap();
    let run = ground.wait(prepared.drive()).unwrap();
    let took = ground.environment.now() - BEGINNING;
    assert_eq!(ground.seen.alive(), 0);
    (ground, run, took)
}

#[test]
fn e22_a_deadline_ends_a_tool_a_model_call_an_approval_a_question_and_a_wait() {
    type Build = fn(&Ground) -> AgentBuilder;
    let cases: [(&str, Build, u64); 7] = [
        (
            "a tool that stops",
            |g| g.agent(calls_then_answers(&[("t", "{}")])).tool(slow_tool(g, "t", 9_000)),
            1_000,
        ),
        ("a tool that does not", |g| one_call(g, lingering(g, 9_000, Ok("late"))), 3_000),
        (
            "a model call",
            |g| g.agent(FnModel::streaming(|_, _| Box::pin(futures_util::stream::pending()))),
            1_000,
        ),
        (
            "an approval",
            |g| {
                let tool = slow_tool(g, "t", 1).spec(|spec| spec.approve = true);
                g.agent(calls_then_answers(&[("t", "{}")])).tool(tool)
            },
            1_000,
        ),
        (
            "a question",
            |g| {
                let ask = FnTool::new("ask", |_, _| async { Err(ToolError::new("no")) });
                let calls = &[("ask", r#"{"question": "Which?"}"#)];
                g.agent(calls_then_answers(calls)).tool(ask.spec(|spec| spec.kind = ToolKind::Ask))
            },
            1_000,
        ),
        (
            "a wait for the model's next try",
            |g| {
                g.agent(FnModel::streaming(|_, request| {
                    let mut failure =
                        model_failure(&request, windlass_core::model::FailureKind::RateLimited, "wait");
                    failure.retry_after_ms = Some(20_000);
                    Box::pin(futures_util::stream::iter([Err(failure)]))
                }))
            },
            1_000,
        ),
        (
            "a wait for the tool's next try",
            |g| {
                let tool = FnTool::new("t", |_, _| async { Err(ToolError::new("no")) });
                g.agent(calls_then_answers(&[("t", "{}")])).tool(tool)
            },
            1_000,
        ),
    ];
    for (name, build, ends) in cases {
        let (ground, run, took) = with_a_second(build, options());
        assert_eq!(run.status(), Some(Status::Limit(LimitKind::Seconds)), "{name}");
        assert_eq!(took, ends, "{name}");
        assert_sound(&ground, &run);
    }
}

#[test]
fn e22_a_deadline_that_passed_while_nobody_held_the_run_ends_it_at_the_next_look() {
    let build = |ground: &Ground| {
        let tool = slow_tool(ground, "t", 1).spec(|spec| spec.approve = true);
        ground.agent(calls_then_answers(&[("t", "{}")])).tool(tool)
    };
    let (ground, run, _) = with_a_second(build, DriveOptions::default());
    assert_eq!(run.status(), None);
    let settings = serde_json::json!({ "at_limit": "none", "limits": { "seconds": 1 }, "retries": 3,
        "retry_wait_ms": 20_000 });
    let agent = build(&ground).settings(&settings).build().unwrap();
    // Before its time it is left as it was.
    let prepared = ground.wait(agent.resume(run.id()).prepare()).unwrap();
    assert_eq!(ground.wait(prepared.drive()).unwrap().status(), None);
    ground.environment.jump(1_000);
    let prepared = ground.wait(agent.resume(run.id()).prepare()).unwrap();
    let run = ground.wait(prepared.drive()).unwrap();
    assert_eq!(run.status(), Some(Status::Limit(LimitKind::Seconds)));
    assert_eq!(outcomes(&ground, &run), [CallOutcome::Interrupted]);
}

#[test]
fn a_model_that_never_says_anything_can_be_cancelled() {
    let ground = Ground::new();
    let agent =
        ground.agent(FnModel::streaming(|_, _| Box::pin(futures_util::stream::pending()))).build().unwrap();
    let (run, took) = cancelled(&ground, &agent);
    assert_eq!((run.status(), took), (Some(Status::Cancelled), 0));
}

#[test]
fn a_model_that_never_lets_go_of_its_thread_can_be_cancelled() {
    use futures_util::StreamExt;
    let ground = Ground::new();
    let endless = FnModel::streaming(|_, _| {
        Box::pin(futures_util::stream::repeat(windlass_models::Delta::Text("on and on ".into())).map(Ok))
    });
    let agent = ground.agent(endless).build().unwrap();
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let handle = prepared.handle();
    let step = |count| {
        if count == 10 {
            handle.send_now(InputKind::Cancel { reason: None });
        }
        assert!(count < 20, "the request to stop was not heard");
        false
    };
    let run = ground.drive(prepared, step).unwrap();
    assert_eq!(run.status(), Some(Status::Cancelled));
    assert!(run.usage().estimated && run.usage().output > 0);
}

#[test]
fn a_model_that_never_stops_fails_at_the_bound_of_a_reply() {
    use futures_util::StreamExt;
    let ground = Ground::new();
    let endless = FnModel::streaming(|_, _| {
        let piece = "x".repeat(1 << 20);
        Box::pin(
            futures_util::stream::repeat_with(move || windlass_models::Delta::Reasoning(piece.clone()))
                .map(Ok),
        )
    });
    let run = ground.wait(ground.agent(endless).build().unwrap().run("Go.")).unwrap();
    assert_eq!(run.status().map(|status| status.to_string()), Some("failed(too_large)".to_owned()));
    assert!(run.usage().output >= (16 << 20) / 4);
}

#[test]
fn people_speak_between_turns_of_a_tool_loop() {
    // A steering message while a tool runs is heard by the very next turn, not by a later one (E21).
    let ground = Ground::new();
    let model = FnModel::new(|request| match request.messages.len() {
        1..=2 if results(request) == 0 => called(&[("t", "{}")]),
        _ => text_reply("done"),
    });
    let watched = Arc::new(model);
    let agent = Agent::builder("tested")
        .model(("m", watched.clone()))
        .tool(slow_tool(&ground, "t", 50))
        .log(ground.log.clone() as Arc<dyn Store>)
        .environment(Arc::new(ground.environment.clone()))
        .build()
        .unwrap();
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let handle = prepared.handle();
    let (run, ()) = ground.wait(join(prepared.drive(), async {
        ground.environment.sleep_until(BEGINNING + 10).await;
        handle.steer("Mind the gap.").await.unwrap();
    }));
    run.unwrap();
    let asked = watched.requests();
    assert_eq!(asked.len(), 2);
    let last = asked[1].messages.last().unwrap().clone();
    assert_eq!(*last, Message::user("Mind the gap."));
}
