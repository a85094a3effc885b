//! A small world for runs of the core: tools of every kind, a start, and inputs.

use std::sync::Arc;

use serde_json::json;
use windlass_core::event::{AgentRef, RunInput, RunStarted};
use windlass_core::model::{ModelChoice, Prices, Reply, ReplyCall, Usage};
use windlass_core::policy::Stop;
use windlass_core::tool::{Effect, Offer, ToolKind};
use windlass_core::{Input, InputKind, Message, Policy, RunId, ToolSpec};

/// The time at which runs of tests begin.
pub(crate) const BEGINNING: u64 = 1_000_000;

pub(crate) fn run_id() -> RunId {
    RunId::from_number(7)
}

/// One tool of every kind that decisions look at.
pub(crate) fn tools() -> Vec<ToolSpec> {
    let strict = json!({
        "type": "object",
        "properties": { "n": { "type": "integer" } },
        "required": ["n"],
        "additionalProperties": false
    });
    vec![
        tool("read", |_| {}),
        tool("put", |tool| {
            tool.effect = Effect::Idempotent;
            tool.retries = Some(1);
            tool.summary_above = Some(200);
        }),
        tool("pay", |tool| {
            tool.effect = Effect::Once;
            tool.has_check = true;
            tool.summary_above = Some(200);
        }),
        tool("book", |tool| {
            tool.effect = Effect::Once;
            tool.approve = true;
        }),
        tool("poll", |tool| tool.poll = true),
        tool("ask", |tool| tool.kind = ToolKind::Ask),
        tool("hidden", |tool| tool.offer = Offer::Withheld),
        tool("strict", |tool| tool.parameters = Arc::new(strict)),
        tool("helper", |tool| tool.kind = ToolKind::Delegate),
        ToolSpec::branches(branches()),
        ToolSpec::parent_tools(vec![
            tool("read", |_| {}),
            tool("charge", |tool| tool.effect = Effect::Once),
            tool("ask", |tool| tool.kind = ToolKind::Ask),
            tool("sign", |tool| tool.approve = true),
        ]),
        ToolSpec::finish(Some(&output())),
    ]
}

/// A branch that models are offered, and one that only a hook can ask for.
fn branches() -> Vec<ToolSpec> {
    let input = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let mut hidden = ToolSpec::one_branch("hidden", "", None);
    hidden.offer = Offer::Withheld;
    vec![ToolSpec::one_branch("deep", "Looks deeper.", Some(&input)), hidden]
}

/// The schema of the typed output.
fn output() -> serde_json::Value {
    json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] })
}

fn tool(name: &str, change: impl FnOnce(&mut ToolSpec)) -> ToolSpec {
    let mut tool = ToolSpec::read_only(name, "", json!({ "type": "object" }));
    change(&mut tool);
    tool
}

/// The start of a run with that policy, those tools and two models, of which the second costs more.
pub(crate) fn start(policy: Policy, tools: &Arc<Vec<ToolSpec>>) -> Input {
    // A run that waits for quotas has keys that can be renewed, too.
    let key_from = policy.request.wait_for_quota.then(|| "login".into());
    let model = |name: &str, price: u64| ModelChoice {
        name: name.into(),
        key_command: key_from.clone(),
        prices: Some(Prices {
            input: price,
            output: 2 * price,
            cached: price / 2,
            cache_write: price,
            hosted: None,
        }),
        structured: (name == "m1").then_some(true),
        ..ModelChoice::default()
    };
    let agent = AgentRef { name: "tester".into(), digest: "0".into() };
    let started = RunStarted {
        // An answer in text may have to be an output, too.
        output_schema: (policy.replies.stop == Stop::FinishTool || policy.replies.parse_retries == 1)
            .then(|| Arc::new(output())),
        prompt: Arc::new(vec![Arc::new(Message::system("Be brief."))]),
        tools: tools.clone(),
        models: Arc::new(vec![
            model("m1", 1_000_000),
            ModelChoice { max_tokens: Some(100), ..model("m2", 3_000_000) },
        ]),
        policy: Arc::new(policy),
        ..RunStarted::new(run_id(), agent, RunInput::Messages(vec![Arc::new(Message::user("Go"))]))
    };
    Input { at: BEGINNING, what: InputKind::Start(Box::new(started)) }
}

/// A reply with calls of these names, arguments and ids.
pub(crate) fn reply(text: Option<&str>, calls: Vec<(&str, &str, Option<&str>)>, usage: Usage) -> Reply {
    Reply {
        text: text.map(Into::into),
        calls: calls
            .into_iter()
            .map(|(name, args, id)| ReplyCall {
                id: id.map(Into::into),
                name: name.into(),
                args: args.into(),
            })
            .collect(),
        usage,
        model: "m1".into(),
        ..Reply::default()
    }
}
