//! `windlass models`: which models there are, and whether one answers.

mod list;

use clap::{Args, Subcommand};
use serde_json::json;
use windlass_core::model::StopReason;
use windlass_core::policy::Wire;
use windlass_models::probe::{Ability, Finding, Outcome, look};
use windlass_models::providers::{Provider, provider, provider_names, providers as all_providers};
use windlass_models::resolve::{check, list_models};
use windlass_models::{ModelSettings, choose_auto, resolve};
use windlass_read::words::{cut, span, usage};
use windlass_runtime::capabilities;

use crate::agents::now;
use crate::failure::{Exit, Failure};
use crate::home;
use crate::interrupts::Interrupts;
use crate::out;
use crate::waiting::awaited;

/// Maximum number of characters shown of a model's reply.
const REPLY_CHARS: usize = 80;

/// Indentation of the lines after the first of a price.
const INDENT: usize = 4;

const HELP: &str = "\
Examples:
  windlass models list
  windlass models list ollama
  windlass models list --prices
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
    /// List the providers, those first that can be used, or the models of one
    List {
        /// The provider, such as openai
        #[arg(value_name = "PROVIDER")]
        provider: Option<String>,
        /// The list prices that are known, with their day and source
        #[arg(long)]
        prices: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Ask a model for one word, then for each thing that it may be able to do
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
    interrupts.or(Box::pin(carry_out(args))).await?
}

async fn carry_out(args: ModelsArgs) -> Result<Exit, Failure> {
    let (ModelsCommand::List { json, .. } | ModelsCommand::Check { json, .. }) = &args.command;
    out::calm(*json);
    match args.command {
        ModelsCommand::List { provider, prices: true, json } => prices(provider.as_deref(), json),
        ModelsCommand::List { provider: Some(provider), json, .. } => names(&provider, json).await,
        ModelsCommand::List { provider: None, json, .. } => list::run(json).await,
        ModelsCommand::Check { name, json } => ask(&name, json).await,
    }
}

/// The list prices of one provider's models, or of all.
fn prices(name: Option<&str>, json: bool) -> Result<Exit, Failure> {
    let name = name.map(|name| name.split('/').next().unwrap_or(name));
    if let Some(name) = name.filter(|name| provider(name).is_none()) {
        return Err(unknown(name));
    }
    let listed = all_providers().iter().filter(|provider| name.is_none_or(|name| provider.is_named(name)));
    let prices = listed.flat_map(|provider| provider.prices.iter().map(move |price| (provider, price)));
    let mut none = true;
    for (provider, price) in prices {
        none = false;
        let model = format!("{}/{}", provider.name, price.model);
        if json {
            out::json(&json!({
                "type": "price", "name": model, "usd_per_million": {
                    "input": price.input, "output": price.output, "cached": price.cached,
                    "cache_write": price.cache_write,
                }, "usd_per_thousand_uses": price.hosted, "as_of": price.as_of, "source": price.source,
            }))?;
            continue;
        }
        let more = [("cached", price.cached), ("cache write", price.cache_write)];
        let more =
            more.map(|(what, usd)| usd.map_or_else(String::new, |usd| format!(", {what} {usd}"))).concat();
        let hosted = price.hosted.iter();
        let hosted = hosted.map(|(tool, usd)| format!(", {} {usd} per 1,000 uses", tool.name()));
        let more = more + &hosted.collect::<String>();
        let day = price.as_of.as_ref().map_or_else(String::new, |day| format!(" · {}", day.0));
        let source = price.source.as_ref().map_or_else(String::new, |source| format!(" · {source}"));
        let row = format!("{model}: input {}, output {}{more}{day}{source}", price.input, price.output);
        out::item(&row, INDENT)?;
    }
    if none {
        out::note("no price is known; `prices` beside a model sets one");
    } else if !json {
        out::note("USD per million tokens; all other prices are unknown");
    }
    Ok(Exit::Good)
}

/// No provider has this name.
fn unknown(name: &str) -> Failure {
    let failure = Failure::new(Exit::Usage, format!("unknown model provider `{name}`"));
    match windlass_core::text::nearest(name, provider_names()).as_slice() {
        [] => failure.hint(format!("the providers are {}", provider_names().collect::<Vec<_>>().join(", "))),
        close => failure.hint(format!("did you mean {}?", close.join(" or "))),
    }
}

async fn names(name: &str, json: bool) -> Result<Exit, Failure> {
    let name = name.split('/').next().unwrap_or(name);
    let known = name == "tour" || provider(name).is_some();
    if provider(name).is_some_and(Provider::is_given) {
        return Err(Failure::new(Exit::Usage, "an OpenAI-compatible server has no default address")
            .hint("give `base_url` beside the model's name in an agent file"));
    }
    if !known {
        return Err(unknown(name));
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
    if !json {
        let thoughts_only = text.is_empty() && reply.stop == StopReason::Length;
        let words = if thoughts_only { "(only thoughts)" } else { text };
        out::line(format_args!("{name} answers: {}", cut(words, REPLY_CHARS)))?;
        out::note(format_args!("{}, {}", usage(&reply.usage, None), span(took)));
    }
    let mut findings = Vec::with_capacity(Ability::ALL.len());
    for ability in Ability::ALL {
        let finding = awaited(format!("model {name}"), look(&*model, &name, ability)).await;
        if !json {
            show(&finding)?;
        }
        findings.push(finding);
    }
    let calls = wire_of_calls(&findings);
    if let (Some(wire), Some(id)) = (calls, model.known(&name).id) {
        if wire == Wire::Native {
            capabilities::forget(&id, now());
        } else {
            capabilities::learn(&id, |known| known.wire = Some(wire), now());
        }
    }
    if let (Some(wire), false) = (calls, json) {
        let how = match wire {
            Wire::Schema => "by schema, because it takes no tools",
            Wire::Fenced => "as text, because it takes no tools",
            Wire::Auto | Wire::Native => "natively",
        };
        out::note(format_args!("with `wire: auto`, calls go to it {how}"));
    }
    if json {
        let probes: Vec<_> = findings
            .iter()
            .map(|finding| {
                json!({
                    "probe": finding.ability.name(), "outcome": finding.outcome.name(),
                    "found": finding.found, "usage": finding.usage,
                })
            })
            .collect();
        out::json(&json!({
            "type": "model", "name": name, "ok": true, "text": text, "usage": reply.usage, "took_ms": took,
            "stop": reply.stop, "probes": probes, "calls": calls,
        }))?;
    }
    Ok(Exit::Good)
}

/// How calls go to a model by what the probes found; `None`: they do not say.
fn wire_of_calls(findings: &[Finding]) -> Option<Wire> {
    let found = |ability: Ability| findings.iter().find(|finding| finding.ability == ability);
    let (tools, schema) = (found(Ability::ToolCall)?, found(Ability::Schema)?);
    match (tools.outcome, schema.outcome) {
        (Outcome::Works, _) => Some(Wire::Native),
        // A server that passes tools over refuses nothing.
        (Outcome::Missing, Outcome::Works) => Some(Wire::Schema),
        (Outcome::Failed, Outcome::Works) if tools.refuses_tools => Some(Wire::Schema),
        (Outcome::Failed, _) if tools.refuses_tools => Some(Wire::Fenced),
        (Outcome::Missing | Outcome::Failed, _) => None,
    }
}

/// A row of the table: how a probe ended, what it asked for, and what came.
fn show(finding: &Finding) -> Result<(), Failure> {
    let (outcome, ability) = (finding.outcome.name(), finding.ability.name());
    out::line(format_args!("{outcome:<7}  {ability:<14}  {}", cut(&finding.found, REPLY_CHARS)))?;
    Ok(())
}
