//! A server on a port of its own, and a proxy that loses what the test tells it to.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use windlass_client::{Client, Settings as Times};
use windlass_server::{NewToken, Server, Settings, Tokens};
use windlass_store::Store;

/// A server that serves.
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    pub(crate) server: Server,
    stop: CancellationToken,
    done: JoinHandle<()>,
    folder: PathBuf,
    /// Removes the folder in the end.
    owned: Option<tempfile::TempDir>,
}

fn settings(listen: SocketAddr, folder: &std::path::Path) -> Settings {
    let socket = Some(folder.join("api.sock"));
    Settings { listen: vec![listen], socket, grace_ms: 2_000, ..Settings::default() }
}

impl Serving {
    /// A server of a log, with the agents of a folder.
    pub(crate) async fn start(log: Arc<dyn Store>, agents: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in agents {
            std::fs::create_dir_all(folder.path().join("agents")).unwrap();
            std::fs::write(folder.path().join("agents").join(name), text).unwrap();
        }
        let path = folder.path().to_owned();
        let mut serving = Self::at(log, SocketAddr::from(([127, 0, 0, 1], 0)), path).await;
        serving.owned = Some(folder);
        serving
    }

    async fn at(log: Arc<dyn Store>, listen: SocketAddr, folder: PathBuf) -> Self {
        let tokens = Tokens::of_file(folder.join("tokens.json"));
        let server = Server::new(log, tokens, settings(listen, &folder));
        if folder.join("agents").exists() {
            let loaded = server.load(&folder.join("agents")).await.unwrap();
            assert!(loaded.failed.is_empty(), "{:?}", loaded.failed);
        }
        let listening = server.listen().await.unwrap();
        let address = listening.addresses()[0];
        let stop = CancellationToken::new();
        let done = tokio::spawn(listening.run(stop.clone()));
        Self { address, server, stop, done, folder, owned: None }
    }

    /// Ends it, and starts another one with the same address and log.
    pub(crate) async fn restart(self) -> Self {
        let Self { address, server, stop, done, folder, owned } = self;
        let log = server.host().log().clone();
        stop.cancel();
        done.await.unwrap();
        drop(server);
        let mut serving = Self::at(log, address, folder).await;
        serving.owned = owned;
        serving
    }

    /// Ends it.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.done.await.unwrap();
    }

    pub(crate) fn socket(&self) -> String {
        format!("unix:{}", self.folder.join("api.sock").display())
    }

    pub(crate) fn token(&self) -> String {
        self.server.tokens().make(NewToken::default()).unwrap().1
    }

    pub(crate) fn client(&self) -> Client {
        self.client_at(self.address)
    }

    /// A client that reaches it by another address.
    pub(crate) fn client_at(&self, address: SocketAddr) -> Client {
        Client::new(&format!("http://{address}")).unwrap().with_token(&self.token()).unwrap()
    }
}

/// A client that gives up soon. A connection that the server has just closed may look open: then a reply is lost first.
pub(crate) fn impatient(client: Client) -> Client {
    let patience = std::time::Duration::from_millis(200);
    client.with_settings(Times { patience, stream_patience: patience, ..Times::default() })
}

/// How many bytes of the replies of a connection come through: of the nth, from 0. Then it is cut.
pub(crate) type Cut = fn(usize) -> Option<usize>;

/// A proxy before a server.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    /// How many connections it has had.
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Proxy {
    pub(crate) async fn before(server: SocketAddr, cut: Cut) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let place = counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(between(client, server, cut(place)));
            }
        });
        Self { address, connections }
    }
}

async fn between(client: TcpStream, server: SocketAddr, most: Option<usize>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = tokio::spawn(async move {
        let _ended = tokio::io::copy(&mut from_client, &mut to_server).await;
    });
    let mut left = most.unwrap_or(usize::MAX);
    let mut buffer = vec![0; 64 << 10];
    // What the server says is read first: a reply that is cut is one that was given.
    while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
        let through = left.min(read);
        let sent = to_client.write_all(&buffer[..through]).await;
        left -= through;
        if left == 0 || sent.is_err() {
            break;
        }
    }
    up.abort();
}
