//! Owns `auto`: a model for somebody who has named none.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use futures_util::{FutureExt, StreamExt};
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::Value;

use super::{Env, LLAMA, ModelSettings, adapter, ollama_url, resolve};
use crate::Model;
use crate::openai::client::{ClientKey, client};
use crate::tour::Tour;

/// How long a local server has to say what it is, in milliseconds.
pub const PROBE_MS: u64 = 100;

/// The most bytes of a probe's answer that are read.
const MAX_PROBE_BYTES: usize = 1024 * 1024;

/// The model that `auto` uses for OpenAI.
const OPENAI_MODEL: &str = "openai/gpt-5-mini";

/// What `auto` found.
#[derive(Clone, Debug)]
pub struct Auto {
    /// The model's name, to be used as [`ModelChoice::name`](windlass_core::ModelChoice::name).
    pub name: String,
    /// The model.
    pub model: Arc<dyn Model>,
    /// Why this one: one line for people.
    pub reason: String,
}

/// Where `auto` looks for local servers.
#[derive(Clone, Debug)]
pub struct Places {
    /// Ollama's base URL.
    pub ollama: String,
    /// llama-server's base URL.
    pub llama: String,
    /// How long each has to say what it is, in milliseconds.
    pub probe_ms: u64,
}

impl Places {
    /// The usual places, or those that `OLLAMA_HOST` and `LLAMA_BASE_URL` name; [`PROBE_MS`].
    pub fn usual(env: Env<'_>) -> Self {
        let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        Self {
            ollama: ollama_url(set("OLLAMA_HOST")),
            llama: set("LLAMA_BASE_URL").unwrap_or_else(|| LLAMA.to_owned()),
            probe_ms: PROBE_MS,
        }
    }
}

/// Finds a model: first by keys, then among the local servers that say what they are within [`PROBE_MS`], else the
/// offline tour.
pub async fn choose_auto(env: Env<'_>) -> Auto {
    choose_auto_at(env, &Places::usual(env)).await
}

/// [`choose_auto`] with other places for local servers.
pub async fn choose_auto_at(env: Env<'_>, places: &Places) -> Auto {
    let Places { ollama, llama, probe_ms } = places;
    if env("OPENAI_API_KEY").is_some_and(|key| !key.trim().is_empty())
        && let Ok(model) = resolve(&ModelSettings::named(OPENAI_MODEL), env)
    {
        return Auto { name: OPENAI_MODEL.to_owned(), model, reason: "OPENAI_API_KEY is set".to_owned() };
    }
    let (found_ollama, found_llama) =
        join(find_ollama(ollama, *probe_ms), find_llama(llama, *probe_ms)).await;
    let local = |provider: &str, url: &str, model: &str, what: &str| {
        let settings = ModelSettings {
            use_: format!("{provider}/{model}"),
            base_url: Some(url.to_owned()),
            ..ModelSettings::default()
        };
        let adapter = adapter(provider, &settings, env).ok()?;
        let reason = format!("{what} answers on {}", adapter.server().endpoint.host);
        Some(Auto { name: settings.use_, model: Arc::new(adapter), reason })
    };
    found_ollama
        .and_then(|model| local("ollama", ollama, &model, "Ollama"))
        .or_else(|| found_llama.and_then(|model| local("llama", llama, &model, "llama-server")))
        .unwrap_or_else(|| Auto {
            name: "tour".to_owned(),
            model: Arc::new(Tour),
            reason: "no key and no local server: the offline tour".to_owned(),
        })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tag {
    name: String,
}

/// The first model of an Ollama at this address.
async fn find_ollama(base: &str, ms: u64) -> Option<String> {
    let says_so = async { get(base, "/", ms).await.filter(|body| contains(body, "Ollama is running")) };
    // The questions run side by side: each has the whole time.
    let (says_so, tags) = join(says_so, get(base, "/api/tags", ms)).await;
    says_so?;
    let tags: Tags = serde_json::from_slice(&tags?).ok()?;
    tags.models.into_iter().map(|model| model.name).find(|name| !name.is_empty())
}

/// The model of a llama-server at this address.
async fn find_llama(base: &str, ms: u64) -> Option<String> {
    let models: Value = serde_json::from_slice(&get(base, "/v1/models", ms).await?).ok()?;
    let first = models.get("data")?.as_array()?.first()?;
    let ours = first.get("owned_by").and_then(Value::as_str) == Some("llamacpp");
    let name = first.get("id").and_then(Value::as_str).filter(|_| ours)?;
    // A model is often named by its file's path.
    Some(name.rsplit(['/', '\\']).next().unwrap_or(name).to_owned())
}

/// The body at a path of this server, whatever path its base URL has; `None` if it takes longer or fails.
async fn get(base: &str, path: &str, ms: u64) -> Option<Vec<u8>> {
    let mut url = Url::parse(base).ok()?;
    url.set_path(path);
    let client = client(ClientKey::of(&url, ms, false), "").ok()?;
    let work = async {
        let response = client.execute(reqwest::Request::new(Method::GET, url)).await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let mut body = Vec::new();
        let mut chunks = Box::pin(response.bytes_stream());
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(&chunk.ok()?);
            if body.len() > MAX_PROBE_BYTES {
                return None;
            }
        }
        Some(body)
    };
    tokio::time::timeout(Duration::from_millis(ms), work).map(Result::ok).await.flatten()
}

fn contains(body: &[u8], words: &str) -> bool {
    memchr::memmem::find(body, words.as_bytes()).is_some()
}
