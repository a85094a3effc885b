//! `windlass models`: which models there are, and whether one answers.

use clap::{Args, Subcommand};
use serde_json::json;
use windlass_core::model::StopReason;
use windlass_models::providers::{Address, later_provider, provider, provider_names};
use windlass_models::resolve::{check, list_models};
use windlass_models::{ModelError, ModelSettings, choose_auto, resolve};

use crate::agents::now;
use crate::commands::doctor::providers;
use crate::failure::{Exit, Failure};
use crate::home;
use crate::interrupts::Interrupts;
use crate::out;
use crate::view::words::{cut, span, usage};
use crate::waiting::awaited;

/// Maximum number of characters shown of a model's reply.
const REPLY_CHARS: usize = 80;

const HELP: &str = "\
Examples:
  windlass models list
  windlass models list ollama
  windlass models check openai/gpt-5-mini";

/// The arguments of `windlass models`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    command: ModelsCommand,
}

#[derive(Debug, Subcommand)]
enum ModelsCommand {
    /// List the providers and whether they can be used, or the models of one
    List {
        #[arg(value_name = "PROVIDER", help = format!("The provider: {}", listable().join(", ")))]
        provider: Option<String>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Ask a model for one word
    Check {
        /// provider/model, auto or tour
        #[arg(value_name = "NAME")]
        name: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Carries out one of the commands.
pub(crate) async fn run(args: ModelsArgs) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    interrupts.or(carry_out(args)).await?
}

async fn carry_out(args: ModelsArgs) -> Result<Exit, Failure> {
    let (ModelsCommand::List { json, .. } | ModelsCommand::Check { json, .. }) = &args.command;
    out::calm(*json);
    match args.command {
        ModelsCommand::List { provider: Some(provider), json } => names(&provider, json).await,
        ModelsCommand::List { provider: None, json } => {
            for finding in awaited("the providers", providers()).await {
                finding.show(json)?;
            }
            Ok(Exit::Good)
        }
        ModelsCommand::Check { name, json } => ask(&name, json).await,
    }
}

/// The providers whose models can be listed by their names alone.
fn listable() -> Vec<&'static str> {
    let given = |name: &&str| provider(name).is_some_and(|entry| matches!(entry.address, Address::Given));
    provider_names().filter(|name| !given(name)).collect()
}

async fn names(name: &str, json: bool) -> Result<Exit, Failure> {
    let name = name.split('/').next().unwrap_or(name);
    let known = provider_names().any(|known| known == name);
    if known && !listable().contains(&name) {
        return Err(Failure::new(Exit::Usage, "an OpenAI-compatible server has no default address")
            .hint("give `base_url` beside the model's name in an agent file"));
    }
    if let Some(later) = later_provider(name).filter(|_| !known) {
        let error = ModelError::LaterProvider { provider: later, model: String::new() };
        return Err(Failure::of(Exit::Usage, &error).maybe_hint(error.help()));
    }
    if !known {
        let close = windlass_core::text::nearest(name, provider_names());
        let all = || provider_names().collect::<Vec<_>>().join(", ");
        let near = if close.is_empty() { all() } else { close.join(" or ") };
        return Err(Failure::new(Exit::Usage, format!("unknown model provider `{name}`"))
            .hint(format!("did you mean {near}?")));
    }
    let settings = ModelSettings::named(name);
    let listed = awaited(format!("the models of {name}"), list_models(&settings, &home::env)).await?;
    for name in listed {
        if json {
            out::json(&json!({ "type": "model", "name": name }))?;
        } else {
            out::line(name)?;
        }
    }
    Ok(Exit::Good)
}

async fn ask(name: &str, json: bool) -> Result<Exit, Failure> {
    let (name, model) = match name {
        "auto" => {
            let auto = choose_auto(&home::env).await;
            out::note(format_args!("model: {} ({})", auto.name, auto.reason));
            (auto.name, auto.model)
        }
        name => (name.to_owned(), resolve(&ModelSettings::named(name), &home::env)?),
    };
    let begun = now();
    let reply = awaited(format!("model {name}"), check(&*model, &name)).await?;
    let took = now().saturating_sub(begun);
    let text = reply.text.as_deref().unwrap_or_default();
    if json {
        out::json(&json!({
            "type": "model", "name": name, "ok": true, "text": text, "usage": reply.usage, "took_ms": took,
            "stop": reply.stop,
        }))?;
        return Ok(Exit::Good);
    }
    let said = if text.is_empty() && reply.stop == StopReason::Length { "(only thoughts)" } else { text };
    out::line(format_args!("{name} answers: {}", cut(said, REPLY_CHARS)))?;
    out::note(format_args!("{}, {}", usage(&reply.usage, None), span(took)));
    Ok(Exit::Good)
}
