//! Owns one exchange with a server: a request goes out on a connection, and its reply comes in.
//!
//! A connection has no task of its own: the exchange that uses it drives it. Redirects are not followed, because they would
//! carry keys in custom headers to another host, and nothing is repeated that may have been sent: retries are the
//! core's.

use std::error::Error;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HOST, PROXY_AUTHORIZATION, USER_AGENT};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use windlass_core::secret::mask;
use windlass_error::Diagnostic;

use super::body::Body;
use super::connect::{Unconnected, connect};
use super::connection::{Connection, Outgoing};
use super::pool::{Place, Pool};
use super::proxy::{Via, is_tls};
use super::user_agent::user_agent;

/// Why an exchange failed.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum HttpError {
    /// The address cannot be asked.
    #[error("invalid address `{address}`: {reason}")]
    #[diagnostic(kind = Invalid, code = "http.bad_address")]
    BadAddress {
        /// The address, secrets masked.
        address: String,
        /// The error.
        reason: &'static str,
    },
    /// The connection took too long to be made.
    #[error("no connection to {host} within {limit_ms} ms (`timeouts.connect_ms`)")]
    #[diagnostic(kind = Unavailable, code = "http.connect_timeout")]
    ConnectTimeout {
        /// The server, as `host:port`.
        host: String,
        /// The limit, in milliseconds.
        limit_ms: u64,
    },
    /// No connection could be made.
    #[error("no connection to {host}")]
    #[diagnostic(kind = Unavailable, code = "http.connect")]
    Connect {
        /// The server, as `host:port`.
        host: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// No encrypted connection could be made.
    #[error("no TLS connection to {host}")]
    #[diagnostic(kind = Unavailable, code = "http.tls")]
    Tls {
        /// The server, as `host:port`.
        host: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server gave no reply.
    #[error("no reply from {host}")]
    #[diagnostic(kind = Unavailable, code = "http.no_reply")]
    NoReply {
        /// The server, as `host:port`.
        host: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The reply broke off.
    #[error("the reply from {host} broke off")]
    #[diagnostic(kind = Unavailable, code = "http.broken")]
    Broken {
        /// The server, as `host:port`.
        host: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

/// A client for small exchanges besides calls of models. It uses the connections, proxies and TLS settings of the models'
/// adapters, follows no redirect and repeats nothing.
#[derive(Clone, Copy, Debug)]
pub struct HttpClient {
    connect: Duration,
    proxy: bool,
}

impl HttpClient {
    /// A client that waits so long for a connection, and asks through the proxies that the environment names.
    pub fn new(connect: Duration) -> Self {
        Self { connect, proxy: true }
    }

    /// The same without proxies.
    #[must_use]
    pub fn without_proxy(self) -> Self {
        Self { proxy: false, ..self }
    }

    /// Whether an address can be asked at all.
    ///
    /// # Errors
    /// It is no http or https address, or has a login.
    pub fn check(address: &str) -> Result<(), HttpError> {
        let unread = |_| HttpError::BadAddress {
            address: mask(address.rsplit_once('@').map_or(address, |(_, rest)| rest)).into_owned(),
            reason: "it is not a URL",
        };
        let address: Uri = address.trim().parse().map_err(unread)?;
        parts(&address).map(drop)
    }

    /// Sends a request to the whole address that it names, and reads at most so many bytes of the reply's body: what is
    /// beyond is left.
    ///
    /// # Errors
    /// The address cannot be used, there is no connection, or the reply breaks off.
    pub async fn send(&self, request: Request<Bytes>, most: usize) -> Result<Response<Bytes>, HttpError> {
        let (mut parts, body) = request.into_parts();
        let route = Route::to(&parts.uri, self.proxy)?;
        parts.uri = route.line(&parts.uri);
        let own = std::mem::replace(&mut parts.headers, route.headers());
        parts.headers.extend(own);
        let answer = route.send(Box::new(Request::from_parts(parts, Full::new(body))), self.connect).await?;
        let (mut body, mut data) = (answer.body, Vec::new());
        while let Some(piece) = body.next().await {
            let piece =
                piece.map_err(|source| HttpError::Broken { host: route.host(), source: source.into() })?;
            let room = most - data.len();
            data.extend_from_slice(piece.get(..room).unwrap_or(&piece));
            if piece.len() > room {
                break;
            }
        }
        let mut response = Response::new(Bytes::from(data));
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        Ok(response)
    }
}

/// The way to a server, found once for all requests to it.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// The server's address; its path is of no interest.
    origin: Uri,
    authority: Authority,
    via: Via,
    pool: Arc<Pool>,
}

/// A reply whose body is yet to be read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

impl Route {
    /// The way to the server of an address.
    pub(crate) fn to(address: &Uri, proxy: bool) -> Result<Self, HttpError> {
        let (scheme, authority) = parts(address)?;
        let via = if proxy { Via::by_environment(address) } else { Via::Direct };
        let pool = Pool::of(Place { origin: format!("{scheme}://{authority}"), proxy });
        Ok(Self { origin: address.clone(), authority: authority.clone(), via, pool })
    }

    /// The request target for a path of this server.
    pub(crate) fn line(&self, path: &Uri) -> Uri {
        let path = path.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        let mut parts = http::uri::Parts::default();
        parts.path_and_query = Some(path);
        if let Via::Forward(_) = self.via {
            parts.scheme = self.origin.scheme().cloned();
            parts.authority = Some(self.authority.clone());
        }
        Uri::from_parts(parts).unwrap_or_default()
    }

    /// The headers of every request to this server.
    pub(crate) fn headers(&self) -> HeaderMap {
        let default = if is_tls(&self.origin) { 443 } else { 80 };
        let port = self.authority.port_u16().filter(|port| *port != default);
        let host = self.authority.host();
        let host = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let mut headers = HeaderMap::with_capacity(8);
        if let Ok(host) = HeaderValue::try_from(host) {
            headers.insert(HOST, host);
        }
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        headers.insert(USER_AGENT, user_agent());
        if let Via::Forward(proxy) = &self.via
            && let Some(login) = &proxy.login
        {
            headers.insert(PROXY_AUTHORIZATION, login.clone());
        }
        headers
    }

    /// Sends a request and waits for the head of its reply. `limit` is for a new connection.
    pub(crate) async fn send(&self, mut request: Outgoing, limit: Duration) -> Result<Answer, HttpError> {
        while let Some(connection) = poll_fn(|context| Poll::Ready(self.pool.take(context))).await {
            match self.exchange(connection, request).await {
                Ok(answer) => return Ok(answer),
                // Its server has closed the connection at this moment. Nothing was sent.
                Err((_, Some(unsent))) => request = unsent,
                Err((error, None)) => return Err(error),
            }
        }
        // Made apart: what a connection needs while it is made is much, and most calls find one.
        let connection = Box::pin(self.connect(limit)).await?;
        self.exchange(connection, request).await.map_err(|(error, _)| error)
    }

    async fn exchange(
        &self,
        mut connection: Box<Connection>,
        request: Outgoing,
    ) -> Result<Answer, (HttpError, Option<Outgoing>)> {
        match connection.ask(request).await {
            Ok(response) => {
                let (head, incoming) = response.into_parts();
                let body = Body::new(incoming, connection, self.pool.clone());
                Ok(Answer { status: head.status, headers: head.headers, body })
            }
            Err(mut failed) => {
                let unsent = failed.take_message().map(Box::new);
                Err((HttpError::NoReply { host: self.host(), source: failed.into_error().into() }, unsent))
            }
        }
    }

    async fn connect(&self, limit: Duration) -> Result<Box<Connection>, HttpError> {
        let making = async {
            let io = connect(&self.origin, &self.via, limit).await?;
            Connection::over(io).await.map_err(|error| Unconnected::Failed(error.into()))
        };
        let host = self.host();
        match tokio::time::timeout(limit, making).await.unwrap_or(Err(Unconnected::Late)) {
            Ok(connection) => Ok(Box::new(connection)),
            Err(Unconnected::Tls(source)) => Err(HttpError::Tls { host, source }),
            Err(Unconnected::Failed(source)) => Err(HttpError::Connect { host, source }),
            Err(Unconnected::Late) => {
                let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                Err(HttpError::ConnectTimeout { host, limit_ms })
            }
        }
    }

    /// The proxy that requests are sent to in the server's stead: it may answer with words of its own.
    pub(crate) fn forwarding_proxy(&self) -> Option<&str> {
        match &self.via {
            Via::Forward(_) => self.via.proxy(),
            Via::Direct | Via::Tunnel(_) => None,
        }
    }

    /// The server as `host:port`, and the proxy before it, for messages.
    fn host(&self) -> String {
        let default = if is_tls(&self.origin) { 443 } else { 80 };
        let host = format!("{}:{}", self.authority.host(), self.authority.port_u16().unwrap_or(default));
        match self.via.proxy() {
            Some(proxy) => format!("{host} through the proxy {proxy}"),
            None => host,
        }
    }
}

/// Scheme and authority of an address that can be asked.
fn parts(address: &Uri) -> Result<(&Scheme, &Authority), HttpError> {
    let bad = |reason: &'static str| {
        let address = address.to_string();
        let without_login = address.rsplit_once('@').map_or(&*address, |(_, rest)| rest);
        HttpError::BadAddress { address: mask(without_login).into_owned(), reason }
    };
    match (address.scheme(), address.authority()) {
        (Some(scheme), Some(authority)) if *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS => {
            if authority.as_str().contains('@') {
                return Err(bad("it contains a login"));
            }
            Ok((scheme, authority))
        }
        _ => Err(bad("it must begin with http:// or https://")),
    }
}
