//! Requests that no client may send, on every route: each has a reply with the one error body and a status below 500.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::agents;
use super::http::{Connection, Request};
use super::probes::{dripped, judged, refused, status_of};
use super::routes::{NOWHERE, Route, routes};
use super::service::{Place, Service};
use crate::chance::Chance;
use crate::error::HarnessError;
use crate::ground::Ground;

/// Bytes of a body that the server under test takes.
const BODY_BYTES: usize = 1 << 20;
/// Milliseconds that it waits for a head and for a body.
const SLOW_MS: u64 = 1_500;
/// Levels of deep JSON.
const LEVELS: usize = 100_000;
/// Number of requests on each route whose sender ends its sending.
const ENDED: usize = 10;
/// Maximum length of a fault's text.
const LONGEST_FAULT: usize = 700;

/// The outcome of malformed requests.
#[derive(Clone, Debug, Default)]
pub(super) struct MalformedReport {
    /// Number of routes.
    routes: usize,
    /// Number of requests.
    requests: u64,
    /// Of those, requests with random bytes in random places.
    random: u64,
    /// How often each status was seen.
    statuses: BTreeMap<u16, u64>,
}

impl fmt::Display for MalformedReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statuses: Vec<_> =
            self.statuses.iter().map(|(status, count)| format!("{status} {count} times")).collect();
        write!(
            f,
            "{} requests on {} routes, {} of them with random bytes: {}; none without a reply",
            self.requests,
            self.routes,
            self.random,
            statuses.join(", ")
        )
    }
}

/// All malformed requests of the campaign, with so many random ones on each route.
pub(super) fn play(ground: &Ground, seed: u64, random: u64) -> Result<MalformedReport, HarnessError> {
    let settings = json!({
        "requests": { "body_bytes": BODY_BYTES, "head_ms": SLOW_MS, "body_ms": SLOW_MS },
        "limits": { "waiting": 100_000 },
    });
    let place = Place::new(ground, "malformed", &settings)?;
    let played = place.start().and_then(|service| Malformed::new(&place, service, seed)?.play(random));
    played.map_err(|breach| place.broken("malformed requests", breach))
}

/// Faults as one text, equal ones with their number.
fn faults(faults: &[String]) -> String {
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for fault in faults {
        *counted.entry(fault).or_default() += 1;
    }
    let lines = counted.iter().map(|(fault, count)| format!("\n{count} times: {fault}"));
    format!("{} faults:{}", faults.len(), lines.collect::<String>())
}

struct Malformed<'p> {
    place: &'p Place,
    service: Service<'p>,
    chance: Chance,
    run: String,
    report: MalformedReport,
    /// The faults that were found: all are shown.
    faults: Vec<String>,
}

impl<'p> Malformed<'p> {
    fn new(place: &'p Place, service: Service<'p>, seed: u64) -> Result<Self, String> {
        let run = place.begin(agents::PARROT, "hello", None)?;
        place.ended(&run)?;
        Ok(Self {
            place,
            service,
            chance: Chance::new(seed),
            run,
            report: MalformedReport::default(),
            faults: Vec::new(),
        })
    }

    fn play(mut self, random: u64) -> Result<MalformedReport, String> {
        let routes = routes(self.place)?;
        self.report.routes = routes.len();
        for route in &routes {
            self.on_any(route);
            if route.takes_body {
                self.bodies(route)?;
                self.fields(route);
            }
            self.queries(route);
            for _ in 0..random {
                self.random(route);
            }
            self.service.lives()?;
        }
        self.slow(&routes);
        self.heads()?;
        // Whoever is well sees a server that is well.
        let run = self.place.begin(agents::PARROT, "hello", None)?;
        self.place.ended(&run)?;
        self.service.lives()?;
        if self.faults.is_empty() { Ok(self.report) } else { Err(faults(&self.faults)) }
    }

    fn server(&self) -> SocketAddr {
        self.place.address()
    }

    /// Counts what came of a request.
    fn count(&mut self, judged: Result<u16, String>) {
        self.report.requests += 1;
        match judged {
            Ok(status) => *self.report.statuses.entry(status).or_default() += 1,
            Err(fault) => self.faults.push(fault.chars().take(LONGEST_FAULT).collect()),
        }
    }

    fn refuse(&mut self, what: &str, request: &Request) {
        self.count(refused(&format!("{}, {what}", request.name()), request.send(self.server())));
    }

    fn refuse_bytes(&mut self, what: &str, bytes: &[u8]) {
        let reply = Connection::open(self.server()).and_then(|mut connection| connection.exchange(bytes));
        self.count(refused(what, reply));
    }

    /// Requests that no route takes.
    fn on_any(&mut self, route: &Route) {
        let token = self.place.token.clone();
        for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "get"] {
            self.refuse("a wrong method", &Request::new(method, route.path(&self.run)).token(&token));
        }
        let other = if route.method == "GET" { "POST" } else { "GET" };
        if route.template != "/v1/runs" {
            self.refuse("a wrong method", &Request::new(other, route.path(&self.run)).token(&token));
        }
        // A client that ends its sending behind the request still reads.
        for _ in 0..ENDED {
            let request = Request::new(&route.method, route.path(NOWHERE)).token(&token);
            let status = status_of(self.server(), &request.bytes(), true);
            self.count(status.map_err(|error| format!("{}, then an end: {error}", request.name())));
        }
        for path in ["/%ff%fe", "/..%2f..", "/%00", "//", "/x/"] {
            let path = format!("{}{path}", route.path(&self.run));
            self.refuse("a path that is nowhere", &Request::new(&route.method, path).token(&token));
        }
        for run in [
            NOWHERE,
            "x",
            "%ff",
            "%00",
            "-1",
            "99999999999999999999999999",
            "..",
            "%2e%2e",
            &"a".repeat(9_000),
        ] {
            if route.template.contains("{run}") {
                self.refuse(
                    "a run that is nowhere",
                    &Request::new(&route.method, route.path(run)).token(&token),
                );
            }
        }
        for part in ["%ff", "%00", &"a".repeat(9_000)] {
            let path = route.path(&self.run).replace(agents::CLERK, part).replace("talk", part);
            if path != route.path(&self.run) {
                self.refuse("a part that is nowhere", &Request::new(&route.method, path).token(&token));
            }
        }
    }

    fn bodies(&mut self, route: &Route) -> Result<(), String> {
        let token = self.place.token.clone();
        let run = self.run.clone();
        let base = || route.request(&run, &token);
        let typed = |body: Vec<u8>| base().header("content-type", "application/json").body(body);
        let deep =
            |open: &str, close: &str| [open.repeat(LEVELS), close.repeat(LEVELS)].concat().into_bytes();
        let bad: [(&str, Vec<u8>); 18] = [
            ("bad JSON", b"{".to_vec()),
            ("bad JSON", b"{\"agent\": }".to_vec()),
            ("words", b"hello".to_vec()),
            ("a list", b"[]".to_vec()),
            ("a list of what may be fields", b"[\"parrot\", \"x\"]".to_vec()),
            ("a number", b"1".to_vec()),
            ("null", b"null".to_vec()),
            ("a text", b"\"x\"".to_vec()),
            ("two values", b"{}{}".to_vec()),
            ("NaN", b"{\"seen\": NaN}".to_vec()),
            ("bytes that are no UTF-8", b"{\"agent\": \"\xff\xfe\"}".to_vec()),
            ("half a surrogate", b"{\"agent\": \"\\ud800\"}".to_vec()),
            ("UTF-16", b"\xff\xfe{\0}\0".to_vec()),
            ("a mark of byte order", b"\xef\xbb\xbf{}".to_vec()),
            ("deep lists", deep("[", "]")),
            ("deep objects", deep("{\"a\":", "}")),
            ("deep lists without an end", "[".repeat(LEVELS).into_bytes()),
            ("an unknown field", b"{\"unknown\": 1}".to_vec()),
        ];
        for (what, body) in bad {
            if route.template == "/v1/reload" && what == "an unknown field" {
                continue;
            }
            self.refuse(what, &typed(body));
        }
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "x",
            "\u{fc}",
        ] {
            self.refuse("a wrong content type", &base().header("content-type", kind).body("{\"a\":1}"));
        }
        self.refuse("no content type", &base().body("{\"a\":1}"));
        self.huge(route)
    }

    fn huge(&mut self, route: &Route) -> Result<(), String> {
        let token = self.place.token.clone();
        let run = self.run.clone();
        let base = || route.request(&run, &token).header("content-type", "application/json");
        let (announced, chunked) =
            (base().header("content-length", "99999999999"), base().header("transfer-encoding", "chunked"));
        let sent = base().body(vec![b' '; BODY_BYTES + 1]);
        let expected = base().header("content-length", "99999999").header("expect", "100-continue");
        self.refuse("a huge body", &sent);
        self.refuse("a huge body that only its length tells of", &announced);
        self.refuse("a huge body that waits for leave", &expected);
        let mut bytes = chunked.bytes();
        let chunk =
            [format!("{:x}\r\n", 1 << 16).into_bytes(), vec![b' '; 1 << 16], b"\r\n".to_vec()].concat();
        bytes.extend(std::iter::repeat_n(chunk, BODY_BYTES / (1 << 16) + 4).flatten());
        self.refuse_bytes(&format!("{}, a huge body in chunks", chunked.name()), &bytes);
        for chunk in ["zz\r\n", "-1\r\n", "ffffffffffffffffff\r\n", "5\r\nabc", "5;a=b\r\nabcdeXX"] {
            let bytes = [chunked.bytes(), chunk.as_bytes().to_vec()].concat();
            self.refuse_half(&format!("{}, a bad chunk", chunked.name()), &bytes)?;
        }
        let half = base().header("content-length", "100").body("{\"a\":");
        self.refuse_half(&format!("{}, half a body, then an end", half.name()), &half.bytes())
    }

    /// Sends half a request and ends the sending: a reply still comes.
    fn refuse_half(&mut self, what: &str, bytes: &[u8]) -> Result<(), String> {
        let mut connection = Connection::open(self.server())?;
        connection.send(bytes)?;
        let ended = connection.socket.shutdown(std::net::Shutdown::Write);
        ended.map_err(|error| error.to_string())?;
        self.count(refused(what, connection.reply()));
        Ok(())
    }

    /// Each field of a good body with values of other types.
    fn fields(&mut self, route: &Route) {
        let token = self.place.token.clone();
        let good = match route.template.as_str() {
            "/v1/runs" => {
                json!({ "agent": "parrot", "input": "x", "session": null, "only_tools": null, "wait_ms": 0 })
            }
            "/v1/runs/{run}/answer" => json!({ "question": "q1@00", "answer": "approve" }),
            "/v1/runs/{run}/steer" => json!({ "message": "x", "seen": 1 }),
            "/v1/runs/{run}/fork" => json!({ "at": 1, "agent": null, "message": null, "session": null }),
            "/v1/runs/{run}/resume" => json!({ "message": null, "limits": {}, "with": null, "seen": 1 }),
            _ => json!({ "reason": null, "seen": 1 }),
        };
        let wrong = [
            json!(-1),
            json!(1e300),
            json!(18_446_744_073_709_551_615_u64),
            json!(-9_223_372_036_854_775_808_i64),
            json!(1.5),
            json!(true),
            json!([[]]),
            json!({ "x": { "y": [] } }),
            json!([1, "x"]),
            json!("\u{0}"),
        ];
        let huge_number: Value = serde_json::from_str("1e308").unwrap_or_default();
        for name in good.as_object().into_iter().flatten().map(|(name, _)| name) {
            for value in wrong.iter().chain([&huge_number]) {
                let mut body = good.clone();
                if let Some(field) = body.get_mut(name) {
                    *field = value.clone();
                }
                let request = Request::post(route.path(&self.run), &body).token(&token);
                let what = format!("{}, `{name}` is {value}", request.name());
                // Some fit: a text is one, whatever it says.
                let reply = request.send(self.server()).map_err(|error| format!("{what}: no reply: {error}"));
                self.count(reply.and_then(|reply| judged(&what, &reply)));
            }
        }
    }

    fn queries(&mut self, route: &Route) {
        let token = self.place.token.clone();
        let path = route.path(&self.run);
        // What is open to all takes no query, and what follows would hold its reply back.
        let bad = [
            "limit=-1",
            "limit=0",
            "limit=99999999999999999999",
            "limit=x",
            "limit=1.5",
            "limit=",
            "after=x",
            "after=%ff",
            "after=",
            "from=-1",
            "from=99999999999999999999",
            "from=x",
            "from=%ff",
            "from=1.2.3",
            "since=-1",
            "since=x",
            "until=99999999999999999999",
            "status=x",
            "parent=x",
            "wait_ms=-1",
            "wait_ms=999999999",
            "with=x",
            "with=",
            "limit=1&limit=2",
            "unknown=1",
            "%ff=%fe",
            "=",
            "a=b&a=b&a=b",
            "limit[]=1",
        ];
        for query in bad {
            let request = Request::new(&route.method, format!("{path}?{query}")).token(&token);
            let what = format!("{}, a bad query", request.name());
            self.count(self.queried(&what, &request));
        }
        let long = format!("{path}?{}", "a".repeat(20_000));
        let request = Request::new(&route.method, long).token(&token);
        self.count(self.queried(&format!("{} {}, a long query", route.method, route.template), &request));
    }

    /// The status of a reply to a query. A stream has no end; its head says all.
    fn queried(&self, what: &str, request: &Request) -> Result<u16, String> {
        let mut connection = Connection::open(self.server())?;
        connection.send(&request.bytes())?;
        let head = connection.head().map_err(|error| format!("{what}: no reply: {error}"))?;
        if head.status >= 400 { refused(what, request.send(self.server())) } else { Ok(head.status) }
    }

    /// Requests that come a byte at a time, and never whole, on all routes at once.
    fn slow(&mut self, routes: &[Route]) {
        let token = self.place.token.clone();
        let mut requests = Vec::new();
        for route in routes {
            let name = |what: &str| format!("{} {}, {what}", route.method, route.template);
            requests.push((name("a slow head"), route.request(&self.run, &token).bytes(), 5));
            if route.takes_body {
                let body = route.request(&self.run, &token).header("content-type", "application/json");
                let bytes = body.header("content-length", "1000").bytes();
                let head = bytes.len();
                requests.push((name("a slow body"), bytes, head));
            }
        }
        let (server, patience) = (self.server(), Duration::from_millis(SLOW_MS) * 4);
        let send = |(what, bytes, at_once): &(String, Vec<u8>, usize)| {
            refused(what, dripped(server, bytes, *at_once, patience))
        };
        let judged: Vec<Result<u16, String>> = thread::scope(|scope| {
            let senders: Vec<_> = requests.iter().map(|one| scope.spawn(|| send(one))).collect();
            let joined = senders.into_iter().map(thread::ScopedJoinHandle::join);
            joined.map(|one| one.unwrap_or_else(|_| Err("a sender panicked".to_owned()))).collect()
        });
        for judged in judged {
            self.count(judged);
        }
    }

    /// A good request with random bytes in random places. Whatever it is then, the server answers, or closes what it cannot read.
    fn random(&mut self, route: &Route) {
        let body = json!({ "agent": "parrot", "input": "x", "question": "q1@0", "answer": "approve", "message": "x", "at": 1 });
        let mut request = route.request(&self.run, &self.place.token.clone()).header("connection", "close");
        if route.takes_body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let mut bytes = request.bytes();
        for _ in 0..=self.chance.below(3) {
            let place = self.chance.below(bytes.len() as u64) as usize;
            if let Some(byte) = bytes.get_mut(place) {
                *byte = self.chance.below(256) as u8;
            }
        }
        let what = format!("random bytes: {:?}", String::from_utf8_lossy(&bytes));
        self.report.random += 1;
        self.count(status_of(self.server(), &bytes, false).map_err(|error| format!("{what}: {error}")));
    }

    /// Heads that are none.
    fn heads(&mut self) -> Result<(), String> {
        let (many, long) = ("x: y\r\n".repeat(1_000), "x".repeat(1 << 20));
        let heads: [(&str, String); 14] = [
            ("garbage", "GARBAGE\r\n\r\n".to_owned()),
            ("bytes of TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\r\n\r\n".to_owned()),
            ("HTTP/2 at once", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
            ("1,000 headers", format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{many}\r\n")),
            (
                "a header of a megabyte",
                format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx: {long}\r\n\r\n"),
            ),
            ("a path of a megabyte", format!("GET /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n")),
            ("no host", "GET /health HTTP/1.1\r\n\r\n".to_owned()),
            (
                "a length that is none",
                "POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-length: x\r\n\r\n".to_owned(),
            ),
            (
                "a length below zero",
                "POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n".to_owned(),
            ),
            (
                "two lengths",
                "POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"
                    .to_owned(),
            ),
            (
                "an unknown coding",
                "POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: x\r\n\r\n".to_owned(),
            ),
            ("a header without a name", "GET /health HTTP/1.1\r\nhost: localhost\r\n: x\r\n\r\n".to_owned()),
            ("an unknown version", "GET /health HTTP/9.9\r\nhost: localhost\r\n\r\n".to_owned()),
            ("a tunnel", "CONNECT 127.0.0.1:80 HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned()),
        ];
        for (what, head) in heads {
            self.refuse_bytes(what, head.as_bytes());
        }
        let length_and_chunks = "POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
        self.refuse_bytes("length and chunks at once", length_and_chunks.as_bytes());
        self.pipelined()
    }

    /// Two good requests and garbage on one connection: two good replies, then an error.
    fn pipelined(&mut self) -> Result<(), String> {
        let mut connection = Connection::open(self.server())?;
        let good = Request::get("/health").bytes();
        connection.send(&[&good, &good, b"\x00\xffGARBAGE\r\n\r\n".as_slice()].concat())?;
        for _ in 0..2 {
            let good = connection.reply().and_then(|reply| reply.expect(&[200]));
            self.count(good.map(|_| 200));
        }
        self.count(refused("garbage behind two requests", connection.reply()));
        Ok(())
    }
}
