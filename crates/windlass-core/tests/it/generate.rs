//! Random policies, and what may happen to a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::json;
use windlass_core::event::{Adjusted, Splice};
use windlass_core::message::{Content, Media, MediaSource, Part};
use windlass_core::model::{
    FailureKind, ModelChoice, ModelFailure, Prices, Refusal, Reply, Role, StopReason, ToolChoice, Usage,
};
use windlass_core::policy::Results;
use windlass_core::policy::{
    Another, AtLimit, Batch, CodeLimits, CodeMode, Compact, Context, Discovery, Hooks, Limit, LimitKind,
    Malformed, OnReplan, Preset, Repetition, Stop, Stuck, Talk, ToolChoices, Turns, Verification, Verify,
    View, Watched, Wire,
};
use windlass_core::run::{Found, HookEnd, HostCall, StepEdits};
use windlass_core::{Answer, CallOutcome, Policy};

use crate::environment;

/// One thing that may happen: what kind, and two numbers to choose by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) kind: u8,
    pub(crate) pick: u16,
    pub(crate) more: u16,
    pub(crate) waits: u16,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<u8>(), any::<u16>(), any::<u16>(), 0_u16..2_000)
        .prop_map(|(kind, pick, more, waits)| Step { kind, pick, more, waits });
    vec(step, 1..60)
}

fn outcomes() -> impl Strategy<Value = AtLimit> {
    prop_oneof![
        Just(AtLimit::Text("limit {n}".into())),
        Just(AtLimit::LastText(None)),
        Just(AtLimit::LastText(Some("else".into()))),
        Just(AtLimit::WrapUp),
        Just(AtLimit::ForceFinish),
        Just(AtLimit::Ask),
        Just(AtLimit::Fail),
        Just(AtLimit::None),
    ]
}

fn limits() -> impl Strategy<Value = BTreeMap<LimitKind, Limit>> {
    let counts = [
        LimitKind::PlanSteps,
        LimitKind::ModelCalls,
        LimitKind::Iterations,
        LimitKind::ToolRounds,
        LimitKind::ToolCalls,
        LimitKind::Retries,
    ];
    let kinds = [
        LimitKind::Tokens,
        LimitKind::InputTokens,
        LimitKind::OutputTokens,
        LimitKind::Seconds,
        LimitKind::StallSeconds,
        LimitKind::CostUsd,
    ];
    let limit = |max: std::ops::Range<u64>| {
        (max, proptest::option::of(outcomes())).prop_map(|(max, at_limit)| Limit { max, at_limit })
    };
    let few = btree_map(proptest::sample::select(counts.to_vec()), limit(0..5), 0..5);
    let more = btree_map(proptest::sample::select(kinds.to_vec()), limit(0..3_000), 0..3);
    (few, more).prop_map(|(mut few, more)| {
        // Cost is kept in pico-dollars, of which a token of the test's first model costs a million.
        few.extend(more.into_iter().map(|(kind, mut limit)| {
            limit.max *= if kind == LimitKind::CostUsd { 1_000_000 } else { 1 };
            (kind, limit)
        }));
        few
    })
}

/// A verification of some calls, or none.
fn verification(choice: u32) -> Verify {
    if choice != 2 {
        return Verify::Off;
    }
    let tools = vec!["p*".into(), "read".into(), "helper".into()];
    Verify::On(Verification { threshold: 0.6, hint: None, dry_run: false, tools })
}

/// Budgets that a few replies fill, and none.
fn contexts() -> impl Strategy<Value = Context> {
    let compact =
        proptest::sample::select(vec![Compact::Off, Compact::Off, Compact::DropResults, Compact::Summarise]);
    let every = proptest::option::of(1_u32..3);
    (compact, proptest::option::of(1_u64..1_500), every, 1_u32..3).prop_map(
        |(compact, max_tokens, every, keep_last)| Context {
            compact,
            max_tokens,
            every,
            keep_last,
            ..Context::default()
        },
    )
}

pub(crate) fn policies() -> impl Strategy<Value = Policy> {
    let talk = prop_oneof![
        3 => Just(Talk::Answer),
        1 => (0_u32..3).prop_map(Talk::Remind),
        1 => (0_u32..3).prop_map(Talk::Clarify),
        1 => (0_u32..3).prop_map(Talk::Correct),
    ];
    let malformed =
        prop_oneof![(0_u32..3).prop_map(Malformed::FeedBack), Just(Malformed::Answer), Just(Malformed::Fail)];
    let batch = prop_oneof![
        (1_u32..4).prop_map(Batch::Concurrent),
        Just(Batch::First),
        Just(Batch::Serial),
        Just(Batch::Staged),
    ];
    let repetition = prop_oneof![
        Just(Repetition::Off),
        (2_u32..4, 2_u32..5).prop_map(|(note_at, stop_at)| Repetition::Watched(Watched { note_at, stop_at })),
    ];
    let wires = [Wire::Auto, Wire::Auto, Wire::Native, Wire::Schema, Wire::Fenced];
    let wire = proptest::sample::select(wires.to_vec());
    let results = proptest::sample::select(vec!["plain", "announced", "typed", "text", "refine"]);
    let another =
        prop_oneof![2 => Just(Another::Never), 1 => Just(Another::Always), 2 => Just(Another::Judge)];
    let views = [View::Full, View::Minimal, View::Progressive, View::KitchenSink, View::Blackboard];
    let stuck = prop_oneof![2 => Just(Stuck::Off), 1 => (2_u32..4).prop_map(Stuck::After)];
    let view = proptest::sample::select(views.to_vec());
    // A run that ends after one turn has no limit on model calls.
    let typed = (wire, results, any::<(bool, bool, bool, bool)>(), 0_u32..3, contexts());
    let code = prop_oneof![2 => Just(None), 1 => (0_u32..4).prop_map(Some)];
    let batch = (batch, code, (0_u8..6, any::<bool>()));
    let slots = (talk, malformed, batch, repetition, 0_u32..3, 0_u64..50, any::<(bool, bool)>());
    let typed = (typed, another, (view, stuck));
    (slots, limits(), outcomes(), 0_u32..3, typed).prop_map(|(slots, limits, at_limit, transport, typed)| {
        let (typed, another, (view, stuck)) = typed;
        let (
            talk,
            malformed,
            (batch, code, (plan, asks)),
            repetition,
            retries,
            retry_wait_ms,
            (approve, deny),
        ) = slots;
        let mut policy = Preset::CHAT.policy();
        let (wire, results, (finish, single, hooks, search), parse_retries, context) = typed;
        policy.past.context = context;
        // By the value of another slot, so that every mixture comes.
        policy.tools.verify = verification(transport);
        policy.replies.stop = if finish { Stop::FinishTool } else { Stop::Text };
        let passes = another != Another::Always || limits.contains_key(&LimitKind::Iterations);
        policy.replies.another = if passes { another } else { Another::Never };
        (policy.request.view, policy.calls.stuck) = (view, stuck);
        let once = finish && single && !limits.contains_key(&LimitKind::ModelCalls);
        policy.bounds.turns = if once { Turns::One } else { Turns::Many };
        policy.calls.hooks = if hooks { Hooks::AfterSteps } else { Hooks::None };
        (policy.request.wire, policy.replies.parse_retries) = (wire, parse_retries);
        policy.wording.results = Results::named(results).unwrap();
        policy.request.discovery = if search { Discovery::Search } else { Discovery::All };
        policy.tools.approve = if approve { vec!["p*".into()] } else { Vec::new() };
        policy.tools.deny = if deny { vec!["read".into()] } else { Vec::new() };
        policy.calls.code =
            code.map_or(CodeMode::Off, |calls| CodeMode::Tool(CodeLimits { calls, ..CodeLimits::default() }));
        policy.request.wait_for_quota = plan % 2 == 1;
        policy.request.tool_choice = choices(retry_wait_ms, finish);
        if plan == 0 {
            planning(&mut policy, asks);
            policy.request.tool_choice = ToolChoices::default();
        }
        policy.transport.retries = transport;
        (policy.replies.talk, policy.replies.malformed) = (talk, malformed);
        (policy.calls.batch, policy.calls.repetition) = (batch, repetition);
        (policy.calls.retries, policy.calls.retry_wait_ms) = (retries, retry_wait_ms);
        (policy.bounds.limits, policy.bounds.at_limit) = (limits, at_limit);
        policy
    })
}

/// The calls that turns must make: by the value of another slot, so that every mixture comes.
fn choices(slot: u64, finish: bool) -> ToolChoices {
    match slot % 6 {
        0 => ToolChoices::default().with(1, ToolChoice::Named("read".into())),
        1 => ToolChoices::default()
            .with(1, ToolChoice::OneOf(vec!["put".into(), "pay".into()]))
            .with(2, ToolChoice::None),
        2 if finish => ToolChoices::all(ToolChoice::Required),
        _ => ToolChoices::default(),
    }
}

/// The loop of plans in place of the one of calls.
fn planning(policy: &mut Policy, asks: bool) {
    let plan = Preset::PLAN.policy();
    (policy.replies.stop, policy.request.view) = (plan.replies.stop, plan.request.view);
    policy.replies.ask_on_replan = if asks { OnReplan::Ask } else { OnReplan::GoOn };
    policy.calls.code = plan.calls.code;
    policy.bounds.turns = Turns::Many;
}

pub(crate) const QUIET: Step = Step { kind: 0, pick: 0, more: 0, waits: 0 };

fn usage(step: Step) -> Usage {
    Usage { input: u64::from(step.pick % 900), output: u64::from(step.more % 300), ..Usage::default() }
}

pub(crate) fn reply(step: Step) -> Reply {
    const NAMES: [&str; 15] = [
        "read",
        "put",
        "pay",
        "book",
        "poll",
        "ask",
        "hidden",
        "strict",
        "reed",
        "helper",
        "branch",
        "call_parent_tool",
        "__finish__",
        "search_tools",
        "update_blackboard",
    ];
    const ARGS: [&str; 6] = ["{}", "{\"n\":1}", "{\"n\": 1 }", "{\"n\":\"x\"}", "{\"n\":", ""];
    const BRANCHES: [&str; 5] = [
        "{}",
        "{\"name\":\"deep\",\"n\":1}",
        "{\"name\":\"deep\",\"merge\":\"summarize\",\"n\":2}",
        "{\"name\":\"deep\"}",
        "{\"name\":\"hidden\"}",
    ];
    const REACHED: [&str; 6] = [
        "{\"name\":\"read\",\"n\":1}",
        "{\"name\":\"charge\"}",
        "{\"name\":\"ask\",\"question\":\"Which?\"}",
        "{\"name\":\"sign\"}",
        "{\"name\":\"nobody\"}",
        "{}",
    ];
    const VERDICTS: [&str; 4] = [
        "{\"satisfied\": true}",
        "{\"satisfied\": true, \"missing\": null}",
        "{\"satisfied\": false, \"missing\": \"A source.\"}",
        "{\"satisfied\": false}",
    ];
    const IDS: [Option<&str>; 5] = [None, Some("a"), Some("b"), Some(""), Some("call_1_1")];
    let count = [0, 1, 1, 2, 3][usize::from(step.pick % 5)];
    // Half of the replies ask for the same thing several times.
    let at = |n: usize, shift: u16| {
        usize::from(step.more / shift) + n * usize::from(!(step.pick / 5).is_multiple_of(2))
    };
    let args = |name: &str, n: usize| match name {
        "run_code" if !step.pick.is_multiple_of(9) => "{\"code\":\"return 1\"}",
        "branch" => BRANCHES[at(n, 9) % BRANCHES.len()],
        "call_parent_tool" => REACHED[at(n, 9) % REACHED.len()],
        "update_blackboard" => "{\"facts\":{\"a\":\"1\"}}",
        _ => ARGS[at(n, 9) % ARGS.len()],
    };
    let calls = (0..count)
        .map(|n| (if n == 0 && step.waits % 4 == 1 { "run_code" } else { NAMES[at(n, 1) % NAMES.len()] }, n))
        .map(|(name, n)| (name, args(name, n), IDS[at(n, 54) % IDS.len()]))
        .collect();
    let text = match step.pick % 8 {
        _ if step.waits % 4 >= 2 => Some(PLANNED[usize::from(step.waits / 4) % PLANNED.len()]),
        0 => None,
        1 => Some("  "),
        2 => Some("put(n=1)"),
        3 if step.more.is_multiple_of(2) => Some("{\"n\": 4}"),
        5 if step.more.is_multiple_of(3) => {
            Some("{\"should_execute\": true, \"confidence\": 0.9, \"suggested_modifications\": {\"n\": 7}}")
        }
        5 => Some("{\"should_execute\": true, \"confidence\": 0.8}"),
        3 => Some("<output><n>4</n></output>"),
        7 => Some(VERDICTS[usize::from(step.more / 13) % VERDICTS.len()]),
        4 if step.more.is_multiple_of(2) => {
            Some("So:\n```tool_call\n{\"tool\": \"put\", \"arguments\": {\"n\": 1}}\n```")
        }
        4 => Some(
            "```tool_call\n{\"tool\": \"__finish__\", \"arguments\": {\"n\": 1}}\n```\n```delegate\n{\"agent\": 1}\n```",
        ),
        6 if step.more.is_multiple_of(2) => Some(BY_SCHEMA[usize::from(step.more / 2) % BY_SCHEMA.len()]),
        _ => Some("A text."),
    };
    let stop = match step.more % 13 {
        0 => StopReason::Length,
        1 => StopReason::Refused,
        2 => StopReason::Filtered,
        3 => StopReason::Paused,
        _ => StopReason::Stop,
    };
    Reply { stop, ..environment::reply(text, calls, usage(step)) }
}

/// Replies by schema, good and bad.
const BY_SCHEMA: [&str; 6] = [
    "{\"reply\": {\"answer\": \"4\"}}",
    "{\"reply\": {\"answer\": {\"n\": 4}}}",
    "{\"reply\": {\"tool\": \"put\", \"arguments\": {\"n\": 1}}}",
    "{\"reply\": {\"tool\": \"__finish__\", \"arguments\": {\"n\": 1}}}",
    "{\"reply\": {\"tool\": \"nobody\"}}",
    "{\"reply\": {}}",
];

/// Replies that fit the contracts of perception and of decision.
const PLANNED: [&str; 6] = [
    "{\"local_goal_achieved\": true, \"plan_text\": [\"a\"], \"type\": \"CODE\", \"code\": \"return 1\"}",
    "{\"plan_text\": [\"b\"], \"type\": \"CODE\", \"code\": \"return 2\"}",
    "{\"plan_text\": [\"c\"], \"next_step\": {\"code\": \"return 3\"}}",
    "{\"type\": \"CONCLUDE\", \"conclusion\": \"so\"}",
    "{\"type\": \"NOP\", \"description\": \"which?\"}",
    "{\"original_goal_achieved\": true, \"solution_summary\": \"4\"}",
];

pub(crate) fn failure(step: Step) -> ModelFailure {
    const KINDS: [FailureKind; 8] = [
        FailureKind::RateLimited,
        FailureKind::Overloaded,
        FailureKind::Cut,
        FailureKind::BadRequest,
        FailureKind::Auth,
        FailureKind::Connect,
        FailureKind::Unsupported,
        FailureKind::BadRequest,
    ];
    let place = usize::from(step.pick) % KINDS.len();
    // The last one is a server that knows no tools, as its wire has read from its words (K41).
    let refuses = place == KINDS.len() - 1;
    ModelFailure {
        // A request that is refused as it is, and one that never was sent.
        status: if refuses { Some(422) } else { (place == 3).then_some(400) },
        retry_after_ms: (step.more.is_multiple_of(3)).then_some(u64::from(step.more)),
        refuses: refuses.then_some(if step.more % 5 == 4 { Refusal::Schema } else { Refusal::Tools }),
        usage: if step.more.is_multiple_of(2) { usage(step) } else { Usage::default() },
        ..ModelFailure::new(KINDS[place], "it failed", "m1")
    }
}

/// What a hook makes of a step: mostly nothing.
pub(crate) fn edits(step: Step) -> StepEdits {
    let said = Arc::new(windlass_core::Message::user("Be brief."));
    let mut edits = StepEdits::default();
    match step.more % 12 {
        0 => edits.splices = vec![Splice { at: u64::MAX, remove: 0, insert: vec![said] }],
        // This parts a call from its result, most of the time.
        1 => edits.splices = vec![Splice { at: u64::from(step.pick % 5), remove: 1, insert: Vec::new() }],
        2 => edits.adjusted = Some(Adjusted { prompt: Some(Arc::new(vec![said])), ..Adjusted::default() }),
        3 => edits.end = Some(HookEnd::Finish(json!({ "n": 1 }))),
        4 => edits.end = Some(HookEnd::Finish(json!({ "n": "x" }))),
        5 => edits.end = Some(HookEnd::Abort("no key".into())),
        6 => edits.branches = vec!["{\"name\":\"hidden\"}".into(), "{\"name\":\"deep\",\"n\":1}".into()],
        8 => edits.adjusted = Some(chosen("dear", Some(7_000_000))),
        9 => edits.adjusted = Some(chosen("unpriced", None)),
        7 => edits.branches = vec!["{\"name\":\"deep\"}".into(), "{\"name\":\"nobody\"}".into()],
        _ => {}
    }
    edits
}

/// A hook asks another model from here on, with the dearer one behind it.
fn chosen(name: &str, price: Option<u64>) -> Adjusted {
    let prices = |price| Prices {
        input: price,
        output: 2 * price,
        cached: price / 2,
        cache_write: price,
        hosted: None,
    };
    let model = |name: &str, price: Option<u64>| ModelChoice {
        name: name.into(),
        max_tokens: Some(20),
        prices: price.map(prices),
        ..ModelChoice::default()
    };
    let small = ModelChoice { role: Role::Simple, ..model("small", Some(1_000_000)) };
    let models = vec![model(name, price), model("m2", Some(3_000_000)), small];
    Adjusted { models: Some(Arc::new(models)), ..Adjusted::default() }
}

pub(crate) fn outcome(step: Step) -> CallOutcome {
    match step.more % 6 {
        0 => CallOutcome::Error { kind: None, message: "it burns".into() },
        1 => CallOutcome::TimedOut { after_ms: 10 },
        2 => {
            if step.pick.is_multiple_of(2) {
                CallOutcome::Abandoned
            } else {
                CallOutcome::Interrupted
            }
        }
        3 => CallOutcome::UnknownTool { nearest: Vec::new() },
        // Longer than the note that takes its place.
        4 => CallOutcome::Ok { content: "done ".repeat(60).into() },
        // What a provider may refuse for ever (E58).
        _ if step.pick.is_multiple_of(3) => {
            CallOutcome::Ok { content: Content::Parts(vec![pixel(), pixel()]) }
        }
        _ => CallOutcome::Ok { content: "done".into() },
    }
}

fn pixel() -> Part {
    let source = MediaSource::Base64("QUJD".into());
    Part::Image(Media { media_type: "image/png".into(), name: None, source })
}

/// The calls that code makes at once.
pub(crate) fn host_calls(step: Step) -> Vec<HostCall> {
    const NAMES: [&str; 10] =
        ["read", "pay", "book", "put", "strict", "ask", "helper", "nobody", "hidden", "run_code"];
    const ARGS: [&str; 3] = ["{}", "{\"n\":1}", "{\"n\":\"x\"}"];
    let at = |n: usize| usize::from(step.pick) / (n + 1) + n;
    let call =
        |n| HostCall { name: NAMES[at(n) % NAMES.len()].into(), args: ARGS[at(n) % ARGS.len()].into() };
    (0..=usize::from(step.more % 3)).map(call).collect()
}

pub(crate) fn found(step: Step) -> Found {
    match step.more % 3 {
        0 => Found::Happened(CallOutcome::Ok { content: "done".into() }),
        1 => Found::NotHappened,
        _ => Found::Unsure,
    }
}

pub(crate) fn answer(step: Step) -> Answer {
    match step.more % 16 {
        15 => Answer::Retry,
        12..15 => Answer::Resume { text: step.pick.is_multiple_of(3).then(|| "go on".into()) },
        10 => Answer::Accept,
        11 => Answer::Plan {
            plan: vec!["mine".into()],
            step: step.pick.is_multiple_of(2).then(|| json!({ "code": "return 4" })),
        },
        0 => Answer::Approve,
        1 => Answer::Always,
        2 => Answer::ApproveWith { args: json!({ "n": step.pick }) },
        3 => Answer::Deny { reason: None },
        4 => Answer::Text("blue".into()),
        5 => Answer::Result("paid".into()),
        6 => Answer::RunAgain,
        7 => Answer::Unknown,
        8 if step.pick.is_multiple_of(4) => Answer::Conclude("".into()),
        8 if step.pick.is_multiple_of(3) => Answer::Final {
            final_answer: "7".into(),
            confidence: step.pick.is_multiple_of(2).then(|| "0.9".into()),
            original_goal_achieved: step.pick.is_multiple_of(5),
        },
        8 => Answer::Conclude("enough".into()),
        _ => Answer::Raise(f64::from(step.pick % 40)),
    }
}
