//! Following a run: its stream, opened again from the last position whenever it was cut.

use serde::Serialize;
use windlass_api::{EndReason, Positioned, StreamEnd, Update};
use windlass_core::RunId;
use windlass_http::Answer;

use crate::backoff::Backoff;
use crate::client::{Asked, Client};
use crate::error::ClientError;
use crate::sse::{SseEvent, SseParser};

/// The header with the position to come back to.
const LAST_EVENT_ID: &str = "last-event-id";
/// The name of a stream's last event.
const END: &str = "end";

/// From where a run is followed, and how long.
#[derive(Clone, Debug, Default)]
pub struct Follow {
    /// The position after which it begins. Default: the run's beginning.
    pub from: Option<String>,
    /// The number of the event with which it begins, where there is no position.
    pub from_event: Option<u64>,
    /// Whether it ends, too, once the run waits for something outside.
    pub until_waiting: bool,
    /// Whether the first event of each append comes with its cause.
    pub causes: bool,
    /// Called when the stream was cut, once before it is there again.
    pub on_cut: Option<fn(&ClientError)>,
}

#[derive(Serialize)]
struct Query<'f> {
    from: Option<&'f str>,
    from_event: Option<u64>,
    until_waiting: bool,
    causes: bool,
}

/// A run that is followed. It comes back by itself, without a gap or a repeat, after a cut and after a restart of the server.
#[derive(Debug)]
pub struct Following {
    client: Client,
    run: RunId,
    follow: Follow,
    /// Where it goes on: behind the last update.
    position: Option<String>,
    open: Option<Open>,
    backoff: Backoff,
    /// Whether the server was ever there: one that never was is not waited for.
    was_there: bool,
    /// Whether the caller knows that the stream was cut.
    is_cut_known: bool,
    end: Option<EndReason>,
}

#[derive(Debug)]
struct Open {
    answer: Answer,
    parser: SseParser,
}

impl Following {
    pub(crate) fn new(client: Client, run: RunId, follow: Follow) -> Self {
        let backoff = Backoff::new(client.settings().stream_patience);
        let position = follow.from.clone();
        Self {
            client,
            run,
            follow,
            position,
            open: None,
            backoff,
            was_there: false,
            is_cut_known: false,
            end: None,
        }
    }

    /// The next update with the position behind it; `None`: nothing more comes, and [`end`](Self::end) says why. Dropping the future
    /// loses nothing.
    ///
    /// # Errors
    /// The server refuses to be followed, its log failed, or it was away for longer than the client's patience.
    pub async fn next(&mut self) -> Result<Option<Positioned>, ClientError> {
        while self.end.is_none() {
            if let Some(event) = self.open.as_mut().and_then(|open| open.parser.next()) {
                if let Some(update) = self.taken(event)? {
                    return Ok(Some(update));
                }
                continue;
            }
            let silence = self.client.settings().silence;
            match &mut self.open {
                None => self.connect().await?,
                Some(open) => match tokio::time::timeout(silence, open.answer.body.next()).await {
                    Ok(Some(Ok(bytes))) => {
                        self.backoff.reached();
                        let pushed = open.parser.push(&bytes);
                        pushed.map_err(|_| self.client.bad_reply("an event is too long".to_owned()))?;
                    }
                    Ok(Some(Err(error))) => self.cut(&self.client.lost(error)),
                    Ok(None) => self.cut(&self.client.lost("the stream broke off")),
                    Err(_) => self.cut(&self.client.lost(format!("nothing came for {silence:?}"))),
                },
            }
        }
        Ok(None)
    }

    /// The position behind the last update; `None`: there was none.
    pub fn position(&self) -> Option<&str> {
        self.position.as_deref()
    }

    /// Why nothing more comes.
    pub fn end(&self) -> Option<EndReason> {
        self.end
    }

    /// An event of the stream. `None`: it is no update.
    fn taken(&mut self, event: SseEvent) -> Result<Option<Positioned>, ClientError> {
        let SseEvent { name, id, data } = event;
        self.backoff.reset();
        self.is_cut_known = false;
        if name == END {
            return self.ended(&data).map(|()| None);
        }
        if !Update::NAMES.contains(&name.as_str()) {
            tracing::debug!("an update of a later version is passed over: {name}");
            self.position = Some(id);
            return Ok(None);
        }
        let update: Update = serde_json::from_str(&data)
            .map_err(|error| self.client.bad_reply(format!("`{name}`: {error}")))?;
        self.position = Some(id.clone());
        Ok(Some(Positioned { position: id, update }))
    }

    fn ended(&mut self, data: &str) -> Result<(), ClientError> {
        let end: StreamEnd =
            serde_json::from_str(data).map_err(|error| self.client.bad_reply(format!("`{END}`: {error}")))?;
        self.open = None;
        match end.reason {
            EndReason::Restarting => {
                self.position = Some(end.position);
                self.cut(&self.client.lost("the server ends, or starts anew"));
            }
            EndReason::Expired => self.position = Some(end.position),
            EndReason::Finished | EndReason::Waiting => self.end = Some(end.reason),
            EndReason::Failed => {
                self.end = Some(end.reason);
                let message = end.message.unwrap_or_default();
                return Err(ClientError::LogFailed { message, position: end.position });
            }
        }
        Ok(())
    }

    /// The stream was cut: it is opened again with the next step.
    fn cut(&mut self, error: &ClientError) {
        self.open = None;
        tracing::debug!("the stream of run {} was cut: {error}", self.run);
        if !std::mem::replace(&mut self.is_cut_known, true)
            && let Some(tell) = self.follow.on_cut
        {
            tell(error);
        }
    }

    /// Opens the stream, as soon as the server is there.
    async fn connect(&mut self) -> Result<(), ClientError> {
        loop {
            let limit = self.client.settings().reply;
            let asked = self.asked();
            let opened = match tokio::time::timeout(limit, self.client.open(&asked)).await {
                Ok(opened) => opened,
                Err(_) => Err(self.client.lost(format!("no stream within {limit:?}"))),
            };
            let error = match opened {
                Ok(answer) => {
                    self.was_there = true;
                    self.open = Some(Open { answer, parser: SseParser::default() });
                    return Ok(());
                }
                Err(error) => error,
            };
            self.was_there |= !matches!(error, ClientError::Unreachable { .. });
            let passes = self.was_there && (error.may_pass() || error.retry_after().is_some());
            let pause = if passes { self.backoff.pause(error.retry_after()) } else { None };
            let Some(pause) = pause else { return Err(error) };
            self.cut(&error);
            tokio::time::sleep(pause).await;
        }
    }

    fn asked(&self) -> Asked {
        let Follow { from_event, until_waiting, causes, .. } = self.follow;
        let from = self.position.as_deref();
        let query = Query { from, from_event: from_event.filter(|_| from.is_none()), until_waiting, causes };
        let asked =
            Asked::get(format!("/v1/runs/{}/stream", self.run)).with(&query).accepting("text/event-stream");
        match from {
            Some(position) => asked.header(LAST_EVENT_ID, position),
            None => asked,
        }
    }
}
