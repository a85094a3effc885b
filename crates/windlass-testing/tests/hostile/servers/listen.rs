//! Connections on loopback, each on a thread of its own, counted, until the handle goes.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::ENDLESS_BYTES;

/// Maximum time of a write to a client that neither reads nor hangs up: ten seconds.
const WRITE_WAIT: Duration = Duration::from_secs(10);

/// A listener and what happened there.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) address: SocketAddr,
    pub(super) counts: Arc<Counts>,
    over: Arc<AtomicBool>,
}

/// Counters of a server.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) requests: AtomicU64,
    pub(super) sent: AtomicU64,
}

impl Listener {
    pub(super) fn start(
        serve: impl Fn(Connection) -> io::Result<()> + Clone + Send + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (over, counts) = (Arc::new(AtomicBool::new(false)), Arc::new(Counts::default()));
        let (ends, all) = (over.clone(), counts.clone());
        std::thread::Builder::new().name("hostile".into()).spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                let (serve, counts, over) = (serve.clone(), all.clone(), ends.clone());
                let serving = std::thread::Builder::new().spawn(move || {
                    // A client that hangs up is what most attacks end with.
                    let _gone = serve(Connection { stream, counts, over });
                });
                if serving.is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { address, counts, over })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _woken = TcpStream::connect(self.address);
    }
}

/// A client.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) counts: Arc<Counts>,
    over: Arc<AtomicBool>,
}

impl Connection {
    pub(super) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.stream.set_write_timeout(Some(WRITE_WAIT))?;
        (&self.stream).write_all(bytes)?;
        self.counts.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Sends this again and again until the client hangs up.
    pub(super) fn flood(&self, bytes: &[u8]) -> io::Result<()> {
        self.flood_with(|_| bytes)
    }

    /// Sends what is made of the numbers from 0 on until the client hangs up.
    pub(super) fn flood_with<B: AsRef<[u8]>>(&self, mut make: impl FnMut(u64) -> B) -> io::Result<()> {
        let (mut sent, mut number) = (0, 0);
        while sent < ENDLESS_BYTES && !self.over.load(Ordering::Relaxed) {
            let mut many = Vec::new();
            while many.len() < 64 * 1024 {
                many.extend_from_slice(make(number).as_ref());
                number += 1;
            }
            self.send(&many)?;
            sent += many.len() as u64;
        }
        Ok(())
    }

    /// Sends the bytes one by one with a wait between them, then starts again if that is wanted.
    pub(super) fn trickle(&self, bytes: &[u8], wait_ms: u64, again: bool) -> io::Result<()> {
        loop {
            for byte in bytes {
                self.send(&[*byte])?;
                if self.pause(Duration::from_millis(wait_ms))? {
                    return Ok(());
                }
            }
            if !again {
                return Ok(());
            }
        }
    }

    /// Waits until the client hangs up.
    pub(super) fn hang(&self) -> io::Result<()> {
        while !self.pause(WRITE_WAIT)? {}
        Ok(())
    }

    /// Waits so long, or until the client hangs up: then it is true.
    fn pause(&self, time: Duration) -> io::Result<bool> {
        if self.over.load(Ordering::Relaxed) {
            return Ok(true);
        }
        self.stream.set_read_timeout(Some(time.max(Duration::from_millis(1))))?;
        match (&self.stream).read(&mut [0; 1024]) {
            Ok(read) => Ok(read == 0),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}
