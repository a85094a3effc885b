//! How exporters send: with the HTTP client that models are asked with, on a runtime of its own, because exporters have
//! threads of their own that know of no runtime. Such a thread waits for its export, and nothing else does.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use opentelemetry_http::{Bytes, HttpClient, HttpError};
use tokio::runtime::Runtime;

/// How long one export may take, in milliseconds, where `OTEL_EXPORTER_OTLP_TIMEOUT` does not say: short, because the end of
/// a command waits for it.
const SEND_MS: u64 = 3_000;
/// The most bytes of a collector's answer: it only says what it did not take.
const ANSWER_BYTES: usize = 64 * 1024;

#[derive(Clone, Debug)]
pub(super) struct Sending {
    client: reqwest::Client,
    runtime: Arc<Runtime>,
    limit: Duration,
}

impl Sending {
    pub(super) fn start() -> Result<Self, Box<dyn std::error::Error>> {
        let limit = std::env::var("OTEL_EXPORTER_OTLP_TIMEOUT").ok().and_then(|ms| ms.trim().parse().ok());
        let limit = Duration::from_millis(limit.unwrap_or(SEND_MS));
        let endpoint = std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT").unwrap_or_default();
        let client = windlass_models::http_client(&endpoint, limit)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { client, runtime: Arc::new(runtime), limit })
    }
}

#[async_trait::async_trait]
impl HttpClient for Sending {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (client, limit) = (self.client.clone(), self.limit);
        self.runtime.block_on(async move {
            let request = reqwest::Request::try_from(request)?;
            let answer = async {
                let mut answer = client.execute(request).await?;
                let mut taken = Vec::new();
                while let Some(piece) = answer.chunk().await? {
                    if taken.len() + piece.len() > ANSWER_BYTES {
                        break;
                    }
                    taken.extend_from_slice(&piece);
                }
                Ok::<_, HttpError>((answer.status(), taken))
            };
            let (status, taken) = tokio::time::timeout(limit, answer).await??;
            Response::builder().status(status).body(Bytes::from(taken)).map_err(HttpError::from)
        })
    }
}
