//! `windlass watch`: all runs of a log or server as a table that goes on, with the questions that wait on top.

mod answering;

use std::collections::HashMap;
use std::time::Duration;

use clap::Args;
use windlass_core::RunId;
use windlass_read::json;
use windlass_read::words::{count, cut, name, span};
use windlass_store::{RunFilter, RunSummary, Store};
use windlass_terminal::crossterm::event::{KeyCode, KeyEvent};
use windlass_terminal::rows::fitted;
use windlass_terminal::{Line, Modifier, Style};

use crate::agents::now;
use crate::commands::runs::listed::table as listed_table;
use crate::face::{Act, Face, FaceGuard};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::{Interrupt, Interrupts};
use crate::out::{self, frames};
use crate::remote::Reach;
use answering::Answering;

/// Time between two looks at the runs.
const LOOK: Duration = Duration::from_secs(1);
/// Questions that are shown at once.
const QUESTIONS: usize = 10;
/// Characters of a question in its line.
const SHORT: usize = 160;
/// What keys do.
const KEYS: &str = "Up, Down choose a question · Enter answers it · q leaves";

const HELP: &str = "\
The questions that wait stand above, oldest first; Enter puts the chosen one, and what you answer is kept with its run. A run \
that nobody holds goes on here then, and is left to be resumed when you leave. On a server the server goes on with it.

Without a terminal `--json` prints one line for each run, and another one whenever it changes.

Examples:
  windlass watch
  windlass watch --server http://127.0.0.1:7400
  windlass watch --json | jq -c 'select(.status == \"suspended\")'";

/// The arguments of `windlass watch`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct WatchArgs {
    /// Maximum number of runs, not counting those that stand below another run
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// One JSON object for each run, and for each change of one
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    log: LogArgs,
}

/// Watches until it is told to leave.
pub(crate) async fn run(args: WatchArgs) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    let Some(answering) = Answering::of(Reach::of(&args.log)?, &args.log) else {
        out::empty(&args.log.no_runs());
        return Ok(Exit::Good);
    };
    if args.json {
        return changes(&*answering.store(), args.limit, &mut interrupts).await;
    }
    let taken = FaceGuard::open(true, None);
    let Some(face) = taken.face().cloned() else {
        let failure = Failure::new(Exit::Usage, "`windlass watch` needs a terminal that moves its cursor");
        return Err(failure
            .hint("`windlass runs list` lists the runs once")
            .hint("`windlass watch --json` prints each change as a line"));
    };
    let mut watch = Watch { face, answering, limit: args.limit, chosen: 0, inbox: Vec::new() };
    let done = watch.go_on(&mut interrupts).await;
    drop(taken);
    watch.answering.leave().await;
    done
}

/// A table that goes on.
struct Watch {
    face: Face,
    answering: Answering,
    limit: u32,
    /// The place of the chosen question.
    chosen: usize,
    /// Runs that wait with a question, the one first that has waited longest.
    inbox: Vec<RunSummary>,
}

impl Watch {
    async fn go_on(&mut self, interrupts: &mut Interrupts) -> Result<Exit, Failure> {
        loop {
            self.look().await?;
            tokio::select! {
                biased;
                interrupt = interrupts.next() => match interrupt {
                    Interrupt::Cancel => return Ok(Exit::Good),
                    Interrupt::Leave(_) => return Err(interrupt.failure()),
                },
                act = self.face.next() => match act {
                    Act::Key(key) => if !self.key(key, interrupts).await? { return Ok(Exit::Good) },
                    Act::End => return Ok(Exit::Good),
                    Act::Sent(_) => {}
                },
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// A key. `false`: the watch is over.
    async fn key(&mut self, key: KeyEvent, interrupts: &mut Interrupts) -> Result<bool, Failure> {
        let last = self.inbox.len().saturating_sub(1);
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Ok(false),
            KeyCode::Up | KeyCode::Char('k') => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.chosen = (self.chosen + 1).min(last),
            KeyCode::Enter => {
                if let Some(run) = self.inbox.get(self.chosen).map(|summary| summary.run) {
                    let asked = Box::pin(self.answering.ask(run, &self.face, interrupts)).await;
                    if let Err(failure) = asked {
                        if failure.exit.is_left() {
                            return Err(failure);
                        }
                        failure.show();
                    }
                }
            }
            _ => {}
        }
        Ok(true)
    }

    /// Reads the runs, and shows them.
    async fn look(&mut self) -> Result<(), Failure> {
        let store = self.answering.store();
        let asks = RunFilter { asks: true, ..RunFilter::default() };
        let page = store.list(asks).await?;
        self.inbox = page.items.into_iter().filter(|run| run.parent.is_none()).collect();
        self.inbox.sort_by_key(|run| run.updated_at);
        self.chosen = self.chosen.min(self.inbox.len().saturating_sub(1));
        let runs = newest(&*store, self.limit).await?;
        let table = if runs.is_empty() { Vec::new() } else { listed_table(&*store, &runs).await? };
        self.face.panel(self.rows(&table));
        Ok(())
    }

    fn rows(&self, table: &[String]) -> Vec<Line<'static>> {
        let (columns, height) = frames::size();
        let columns = columns.saturating_sub(1);
        let (bold, dim) =
            (Style::new().add_modifier(Modifier::BOLD), Style::new().add_modifier(Modifier::DIM));
        let waits = count(self.inbox.len() as u64, "question");
        let mut rows = vec![Line::styled(fitted(&format!("{waits} · {KEYS}"), columns), dim)];
        let first = (self.chosen + 1).saturating_sub(QUESTIONS);
        for (place, run) in self.inbox.iter().enumerate().skip(first).take(QUESTIONS) {
            let mark = if place == self.chosen { "> " } else { "  " };
            let question = run.headline.question.as_deref().unwrap_or_default();
            let age = span(now().saturating_sub(run.updated_at));
            let text = format!("{mark}{} asks: {} ({age})", name(&run.agent), cut(question, SHORT));
            let weight = if place == self.chosen { bold } else { Style::new() };
            rows.push(Line::styled(fitted(&text, columns), weight));
        }
        rows.push(Line::default());
        let room = height.saturating_sub(rows.len() + 1);
        for (place, line) in table.iter().take(room).enumerate() {
            let weight = if place == 0 { dim } else { Style::new() };
            rows.push(Line::styled(fitted(line, columns), weight));
        }
        rows
    }
}

/// The newest runs, with those that stand below them.
async fn newest(store: &dyn Store, limit: u32) -> Result<Vec<RunSummary>, Failure> {
    let page = store.list(RunFilter { limit: limit as usize, ..RunFilter::default() }).await?;
    Ok(page.items)
}

/// Prints each run, and each change of one.
async fn changes(store: &dyn Store, limit: u32, interrupts: &mut Interrupts) -> Result<Exit, Failure> {
    let mut known: HashMap<RunId, RunSummary> = HashMap::new();
    loop {
        let mut runs = newest(store, limit).await?;
        runs.reverse();
        for run in runs {
            if known.get(&run.run) != Some(&run) {
                out::json(&json::summary(&run))?;
                known.insert(run.run, run);
            }
        }
        tokio::select! {
            biased;
            interrupt = interrupts.next() => return match interrupt {
                Interrupt::Cancel => Ok(Exit::Good),
                Interrupt::Leave(_) => Err(interrupt.failure()),
            },
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}
