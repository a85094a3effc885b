//! `windlass agents`: agent files.

mod default;
pub(super) mod look;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use windlass_read::words::count;
use windlass_runtime::agent_file::schema;

use crate::commands::init::templates::ONE_FILE;
use crate::commands::init::writing::{self, NewFile};
use crate::failure::{Exit, Failure};
use crate::home::quoted;
use crate::out;
use crate::view::warnings;
use look::{Sound, looked};

const HELP: &str = "\
Examples:
  windlass agents init librarian.yaml
  windlass agents check agents/*.yaml
  windlass agents default agents/helper.yaml
  windlass agents schema > agent.schema.json";

/// The arguments of `windlass agents`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    command: AgentsCommand,
}

#[derive(Debug, Subcommand)]
enum AgentsCommand {
    /// Write an agent file to start from (`windlass init` writes a tool and a test, too)
    Init {
        /// File to write
        #[arg(value_name = "PATH", default_value = "agent.yaml")]
        path: PathBuf,
        /// Write over a file that is there
        #[arg(long)]
        force: bool,
    },
    /// Check agent files without starting or calling anything
    Check {
        /// The agent files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// One JSON object a file
        #[arg(long)]
        json: bool,
    },
    /// Set or show the agent that answers `windlass "question"`
    Default(default::DefaultArgs),
    /// Print the JSON Schema of agent files
    Schema,
}

/// Carries out one of the commands.
pub(crate) fn run(args: AgentsArgs) -> Result<Exit, Failure> {
    match args.command {
        AgentsCommand::Init { path, force } => init(&path, force),
        AgentsCommand::Check { files, json } => check(&files, json),
        AgentsCommand::Default(args) => default::run(&args),
        AgentsCommand::Schema => {
            out::line(serde_json::to_string_pretty(&schema()).unwrap_or_default())?;
            Ok(Exit::Good)
        }
    }
}

fn init(path: &Path, force: bool) -> Result<Exit, Failure> {
    let file =
        NewFile { path: path.to_owned(), what: "the agent", text: ONE_FILE.to_owned(), executable: false };
    let written = writing::write(&[file], force)?;
    let display_path = path.display().to_string();
    for written in written {
        out::line(format_args!("{} {display_path}", written.verb()))?;
    }
    out::note(format_args!("try it: `windlass run {} \"What is 17% of 2350?\"`", quoted(&display_path)));
    Ok(Exit::Good)
}

fn check(files: &[PathBuf], as_json: bool) -> Result<Exit, Failure> {
    let mut bad = 0;
    for file in files {
        let checked = looked(file);
        bad += u64::from(checked.is_err());
        if as_json {
            out::json(&report(file, &checked))?;
        } else if let Ok(sound) = &checked {
            out::line(format_args!("ok {}: {}", file.display(), summary(sound)))?;
            let remarks = sound.missing.iter().chain(&sound.warnings);
            remarks.for_each(|remark| out::note(format_args!("{}: {remark}", file.display())));
            sound.unmatched.iter().map(warnings::pattern_line).for_each(out::note);
        } else if let Err(failures) = checked {
            let last = failures.len() - 1;
            for (at, failure) in failures.into_iter().enumerate() {
                if files.len() == 1 && at == last {
                    return Err(failure);
                }
                failure.show();
            }
        }
    }
    match bad {
        0 => Ok(Exit::Good),
        1 if files.len() == 1 => Ok(Exit::BadFile),
        bad => {
            Err(Failure::new(Exit::BadFile, format!("{bad} of {} agent files cannot be used", files.len())))
        }
    }
}

/// A valid file in one line.
fn summary(sound: &Sound) -> String {
    let some = |number: usize, what: &str| {
        if number == 0 { String::new() } else { format!(", {}", count(number as u64, what)) }
    };
    let prompt = match sound.prompt_tokens {
        0 => String::new(),
        tokens => format!(", prompt of about {}", count(tokens, "token")),
    };
    let agents_md = if sound.agents_md.is_some() { ", AGENTS.md" } else { "" };
    format!(
        "{}, model {}, {}{}{}{}{agents_md}{prompt}",
        sound.name,
        sound.models.join(", "),
        count(sound.tools as u64, "tool"),
        some(sound.servers, "tool server"),
        some(sound.delegates, "agent"),
        some(sound.skills.len(), "skill"),
    )
}

fn report(file: &Path, checked: &Result<Sound, Vec<Failure>>) -> Value {
    match checked {
        Ok(sound) => json!({
            "type": "agent", "file": file, "ok": true, "name": sound.name, "models": sound.models,
            "tools": sound.tools, "servers": sound.servers, "skills": sound.skills, "agents_md": sound.agents_md, "agents": sound.delegates, "prompt_tokens": sound.prompt_tokens, "missing": sound.missing,
            "warnings": sound.warnings, "unmatched": sound.unmatched.iter().map(warnings::pattern_value).collect::<Vec<_>>(),
        }),
        Err(failures) => json!({
            "type": "agent", "file": file, "ok": false, "failure": failures.first().map(Failure::json),
            "failures": failures.iter().map(Failure::json).collect::<Vec<_>>(),
        }),
    }
}
