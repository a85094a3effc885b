//! A wire whose decoders remember what they said: an event that comes again behind the same events is not decoded again.
//!
//! A decoder is given nothing but the data of events, one after another, so that the same events give the same. Most cuts of a
//! body change none of its events, and those that do change the last one.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use windlass_core::model::{Reply, Usage};
use windlass_models::wires::{Asked, Decode, DecodeError, Dialect, Encoding, Wire, WireFacts};
use windlass_models::{Delta, ModelRequest};

/// The wire around another one, for one dialect.
pub struct Remembered {
    wire: &'static dyn Wire,
    states: Arc<Mutex<Vec<State>>>,
}

/// A decoder's state after some events.
struct State {
    /// The state before the last event, and that event.
    before: Option<(usize, Vec<u8>)>,
    after: HashMap<Vec<u8>, usize>,
    /// What the last event gave.
    given: Vec<Delta>,
    result: Result<(), DecodeError>,
    done: bool,
    finished: bool,
    usage: Option<Usage>,
    end: Option<(bool, Vec<Delta>)>,
}

impl State {
    fn of(decoder: &dyn Decode, before: Option<(usize, Vec<u8>)>) -> Self {
        Self {
            before,
            after: HashMap::new(),
            given: Vec::new(),
            result: Ok(()),
            done: decoder.is_done(),
            finished: decoder.is_finished(),
            usage: None,
            end: None,
        }
    }
}

impl Remembered {
    pub fn new(wire: &'static dyn Wire, dialect: &Dialect) -> Self {
        let first = State::of(&*wire.decoder(dialect), None);
        Self { wire, states: Arc::new(Mutex::new(vec![first])) }
    }
}

impl fmt::Debug for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.wire.fmt(f)
    }
}

impl Wire for Remembered {
    fn takes(&self, dialect: &Dialect, part: &windlass_core::message::Part) -> bool {
        self.wire.takes(dialect, part)
    }

    fn facts(&self) -> &WireFacts {
        self.wire.facts()
    }

    fn path(&self, model: &str, stream: bool) -> Cow<'static, str> {
        self.wire.path(model, stream)
    }

    fn encode(&self, dialect: &Dialect, request: &ModelRequest) -> Encoding {
        self.wire.encode(dialect, request)
    }

    fn decode(&self, dialect: &Dialect, body: &[u8], asked: &Asked) -> Result<Reply, DecodeError> {
        self.wire.decode(dialect, body, asked)
    }

    fn decoder(&self, dialect: &Dialect) -> Box<dyn Decode> {
        let (wire, states) = (self.wire, self.states.clone());
        Box::new(Follower { wire, dialect: dialect.clone(), states, at: 0, live: None })
    }

    fn model_names(&self, body: &[u8]) -> Result<Vec<String>, DecodeError> {
        self.wire.model_names(body)
    }
}

/// A decoder that goes from one remembered state to the next.
struct Follower {
    wire: &'static dyn Wire,
    dialect: Dialect,
    states: Arc<Mutex<Vec<State>>>,
    at: usize,
    /// A decoder that is in the state `at`.
    live: Option<Box<dyn Decode>>,
}

impl Follower {
    fn states(&self) -> MutexGuard<'_, Vec<State>> {
        self.states.lock().expect("not poisoned")
    }

    /// A decoder in the state where this one is.
    fn living(&mut self) -> Box<dyn Decode> {
        if let Some(live) = self.live.take() {
            return live;
        }
        let mut events = Vec::new();
        {
            let states = self.states();
            let mut at = self.at;
            while let Some((before, event)) = &states[at].before {
                events.push(event.clone());
                at = *before;
            }
        }
        let mut decoder = self.wire.decoder(&self.dialect);
        for event in events.iter().rev() {
            decoder.event(event, &mut VecDeque::new()).ok();
        }
        decoder
    }
}

impl Decode for Follower {
    fn event(&mut self, data: &[u8], out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let known = self.states()[self.at].after.get(data).copied();
        let next = if let Some(known) = known {
            self.live = None;
            known
        } else {
            let mut decoder = self.living();
            let mut given = VecDeque::new();
            let result = decoder.event(data, &mut given);
            let state = State::of(&*decoder, Some((self.at, data.to_vec())));
            let mut states = self.states();
            let next = states.len();
            states.push(State { given: given.into(), result, ..state });
            let at = self.at;
            states[at].after.insert(data.to_vec(), next);
            drop(states);
            self.live = Some(decoder);
            next
        };
        self.at = next;
        let states = self.states();
        out.extend(states[next].given.iter().cloned());
        states[next].result.clone()
    }

    fn is_done(&self) -> bool {
        self.states()[self.at].done
    }

    fn is_finished(&self) -> bool {
        self.states()[self.at].finished
    }

    fn usage(&self, content_bytes: usize) -> Usage {
        if let Some(usage) = self.states()[self.at].usage {
            return usage;
        }
        // A decoder elsewhere in the same state.
        let (wire, dialect, states) = (self.wire, self.dialect.clone(), self.states.clone());
        let usage = Self { wire, dialect, states, at: self.at, live: None }.living().usage(content_bytes);
        self.states()[self.at].usage = Some(usage);
        usage
    }

    fn end(&mut self, content_bytes: usize, out: &mut VecDeque<Delta>) -> bool {
        let known = self.states()[self.at].end.clone();
        let (whole, given) = known.unwrap_or_else(|| {
            let mut given = VecDeque::new();
            let whole = self.living().end(content_bytes, &mut given);
            let end = (whole, Vec::from(given));
            self.states()[self.at].end = Some(end.clone());
            end
        });
        out.extend(given);
        whole
    }
}
