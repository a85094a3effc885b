//! `windlass test`: scripted conversations.

mod files;
mod from;
mod report;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use clap::Args;
use windlass_core::text::covers;
use windlass_testing::{CaseReport, RunnerOptions, run_case};

use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use files::Found;
use report::{End, Reporter};

const HELP: &str = "\
Each case runs without and with a subscriber, and both must give the same events.

A case, as research.test.yaml beside the agent file research.yaml:
  name: it counts the words
  agent: ./research.yaml
  real_tools: [wordcount]           # its command really runs; every other tool is scripted
  model:                            # the replies of the model
    - calls: [ { name: wordcount, args: { path: notes.txt } } ]
    - text: notes.txt has 7 words.
  input: How long are my notes?
  expect: { status: answered, text: { contains: \"7\" } }

Examples:
  windlass test examples/tests
  windlass test my-agent.test.yaml --only 'refund*'
  windlass test my-agent.test.yaml --crash
  windlass test --from last -o my-agent.test.yaml
  windlass test my-agent.test.yaml --seeds 1000
  windlass test my-agent.test.yaml --print-log \"refund needs approval\"";

/// The arguments of `windlass test`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
#[command(after_help = HELP)]
pub(crate) struct TestArgs {
    /// Files of scripted conversations, or folders that hold some (all .yaml and .yml files below them, agent files left out)
    #[arg(required_unless_present = "from", value_name = "FILE|FOLDER")]
    paths: Vec<PathBuf>,
    /// Write a case from this recorded run instead: the run's id, the beginning or end of one, or `last`
    #[arg(long, value_name = "RUN", conflicts_with = "paths")]
    from: Option<String>,
    /// With `--from`: the new file to write the case to [default: stdout]
    #[arg(short, long, value_name = "FILE", requires = "from")]
    output: Option<PathBuf>,
    /// With `--from`: the file of the run's agent, if it is not where it was
    #[arg(long, value_name = "FILE", requires = "from")]
    agent: Option<PathBuf>,
    #[command(flatten)]
    log: LogArgs,
    /// Run each case only without a subscriber
    #[arg(long)]
    blocking: bool,
    /// Run each case only with a subscriber
    #[arg(long)]
    streaming: bool,
    /// Also run each case once for every event, with a restart after that event
    #[arg(long)]
    crash: bool,
    /// One JSON object a case, and one with the sums
    #[arg(long)]
    json: bool,
    /// Only cases whose name contains this text, or fits it where it has `*` or `?`
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    /// Run only the case of this name, and print its event log
    #[arg(long, value_name = "NAME", conflicts_with = "only")]
    print_log: Option<String>,
    /// Also run each case under N more schedules with the seeds 1 to N. A seed decides the order of ready work, where the
    /// process dies or the log fails, and whether people reach the run in process or through its inbox
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_SEEDS))]
    seeds: Option<u64>,
    /// Run each case under the schedule of this one seed: what a failing seed printed
    #[arg(long, value_name = "S", conflicts_with = "seeds")]
    seed: Option<u64>,
}

impl TestArgs {
    /// Whether a case is to be written, and none is run.
    pub(crate) fn writes(&self) -> bool {
        self.from.is_some()
    }
}

/// The most schedules of one command: some hours for a single case.
const MOST_SEEDS: u64 = 10_000_000;

/// Writes a case from a recorded run, if one is named.
pub(crate) async fn write(args: TestArgs) -> Result<Exit, Failure> {
    let word = args.from.as_deref().unwrap_or("last");
    from::run(word, args.output.as_deref(), args.agent.as_deref(), &args.log).await
}

/// Runs the cases. The exit code is 0 only if all passed.
pub(crate) fn run(args: &TestArgs) -> Result<Exit, Failure> {
    let both = !args.blocking && !args.streaming;
    let options = RunnerOptions {
        blocking: args.blocking || both,
        streaming: args.streaming || both,
        crash: args.crash,
        first_seed: args.seed.unwrap_or(1),
        seeds: args.seeds.unwrap_or(u64::from(args.seed.is_some())),
    };
    let files::All { cases, agents } = files::find(&args.paths)?;
    if cases.is_empty() && !agents.is_empty() {
        return Err(files::only_agents(&agents));
    }
    let cases: Vec<Found> = cases.into_iter().filter(|case| wanted(args, &case.name)).collect();
    if cases.is_empty() {
        return Err(none_fits(args));
    }
    let mut reporter = Reporter::new(args.json, args.print_log.is_some(), modes(args));
    run_all(&cases, options, |case, end| reporter.case(case, &end))?;
    reporter.close()
}

/// The flags that a failing seed needs to come out the same again.
fn modes(args: &TestArgs) -> &'static str {
    match (args.blocking, args.streaming) {
        (true, false) => " --blocking",
        (false, true) => " --streaming",
        _ => "",
    }
}

fn wanted(args: &TestArgs, name: &str) -> bool {
    match (&args.only, &args.print_log) {
        (Some(pattern), _) if pattern.contains(['*', '?']) => covers(pattern, name),
        (Some(part), _) => name.contains(part.as_str()),
        (None, Some(exact)) => name == exact,
        (None, None) => true,
    }
}

fn none_fits(args: &TestArgs) -> Failure {
    match args.only.as_ref().or(args.print_log.as_ref()) {
        Some(name) => Failure::new(Exit::BadFile, format!("no case is named {name:?}"))
            .hint("without `--only` and `--print-log` all cases are run and listed"),
        None => Failure::new(Exit::BadFile, "no cases found")
            .hint("a file of scripted conversations holds one case, or a list under `cases:`"),
    }
}

/// Runs the cases on all processors, and tells of each in order.
fn run_all(
    cases: &[Found],
    options: RunnerOptions,
    mut tell: impl FnMut(&Found, End) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(cases.len());
    // Each end goes to the place of its case: at most as many as there are cases wait to be told.
    let (sender, ends) = mpsc::channel::<(usize, End)>();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(place) else { break };
                    if sender.send((place, end_of(case, options))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = std::collections::BTreeMap::new();
        let mut reported = 0;
        for (place, end) in ends {
            early.insert(place, end);
            while let (Some(end), Some(case)) = (early.remove(&reported), cases.get(reported)) {
                reported += 1;
                if let Err(failure) = tell(case, end) {
                    // Nobody listens any more: what has not begun is left.
                    next.store(cases.len(), Ordering::Relaxed);
                    return Err(failure);
                }
            }
        }
        Ok(())
    })
}

/// A case that breaks the runner itself fails alone, too.
fn end_of(found: &Found, options: RunnerOptions) -> End {
    match &found.case {
        Err(broken) => End::Broken(broken.clone()),
        Ok(case) => match catch_unwind(AssertUnwindSafe(|| run_case(case, options))) {
            Ok(report) => End::Ran(report),
            Err(panic) => End::Panicked(words(&*panic)),
        },
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no words".to_owned())
}

impl End {
    fn report(&self) -> Option<&CaseReport> {
        match self {
            Self::Ran(report) => Some(report),
            Self::Broken(_) | Self::Panicked(_) => None,
        }
    }
}
