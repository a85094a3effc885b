//! Looks at the runs, one after another, in a task of their own: a server that does not answer keeps nobody from leaving.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use windlass_core::RunId;
use windlass_read::{ListPages, load};
use windlass_runtime::control::asked_at;
use windlass_store::{RunFilter, RunSummary, Store};

use super::LOOK;
use super::source::Source;
use crate::commands::runs::list::newest_of;
use crate::commands::runs::listed::Listing;
use crate::failure::{Exit, Failure};

/// Rows of the table that are made: more than a terminal has.
const MOST_ROWS: usize = 200;
/// Number of runs read at a time to find the newest ones.
const PAGE: usize = 100;

/// The runs at one moment.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// Runs that wait with a question, the one first that has waited longest.
    pub(super) inbox: Vec<Waiting>,
    /// The newest runs as lines; none: there are no runs.
    pub(super) table: Vec<String>,
}

/// A run that waits with a question.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) line: RunSummary,
    /// Its input in a few words.
    pub(super) title: String,
    pub(super) short: String,
}

/// The looks of a task, which ends with it.
pub(super) struct Looks {
    made: mpsc::Receiver<Result<Look, Failure>>,
    wanted: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Looks {
    pub(super) fn begin(source: Source, limit: u32) -> Self {
        let (sender, made) = mpsc::channel(1);
        let wanted = Arc::new(Notify::new());
        let reader = Reader {
            source,
            limit,
            listing: Listing::default(),
            covered: HashMap::new(),
            titles: HashMap::new(),
        };
        let task = tokio::spawn(reader.go_on(sender, wanted.clone()));
        Self { made, wanted, task }
    }

    /// The next look, or why there is none now; `None`: none comes any more. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Result<Look, Failure>> {
        self.made.recv().await
    }

    /// Something has changed: the next look is made now.
    pub(super) fn hasten(&self) {
        self.wanted.notify_one();
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Whether runs that cannot be read now may be later: nobody has refused to show them.
pub(super) fn may_pass(failure: &Failure) -> bool {
    matches!(failure.exit, Exit::Unavailable | Exit::Internal)
}

struct Reader {
    source: Source,
    limit: u32,
    listing: Listing,
    /// Of child runs that ask, at these versions of theirs and their parents': whether a parent puts all of their questions.
    covered: HashMap<RunId, ((u64, u64), bool)>,
    /// The titles of runs that ask.
    titles: HashMap<RunId, String>,
}

impl Reader {
    async fn go_on(mut self, looks: mpsc::Sender<Result<Look, Failure>>, wanted: Arc<Notify>) {
        while looks.send(self.look().await).await.is_ok() {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = wanted.notified() => {}
            }
        }
    }

    async fn look(&mut self) -> Result<Look, Failure> {
        let Some(store) = self.source.store()? else { return Ok(Look::default()) };
        let inbox = self.inbox(&*store).await?;
        let filter = RunFilter { limit: PAGE, ..RunFilter::default() };
        let runs = newest_of(&*store, filter, self.limit, |_| true, |run| run.parent.is_none()).await?;
        let table =
            if runs.is_empty() { Vec::new() } else { self.listing.table(&*store, &runs, MOST_ROWS).await? };
        // The table has read the ids of all runs.
        let inbox = self.named(&*store, inbox).await?;
        Ok(Look { inbox, table })
    }

    /// The runs with what tells them from others.
    async fn named(&mut self, store: &dyn Store, runs: Vec<RunSummary>) -> Result<Vec<Waiting>, Failure> {
        let mut known = std::mem::take(&mut self.titles);
        let mut inbox = Vec::new();
        for line in runs {
            let title = match known.remove(&line.run) {
                Some(title) => title,
                None => self.listing.title(store, &line).await?,
            };
            self.titles.insert(line.run, title.clone());
            let short = self.listing.short(line.run);
            inbox.push(Waiting { line, title, short });
        }
        Ok(inbox)
    }

    /// The runs whose questions are answered at them: the question of a child run is its parent's, as long as that one puts it.
    async fn inbox(&mut self, store: &dyn Store) -> Result<Vec<RunSummary>, Failure> {
        let mut asking = Vec::new();
        let mut pages = ListPages::new(store, RunFilter { asks: true, ..RunFilter::default() });
        while let Some(page) = pages.next().await? {
            asking.extend(page);
        }
        let versions: HashMap<RunId, u64> = asking.iter().map(|run| (run.run, run.version)).collect();
        self.covered.retain(|run, _| versions.contains_key(run));
        let mut listed = HashSet::new();
        let mut inbox = Vec::new();
        for run in asking {
            let parent = run.parent.and_then(|parent| versions.get(&parent));
            let is_covered = match parent {
                Some(parent) => self.is_covered(store, &run, *parent).await,
                None => false,
            };
            if !is_covered && listed.insert(run.run) {
                inbox.push(run);
            }
        }
        inbox.sort_by_key(|run| (run.updated_at, run.run));
        Ok(inbox)
    }

    /// Whether all questions of a child run are put by a parent that asks, too.
    async fn is_covered(&mut self, store: &dyn Store, run: &RunSummary, parent: u64) -> bool {
        let versions = (run.version, parent);
        if let Some((known, covered)) = self.covered.get(&run.run)
            && *known == versions
        {
            return *covered;
        }
        // One that cannot be read now is shown rather than lost.
        let Ok(covered) = all_covered(store, run.run).await else { return false };
        self.covered.insert(run.run, (versions, covered));
        covered
    }
}

async fn all_covered(store: &dyn Store, run: RunId) -> Result<bool, Failure> {
    for question in load(store, run).await?.questions() {
        if asked_at(store, run, question.id.clone()).await?.0 == run {
            return Ok(false);
        }
    }
    Ok(true)
}
