//! The core's work on replies: read, checked, decided on and folded.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass::models::{Deltas, ModelRequest};
use windlass::runtime::read::load;
use windlass::runtime::{AgentBuilder, DriveOptions};
use windlass::tools::{ToolContext, ToolResult};
use windlass::{Agent, MemoryLog, Model, Store, Tool};
use windlass_core::message::Content;
use windlass_core::model::{Reply, ReplyCall};
use windlass_core::run::MAX_CALLS;
use windlass_core::{ActionId, Answer, Event, Fact, Input, InputKind, State, ToolSpec, accept, evolve};

use super::{REPLY, piece, prose};
use crate::log::Outcome;
use windlass::store::Payloads;

/// A model that never answers.
#[derive(Debug)]
struct Silent;

impl Model for Silent {
    fn provider(&self) -> &str {
        "bench"
    }

    fn call(&self, _: ModelRequest) -> Deltas {
        Box::pin(futures_util::stream::pending())
    }
}

/// A tool of that name that is never called.
#[derive(Debug)]
pub(super) struct Unused(pub(super) ToolSpec);

impl Tool for Unused {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _: ToolContext, _: Value) -> futures_util::future::BoxFuture<'_, ToolResult> {
        Box::pin(std::future::ready(Ok(Content::from("done"))))
    }
}

/// The state of a run that waits for its model.
fn calling(builder: AgentBuilder) -> Outcome<State> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
        let agent = builder.model(("silent", Arc::new(Silent))).log(log.clone()).build()?;
        let prepared = agent.prepare("Go", DriveOptions::default()).await?;
        let run = prepared.id();
        // It waits for ever.
        drop(tokio::time::timeout(Duration::from_millis(20), prepared.drive()).await);
        Ok(load(&*log, run).await?)
    })
}

fn replied(state: &State, reply: Reply) -> Input {
    let action = ActionId { run: state.run(), seq: state.version() };
    Input { at: 0, what: InputKind::Replied { action, reply: Box::new(reply), lost: None, objection: None } }
}

fn text(text: String) -> Reply {
    Reply { text: Some(text.into()), ..Reply::default() }
}

fn call(name: &str, args: &str) -> ReplyCall {
    ReplyCall { id: None, name: name.into(), args: args.into() }
}

fn decided(what: &str, bound: &str, state: &State, reply: &Reply) {
    piece(what, bound, || replied(state, reply.clone()), |input| accept(state, input));
}

fn echo(schema: Value) -> Unused {
    Unused(ToolSpec::read_only("echo", "Says it again.", schema))
}

/// Prints the rows of replies.
pub(super) fn all() -> Outcome<()> {
    let any = json!({ "type": "object" });
    text_forms(&any)?;
    let plain = calling(Agent::builder("plain").tool(echo(any.clone())))?;
    decided("a reply", "16 MiB of text", &plain, &text(prose(REPLY)));
    let long = json!({ "text": prose(REPLY - 100) }).to_string();
    let one = Reply { calls: vec![call("echo", &long)], ..Reply::default() };
    decided("a reply", "one call with 16 MiB", &plain, &one);
    let list = format!("{{\"list\":[{}0]}}", "0,".repeat(240_000));
    decided(
        "a reply",
        "one call with 250,000 values",
        &plain,
        &Reply { calls: vec![call("echo", &list)], ..Reply::default() },
    );
    let unfit = calling(Agent::builder("plain").tool(echo(
        json!({ "type": "object", "properties": { "list": { "items": { "type": "string" } } } }),
    )))?;
    decided(
        "a reply",
        "one call with 250,000 values that do not fit",
        &unfit,
        &Reply { calls: vec![call("echo", &list)], ..Reply::default() },
    );
    let many = Reply { calls: vec![call("echo", "{}"); MAX_CALLS], ..Reply::default() };
    decided("a reply", "1,024 calls", &plain, &many);
    let shared = format!("{{\"text\":\"{}\"}}", "x".repeat(REPLY / MAX_CALLS - 20));
    decided(
        "a reply",
        "1,024 calls with 16 MiB",
        &plain,
        &Reply { calls: vec![call("echo", &shared); MAX_CALLS], ..Reply::default() },
    );
    let costly = json!({ "type": "object", "anyOf": vec![json!({ "type": "object", "required": ["x"], "properties": { "a": { "type": "string" }, "b": { "type": "string" } } }); 2_000] });
    let costly = calling(Agent::builder("costly").tool(echo(costly)))?;
    decided("a reply", "1,024 calls, a schema of 2,000 alternatives", &costly, &many);
    let unknown: Vec<ReplyCall> =
        (0..MAX_CALLS).map(|number| call(&format!("{}{number}", "nobody".repeat(20)), "{}")).collect();
    let tools = (0..1_000).fold(Agent::builder("tools"), |builder, number| {
        builder.tool(Unused(ToolSpec::read_only(
            format!("{}{number}", "name_of_a_tool".repeat(3)),
            "",
            any.clone(),
        )))
    });
    let tools = calling(tools)?;
    decided(
        "a reply",
        "1,024 unknown tools, 1,000 known ones",
        &tools,
        &Reply { calls: unknown, ..Reply::default() },
    );
    outputs()?;
    folds(&plain, &one);
    approvals(&long)
}

fn text_forms(any: &Value) -> Outcome<()> {
    let fenced =
        calling(Agent::builder("fenced").settings(&json!({ "wire": "fenced" })).tool(echo(any.clone())))?;
    let block = |args: &str| format!("```tool_call\n{{\"tool\": \"echo\", \"arguments\": {args}}}\n```\n");
    let args = json!({ "text": prose(REPLY / 64 - 200) }).to_string();
    for (bound, reply) in [
        ("16 MiB in 64 blocks", block(&args).repeat(64)),
        ("16 MiB in one block", block(&json!({ "text": prose(REPLY - 500) }).to_string())),
        ("16 MiB of opening fences", "```tool_call\n".repeat(REPLY / 13)),
        ("16 MiB of prose", prose(REPLY)),
    ] {
        decided("the fenced form", bound, &fenced, &text(reply));
    }
    let auto = calling(Agent::builder("auto").settings(&json!({ "wire": "auto" })).tool(echo(any.clone())))?;
    let whole = prose(REPLY - 500);
    for (bound, reply) in [
        ("16 MiB of JSON", json!({ "name": "echo", "parameters": { "text": whole } }).to_string()),
        (
            "16 MiB of JSON, 250,000 values",
            format!("{{\"name\":\"echo\",\"parameters\":{{\"list\":[{}0]}}}}", "0, ".repeat(240_000)),
        ),
        (
            "16 MiB between tags",
            format!("<tool_call>echo<arg_key>text</arg_key><arg_value>{whole}</arg_value></tool_call>"),
        ),
        ("16 MiB as Python", format!("echo(text={})", json!(whole))),
        ("16 MiB of numbers as Python", format!("echo(list=[{}0])", "0,".repeat(REPLY / 2 - 20))),
    ] {
        decided("text forms of calls", bound, &auto, &text(reply));
    }
    Ok(())
}

fn outputs() -> Outcome<()> {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" }, "list": { "type": "array" } } });
    let typed = calling(Agent::builder("typed").output_schema(schema.clone()))?;
    let long = json!({ "text": prose(REPLY - 100) }).to_string();
    let list = format!("{{\"list\":[{}0]}}", "0,".repeat(240_000));
    for (bound, args) in [("16 MiB, one text", &long), ("250,000 values", &list)] {
        decided(
            "an output",
            bound,
            &typed,
            &Reply { calls: vec![call("__finish__", args)], ..Reply::default() },
        );
    }
    let settings = json!({ "preset": "typed", "stop": "text" });
    let in_text = calling(Agent::builder("text").settings(&settings).output_schema(schema))?;
    decided("an output in text", "16 MiB, one text", &in_text, &text(long));
    Ok(())
}

/// The facts of a reply, folded and written.
fn folds(state: &State, reply: &Reply) {
    let Ok(events) = accept(state, replied(state, reply.clone())) else { return };
    let Some(completed) = events.first() else { return };
    piece(
        "a fact folded",
        "a reply with one call of 16 MiB",
        || state.clone(),
        |state| evolve(state, completed),
    );
    piece(
        "a fact written",
        "a reply with one call of 16 MiB",
        || (),
        |()| Event::clone(completed).fact.body(),
    );
    piece(
        "a fact read",
        "a reply with one call of 16 MiB",
        || completed.fact.body().unwrap_or_default(),
        |body| serde_json::from_str::<windlass_core::event::TurnCompleted>(&body).map(Fact::from),
    );
    let log = MemoryLog::new();
    let bytes: Arc<[u8]> = prose(super::OUTPUT).into_bytes().into();
    piece(
        "a payload's digest",
        "50 MB",
        || bytes.clone(),
        |bytes| futures_util::FutureExt::now_or_never(log.put(bytes)),
    );
}

/// A call that a person must allow.
fn approvals(args: &str) -> Outcome<()> {
    let settings = json!({ "approve": ["echo"] });
    let asked = calling(Agent::builder("asked").settings(&settings).tool(echo(json!({ "type": "object" }))))?;
    let reply = Reply { calls: vec![call("echo", args)], ..Reply::default() };
    decided("a question to a person", "a call with 16 MiB", &asked, &reply);
    let events = accept(&asked, replied(&asked, reply))?;
    let state = events.iter().fold(asked, evolve);
    let Some(question) = state.questions().first().map(|open| open.id.clone()) else {
        return Err("no question".into());
    };
    piece(
        "an answer of a person",
        "a call with 16 MiB",
        || Input {
            at: 0,
            what: InputKind::Answered { question: question.clone(), answer: Answer::Approve, by: None },
        },
        |input| accept(&state, input),
    );
    Ok(())
}
