//! Owns the small questions to a server beside calls: which models it has.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use windlass_core::model::{FailureKind, ModelFailure};
use windlass_core::secret::mask;

use super::call::Call;
use super::model::HttpModel;
use super::server::sign;
use super::timeouts::Watch;
use super::trouble::{Refused, read_refusal, unanswered};
use crate::ModelError;

/// The most bytes of the names in a list of models (1 MiB).
const MAX_LIST_BYTES: u64 = 1024 * 1024;

impl HttpModel {
    /// The names of the server's models, sorted, without the provider's label.
    ///
    /// # Errors
    /// [`ModelError::Failed`] with what went wrong.
    pub async fn list_models(&self) -> Result<Vec<String>, ModelError> {
        let server = self.server();
        let failed = |failure| ModelError::Failed(Box::new(failure));
        let host = &server.endpoint.host;
        let facts = server.wire.facts();
        let mut watch = Watch::start(server.timeouts, true, false);
        let (route, headers) = server.ready()?;
        let mut request = Box::new(Request::new(Full::new(Bytes::new())));
        *request.method_mut() = Method::GET;
        *request.uri_mut() = server.at(facts.models_path)?.line;
        request.headers_mut().clone_from(headers);
        if let Some(command) = &server.key_command {
            let (kept, _) = match watch.guard(pin!(command.key())).await {
                Ok(key) => key.map_err(failed)?,
                Err(expired) => {
                    return Err(failed(failure(FailureKind::Timeout, &format!("{expired} from {host}"))));
                }
            };
            sign(request.headers_mut(), facts, &kept.key)?;
        }
        let answer = match watch.guard(pin!(route.send(request, server.connect_limit()))).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(failed(failure(FailureKind::Connect, &unanswered(&error)))),
            Err(expired) => {
                return Err(failed(failure(FailureKind::Timeout, &format!("{expired} from {host}"))));
            }
        };
        if !answer.status.is_success() {
            let refused = read_refusal(answer, &mut watch).await;
            let kind = facts.errors.kind(refused.status, &refused.report);
            let retry_after_ms = refused.retry_after_ms(kind);
            let Refused { status, report, .. } = refused;
            let failure = failure(kind, &report.message);
            return Err(failed(ModelFailure { status: Some(status), retry_after_ms, ..failure }));
        }
        let call = Call {
            reasons: false,
            server: server.clone(),
            model: "".into(),
            content_bytes: 0,
            stream: false,
            tools: Arc::default(),
            max_reply_bytes: MAX_LIST_BYTES,
            tokens: 0,
            permit: None,
        };
        let data = call.read_whole(answer.body, Bytes::new(), &mut watch).await.map_err(failed)?;
        let names = server.wire.model_names(&data).map_err(|error| {
            let words = format!("cannot read the list of models from {host}: {}", error.message);
            failed(failure(FailureKind::Protocol, &words))
        })?;
        let mut names: Vec<String> = names.iter().map(|name| mask(name).into_owned()).collect();
        names.sort_unstable();
        Ok(names)
    }
}

fn failure(kind: FailureKind, message: &str) -> ModelFailure {
    ModelFailure::new(kind, mask(message), "")
}
