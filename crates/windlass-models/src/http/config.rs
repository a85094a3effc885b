//! The configuration of an adapter.

use std::sync::Arc;

use windlass_core::secret::Secret;

use super::keys::KeyCommand;
use super::limiters::rate::Rate;
use super::timeouts::Timeouts;
use crate::wires::openai_chat::OpenAiChat;
use crate::wires::{Quirks, Wire};

/// The configuration of an [`HttpModel`](crate::HttpModel).
#[derive(Clone, Debug)]
pub struct HttpModelConfig {
    /// The wire that the server speaks.
    pub wire: &'static dyn Wire,
    /// The provider's label, such as `openai` or `ollama`: it is taken off model names (`LABEL/NAME`).
    pub name: Arc<str>,
    /// The address of the API: with or without a slash at the end, with or without the wire's usual path (`/v1`); any other path
    /// is kept.
    pub base_url: String,
    /// The key, sent in the wire's header if there is one.
    pub key: Option<Secret>,
    /// A command that prints the key; `key` counts where both are given.
    pub key_command: Option<Arc<KeyCommand>>,
    /// Origin of the key, for the error that it was refused: a variable, or a place in a file.
    pub key_source: Option<String>,
    /// More headers; one with the name of the key's header stands in for it. Their values count as secrets.
    pub headers: Vec<(String, Secret)>,
    /// Time limits of a call.
    pub timeouts: Timeouts,
    /// The most requests and tokens a minute with this key; `None`: any number.
    pub rate: Option<Rate>,
    /// Whether the variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY count.
    pub allow_proxy: bool,
    /// Differences between this server and others of its wire, besides those [known of its host](crate::providers::quirks_of_host).
    pub quirks: Quirks,
    /// Whether marks for the provider's cache are sent (`cache_control`); `None`: as the quirks say. Gateways such as LiteLLM
    /// take them; OpenAI itself, which caches without being asked, refuses them.
    pub cache_control: Option<bool>,
    /// Whether readable reasoning goes back to its provider; `None`: as the quirks say.
    pub return_reasoning: Option<bool>,
    /// Whether the provider keeps replies and a turn sends only what follows the last one ([`Quirks::stored_replies`]); `None`: as
    /// the quirks say.
    pub stored_replies: Option<bool>,
}

impl HttpModelConfig {
    /// A server without a key, with default timeouts.
    pub fn new(wire: &'static dyn Wire, name: impl Into<Arc<str>>, base_url: impl Into<String>) -> Self {
        Self {
            wire,
            name: name.into(),
            base_url: base_url.into(),
            key: None,
            key_source: None,
            key_command: None,
            headers: Vec::new(),
            timeouts: Timeouts::default(),
            rate: None,
            allow_proxy: true,
            quirks: Quirks::NONE,
            cache_control: None,
            return_reasoning: None,
            stored_replies: None,
        }
    }

    /// A server of OpenAI Chat Completions, which nearly every server speaks.
    pub fn openai_chat(name: impl Into<Arc<str>>, base_url: impl Into<String>) -> Self {
        Self::new(&OpenAiChat, name, base_url)
    }
}
