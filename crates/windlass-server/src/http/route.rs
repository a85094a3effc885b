//! Routes: the table that a door gives. Requests are admitted, read and answered in one way, and the document of the API is made of
//! the same table.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use axum::extract::{FromRequestParts as _, Path, Query};
use axum::response::{IntoResponse as _, Response};
use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use http::request::Parts;
use http::{HeaderMap, Method};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use windlass_api::{IDEMPOTENCY_KEY, KEY_BYTES};
use windlass_core::Text;

use super::caller::Caller;
use super::reply::{Described, Reply};
use super::server::Server;
use super::verb::Verb;
use crate::error::Error;

/// The callers that may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anybody.
    Open,
    /// A token with this verb.
    Needs(Verb),
}

/// Of a request without parameters.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// A request as a route takes it.
#[derive(Debug)]
pub(crate) struct Call<P = Nothing, Q = Nothing, B = Nothing> {
    pub(crate) server: Server,
    pub(crate) caller: Caller,
    pub(crate) path: P,
    pub(crate) query: Q,
    pub(crate) body: B,
    pub(crate) headers: HeaderMap,
}

impl<P, Q, B> Call<P, Q, B> {
    /// The idempotency key (E65).
    pub(crate) fn key(&self) -> Result<Option<Text>, Error> {
        let Some(value) = self.headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
        let fault = |fault: String| Error::Value { what: "Idempotency-Key", fault };
        let key = value.to_str().map_err(|_| fault("it is no ASCII text".to_owned()))?.trim();
        match key.len() {
            0 => Err(fault("it is empty".to_owned())),
            1..=KEY_BYTES => Ok(Some(key.into())),
            bytes => Err(fault(format!("it has {bytes} bytes, at most {KEY_BYTES} are kept"))),
        }
    }
}

/// The parts of a request before its types are known.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) server: Server,
    pub(crate) caller: Caller,
    pub(crate) parts: Parts,
    /// The body; empty where there is none.
    pub(crate) body: bytes::Bytes,
}

type Handler = Arc<dyn Fn(Arrived) -> BoxFuture<'static, Response> + Send + Sync>;
type Shape = fn(&mut SchemaGenerator) -> Schema;

/// A route.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) summary: &'static str,
    /// Whether the request has a body.
    pub(crate) takes_body: bool,
    pub(crate) shapes: Shapes,
    pub(crate) handler: Handler,
}

/// The shapes of a route's parts.
#[derive(Clone, Copy)]
pub(crate) struct Shapes {
    pub(crate) path: Shape,
    pub(crate) query: Shape,
    pub(crate) body: Shape,
    pub(crate) reply: fn(&mut SchemaGenerator) -> Described,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A route that reads: its request has no body.
pub(crate) fn get<P, Q, R, F, W>(path: &'static str, access: Access, summary: &'static str, work: F) -> Route
where
    P: DeserializeOwned + JsonSchema + Send + 'static,
    Q: DeserializeOwned + JsonSchema + Send + 'static,
    R: Reply + 'static,
    F: Fn(Call<P, Q>) -> W + Send + Sync + 'static,
    W: Future<Output = Result<R, Error>> + Send + 'static,
{
    let shapes = Shapes { path: shape::<P>, query: shape::<Q>, body: shape::<Nothing>, reply: R::describe };
    let handler: Handler = Arc::new(move |arrived| match read_parts(arrived) {
        Ok(read) => answered(read.call.server.clone(), work(read.call)),
        Err(error) => refused(error),
    });
    Route { method: Method::GET, path, access, summary, takes_body: false, shapes, handler }
}

/// A route that acts: its request has a JSON body, which may be left out where all of its fields may.
pub(crate) fn post<P, B, R, F, W>(path: &'static str, access: Access, summary: &'static str, work: F) -> Route
where
    P: DeserializeOwned + JsonSchema + Send + 'static,
    B: DeserializeOwned + JsonSchema + Send + 'static,
    R: Reply + 'static,
    F: Fn(Call<P, Nothing, B>) -> W + Send + Sync + 'static,
    W: Future<Output = Result<R, Error>> + Send + 'static,
{
    let shapes = Shapes { path: shape::<P>, query: shape::<Nothing>, body: shape::<B>, reply: R::describe };
    let handler: Handler =
        Arc::new(move |arrived| match read_parts::<P, Nothing>(arrived).and_then(with_body) {
            Ok(call) => answered(call.server.clone(), work(call)),
            Err(error) => refused(error),
        });
    Route { method: Method::POST, path, access, summary, takes_body: true, shapes, handler }
}

fn refused(error: Error) -> BoxFuture<'static, Response> {
    ready(error.into_response()).boxed()
}

fn answered<R, W>(server: Server, work: W) -> BoxFuture<'static, Response>
where
    R: Reply,
    W: Future<Output = Result<R, Error>> + Send + 'static,
{
    async move {
        let result = work.await.inspect_err(|error| server.refused(error));
        result.map_or_else(axum::response::IntoResponse::into_response, Reply::respond)
    }
    .boxed()
}

/// A request whose path and query were read.
struct PartsRead<P, Q> {
    call: Call<P, Q>,
    body: bytes::Bytes,
}

fn read_parts<P, Q>(arrived: Arrived) -> Result<PartsRead<P, Q>, Error>
where
    P: DeserializeOwned + Send,
    Q: DeserializeOwned,
{
    let Arrived { server, caller, mut parts, body } = arrived;
    // The router has read it, so it is there at once.
    let path = Path::<P>::from_request_parts(&mut parts, &()).now_or_never();
    let fault = |fault: String| Error::PathPart { fault };
    let path = path.ok_or_else(|| fault("it was not read".to_owned()))?;
    let Path(path) = path.map_err(|rejection| fault(rejection.body_text()))?;
    let query = Query::<Q>::try_from_uri(&parts.uri);
    let Query(query) = query.map_err(|rejection| Error::Query { fault: rejection.body_text() })?;
    Ok(PartsRead {
        call: Call { server, caller, path, query, body: Nothing {}, headers: parts.headers },
        body,
    })
}

fn with_body<P, B: DeserializeOwned>(read: PartsRead<P, Nothing>) -> Result<Call<P, Nothing, B>, Error> {
    let PartsRead { call: Call { server, caller, path, query, headers, .. }, body } = read;
    let body: &[u8] = if body.is_empty() { b"{}" } else { &body };
    // A list would be read as the fields in their order.
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'{') {
        return Err(Error::Body { fault: "expected an object".to_owned() });
    }
    let body = serde_json::from_slice(body).map_err(|error| Error::Body { fault: error.to_string() })?;
    let call = Call { server, caller, path, query, body, headers };
    // One that does not fit is refused wherever it stands.
    call.key()?;
    Ok(call)
}
