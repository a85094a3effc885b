//! Runs as lines: a tree of parents and children, with short ids and titles.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use windlass_core::event::{RunFact, RunInput};
use windlass_core::message::{Content, Part};
use windlass_core::{Fact, Message, RunId};
use windlass_read::Task;
use windlass_read::json;
use windlass_read::reports::{FamilyRun, Member};
use windlass_read::words::{cut, money, name, span, time};
use windlass_store::{RunSummary, Store};

use super::short::ShortIds;
use crate::agents::now;
use crate::failure::Failure;
use crate::view::table::aligned;

/// Maximum number of characters shown of the input.
const TITLE_CHARS: usize = 60;
/// The longest chain of forks that is followed to an input.
const FURTHEST_BASE: usize = 100;
/// Maximum number of characters shown of a question.
const QUESTION_CHARS: usize = 80;
const COLUMNS: usize = 7;
const HEAD: [&str; COLUMNS] = ["RUN", "STARTED", "TOOK", "COST", "STATUS", "AGENT", "INPUT"];

/// The cells of a line.
type Row = [String; COLUMNS];

/// The runs as lines below a line of heads: newest first, each followed by its children, oldest first.
pub(crate) async fn table(log: &dyn Store, runs: &[RunSummary]) -> Result<Vec<String>, Failure> {
    Listing { ids: ShortIds::of(log).await?, ..Listing::default() }.table(log, runs, usize::MAX).await
}

/// A run with all runs below it as such lines, tasks whose runs are elsewhere included.
pub(super) async fn family_table(log: &dyn Store, members: &[Member]) -> Result<Vec<String>, Failure> {
    let ids = ShortIds::of(log).await?;
    let lister = Lister { log, ids: &ids, now: now() };
    let mut rows = vec![HEAD.map(str::to_owned)];
    for member in members {
        rows.push(match &member.run {
            FamilyRun::Here(line) => lister.row(member.depth, line, &lister.title(line).await?),
            FamilyRun::Elsewhere(task) => elsewhere(member.depth, task),
        });
    }
    Ok(aligned(&rows))
}

/// A listing that is made again and again: it keeps what does not change of runs.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    ids: ShortIds,
    /// The titles of the runs that are listed.
    titles: HashMap<RunId, String>,
}

impl Listing {
    /// As [`table()`], at most so many runs. Only what is not known yet is read.
    pub(crate) async fn table(
        &mut self,
        log: &dyn Store,
        runs: &[RunSummary],
        most: usize,
    ) -> Result<Vec<String>, Failure> {
        if !runs.iter().all(|line| self.ids.has(line.run)) {
            self.ids.extend(log).await?;
        }
        let lister = Lister { log, ids: &self.ids, now: now() };
        let mut titles = HashMap::new();
        let mut rows = vec![HEAD.map(str::to_owned)];
        for (depth, line) in tree(runs).into_iter().take(most) {
            let title = match self.titles.remove(&line.run) {
                Some(title) => title,
                None => lister.title(line).await?,
            };
            rows.push(lister.row(depth, line, &title));
            titles.insert(line.run, title);
        }
        self.titles = titles;
        Ok(aligned(&rows))
    }

    /// The input of a run in a few words.
    pub(crate) async fn title(&self, log: &dyn Store, line: &RunSummary) -> Result<String, Failure> {
        if let Some(title) = self.titles.get(&line.run) {
            return Ok(title.clone());
        }
        Lister { log, ids: &self.ids, now: now() }.title(line).await
    }

    /// The short id of a run, among the runs that were listed and those before them.
    pub(crate) fn short(&self, run: RunId) -> String {
        self.ids.short(run)
    }
}

/// The line of a task whose run is not in this log.
fn elsewhere(depth: usize, task: &Task) -> Row {
    let took = task.ended.map(|ended| span(ended.saturating_sub(task.began)));
    let status = match &task.outcome {
        None => "not finished",
        Some(outcome) if outcome.is_ok() => "finished",
        Some(_) => "no result",
    };
    let cost = task.ended.map(|_| dollars(task.pico_usd));
    [
        format!("{}elsewhere", branch(depth)),
        time(task.began),
        took.unwrap_or_default(),
        cost.unwrap_or_default(),
        status.to_owned(),
        name(&task.agent),
        String::new(),
    ]
}

/// The place of a line below others.
fn branch(depth: usize) -> String {
    if depth == 0 { String::new() } else { format!("{}└ ", "  ".repeat(depth - 1)) }
}

/// A cost in a cell.
fn dollars(pico: Option<u64>) -> String {
    match pico {
        None => "unknown".to_owned(),
        Some(0) => "-".to_owned(),
        Some(pico) => format!("${}", money(pico as f64 / 1e12)),
    }
}

/// Each run with its depth below the runs that started it.
fn tree(runs: &[RunSummary]) -> Vec<(usize, &RunSummary)> {
    let listed: HashSet<RunId> = runs.iter().map(|line| line.run).collect();
    let mut children: BTreeMap<Option<RunId>, Vec<&RunSummary>> = BTreeMap::new();
    for line in runs {
        children.entry(line.parent.filter(|parent| listed.contains(parent))).or_default().push(line);
    }
    let mut ordered = Vec::new();
    let mut next: Vec<(usize, &RunSummary)> =
        children.remove(&None).unwrap_or_default().into_iter().rev().map(|line| (0, line)).collect();
    while let Some((depth, line)) = next.pop() {
        ordered.push((depth, line));
        // The oldest child was listed last, and comes first here.
        let own_children = children.remove(&Some(line.run)).unwrap_or_default();
        next.extend(own_children.into_iter().map(|line| (depth + 1, line)));
    }
    ordered
}

/// The look-ups of a listing.
struct Lister<'l> {
    log: &'l dyn Store,
    ids: &'l ShortIds,
    now: u64,
}

impl Lister<'_> {
    fn row(&self, depth: usize, line: &RunSummary, title: &str) -> Row {
        let title = cut(title, TITLE_CHARS);
        let title = match line.parent {
            Some(parent) if depth == 0 => format!("(child of {}) {title}", self.ids.short(parent)),
            Some(_) | None => title,
        };
        let question = line.headline.question.as_ref();
        let asks = question.map(|text| format!(" (asks: {})", cut(text, QUESTION_CHARS))).unwrap_or_default();
        let id = format!("{}{}", branch(depth), self.ids.short(line.run));
        let (took, cost) = (took(line, self.now), dollars(line.headline.cost));
        let (status, agent) = (json::display_state(line), name(&line.agent));
        [id, time(line.started_at), took, cost, status, agent, title + &asks]
    }

    /// The input in a few words; for a fork and a continued run, the one that they go on from, too.
    async fn title(&self, line: &RunSummary) -> Result<String, Failure> {
        let (mut line, mut words) = (line.clone(), String::new());
        for _ in 0..FURTHEST_BASE {
            // A child may begin with its parent's conversation, which stands before its task.
            if line.parent.is_none() && !line.title.trim().is_empty() {
                return Ok(words + &line.title);
            }
            let first = self.log.read(line.run, 1, 1).await?;
            let first = first.first().and_then(|batch| batch.events.first());
            let Some(Fact::Run(RunFact::Started(start))) = first.map(|event| &event.fact) else { break };
            if let RunInput::Messages(messages) = &start.input {
                return Ok(words + &title_of(messages, &line.title));
            }
            let Some(base) = &start.base else { break };
            if words.is_empty() {
                let id = self.ids.short(base.run);
                words = match &start.input {
                    RunInput::Fork(_) => format!("fork of {id} at event {}: ", base.version),
                    RunInput::Continue(_) | RunInput::Messages(_) => format!("continues {id}: "),
                };
            }
            line = self.log.summary(base.run).await?;
        }
        Ok(words)
    }
}

/// The time from the start of a run to its end; to now, if a process drives it; else to its last event. Nobody knows for how long a
/// process worked behind that before it died.
pub(super) fn took(line: &RunSummary, now: u64) -> String {
    let until = match (line.ended_at, &line.holder) {
        (Some(ended), _) => ended,
        (None, Some(_)) => now,
        (None, None) => line.updated_at,
    };
    let took = span(until.saturating_sub(line.started_at));
    if line.is_interrupted() { format!("over {took}") } else { took }
}

/// The task of a child, else the title that the log has, else what the input is made of.
fn title_of(messages: &[Arc<Message>], title: &str) -> String {
    let task = messages.iter().find_map(|message| match &**message {
        Message::TaskDelegation { content } => Some(content.text().into_owned()),
        Message::User { .. } | Message::System { .. } | Message::Assistant(_) | Message::Tool(_) => None,
    });
    let title = task.unwrap_or_else(|| title.to_owned());
    if title.trim().is_empty() { title_without_text(messages) } else { title }
}

/// The title of an input without text.
fn title_without_text(messages: &[Arc<Message>]) -> String {
    let mut media = Vec::new();
    for message in messages {
        if let Message::User { content: Content::Parts(parts), .. } = &**message {
            media.extend(parts.iter().filter_map(|part| match part {
                Part::Image(media) | Part::File(media) => Some(&*media.media_type),
                Part::Text { .. } | Part::Stored(_) => None,
            }));
        }
    }
    if media.is_empty() { "(empty input)".to_owned() } else { format!("({})", media.join(", ")) }
}
