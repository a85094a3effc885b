//! The models: keys in the environment, local servers.

use futures_util::future::join_all;
use windlass_models::providers::{Provider, providers as all_providers};
use windlass_models::resolve::{list_models, resolve_server};
use windlass_models::{ModelError, ModelSettings, Timeouts, choose_auto};
use windlass_read::words::count;

use super::{Finding, Level};
use crate::home;

/// Timeout for listing the models of a remote provider, in milliseconds.
const REMOTE_MS: u64 = 5_000;
/// Timeout for a server on this machine, in milliseconds.
const LOCAL_MS: u64 = 1_000;

/// Each provider, asked for its models.
pub(crate) async fn providers() -> Vec<Finding> {
    let listed = all_providers().iter().filter(|provider| !provider.is_given());
    let asked = listed.map(|provider| async move {
        if provider.local { local(provider).await } else { remote(provider).await }
    });
    let mut findings = join_all(asked).await;
    findings.push(Finding::new(Level::Ok, "tour", "built in, no language model"));
    findings
}

/// The model that `auto` would choose.
pub(super) async fn auto() -> Finding {
    let auto = choose_auto(&home::env).await;
    Finding::new(Level::Ok, "model auto", format!("{} ({})", auto.name, auto.reason))
}

fn settings(provider: &str, ms: u64) -> ModelSettings {
    let timeouts =
        Timeouts { connect_ms: ms, first_token_ms: ms, idle_ms: ms, thinking_ms: ms, total_ms: ms };
    ModelSettings { timeouts, ..ModelSettings::named(provider) }
}

fn is_set(name: &str) -> bool {
    home::env(name).is_some_and(|value| !value.trim().is_empty())
}

/// A provider elsewhere, which needs a key.
async fn remote(provider: &Provider) -> Finding {
    let what = provider.name.as_str();
    let key = provider.keys.join(" or ");
    let moved = provider.address_variable().filter(|variable| is_set(variable));
    let place = moved.map(|variable| format!(" at {variable}")).unwrap_or_default();
    let without = !provider.keys.iter().any(|key| is_set(key));
    if without && !provider.keys.is_empty() && place.is_empty() {
        return Finding::new(Level::Missing, what, format!("{key} is not set"))
            .todo(format!("set {key} to use {what}/MODEL"));
    }
    // A part of its address is in a variable: where that is not set, nobody uses it.
    if let Err(ModelError::MissingVariable { variable, .. }) =
        resolve_server(&settings(what, REMOTE_MS), &home::env)
    {
        return Finding::new(Level::Missing, what, format!("{variable} is not set"))
            .todo(format!("set {variable} to use {what}/MODEL"));
    }
    match list_models(&settings(what, REMOTE_MS), &home::env).await {
        Ok(names) => Finding::new(Level::Ok, what, format!("{}{place}", count(names.len() as u64, "model"))),
        Err(error) => {
            let keys = provider.keys.iter().map(String::as_str);
            let variables = keys.chain(provider.address_variable()).collect::<Vec<_>>().join(", ");
            Finding::new(Level::Problem, what, format!("cannot list the models{place}: {error}"))
                .todo(format!("check {variables} and the network"))
        }
    }
}

/// A provider whose server runs on this machine, if at all.
async fn local(provider: &Provider) -> Finding {
    let what = provider.name.as_str();
    match list_models(&settings(what, LOCAL_MS), &home::env).await {
        Ok(names) if names.is_empty() => {
            Finding::new(Level::Missing, what, "the server answers but has no model")
                .todo("install one, such as `ollama pull qwen3`")
        }
        Ok(names) => {
            let first = names.first().cloned().unwrap_or_default();
            let more = if names.len() > 1 { format!(" and {} more", names.len() - 1) } else { String::new() };
            Finding::new(Level::Ok, what, format!("{first}{more}"))
        }
        Err(error) => {
            let (start, variable) = (&provider.start, provider.address_variable().unwrap_or("base_url"));
            // A server that the configuration names should exist.
            let level = if is_set(variable) { Level::Problem } else { Level::Missing };
            Finding::new(level, what, error.to_string())
                .todo(format!("start `{start}`, or set {variable}, to use {what}/MODEL"))
        }
    }
}
