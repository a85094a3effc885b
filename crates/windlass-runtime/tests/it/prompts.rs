//! P24: code that makes the system message of a run's objective, tools and context.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_core::event::{RunFact, Steered};
use windlass_core::policy::LimitKind;
use windlass_core::text::estimated_tokens;
use windlass_core::{Fact, Message, Policy, Status, ToolSpec};
use windlass_error::Diagnostic as _;
use windlass_models::{ModelRequest, Tour};
use windlass_read::reports::replay_run;
use windlass_runtime::{
    Agent, AgentBuilder, DriveOptions, Error, ForkOptions, PromptBuilder, PromptContext, React,
    TemplatePrompt, in_full,
};
use windlass_testing::{FnModel, FnTool, called, text_reply};

use crate::ground::{Ground, assert_sound, options};
use crate::scenarios::{calls_then_answers, slow_tool};

/// Counts its calls, and says all that it is told.
#[derive(Clone, Debug, Default)]
struct Telling {
    calls: Arc<AtomicUsize>,
}

impl PromptBuilder for Telling {
    fn generate(
        &self,
        objective: &str,
        tools: &[ToolSpec],
        context: &PromptContext,
    ) -> Result<String, String> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        let PromptContext { input, session, last_answer, .. } = context;
        let session = session.as_ref().map(ToString::to_string);
        Ok(format!("{call} {objective} {names:?} {input} {session:?} {last_answer:?}"))
    }
}

/// Estimates without a prompt.
#[derive(Debug)]
struct Counting;

impl PromptBuilder for Counting {
    fn generate(&self, _: &str, _: &[ToolSpec], _: &PromptContext) -> Result<String, String> {
        Err("an estimate needs no prompt".to_owned())
    }
    fn token_estimate(&self, objective: &str, tools: &[ToolSpec]) -> Result<u64, String> {
        Ok((objective.len() + tools.len()) as u64)
    }
}

fn system(request: &ModelRequest) -> String {
    match request.prompt.first().map(|message| &**message) {
        Some(Message::System { text }) => text.to_string(),
        other => panic!("{other:?}"),
    }
}

fn told(error: &Error) -> String {
    format!("{} [{}]\n{}", in_full(error), error.code(), error.help().unwrap_or_default())
}

fn plain() -> AgentBuilder {
    Agent::builder("a").model(Tour).instructions("Look.")
}

#[test]
fn p24_a_builder_is_told_objective_tools_and_context_and_is_called_once_a_run() {
    let ground = Ground::new();
    let model = FnModel::script([called(&[("t", "{}")]), text_reply("One."), text_reply("Two.")]);
    let builder = Telling::default();
    let agent = ground
        .agent(model.clone())
        .instructions("Look at {{ input }}.")
        .prompt(builder.clone())
        .tool(slow_tool(&ground, "t", 5))
        .tool(slow_tool(&ground, "u", 5))
        .build()
        .unwrap();
    assert_eq!(builder.calls.load(Ordering::SeqCst), 0);
    let session = || DriveOptions { session: Some("s".into()), ..options() };
    let only = DriveOptions { only_tools: Some(vec!["t".into()]), ..session() };
    let first = ground.wait(agent.prepare("A", only)).unwrap();
    let first = ground.drive(first, |_| false).unwrap();
    assert_sound(&ground, &first);
    let second = ground.wait(agent.prepare("B", session())).unwrap();
    assert_sound(&ground, &ground.drive(second, |_| false).unwrap());
    let requests = model.requests();
    assert_eq!(system(&requests[0]), r#"1 Look at A. ["t"] "A" Some("s") None"#);
    assert_eq!(system(&requests[1]), system(&requests[0]));
    assert_eq!(system(&requests[2]), r#"2 Look at B. ["t", "u"] "B" Some("s") Some("One.")"#);
    let Fact::Run(RunFact::Started(start)) = &ground.facts(first.id())[0] else { panic!() };
    assert_eq!(start.objective.as_deref(), Some("Look at A."));
    assert_eq!(start.prompt.len(), 1);
}

#[test]
fn p24_a_replay_a_fork_a_continued_and_a_resumed_run_use_what_was_recorded() {
    let ground = Ground::new();
    let builder = Telling::default();
    let model =
        FnModel::new(
            |request| {
                if request.messages.len() < 2 { called(&[("t", "{}")]) } else { text_reply("Done.") }
            },
        );
    let tool = slow_tool(&ground, "t", 5).spec(|spec| spec.approve = true);
    let build =
        || ground.agent(model.clone()).instructions("Look.").prompt(builder.clone()).tool(tool.clone());
    let agent = build().limit(LimitKind::ModelCalls, 1).build().unwrap();
    let waits = ground.wait(agent.run("Go.")).unwrap();
    assert_eq!(builder.calls.load(Ordering::SeqCst), 1);
    let approve = windlass_core::Answer::Approve;
    let question = waits.questions()[0].id.clone();
    ground.wait(agent.answer(waits.id(), question, approve)).unwrap();
    let resumed = ground.wait(std::future::IntoFuture::into_future(agent.resume(waits.id()))).unwrap();
    assert_eq!(resumed.status(), Some(Status::Limit(LimitKind::ModelCalls)));
    let raised =
        ground.wait(agent.continue_run(waits.id(), &[(LimitKind::ModelCalls, 3.0)], options())).unwrap();
    let raised = ground.drive(raised, |_| false).unwrap();
    assert_eq!(raised.state().objective().map(|text| &**text), Some("Look."));
    let fork = ForkOptions { at: 1, ..ForkOptions::default() };
    let fork = ground.wait(agent.fork(waits.id(), fork, options())).unwrap();
    let fork = ground.wait(fork.prepared.drive()).unwrap();
    assert_eq!(fork.state().objective().map(|text| &**text), Some("Look."));
    let replayed = ground.wait(replay_run(&*ground.memory, waits.id(), None)).unwrap();
    assert!(replayed.difference.is_none(), "{:?}", replayed.difference);
    assert_eq!(builder.calls.load(Ordering::SeqCst), 1);
    assert!(model.requests().iter().all(|request| system(request).starts_with("1 Look.")));
    // A fork with another agent is another start.
    let other = ForkOptions { at: 1, changed: true, ..ForkOptions::default() };
    drop(ground.wait(agent.fork(waits.id(), other, options())).unwrap());
    assert_eq!(builder.calls.load(Ordering::SeqCst), 2);
}

#[test]
fn p24_a_builder_that_fails_or_panics_or_says_nothing_fails_the_start() {
    let fails = plain().prompt_fn(|_, _, _| Err("no phase of the moon".to_owned())).build().unwrap();
    let panics = plain().prompt_fn(|_, _, _| panic!("in the {}", "middle")).build().unwrap();
    let empty = plain().prompt_fn(|_, _, _| Ok(" ".to_owned())).build().unwrap();
    let huge = plain().prompt_fn(|_, _, _| Ok("x".repeat(17 << 20))).build().unwrap();
    let needs = plain().prompt(TemplatePrompt::new("{{ input.colour }}").unwrap()).build().unwrap();
    let agents = [fails, panics, empty, huge, needs];
    let said = agents.map(|agent| told(&agent.run_blocking("Go.").unwrap_err()));
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn p24_a_builder_beside_extra_instructions_is_refused_whichever_comes_first() {
    let first = plain().prompt(React::new()).extra_instructions(["Be brief."]).build().unwrap_err();
    let second = plain().extra_instructions(["Be brief."]).prompt(React::new()).build().unwrap_err();
    assert!(matches!(first, Error::PromptTwice { .. }), "{first:?}");
    assert_eq!(told(&first), told(&second));
    let bad = plain().extra_instructions(["Be {{ brief"]).build().unwrap_err();
    assert!(matches!(bad, Error::Prompt { .. }), "{bad:?}");
    let bad = plain().prompt(React::new().instructions(["Be {{ brief"])).build().unwrap_err();
    insta::assert_snapshot!([first, bad].map(|error| told(&error)).join("\n"));
}

#[test]
fn p24_estimates_are_a_quarter_of_the_bytes_or_what_the_builder_says() {
    let tool = || {
        FnTool::new("look", |_, _| async { Ok("".into()) }).spec(|spec| spec.description = "Looks.".into())
    };
    let of = |builder: AgentBuilder| builder.build().unwrap().prompt_tokens().unwrap();
    let text = "x".repeat(400);
    assert_eq!(of(Agent::builder("a").model(Tour).instructions(text.as_str())), 100);
    assert_eq!(of(Agent::builder("a").model(Tour)), 0);
    assert_eq!(of(plain().prompt_fn(|_, _, _| Ok("x".repeat(80)))), 20);
    assert_eq!(of(plain().extra_instructions(["Be brief."])), estimated_tokens("Look.\n\n- Be brief."));
    // It grows with the tools, and what needs the input counts as it is written.
    let bare = of(plain().prompt(React::new()).tool(tool()));
    let two = tool().spec(|spec| spec.name = "look_twice".into());
    assert!(of(plain().prompt(React::new()).tool(tool()).tool(two)) > bare);
    assert!(of(plain().prompt(React::new().instructions(["In {{ input.lang }}."])).tool(tool())) > bare);
    assert!(of(plain().prompt(TemplatePrompt::new("In {{ input.lang }}: {{ objective }}").unwrap())) > 5);
    assert_eq!(of(plain().prompt(Counting).tool(tool())), 6);
}

#[test]
fn p24_an_agent_with_another_prompt_is_another_agent() {
    let digest = |builder: AgentBuilder| builder.build().unwrap().agent_ref().digest.clone();
    let template = |text: &str| plain().prompt(TemplatePrompt::new(text).unwrap());
    let all = [
        digest(plain()),
        digest(plain().prompt(React::new())),
        digest(plain().prompt(React::new().instructions(["Be brief."]))),
        digest(plain().extra_instructions(["Be brief."])),
        digest(template("{{ objective }}")),
        digest(template("{{ objective }}!")),
    ];
    for (place, one) in all.iter().enumerate() {
        assert!(!all[..place].contains(one), "{place}");
    }
    assert_eq!(digest(template("{{ objective }}")), all[4]);
}

#[test]
fn p24_nobody_who_steers_chooses_the_system_message() {
    let ground = Ground::new();
    let model = calls_then_answers(&[("t", "{}")]);
    let agent = |builder: AgentBuilder| builder.tool(slow_tool(&ground, "t", 50)).build().unwrap();
    let steered = |agent: &Agent| {
        let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
        let handle = prepared.handle();
        let said = Steered { prompt: Some("Obey me.".into()), ..Steered::objective("Sing.") };
        let (run, sent) = ground.wait(futures_util::future::join(prepared.drive(), handle.steer(said)));
        sent.unwrap();
        run.unwrap()
    };
    let bare = steered(&agent(ground.agent(model.clone()).instructions("Look.")));
    let built = steered(&agent(ground.agent(model).instructions("Look.").prompt(React::new())));
    let first = |run: &windlass_runtime::Run| match &*run.state().prompt()[0] {
        Message::System { text } => text.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(first(&bare), "Sing.");
    assert!(first(&built).starts_with("Your objective:\nSing.\n\nYour tools:\n- t"), "{}", first(&built));
    assert_sound(&ground, &bare);
    assert_sound(&ground, &built);
}

#[test]
fn p24_every_preset_takes_a_builder() {
    for preset in windlass_core::policy::Preset::ALL {
        let policy: Policy = preset.policy();
        let agent = plain().policy(policy).prompt(React::new()).code_program("/bin/true");
        // The answer of a plan is a text.
        let typed = *preset != windlass_core::policy::Preset::PLAN;
        let schema = serde_json::json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        let agent = if typed { agent.output_schema(schema) } else { agent };
        if let Ok(agent) = agent.build() {
            let run = agent.run_blocking("Go.").unwrap();
            assert_eq!(run.state().objective().map(|text| &**text), Some("Look."), "{preset}");
        } else {
            panic!("{preset} is refused");
        }
    }
}
