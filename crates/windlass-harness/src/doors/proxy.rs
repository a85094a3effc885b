//! A TCP proxy that cuts each connection after a random number of bytes.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::chance::Chance;

/// Number of silent connections that are kept open.
const SILENT: usize = 100;

/// How a connection ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// An orderly end.
    Fin,
    /// A reset.
    Reset,
    /// Nothing more is read or sent, as by a process that was stopped.
    Silence,
}

impl Way {
    pub(super) const ALL: [Self; 3] = [Self::Fin, Self::Reset, Self::Silence];
}

/// Makes the kernel send a reset when the socket is closed.
fn will_reset(socket: &TcpStream) {
    // Without it the end is an orderly one.
    let _set = rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}

/// The state that the threads of a proxy share.
#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    chance: Mutex<Chance>,
    most_bytes: u64,
    /// Cuts of each way.
    cuts: [AtomicU64; 3],
    /// Connections that nobody serves any more, kept open.
    silent: Mutex<VecDeque<(TcpStream, TcpStream)>>,
}

/// A running proxy. It ends with the process.
#[derive(Clone, Debug)]
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
}

impl Proxy {
    /// A proxy to a server that cuts each connection within so many bytes of either direction.
    pub(super) fn start(server: SocketAddr, seed: u64, most_bytes: u64) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let chance = Mutex::new(Chance::new(seed));
        let shared = Arc::new(Shared {
            server,
            chance,
            most_bytes,
            cuts: Default::default(),
            silent: Mutex::default(),
        });
        let own = shared.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = own.clone();
                thread::spawn(move || drop(shared.serve(client)));
            }
        });
        Ok(Self { address, shared })
    }

    /// Number of cuts of each way so far.
    pub(super) fn cuts(&self) -> [u64; 3] {
        [0, 1, 2]
            .map(|way| self.shared.cuts.get(way).map_or(0, |count: &AtomicU64| count.load(Ordering::Relaxed)))
    }
}

impl Shared {
    fn below(&self, end: u64) -> u64 {
        self.chance.lock().unwrap_or_else(PoisonError::into_inner).below(end)
    }

    fn serve(&self, client: TcpStream) -> io::Result<()> {
        let server = TcpStream::connect(self.server)?;
        for socket in [&client, &server] {
            socket.set_nodelay(true)?;
        }
        let way = self.below(Way::ALL.len() as u64) as usize;
        // Replies are longer than requests: one connection of eight is cut in its request.
        let request_bytes = if self.below(8) == 0 { self.below(400) } else { u64::MAX };
        let reply_bytes = self.below(self.most_bytes);
        let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
        let requests = thread::spawn(move || {
            let was_cut = copied(&mut from_client, &mut to_server, request_bytes);
            // Whoever waits on the other direction is woken.
            let _ended =
                (to_server.shutdown(Shutdown::Both), was_cut.then(|| from_client.shutdown(Shutdown::Both)));
            was_cut
        });
        let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
        let way = if copied(&mut from_server, &mut to_client, reply_bytes) {
            self.count(way);
            Way::ALL.get(way).copied()
        } else {
            None
        };
        match way {
            Some(Way::Silence) => {
                self.keep(client, server);
                return Ok(());
            }
            Some(Way::Reset) => {
                will_reset(&client);
                will_reset(&server);
                // It wakes whoever reads, and sends nothing.
                let _ended = (client.shutdown(Shutdown::Read), server.shutdown(Shutdown::Read));
            }
            Some(Way::Fin) | None => {
                let _ended = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
            }
        }
        if requests.join().is_ok_and(|was_cut| was_cut) {
            self.count(0);
        }
        Ok(())
    }

    fn count(&self, way: usize) {
        if let Some(count) = self.cuts.get(way) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Keeps a connection open and silent, until many newer ones are.
    fn keep(&self, client: TcpStream, server: TcpStream) {
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        silent.push_back((client, server));
        if silent.len() > SILENT {
            silent.pop_front();
        }
    }
}

/// Copies so many bytes at most. `true`: there were more.
fn copied(from: &mut TcpStream, to: &mut TcpStream, most: u64) -> bool {
    let (mut left, mut piece) = (most, [0; 4096]);
    loop {
        let Ok(length @ 1..) = from.read(&mut piece) else { return false };
        let sent = length.min(usize::try_from(left).unwrap_or(usize::MAX));
        if to.write_all(piece.get(..sent).unwrap_or_default()).is_err() {
            return false;
        }
        if sent < length {
            return true;
        }
        left -= sent as u64;
    }
}
