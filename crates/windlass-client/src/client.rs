//! Owns a request's way to the server and back. What was lost is sent again under the same key, so that nothing is done twice.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::form_urlencoded;
use windlass_api::{ErrorBody, IDEMPOTENCY_KEY};
use windlass_http::{Answer, HttpError, Route};

use crate::address::Address;
use crate::backoff::Backoff;
use crate::error::{ClientError, Refusal};

/// The characters that are escaped in a path: all but the unreserved ones (RFC 3986, 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The most bytes of a reply that is read whole.
const REPLY_BYTES: usize = 1 << 30;
/// The most bytes of a refusal.
const REFUSAL_BYTES: usize = 1 << 20;
/// The most characters of a foreign reply that an error shows.
const QUOTED_CHARS: usize = 200;

/// Times of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a connection may take. Default: 5 s.
    pub connect: Duration,
    /// How long a reply may take. The server holds none back for more than 10 s. Default: 60 s.
    pub reply: Duration,
    /// For how long a lost reply is asked for again. Default: 15 s.
    pub patience: Duration,
    /// For how long a stream that was cut tries to come back. Default: 60 s.
    pub stream_patience: Duration,
    /// How long a stream may be silent before it counts as cut: the server gives a sign of life every 10 s. Default: 30 s.
    pub silence: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            reply: Duration::from_mins(1),
            patience: Duration::from_secs(15),
            stream_patience: Duration::from_mins(1),
            silence: Duration::from_secs(30),
        }
    }
}

/// A client of a server. Cloning shares it.
///
/// A request whose reply was lost is sent again, for as long as the settings say; a verb carries the same key each time, the caller's
/// or one of the client's own, so that it is done once.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    address: Address,
    route: Route,
    /// The value of `Authorization`, which is marked as secret.
    token: Option<HeaderValue>,
    settings: Settings,
}

/// A request, as often as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
    /// Another status of a reply that is as good as any.
    also: Option<StatusCode>,
}

impl Asked {
    pub(crate) fn get(path: String) -> Self {
        Self { method: Method::GET, path, headers: HeaderMap::new(), body: Bytes::new(), also: None }
    }

    /// A verb, which carries a key.
    pub(crate) fn post(path: String, body: &impl Serialize, key: Option<&str>) -> Result<Self, ClientError> {
        // All keys of requests are texts.
        let body = serde_json::to_vec(body).unwrap_or_default().into();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let key = key.map_or_else(|| uuid::Uuid::now_v7().to_string(), str::to_owned);
        let key = HeaderValue::from_str(&key).map_err(|_| ClientError::Key)?;
        headers.insert(HeaderName::from_static(IDEMPOTENCY_KEY), key);
        Ok(Self { method: Method::POST, path, headers, body, also: None })
    }

    /// With parameters: the members of the value that are not `null`.
    pub(crate) fn with(mut self, query: &impl Serialize) -> Self {
        let Ok(Value::Object(members)) = serde_json::to_value(query) else { return self };
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        for (name, value) in members {
            match value {
                Value::Null => {}
                Value::String(text) => drop(pairs.append_pair(&name, &text)),
                other => drop(pairs.append_pair(&name, &other.to_string())),
            }
        }
        let query = pairs.finish();
        if !query.is_empty() {
            self.path = format!("{}?{query}", self.path);
        }
        self
    }

    pub(crate) fn also(self, status: StatusCode) -> Self {
        Self { also: Some(status), ..self }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    pub(crate) fn accepting(mut self, kind: &'static str) -> Self {
        self.headers.insert(ACCEPT, HeaderValue::from_static(kind));
        self
    }
}

/// A name as a part of a path.
pub(crate) fn part(name: &str) -> String {
    utf8_percent_encode(name, ESCAPED).to_string()
}

impl Client {
    /// A client of the server at an address: `http://HOST:PORT`, `https://HOST`, or `unix:/PATH`.
    ///
    /// # Errors
    /// It is no address of a server.
    pub fn new(address: &str) -> Result<Self, ClientError> {
        Self::of(address.parse()?)
    }

    /// A client of the server at that address.
    ///
    /// # Errors
    /// It is no address of a server.
    pub fn of(address: Address) -> Result<Self, ClientError> {
        let route = address.route();
        let route = route.map_err(|error| ClientError::Address {
            address: address.to_string(),
            fault: error.to_string(),
        })?;
        Ok(Self { inner: Arc::new(Inner { address, route, token: None, settings: Settings::default() }) })
    }

    /// The same with a token.
    ///
    /// # Errors
    /// It has characters that cannot be sent.
    pub fn with_token(self, token: &str) -> Result<Self, ClientError> {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(|_| ClientError::Token)?;
        value.set_sensitive(true);
        let inner = Inner { token: Some(value), ..Arc::unwrap_or_clone(self.inner) };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The same with other times.
    pub fn with_settings(self, settings: Settings) -> Self {
        Self { inner: Arc::new(Inner { settings, ..Arc::unwrap_or_clone(self.inner) }) }
    }

    /// The server's address.
    pub fn address(&self) -> &Address {
        &self.inner.address
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// A value in JSON.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, asked: &Asked) -> Result<T, ClientError> {
        let bytes = self.bytes(asked).await?;
        serde_json::from_slice(&bytes).map_err(|error| self.bad_reply(error.to_string()))
    }

    /// The whole reply. A lost one is asked for again.
    pub(crate) async fn bytes(&self, asked: &Asked) -> Result<Bytes, ClientError> {
        let mut backoff = Backoff::new(self.settings().patience);
        let mut was_there = false;
        loop {
            let error = match self.once(asked).await {
                Ok(bytes) => return Ok(bytes),
                Err(error) => error,
            };
            // A server that was never there is not waited for.
            was_there |= !matches!(error, ClientError::Unreachable { .. });
            let pause = if was_there && error.may_pass() { backoff.pause(error.retry_after()) } else { None };
            let Some(pause) = pause else { return Err(error) };
            tracing::debug!("asking again in {pause:?}: {error}");
            tokio::time::sleep(pause).await;
        }
    }

    async fn once(&self, asked: &Asked) -> Result<Bytes, ClientError> {
        let limit = self.settings().reply;
        let reply = async {
            let mut answer = self.open(asked).await?;
            let (data, more) = answer.body.read(REPLY_BYTES).await.map_err(|error| self.lost(error))?;
            if more {
                return Err(self.bad_reply(format!("it has more than {REPLY_BYTES} bytes")));
            }
            answer.body.finish();
            Ok(data.into())
        };
        let late = |_| self.lost(format!("it took longer than {limit:?}"));
        tokio::time::timeout(limit, reply).await.map_err(late)?
    }

    /// The head of a good reply, sent once.
    pub(crate) async fn open(&self, asked: &Asked) -> Result<Answer, ClientError> {
        let Inner { address, route, token, settings } = &*self.inner;
        let path: Uri = format!("{}{}", address.prefix(), asked.path)
            .parse()
            .map_err(|_| self.bad_reply("the path of the request cannot be written".to_owned()))?;
        let mut request = Request::new(Full::new(asked.body.clone()));
        *request.method_mut() = asked.method.clone();
        *request.uri_mut() = route.line(&path);
        let headers = request.headers_mut();
        *headers = route.headers();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.extend(asked.headers.clone());
        if let Some(token) = token {
            headers.insert(AUTHORIZATION, token.clone());
        }
        let mut answer =
            route.send(Box::new(request), settings.connect).await.map_err(|error| self.unanswered(error))?;
        if answer.status.is_success() || asked.also == Some(answer.status) {
            return Ok(answer);
        }
        let (data, _) = answer.body.read(REFUSAL_BYTES).await.map_err(|error| self.lost(error))?;
        answer.body.finish();
        Err(self.refused(answer.status, &answer.headers, &data))
    }

    fn refused(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> ClientError {
        let Ok(ErrorBody { error }) = serde_json::from_slice(body) else {
            let text = String::from_utf8_lossy(body);
            let text: String =
                text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(QUOTED_CHARS).collect();
            // A proxy says so in words of its own while the server is away.
            if matches!(
                status,
                StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
            ) {
                return self.lost(format!("status {status}: {text}"));
            }
            return self.bad_reply(format!("status {status}: {text}"));
        };
        let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let refusal =
            Refusal { status, fault: Box::new(error), retry_after: seconds.map(Duration::from_secs) };
        match status {
            StatusCode::UNAUTHORIZED => ClientError::Unauthorized(refusal),
            _ => ClientError::Refused(refusal),
        }
    }

    fn unanswered(&self, error: HttpError) -> ClientError {
        if !error.is_unsent() {
            return self.lost(error);
        }
        ClientError::Unreachable { server: self.address().to_string(), source: error.into() }
    }

    pub(crate) fn lost(&self, source: impl Into<Box<dyn Error + Send + Sync>>) -> ClientError {
        ClientError::Lost { server: self.address().to_string(), source: source.into() }
    }

    pub(crate) fn bad_reply(&self, fault: String) -> ClientError {
        ClientError::BadReply { server: self.address().to_string(), fault }
    }
}
