//! The models: keys in the environment, local servers.

use futures_util::future::join_all;
use windlass_models::providers::{Provider, providers as all_providers};
use windlass_models::resolve::{list_models, resolve_server};
use windlass_models::{Auto, ModelError, ModelSettings, Timeouts};
use windlass_read::words::count;

use super::{Finding, Lack, Level};
use crate::home::{self, quoted};

/// The offline model's name.
const DEMO_MODEL: &str = "tour";

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
    findings.push(Finding::new(Level::Ok, DEMO_MODEL, "built in, no language model"));
    findings
}

/// The model that `auto` chose.
pub(super) fn finding(auto: &Auto) -> Finding {
    Finding::new(Level::Ok, "model auto", format!("{} ({})", auto.name, auto.reason))
}

/// Which models can be used, in a line.
pub(super) fn summary(providers: &[Finding], auto: &Auto) -> String {
    let used: Vec<_> =
        providers.iter().filter(|finding| finding.is_usable() && finding.what != DEMO_MODEL).collect();
    if used.is_empty() {
        return format!(
            "models: only the offline {DEMO_MODEL}, which is no language model · `export OPENAI_API_KEY=...` or \
             `ollama serve` gives one, `windlass models list` lists all"
        );
    }
    let used: Vec<_> = used.iter().map(|finding| format!("{} ({})", finding.what, finding.detail)).collect();
    format!("models: {}; `auto` is {}", used.join(", "), auto.name)
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
            .todo(format!("set {key} to use {what}/MODEL"))
            .lacks(Lack::Variable(key));
    }
    // A part of its address is in a variable: where that is not set, nobody uses it.
    if let Err(ModelError::MissingVariable { variable, .. }) =
        resolve_server(&settings(what, REMOTE_MS), &home::env)
    {
        return Finding::new(Level::Missing, what, format!("{variable} is not set"))
            .todo(format!("set {variable} to use {what}/MODEL"))
            .lacks(Lack::Variable(variable));
    }
    match list_models(&settings(what, REMOTE_MS), &home::env).await {
        Ok(names) => Finding::new(Level::Ok, what, format!("{}{place}", count(names.len() as u64, "model"))),
        Err(error) => {
            let keys = provider.keys.iter().map(String::as_str);
            let variables = keys.chain(provider.address_variable()).collect::<Vec<_>>().join(", ");
            let todo = match &error {
                ModelError::Offline { .. } => "`unset WINDLASS_OFFLINE`, if it may be asked".to_owned(),
                _ => format!("check {variables} and the network: `windlass models list {}`", quoted(what)),
            };
            Finding::new(Level::Problem, what, format!("cannot list the models{place}: {error}")).todo(todo)
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
                .lacks(Lack::Model)
        }
        Ok(names) => {
            let first = names.first().cloned().unwrap_or_default();
            let more = if names.len() > 1 { format!(" and {} more", names.len() - 1) } else { String::new() };
            Finding::new(Level::Ok, what, format!("{first}{more}"))
        }
        Err(error) => {
            let (start, variable) = (&provider.start, provider.address_variable().unwrap_or("base_url"));
            // A server that the configuration names should exist.
            if is_set(variable) {
                return Finding::new(Level::Problem, what, error.to_string())
                    .todo(format!("start it: `{start}`; or `unset {variable}`, if it is not used"));
            }
            Finding::new(Level::Missing, what, error.to_string())
                .todo(format!("start `{start}`, or set {variable}, to use {what}/MODEL"))
                .lacks(Lack::Server(start.clone()))
        }
    }
}
