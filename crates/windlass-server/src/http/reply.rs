//! Replies: JSON, bytes, streams, and what each looks like in the document of the API.

use std::marker::PhantomData;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::{HeaderValue, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::error::Error;

/// A reply of a route.
pub(crate) trait Reply: Send {
    /// The status and media type of a good reply, and the shape of its body.
    fn describe(generator: &mut SchemaGenerator) -> Described;

    /// The reply.
    fn respond(self) -> Response;
}

/// A good reply as the document shows it.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) status: StatusCode,
    pub(crate) media_type: &'static str,
    pub(crate) schema: Schema,
}

pub(crate) const JSON: &str = "application/json";

/// A JSON body.
pub(crate) fn json_reply(status: StatusCode, body: &impl Serialize) -> Response {
    // A body that cannot be written has a map with keys that are no texts: no type of the API has one.
    let body = serde_json::to_vec(body).unwrap_or_default();
    with_type(status, JSON, Body::from(body))
}

pub(crate) fn with_type(status: StatusCode, media_type: &'static str, body: Body) -> Response {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}

/// A value (200).
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize + JsonSchema + Send> Reply for Json<T> {
    fn describe(generator: &mut SchemaGenerator) -> Described {
        let schema = generator.subschema_for::<T>();
        Described { status: StatusCode::OK, media_type: JSON, schema }
    }

    fn respond(self) -> Response {
        json_reply(StatusCode::OK, &self.0)
    }
}

/// A value in JSON that the reading crate has made, with the type that clients read it as (200).
#[derive(Debug)]
pub(crate) struct Shaped<T> {
    value: Value,
    shape: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Shaped<T> {
    pub(crate) fn new(value: Value) -> Self {
        debug_assert!(
            T::deserialize(&value).is_ok(),
            "the type of the API fits: {:?}",
            T::deserialize(&value).err()
        );
        Self { value, shape: PhantomData }
    }
}

impl<T: JsonSchema> Reply for Shaped<T> {
    fn describe(generator: &mut SchemaGenerator) -> Described {
        let schema = generator.subschema_for::<T>();
        Described { status: StatusCode::OK, media_type: JSON, schema }
    }

    fn respond(self) -> Response {
        json_reply(StatusCode::OK, &self.value)
    }
}

/// Something that was made, with the path where it is read (201).
#[derive(Debug)]
pub(crate) struct Made<T> {
    pub(crate) value: T,
    pub(crate) href: String,
    /// Whether it is not done yet (202).
    pub(crate) later: bool,
}

impl<T: Serialize + JsonSchema + Send> Reply for Made<T> {
    fn describe(generator: &mut SchemaGenerator) -> Described {
        let schema = generator.subschema_for::<T>();
        Described { status: StatusCode::CREATED, media_type: JSON, schema }
    }

    fn respond(self) -> Response {
        let status = if self.later { StatusCode::ACCEPTED } else { StatusCode::CREATED };
        let mut reply = json_reply(status, &self.value);
        if let Ok(href) = HeaderValue::from_str(&self.href) {
            reply.headers_mut().insert(LOCATION, href);
        }
        reply
    }
}

/// A value that says itself whether all is well (200, else 503).
#[derive(Debug)]
pub(crate) struct Checked<T> {
    pub(crate) value: T,
    pub(crate) good: bool,
}

impl<T: Serialize + JsonSchema + Send> Reply for Checked<T> {
    fn describe(generator: &mut SchemaGenerator) -> Described {
        let schema = generator.subschema_for::<T>();
        Described { status: StatusCode::OK, media_type: JSON, schema }
    }

    fn respond(self) -> Response {
        let status = if self.good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        json_reply(status, &self.value)
    }
}

/// Bytes or text of that media type (200).
#[derive(Debug)]
pub(crate) struct Plain<const TYPE: usize>(Body);

/// The media types of [`Plain`].
const TYPES: [&str; 3] = [
    "application/octet-stream",
    "application/openmetrics-text; version=1.0.0; charset=utf-8",
    "application/json",
];

impl<const TYPE: usize> Plain<TYPE> {
    pub(crate) fn of(bytes: impl Into<Bytes>) -> Self {
        Self(Body::from(bytes.into()))
    }

    pub(crate) fn of_body(body: Body) -> Self {
        Self(body)
    }
}

/// Bytes of any kind.
pub(crate) type Octets = Plain<0>;
/// The text form of Prometheus.
pub(crate) type MetricsText = Plain<1>;
/// A document in JSON that is ready made.
pub(crate) type Document = Plain<2>;

impl<const TYPE: usize> Reply for Plain<TYPE> {
    fn describe(_generator: &mut SchemaGenerator) -> Described {
        let media_type = TYPES.get(TYPE).copied().unwrap_or_default();
        let schema = if TYPE == 2 {
            schemars::json_schema!({ "type": "object" })
        } else {
            schemars::json_schema!({ "type": "string" })
        };
        Described { status: StatusCode::OK, media_type, schema }
    }

    fn respond(self) -> Response {
        with_type(StatusCode::OK, TYPES.get(TYPE).copied().unwrap_or_default(), self.0)
    }
}

/// A body that is written as it is read from the log.
pub(crate) struct Lines(Body);

/// Takes the lines of a body. While one is sent, the next one is made.
pub(crate) type LineSender = mpsc::Sender<Result<Bytes, Error>>;

impl Lines {
    /// A body of lines that this work makes. It is left alone once its reader is gone.
    pub(crate) fn written_by<W: Future<Output = ()> + Send + 'static>(
        work: impl FnOnce(LineSender) -> W,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(work(sender));
        let lines = stream::unfold(receiver, |mut lines| async move { Some((lines.recv().await?, lines)) });
        Self(Body::from_stream(lines))
    }
}

impl Reply for Lines {
    fn describe(_generator: &mut SchemaGenerator) -> Described {
        let schema = schemars::json_schema!({ "type": "string", "description": "JSON, a value a line" });
        Described { status: StatusCode::OK, media_type: "application/x-ndjson", schema }
    }

    fn respond(self) -> Response {
        with_type(StatusCode::OK, "application/x-ndjson", self.0)
    }
}
