//! The words of the command line.

use clap::{Parser, Subcommand};

use crate::commands::agents::AgentsArgs;
use crate::commands::ask::AskArgs;
use crate::commands::chat::ChatArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::init::InitArgs;
use crate::commands::man::ManArgs;
use crate::commands::models::ModelsArgs;
use crate::commands::run::RunArgs;
use crate::commands::runs::RunsArgs;
use crate::commands::serve::ServeArgs;
use crate::commands::sessions::SessionsArgs;
use crate::commands::test::TestArgs;
use crate::commands::tokens::TokensArgs;
use crate::commands::tools::ToolsArgs;
use crate::commands::watch::WatchArgs;

const HELP: &str = "\
Examples:
  windlass \"What is 17% of 2350?\"
  windlass -m openai/gpt-5-mini -a photo.jpg \"What does the photo show?\"
  git diff | windlass \"Write a commit message for this change.\"
  windlass -- why
  windlass init shop
  windlass run examples/quickstart.yaml \"What is 17% of 2350, and which files are here?\"
  windlass chat examples/files-mcp.yaml
  windlass runs list
  windlass test examples/tests

A question without a command goes to the default agent: the one that `windlass agents default FILE` has set, else a \
built-in assistant. One word alone is taken for a command; after `--` it is a question.

Options of every command that uses the log:
  --log FILE         the log to use [default: log.db in WINDLASS_HOME]
  --server URL       a server in place of a log [env: WINDLASS_SERVER]
  --log-sync WHEN    when an event counts as written: `full` (on the disk, the default) or
                     `normal` (a power cut may take the last events) [env: WINDLASS_LOG_SYNC]
  --log-flush-ms MS  with `normal`, the longest time until the disk has an event
                     [env: WINDLASS_LOG_FLUSH_MS]

Exit codes:
    0  answered, concluded, or asked back; or the command did its work
    1  the run failed, or the command could not do its work
    2  the command line makes no sense
   65  a file cannot be used
   69  a model or tool server cannot be reached, or the server of `--server`
   70  the log or Windlass itself failed
   75  the run waits for an answer or a quota; stderr says how it goes on
  124  a limit cut the run
  130  cancelled (Ctrl-C)
  129, 131, 143  ended by SIGHUP, SIGQUIT, SIGTERM: tools were stopped, the run can be resumed

Environment:
  WINDLASS_HOME    where the log and the settings are kept (default: the user's data folder)
  OPENAI_API_KEY and the like: each provider's usual variables
  WINDLASS_SERVER, WINDLASS_TOKEN: the server that commands reach, and a token for it
  WINDLASS_OFFLINE 1: no model on another machine is asked; models on loopback addresses are
  OTEL_SERVICE_NAME and OTEL_EXPORTER_OTLP_ENDPOINT (and other OTEL_*): spans and metrics go there
  TRACEPARENT      the span that the command belongs to
  NO_COLOR         no colours";

const USAGE: &str = "\
windlass <COMMAND>
       windlass [OPTIONS] <QUESTION>
       windlass [OPTIONS] -- <WORD>";

/// Runs agents: a language model calls tools, sees their results and continues until it answers.
/// Every turn that was taken is kept.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, after_help = HELP, max_term_width = 100)]
#[command(override_usage = USAGE, args_conflicts_with_subcommands = true, subcommand_value_name = "COMMAND")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Begin an agent in a folder: its file, a tool, a test
    Init(InitArgs),
    /// Run an agent: its answer goes to stdout, everything else to stderr
    Run(Box<RunArgs>),
    /// Talk with an agent, turn after turn
    Chat(ChatArgs),
    /// List, show, watch, answer, resume, pause, cancel, steer and export runs
    Runs(RunsArgs),
    /// Watch all runs in a table that goes on, and answer their questions from there
    Watch(WatchArgs),
    /// Offer the agents of a folder as a service that a restart does not hurt
    Serve(ServeArgs),
    /// Make and revoke tokens of clients of a server
    Tokens(TokensArgs),
    /// List conversations, and tell what happened in one
    Sessions(SessionsArgs),
    /// List the tools of an agent, and call one by hand
    Tools(ToolsArgs),
    /// Write, check and describe agent files
    Agents(AgentsArgs),
    /// List models, and ask whether one answers
    Models(ModelsArgs),
    /// Run scripted conversations: no network, no keys, no waiting
    Test(TestArgs),
    /// Say what is wrong, and what mends it
    Doctor(DoctorArgs),
    /// Print what a shell needs to complete commands
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    Man(ManArgs),
}
