//! `windlass watch`: all runs of a log or server as a table that goes on, with the questions that wait on top.

mod answers;
mod changes;
mod looks;
mod rows;
mod source;

use std::future::pending;
use std::time::{Duration, Instant};

use clap::Args;
use futures_util::future::BoxFuture;
use windlass_core::RunId;
use windlass_terminal::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::asking::leave_prompt;
use crate::face::{Act, Face, FaceGuard};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::{Interrupt, Interrupts};
use crate::out;
use answers::{Answers, Asked, Driven};
use looks::{Look, Looks, may_pass};
use source::Source;

/// Time between two looks at the runs.
const LOOK: Duration = Duration::from_secs(1);

const HELP: &str = "\
The questions that wait stand above, oldest first; Enter puts the chosen one, and what you answer is kept with its run. A run \
that nobody holds goes on here then: q waits for its end, and q once more leaves it to be resumed. On a server the server goes on \
with it. A server that is away is asked again until it is back.

Without a terminal `--json` prints one line for each of the newest runs (`--limit` counts all), and another one whenever any run \
changes.

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
    let source = Source::of(&args.log)?;
    if args.json {
        return changes::print(&source, args.limit, &mut interrupts).await;
    }
    let guard = FaceGuard::open(true, None, None);
    let Some(face) = guard.face().cloned() else {
        if source.store()?.is_none() {
            out::empty(&args.log.no_runs());
            return Ok(Exit::Good);
        }
        return Err(needs_terminal());
    };
    let mut watch = Watch {
        looks: Looks::begin(source.clone(), args.limit),
        answers: Answers { source, words: args.log.words() },
        face,
        look: None,
        reached: Instant::now(),
        is_away: false,
        chosen: Chosen::default(),
        driven: Vec::new(),
        leaves: false,
    };
    let done = watch.go_on(&mut interrupts).await;
    drop(guard);
    let Watch { answers, driven, .. } = watch;
    interrupts.or(answers.leave(driven)).await?;
    done
}

fn needs_terminal() -> Failure {
    let failure = Failure::new(Exit::Usage, "`windlass watch` needs a terminal that moves its cursor")
        .hint("`windlass runs list` lists the runs once")
        .hint("`windlass watch --json` prints each change as a line");
    if out::wants_lines() { failure.hint("WINDLASS_PLAIN keeps it from drawing: unset it") } else { failure }
}

/// A table that goes on.
struct Watch {
    face: Face,
    looks: Looks,
    answers: Answers,
    /// The last look; `None`: the runs have not been read yet.
    look: Option<Look>,
    /// When they were read last.
    reached: Instant,
    /// Whether the last try failed.
    is_away: bool,
    chosen: Chosen,
    /// Runs that go on here.
    driven: Vec<Driven>,
    /// Whether the watch ends once they have ended.
    leaves: bool,
}

/// The chosen question.
#[derive(Clone, Copy, Default)]
struct Chosen {
    /// The run that asks it.
    run: Option<RunId>,
    /// Where it stood last: the one that stands there is chosen once its own is gone.
    place: usize,
}

/// Questions of a run that are being put or answered.
type Asking = Option<BoxFuture<'static, Asked>>;

impl Watch {
    async fn go_on(&mut self, interrupts: &mut Interrupts) -> Result<Exit, Failure> {
        let mut asking: Asking = None;
        let mut tick = tokio::time::interval(LOOK);
        loop {
            self.face.panel(self.rows());
            tokio::select! {
                biased;
                interrupt = interrupts.next() => match interrupt {
                    // Ctrl-C at a question leaves it open.
                    Interrupt::Cancel => if !leave_prompt() && self.is_left() { break },
                    Interrupt::Leave(_) => return Err(interrupt.failure()),
                },
                act = self.face.next() => match act {
                    Act::Key(key) => if !self.key(key, &mut asking) { break },
                    // Nobody sits there any more.
                    Act::End => break,
                    Act::Sent(_) => {}
                },
                asked = end_of(&mut asking) => {
                    asking = None;
                    asked.failures.iter().for_each(Failure::show);
                    self.driven.extend(asked.driven);
                    self.looks.hasten();
                }
                look = self.looks.next() => self.take(look)?,
                _ = tick.tick() => {}
            }
            self.driven.retain(|run| !run.has_ended());
            if self.leaves && self.driven.is_empty() {
                break;
            }
        }
        if asking.is_some() {
            out::note("an answer was on its way: the run shows whether it has arrived");
        }
        Ok(Exit::Good)
    }

    /// A key. `false`: the watch is over.
    fn key(&mut self, key: KeyEvent, asking: &mut Asking) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return !self.is_left(),
            KeyCode::Char('d') if control => return !self.is_left(),
            KeyCode::Up | KeyCode::Char('k') => self.choose(self.place().saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.choose(self.place() + 1),
            KeyCode::Enter if asking.is_none() => {
                let place = self.place();
                self.choose(place);
                let inbox = self.look.as_ref().map(|look| look.inbox.as_slice()).unwrap_or_default();
                if let Some(run) = inbox.get(place) {
                    let of = run.label();
                    *asking = Some(Box::pin(self.answers.clone().ask(run.line.run, of, self.face.clone())));
                }
            }
            _ => {}
        }
        self.leaves = false;
        true
    }

    /// The person wants to leave. `false`: runs go on here, and the first time their end is waited for.
    fn is_left(&mut self) -> bool {
        self.driven.is_empty() || std::mem::replace(&mut self.leaves, true)
    }

    /// A look. What is shown stays where none can be made now.
    fn take(&mut self, look: Option<Result<Look, Failure>>) -> Result<(), Failure> {
        match look {
            Some(Ok(look)) => {
                self.look = Some(look);
                (self.reached, self.is_away) = (Instant::now(), false);
                self.choose(self.place());
                Ok(())
            }
            Some(Err(failure)) if self.look.is_some() && may_pass(&failure) => {
                self.is_away = true;
                Ok(())
            }
            Some(Err(failure)) => Err(failure),
            None => Err(Failure::new(Exit::Internal, "the runs are not read any more")),
        }
    }

    /// The place of the chosen question.
    fn place(&self) -> usize {
        let inbox = self.look.as_ref().map(|look| look.inbox.as_slice()).unwrap_or_default();
        let found = inbox.iter().position(|run| Some(run.line.run) == self.chosen.run);
        found.unwrap_or(self.chosen.place).min(inbox.len().saturating_sub(1))
    }

    /// Chooses the question at a place, or the last one.
    fn choose(&mut self, place: usize) {
        let inbox = self.look.as_ref().map(|look| look.inbox.as_slice()).unwrap_or_default();
        let place = place.min(inbox.len().saturating_sub(1));
        self.chosen = Chosen { run: inbox.get(place).map(|run| run.line.run), place };
    }
}

/// The end of what is being asked, if anything is.
async fn end_of(asking: &mut Asking) -> Asked {
    match asking {
        Some(asking) => asking.await,
        None => pending::<Asked>().await,
    }
}
