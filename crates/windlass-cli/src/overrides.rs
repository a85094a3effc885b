//! Command-line overrides of an agent file.

use std::path::{Path, PathBuf};

use clap::Args;
use windlass_core::policy::{LATER, LimitKind};
use windlass_core::text::nearest;
use windlass_runtime::agent_file::{AgentFile, FileOverrides, ModelEntry};

use crate::failure::{Exit, Failure};

/// Command-line overrides of an agent file.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(crate) struct Overrides {
    /// Use this model (provider/model, auto or tour) instead of the file's
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Ask the model at this address, such as http://127.0.0.1:8080/v1: with `--model`, or the file's models. Without a key in the
    /// file, none is sent there
    #[arg(long, value_name = "URL", value_parser = base_url)]
    pub(crate) base_url: Option<String>,
    /// Set a limit: model_calls, tool_calls, tool_rounds, tokens, seconds, cost_usd, … (may be repeated)
    #[arg(long = "limit", value_name = "NAME=N", value_parser = limit)]
    pub(crate) limits: Vec<(LimitKind, f64)>,
    /// Ask a person before each call of a tool whose name fits, such as 'files__write_*' (may be repeated)
    #[arg(long = "approve", value_name = "PATTERN")]
    pub(crate) approve: Vec<String>,
    /// Let the agent hand tasks to another one, of that file, under that name (may be repeated)
    #[arg(long = "agent", value_name = "NAME=FILE", value_parser = delegate)]
    pub(crate) agents: Vec<(String, PathBuf)>,
}

/// Reads an address. One with a login is refused: it is remembered for later commands, and secrets are not.
fn base_url(text: &str) -> Result<String, String> {
    let text = text.trim();
    let Some(rest) = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) else {
        return Err("expected an address such as http://127.0.0.1:8080/v1".to_owned());
    };
    if rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@')) {
        return Err("an address with a login stands in an agent file: `base_url: \"${NAME}\"`".to_owned());
    }
    Ok(text.to_owned())
}

/// Reads `NAME=FILE`. The path is made absolute, because the run may be resumed from another directory.
pub(crate) fn delegate(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if file.starts_with("http://") || file.starts_with("https://") => {
            Err(format!("`{name}` is a remote agent; remote agents are not available in this version"))
        }
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), crate::home::absolute(Path::new(file))))
        }
        _ => Err("expected NAME=FILE, such as researcher=researcher.yaml".to_owned()),
    }
}

/// Reads `NAME=N`.
pub(crate) fn limit(text: &str) -> Result<(LimitKind, f64), String> {
    let (name, number) = text.split_once('=').ok_or("expected NAME=N, such as model_calls=20")?;
    let names = LimitKind::SETTABLE.map(LimitKind::name);
    if LATER.iter().any(|later| later.path.strip_prefix("limits.") == Some(name)) {
        return Err(format!("the limit `{name}` is not available in this version"));
    }
    let kind = LimitKind::from_name(name).ok_or_else(|| {
        let close = nearest(name, names);
        let hint = if close.is_empty() { names.join(", ") } else { close.join(" or ") };
        format!("unknown limit `{name}`; did you mean {hint}?")
    })?;
    let number: f64 = number.trim().parse().map_err(|_| format!("`{number}` is not a number"))?;
    match kind.keep(number) {
        Some(_) => Ok((kind, number)),
        None => Err(format!("`{number}` is not a valid limit `{name}`: expected 0 or more")),
    }
}

impl Overrides {
    /// Takes the model of earlier settings, if these name none. `false`: they do, or there is none.
    pub(crate) fn take_model(&mut self, earlier: FileOverrides) -> bool {
        if self.model.is_some() || self.base_url.is_some() || earlier.model.is_none() {
            return false;
        }
        (self.model, self.base_url) = (earlier.model, earlier.base_url);
        true
    }

    /// As data.
    pub(crate) fn data(&self) -> FileOverrides {
        let Self { model, base_url, limits, approve, agents } = self.clone();
        FileOverrides { model, base_url, limits, approve, agents, variables: None }
    }
}

/// Puts new files in the places of agents that were given with `--agent`.
pub(crate) fn move_agents(overrides: &mut FileOverrides, moved: &[(String, PathBuf)]) -> Result<(), Failure> {
    for (name, file) in moved {
        let Some((_, place)) = overrides.agents.iter_mut().find(|(known, _)| known == name) else {
            let known: Vec<&str> = overrides.agents.iter().map(|(known, _)| known.as_str()).collect();
            let message = format!("the run was started without `--agent {name}=FILE`");
            let failure = Failure::new(Exit::Usage, message);
            return Err(match known.as_slice() {
                [] => failure.hint("name the agent's new place in the file of the agent that it works for"),
                known => failure.hint(format!("it was started with {}", known.join(", "))),
            });
        };
        place.clone_from(file);
    }
    Ok(())
}

/// Refuses an address for which no model is named.
pub(crate) fn check(overrides: &FileOverrides, file: &AgentFile) -> Result<(), Failure> {
    let named = |entry: &ModelEntry| !FileOverrides::is_chosen(&entry.use_);
    if overrides.base_url.is_none() || file.models.iter().any(named) {
        return Ok(());
    }
    Err(Failure::new(Exit::Usage, "`--base-url` needs the name of a model")
        .hint("name it with `-m NAME`: any name that the server knows"))
}
