//! `windlass run`: one run of an agent.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use windlass_core::SessionId;
use windlass_core::policy::Memory;
use windlass_runtime::{DriveOptions, People, RunMessages};

use crate::agents;
use crate::asking::Terminal;
use crate::drive::{Words, drive, verdict};
use crate::failure::{Exit, Failure};
use crate::from_env;
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::overrides::Overrides;
use crate::stdin;
use crate::view::{View, ViewArgs};

const HELP: &str = "\
Examples:
  windlass run agent.yaml \"What is 17% of 2350?\"
  git diff | windlass run reviewer.yaml
  windlass run agent.yaml --session trip \"And what about Tuesday?\"
  windlass run agent.yaml --limit model_calls=20 --limit cost_usd=0.50 \"...\"
  windlass run lead.yaml --agent researcher=researcher.yaml \"...\"
  windlass run agent.yaml --json \"...\" | jq 'select(.type == \"event\")'

Ctrl-C cancels the run; a second one leaves it where it is: `windlass runs resume last` continues it. \
The exit code says how it ended: 0 answered, 1 failed, 69 model unavailable, 75 waits for an answer, 124 limit, \
130 cancelled.";

/// The arguments of `windlass run`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RunArgs {
    /// The agent file
    #[arg(value_name = "FILE", required_unless_present = "from_env")]
    file: Option<PathBuf>,
    /// Input for the agent; `-`, or omitted when stdin is not a terminal: read from stdin
    #[arg(value_name = "INPUT")]
    input: Option<String>,
    /// Take the agent from the environment instead of a file, with the variables of KAOS' agent container:
    /// AGENT_NAME, AGENT_INSTRUCTIONS, MODEL_API_URL, MODEL_NAME, AGENTIC_LOOP_MAX_STEPS, MCP_SERVERS, …
    #[arg(long)]
    from_env: bool,
    /// Go on with the conversation of this name, or begin it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    overrides: Overrides,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    view: ViewArgs,
}

/// Runs the agent to its end.
pub(crate) async fn run(args: RunArgs) -> Result<Exit, Failure> {
    let (path, told) = if args.from_env {
        from_environment(args.file, args.input.as_deref())?
    } else {
        (args.file.unwrap_or_default(), args.input)
    };
    let file = agents::read(&path, &args.overrides)?;
    // Until it is read a signal has its usual effect.
    let input = input(told)?;
    let mut interrupts = Interrupts::listen()?;
    let mut view = View::new(args.view).logged(&args.log.words());
    let log = args.log.open()?;
    let assembly = agents::start(&path, &file, &args.overrides, log, &mut interrupts).await?;
    assembly.chosen.iter().for_each(|line| view.remark(line));
    view.warnings(&assembly.warnings);
    view.unmatched(&assembly.unmatched);
    let people = if args.view.json { None } else { people() };
    let input = RunMessages::from(input);
    let named = args.session.is_some();
    if named && assembly.agent.policy().past.memory == Memory::Off {
        view.remark("session: null-session (`memory` is off: nothing is remembered)");
    }
    let session = Some(args.session.map_or_else(new_session, SessionId::from));
    let options = DriveOptions { people, session, ..DriveOptions::default() };
    let prepared = if named {
        assembly.agent.prepare(input, options).await?
    } else {
        // A session of its own, so that it can be continued.
        assembly.agent.prepare_on(input, None, options)?
    };
    let words = Words { log: args.log.words(), file: Some(path.display().to_string()) };
    let run = drive(prepared, &mut view, &mut interrupts, &words).await?;
    let verdict = verdict(&run, &words);
    view.left(&run, verdict.as_ref().err());
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
    let told = first.map(|words| words.to_string_lossy().into_owned());
    Ok((PathBuf::from(from_env::NAME), told))
}

/// Returns a fresh id for an unnamed conversation.
pub(crate) fn new_session() -> SessionId {
    SessionId::from(uuid::Uuid::now_v7().simple().to_string())
}

/// The user at the terminal, who answers questions.
pub(crate) fn people() -> Option<Arc<dyn People>> {
    Terminal::open().map(|terminal| terminal as Arc<dyn People>)
}

fn input(argument: Option<String>) -> Result<String, Failure> {
    let from_stdin = match &argument {
        Some(text) => text == "-",
        None if std::io::stdin().is_terminal() => {
            return Err(Failure::new(Exit::Usage, "no input given")
                .hint("give it after the file, or on stdin: `windlass run FILE \"your question\"`"));
        }
        None => true,
    };
    if !from_stdin {
        return Ok(argument.unwrap_or_default());
    }
    let text = stdin::whole().map_err(|error| {
        Failure::new(Exit::BadFile, "cannot read the input on stdin").cause(error.to_string())
    })?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() {
        return Err(Failure::new(Exit::Usage, "the input on stdin is empty")
            .hint("give it after the file, or on stdin: `windlass run FILE \"your question\"`"));
    }
    Ok(text.to_owned())
}
