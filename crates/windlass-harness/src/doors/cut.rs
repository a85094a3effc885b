//! Clients that are cut at every byte, and a proxy that cuts at random ones: the log is as undisturbed, and whoever comes back sees an
//! unbroken sequence.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read as _;
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::agents;
use super::history::{difference, plain};
use super::http::{Connection, Request};
use super::proxy::{Proxy, Way};
use super::reader::{Seen, Stream};
use super::service::{Place, run_of};
use crate::error::HarnessError;
use crate::ground::Ground;

/// Input of all runs, so that their logs are equal.
const INPUT: &str = "Please pay, part 7";
/// Number of readers of a run that are cut at neighbouring bytes.
const READERS: usize = 12;
/// Number of runs at once behind the proxy.
const AT_ONCE: u64 = 8;
/// Time after which a reader behind the proxy takes silence for a cut.
const SILENCE: Duration = Duration::from_millis(300);
/// Most connections of a reader to one run.
const CONNECTIONS: u32 = 10_000;

/// How often.
#[derive(Clone, Copy, Debug)]
pub(super) struct CutPlan {
    /// Every nth byte.
    pub(super) every: usize,
    /// Cuts by the proxy.
    pub(super) cuts: u64,
    pub(super) seed: u64,
}

/// The outcome of cuts.
#[derive(Clone, Debug, Default)]
pub(super) struct CutReport {
    /// Length of the reply to a start, in bytes.
    start_bytes: usize,
    /// Cuts of that reply.
    starts: u64,
    /// Length of the stream, in bytes.
    stream_bytes: usize,
    /// Cuts of streams.
    streams: u64,
    /// Cuts by the proxy: orderly, reset, silent.
    random: [u64; 3],
    /// Runs behind the proxy.
    runs: u64,
    /// Pieces of replies that readers saw.
    pieces: u64,
}

impl fmt::Display for CutReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [fin, reset, silence] = self.random;
        write!(
            f,
            "{} cuts in the {} bytes of the reply to a start and {} in the {} bytes of a stream, by FIN, reset and silence; a proxy cut \
             {} connections at random bytes ({fin} FIN, {reset} resets, {silence} silent) under {} runs; each log as undisturbed, each \
             reader saw an unbroken sequence ({} pieces), each key began one run",
            self.starts,
            self.start_bytes,
            self.streams,
            self.stream_bytes,
            fin + reset + silence,
            self.runs,
            self.pieces
        )
    }
}

/// Plays.
pub(super) fn play(ground: &Ground, plan: CutPlan) -> Result<CutReport, HarnessError> {
    let place = Place::new(ground, "cut", &json!({ "limits": { "waiting": 100_000, "at_once": 128 } }))?;
    let played = place.start().and_then(|mut service| {
        let report = Cuts::new(&place)?.play(plan)?;
        service.lives()?;
        Ok(report)
    });
    played.map_err(|breach| place.broken("cut connections", breach))
}

/// Sets the end of a connection going.
fn cut(connection: Connection, way: Way, silent: &mut Vec<Connection>) {
    match way {
        Way::Fin => {
            // It may be closed already.
            let _ended = connection.socket.shutdown(Shutdown::Both);
        }
        Way::Reset => connection.reset(),
        Way::Silence => silent.push(connection),
    }
}

struct Cuts<'p> {
    place: &'p Place,
    /// The events of a run that nobody disturbed.
    undisturbed: Vec<Value>,
    report: CutReport,
}

fn start(key: &str) -> Request {
    Request::post("/v1/runs", &json!({ "agent": agents::CLERK, "input": INPUT })).key(key)
}

impl<'p> Cuts<'p> {
    fn new(place: &'p Place) -> Result<Self, String> {
        let run = place.begin(agents::CLERK, INPUT, Some("undisturbed"))?;
        place.ended(&run)?;
        let undisturbed = plain(&place.events(&run)?);
        let cuts = Self { place, undisturbed, report: CutReport::default() };
        // What nobody disturbs is always the same; else nothing that follows means anything.
        let again = place.begin(agents::CLERK, INPUT, Some("undisturbed again"))?;
        cuts.as_undisturbed(&again)?;
        Ok(cuts)
    }

    fn as_undisturbed(&self, run: &str) -> Result<(), String> {
        self.place.ended(run)?;
        self.same(run, &self.place.events(run)?)
    }

    fn same(&self, run: &str, events: &[Value]) -> Result<(), String> {
        difference(&self.undisturbed, &plain(events))
            .map_or(Ok(()), |difference| Err(format!("the run {run}: {difference}")))
    }

    fn play(mut self, plan: CutPlan) -> Result<CutReport, String> {
        self.starts(plan.every)?;
        self.streams(plan.every)?;
        self.proxied(plan)?;
        // One run for each key, and no other.
        let receipts = self.place.receipts()?;
        let mut paid: BTreeMap<&str, u32> = BTreeMap::new();
        for receipt in &receipts {
            *paid.entry(&receipt.run).or_default() += 1;
        }
        let runs = self.place.runs("")?;
        if let Some((run, count)) = paid.iter().find(|(_, count)| **count != 1) {
            return Err(format!("the run {run} has paid {count} times"));
        }
        if paid.len() != runs.len() {
            return Err(format!("{} runs, {} have paid", runs.len(), paid.len()));
        }
        Ok(self.report)
    }

    /// The reply to a start, cut at every nth byte.
    fn starts(&mut self, every: usize) -> Result<(), String> {
        let server = self.place.address();
        let request = |key: &str| start(key).token(&self.place.token).bytes();
        let mut whole = Connection::open(server)?;
        whole.send(&[request("whole").as_slice()].concat())?;
        let (mut length, mut piece) = (0, [0; 4096]);
        whole.socket.set_read_timeout(Some(Duration::from_millis(500))).map_err(|error| error.to_string())?;
        while let Ok(read @ 1..) = whole.socket.read(&mut piece) {
            length += read;
        }
        self.report.start_bytes = length;
        let (mut keys, mut silent) = (Vec::new(), Vec::new());
        for (way, at) in
            Way::ALL.into_iter().flat_map(|way| (0..=length).step_by(every).map(move |at| (way, at)))
        {
            let key = format!("start-{way:?}-{at}");
            let mut connection = Connection::open(server)?;
            connection.send(&request(&key))?;
            let mut piece = vec![0; at];
            connection
                .socket
                .read_exact(&mut piece)
                .map_err(|error| format!("byte {at} of {length}: {error}"))?;
            cut(connection, way, &mut silent);
            keys.push(key);
        }
        let before = self.place.runs("")?.len();
        for key in &keys {
            let run = run_of(&self.place.ask(start(key))?.expect(&[200, 201, 202])?)?;
            self.as_undisturbed(&run)?;
        }
        self.report.starts = keys.len() as u64;
        // What was cut before its first byte may have begun with the repeat: all others had their runs.
        let after = self.place.runs("")?.len();
        if after - before > Way::ALL.len() {
            return Err(format!("{} runs began only when their starts were repeated", after - before));
        }
        Ok(())
    }

    /// The stream of a run that goes on, cut at every nth byte.
    fn streams(&mut self, every: usize) -> Result<(), String> {
        let server = self.place.address();
        let run = self.place.begin(agents::CLERK, INPUT, Some("measured"))?;
        let mut stream = Stream::open(server, &self.place.token, &run, None)?;
        Seen::default().read(&mut stream)?;
        self.report.stream_bytes = stream.read;
        let offsets: Vec<(Way, usize)> = Way::ALL
            .into_iter()
            .flat_map(|way| (0..=stream.read).step_by(every).map(move |at| (way, at)))
            .collect();
        for (number, group) in offsets.chunks(READERS).enumerate() {
            let run = self.place.begin(agents::CLERK, INPUT, Some(&format!("stream-{number}")))?;
            let token = &self.place.token;
            let read = |(way, at): (Way, usize)| followed(server, token, &run, way, at);
            let seen: Vec<Result<Seen, String>> = thread::scope(|scope| {
                let readers: Vec<_> = group.iter().map(|one| scope.spawn(|| read(*one))).collect();
                let joined = readers.into_iter().map(thread::ScopedJoinHandle::join);
                joined.map(|seen| seen.unwrap_or_else(|_| Err("a reader panicked".to_owned()))).collect()
            });
            for (seen, (way, at)) in seen.into_iter().zip(group) {
                let seen =
                    seen.map_err(|error| format!("{way:?} at byte {at} of the stream of {run}: {error}"))?;
                self.same(&run, &seen.events)
                    .map_err(|error| format!("{way:?} at byte {at}, seen: {error}"))?;
                self.report.pieces += seen.pieces;
            }
            self.as_undisturbed(&run)?;
        }
        self.report.streams = offsets.len() as u64;
        Ok(())
    }

    /// Runs whose clients sit behind the proxy.
    fn proxied(&mut self, plan: CutPlan) -> Result<(), String> {
        let proxy = Proxy::start(self.place.address(), plan.seed, self.report.stream_bytes as u64)?;
        let (next, pieces) = (AtomicU64::new(0), AtomicU64::new(0));
        let cuts = || proxy.cuts().iter().sum::<u64>();
        let work = || -> Result<(), String> {
            while cuts() < plan.cuts {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let (run, seen) = behind(&proxy, &self.place.token, number)?;
                self.same(&run, &seen.events).map_err(|error| format!("seen behind the proxy: {error}"))?;
                self.as_undisturbed(&run)?;
                pieces.fetch_add(seen.pieces, Ordering::Relaxed);
            }
            Ok(())
        };
        let done: Vec<Result<(), String>> = thread::scope(|scope| {
            let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
            let joined = workers.into_iter().map(thread::ScopedJoinHandle::join);
            joined.map(|done| done.unwrap_or_else(|_| Err("a client panicked".to_owned()))).collect()
        });
        done.into_iter().collect::<Result<Vec<()>, _>>()?;
        self.report.random = proxy.cuts();
        self.report.runs = next.into_inner();
        self.report.pieces += pieces.into_inner();
        Ok(())
    }
}

/// Follows a run, is cut at a byte, and comes back.
fn followed(server: SocketAddr, token: &str, run: &str, way: Way, at: usize) -> Result<Seen, String> {
    let (mut seen, mut silent) = (Seen::default(), Vec::new());
    let mut stream = Stream::open(server, token, run, None)?.at_most(at);
    seen.read(&mut stream)?;
    cut(stream.connection, way, &mut silent);
    let mut stream = Stream::open(server, token, run, seen.position.as_deref())?;
    if seen.read(&mut stream)? || !seen.is_finished() {
        return Err(format!("the stream ended with {:?} after {} bytes", seen.end, stream.read));
    }
    Ok(seen)
}

/// Starts a run behind the proxy and follows it to its end, however often both are cut.
fn behind(proxy: &Proxy, token: &str, number: u64) -> Result<(String, Seen), String> {
    let key = format!("proxy-{number}");
    let mut tries = 0..CONNECTIONS;
    let started = loop {
        tries.next().ok_or("a start that never came through")?;
        let reply = Connection::open(proxy.address).and_then(|mut connection| {
            connection.socket.set_read_timeout(Some(SILENCE)).map_err(|error| error.to_string())?;
            connection.exchange(&start(&key).token(token).bytes())
        });
        if let Ok(reply) = reply {
            break reply.expect(&[200, 201, 202])?;
        }
    };
    let run = run_of(&started)?;
    let mut seen = Seen::default();
    while !seen.is_finished() {
        tries
            .next()
            .ok_or_else(|| format!("a stream of {run} that never came through: {:?}", seen.position))?;
        let stream = Stream::open(proxy.address, token, &run, seen.position.as_deref());
        if let Ok(mut stream) = stream.and_then(|stream| stream.patient_for(SILENCE)) {
            seen.read(&mut stream)?;
        }
    }
    Ok((run, seen))
}
