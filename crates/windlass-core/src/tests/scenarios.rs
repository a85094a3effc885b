//! The bounds of the search: policies, tools, replies, and how much may happen. A new policy slot takes part once its
//! values stand in one of the lists here.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::model::{Reply, StopReason, Usage};
use crate::policy::Policy;
use crate::policy::code::{CodeLimits, CodeMode};
use crate::policy::iterations::Another;
use crate::policy::limits::{AtLimit, Limit};
use crate::policy::presets::Preset;
use crate::policy::results::Results;
use crate::policy::values::{Batch, Hooks, Malformed, Repetition, Talk, Transport, Watched};
use crate::policy::views::View;
use crate::protocol::fact::run::RunStarted;
use crate::protocol::input::InputKind;
use crate::run::{HookEnd, StepEdits};
use crate::tests::environment;
use crate::tests::moves::Left;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::tool::{Effect, ToolKind, ToolSpec};

/// One small world to look at in full.
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) policy: Arc<Policy>,
    /// The tools at the start, and what they may become.
    pub(crate) tools: Vec<Arc<Vec<ToolSpec>>>,
    /// Possible replies by call number; the last list applies to all later calls.
    replies: Vec<Vec<Reply>>,
    /// Possible edits of a hook after a step; the first entry is no edit.
    pub(crate) edits: Vec<StepEdits>,
    pub(crate) left: Left,
}

impl Scenario {
    pub(crate) fn replies(&self, call: u8) -> &[Reply] {
        let place = usize::from(call).min(self.replies.len() - 1);
        &self.replies[place]
    }

    pub(crate) fn start(&self) -> RunStarted {
        let InputKind::Start(start) = environment::start(Policy::clone(&self.policy), &self.tools[0]).what
        else {
            panic!("a start starts");
        };
        let typed = self.tools[0].iter().any(|tool| matches!(tool.kind, ToolKind::Finish(_)));
        let output = typed.then(|| Arc::new(schema()));
        RunStarted { policy: self.policy.clone(), output_schema: output, ..*start }
    }
}

/// Subject of a set of scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Two calls in every order of ends, under every kind of batch, with a crash and a cancel.
    Calls,
    /// Code that makes calls, of which one is approved and one has an effect, with crashes, a cancel and a limit.
    Code,
    /// Two approvals or questions, with steering, a crash, a cancel and tools that change.
    People,
    /// Two crashes around calls with an effect.
    Doubts,
    /// Each limit at 0, 1 and 2 with each outcome.
    Limits,
    /// Typed outputs, fenced blocks, delegates and hooks: the presets `typed` and `text`.
    Outputs,
    /// Iterations: each limit on them, with a judge or without.
    Iterations,
    /// A pause and a message at any time in worlds of the others.
    Pauses,
    /// Failing model calls, and replies of every kind under every talk and malformed policy.
    Models,
}

/// Depth of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Seconds in a debug build.
    Quick,
    /// Minutes: every value with every other one.
    Deep,
}

const BATCHES: [Batch; 5] =
    [Batch::Concurrent(1), Batch::Concurrent(2), Batch::First, Batch::Serial, Batch::Staged];
const TALKS: [Talk; 6] =
    [Talk::Answer, Talk::Remind(0), Talk::Remind(1), Talk::Clarify(1), Talk::Correct(0), Talk::Correct(1)];
const MALFORMED: [Malformed; 4] =
    [Malformed::FeedBack(0), Malformed::FeedBack(1), Malformed::Answer, Malformed::Fail];
const LIMITS: [LimitKind; 8] = [
    LimitKind::ModelCalls,
    LimitKind::ToolRounds,
    LimitKind::ToolCalls,
    LimitKind::Retries,
    LimitKind::Seconds,
    LimitKind::Tokens,
    LimitKind::OutputTokens,
    LimitKind::CostUsd,
];
/// Tokens that each reply costs: so that limits on tokens and cost are reached after one or two.
const TOKENS: u64 = 10;

fn outcomes() -> [AtLimit; 7] {
    [
        AtLimit::Text("limit {n}".into()),
        AtLimit::LastText(Some("else".into())),
        AtLimit::WrapUp,
        AtLimit::ForceFinish,
        AtLimit::Ask,
        AtLimit::Fail,
        AtLimit::None,
    ]
}

/// The value of a limit after that many steps, in its kept unit.
fn max(kind: LimitKind, steps: u64) -> u64 {
    match kind {
        LimitKind::Seconds => steps * 1_000,
        LimitKind::Tokens => steps * 2 * TOKENS,
        LimitKind::OutputTokens => steps * TOKENS,
        LimitKind::CostUsd => steps * 3 * TOKENS * 1_000_000,
        _ => steps,
    }
}

fn policy(change: impl FnOnce(&mut Policy)) -> Arc<Policy> {
    let mut policy = Preset::CHAT.policy();
    policy.bounds.limits.clear();
    policy.calls.repetition = Repetition::Off;
    policy.calls.retry_wait_ms = 20;
    policy.transport = Transport { retries: 1, wait_ms: 10, max_wait_ms: 10 };
    change(&mut policy);
    Arc::new(policy)
}

fn text(text: &str) -> Reply {
    calls(Some(text), &[])
}

fn calls(text: Option<&str>, names: &[&str]) -> Reply {
    let usage = Usage { input: TOKENS, output: TOKENS, ..Usage::default() };
    environment::reply(text, names.iter().map(|name| call(name)).collect(), usage)
}

/// `name` or `name!`, a call whose arguments are no JSON.
fn call(name: &str) -> (&str, &str, Option<&'static str>) {
    if name == "run_code" {
        return (name, "{\"code\":\"return 7\"}", None);
    }
    match name.strip_suffix('!') {
        Some(name) => (name, "{\"n\":", None),
        None => (name, "{\"n\":1}", None),
    }
}

fn tools() -> Vec<Arc<Vec<ToolSpec>>> {
    let mut tools = environment::tools();
    tools.retain(|tool| !matches!(tool.kind, ToolKind::Finish(_) | ToolKind::Delegate));
    let mut post = ToolSpec::new("post", "", json!({ "type": "object" }));
    post.effect = Effect::Once;
    tools.push(post);
    vec![Arc::new(tools)]
}

/// With what the tools may become while a run is on: one that waits for approval changes, then it is taken away.
fn changing_tools() -> Vec<Arc<Vec<ToolSpec>>> {
    let mut all = tools();
    let change = |edit: &dyn Fn(&mut Vec<ToolSpec>)| {
        let mut changed = (*tools()[0]).clone();
        edit(&mut changed);
        Arc::new(changed)
    };
    all.push(change(&|tools| {
        for tool in tools.iter_mut().filter(|tool| &*tool.name == "book") {
            tool.description = "Other words.".into();
        }
    }));
    all.push(change(&|tools| tools.retain(|tool| !["book", "pay"].contains(&&*tool.name))));
    all
}

pub(crate) fn scenarios(family: Family, depth: Depth) -> Vec<Scenario> {
    match family {
        Family::Calls => orders(depth),
        Family::Code => codes(depth),
        Family::People => people(depth),
        Family::Doubts => doubts(depth),
        Family::Limits => limits(depth),
        Family::Iterations => iterations(depth),
        Family::Models => models(depth),
        Family::Outputs => outputs(depth),
        Family::Pauses => pauses(depth),
    }
}

/// Worlds of the other families, each with a pause: the quick search has some of each, in which little else happens.
fn pauses(depth: Depth) -> Vec<Scenario> {
    let deep = depth == Depth::Deep;
    let worlds: [fn(Depth) -> Vec<Scenario>; 7] =
        [orders, codes, people, limits, iterations, models, outputs];
    let each = if deep { 4 } else { 16 };
    let worlds = worlds.into_iter().flat_map(|of| of(Depth::Quick).into_iter().step_by(each));
    let paused = |world: Scenario| {
        let calm = Left {
            crashes: world.left.crashes.min(1),
            model_failures: world.left.model_failures.min(1),
            raises: world.left.raises,
            ..Left::default()
        };
        let left = Left { pauses: 1, ..if deep { world.left } else { calm } };
        Scenario { name: format!("pause, {}", world.name), left, ..world }
    };
    worlds.map(paused).collect()
}

/// All pairs of these, in both orders.
fn pairs<'n>(names: &[&'n str]) -> Vec<[&'n str; 2]> {
    names.iter().flat_map(|one| names.iter().map(move |other| [*one, *other])).collect()
}

fn orders(depth: Depth) -> Vec<Scenario> {
    let deep = depth == Depth::Deep;
    let pairs = if deep {
        pairs(&["read", "put", "pay", "post", "book", "ask", "nobody", "read!"])
    } else {
        vec![["read", "read"], ["put", "pay"], ["post", "read"], ["book", "ask"], ["nobody", "put"]]
    };
    let mut found = Vec::new();
    for batch in BATCHES {
        for pair in &pairs {
            found.push(Scenario {
                name: format!("{batch:?} {pair:?}"),
                policy: policy(|policy| {
                    policy.calls.batch = batch;
                    policy.calls.retries = 1;
                    if deep {
                        policy.wording.results = Results::announced();
                    }
                }),
                tools: tools(),
                replies: vec![vec![calls(None, pair)], vec![text("done")]],
                edits: Vec::new(),
                left: Left {
                    crashes: 1,
                    cancels: 1,
                    steers: u8::from(deep),
                    tool_failures: 1 + u8::from(deep),
                    ..Left::default()
                },
            });
        }
    }
    found
}

fn codes(depth: Depth) -> Vec<Scenario> {
    let deep = depth == Depth::Deep;
    let batches: &[Batch] = if deep { &BATCHES } else { &[Batch::Concurrent(2), Batch::Serial] };
    let mut found = Vec::new();
    for batch in batches {
        for (most, set) in [(1, vec!["run_code"]), (3, vec!["run_code"]), (3, vec!["run_code", "read"])] {
            found.push(Scenario {
                name: format!("code {batch:?} {most} {set:?}"),
                policy: policy(|policy| {
                    policy.calls.batch = *batch;
                    policy.calls.code = CodeMode::Tool(CodeLimits { calls: most, ..CodeLimits::default() });
                    policy.bounds.limits.insert(LimitKind::Seconds, Limit { max: 1_000, at_limit: None });
                }),
                tools: tools(),
                replies: vec![vec![calls(None, &set)], vec![text("done")]],
                edits: Vec::new(),
                left: Left {
                    crashes: 1 + u8::from(deep),
                    cancels: 1,
                    adoptions: u8::from(deep || set.len() == 1),
                    tool_failures: u8::from(deep),
                    ..Left::default()
                },
            });
        }
    }
    found
}

fn people(depth: Depth) -> Vec<Scenario> {
    let deep = depth == Depth::Deep;
    let sets: &[&[&str]] = if deep {
        &[
            &["book", "book"],
            &["book", "ask"],
            &["ask", "ask"],
            &["book", "pay"],
            &["book", "read", "book"],
            &["put", "book", "ask"],
        ]
    } else {
        &[&["book", "book"], &["ask", "book"], &["read", "book"]]
    };
    let batches: &[Batch] = if deep { &BATCHES } else { &[Batch::Concurrent(2), Batch::Serial] };
    let mut found = Vec::new();
    for batch in batches {
        for set in sets {
            found.push(Scenario {
                name: format!("people {batch:?} {set:?}"),
                policy: policy(|policy| {
                    policy.calls.batch = *batch;
                    policy.bounds.limits.insert(LimitKind::Seconds, Limit { max: 1_000, at_limit: None });
                }),
                tools: changing_tools(),
                replies: vec![vec![calls(Some("Let me."), set)], vec![text("done")]],
                edits: Vec::new(),
                left: Left {
                    crashes: 1,
                    cancels: 1,
                    steers: 1,
                    tool_changes: u8::from(set.len() <= 2),
                    ..Left::default()
                },
            });
        }
    }
    found.push(Scenario {
        name: "people who allow a tool for good".into(),
        policy: policy(|policy| {
            policy.bounds.limits.insert(LimitKind::Seconds, Limit { max: 1_000, at_limit: None });
        }),
        tools: changing_tools(),
        replies: vec![
            vec![calls(Some("Let me."), &["book", "book"])],
            vec![calls(None, &["book"])],
            vec![text("done")],
        ],
        edits: Vec::new(),
        left: Left {
            crashes: 1,
            adoptions: u8::from(deep),
            tool_changes: u8::from(deep),
            rules: 1,
            ..Left::default()
        },
    });
    found
}

fn doubts(depth: Depth) -> Vec<Scenario> {
    let deep = depth == Depth::Deep;
    let names = ["pay", "post", "put"];
    let batches: &[Batch] = if deep { &BATCHES } else { &[Batch::Concurrent(2), Batch::Staged] };
    let mut found = Vec::new();
    for batch in batches {
        for pair in pairs(&names) {
            found.push(Scenario {
                name: format!("doubts {batch:?} {pair:?}"),
                policy: policy(|policy| {
                    policy.calls.batch = *batch;
                    policy.calls.retries = 1;
                    policy.bounds.limits.insert(LimitKind::ToolCalls, Limit { max: 2, at_limit: None });
                }),
                tools: if deep { changing_tools() } else { tools() },
                replies: vec![vec![calls(None, &pair)], vec![text("done")]],
                edits: Vec::new(),
                left: Left {
                    crashes: 2,
                    adoptions: u8::from(deep || pair[0] == pair[1]),
                    cancels: 1,
                    tool_failures: u8::from(deep),
                    tool_changes: u8::from(deep),
                    ..Left::default()
                },
            });
        }
    }
    found
}

fn iterations(depth: Depth) -> Vec<Scenario> {
    let deep = depth == Depth::Deep;
    let outcomes = if deep { outcomes().to_vec() } else { vec![AtLimit::Ask, AtLimit::WrapUp] };
    let mut found = Vec::new();
    for another in [Another::Never, Another::Always, Another::Judge] {
        for steps in if deep { 0..=2 } else { 0..=1 } {
            for at_limit in &outcomes {
                let limit = Limit { max: steps, at_limit: Some(at_limit.clone()) };
                found.push(Scenario {
                    name: format!("iterations {another:?} {steps} {at_limit:?}"),
                    policy: policy(|policy| {
                        policy.replies.another = another;
                        policy.replies.parse_retries = 1;
                        policy.request.view = View::Minimal;
                        policy.bounds.limits.insert(LimitKind::Iterations, limit);
                        policy.bounds.limits.insert(LimitKind::ToolCalls, Limit { max: 1, at_limit: None });
                    }),
                    tools: tools(),
                    replies: vec![
                        vec![text("done")],
                        vec![text("{\"satisfied\":true}"), text("{\"satisfied\":false}")],
                    ],
                    edits: Vec::new(),
                    left: Left {
                        crashes: 1,
                        cancels: 1,
                        steers: u8::from(deep),
                        raises: u8::from(steps > 0),
                        model_failures: u8::from(deep),
                        ..Left::default()
                    },
                });
            }
        }
    }
    found
}

fn limits(depth: Depth) -> Vec<Scenario> {
    let deep = depth == Depth::Deep;
    let mut found = Vec::new();
    for kind in LIMITS {
        for steps in 0..=2 {
            for at_limit in outcomes() {
                // A limit that is cut while others wait: beside a time limit, or alone.
                for hurry in if deep { vec![false, true] } else { vec![false] } {
                    found.push(limited(kind, steps, at_limit.clone(), hurry, depth));
                }
            }
        }
    }
    found
}

fn limited(kind: LimitKind, steps: u64, at_limit: AtLimit, hurry: bool, depth: Depth) -> Scenario {
    let deep = depth == Depth::Deep;
    let pair: &[&str] = if deep { &["put", "book"] } else { &["put", "pay"] };
    Scenario {
        name: format!("{kind} {steps} {at_limit:?}{}", if hurry { ", in a hurry" } else { "" }),
        policy: policy(|policy| {
            if hurry {
                policy.bounds.limits.insert(LimitKind::Seconds, Limit { max: 500, at_limit: None });
            }
            policy.bounds.limits.insert(kind, Limit { max: max(kind, steps), at_limit: Some(at_limit) });
            policy.calls.retries = u32::from(kind == LimitKind::Retries) * 2;
            policy.bounds.at_limit = AtLimit::Ask;
        }),
        tools: tools(),
        replies: vec![
            vec![calls(Some("First."), pair), text("at once")],
            vec![calls(None, &["read"]), text("done")],
            vec![text("done")],
        ],
        edits: Vec::new(),
        left: Left {
            crashes: u8::from(deep),
            cancels: 1,
            tool_failures: if kind == LimitKind::Retries { 2 } else { 0 },
            raises: 1,
            ..Left::default()
        },
    }
}

/// The output of typed runs.
fn schema() -> Value {
    json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] })
}

/// With a tool that ends a typed run, and another agent to delegate to.
fn typed_tools() -> Vec<Arc<Vec<ToolSpec>>> {
    let mut all = (*tools()[0]).clone();
    let mut helper = ToolSpec::new("helper", "", json!({ "type": "object" }));
    helper.kind = ToolKind::Delegate;
    all.push(helper);
    all.retain(|tool| tool.kind != ToolKind::Branch);
    all.push(ToolSpec::branches(vec![ToolSpec::one_branch("deep", "", None)]));
    all.push(ToolSpec::finish(Some(&schema())));
    vec![Arc::new(all)]
}

fn outputs(depth: Depth) -> Vec<Scenario> {
    let deep = depth == Depth::Deep;
    let batches: &[Batch] = if deep { &BATCHES } else { &[Batch::Concurrent(2), Batch::First] };
    let mut found = Vec::new();
    for preset in [Preset::TYPED, Preset::TEXT] {
        for batch in batches {
            for parse_retries in if deep { 0..=2 } else { 1..=1 } {
                for model_calls in
                    if deep { vec![None, Some(0), Some(1), Some(2)] } else { vec![None, Some(2)] }
                {
                    found.push(output(preset, *batch, parse_retries, model_calls, depth));
                }
            }
        }
    }
    found
}

fn output(
    preset: Preset,
    batch: Batch,
    parse_retries: u32,
    model_calls: Option<u64>,
    depth: Depth,
) -> Scenario {
    let deep = depth == Depth::Deep;
    let typed = preset == Preset::TYPED;
    let base = preset.policy();
    let policy = policy(|policy| {
        *policy = Policy { transport: policy.transport, ..base };
        policy.calls.batch = batch;
        policy.calls.hooks = Hooks::AfterSteps;
        policy.replies.parse_retries = parse_retries;
        policy.bounds.limits.clear();
        if let Some(max) = model_calls {
            policy.set_limit_value(LimitKind::ModelCalls, max);
        }
    });
    let finish = crate::vocabulary::tool::FINISH_TOOL;
    let bad = format!("{finish}!");
    let fenced =
        |name: &str| text(&format!("```tool_call\n{{\"name\": \"{name}\", \"arguments\": {{}}}}\n```"));
    let first = if typed {
        vec![
            calls(Some("Both."), &["read", finish]),
            calls(None, &[finish, finish]),
            calls(None, &[&bad, "helper"]),
            text("no call"),
        ]
    } else {
        vec![fenced("read"), calls(None, &["helper", "read"]), text("```tool_call\n{\n```"), text("done")]
    };
    let last = if typed { calls(None, &[finish]) } else { text("done") };
    let aborted = StepEdits { end: Some(HookEnd::Abort("enough".into())), ..StepEdits::default() };
    let ended = StepEdits { end: Some(HookEnd::Finish(json!({ "n": 3 }))), ..StepEdits::default() };
    let branched =
        StepEdits { branches: vec!["{\"name\":\"deep\"}".into(), "{}".into()], ..StepEdits::default() };
    let more = vec![calls(None, &[&bad]), last.clone()];
    Scenario {
        name: format!("{preset} {batch:?}, {parse_retries} parse retries, {model_calls:?} model calls"),
        policy,
        tools: typed_tools(),
        replies: vec![first, more, vec![last]],
        edits: if typed {
            vec![StepEdits::default(), ended, aborted, branched]
        } else {
            vec![StepEdits::default(), aborted]
        },
        left: Left {
            crashes: 1,
            cancels: 1,
            steers: u8::from(deep),
            tool_failures: 1,
            model_failures: u8::from(deep),
            questions: 1,
            branches: 1,
            ..Left::default()
        },
    }
}

fn models(depth: Depth) -> Vec<Scenario> {
    let deep = depth == Depth::Deep;
    let cut = |stop| Reply { stop, ..calls(Some("Half"), &["read"]) };
    let replies = vec![
        text("an answer"),
        Reply { text: None, ..text("") },
        calls(Some("Both."), &["read", "read!"]),
        calls(None, &["read!"]),
        calls(None, &["strict", "nobody"]),
        cut(StopReason::Length),
        cut(StopReason::Refused),
        Reply { stop: StopReason::Filtered, ..text("Ha") },
        Reply { stop: StopReason::Paused, ..text("Wait") },
        text("read(n=1)"),
    ];
    let mut found = Vec::new();
    for talk in TALKS {
        for malformed in MALFORMED {
            let mut rounds = vec![replies.clone(); 2];
            rounds.push(vec![text("done"), calls(None, &["read"])]);
            rounds.push(vec![text("done")]);
            found.push(Scenario {
                name: format!("{talk:?} {malformed:?}"),
                policy: policy(|policy| {
                    policy.replies.talk = talk;
                    policy.replies.malformed = malformed;
                    policy.calls.repetition = Repetition::Watched(Watched { note_at: 2, stop_at: 3 });
                }),
                tools: tools(),
                replies: rounds,
                edits: Vec::new(),
                left: Left {
                    crashes: u8::from(deep),
                    cancels: u8::from(deep),
                    model_failures: 1,
                    ..Left::default()
                },
            });
        }
    }
    found.extend(quotas(depth));
    found
}

/// Two models without quota or with keys to be renewed, and a time limit that a wait may lie beyond.
fn quotas(depth: Depth) -> Vec<Scenario> {
    let deep = u8::from(depth == Depth::Deep);
    let disturbed = [
        Left { crashes: 1, model_failures: 3 + deep, ..Left::default() },
        Left { pauses: 1, cancels: 1, steers: deep, model_failures: 2 + deep, ..Left::default() },
    ];
    let mut found = Vec::new();
    for seconds in [None, Some(1_000)] {
        for left in disturbed {
            found.push(Scenario {
                name: format!("quotas, {seconds:?}, {left:?}"),
                policy: policy(|policy| {
                    policy.request.wait_for_quota = true;
                    policy.transport.retries = 0;
                    let limit = seconds.map(|max| (LimitKind::Seconds, Limit { max, at_limit: None }));
                    policy.bounds.limits.extend(limit);
                }),
                tools: tools(),
                replies: vec![vec![text("done")]],
                edits: Vec::new(),
                left,
            });
        }
    }
    found
}
