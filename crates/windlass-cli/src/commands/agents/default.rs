//! `windlass agents default`: the agent that answers questions without an agent file.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::look::looked;
use crate::failure::{Exit, Failure};
use crate::home;
use crate::out;
use crate::settings::{default_agent, set_default_agent};

const HELP: &str = "\
Examples:
  windlass agents default ~/agents/helper.yaml
  windlass \"What is 17% of 2350?\"
  windlass agents default
  windlass agents default --unset";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct DefaultArgs {
    /// The agent file to set; without one, the command shows which is set
    #[arg(value_name = "FILE", conflicts_with = "unset")]
    file: Option<PathBuf>,
    /// Go back to the built-in assistant
    #[arg(long)]
    unset: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &DefaultArgs) -> Result<Exit, Failure> {
    if let Some(file) = &args.file {
        // What cannot be used is not set.
        let unusable = || Failure::new(Exit::BadFile, format!("{} cannot be used", file.display()));
        let sound = looked(file).map_err(|all| all.into_iter().next().unwrap_or_else(unusable))?;
        set_default_agent(Some(file))?;
        sound.missing.iter().chain(&sound.warnings).for_each(out::note);
    } else if args.unset && set_default_agent(None)?.is_none() && !args.json {
        out::note("no default agent was set");
    }
    show(default_agent()?.as_deref(), args.json)?;
    Ok(Exit::Good)
}

fn show(agent: Option<&Path>, as_json: bool) -> std::io::Result<()> {
    if as_json {
        return out::json(&json!({ "type": "default_agent", "file": agent.map(home::absolute) }));
    }
    if let Some(file) = agent {
        return out::line(format_args!("default agent: {}", file.display()));
    }
    out::line("default agent: the built-in assistant")?;
    out::empty("`windlass agents default FILE` sets one of yours");
    Ok(())
}
