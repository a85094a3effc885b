//! Earlier runs that a new run is reminded of: the agent's newest answered runs, by the similarity of their inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::event::{Recalled, RunFact, RunInput, ToolRecord};
use windlass_core::policy::{RecallBounds, RecallBy, Stop};
use windlass_core::{Fact, Message, Owner, RunId, Status, Text};
use windlass_read::ListPages;
use windlass_read::reports::{RELIABILITY_RUNS, ToolStatistics, newest_runs, statistics};
use windlass_store::{RunFilter, RunStatus, RunSummary, Store};

use crate::agent::Agent;
use crate::agent::input::RunMessages;
use crate::platform::error::Error;

/// Maximum number of characters of an input or answer that are compared and shown.
const COMPARED_CHARS: usize = 1_000;

/// Number of newest runs whose tools a plan is given the records of.
const PLANNING_RUNS: usize = 100;

/// Inputs and answers of earlier runs, each read once per process.
#[derive(Debug, Default)]
pub(crate) struct Remembered(Mutex<BTreeMap<RunId, Option<Earlier>>>);

/// The part of earlier runs that a new run is given.
#[derive(Debug, Default)]
pub(crate) struct Past {
    pub(crate) recalled: Vec<Recalled>,
    pub(crate) tool_records: Vec<ToolRecord>,
}

#[derive(Clone, Debug)]
struct Earlier {
    query: Text,
    result: Text,
}

/// How reliable the tools of an agent's newest runs ([`RELIABILITY_RUNS`]) were.
pub(crate) async fn tool_reliability(agent: &Agent) -> Result<Vec<ToolStatistics>, Error> {
    let log = &**agent.log();
    let runs = newest_runs(log, Some(agent.name().clone()), RELIABILITY_RUNS).await?;
    Ok(statistics(log, &runs).await?.tools)
}

/// The part of earlier runs that an agent's policy asks for.
struct Wanted<'p> {
    recall: Option<&'p RecallBounds>,
    tool_records: bool,
}

fn wanted(agent: &Agent) -> Wanted<'_> {
    let policy = agent.policy();
    Wanted { recall: policy.past.recall.bounds(), tool_records: policy.replies.stop == Stop::Judge }
}

/// Whether an agent's runs are given anything of earlier runs ([`past`]).
pub(crate) fn looks_back(agent: &Agent) -> bool {
    let Wanted { recall, tool_records } = wanted(agent);
    recall.is_some() || tool_records
}

/// The earlier runs of that owner that a new run is reminded of. A conversation that goes on is its own memory.
pub(crate) async fn past(
    agent: &Agent,
    owner: &Owner,
    input: &RunMessages,
    is_new: bool,
) -> Result<Past, Error> {
    let wanted = wanted(agent);
    let recalled = match wanted.recall {
        Some(bounds) if is_new => recalled(agent, owner, &input.text(), bounds).await?,
        Some(_) | None => Vec::new(),
    };
    let tool_records = if wanted.tool_records { tool_records(agent).await? } else { Vec::new() };
    Ok(Past { recalled, tool_records })
}

/// The same for a plan, of fewer runs.
async fn tool_records(agent: &Agent) -> Result<Vec<ToolRecord>, Error> {
    let log = &**agent.log();
    let runs = newest_runs(log, Some(agent.name().clone()), PLANNING_RUNS).await?;
    let all = statistics(log, &runs).await?;
    let record = |tool: ToolStatistics| ToolRecord {
        reliability: tool.reliability.name().into(),
        tool: tool.tool,
        calls: tool.calls,
        succeeded: tool.succeeded,
    };
    Ok(all.tools.into_iter().filter(|tool| tool.calls > 0).map(record).collect())
}

/// The earlier runs of an owner that resemble this input, the most similar first.
async fn recalled(
    agent: &Agent,
    owner: &Owner,
    input: &str,
    bounds: &RecallBounds,
) -> Result<Vec<Recalled>, Error> {
    let among = usize::try_from(bounds.among.get()).unwrap_or(usize::MAX);
    let runs = answered(agent, owner, among).await?;
    let mut found = Vec::new();
    let input = cut(input);
    for run in &runs {
        let Some(earlier) = earlier(agent, run).await? else { continue };
        let score = score(&input, &earlier, bounds.by);
        if score >= bounds.similarity {
            found.push(Recalled { run: run.run, query: earlier.query, result: earlier.result, score });
        }
    }
    // Of equal scores the newest comes first, as listed.
    found.sort_by(|one, other| other.score.total_cmp(&one.score));
    found.truncate(usize::try_from(bounds.top.get()).unwrap_or(usize::MAX));
    let listed: BTreeSet<RunId> = runs.iter().map(|run| run.run).collect();
    agent.remembered().lock().retain(|run, _| listed.contains(run));
    Ok(found)
}

async fn answered(agent: &Agent, owner: &Owner, among: usize) -> Result<Vec<RunSummary>, Error> {
    let filter = RunFilter {
        // The runs of other owners are not shown.
        owner: Some(owner.clone()),
        agent: Some(agent.name().clone()),
        status: Some(RunStatus::Answered),
        ..RunFilter::default()
    };
    let mut runs: Vec<RunSummary> = Vec::new();
    let mut pages = ListPages::new(&**agent.log(), filter);
    while runs.len() < among
        && let Some(page) = pages.next().await?
    {
        runs.extend(page);
    }
    runs.truncate(among);
    Ok(runs)
}

async fn earlier(agent: &Agent, run: &RunSummary) -> Result<Option<Earlier>, Error> {
    if let Some(known) = agent.remembered().lock().get(&run.run) {
        return Ok(known.clone());
    }
    let found = read(&**agent.log(), run).await?;
    agent.remembered().lock().insert(run.run, found.clone());
    Ok(found)
}

impl Remembered {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunId, Option<Earlier>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Input and answer of an answered run; `None`: it has none of its own, as a fork.
async fn read(log: &dyn Store, run: &RunSummary) -> Result<Option<Earlier>, Error> {
    let facts = async |from| -> Result<Vec<Fact>, Error> {
        let batches = log.read(run.run, from, 1).await?;
        Ok(batches.iter().flat_map(|batch| batch.events.iter()).map(|event| event.fact.clone()).collect())
    };
    let query = facts(1).await?.into_iter().find_map(|fact| {
        let Fact::Run(RunFact::Started(start)) = fact else { return None };
        let RunInput::Messages(messages) = &start.input else { return None };
        messages.iter().rev().find_map(input_text)
    });
    let result = facts(run.version).await?.into_iter().find_map(|fact| {
        let Fact::Run(RunFact::Ended(end)) = fact else { return None };
        let output = end.output.map(|output| output.to_string());
        output.or(end.text.map(|text| text.to_string())).filter(|_| end.status == Status::Answered)
    });
    Ok(query
        .zip(result)
        .map(|(query, result)| Earlier { query: cut(&query).into(), result: cut(&result).into() }))
}

fn input_text(message: &Arc<Message>) -> Option<String> {
    match &**message {
        Message::User { content, .. } | Message::TaskDelegation { content } => {
            Some(content.text().into_owned())
        }
        Message::System { .. } | Message::Assistant(_) | Message::Tool(_) => None,
    }
}

fn cut(text: &str) -> String {
    text.chars().take(COMPARED_CHARS).collect()
}

/// Similarity from 0 to 1. Dice's coefficient over pairs of letters takes time linear in the texts.
fn score(input: &str, earlier: &Earlier, by: RecallBy) -> f64 {
    let alike = |one: &str, other: &str| strsim::sorensen_dice(&one.to_lowercase(), &other.to_lowercase());
    let query = alike(input, &earlier.query);
    match by {
        RecallBy::Input => query,
        RecallBy::InputAndAnswer => {
            let [one, other] = [input, &*earlier.query].map(|text| text.chars().count() as f64);
            let apart = (one - other).abs() / one.max(other).max(1.0);
            (0.5 * query + 0.4 * alike(input, &earlier.result) - 0.1 * apart).max(0.0)
        }
    }
}

/// The message that reminds the model of earlier runs; `None`: the template is empty, or there are none.
pub(crate) fn reminder(template: &str, recalled: &[Recalled]) -> Option<Message> {
    if template.is_empty() || recalled.is_empty() {
        return None;
    }
    let runs = recalled.iter().map(|run| format!("- Input: {}\n  Answer: {}", run.query, run.result));
    Some(Message::system(template.replace("{runs}", &runs.collect::<Vec<_>>().join("\n"))))
}
