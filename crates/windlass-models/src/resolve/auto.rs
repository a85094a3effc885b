//! Owns `auto`: the default model when none is named.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{join, join_all};
use http::Request;
use serde_json::Value;
use url::Url;
use windlass_http::{HttpClient, Reach};

use super::{Env, ModelSettings, OFFLINE, adapter, default_url, is_offline, resolve, set};
use crate::Model;
use crate::providers::{Auto as Rule, Probe, Provider, providers};
use crate::tour::Tour;

/// Timeout for probing a local server, in milliseconds.
pub const PROBE_MS: u64 = 100;

/// The most bytes of a probe's answer that are read.
const MAX_PROBE_BYTES: usize = 1024 * 1024;

/// The model that `auto` chose.
#[derive(Clone, Debug)]
pub struct Auto {
    /// The model's name, to be used as [`ModelChoice::name`](windlass_core::model::ModelChoice::name).
    pub name: String,
    /// The model.
    pub model: Arc<dyn Model>,
    /// Why this one: one line for people.
    pub reason: String,
}

/// Addresses where `auto` looks for local servers.
#[derive(Clone, Debug)]
pub struct Places {
    /// Base URLs by the names of providers.
    pub servers: BTreeMap<&'static str, String>,
    /// Timeout of each probe, in milliseconds.
    pub probe_ms: u64,
}

impl Places {
    /// The default addresses or those in the providers' variables, with [`PROBE_MS`].
    pub fn by_default(env: Env<'_>) -> Self {
        let local = providers().iter().filter(|provider| matches!(provider.auto, Rule::Server(_)));
        let url = |provider: &Provider| default_url(provider, provider.wire()?, "", env).ok();
        let servers = local.filter_map(|provider| Some((provider.name.as_str(), url(provider)?)));
        Self { servers: servers.collect(), probe_ms: PROBE_MS }
    }
}

/// Finds a model: first by keys, then among the local servers that say what they are within [`PROBE_MS`], else the
/// offline tour.
pub async fn choose_auto(env: Env<'_>) -> Auto {
    choose_auto_at(env, &Places::by_default(env)).await
}

/// [`choose_auto`] with other places for local servers.
pub async fn choose_auto_at(env: Env<'_>, places: &Places) -> Auto {
    if let Some(auto) = providers().iter().find_map(|provider| by_key(provider, env)) {
        return auto;
    }
    let probes = providers().iter().filter_map(|provider| match &provider.auto {
        Rule::Server(probe) => Some((provider, probe, places.servers.get(provider.name.as_str())?)),
        Rule::Key(_) | Rule::Never => None,
    });
    // The servers are asked side by side: each has the whole time.
    let asked = probes.map(|(provider, probe, base)| async move {
        let model = find(base, probe, places.probe_ms).await?;
        Some((provider, probe, base, model))
    });
    let found = join_all(asked).await.into_iter().flatten().find_map(|(provider, probe, base, model)| {
        let settings = ModelSettings {
            use_: format!("{}/{model}", provider.name),
            base_url: Some(base.clone()),
            ..ModelSettings::default()
        };
        let adapter = adapter(provider, &settings, env).ok()?;
        let reason = format!("{} answers on {}", probe.program, adapter.server().endpoint.host);
        Some(Auto { name: settings.use_, model: Arc::new(adapter), reason })
    });
    found.unwrap_or_else(|| Auto {
        name: "tour".to_owned(),
        model: Arc::new(Tour),
        reason: if is_offline(env) && providers().iter().any(|provider| has_key(provider, env)) {
            format!("{OFFLINE} is set and no local server answers: the offline tour")
        } else {
            "no key and no local server: the offline tour".to_owned()
        },
    })
}

/// Whether the provider's key is set, and `auto` looks for it.
fn has_key(provider: &Provider, env: Env<'_>) -> bool {
    matches!(provider.auto, Rule::Key(_)) && provider.keys.iter().any(|variable| set(env, variable).is_some())
}

/// The usual model of a provider whose key is set.
fn by_key(provider: &Provider, env: Env<'_>) -> Option<Auto> {
    let Rule::Key(model) = &provider.auto else { return None };
    let variable = provider.keys.iter().find(|variable| set(env, variable).is_some())?;
    let name = format!("{}/{model}", provider.name);
    let model = resolve(&ModelSettings::named(name.as_str()), env).ok()?;
    Some(Auto { name, model, reason: format!("{variable} is set") })
}

/// The first model of the server at this address, if the probe identifies it.
async fn find(base: &str, probe: &Probe, ms: u64) -> Option<String> {
    let greeted = async {
        let Some((path, words)) = &probe.greeting else { return Some(()) };
        let body = get(base, path, ms).await?;
        memchr::memmem::find(&body, words.as_bytes()).map(drop)
    };
    // The questions run side by side: each has the whole time.
    let (greeted, list) = join(greeted, get(base, &probe.list, ms)).await;
    greeted?;
    let list: Value = serde_json::from_slice(&list?).ok()?;
    let text = |model: &Value, key: &str| model.get(key).and_then(Value::as_str).map(str::to_owned);
    let named = list.get(&probe.items)?.as_array()?.iter().filter(|model| {
        probe.owner.as_ref().is_none_or(|(key, owner)| text(model, key).is_some_and(|text| text == *owner))
    });
    let name = named.filter_map(|model| text(model, &probe.name)).find(|name| !name.is_empty())?;
    let file = name.rsplit(['/', '\\']).next().filter(|_| probe.files);
    Some(file.unwrap_or(&name).to_owned())
}

/// The body at a path of this server, ignoring the base URL's path; `None` on a timeout or error.
async fn get(base: &str, path: &str, ms: u64) -> Option<Bytes> {
    let limit = Duration::from_millis(ms);
    let mut url = Url::parse(base).ok()?;
    url.set_path(path);
    let request = Request::get(url.as_str()).body(Bytes::new()).ok()?;
    let answer = HttpClient::new(limit, Reach::Direct);
    let answer = tokio::time::timeout(limit, answer.send(request, MAX_PROBE_BYTES)).await.ok()?.ok()?;
    answer.status().is_success().then(|| answer.into_body())
}
