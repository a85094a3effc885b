//! The models: keys in the environment, local servers.

use futures_util::future::join3;
use windlass_models::resolve::list_models;
use windlass_models::{ModelSettings, Timeouts, choose_auto};

use super::{Finding, Standing};
use crate::home;
use crate::view::words::count;

/// How long a provider on the internet has to list its models, in milliseconds.
const REMOTE_MS: u64 = 5_000;
/// How long a server on this machine has.
const LOCAL_MS: u64 = 1_000;

/// Each provider, asked for its models.
pub(crate) async fn providers() -> Vec<Finding> {
    let (openai, ollama, llama) = join3(openai(), local("ollama"), local("llama")).await;
    vec![openai, ollama, llama, Finding::new(Standing::Ok, "tour", "built in, no language model")]
}

/// What `auto` would choose.
pub(super) async fn auto() -> Finding {
    let auto = choose_auto(&home::env).await;
    Finding::new(Standing::Ok, "model auto", format!("{} ({})", auto.name, auto.reason))
}

fn settings(provider: &str, ms: u64) -> ModelSettings {
    let timeouts = Timeouts { connect_ms: ms, first_token_ms: ms, idle_ms: ms, total_ms: ms };
    ModelSettings { timeouts, ..ModelSettings::named(provider) }
}

fn is_set(name: &str) -> bool {
    home::env(name).is_some_and(|value| !value.trim().is_empty())
}

async fn openai() -> Finding {
    let what = "openai";
    let place = if is_set("OPENAI_BASE_URL") { " at OPENAI_BASE_URL" } else { "" };
    if !is_set("OPENAI_API_KEY") && place.is_empty() {
        return Finding::new(Standing::Missing, what, "OPENAI_API_KEY is not set")
            .todo("set OPENAI_API_KEY to use openai/MODEL");
    }
    match list_models(&settings(what, REMOTE_MS), &home::env).await {
        Ok(names) => {
            Finding::new(Standing::Ok, what, format!("{}{place}", count(names.len() as u64, "model")))
        }
        Err(error) => {
            Finding::new(Standing::Problem, what, format!("the models cannot be listed{place}: {error}"))
                .todo("check OPENAI_API_KEY, OPENAI_BASE_URL and the network")
        }
    }
}

async fn local(provider: &'static str) -> Finding {
    match list_models(&settings(provider, LOCAL_MS), &home::env).await {
        Ok(names) if names.is_empty() => {
            Finding::new(Standing::Missing, provider, "it answers, and has no model")
                .todo("give it one, such as `ollama pull qwen3`")
        }
        Ok(names) => {
            let first = names.first().cloned().unwrap_or_default();
            let more = if names.len() > 1 { format!(" and {} more", names.len() - 1) } else { String::new() };
            Finding::new(Standing::Ok, provider, format!("{first}{more}"))
        }
        Err(error) => {
            let (program, variable) = match provider {
                "ollama" => ("ollama serve", "OLLAMA_HOST"),
                _ => ("llama-server -m MODEL.gguf --jinja", "LLAMA_BASE_URL"),
            };
            // Where somebody has said that there is a server, there should be one.
            let standing = if is_set(variable) { Standing::Problem } else { Standing::Missing };
            Finding::new(standing, provider, error.to_string())
                .todo(format!("start `{program}`, or set {variable}, to use {provider}/MODEL"))
        }
    }
}
