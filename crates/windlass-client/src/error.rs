//! Errors of a client.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use http::StatusCode;
use windlass_api::Fault;
use windlass_error::{Diagnostic, Kind};

/// Why a request has no good reply.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum ClientError {
    /// The text is no address of a server.
    #[error("`{address}` is no address of a server: {fault}")]
    #[diagnostic(kind = Invalid, code = "client.address", help = "write http://HOST:PORT, https://HOST or unix:/PATH")]
    Address {
        /// The text, without a login.
        address: String,
        /// Why.
        fault: String,
    },
    /// The token cannot be sent.
    #[error("the token has characters that no token has")]
    #[diagnostic(kind = Invalid, code = "client.token", help = "copy the token again, as a single line")]
    Token,
    /// The idempotency key cannot be sent.
    #[error("the idempotency key has characters that cannot be sent")]
    #[diagnostic(kind = Invalid, code = "client.key", help = "use ASCII letters, digits and marks")]
    Key,
    /// Nothing was sent, because there is no connection.
    #[error("the server {server} cannot be reached")]
    #[diagnostic(
        kind = Unavailable,
        code = "client.unreachable",
        help = "check that the server runs and that its address is right"
    )]
    Unreachable {
        /// The server.
        server: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The reply was lost on its way: what was asked for may have been done.
    #[error("the reply of the server {server} was lost")]
    #[diagnostic(
        kind = Unavailable,
        code = "client.lost",
        help = "send the request again under the same key: nothing is done twice"
    )]
    Lost {
        /// The server.
        server: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server does not let the client in: it has no token, or one that is not known there or has expired.
    #[error("{0}")]
    #[diagnostic(kind = _0.kind(), code = "client.unauthorized", help = _0.fault.help.clone())]
    Unauthorized(Refusal),
    /// The server has refused the request.
    #[error("{0}")]
    #[diagnostic(kind = _0.kind(), code = "client.refused", help = _0.fault.help.clone())]
    Refused(Refusal),
    /// The reply is none of this API: another program, or another version of this one, listens there.
    #[error("the server {server} gave a reply that is none of its API: {fault}")]
    #[diagnostic(
        kind = Unavailable,
        code = "client.bad_reply",
        help = "check the address, and that server and client have the same version"
    )]
    BadReply {
        /// The server.
        server: String,
        /// The fault in it.
        fault: String,
    },
    /// The stream ended because the server could not read its log any more.
    #[error("the server cannot read the log of the run: {message}")]
    #[diagnostic(kind = Unavailable, code = "client.log_failed", help = "follow the run again once the server is ready")]
    LogFailed {
        /// The error of the log.
        message: String,
        /// The position to come back to.
        position: String,
    },
}

/// A refusal of the server.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The status of the reply.
    pub status: StatusCode,
    /// The fault that the server names. Boxed: an error is handed on through many results.
    pub fault: Box<Fault>,
    /// After how long it may be tried again.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// The stable code, such as `store.unknown_run`.
    pub fn code(&self) -> &str {
        &self.fault.code
    }

    /// The kind; one that this version does not know is taken for an internal error.
    pub fn kind(&self) -> Kind {
        Kind::from_name(&self.fault.kind).unwrap_or(Kind::Internal)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fault.message)
    }
}

impl ClientError {
    /// The code that the server gave, or that of the error itself.
    pub fn reason(&self) -> &str {
        self.refusal().map_or_else(|| self.code(), Refusal::code)
    }

    /// The refusal, if it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        if let Self::Refused(refusal) | Self::Unauthorized(refusal) = self { Some(refusal) } else { None }
    }

    /// Whether the server, or what it needs, may be back soon.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::Unreachable { .. } => true,
            Self::Refused(refusal) => refusal.status == StatusCode::SERVICE_UNAVAILABLE,
            _ => false,
        }
    }

    /// After how long the server wants to be asked again.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.refusal()?.retry_after
    }
}
