//! Owns [`HttpModel`]: the adapter of every model behind HTTP, for any wire.

use std::sync::Arc;

use futures_util::future::ready;
use futures_util::{FutureExt, TryFutureExt};
use windlass_core::message::Part;
use windlass_core::model::{FailureKind, ModelChoice, ModelFailure};
use windlass_core::secret::{Secret, mask};

use super::betas::ask_for;
use super::binding;
use super::blaming::blamed;
use super::call::{Call, open};
use super::config::HttpModelConfig;
use super::keys::KeyCommand;
use super::limiters::tokens;
use super::restoring::Restoring;
use super::server::Server;
use super::writing::{RequestParts, written};
use crate::wires::{Dialect, Encoding, hosted, is_off, once, strict};
use crate::{Deltas, Known, Model, ModelError, ModelRequest, WrittenRequest, providers};

/// A model behind HTTP. It makes exactly one request a call: retries are the core's.
#[derive(Clone, Debug)]
pub struct HttpModel {
    server: Arc<Server>,
}

impl HttpModel {
    /// Makes an adapter. Nothing is connected and no TLS is set up before the first call.
    ///
    /// # Errors
    /// The base URL or a header cannot be used.
    pub fn new(config: HttpModelConfig) -> Result<Self, ModelError> {
        Ok(Self { server: Arc::new(Server::new(config)?) })
    }

    /// Whether a model reasons before it answers: the request asks for it, or the provider's entry says so.
    fn reasons(&self, model: &ModelChoice) -> bool {
        let Dialect { label, .. } = &self.server.dialect;
        match &model.reasoning {
            Some(effort) => !is_off(effort),
            None if model.reasoning_options().is_some() => true,
            None => providers::provider(label)
                .is_some_and(|provider| provider.reasons(self.server.dialect.plain_name(&model.name))),
        }
    }

    /// The body of a request, and the way back of its reply; or why it cannot be sent.
    fn encoded(&self, request: &mut ModelRequest) -> Result<(Option<Restoring>, Encoding), String> {
        let restoring = Restoring::of(self.server.wire, request);
        match self.refuses(request) {
            Some(words) => Err(words),
            None => Ok((restoring, self.server.wire.encode(&self.server.dialect, request))),
        }
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }
}

impl Model for HttpModel {
    fn provider(&self) -> &str {
        &self.server.dialect.label
    }

    fn binding(&self) -> Vec<(String, Secret)> {
        let Server { wire, endpoint, .. } = &*self.server;
        binding::of(&endpoint.url(&wire.path("", false)), self.server.headers(), wire.facts())
    }

    fn key_from(&self) -> Option<&str> {
        self.server.key_command.as_deref().map(KeyCommand::program)
    }

    fn known(&self, name: &str) -> Known {
        let Server { wire, endpoint, dialect, .. } = &*self.server;
        let name = dialect.plain_name(name);
        let provider = providers::provider(&dialect.label);
        let id = format!("{} {} {name}", wire.facts().name, endpoint.place());
        Known {
            id: Some(mask(&id).into_owned()),
            structured: Some(provider.is_none_or(|provider| provider.structured_output)),
            wire: provider.and_then(|provider| provider.wire_of_calls(name)),
            sampling: provider.and_then(|provider| provider.takes_sampling(name)),
        }
    }

    fn holds_output(&self, name: &str, schema: &Arc<serde_json::Value>) -> bool {
        let Server { endpoint, dialect, .. } = &*self.server;
        let url = endpoint.url("");
        providers::provider(&dialect.label).is_some_and(|provider| {
            provider.holds_output(dialect.plain_name(name), url.host_str().unwrap_or_default())
        }) && strict::has_form(schema)
    }

    fn unsent(&self, choice: &ModelChoice) -> Vec<String> {
        let request = ModelRequest::new(choice.clone(), []);
        once::reported_during(|| drop(self.server.wire.encode(&self.server.dialect, &request)))
    }

    fn refuses(&self, request: &ModelRequest) -> Option<String> {
        let Server { wire, dialect, .. } = &*self.server;
        let options = wire.facts().options.refusal(dialect, &request.model);
        let hosted = || hosted::refusal(wire.facts().hosted, request);
        options.or_else(hosted).or_else(|| wire.refuses(dialect, request))
    }

    fn refused_setting(&self, choice: &ModelChoice, failure: &ModelFailure) -> Option<&'static str> {
        self.server.wire.facts().options.refused(&self.server.dialect, choice, failure)
    }

    fn takes(&self, part: &Part) -> bool {
        self.server.wire.takes(&self.server.dialect, part)
    }

    fn written(&self, mut request: ModelRequest) -> Option<WrittenRequest> {
        let (_, encoding) = self.encoded(&mut request).ok()?;
        let path = self.server.wire.path(self.server.dialect.plain_name(&request.model.name), request.stream);
        let server = &self.server;
        let url = server.endpoint.url(&path);
        let mut headers = server.headers().clone();
        ask_for(&mut headers, server.wire.facts(), &request.tools);
        let of = RequestParts {
            facts: server.wire.facts(),
            url: url.as_str(),
            headers: &headers,
            key_comes_later: server.key_command.is_some(),
            key_source: server.key_source.as_deref(),
            provider: &server.dialect.label,
        };
        Some(written(&of, encoding.body))
    }

    fn call(&self, mut request: ModelRequest) -> Deltas {
        let (restoring, encoding) = match self.encoded(&mut request) {
            Ok(encoded) => encoded,
            Err(words) => {
                let failure = ModelFailure::new(FailureKind::BadRequest, words, request.model.name);
                return Box::pin(ready(Err(failure)).into_stream());
            }
        };
        let reasons = self.reasons(&request.model);
        let call = Call {
            server: self.server.clone(),
            max_reply_bytes: request.model.max_reply_bytes(),
            tokens: tokens(encoding.content_bytes, request.model.max_tokens),
            permit: None,
            model: request.model.name,
            content_bytes: encoding.content_bytes,
            stream: request.stream,
            reasons,
            tools: request.tools.clone(),
        };
        let tools = request.tools;
        let opened = open(call, encoding.body).map_err(move |failure| blamed(failure, &tools));
        let deltas = Box::pin(opened.try_flatten_stream());
        match restoring {
            Some(restoring) => restoring.over(deltas),
            None => deltas,
        }
    }
}
