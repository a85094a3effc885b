//! Errors of the server: what a client is told, and why the server does not start.

use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;
use windlass_core::Text;
use windlass_error::Diagnostic;
use windlass_read::Error as ReadError;
use windlass_runtime::Error as RunError;
use windlass_store::StoreError;

/// Errors of a server.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum Error {
    /// The request has no token.
    #[error("the request has no token")]
    #[diagnostic(kind = Forbidden, code = "token.missing", help = "send `Authorization: Bearer TOKEN`")]
    NoToken,
    /// There is no such token.
    #[error("the token is unknown or was revoked")]
    #[diagnostic(kind = Forbidden, code = "token.unknown", help = "ask whoever runs this server for a token")]
    UnknownToken,
    /// The token was good until now.
    #[error("the token {id} has expired")]
    #[diagnostic(kind = Forbidden, code = "token.expired", help = "ask whoever runs this server for a new token")]
    ExpiredToken {
        /// Its id.
        id: Text,
    },
    /// The token is not for this.
    #[error("the token {id} does not allow `{verb}`")]
    #[diagnostic(kind = Forbidden, code = "token.scope", help = "use a token with that verb")]
    NoScope {
        /// The token's id.
        id: Text,
        /// The verb that is missing.
        verb: &'static str,
    },
    /// The file of tokens cannot be used.
    #[error("the tokens in {} cannot be used", path.display())]
    #[diagnostic(kind = Unavailable, code = "token.file", help = "mend the file or its rights: nobody is let in meanwhile")]
    Tokens {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file of tokens cannot be written.
    #[error("the tokens in {} were not changed", path.display())]
    #[diagnostic(
        kind = windlass_error::Kind::of_io(source),
        code = "token.unwritten",
        help = "make room on the disk, or mend the rights of the folder: the tokens are as they were"
    )]
    TokensUnwritten {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A setting of the server is out of its bounds.
    #[error("`{setting}` is {found}, expected {expected}")]
    #[diagnostic(kind = Invalid, code = "server.setting", help = "docs/serve.md, \"Settings\", lists all with their bounds")]
    Setting {
        /// Its path.
        setting: &'static str,
        /// Its value.
        found: u64,
        /// The values that it may have.
        expected: String,
    },
    /// The request names a host that this server is not known by (DNS rebinding).
    #[error("this server is not known as {host:?}")]
    #[diagnostic(kind = Forbidden, code = "request.host", help = "add the name to the server's `hosts`")]
    Host {
        /// The host that was named.
        host: String,
    },
    /// A page of another origin asks.
    #[error("pages of {origin:?} may not use this server")]
    #[diagnostic(kind = Forbidden, code = "request.origin", help = "add the origin to the server's `origins`")]
    Origin {
        /// The origin.
        origin: String,
    },
    /// No such path.
    #[error("there is nothing at {path}")]
    #[diagnostic(kind = NotFound, code = "request.path", help = "/openapi.json lists every path")]
    NoPath {
        /// The path.
        path: String,
    },
    /// The path takes other methods.
    #[error("{path} does not take {method}")]
    #[diagnostic(kind = Invalid, code = "request.method", help = "/openapi.json lists the methods of every path")]
    Method {
        /// The path.
        path: String,
        /// The method.
        method: String,
    },
    /// The head of a request cannot be read.
    #[error("the head of the request cannot be read: {fault}")]
    #[diagnostic(kind = Invalid, code = "request.head", help = "send HTTP/1.1 (RFC 9112)")]
    Head {
        /// The fault.
        fault: String,
    },
    /// The head of a request is too large.
    #[error("the head of the request has too many or too long headers")]
    #[diagnostic(kind = Invalid, code = "request.head_too_large", help = "send fewer or shorter headers")]
    HeadTooLarge,
    /// The path of a request is too long.
    #[error("the path of the request is too long")]
    #[diagnostic(kind = Invalid, code = "request.path_too_long", help = "send a shorter path and query")]
    PathTooLong,
    /// Another version of HTTP.
    #[error("the request is of another version of HTTP")]
    #[diagnostic(kind = Invalid, code = "request.version", help = "send HTTP/1.1; a proxy in front may speak others")]
    Version,
    /// The body is not JSON by its header.
    #[error("the body is {found}, expected application/json")]
    #[diagnostic(kind = Invalid, code = "request.media_type", help = "send JSON, with `Content-Type: application/json`")]
    MediaType {
        /// Its type.
        found: String,
    },
    /// The body does not fit.
    #[error("the body does not fit: {fault}")]
    #[diagnostic(kind = Invalid, code = "request.body", help = "/openapi.json has the shape of every body")]
    Body {
        /// The fault, with its place.
        fault: String,
    },
    /// The query does not fit.
    #[error("the query does not fit: {fault}")]
    #[diagnostic(kind = Invalid, code = "request.query", help = "/openapi.json has the parameters of every path")]
    Query {
        /// The fault.
        fault: String,
    },
    /// A part of the path does not fit.
    #[error("the path does not fit: {fault}")]
    #[diagnostic(kind = Invalid, code = "request.path_part", help = "write ids whole, as listings have them; /openapi.json has the parameters of every path")]
    PathPart {
        /// The fault.
        fault: String,
    },
    /// The value of a header or field does not fit.
    #[error("{what} does not fit: {fault}")]
    #[diagnostic(kind = Invalid, code = "request.value")]
    Value {
        /// The header or field.
        what: &'static str,
        /// The fault.
        fault: String,
    },
    /// The body is too large.
    #[error("the body has more than {max} bytes")]
    #[diagnostic(kind = Invalid, code = "request.too_large", help = "send less: `requests.body_bytes` of the server bounds it")]
    TooLarge {
        /// The most that is read.
        max: usize,
    },
    /// The body did not come in time.
    #[error("the body has not come within {seconds} s")]
    #[diagnostic(kind = Invalid, code = "request.slow", help = "send it again")]
    Slow {
        /// The time that it had.
        seconds: u64,
    },
    /// The body was cut off.
    #[error("the body ended early: {fault}")]
    #[diagnostic(kind = Invalid, code = "request.cut", help = "send it again")]
    Cut {
        /// Why.
        fault: String,
    },
    /// An answer without a digest (E75).
    #[error("the answer names {question:?} without its digest")]
    #[diagnostic(
        kind = Invalid,
        code = "request.no_digest",
        help = "read the question, and answer it as `ID@DIGEST`"
    )]
    NoDigest {
        /// The question as it was named.
        question: String,
    },
    /// A switch of the agent without the version that was seen (E75).
    #[error("another agent is named without the version of the run that was seen")]
    #[diagnostic(kind = Invalid, code = "request.no_version", help = "read the run, and send its `events` as `seen`")]
    NoVersion,
    /// A message that would take the place of the agent's instructions (E66).
    #[error("an objective takes the place of the agent's instructions, which no client writes")]
    #[diagnostic(
        kind = Forbidden,
        code = "request.objective",
        help = "send it as `steering` or `correction`, or give the run another agent"
    )]
    Objective,
    /// No such agent, or none for this token.
    #[error("there is no agent `{agent}` here")]
    #[diagnostic(kind = NotFound, code = "agent.unknown", help = "GET /v1/agents lists them")]
    UnknownAgent {
        /// The name.
        agent: String,
    },
    /// The session is not there.
    #[error("there is no session {session:?}")]
    #[diagnostic(kind = NotFound, code = "session.unknown", help = "GET /v1/sessions lists them")]
    UnknownSession {
        /// The name.
        session: String,
    },
    /// The artifact is none of the run's.
    #[error("the run keeps no artifact {sha256:?}")]
    #[diagnostic(kind = NotFound, code = "run.unknown_artifact", help = "the run's `artifacts` lists them")]
    UnknownArtifact {
        /// The digest.
        sha256: String,
    },
    /// A limit is used up.
    #[error("{limit} is used up: {used} of {max}")]
    #[diagnostic(kind = Exhausted, code = "limit.reached", help = "send it again after the time in `Retry-After`")]
    Limit {
        /// Its name among the metrics.
        name: &'static str,
        /// The limit, such as `requests a minute of owner ada`.
        limit: String,
        /// The amount that is used.
        used: String,
        /// The most.
        max: String,
        /// When it may be tried again, in seconds.
        retry_after: u64,
    },
    /// Too many connections.
    #[error("{max} connections are open already")]
    #[diagnostic(kind = Unavailable, code = "server.connections", help = "send it again later")]
    Connections {
        /// The most.
        max: usize,
    },
    /// The server ends.
    #[error("the server is ending")]
    #[diagnostic(kind = Unavailable, code = "server.closing", help = "send it again in a moment")]
    Closing,
    /// The work on a request has panicked.
    #[error("the server failed at this request")]
    #[diagnostic(kind = Internal, code = "server.panic", help = "the server's log says more")]
    Panic,
    /// The run, the host or the agent refused.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Run(#[from] RunError),
    /// The log cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Read(#[from] ReadError),
    /// The log failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
    /// An address cannot be listened on.
    #[error("cannot listen on {address}")]
    #[diagnostic(kind = windlass_error::Kind::of_io(source), code = "server.listen", help = "choose another address, or end the process that has it")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A socket cannot be listened on.
    #[error("cannot listen on the socket {}", path.display())]
    #[diagnostic(kind = windlass_error::Kind::of_io(source), code = "server.socket", help = "choose another path, or remove what stands there")]
    Socket {
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The folder of agents cannot be used.
    #[error("the folder {} cannot be served", folder.display())]
    #[diagnostic(kind = windlass_error::Kind::of_io(source), code = "server.folder", help = "name a folder of agent files")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}
