//! Receipts: the calls with an effect that a run made, with those of the runs that it handed tasks to.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use windlass_core::event::ModelFact;
use windlass_core::tool::{Effect, HostedTool};
use windlass_core::{CallId, CallOutcome, Event, Fact, RunId, Text};
use windlass_macros::Named;
use windlass_store::Store;

use super::artifacts::{Artifact, made_of};
use super::digest::sha256;
use super::effects::{CallEffects, Settlement, effects_and};
use crate::error::Error;
use crate::load::is_known;
use crate::timeline::{Task, Timeline};

/// Maximum number of runs of one family whose receipts are read.
pub(crate) const MOST_RUNS: usize = 10_000;
/// Maximum number of characters of an argument that a receipt shows.
const SHOWN_CHARS: usize = 60;

/// A call with an effect: its declared effect is not `read_only`, and it began to run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Receipt {
    /// The run that made the call.
    pub run: RunId,
    /// The call. What a provider did has the number of its reply's event and a place there, from 1 (`7/1`): ids of providers may repeat.
    pub call: CallId,
    /// Its tool, or the agent that a task was handed to; of a file that a model made its media type.
    pub tool: Text,
    /// Its first argument that is a text, a number or a flag, shortened.
    pub shown: Option<String>,
    /// SHA-256 of the arguments that it ran with, in hexadecimal.
    pub args_sha256: String,
    /// The idempotency key that the tool was given; empty where the provider ran it.
    pub key: Text,
    /// Its outcome.
    pub outcome: ReceiptOutcome,
    /// SHA-256 of the result as JSON, in hexadecimal; `None`: it gave none.
    pub result_sha256: Option<String>,
    /// The input of the hashes.
    pub hashed: Hashed,
    /// The source of the result.
    pub result_from: ResultFrom,
    /// Whether it changes nothing outside the run, because the tool's server says that it only reads, or because its provider reads, computes
    /// or draws for the reply alone: such a call is not shown as an effect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reads: bool,
    /// The file, of one that a model made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Box<Artifact>>,
}

/// The input of a receipt's hashes, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Hashed {
    /// The bytes under `args_sha256`.
    pub args: &'static str,
    /// The bytes under `result_sha256`.
    pub result: &'static str,
}

impl Hashed {
    /// The input of them all.
    pub const USUAL: Self = Self {
        args: "the arguments as JSON text, as the tool was given them",
        result: "the result's content as JSON text, as the log holds it",
    };
    /// The input of those of a provider's step.
    pub const STEP: Self = Self {
        args: "the text of the request, as the reply tells it",
        result: "the text that came back, as the reply tells it",
    };
    /// The input of those of a file that a model made.
    pub const MADE: Self = Self { args: "nothing", result: "the bytes of the file" };
}

/// The source of a call's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultFrom {
    /// The tool.
    Tool,
    /// The model's provider, within a reply.
    Provider,
    /// A person, who settled a call in doubt.
    Person,
}

/// The outcome of a call with an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Named)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptOutcome {
    /// It gave a result.
    Ok,
    /// It failed.
    Failed,
    /// Whether it happened is unknown: it was stopped, ran out of time, or its process died.
    Unknown,
    /// It has not ended.
    Open,
}

impl ReceiptOutcome {
    fn of(outcome: Option<&CallOutcome>) -> Self {
        match outcome {
            None => Self::Open,
            Some(CallOutcome::Ok { .. }) => Self::Ok,
            Some(
                CallOutcome::Interrupted
                | CallOutcome::Abandoned
                | CallOutcome::Unknown
                | CallOutcome::TimedOut { .. },
            ) => Self::Unknown,
            Some(
                CallOutcome::Error { .. }
                | CallOutcome::Malformed { .. }
                | CallOutcome::Rejected { .. }
                | CallOutcome::UnknownTool { .. }
                | CallOutcome::Denied { .. }
                | CallOutcome::Skipped { .. },
            ) => Self::Failed,
        }
    }
}

/// The receipts of a run, each run's in the order in which its calls began, with those of its models' providers behind them, followed by those
/// of its child runs. A task of an agent
/// whose run is not in this log, such as a remote one, is a receipt itself.
///
/// ```no_run
/// use windlass_read::reports::receipts;
/// # use windlass_core::RunId;
/// # use windlass_read::Error;
/// # use windlass_store::Store;
/// # async fn show(log: &dyn Store, run: RunId) -> Result<(), Error> {
/// for receipt in receipts(log, run).await? {
///     println!("{} {}: {}", receipt.tool, receipt.shown.unwrap_or_default(), receipt.outcome.name());
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The run or one of its bases is not in the log, or the log failed.
pub async fn receipts(log: &dyn Store, run: RunId) -> Result<Vec<Receipt>, Error> {
    let mut found = Vec::new();
    let (mut seen, mut next) = (BTreeSet::from([run]), vec![run]);
    while let Some(run) = next.pop() {
        let mut of_providers = Vec::new();
        let calls =
            effects_and(log, run, |seq, event| of_providers.extend(of_provider(run, seq, event))).await?;
        found.extend(calls.iter().filter_map(|call| receipt(run, call)));
        found.append(&mut of_providers);
        let mut children = Vec::new();
        for task in Timeline::of(log, run).await?.tasks {
            if !is_known(log, task.run).await? {
                found.push(task_receipt(run, &task));
            } else if seen.len() < MOST_RUNS && seen.insert(task.run) {
                children.push(task.run);
            }
        }
        next.extend(children.into_iter().rev());
    }
    Ok(found)
}

/// The run, and after it those of this log that it handed tasks to, directly or through others: each before those below it, in the
/// order in which the tasks began.
///
/// # Errors
/// The run is not in the log, or the log failed.
pub async fn with_delegates(log: &dyn Store, run: RunId) -> Result<Vec<RunId>, Error> {
    let (mut found, mut seen, mut next) = (Vec::new(), BTreeSet::from([run]), vec![run]);
    while let Some(run) = next.pop() {
        found.push(run);
        let mut children = Vec::new();
        for task in Timeline::of(log, run).await?.tasks {
            if seen.len() < MOST_RUNS && is_known(log, task.run).await? && seen.insert(task.run) {
                children.push(task.run);
            }
        }
        next.extend(children.into_iter().rev());
    }
    Ok(found)
}

fn receipt(run: RunId, call: &CallEffects) -> Option<Receipt> {
    // A result from the base belongs to the run that it is from.
    let ran_here = call.attempts() > 0 || !call.doubts().is_empty();
    if !ran_here || call.effect == Some(Effect::ReadOnly) {
        return None;
    }
    let outcome = call.receipt();
    let given = call.doubts().iter().any(|(_, settled)| *settled == Some(Settlement::PersonResult));
    Some(Receipt {
        run,
        call: call.call.clone(),
        tool: call.tool.clone(),
        shown: first_scalar(&call.args),
        args_sha256: sha256(call.args.as_bytes()),
        key: call.key.clone(),
        outcome: ReceiptOutcome::of(outcome),
        result_sha256: outcome.and_then(result_sha256),
        hashed: Hashed::USUAL,
        result_from: if given { ResultFrom::Person } else { ResultFrom::Tool },
        reads: call.reads,
        artifact: None,
    })
}

/// The steps of tools that the provider ran for a reply, and the files of the reply.
fn of_provider(run: RunId, seq: u64, event: &Event) -> Vec<Receipt> {
    let Fact::Model(ModelFact::Completed(turn)) = &event.fact else { return Vec::new() };
    let steps = turn.annotations.as_ref().map(|all| &*all.steps).unwrap_or_default();
    let ended = |at: usize, tool: Text, hashed| Receipt {
        run,
        call: format!("{seq}/{}", at + 1).into(),
        tool,
        shown: None,
        args_sha256: sha256(b""),
        key: "".into(),
        outcome: ReceiptOutcome::Ok,
        result_sha256: None,
        hashed,
        result_from: ResultFrom::Provider,
        reads: true,
        artifact: None,
    };
    let all = steps.iter().enumerate().map(|(at, step)| {
        let request = step.input.as_deref().unwrap_or_default();
        let named = step.name.clone().unwrap_or_else(|| step.tool.name().into());
        let receipt = ended(at, named, Hashed::STEP);
        Receipt {
            shown: (!request.is_empty()).then(|| first_scalar(request).unwrap_or_else(|| short(request))),
            args_sha256: sha256(request.as_bytes()),
            outcome: if step.failed { ReceiptOutcome::Failed } else { ReceiptOutcome::Ok },
            result_sha256: step.output.as_ref().map(|text| sha256(text.as_bytes())),
            reads: stays_inside(step.tool),
            ..receipt
        }
    });
    let files = turn.media.iter().enumerate().map(|(at, media)| {
        let artifact = Artifact { seq, event: event.fact.kind().to_owned(), ..made_of(media) };
        let receipt = ended(steps.len() + at, media.media_type.clone(), Hashed::MADE);
        let shown = artifact.name.as_deref().or(artifact.address.as_deref()).map(short);
        let result_sha256 = artifact.sha256.clone();
        Receipt { shown, result_sha256, artifact: Some(Box::new(artifact)), ..receipt }
    });
    all.chain(files).collect()
}

/// Whether a step of a provider's can change nothing but its reply.
fn stays_inside(tool: HostedTool) -> bool {
    match tool {
        HostedTool::WebSearch
        | HostedTool::Url
        | HostedTool::Code
        | HostedTool::FileSearch
        | HostedTool::Image
        | HostedTool::ToolSearch => true,
        HostedTool::Computer | HostedTool::Mcp | HostedTool::Other => false,
    }
}

fn result_sha256(outcome: &CallOutcome) -> Option<String> {
    outcome.content().and_then(|content| serde_json::to_vec(content).ok()).map(|bytes| sha256(&bytes))
}

/// The first argument that is a text, a number or a flag.
fn first_scalar(args: &str) -> Option<String> {
    let Ok(Value::Object(fields)) = serde_json::from_str(args) else { return None };
    let text = fields.values().find_map(|value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    })?;
    Some(short(&text))
}

/// A text on one line, shortened.
fn short(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = text.chars().take(SHOWN_CHARS).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

/// The receipt of a task whose run is elsewhere.
fn task_receipt(run: RunId, task: &Task) -> Receipt {
    Receipt {
        run,
        call: task.call.clone(),
        tool: task.agent.clone(),
        shown: None,
        args_sha256: sha256(b""),
        key: task.run.to_string().into(),
        outcome: ReceiptOutcome::of(task.outcome.as_ref()),
        result_sha256: task.outcome.as_ref().and_then(result_sha256),
        hashed: Hashed::USUAL,
        result_from: ResultFrom::Tool,
        reads: false,
        artifact: None,
    }
}
