//! Following a run: as an event stream, or by long polls.

use std::pin::pin;
use std::time::Duration;

use http::HeaderMap;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_api::{EndReason, Positioned, StreamEnd, Update, Updates};
use windlass_core::event::RunFact;
use windlass_core::{Fact, RunId, RunState};
use windlass_error::{Diagnostic as _, in_full};
use windlass_runtime::Update as Live;
use windlass_runtime::host::{Follower, Position};
use windlass_text::secret::mask;

use super::forms::{OfRun, seen};
use super::runs::{with_cause, without_cause};
use super::starting::check_wait;
use crate::error::Error;
use crate::http::encoded::Of;
use crate::http::reply::Json;
use crate::http::route::Call;
use crate::http::server::Server;
use crate::http::stream::{Cut, EventStream, Next, Source, StreamEvent};

/// The header with which a client comes back to an event stream.
const LAST_EVENT_ID: &str = "last-event-id";
/// The time after which it is looked whether a run that brings nothing waits, and the longest one between two looks.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// The wait of a poll that names none, in milliseconds.
const DEFAULT_POLL_MS: u64 = 8_000;
/// The most updates of a poll.
const POLLED: usize = 1_000;
/// About the most bytes of a poll: an append is not cut.
const POLLED_BYTES: usize = 1 << 20;

/// From where a run is followed, and how long.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct StreamFrom {
    /// The position after which it begins. `Last-Event-ID` takes its place. Default: the run's beginning.
    from: Option<String>,
    /// The number of the event with which it begins, where no position is given.
    from_event: Option<u64>,
    /// Whether the stream ends, too, once the run waits for something outside. Default: false.
    until_waiting: bool,
    /// Whether the first event of each append comes with the input that caused the append. Default: false.
    causes: bool,
}

/// From where a run is polled.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PollFrom {
    /// The position after which it begins. Default: the run's beginning.
    from: Option<String>,
    /// How long the reply waits for something new, in milliseconds, up to 10,000. Default: 8,000.
    #[schemars(range(max = 10_000))]
    wait_ms: Option<u64>,
}

fn position(text: Option<&str>) -> Result<Position, Error> {
    let Some(text) = text else { return Ok(Position::default()) };
    let unfit = |error: windlass_runtime::host::NoPosition| Error::Value {
        what: "the position",
        fault: error.to_string(),
    };
    text.parse().map_err(unfit)
}

fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT_ID)?.to_str().ok().filter(|id| !id.is_empty())
}

pub(super) async fn stream(call: Call<OfRun, StreamFrom>) -> Result<EventStream, Error> {
    let line = seen(&call, call.path.run).await?;
    let StreamFrom { from, from_event, until_waiting, causes } = &call.query;
    let from = match last_event_id(&call.headers).or(from.as_deref()) {
        None => Position::after(from_event.unwrap_or(1).saturating_sub(1)),
        given => position(given)?,
    };
    let follower = call.caller.host(&call.server).follow(line.run, from).await?;
    let (server, until_waiting, causes) = (call.server.clone(), *until_waiting, *causes);
    let following = Following { server: server.clone(), follower, until_waiting, causes };
    Ok(EventStream::of(&server, following, from.to_string()))
}

/// A run that is followed.
struct Following {
    server: Server,
    follower: Follower,
    until_waiting: bool,
    causes: bool,
}

impl Source for Following {
    async fn next(mut self) -> (Self, Next) {
        let before = self.follower.position();
        let (server, run) = (self.server.clone(), self.follower.run());
        let next = {
            // It is not asked again after it was left: the stream ends then.
            let mut next = pin!(self.follower.next());
            let mut rest = FIRST_LOOK;
            loop {
                tokio::select! {
                    biased;
                    next = &mut next => break Some(next),
                    // A run comes to rest a moment after its last event.
                    () = tokio::time::sleep(rest), if self.until_waiting => {
                        if waits(&server, run, before.version).await {
                            break None;
                        }
                        rest = (rest * 2).min(LONGEST_LOOK);
                    }
                }
            }
        };
        let next = match next {
            Some(Ok(Some((position, update)))) => Next::Event(self.event(&position, &update)),
            Some(Ok(None)) => {
                Next::Last(ended(EndReason::Finished, &self.follower.position().to_string(), None))
            }
            Some(Err(error)) => {
                let words = mask(&in_full(&error)).into_owned();
                Next::Last(ended(EndReason::Failed, &self.follower.position().to_string(), Some(words)))
            }
            None => Next::Last(ended(EndReason::Waiting, &before.to_string(), None)),
        };
        (self, next)
    }

    fn cut(position: &str, why: Cut) -> StreamEvent {
        let reason = match why {
            Cut::Closing => EndReason::Restarting,
            Cut::Expired => EndReason::Expired,
        };
        ended(reason, position, None)
    }
}

impl Following {
    /// An update as it is sent. Those who read an append at the same moment share its bytes.
    fn event(&self, position: &Position, update: &Live) -> StreamEvent {
        let Live::Events(batch) = update else { return event(position, &form(update, self.causes)) };
        let of = Of { run: self.follower.run(), first: batch.first, with_cause: self.causes };
        // All keys of an update are texts.
        let encode = || serde_json::to_vec(&form(update, self.causes)).unwrap_or_default();
        let data = self.server.encoded().get(of, encode);
        StreamEvent { id: position.to_string(), name: "events", data }
    }
}

/// Whether a run waits, and this was its last event.
async fn waits(server: &Server, run: RunId, version: u64) -> bool {
    let line = server.host().log().summary(run).await;
    line.is_ok_and(|line| line.version == version && line.run_state == RunState::Suspended)
}

/// An update as the API has it.
fn form(update: &Live, causes: bool) -> Update {
    match update {
        Live::Events(batch) if causes => Update::Events { events: with_cause(batch) },
        Live::Events(batch) => Update::Events { events: without_cause(batch) },
        Live::Text { action, text } => Update::Text { action: action.seq, text: text.to_string() },
        Live::Reasoning { action, text } => Update::Reasoning { action: action.seq, text: text.to_string() },
        Live::Call { action, index, name, args } => Update::Call {
            action: action.seq,
            index: *index,
            name: name.as_ref().map(ToString::to_string),
            args: args.to_string(),
        },
        Live::Partial { action, output } => {
            Update::Partial { action: action.seq, output: (**output).clone() }
        }
        Live::Void { action } => Update::Void { action: action.seq },
        Live::Log(line) => {
            Update::Log { warning: line.level != windlass_core::run::LogLevel::Info, text: line.text.clone() }
        }
        Live::Refused { invalid } => Update::Refused {
            code: invalid.code().to_owned(),
            message: mask(&invalid.to_string()).into_owned(),
        },
    }
}

fn event(position: &Position, update: &Update) -> StreamEvent {
    // All keys of an update are texts.
    let data = serde_json::to_vec(update).unwrap_or_default().into();
    StreamEvent { id: position.to_string(), name: update.name(), data }
}

fn ended(reason: EndReason, position: &str, message: Option<String>) -> StreamEvent {
    let end = StreamEnd { reason, position: position.to_owned(), message };
    let data = serde_json::to_vec(&end).unwrap_or_default().into();
    StreamEvent { id: position.to_owned(), name: "end", data }
}

pub(super) async fn poll(call: Call<OfRun, PollFrom>) -> Result<Json<Updates>, Error> {
    let line = seen(&call, call.path.run).await?;
    let from = position(call.query.from.as_deref())?;
    let wait = call.query.wait_ms.unwrap_or(DEFAULT_POLL_MS);
    check_wait(wait)?;
    let mut follower = call.caller.host(&call.server).follow(line.run, from).await?;
    let (mut updates, mut end) = (Vec::new(), None);
    let mut position = from;
    let deadline = tokio::time::sleep(Duration::from_millis(wait));
    tokio::pin!(deadline);
    let mut bytes = 0;
    while updates.len() < POLLED && bytes < POLLED_BYTES {
        // What is there already is taken, also when the time is over. The follower is not asked again after it was left.
        let next = tokio::select! {
            biased;
            next = follower.next() => next?,
            () = std::future::ready(()), if !updates.is_empty() => break,
            () = &mut deadline => break,
            () = call.server.closing().cancelled() => {
                end = Some(EndReason::Restarting);
                break;
            }
        };
        let Some((behind, update)) = next else {
            end = Some(EndReason::Finished);
            break;
        };
        position = behind;
        let is_last = matches!(&update, Live::Events(batch) if batch.events.iter().any(|event| {
            matches!(event.fact, Fact::Run(RunFact::Ended(_)))
        }));
        bytes += size_of(&update);
        updates.push(Positioned { position: behind.to_string(), update: form(&update, false) });
        if is_last {
            end = Some(EndReason::Finished);
        }
    }
    Ok(Json(Updates { updates, position: position.to_string(), end }))
}

/// About how many bytes an update has.
fn size_of(update: &Live) -> usize {
    match update {
        Live::Events(batch) => batch
            .events
            .iter()
            .map(|event| usize::try_from(event.fact.text_bytes()).unwrap_or(usize::MAX))
            .sum(),
        Live::Text { text, .. } | Live::Reasoning { text, .. } => text.len(),
        Live::Call { args, .. } => args.len(),
        Live::Partial { .. } | Live::Void { .. } | Live::Log(_) | Live::Refused { .. } => 0,
    }
}
