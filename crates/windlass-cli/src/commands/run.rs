//! `windlass run`: one run of an agent, a repetition, or a batch.

mod admission;
mod batch;
mod left;
mod queries;
mod repeat;

use std::path::{Path, PathBuf};

use clap::Args;
use windlass_core::{SessionId, Text};
use windlass_runtime::DriveOptions;
use windlass_runtime::agent_file::AgentFile;

use admission::Admission;
use batch::{Batch, BatchArgs};
use repeat::{Again, RepeatArgs};

use crate::agents;
use crate::asking::{Place, Roots};
use crate::attachments::AttachArgs;
use crate::cassettes::{CassetteArgs, played};
use crate::commands::chat::OfRun;
use crate::drive::{AtTerminal, Driven, Words, verdict};
use crate::failure::{Exit, Failure};
use crate::from_env;
use crate::home::{self, LogArgs, quoted};
use crate::input::Input;
use crate::interrupts::Interrupts;
use crate::overrides::Overrides;
use crate::remote::{self, Server, Task, not_on_a_server};
use crate::session::SessionArgs;
use crate::view::{View, ViewArgs};

const HELP: &str = "\
Examples:
  windlass run agent.yaml \"What is 17% of 2350?\"
  git diff | windlass run reviewer.yaml
  windlass run agent.yaml --session trip \"And what about Tuesday?\"
  windlass run agent.yaml --limit model_calls=20 --limit cost_usd=0.50 \"...\"
  windlass run lead.yaml --agent researcher=researcher.yaml \"...\"
  windlass run agent.yaml --batch queries.txt --wait-min 1 --wait-max 5
  windlass run agent.yaml --repeat 10 --until '*DONE*' \"Work on the list.\"
  windlass run agent.yaml --record trip.cassette \"Which trains go to Bergen?\"
  windlass run agent.yaml --replay trip.cassette \"Which trains go to Bergen?\"
  windlass run agent.yaml --json \"...\" | jq 'select(.type == \"event\")'

Ctrl-C cancels the run; a second one leaves it where it is: `windlass runs resume last` continues it. At a question \
Ctrl-C leaves the question open for later, and while the run waits for a quota it leaves the run suspended. At a terminal \
what you type meanwhile steers the run, Esc cancels it, and Ctrl-D leaves it; /help lists the rest. \
The exit code says how it ended: 0 answered, 1 failed, 69 model unavailable, 75 waits for an answer or a quota, 124 limit, \
130 cancelled.";

const NO_INPUT: &str = "give it after the file, or on stdin: `windlass run FILE \"your question\"`";

/// The arguments of `windlass run`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RunArgs {
    /// The agent file; with `--server`, the name of an agent of the server
    #[arg(value_name = "FILE", required_unless_present = "from_env")]
    file: Option<PathBuf>,
    /// Input for the agent; `-`, or omitted when stdin is not a terminal: read from stdin
    #[arg(value_name = "INPUT")]
    input: Option<String>,
    /// Take the agent from the environment instead of a file, by the variables of an agent's container:
    /// AGENT_NAME, AGENT_INSTRUCTIONS, MODEL_API_URL, MODEL_NAME, AGENTIC_LOOP_MAX_STEPS, MCP_SERVERS, …
    #[arg(long)]
    from_env: bool,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    attach: AttachArgs,
    #[command(flatten)]
    overrides: Overrides,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    view: ViewArgs,
}

/// How an agent is run: with which tools, how often, with which inputs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct HowArgs {
    /// Give the run only these tools: names or patterns (`*`, `?`) with commas between them; an empty list gives none
    #[arg(long, value_name = "TOOLS")]
    only_tools: Option<String>,
    #[command(flatten)]
    repeat: RepeatArgs,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    cassette: CassetteArgs,
}

impl HowArgs {
    /// With a cassette, and nothing else.
    pub(crate) fn with(cassette: CassetteArgs) -> Self {
        Self { cassette, ..Self::default() }
    }

    fn only_tools(&self) -> Option<Vec<Text>> {
        let list = self.only_tools.as_ref()?;
        Some(list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(Text::from).collect())
    }
}

/// Runs the agent to its end.
pub(crate) async fn run(args: RunArgs) -> Result<Exit, Failure> {
    if let Some(server) = Server::of(&args.log)? {
        return Box::pin(remote::run(&server, task(args)?)).await;
    }
    let (path, input) = if args.from_env {
        from_environment(args.file, args.input.as_deref())?
    } else {
        (args.file.unwrap_or_default(), args.input)
    };
    if input.is_none() && !path.exists() {
        check_for_question(&path)?;
    }
    let file = agents::read(&path, &args.overrides)?;
    // Until it is read a signal has its usual effect.
    let input = if args.how.batch.batch.is_some() {
        Input::default()
    } else {
        Input::read(input, &args.attach, NO_INPUT)?
    };
    let RunArgs { session, overrides, log, view, how, .. } = args;
    Box::pin(begin(Begin { path, file, input, session, overrides, log, view, how })).await
}

/// The task for an agent of a server.
fn task(args: RunArgs) -> Result<Task, Failure> {
    let RunArgs { file, input, from_env, how, session, attach, overrides, view, .. } = args;
    let runs_here =
        from_env || how.cassette.is_given() || how.batch.batch.is_some() || how.repeat.repeat.is_some();
    if runs_here || overrides != Overrides::default() || session.hands_over() || session.is_newest() {
        return Err(not_on_a_server());
    }
    let input = Input::read(input, &attach, NO_INPUT)?.for_server()?;
    let only_tools = how.only_tools().map(|tools| tools.iter().map(ToString::to_string).collect());
    let agent = file.unwrap_or_default().display().to_string();
    let session = session.name.map_or_else(new_session, SessionId::from);
    Ok(Task { agent, input, session, only_tools, view })
}

/// A question in the place of the file is refused with the command that asks it.
fn check_for_question(path: &Path) -> Result<(), Failure> {
    let words = path.display().to_string();
    if !words.trim().contains(char::is_whitespace) || home::is_yaml(path) {
        return Ok(());
    }
    let question = quoted(&words);
    Err(Failure::new(Exit::Usage, format!("expected an agent file, found {words:?}"))
        .hint(format!("`windlass {question}` asks the default agent"))
        .hint(format!("`windlass run FILE {question}` asks the agent in FILE")))
}

/// A run that is about to begin.
pub(crate) struct Begin {
    pub(crate) path: PathBuf,
    pub(crate) file: AgentFile,
    pub(crate) input: Input,
    pub(crate) session: SessionArgs,
    pub(crate) overrides: Overrides,
    pub(crate) log: LogArgs,
    pub(crate) view: ViewArgs,
    pub(crate) how: HowArgs,
}

/// Runs an agent whose file and input have been read.
pub(crate) async fn begin(begin: Begin) -> Result<Exit, Failure> {
    let Begin { path, file, input, session, overrides, log: log_args, view: view_args, how } = begin;
    input.check(&file)?;
    let mut interrupts = Interrupts::listen()?;
    let mut view = View::new(view_args).logged(&log_args.words());
    let log = log_args.open()?;
    let words = Words { log: log_args.words(), file: Some(path.display().to_string()), ..Words::default() };
    let session = session.found(&file, &*log).await?;
    session.check(&file, &*log, &mut view, &words).await?;
    // One run is shown as it goes on; many are told of in lines.
    let one = how.batch.batch.is_none() && how.repeat.guard().is_none();
    if one && session.name.is_none() {
        left::tell(&*log, &file, &input, &words, &mut view).await?;
    }
    let place = Place { log: log.clone(), roots: Roots::of(&file), chat: false };
    let terminal = AtTerminal::open(view_args, one, place, &OfRun);
    let people = terminal.people();
    let cassette = how.cassette.open()?;
    let assembly = agents::start(&file, &overrides, &log, cassette.clone(), &mut interrupts).await?;
    assembly.chosen.iter().for_each(|line| view.remark(line));
    view.warnings(&assembly.warnings);
    view.unmatched(&assembly.unmatched);
    let named = session.name.is_some();
    let session = session.name.map_or_else(new_session, SessionId::from);
    let only_tools = how.only_tools();
    // Without anybody there, a run that waits for a quota is left to whoever resumes runs.
    let hold_for_quota = people.is_some();
    let options = DriveOptions {
        people,
        hold_for_quota,
        session: Some(session.clone()),
        only_tools,
        ..DriveOptions::default()
    };
    if let Some(path) = &how.batch.batch {
        let (agent, options) =
            (&assembly.agent, DriveOptions { session: None, hold_for_quota: false, ..options });
        let batch = Batch { agent, log: &log, options, view: view_args, words: &words };
        let end = Box::pin(batch.run(&how.batch, path, &mut interrupts)).await;
        return played(cassette.as_ref(), end);
    }
    if let Some(guard) = how.repeat.guard() {
        let again = Again { agent: &assembly.agent, log: &log, options, view: view_args, words: &words };
        let end = again.run(guard, input.messages(), &mut interrupts).await;
        return played(cassette.as_ref(), end);
    }
    let host = agents::host(&log);
    let live = if named {
        let agent = &assembly.agent;
        let admission = Admission { host: &host, agent, session: &session, options, log_words: &words.log };
        match Box::pin(admission.admitted(input.messages(), &mut view, &mut interrupts)).await? {
            Some(live) => live,
            None => return view.close().map(|()| Exit::Good),
        }
    } else {
        // A session of its own, so that it can be continued.
        host.drive(&assembly.agent, assembly.agent.prepare(input.messages(), options).await?)
    };
    let driven = Driven { agent: &assembly.agent, host: &host, words: &words };
    let (run, mut view) = Box::pin(terminal.drive(live, view, &mut interrupts, driven)).await?;
    let verdict = played(cassette.as_ref(), verdict(&run, &words));
    view.left(&*log, &run, verdict.as_ref().err()).await?;
    view.close()?;
    verdict
}

/// With `--from-env` there is no file: what stands first is the input.
fn from_environment(
    first: Option<PathBuf>,
    second: Option<&str>,
) -> Result<(PathBuf, Option<String>), Failure> {
    if second.is_some() {
        return Err(Failure::new(Exit::Usage, "`--from-env` takes only the input and no agent file")
            .hint("`windlass run --from-env \"your question\"`"));
    }
    let input = first.map(|words| words.to_string_lossy().into_owned());
    Ok((PathBuf::from(from_env::NAME), input))
}

/// Returns a fresh id for an unnamed conversation.
pub(crate) fn new_session() -> SessionId {
    SessionId::from(uuid::Uuid::now_v7().simple().to_string())
}
