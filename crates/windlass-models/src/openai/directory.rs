//! Owns the small questions to a server beside calls: which models it has.

use reqwest::Method;
use serde::Deserialize;
use windlass_core::{FailureKind, ModelFailure, Usage, mask};

use super::OpenAiChat;
use super::call::Call;
use super::classify::kind_of;
use super::trouble::{read_refusal, unsent};
use super::watch::Watch;
use crate::ModelError;

/// The most bytes of the names in a list of models (1 MiB).
const MAX_LIST_BYTES: u64 = 1024 * 1024;

/// The list as OpenAI gives it; llama-server and others add one of their own beside it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct List {
    data: Option<Vec<Listed>>,
    models: Option<Vec<Listed>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Listed {
    id: Option<String>,
    name: Option<String>,
}

impl OpenAiChat {
    /// The names of the server's models (`GET …/models`), sorted, without the provider's label.
    ///
    /// # Errors
    /// [`ModelError::Failed`] with what went wrong.
    pub async fn list_models(&self) -> Result<Vec<String>, ModelError> {
        let server = self.server();
        let failed = |failure| ModelError::Failed(Box::new(failure));
        let mut watch = Watch::start(server.timeouts, true);
        let mut request = reqwest::Request::new(Method::GET, server.endpoint.models.clone());
        request.headers_mut().clone_from(server.headers());
        let response = match watch.guard(server.client()?.execute(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return Err(failed(failure(FailureKind::Connect, &unsent(server, &error))));
            }
            Err(expired) => {
                let words = format!("{expired} from {}", server.endpoint.host);
                return Err(failed(failure(FailureKind::Timeout, &words)));
            }
        };
        if !response.status().is_success() {
            let (status, retry_after_ms, report) = read_refusal(response, &mut watch).await;
            let failure = failure(kind_of(status, &report), &report.message);
            return Err(failed(ModelFailure { status: Some(status), retry_after_ms, ..failure }));
        }
        let call = Call {
            server: server.clone(),
            model: "".into(),
            content_bytes: 0,
            stream: false,
            max_reply_bytes: MAX_LIST_BYTES,
        };
        let data = call.read_whole(response, &mut watch).await.map_err(failed)?;
        let list: List = serde_json::from_slice(&data).map_err(|error| {
            let words = format!("the list of models from {} cannot be read: {error}", server.endpoint.host);
            failed(failure(FailureKind::Protocol, &words))
        })?;
        let listed = list.data.or(list.models).unwrap_or_default();
        let mut names: Vec<String> = listed
            .into_iter()
            .filter_map(|model| model.id.or(model.name))
            .map(|name| mask(&name).into_owned())
            .collect();
        names.sort_unstable();
        Ok(names)
    }
}

fn failure(kind: FailureKind, message: &str) -> ModelFailure {
    ModelFailure {
        kind,
        status: None,
        message: mask(message).into(),
        retry_after_ms: None,
        usage: Usage::default(),
        model: "".into(),
    }
}
