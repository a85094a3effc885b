//! Listeners: TCP addresses and a Unix socket.

use std::fs::Permissions;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::connections::Connections;
use super::peer::Peer;
use super::server::Server;
use crate::error::Error;

/// The rest after a connection that could not be taken: no descriptor was left.
const REST: Duration = Duration::from_millis(50);

/// The listeners of a server.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    pub(crate) tcp: Vec<TcpListener>,
    pub(crate) unix: Option<UnixListener>,
}

impl Listeners {
    /// Listens on these addresses.
    pub(crate) async fn bind(listen: &[SocketAddr], socket: Option<&Path>) -> Result<Self, Error> {
        let mut tcp = Vec::new();
        for address in listen {
            let bound = TcpListener::bind(address).await;
            tcp.push(bound.map_err(|source| Error::Listen { address: *address, source })?);
        }
        let unix = match socket {
            Some(path) => {
                let bound = bind_socket(path);
                Some(bound.await.map_err(|source| Error::Socket { path: path.to_owned(), source })?)
            }
            None => None,
        };
        Ok(Self { tcp, unix })
    }

    /// The addresses, as the system gave them.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.tcp.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Takes connections until the server ends. The listeners are closed then.
    pub(crate) async fn serve(self, server: &Server, connections: &Connections) {
        let mut accepting = JoinSet::new();
        for listener in self.tcp {
            let (server, connections) = (server.clone(), connections.clone());
            accepting.spawn(async move {
                loop {
                    let taken = tokio::select! {
                        taken = listener.accept() => taken,
                        () = server.closing().cancelled() => return,
                    };
                    match taken {
                        Ok((stream, peer)) => connections.serve(at_once(stream), Peer::Address(peer.ip())),
                        Err(error) => rest(&error).await,
                    }
                }
            });
        }
        if let Some(listener) = self.unix {
            let (server, connections) = (server.clone(), connections.clone());
            accepting.spawn(async move {
                loop {
                    let taken = tokio::select! {
                        taken = listener.accept() => taken,
                        () = server.closing().cancelled() => return,
                    };
                    match taken {
                        Ok((stream, _)) => {
                            let peer = Peer::Socket { is_ours: is_ours(&stream) };
                            connections.serve(stream, peer);
                        }
                        Err(error) => rest(&error).await,
                    }
                }
            });
        }
        // Each has its listener.
        while accepting.join_next().await.is_some() {}
    }
}

/// Pieces go out at once, and are not collected (RFC 9293, 3.7.4).
fn at_once(stream: TcpStream) -> TcpStream {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("a connection collects what it sends: {error}");
    }
    stream
}

async fn rest(error: &io::Error) {
    tracing::warn!("a connection could not be taken: {error}");
    tokio::time::sleep(REST).await;
}

/// Whether the peer has the user id of this process.
fn is_ours(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}

/// Listens on a socket that only its owner reaches. One that nobody listens on any more is replaced.
async fn bind_socket(path: &Path) -> io::Result<UnixListener> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket {
        match UnixStream::connect(path).await {
            Ok(_) => return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens on it")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
            Err(error) => return Err(error),
        }
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use windlass_store::MemoryLog;

    use super::*;
    use crate::http::admission::app;
    use crate::http::tokens::Tokens;
    use crate::settings::Settings;

    /// On one thread, a task that was only told to end has not ended yet.
    #[tokio::test]
    async fn a_listener_is_closed_once_nothing_is_served_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::of_file(folder.path().join("tokens.json"));
        let server = Server::new(Arc::new(MemoryLog::new()), tokens, Settings::default());
        let connections = Connections::new(&server, app(&server, Vec::new()));
        let listeners = Listeners::bind(&[SocketAddr::from(([127, 0, 0, 1], 0))], None).await.unwrap();
        let address = listeners.addresses()[0];
        server.closing().cancel();
        listeners.serve(&server, &connections).await;
        assert!(std::net::TcpListener::bind(address).is_ok());
    }
}
