//! What to do about an error.

use windlass_core::budget::LOST_ATTEMPTS;
use windlass_models::ModelError;
use windlass_models::providers::provider_names;
use windlass_tools::ToolSetError;

use super::Error;

impl Error {
    /// A remedy, in words.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Policy { source, .. } => source.help(),
            Self::Tools { source: ToolSetError::Clash { .. }, .. } => {
                Some("rename one of them, or give a tool server another `name`".to_owned())
            }
            Self::Tools { source, .. } => source.help(),
            Self::Schema { source, .. } => source.help().map(str::to_owned),
            Self::SameName { .. } => {
                Some("rename one of them; names that begin with `__` are Windlass's own".to_owned())
            }
            Self::UnknownRequired { nearest, .. } => Some(if nearest.is_empty() {
                "name a tool of the agent, or remove the pattern".to_owned()
            } else {
                format!("did you mean {}?", nearest.join(" or "))
            }),
            Self::BranchDepth { .. } => Some("remove a nested branch".to_owned()),
            Self::Code { .. } | Self::SameInCode { .. } | Self::PromptTwice { .. } | Self::Another { .. } => {
                Some(self.help_with_build())
            }
            Self::NoOutput { .. } => {
                Some("give the agent `output: { schema: ... }`, or several turns with `max_steps`".to_owned())
            }
            Self::OutputOfPlan { .. } => Some("leave `output` out, or use another `loop.preset`".to_owned()),
            Self::NoObjective { .. } => Some("give it `instructions`, or another `loop.preset`".to_owned()),
            Self::Service { .. } => {
                Some("`windlass tools list FILE` shows the state of the agent's services".to_owned())
            }
            Self::BadInput { .. } => {
                Some("give an object that matches the agent's `input.schema`".to_owned())
            }
            Self::NoObject { .. } => Some("give a struct or a map with text keys".to_owned()),
            Self::OutputType { .. } => {
                Some("ask for the type that the agent was built with (`.output::<T>()`)".to_owned())
            }
            Self::UnknownPrice { .. } | Self::UnknownPriceBelow { .. } => {
                Some("give the model `prices: { input, output }` in USD per million tokens".to_owned())
            }
            Self::Model { source, .. } => model_help(source),
            Self::NoModel { .. } => Some("name one with `.model(\"provider/NAME\")`".to_owned()),
            Self::Log(source) => source.help(),
            Self::Refused(source) => source.help(),
            Self::UnknownTool { .. }
            | Self::NotTaken { .. }
            | Self::MessageSteered { .. }
            | Self::MessageQueued { .. }
            | Self::AgentChanged { .. }
            | Self::UnknownAgent { .. }
            | Self::ModelGone { .. }
            | Self::SessionBusy { .. }
            | Self::NotCut { .. }
            | Self::BadImport { .. }
            | Self::NewerExport { .. }
            | Self::ImportDiffers { .. }
            | Self::NoSuchEvent { .. }
            | Self::LostAttempts { .. }
            | Self::NotHandedOver { .. }
            | Self::NotEnded { .. } => self.help_with_run(),
            Self::Template { .. }
            | Self::Prompt { .. }
            | Self::MissingBase { .. }
            | Self::NoThread { .. }
            | Self::BadExport { .. }
            | Self::EmptyExport => None,
        }
    }

    /// A remedy for parts of an agent that do not fit together.
    fn help_with_build(&self) -> String {
        let words = if let Self::Code { .. } = self {
            "call `windlass::code_child()` as the first line of main, or name the `windlass` binary: \
             `Agent::builder(..).code_program(path)`"
        } else if let Self::SameInCode { .. } = self {
            "rename one of them, or set a `prefix`: characters other than letters and digits are `_` in code"
        } else if let Self::PromptTwice { .. } = self {
            "give them to the builder, such as `React::new().instructions([..])`, or leave one of the two out"
        } else {
            "set `loop.stop: text` and `loop.limits.iterations`, or `loop.another: never`"
        };
        words.to_owned()
    }

    /// A remedy for an error about a run.
    fn help_with_run(&self) -> Option<String> {
        if let Self::UnknownTool { nearest, .. } = self {
            Some(if nearest.is_empty() {
                "`windlass tools list FILE` lists the agent's tools".to_owned()
            } else {
                format!("did you mean {}?", nearest.join(" or "))
            })
        } else if let Self::MessageSteered { run, .. } = self {
            Some(format!("`windlass runs watch {run}` shows the run"))
        } else if let Self::MessageQueued { behind, .. } = self {
            Some(format!("the next message to the session runs it first, once run {behind} has ended"))
        } else if let Self::AgentChanged { run, .. } = self {
            Some(format!(
                "`windlass runs resume {run} --with FILE` (from Rust: `.with_changed_agent()`) goes on with the agent as it \
                 is now; calls that wait for approval, and have changed, are asked about anew"
            ))
        } else if let Self::UnknownAgent { agent, .. } = self {
            Some(format!("give an agent with the name `{agent}`, or resume the run where its agent is"))
        } else if let Self::ModelGone { model, .. } = self {
            Some(format!("keep `{model}` among the agent's models until the run has ended"))
        } else if let Self::SessionBusy { run, .. } = self {
            Some(format!("`windlass runs show {run}` shows what it waits for; resume, answer or cancel it"))
        } else if matches!(self, Self::NotCut { .. }) {
            Some("start a new run of its session instead".to_owned())
        } else if matches!(self, Self::BadImport { .. }) {
            Some("export it again, with the runs that it is based on".to_owned())
        } else if matches!(self, Self::NewerExport { .. }) {
            Some("import it with a newer Windlass".to_owned())
        } else if matches!(self, Self::ImportDiffers { .. }) {
            Some("import it into another log (`--log FILE`), or fork the existing run".to_owned())
        } else if let Self::NoSuchEvent { run, .. } = self {
            Some(format!("`windlass runs show -e {run}` lists its events with their numbers"))
        } else if matches!(self, Self::LostAttempts { .. }) {
            Some(format!(
                "look at what the model replies and why the process dies; `windlass runs resume RUN` by hand allows \
                 {LOST_ATTEMPTS} more attempts"
            ))
        } else if matches!(self, Self::NotHandedOver { .. }) {
            Some("run the task in a new run".to_owned())
        } else if let Self::NotEnded { run } = self {
            Some(format!("`windlass runs resume {run}`"))
        } else {
            None
        }
    }
}

/// A remedy for a model that a program names.
fn model_help(error: &ModelError) -> Option<String> {
    let object = "give the model as an object: `.model((NAME, HttpModel::new(config)?))`";
    if let ModelError::UnknownProvider { name, nearest } = error {
        return Some(unknown_provider_help(name, nearest, object));
    }
    if let ModelError::MissingKey { variable, .. } = error {
        return Some(format!("set {variable}, or {object}"));
    }
    if matches!(error, ModelError::MissingBaseUrl { .. }) {
        return Some(object.to_owned());
    }
    error.help()
}

fn unknown_provider_help(name: &str, nearest: &[String], object: &str) -> String {
    if name == "auto" {
        return "`windlass::models::choose_auto` finds one: `.model((found.name, found.model))`".to_owned();
    }
    let all: Vec<&str> = provider_names().collect();
    let supported = all.join(", ");
    if nearest.len() == all.len() {
        return format!("supported are {supported}; for any other server {object}");
    }
    format!("did you mean {}? Supported are {supported}", nearest.join(" or "))
}
