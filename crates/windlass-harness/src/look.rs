//! Reads and folds a complete log.

use std::path::Path;
use windlass_core::event::RunFact;

use windlass_core::{Event, Fact, Owner, RunId, SessionId, State, evolve};
use windlass_read::load;
use windlass_runtime::in_full;
use windlass_store::{Batch, Inbox, Index, Log, RunFilter, RunSummary, SqliteLog, SqliteOptions};

/// Maximum number of runs in a log of the harness.
const RUNS: usize = 1_000;

/// A run as its log has it.
#[derive(Clone, Debug)]
pub struct Look {
    /// The run.
    pub run: RunId,
    /// Its appends, each with its boundary.
    pub batches: Vec<Batch>,
    /// Their fold.
    pub state: State,
    /// Number of inputs in its inbox.
    pub posts: usize,
    /// The runs that it, or one of these, handed tasks to.
    pub family: Vec<Look>,
}

impl Look {
    /// All events in order.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.batches.iter().flat_map(|batch| batch.events.iter())
    }

    /// It and its family.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.family)
    }

    /// Whether another run started it.
    fn is_child(&self) -> bool {
        let first = self.events().next().map(|event| &event.fact);
        matches!(first, Some(Fact::Run(RunFact::Started(start))) if start.parent.is_some())
    }

    /// The kind of the last event.
    pub fn last(&self) -> &'static str {
        self.events().last().map_or("nothing", |event| event.fact.kind())
    }
}

/// All runs of a log file. An error says what cannot be read.
///
/// # Errors
/// The log cannot be opened, read or folded, or contradicts itself.
pub fn all(file: &Path) -> Result<Vec<Look>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string())?;
    runtime.block_on(read(file))
}

/// The head of a session in a log file.
///
/// # Errors
/// The log cannot be opened or read.
pub(crate) fn head(file: &Path, session: &str) -> Result<Option<RunId>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let log = open(file)?;
        log.head(&Owner::default(), &SessionId::from(session)).await.map_err(|error| in_full(&error))
    })
}

/// The newest run of a log file that no other run started, with its family: all others.
///
/// # Errors
/// As for [`all`]; or there are only runs that others started.
pub fn newest(file: &Path) -> Result<Option<Look>, String> {
    let mut runs = all(file)?;
    let Some(place) = runs.iter().position(|run| !run.is_child()) else {
        return if runs.is_empty() {
            Ok(None)
        } else {
            Err("every run was started by another one".to_owned())
        };
    };
    let mut root = runs.remove(place);
    root.family = runs;
    Ok(Some(root))
}

/// Opens a log file for few reads at a time.
pub(crate) fn open(file: &Path) -> Result<SqliteLog, String> {
    let options = SqliteOptions { readers: 1, ..SqliteOptions::default() };
    SqliteLog::open_with(file, options).map_err(|error| in_full(&error))
}

async fn read(file: &Path) -> Result<Vec<Look>, String> {
    let log = open(file)?;
    let listed = log.list(RunFilter { limit: RUNS, ..RunFilter::default() }).await;
    let mut looks = Vec::new();
    for line in listed.map_err(|error| in_full(&error))? {
        looks.push(one(&log, &line).await?);
    }
    Ok(looks)
}

async fn one(log: &SqliteLog, line: &RunSummary) -> Result<Look, String> {
    let run = line.run;
    let batches = log.read(run, 1, usize::MAX).await.map_err(|error| in_full(&error))?;
    let state = load(log, run).await.map_err(|error| in_full(&error))?;
    let posts = log.inbox(run, None).await.map_err(|error| in_full(&error))?.len();
    let look = Look { run, batches, state, posts, family: Vec::new() };
    whole(&look, line)?;
    Ok(look)
}

/// Nothing half-written: numbers without a gap, a listing that fits, and a fold that is the same piece by piece.
fn whole(look: &Look, line: &RunSummary) -> Result<(), String> {
    let mut next = 1;
    for batch in &look.batches {
        if batch.first != next || batch.events.is_empty() {
            return Err(format!("an append begins at event {}, expected {next}", batch.first));
        }
        next = batch.last() + 1;
    }
    if line.version + 1 != next {
        return Err(format!("the listing says {} events, there are {}", line.version, next - 1));
    }
    let based = matches!(look.events().next().map(|event| &event.fact), Some(Fact::Run(RunFact::Started(start))) if start.base.is_some());
    if !based && look.events().fold(State::new(look.run), evolve) != look.state {
        return Err("the fold of the events is another state than the one that was loaded".to_owned());
    }
    let name = if let windlass_core::RunState::Ended(status) = look.state.run_state() {
        status.name()
    } else {
        "running or suspended"
    };
    let listed = line.run_state.name();
    let fits = listed == name || !look.state.is_finished() && matches!(listed, "running" | "suspended");
    if fits { Ok(()) } else { Err(format!("the run is listed as {listed}, its fold is {name}")) }
}
