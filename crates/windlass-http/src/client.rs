//! Owns one exchange with a server: a request goes out on a connection, and its reply comes in.
//!
//! A connection has no task of its own: the exchange that uses it drives it. Redirects are not followed, because they would
//! carry keys in custom headers to another host, and nothing is repeated that may have been sent: retries are the
//! core's.

use std::error::Error;
use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HOST, PROXY_AUTHORIZATION, USER_AGENT};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use windlass_error::Diagnostic;
use windlass_text::secret::mask;

use super::addresses::Reach;
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
    #[error("no connection to {host} within {limit_ms} ms")]
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

impl HttpError {
    /// Whether nothing was sent, because there was no connection.
    pub fn is_unsent(&self) -> bool {
        !matches!(self, Self::NoReply { .. } | Self::Broken { .. })
    }
}

/// A client for single exchanges. Its connections and TLS settings are those of the whole process. It follows no redirect and
/// repeats nothing.
#[derive(Clone, Copy, Debug)]
pub struct HttpClient {
    connect: Duration,
    reach: Reach,
}

impl HttpClient {
    /// A client that waits so long for a connection.
    pub fn new(connect: Duration, reach: Reach) -> Self {
        Self { connect, reach }
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

    /// Sends a request as [`open`](Self::open) does, and reads at most so many bytes of the reply's body: what is beyond is left.
    ///
    /// # Errors
    /// The address cannot be used, there is no connection, or the reply breaks off.
    pub async fn send(&self, request: Request<Bytes>, most: usize) -> Result<Response<Bytes>, HttpError> {
        let route = Route::to(request.uri(), self.reach)?;
        let Answer { status, headers, mut body } = route.ask(request, self.connect).await?;
        let broken = |source: hyper::Error| HttpError::Broken { host: route.host(), source: source.into() };
        let (data, _) = body.read(most).await.map_err(broken)?;
        let mut response = Response::new(Bytes::from(data));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }

    /// Sends a request to the whole address that it names, and waits for the head of the reply. An empty body lets go of its
    /// connection at once.
    ///
    /// # Errors
    /// The address cannot be used, there is no connection, or no reply.
    pub async fn open(&self, request: Request<Bytes>) -> Result<Answer, HttpError> {
        Route::to(request.uri(), self.reach)?.ask(request, self.connect).await
    }
}

/// The way to a server, found once for all requests to it.
#[derive(Clone, Debug)]
pub struct Route {
    /// The server's address; its path is of no interest.
    origin: Uri,
    authority: Authority,
    via: Via,
    reach: Reach,
    pool: Arc<Pool>,
}

/// A reply whose body is yet to be read.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

impl Route {
    /// The way to the server of an address.
    ///
    /// # Errors
    /// It is no http or https address, or has a login.
    pub fn to(address: &Uri, reach: Reach) -> Result<Self, HttpError> {
        let (scheme, authority) = parts(address)?;
        let via = if reach == Reach::Proxied { Via::by_environment(address) } else { Via::Direct };
        let pool = Pool::of(Place { origin: format!("{scheme}://{authority}"), reach });
        Ok(Self { origin: address.clone(), authority: authority.clone(), via, reach, pool })
    }

    /// The way to the server that listens on a Unix socket.
    pub fn to_socket(path: &Path) -> Self {
        let origin = Uri::from_static("http://localhost");
        let authority = Authority::from_static("localhost");
        let reach = Reach::Direct;
        let pool = Pool::of(Place { origin: format!("unix:{}", path.display()), reach });
        Self { origin, authority, via: Via::Socket(path.into()), reach, pool }
    }

    /// The request target for a path of this server.
    pub fn line(&self, path: &Uri) -> Uri {
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
    pub fn headers(&self) -> HeaderMap {
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

    /// Sends a request to the address that it names.
    async fn ask(&self, request: Request<Bytes>, limit: Duration) -> Result<Answer, HttpError> {
        let (mut parts, body) = request.into_parts();
        parts.uri = self.line(&parts.uri);
        let own = std::mem::replace(&mut parts.headers, self.headers());
        parts.headers.extend(own);
        let mut answer = self.send(Box::new(Request::from_parts(parts, Full::new(body))), limit).await?;
        answer.body.finish();
        Ok(answer)
    }

    /// Sends a request and waits for the head of its reply. `limit` is for a new connection.
    ///
    /// # Errors
    /// There is no connection, or no reply.
    pub async fn send(&self, mut request: Outgoing, limit: Duration) -> Result<Answer, HttpError> {
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
            let io = connect(&self.origin, &self.via, self.reach, limit).await?;
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
    pub fn forwarding_proxy(&self) -> Option<&str> {
        match &self.via {
            Via::Forward(_) => self.via.proxy(),
            Via::Direct | Via::Tunnel(_) | Via::Socket(_) => None,
        }
    }

    /// The server as `host:port`, and the proxy before it, for messages.
    fn host(&self) -> String {
        if let Via::Socket(path) = &self.via {
            return path.display().to_string();
        }
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
