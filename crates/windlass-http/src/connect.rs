//! Owns how a connection is made: TCP, a proxy's tunnel, TLS.

use std::error::Error;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Uri};
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::addresses::{Reach, Refused, Resolver};
use super::proxy::{Proxy, Via, is_tls};
use super::tls;
use super::user_agent::user_agent;

/// Idle time before a connection is probed, and interval between probes.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Maximum number of unanswered probes.
const KEEPALIVE_RETRIES: u32 = 3;

/// Maximum time that sent bytes may stay unacknowledged.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// A connection's two directions.
pub(crate) trait Io: Read + Write + Unpin + Send {}

impl<T: Read + Write + Unpin + Send> Io for T {}

type Cause = Box<dyn Error + Send + Sync>;

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Unconnected {
    /// The name, the network, the server or the proxy.
    Failed(Cause),
    /// TLS, or the system's certificates.
    Tls(Cause),
    /// The time was up.
    Late,
}

type Made = Result<Box<dyn Io>, Unconnected>;

/// Makes a connection to an address. The caller limits the time; `limit` is shared among the addresses of a name.
pub(crate) async fn connect(to: &Uri, via: &Via, reach: Reach, limit: Duration) -> Made {
    match via {
        Via::Direct => straight(to, reach, limit).await,
        Via::Forward(proxy) => straight(http_proxy(proxy)?, reach, limit).await,
        Via::Tunnel(proxy) => tunnel(to, proxy, limit).await,
        Via::Socket(path) => socket(path).await,
    }
}

/// A connection over a Unix socket.
#[cfg(unix)]
async fn socket(path: &Path) -> Made {
    let stream = UnixStream::connect(path).await.map_err(|error| Unconnected::Failed(error.into()))?;
    Ok(Box::new(TokioIo::new(stream)))
}

#[cfg(not(unix))]
async fn socket(_: &Path) -> Made {
    Err(Unconnected::Failed("this system has no Unix sockets".into()))
}

/// A connection straight to an address.
async fn straight(to: &Uri, reach: Reach, limit: Duration) -> Made {
    // The connector looks up names alone.
    if let Ok(address) = bare_host(to).parse()
        && !reach.admits(address)
    {
        return Err(Unconnected::Failed(Refused { host: bare_host(to).to_owned(), address }.into()));
    }
    let tcp = tcp(reach, limit).call(to.clone()).await.map_err(failed)?;
    if !is_tls(to) {
        return Ok(Box::new(tcp));
    }
    let config = tls::config().map_err(|error| Unconnected::Tls(error.into()))?;
    encrypt(to, config, tcp.into_inner()).await
}

/// A connection through a proxy's tunnel, encrypted to the address behind it.
async fn tunnel(to: &Uri, proxy: &Proxy, limit: Duration) -> Made {
    let config = tls::config().map_err(|error| Unconnected::Tls(error.into()))?;
    let mut headers = HeaderMap::with_capacity(1);
    headers.insert(http::header::USER_AGENT, user_agent());
    let connector = hyper_rustls::HttpsConnector::from((tcp(Reach::Proxied, limit), config.clone()));
    let mut tunnel = Tunnel::new(http_proxy(proxy)?.clone(), connector).with_headers(headers);
    if let Some(login) = &proxy.login {
        tunnel = tunnel.with_auth(login.clone());
    }
    let through = tunnel.call(to.clone()).await.map_err(failed)?;
    encrypt(to, config, TokioIo::new(through)).await
}

async fn encrypt<T>(to: &Uri, config: Arc<ClientConfig>, stream: T) -> Made
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let tls = |error: Cause| Unconnected::Tls(error);
    let name = ServerName::try_from(bare_host(to).to_owned()).map_err(|error| tls(error.into()))?;
    let stream = TlsConnector::from(config).connect(name, stream).await.map_err(|error| tls(error.into()))?;
    Ok(Box::new(TokioIo::new(stream)))
}

/// A host without the brackets of an IPv6 address.
fn bare_host(of: &Uri) -> &str {
    of.host().unwrap_or_default().trim_matches(['[', ']'])
}

fn tcp(reach: Reach, limit: Duration) -> HttpConnector<Resolver> {
    let mut tcp = HttpConnector::new_with_resolver(Resolver(reach));
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(limit));
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE));
    tcp.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    tcp
}

/// The address of a proxy that speaks HTTP.
fn http_proxy(proxy: &Proxy) -> Result<&Uri, Unconnected> {
    match proxy.uri.scheme_str() {
        Some("http" | "https") => Ok(&proxy.uri),
        scheme => {
            let scheme = scheme.unwrap_or_default();
            Err(Unconnected::Failed(
                format!("only HTTP proxies are supported, and this one is {scheme}").into(),
            ))
        }
    }
}

/// An error of the connectors. A proxy's own TLS fails inside them.
fn failed(error: impl Into<Cause>) -> Unconnected {
    let error = error.into();
    let is_tls = |error: &(dyn Error + 'static)| error.is::<rustls::Error>();
    let is_late = |error: &(dyn Error + 'static)| {
        error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::TimedOut)
    };
    if any_cause(&*error, &is_tls) {
        Unconnected::Tls(error)
    } else if any_cause(&*error, &is_late) {
        Unconnected::Late
    } else {
        Unconnected::Failed(error)
    }
}

/// Whether an error or one of its causes satisfies `is`.
fn any_cause(error: &(dyn Error + 'static), is: &dyn Fn(&(dyn Error + 'static)) -> bool) -> bool {
    if is(error) {
        return true;
    }
    // An I/O error's `source` skips the error that it wraps.
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    wrapped.is_some_and(|wrapped| any_cause(wrapped, is))
        || error.source().is_some_and(|source| any_cause(source, is))
}
