//! `windlass runs show`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json as value};
use windlass_core::event::{RunFact, RunStarted};
use windlass_core::message::{Content, Media, Part};
use windlass_core::run::not_heard;
use windlass_core::text::display_args;
use windlass_core::{Fact, Message, RunId};
use windlass_read::compat::promptchain::run_metadata;
use windlass_read::json;
use windlass_read::reports::{Artifact, Receipt, artifacts, family};
use windlass_read::words::annotations;
use windlass_read::words::asked;
use windlass_read::words::receipts;
use windlass_read::words::{self, count, name, span, time};
use windlass_read::words::{Calls, Cuts, phrase};
use windlass_read::{RunPages, load_until, numbered, start_of};
use windlass_runtime::Run;
use windlass_runtime::control::asked_at;
use windlass_store::{Log, RunSummary, Store};

use super::approvals::Approvals;
use super::find;
use super::listed::{self, took};
use super::{measures, request};
use crate::agents::now;
use crate::asking::answers;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::view::json as view_json;

/// Maximum number of characters shown of a field of the run.
const FIELD_CHARS: usize = 600;
/// Maximum number of characters shown of a tool's result.
const RESULT_CHARS: usize = 600;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(super) struct ShowArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN")]
    run: String,
    /// Also show what the run did, event by event
    #[arg(short, long)]
    events: bool,
    /// The run with all runs below it, those of the agents that it handed tasks to
    #[arg(long, conflicts_with = "events")]
    tree: bool,
    /// The run's Nth request to a model as it goes over HTTP, made anew from the log, and the reply
    #[arg(long, value_name = "N", conflicts_with_all = ["events", "tree", "metadata"], value_parser = clap::value_parser!(u64).range(1..))]
    request: Option<u64>,
    /// With `--request`: only the request, as a command of curl; keys are variables
    #[arg(long, requires = "request", conflicts_with = "json")]
    curl: bool,
    /// With `--request`: as it goes out where nobody follows the reply, so that it is not streamed
    #[arg(long, requires = "request")]
    unfollowed: bool,
    /// With `--request`: the agent's file, if it is not where it was
    #[arg(long, value_name = "FILE", requires = "request")]
    with: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// Only the metadata of the run, as one JSON object with counts, steps and calls
    #[arg(long, conflicts_with_all = ["json", "events"])]
    metadata: bool,
    /// With `--metadata`: without texts, only counts and flags
    #[arg(long, requires = "metadata")]
    summary: bool,
}

pub(super) async fn run(args: ShowArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, id) = find::open(log_args, &args.run).await?;
    if let Some(number) = args.request {
        let (curl, unfollowed, json) = (args.curl, args.unfollowed, args.json);
        let options =
            request::Options { run: id, number, curl, unfollowed, json, with: args.with.as_deref() };
        let (log, _) = find::open_log(log_args, &args.run).await?;
        return request::show(&log, options, log_args).await;
    }
    if args.tree {
        return tree(&*log, id, args.json).await;
    }
    let metadata = run_metadata(&*log, id).await?;
    if args.metadata {
        out::json(&value!(if args.summary { metadata.summary() } else { metadata }))?;
        return Ok(Exit::Good);
    }
    let summary = log.summary(id).await?;
    let run = Run::load(&*log, id).await?;
    let start = start(&*log, id).await?;
    let approvals = Approvals::of(&*log, id).await?;
    let receipts = run.receipts(&*log).await?;
    let made = made(&*log, id).await?;
    if args.json {
        let mut value = as_json(&run, &summary, start.as_deref(), &receipts);
        value.insert("turns_by_model".to_owned(), value!(metadata.turns_by_model));
        value.insert("context".to_owned(), value!(metadata.context));
        value.insert("prediction_accuracy".to_owned(), value!(metadata.prediction_accuracy));
        value.insert("approvals".to_owned(), approvals.json());
        value.insert("made".to_owned(), value!(made));
        if args.events {
            value.insert("events".to_owned(), events(&*log, id).await?.into());
        }
        out::json(&value.into())?;
        return Ok(Exit::Good);
    }
    let cuts = Cuts::default();
    header(&run, &summary, start.as_deref(), &cuts)?;
    for (name, line) in measures::lines(&metadata) {
        out::line(format_args!("{name:<9}{line}"))?;
    }
    if let Some(line) = receipts::line(&receipts) {
        out::line(format_args!("{:<9}{line}", "did"))?;
    }
    made.iter().try_for_each(|one| out::line(format_args!("{:<9}{}", "made", in_words(one))))?;
    let earlier = earlier(&*log, start.as_deref()).await?;
    if earlier > 0 {
        out::line(format_args!("\n({} earlier in this session)", count(earlier as u64, "message")))?;
    }
    messages(&run, &approvals, earlier, &cuts)?;
    if let Some(unheard) = not_heard(run.state()) {
        out::line(format_args!("\n{unheard}"))?;
    }
    questions(&*log, &run, log_args).await?;
    if args.events {
        history(&*log, id, summary.started_at, &cuts).await?;
    }
    if summary.is_interrupted() {
        out::note(format_args!("`windlass runs resume{} {id}` continues it", log_args.words()));
    }
    if cuts.any() {
        let (log, events) = (log_args.words(), if args.events { " -e" } else { "" });
        out::note(format_args!(
            "lines that end with … were cut: `windlass runs show{log}{events} --json {id}` shows everything"
        ));
    }
    Ok(Exit::Good)
}

/// The run with all runs below it, as `runs list` shows them.
async fn tree(log: &dyn Store, id: RunId, as_json: bool) -> Result<Exit, Failure> {
    let members = family(log, id).await?;
    if as_json {
        members.iter().try_for_each(|member| out::json(&json::member(member)))?;
    } else {
        out::rows(&listed::family_table(log, &members).await?)?;
    }
    Ok(Exit::Good)
}

/// The history of the run, event by event.
async fn history(log: &dyn Log, run: RunId, began: u64, cuts: &Cuts) -> Result<(), Failure> {
    out::line("")?;
    let first = start_of(log, run).await?;
    let base = match &first.base {
        Some(base) => Some(load_until(log, base.run, base.version).await?),
        None => None,
    };
    // Calls of the base may still be going on.
    let mut calls = base.as_ref().map(Calls::of).unwrap_or_default();
    let mut pages = RunPages::new(log, run);
    while let Some(batches) = pages.next().await? {
        for (number, event) in batches.iter().flat_map(numbered) {
            calls.learn(&event.fact);
            let (after, did) = (span(event.at.saturating_sub(began)), phrase(&event.fact, &calls, cuts));
            out::line(format_args!("{number:>5} {after:>10}  {did}"))?;
        }
    }
    Ok(())
}

fn as_json(
    run: &Run,
    summary: &RunSummary,
    start: Option<&RunStarted>,
    receipts: &[Receipt],
) -> Map<String, Value> {
    let mut fields =
        if let Value::Object(fields) = view_json::run(run, None, receipts) { fields } else { Map::new() };
    fields.insert("summary".to_owned(), json::summary(summary));
    fields.insert("models".to_owned(), value!(start.map(|start| &start.models)));
    fields.insert("base".to_owned(), value!(start.and_then(|start| start.base.as_ref())));
    fields.insert("messages".to_owned(), value!(run.messages().collect::<Vec<_>>()));
    fields
}

async fn events(log: &dyn Log, run: RunId) -> Result<Vec<Value>, Failure> {
    let mut events = Vec::new();
    let mut pages = RunPages::new(log, run);
    while let Some(batches) = pages.next().await? {
        events.extend(batches.iter().flat_map(numbered).map(|(number, event)| json::event(number, event)));
    }
    Ok(events)
}

fn header(run: &Run, summary: &RunSummary, start: Option<&RunStarted>, cuts: &Cuts) -> std::io::Result<()> {
    let field =
        |name: &str, value: &str| out::line(format_args!("{name:<9}{}", cuts.chars(value, FIELD_CHARS)));
    field("run", &run.id().to_string())?;
    if let Some(agent) = run.state().agent() {
        field("agent", &format!("{} ({})", agent.name, agent.digest.get(..12).unwrap_or_default()))?;
    }
    if let Some(session) = &summary.session {
        field("session", session.as_str())?;
    }
    if let Some(base) = start.and_then(|start| start.base.as_ref()) {
        field("after", &base.run.to_string())?;
    }
    field("status", &json::listed_state(summary))?;
    if let Some(holder) = &summary.holder {
        field("held by", &holder.0)?;
    }
    if let Some(error) = run.error() {
        field("error", error)?;
    }
    field("started", &format!("{}, {} long", time(summary.started_at), took(summary, now())))?;
    if let Some(start) = start {
        let names: Vec<&str> = start.models.iter().map(|model| &*model.name).collect();
        field("model", &names.join(", "))?;
    }
    let counters = run.state().counters();
    let calls =
        [count(counters.model_calls, "model call"), count(counters.tool_calls, "tool call")].join(", ");
    let unknown = if run.cost_usd().is_none() { ", cost unknown" } else { "" };
    field("usage", &format!("{calls}, {}{unknown}", words::usage(run.usage(), run.cost_usd())))?;
    if let Some(reached) = run.state().cut_by() {
        field("limit", &words::limit(reached))?;
    }
    for (kind, max, used) in run.state().overshoots() {
        let (used, max) = (kind.amount(used), kind.show(max));
        field("over", &format!("{used} of {max} are used: a running call went beyond the limit"))?;
    }
    field("events", &summary.version.to_string())
}

async fn start(log: &dyn Log, id: RunId) -> Result<Option<Box<RunStarted>>, Failure> {
    let first = log.read(id, 1, 1).await?;
    let first = first.first().and_then(|batch| batch.events.first());
    Ok(first.and_then(|event| {
        if let Fact::Run(RunFact::Started(start)) = &event.fact { Some(start.clone()) } else { None }
    }))
}

/// The number of messages that a run's conversation begins with.
async fn earlier(log: &dyn Log, start: Option<&RunStarted>) -> Result<usize, Failure> {
    match start.and_then(|start| start.base.as_ref()) {
        Some(base) => Ok(load_until(log, base.run, base.version).await?.history().len()),
        None => Ok(0),
    }
}

/// The part of a conversation that a run added.
pub(crate) struct Transcript {
    pub(crate) run: Run,
    approvals: Approvals,
    earlier: usize,
}

impl Transcript {
    pub(crate) async fn of(log: &dyn Store, id: RunId) -> Result<Self, Failure> {
        let run = Run::load(log, id).await?;
        let start = start(log, id).await?;
        let earlier = earlier(log, start.as_deref()).await?;
        Ok(Self { run, approvals: Approvals::of(log, id).await?, earlier })
    }

    /// Prints its messages, with what people decided.
    pub(crate) fn show(&self) -> std::io::Result<()> {
        messages(&self.run, &self.approvals, self.earlier, &Cuts::default())
    }

    /// Its messages as data.
    pub(crate) fn messages(&self) -> Value {
        value!(self.run.messages().skip(self.earlier).collect::<Vec<_>>())
    }
}

fn messages(run: &Run, approvals: &Approvals, earlier: usize, cuts: &Cuts) -> std::io::Result<()> {
    for message in run.messages().skip(earlier) {
        out::line("")?;
        match &**message {
            Message::System { text } => out::line(format_args!("system: {text}"))?,
            Message::User { content, .. } | Message::TaskDelegation { content } => {
                out::line(format_args!("{}: {}", message.role(), content.text()))?;
                media(content).try_for_each(medium)?;
            }
            Message::Assistant(reply) => {
                for step in reply.annotations.iter().flat_map(|all| &all.steps) {
                    out::line(format_args!("-> {}", annotations::step(step, cuts)))?;
                }
                let text = reply.text_without_calls().unwrap_or_default();
                if !text.is_empty() || reply.calls.is_empty() {
                    out::line(format_args!("assistant: {text}"))?;
                }
                let sources = reply.annotations.iter().flat_map(|all| annotations::sources(all, cuts));
                for line in sources {
                    out::line(format_args!("  {line}"))?;
                }
                for media in &reply.media {
                    medium(media)?;
                }
                for call in &reply.calls {
                    let args = approvals.args(&call.id).unwrap_or(&call.args);
                    out::line(format_args!("-> {} {}", name(&call.name), display_args(args)))?;
                    for line in approvals.lines(&call.id, &call.args) {
                        out::line(format_args!("   {line}"))?;
                    }
                }
            }
            Message::Tool(result) => {
                let text = result.content.text();
                let failed = if result.failed { " (failed)" } else { "" };
                out::line(format_args!(
                    "<- {}{failed}: {}",
                    name(&result.name),
                    cuts.chars(&text, RESULT_CHARS)
                ))?;
            }
        }
    }
    if let Some(text) = run.text() {
        let is_last = run.messages().last().is_some_and(|last| {
            if let Message::Assistant(reply) = &**last { reply.text.as_deref() == Some(text) } else { false }
        });
        if !is_last {
            out::line(format_args!("\nat the end: {text}"))?;
        }
    }
    Ok(())
}

/// The artifacts that the run's models made.
async fn made(log: &dyn Store, run: RunId) -> Result<Vec<Artifact>, Failure> {
    let mut made = artifacts(log, run).await?;
    made.retain(|artifact| artifact.is_made);
    Ok(made)
}

/// An artifact that a model made: its type, its size, and the beginning of its digest.
fn in_words(artifact: &Artifact) -> String {
    let what = artifact.name.as_deref().or(artifact.media_type.as_deref()).map(name).unwrap_or_default();
    match (&artifact.sha256, &artifact.address) {
        (Some(sha256), _) => {
            let digits = sha256.get(..12).unwrap_or(sha256);
            format!("{what}, {}, {digits}", count(artifact.bytes, "byte"))
        }
        (None, Some(address)) => format!("{what}, at its provider: {}", name(address)),
        (None, None) => what,
    }
}

fn medium(media: &Media) -> std::io::Result<()> {
    let name = media.name.as_deref().map(|name| format!("{}: ", words::name(name)));
    out::line(format_args!("  [{}{}]", name.unwrap_or_default(), words::name(&media.media_type)))
}

/// The images and files of a message.
fn media(content: &Content) -> impl Iterator<Item = &Media> {
    let parts = if let Content::Parts(parts) = content { parts.as_slice() } else { &[] };
    parts.iter().filter_map(|part| match part {
        Part::Image(media) | Part::File(media) => Some(media),
        Part::Text { .. } | Part::Stored(_) => None,
    })
}

async fn questions(log: &dyn Store, run: &Run, log_args: &LogArgs) -> Result<(), Failure> {
    if let Some(wait) = run.state().quota_wait() {
        let (model, until) = (name(&wait.model), time(wait.until));
        out::line(format_args!("\nwaits for the quota of model {model} until {until}"))?;
        out::line(format_args!("  windlass runs resume{} {}", log_args.words(), run.id()))?;
    }
    for question in run.questions() {
        out::line(format_args!("\n{}", asked::whole(run.state(), question)))?;
        for suggestion in &question.suggestions {
            out::line(format_args!("  - {suggestion}"))?;
        }
        // A child's question is answered at the root.
        let (root, id) = asked_at(log, run.id(), question.id.clone()).await?;
        let mut raised = question.clone();
        raised.id = id;
        for command in answers::commands(root, &log_args.words(), &raised) {
            out::line(format_args!("  {command}"))?;
        }
    }
    Ok(())
}
