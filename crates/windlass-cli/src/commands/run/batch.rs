//! `windlass run --batch FILE`: each query of a file, one after another. A batch that was killed goes on where it was.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use sha2::{Digest, Sha256};
use windlass_core::policy::Memory;
use windlass_core::{Owner, RunId, RunState, SessionId, Status};
use windlass_read::words::{count, cut, span};
use windlass_runtime::{Agent, DriveOptions, Environment as _, Error, Prepared, Run, SystemEnvironment};
use windlass_store::{Index, RunFilter, SqliteLog, StoreError};

use super::queries::{Query, read};
use crate::agents::hosted;
use crate::drive::{Words, drive};
use crate::failure::{Exit, Failure};
use crate::home;
use crate::interrupts::Interrupts;
use crate::out;
use crate::view::{View, ViewArgs, exit_of};

/// Number of hexadecimal digits of a batch's id that is made of its file.
const ID_DIGITS: usize = 12;
/// The time between two looks at the queries that other processes run, in milliseconds.
const LOOK_MS: u64 = 200;
/// Maximum number of characters of a query in a line of progress.
const QUERY_CHARS: usize = 60;

/// Options of a batch.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BatchArgs {
    /// Run each query of a file in a conversation of its own: lines of text (`.txt`), JSON lines (`.jsonl`: `{"id": ..., "input": ...}`),
    /// a list (`.json`), or a table (`.csv`, `.tsv`) with a column `query`, `input`, `question` or `Query_Text`, and perhaps `id`
    #[arg(long, value_name = "QUERIES", conflicts_with_all = ["session", "input"])]
    pub(super) batch: Option<PathBuf>,
    /// Name of the batch: the same name goes on with it [default: made of the agent and the file's content]
    #[arg(long, value_name = "NAME", requires = "batch")]
    batch_id: Option<String>,
    /// Least wait between two queries in seconds [env: SIMULATOR_SLEEP_MIN]
    #[arg(long, value_name = "S", requires = "batch")]
    wait_min: Option<f64>,
    /// Longest wait between two queries in seconds; each wait is a random one in between [env: SIMULATOR_SLEEP_MAX]
    #[arg(long, value_name = "S", requires = "batch")]
    wait_max: Option<f64>,
}

/// A batch that is going on.
pub(super) struct Batch<'a> {
    pub(super) agent: &'a Agent,
    pub(super) log: &'a SqliteLog,
    pub(super) options: DriveOptions,
    pub(super) view: ViewArgs,
    pub(super) words: &'a Words,
}

/// The outcome of a query in this batch.
enum Outcome {
    /// It has ended in an earlier process.
    Known(Status),
    /// It was run, or continued, here.
    Run(Box<Run>),
    /// It could not be run.
    Failed(Failure),
    /// Another process runs it now.
    Elsewhere,
}

/// The place of a query in its batch.
struct Place<'b> {
    batch: &'b str,
    /// From 1.
    number: usize,
    /// Number of all queries.
    of: usize,
}

/// The least and the longest wait between two queries, in milliseconds.
#[derive(Clone, Copy)]
struct Wait {
    min: u64,
    max: u64,
}

/// Counts of queries.
#[derive(Default)]
struct Sums {
    answered: u64,
    failed: u64,
    suspended: u64,
    known: u64,
}

impl Batch<'_> {
    /// Runs the queries, and sums up.
    pub(super) async fn run(
        &self,
        args: &BatchArgs,
        path: &Path,
        interrupts: &mut Interrupts,
    ) -> Result<Exit, Failure> {
        if self.agent.policy().past.memory == Memory::Off {
            return Err(Failure::new(Exit::Usage, "a batch needs sessions, but the agent's `memory` is off")
                .hint("remove `loop.memory: off`"));
        }
        let (bytes, queries) = read(path)?;
        let wait = args.wait()?;
        let id = args.batch_id.clone().unwrap_or_else(|| made_of(self.agent.name(), &bytes));
        if let Some(id) = &args.batch_id {
            self.check_same(id, &queries).await?;
        }
        let (mut sums, mut waits) = (Sums::default(), false);
        // What another process has begun is looked at again once all others are done.
        let (mut left, mut again): (VecDeque<_>, bool) = (queries.iter().enumerate().collect(), false);
        let (mut began, mut held) = (SystemEnvironment.now(), 0);
        while let Some((place, query)) = left.pop_front() {
            let session = SessionId::from(format!("batch/{id}/{}", query.key));
            if waits && !again && self.ended(&session).await?.is_none() {
                wait.pause(interrupts).await?;
            }
            if !again {
                began = SystemEnvironment.now();
            }
            let outcome = self.query(query, &session, interrupts).await?;
            if matches!(outcome, Outcome::Elsewhere) {
                left.push_back((place, query));
                held += 1;
                again = held >= left.len();
                if again {
                    let look = SystemEnvironment.now().saturating_add(LOOK_MS);
                    interrupts.or(SystemEnvironment.sleep_until(look)).await?;
                }
                continue;
            }
            held = 0;
            let took = SystemEnvironment.now().saturating_sub(began);
            waits |= !matches!(outcome, Outcome::Known(_));
            let place = Place { batch: &id, number: place + 1, of: queries.len() };
            self.report(&place, query, &outcome, took)?;
            sums.add(&outcome);
            if let Outcome::Run(run) = &outcome
                && run.status() == Some(Status::Cancelled)
            {
                return Err(Failure::note(Exit::Cancelled, format!("batch {id} was stopped"))
                    .hint("the same command goes on with the next query"));
            }
        }
        self.sum_up(&id, &sums)
    }

    /// The same name with another agent, or with another query in the same place, is another batch: nothing of it is run.
    async fn check_same(&self, id: &str, queries: &[Query]) -> Result<(), Failure> {
        for query in queries {
            let session = Some(SessionId::from(format!("batch/{id}/{}", query.key)));
            let runs = self.log.list(RunFilter { session, ..RunFilter::default() }).await?;
            let Some(first) = runs.last() else { continue };
            if first.agent != *self.agent.name() {
                let what = format!(
                    "batch {id} is one of the agent `{}`, and this one is `{}`",
                    first.agent,
                    self.agent.name()
                );
                return Err(Failure::new(Exit::Usage, what)
                    .detail(format!("run {} answers its query {}", first.run, query.key))
                    .hint("nothing was run; another `--batch-id` begins another batch"));
            }
            if !self.agent.began_with(first.run, query.input.as_str()).await? {
                let (key, now) = (&query.key, cut(&query.input, QUERY_CHARS));
                let before = cut(&first.title, QUERY_CHARS);
                let what =
                    format!("batch {id} has another query {key}: it was `{before}`, and is `{now}` now");
                return Err(Failure::new(Exit::Usage, what)
                    .detail(format!("run {} answers the earlier one", first.run))
                    .hint("nothing was run; another `--batch-id` begins another batch"));
            }
        }
        Ok(())
    }

    /// The status of a query's last run, if that has ended.
    async fn ended(&self, session: &SessionId) -> Result<Option<Status>, Failure> {
        let last = self.last(session).await?;
        Ok(last.and_then(|(_, state)| if let RunState::Ended(status) = state { Some(status) } else { None }))
    }

    async fn last(&self, session: &SessionId) -> Result<Option<(RunId, RunState)>, Failure> {
        let Some(head) = self.log.head(&Owner::default(), session).await? else { return Ok(None) };
        let last = self.log.summary(head).await?;
        Ok(Some((last.run, last.run_state)))
    }

    /// Runs a query, continues it, or finds that it has ended. Only a signal and a broken log stop the batch.
    async fn query(
        &self,
        query: &Query,
        session: &SessionId,
        interrupts: &mut Interrupts,
    ) -> Result<Outcome, Failure> {
        let prepared = match self.last(session).await? {
            Some((_, RunState::Ended(status))) => return Ok(Outcome::Known(status)),
            Some((run, RunState::Running | RunState::Suspended)) => {
                match self.agent.resume(run).options(self.options.clone()).prepare().await {
                    Err(Error::Log(StoreError::Held { .. })) => return Ok(Outcome::Elsewhere),
                    // Another process has brought it to its end meanwhile.
                    Err(_) if self.ended(session).await?.is_some() => return Ok(Outcome::Elsewhere),
                    prepared => prepared.map(Some),
                }
            }
            None => {
                let options = DriveOptions { session: Some(session.clone()), ..self.options.clone() };
                self.agent.begin_first(query.input.as_str(), options).await
            }
        };
        let prepared = match prepared {
            Ok(Some(prepared)) => prepared,
            // Another process has begun it.
            Ok(None) => return Ok(Outcome::Elsewhere),
            Err(error @ Error::Log(_)) => return Err(error.into()),
            Err(error) => return Ok(Outcome::Failed(error.into())),
        };
        self.drive(prepared, interrupts).await.map(|run| Outcome::Run(Box::new(run)))
    }

    async fn drive(&self, prepared: Prepared, interrupts: &mut Interrupts) -> Result<Run, Failure> {
        let mut view = View::new(self.view).logged(&self.words.log).brief();
        let live = hosted(self.agent.log().clone()).drive(self.agent, prepared);
        let run = drive(live, &mut view, interrupts, self.words).await?;
        view.left(self.log, &run, None).await?;
        view.close()?;
        Ok(run)
    }

    fn report(&self, place: &Place<'_>, query: &Query, outcome: &Outcome, took: u64) -> Result<(), Failure> {
        let Place { batch: id, number, of } = place;
        let status = match outcome {
            Outcome::Known(status) => format!("{status} (before)"),
            Outcome::Run(run) => run.run_state().to_string(),
            Outcome::Failed(failure) => failure.message().to_owned(),
            Outcome::Elsewhere => "another process runs it".to_owned(),
        };
        if self.view.json {
            let run = if let Outcome::Run(run) = outcome { Some(run) } else { None };
            out::json(&json!({
                "type": "query",
                "batch": id,
                "query": query.key,
                "input": query.input,
                "before": matches!(outcome, Outcome::Known(_)),
                "status": status,
                "run": run.map(|run| run.id()),
                "text": run.and_then(|run| run.text()),
                "output": run.and_then(|run| run.output()),
                "ms": took,
            }))?;
        } else if !self.view.quiet {
            let input = cut(&query.input, QUERY_CHARS);
            out::note(format_args!(
                "query {number}/{of} ({}): {status} in {}: {input}",
                query.key,
                span(took)
            ));
        }
        Ok(())
    }

    fn sum_up(&self, id: &str, sums: &Sums) -> Result<Exit, Failure> {
        let Sums { answered, failed, suspended, known } = sums;
        let all = answered + failed + suspended;
        if self.view.json {
            out::json(&json!({
                "type": "batch", "batch": id, "queries": all, "answered": answered, "failed": failed,
                "suspended": suspended, "before": known,
            }))?;
        }
        let words = format!(
            "batch {id}: {}, {answered} answered, {failed} failed, {suspended} suspended; {known} had ended before",
            count(all, "query").replace("querys", "queries")
        );
        if *failed > 0 {
            Err(Failure::note(Exit::Failed, words).hint("a new `--batch-id` runs all queries again"))
        } else if *suspended > 0 {
            Err(Failure::note(Exit::Suspended, words)
                .hint("`windlass runs list --status suspended` lists the runs that wait for an answer"))
        } else {
            if !self.view.json && !self.view.quiet {
                out::note(words);
            }
            Ok(Exit::Good)
        }
    }
}

impl Sums {
    fn add(&mut self, outcome: &Outcome) {
        let state = match outcome {
            Outcome::Known(status) => {
                self.known += 1;
                Some(RunState::Ended(*status))
            }
            Outcome::Run(run) => Some(run.run_state()),
            Outcome::Failed(_) | Outcome::Elsewhere => None,
        };
        match state {
            Some(RunState::Ended(status)) if exit_of(status) == Exit::Good => self.answered += 1,
            Some(RunState::Suspended) => self.suspended += 1,
            Some(RunState::Ended(_) | RunState::Running) | None => self.failed += 1,
        }
    }
}

impl BatchArgs {
    fn wait(&self) -> Result<Wait, Failure> {
        let ms = |given: Option<f64>, name: &str| match given {
            Some(seconds) => milliseconds(seconds, name),
            None => match home::env(name) {
                Some(text) => milliseconds(text.trim().parse().unwrap_or(f64::NAN), name),
                None => Ok(0),
            },
        };
        let min = ms(self.wait_min, "SIMULATOR_SLEEP_MIN")?;
        let max = ms(self.wait_max, "SIMULATOR_SLEEP_MAX")?;
        Ok(Wait { min, max: max.max(min) })
    }
}

fn milliseconds(seconds: f64, name: &str) -> Result<u64, Failure> {
    if seconds.is_finite() && (0.0..=86_400.0).contains(&seconds) {
        return Ok((seconds * 1e3) as u64);
    }
    Err(Failure::new(Exit::Usage, format!("the wait ({name}) is no number of seconds from 0 to 86400")))
}

impl Wait {
    /// Waits between two queries. A signal ends the batch.
    async fn pause(self, interrupts: &mut Interrupts) -> Result<(), Failure> {
        let Self { min, max } = self;
        let wait = min + (max - min) * u64::from(SystemEnvironment.chance()) / 1_000;
        if wait == 0 {
            return Ok(());
        }
        interrupts.or(SystemEnvironment.sleep_until(SystemEnvironment.now() + wait)).await
    }
}

/// The same agent and file are the same batch.
fn made_of(agent: &str, bytes: &[u8]) -> String {
    let digest = Sha256::new().chain_update(agent).chain_update([0]).chain_update(bytes).finalize();
    let hex = digest.iter().fold(String::new(), |mut text, byte| {
        // Writing into a String cannot fail.
        let _infallible = write!(text, "{byte:02x}");
        text
    });
    hex.chars().take(ID_DIGITS).collect()
}
