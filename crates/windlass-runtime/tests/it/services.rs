//! A37: services are set up before a run and torn down after it, whatever came of it.

use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use futures_util::future::join;
use windlass_core::Status;
use windlass_core::event::QuestionKind;
use windlass_core::tool::{Effect, ToolKind};
use windlass_error::Diagnostic as _;
use windlass_runtime::{Agent, AgentBuilder, Error, in_full};
use windlass_testing::{FnModel, FnPeople, FnTool, called, text_reply, yield_now};
use windlass_tools::{Service, ServiceError, SharedService, Tool};

use crate::ground::{Ground, assert_sound, options};
use crate::scenarios::{calls_then_answers, results};

/// A service that notes what is done with it.
#[derive(Debug)]
struct Mail {
    name: &'static str,
    seen: Arc<Mutex<Vec<String>>>,
    broken: Mutex<Option<&'static str>>,
}

impl Mail {
    fn note(&self, what: &str) {
        self.seen.lock().unwrap().push(format!("{} {what}", self.name));
    }

    async fn step(&self, what: &'static str) -> Result<(), ServiceError> {
        self.note(what);
        yield_now().await;
        match *self.broken.lock().unwrap() {
            Some("panic") => panic!("no post today"),
            Some(broken) if broken == what => Err(ServiceError::new("the post office is closed")),
            _ => Ok(()),
        }
    }
}

impl Service for Mail {
    fn name(&self) -> &str {
        self.name
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let (seen, name) = (self.seen.clone(), self.name);
        let send = FnTool::new("send", move |_, _| {
            seen.lock().unwrap().push(format!("{name} sends"));
            async { Ok("sent".into()) }
        });
        let fail = FnTool::new("fail", |_, _| async { panic!("lost in the post") })
            .spec(|spec| spec.effect = Effect::ReadOnly);
        vec![Arc::new(send.spec(|spec| spec.effect = Effect::Idempotent)), Arc::new(fail)]
    }

    fn set_up(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(self.step("up"))
    }

    fn tear_down(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(self.step("down"))
    }

    fn health(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        Box::pin(self.step("health"))
    }
}

struct Post {
    service: SharedService,
    seen: Arc<Mutex<Vec<String>>>,
}

fn post(name: &'static str, broken: Option<&'static str>) -> Post {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let service = SharedService::new(Mail { name, seen: seen.clone(), broken: Mutex::new(broken) });
    Post { service, seen }
}

impl Post {
    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn builder(ground: &Ground, calls: &'static [(&'static str, &'static str)]) -> AgentBuilder {
    ground.agent(calls_then_answers(calls))
}

fn names(agent: &Agent) -> Vec<String> {
    agent.tools().iter().map(|tool| tool.name.to_string()).collect()
}

#[test]
fn a37_a_service_is_set_up_before_the_first_call_and_torn_down_at_the_end() {
    let ground = Ground::slow();
    let mail = post("gmail", None);
    let agent = builder(&ground, &[("gmail__send", "{}")]).service(&mail.service).build().unwrap();
    assert_eq!(names(&agent), ["gmail__send", "gmail__fail"]);
    assert_eq!(agent.tools()[0].effect, Effect::Idempotent);
    assert_eq!(mail.seen(), [""; 0], "nothing is set up before a run is driven");
    let run = ground.wait(agent.run("Go.")).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert_eq!(mail.seen(), ["gmail up", "gmail sends", "gmail down"]);
    ground.wait(agent.run("Again.")).unwrap();
    assert_eq!(mail.seen().len(), 6, "each run has its set-up");
}

#[test]
fn a37_picked_tools_have_no_prefix_and_the_service_is_set_up_all_the_same() {
    let ground = Ground::slow();
    let mail = post("gmail", None);
    let agent = builder(&ground, &[("send", "{}")]).service_tools(&mail.service, ["send"]).build().unwrap();
    assert_eq!(names(&agent), ["send"]);
    ground.wait(agent.run("Go.")).unwrap();
    assert_eq!(mail.seen(), ["gmail up", "gmail sends", "gmail down"]);
    // Whole and picked, it is one service.
    let both = builder(&ground, &[]).service(&mail.service).service_tools(&mail.service, ["send"]);
    let both = both.build().unwrap();
    assert_eq!(names(&both), ["gmail__send", "gmail__fail", "send"]);
    ground.wait(both.run("Go.")).unwrap();
    assert_eq!(mail.seen().len(), 5);
}

#[test]
fn a37_names_that_clash_are_refused_when_the_agent_is_built() {
    let ground = Ground::new();
    let (one, other) = (post("gmail", None), post("slack", None));
    let refused = |builder: AgentBuilder| in_full(&builder.build().unwrap_err());
    let clash = builder(&ground, &[]).service_tools(&one.service, ["send"]);
    assert_eq!(
        refused(clash.service_tools(&other.service, ["send"])),
        "agent `tested` cannot be built: Duplicate tool name: send (one is from service gmail, one from service slack)"
    );
    assert_eq!(
        refused(builder(&ground, &[]).service(&one.service).service(&one.service)),
        "agent `tested` cannot be built: Duplicate tool name: gmail__send (one is from service gmail, one from service gmail)"
    );
    assert_eq!(
        refused(builder(&ground, &[]).service_tools(&one.service, ["sent"])),
        "agent `tested` cannot be built: the service `gmail` has no tool `sent`; it has send"
    );
}

#[test]
fn a37_a_service_is_torn_down_after_a_panic_an_error_and_a_cancel() {
    let ground = Ground::slow();
    let mail = post("gmail", None);
    let panicking = builder(&ground, &[("gmail__fail", "{}")]).service(&mail.service).build().unwrap();
    let run = ground.wait(panicking.run("Go.")).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert_eq!(mail.seen(), ["gmail up", "gmail down"]);

    let failing = ground.agent(FnModel::new(|_| panic!("no model"))).service(&mail.service).build().unwrap();
    let run = ground.wait(failing.run("Go.")).unwrap();
    assert!(matches!(run.status(), Some(Status::Failed(_))), "{run:?}");
    assert_eq!(mail.seen().len(), 4);

    let hangs = FnTool::new("hang", |context, _| async move {
        context.cancelled.cancelled().await;
        Ok("stopped".into())
    });
    let agent = builder(&ground, &[("hang", "{}")]).tool(hangs).service(&mail.service).build().unwrap();
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let handle = prepared.handle();
    let environment = ground.environment.clone();
    let cancel = async move {
        windlass_runtime::Environment::sleep_until(
            &environment,
            windlass_runtime::Environment::now(&environment) + 100,
        )
        .await;
        handle.cancel("enough").await.unwrap();
    };
    let (run, ()) = ground.wait(join(prepared.drive(), cancel));
    assert_eq!(run.unwrap().status(), Some(Status::Cancelled));
    assert_eq!(mail.seen().len(), 6);
    assert_eq!(mail.seen().last().unwrap(), "gmail down");
}

#[test]
fn a37_a_run_that_waits_holds_no_service_and_sets_it_up_again() {
    let ground = Ground::slow();
    let mail = post("gmail", None);
    let ask = FnTool::new("ask", |_, _| async { Ok("".into()) });
    let agent = builder(&ground, &[("ask", "{\"question\": \"Which?\"}")])
        .tool(ask.spec(|spec| spec.kind = ToolKind::Ask))
        .service(&mail.service)
        .build()
        .unwrap();
    let run = ground.wait(agent.run("Go.")).unwrap();
    assert_eq!(run.status(), None);
    assert_eq!(mail.seen(), ["gmail up", "gmail down"]);
    let people = FnPeople::new(|question| {
        assert_eq!(question.kind, QuestionKind::Clarify);
        windlass_core::Answer::Text("the blue one".into())
    });
    let options = windlass_runtime::DriveOptions { people: Some(Arc::new(people)), ..options() };
    let resumed = ground.wait(agent.resume(run.id()).options(options).prepare()).unwrap();
    let run = ground.wait(resumed.drive()).unwrap();
    assert_eq!(run.status(), Some(Status::Answered));
    assert_sound(&ground, &run);
    assert_eq!(mail.seen(), ["gmail up", "gmail down", "gmail up", "gmail down"]);
}

#[test]
fn a37_runs_at_once_share_one_set_up() {
    let ground = Ground::slow();
    let mail = post("gmail", None);
    let one = builder(&ground, &[("gmail__send", "{}")]).service(&mail.service).build().unwrap();
    let other = builder(&ground, &[("send", "{}")]).service_tools(&mail.service, ["send"]).build().unwrap();
    let (a, b) = ground.wait(join(one.run("Go."), other.run("Go.")));
    assert_eq!((a.unwrap().status(), b.unwrap().status()), (Some(Status::Answered), Some(Status::Answered)));
    assert_eq!(mail.seen(), ["gmail up", "gmail sends", "gmail sends", "gmail down"]);
}

#[test]
fn a37_a_service_that_cannot_be_set_up_stops_the_run_before_it_begins() {
    let ground = Ground::slow();
    let mail = post("gmail", None);
    for (broken, why) in
        [("up", "the post office is closed"), ("panic", "its set-up panicked: no post today")]
    {
        let shut = post("slack", Some(broken));
        let agent = builder(&ground, &[("gmail__send", "{}")])
            .service(&mail.service)
            .service(&shut.service)
            .build()
            .unwrap();
        let error = ground.wait(agent.run("Go.")).unwrap_err();
        assert_eq!(error.code(), "agent.service");
        assert!(matches!(error, Error::Service { .. }));
        assert_eq!(in_full(&error), format!("service `slack` of agent `tested` cannot be set up: {why}"));
        assert_eq!(shut.seen(), ["slack up"]);
    }
    assert_eq!(
        mail.seen(),
        ["gmail up", "gmail down", "gmail up", "gmail down"],
        "the one before is torn down"
    );
}

#[test]
fn a37_a_tear_down_that_fails_changes_nothing_about_the_run() {
    for broken in ["down", "panic at the end"] {
        let ground = Ground::slow();
        let mail = post("gmail", Some(broken));
        let agent = builder(&ground, &[("gmail__send", "{}")]).service(&mail.service).build().unwrap();
        assert_eq!(ground.wait(agent.run("Go.")).unwrap().status(), Some(Status::Answered));
        assert_eq!(ground.wait(agent.run("Again.")).unwrap().status(), Some(Status::Answered));
    }
}

#[test]
fn a37_what_a_dropped_driver_left_up_is_torn_down_before_the_next_set_up() {
    let ground = Ground::slow();
    let mail = post("gmail", None);
    let agent = builder(&ground, &[("gmail__send", "{}")]).service(&mail.service).build().unwrap();
    let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
    let seen = mail.seen.clone();
    let dropped = ground.drive(prepared, move |_| seen.lock().unwrap().len() == 2);
    assert!(dropped.is_none());
    assert_eq!(mail.seen(), ["gmail up", "gmail sends"]);
    ground.wait(agent.run("Again.")).unwrap();
    let after = ["gmail up", "gmail sends", "gmail down", "gmail up", "gmail sends", "gmail down"];
    assert_eq!(mail.seen(), after);
}

#[test]
fn a37_health_is_told_by_name() {
    let ground = Ground::slow();
    let (well, ill) = (post("gmail", None), post("slack", Some("health")));
    let agent = ground
        .agent(FnModel::new(|request| if results(request) == 0 { called(&[]) } else { text_reply("") }))
        .service(&well.service)
        .service(&ill.service)
        .build()
        .unwrap();
    let health = ground.wait(agent.health());
    let ill_words = Err(ServiceError::new("the post office is closed"));
    assert_eq!(health, [("gmail".to_owned(), Ok(())), ("slack".to_owned(), ill_words)]);
    assert_eq!(well.seen(), ["gmail up", "gmail health", "gmail down"]);
}
