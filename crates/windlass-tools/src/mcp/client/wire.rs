//! The connection to a server, of whichever kind: rmcp's machinery is compiled for this type once, not for each kind.

use std::io;

use futures_util::future::Either;
use rmcp::RoleClient;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::{StreamableHttpClientTransport, Transport};

use super::asking::Incoming;
use super::http::keyed::Keyed;
use super::stdio::StdioTransport;

type Http = StreamableHttpClientTransport<Keyed>;

/// A connection to a server.
pub(super) enum Wire {
    /// A child's pipes.
    Stdio(StdioTransport),
    /// A URL.
    Http(Http),
}

/// Failure of a connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error("{0}")]
    Stdio(#[source] io::Error),
    #[error("{0}")]
    Http(#[source] <Http as Transport<RoleClient>>::Error),
}

impl Transport<RoleClient> for Wire {
    type Error = WireError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), WireError>> + Send + 'static {
        let sent = match self {
            Self::Stdio(pipes) => Either::Left(pipes.send(item)),
            Self::Http(http) => Either::Right(http.send(item)),
        };
        async move {
            match sent {
                Either::Left(sent) => sent.await.map_err(WireError::Stdio),
                Either::Right(sent) => sent.await.map_err(WireError::Http),
            }
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        match self {
            Self::Stdio(pipes) => pipes.receive().await,
            Self::Http(http) => http.receive().await,
        }
    }

    async fn close(&mut self) -> Result<(), WireError> {
        match self {
            Self::Stdio(pipes) => pipes.close().await.map_err(WireError::Stdio),
            Self::Http(http) => http.close().await.map_err(WireError::Http),
        }
    }
}
