//! Sends exports with the HTTP client of models and tools, on a runtime of its own, because exporters' threads have none. Only such a
//! thread waits for its export.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use opentelemetry_http::{Bytes, HttpClient as Sender, HttpError};
use tokio::runtime::Runtime;
use windlass_http::{HttpClient, Reach};

/// Default timeout of one export, in milliseconds, without `OTEL_EXPORTER_OTLP_TIMEOUT`. It is short, because the end of a
/// command waits for the export.
const SEND_MS: u64 = 3_000;
/// The most bytes of a collector's answer: it only says what it did not take.
const ANSWER_BYTES: usize = 64 * 1024;

#[derive(Clone, Debug)]
pub(super) struct Sending {
    client: HttpClient,
    runtime: Arc<Runtime>,
    limit: Duration,
}

impl Sending {
    pub(super) fn start() -> Result<Self, Box<dyn std::error::Error>> {
        let limit = std::env::var("OTEL_EXPORTER_OTLP_TIMEOUT").ok().and_then(|ms| ms.trim().parse().ok());
        let limit = Duration::from_millis(limit.unwrap_or(SEND_MS));
        HttpClient::check(&std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT").unwrap_or_default())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { client: HttpClient::new(limit, Reach::Proxied), runtime: Arc::new(runtime), limit })
    }
}

#[async_trait::async_trait]
impl Sender for Sending {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.client.send(request, ANSWER_BYTES);
        self.runtime.block_on(async { Ok(tokio::time::timeout(self.limit, answer).await??) })
    }
}
