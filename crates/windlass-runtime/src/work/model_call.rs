//! Model calls: from the state's view to a whole reply.

pub(crate) mod display_lock;
mod pieces;
pub(crate) mod recorded;
mod showing;
mod summing;

use std::future::{Future, poll_fn};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use futures_util::pin_mut;
use tokio_util::sync::CancellationToken;
use windlass_core::budget::Need;
use windlass_core::model::{FailureKind, Growth, ModelChoice, ModelFailure, Prices, Role, Usage};
use windlass_core::policy::{Another, CachePoint, LimitKind, Turns};
use windlass_core::{ActionId, InputKind, State, Text, ToolSpec};
use windlass_models::{Assembler, Delta, Model, ModelRequest, PrefixCell, Progress, Thoughts};
use windlass_store::Store;
use windlass_threads::LARGE_BYTES;

use crate::agent::output::OUTPUT_NAME;
use crate::driver::content::ContentClock;
use crate::driver::masking::Masks;
use crate::driver::partial::Partial;
use crate::driver::updates::{Publisher, Update};
use crate::platform::environment::Environment;
use crate::platform::off_thread::off_thread;
use display_lock::DisplayLock;
use pieces::Pieces;
use showing::Showing;
use summing::{stored_texts, with_texts};

/// Bytes of a token, by rule of thumb, where a provider sent no count.
const BYTES_A_TOKEN: u64 = 4;
/// Maximum number of pieces of a reply handled before yielding: a model that never waits must not delay a cancellation.
const PIECES_AT_ONCE: usize = 64;
/// Weight of each tool in a request, in bytes.
const TOOL_BYTES: u64 = 512;
/// To put a conversation into a request takes so much less, byte for byte, than to read one.
const READ_OR_WRITTEN: u64 = 8;

/// A model call: from the state's view to a whole reply.
pub(crate) struct ModelWork {
    pub(crate) action: ActionId,
    /// `None`: the agent has no model of that name (any more).
    pub(crate) model: Option<Arc<dyn Model>>,
    /// A state that calls a model.
    pub(crate) state: Arc<State>,
    pub(crate) prefix: PrefixCell,
    pub(crate) payloads: Arc<dyn Store>,
    pub(crate) publisher: Publisher,
    pub(crate) display: DisplayLock,
    /// Where content is noted; `None`: nobody asks for it.
    pub(crate) content: Option<ContentClock>,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) cancel: CancellationToken,
}

/// Bytes of the requests of a run. Models that take turns may have different wires, and each keeps its own bytes.
#[derive(Debug, Default)]
pub(crate) struct Prefixes {
    main: OnceLock<PrefixCell>,
    simple: OnceLock<PrefixCell>,
}

impl Prefixes {
    /// The bytes for a call. `agents`: the agent's, whose schemas all its runs share.
    pub(crate) fn of(&self, agents: &PrefixCell, state: &State, action: ActionId, role: Role) -> PrefixCell {
        let own = match role {
            // Two requests at once do not write into the same bytes.
            _ if state.is_hedge(action) => return agents.for_another_run(),
            Role::Main | Role::Summarise => &self.main,
            Role::Simple => &self.simple,
        };
        own.get_or_init(|| agents.for_another_run()).clone()
    }
}

/// The request of a model call that is going on; only shared parts are cloned. `None`: no such call is.
fn request(state: &State, action: ActionId, prefix: &PrefixCell, stream: bool) -> Option<ModelRequest> {
    let (request, view) = (state.request(action)?, state.view(action)?);
    let mut model = request.model.clone();
    model.temperature = model.temperature_or(state.policy().request.temperature);
    let bounds = [model.max_tokens, view.max_tokens];
    model.max_tokens = bounds.into_iter().flatten().min();
    let growth = state.growth(action)?;
    let cache = if growth == Growth::Appended && marks_by_itself(state, &model) {
        marks_of(view.prompt.len())
    } else {
        view.cache_points
    };
    let prefix = match growth {
        Growth::Appended => prefix.clone(),
        Growth::Built => prefix.for_another_run(),
    };
    Some(ModelRequest {
        model,
        purpose: request.purpose,
        prompt: view.prompt,
        messages: view.messages,
        tools: view.tools,
        choice: view.choice,
        response_schema: view.output_form.map(|schema| (OUTPUT_NAME.into(), schema)),
        cache,
        stream,
        prefix,
    })
}

/// Whether a request is marked for the provider's cache though the file says nothing of it: what is written to the cache has a price
/// of its own there, and the run can have more than one turn, which reads it.
fn marks_by_itself(state: &State, model: &ModelChoice) -> bool {
    let policy = state.policy();
    let is_priced = model.prices.as_ref().is_some_and(|prices| prices.cache_write != prices.input);
    // A limit on model calls lifts the default of one turn.
    let one_turn = match policy.limit(LimitKind::ModelCalls) {
        Some(most) => most <= 1,
        None => policy.bounds.turns == Turns::One,
    };
    let goes_on =
        || state.visible_tools().iter().any(ToolSpec::is_offered) || policy.replies.another != Another::Never;
    is_priced && policy.request.cache.is_auto() && !one_turn && goes_on()
}

/// The front of a request, which never changes, and its newest message, which the next turn goes on from.
fn marks_of(front: usize) -> Vec<CachePoint> {
    let front = front.checked_sub(1).and_then(|last| i64::try_from(last).ok());
    front.into_iter().chain([-1]).map(CachePoint::at).collect()
}

/// About how much a request is to make: much where a text is made of the conversation, else it is copied.
fn request_bytes(state: &State, action: ActionId) -> u64 {
    let conversation = state.history().bytes();
    let conversation = match state.growth(action) {
        Some(Growth::Appended) | None => conversation / READ_OR_WRITTEN,
        Some(Growth::Built) => conversation,
    };
    conversation.saturating_add(state.tools().len() as u64 * TOOL_BYTES)
}

impl ModelWork {
    /// Upper bound of the call, its price and the model's name. `None`: the call is no longer wanted.
    pub(crate) fn price(&self) -> Option<(Need, Option<Prices>, Text)> {
        let request = self.state.request(self.action)?;
        Some((self.state.need_of(self.action)?, request.model.prices.clone(), request.model.name.clone()))
    }

    pub(crate) async fn run(self) -> InputKind {
        let (environment, cancel) = (self.environment.clone(), self.cancel.clone());
        let name =
            self.state.request(self.action).map(|request| request.model.name.clone()).unwrap_or_default();
        let mut incoming = self.incoming(name.clone());
        let stop = || failure(&name, FailureKind::Cancelled, STOPPED);
        let begun = self.begin(incoming.taking.in_pieces()).await;
        let (sent, mut pieces) = begun.unwrap_or_else(|| (0, Pieces::failed(stop())));
        // The model may have registered its key during the call.
        (incoming.taking.spent.sent, incoming.masks) = (sent, Masks::of_process());
        let stopped = cancel.cancelled();
        pin_mut!(stopped);
        let (mut count, mut bytes, mut progress) = (0_usize, 0, Progress::default());
        let failure = loop {
            let next = poll_fn(|context| match pieces.poll(context) {
                Poll::Ready(next) => Poll::Ready(next),
                Poll::Pending => stopped.as_mut().poll(context).map(|()| Some(Err(stop()))),
            });
            match next.await {
                Some(Ok(delta)) => {
                    if let Some(content) = &incoming.taking.content
                        && progress.is_made_by(&delta)
                    {
                        content.note(environment.now());
                    }
                    let size = delta.text_bytes();
                    (count, bytes) = (count + 1, bytes + size);
                    let taken = if size < LARGE_BYTES {
                        incoming.take(delta)
                    } else {
                        let taken;
                        // Boxed: a run that waits must not hold the room for what is rare.
                        (incoming, taken) = Box::pin(incoming.take_large(&*environment, delta)).await;
                        taken
                    };
                    if let Err(failure) = taken {
                        break failure;
                    }
                    if count == PIECES_AT_ONCE || bytes >= LARGE_BYTES {
                        (count, bytes) = (0, 0);
                        yield_once().await;
                        if cancel.is_cancelled() {
                            break stop();
                        }
                    }
                }
                Some(Err(failure)) if cancel.is_cancelled() => break failure,
                end => match (incoming.end(), end.and_then(Result::err)) {
                    (Err(failure), _) | (Ok(()), Some(failure)) => break failure,
                    (Ok(()), None) if incoming.taking.taken == 0 => {
                        break failure(&name, FailureKind::Cut, "the stream ended without any data");
                    }
                    (Ok(()), None) => {
                        let mut taking = incoming.taking;
                        taking.wins();
                        let reply = Box::new(taking.assembler.finish());
                        return InputKind::Replied {
                            action: taking.action,
                            reply,
                            lost: None,
                            objection: None,
                        };
                    }
                },
            }
        };
        incoming.taking.failed(failure, &*environment)
    }

    /// The reply as it is before its first piece. Boxed, because a future would copy it where it is moved.
    fn incoming(&self, name: Text) -> Box<Incoming> {
        let (state, action) = (&*self.state, self.action);
        let request = state.request(action);
        // People see the run's own voice as it comes; all other replies are only read by the loop.
        // Of a reply that is not used nothing is shown either (E58).
        let voice =
            request.as_ref().is_some_and(|request| request.purpose.speaks()) && !state.only_probes(action);
        if voice && !state.is_hedge(action) {
            self.display.free();
        }
        let max_bytes = request.as_ref().map_or(0, |request| request.model.max_reply_bytes());
        let mut taking = Taking {
            action,
            publisher: self.publisher.clone(),
            display: self.display.clone(),
            content: self.content.clone(),
            withheld: Vec::new(),
            for_actions: state.asks_for_actions(action),
            showing: Showing { action, answer: state.answer_pieces(action) },
            assembler: Assembler::new(name).bounded(max_bytes),
            partial: None,
            spent: Spent { sent: 0, received: 0, counted: false },
            published: false,
            taken: 0,
            unpublished: None,
            voice,
        };
        if taking.voice && taking.publisher.heard() && !taking.for_actions {
            taking.partial = Partial::of(state, action);
        }
        Box::new(Incoming { thoughts: Thoughts::default(), masks: None, taking })
    }

    /// Sends the request: how many bytes it has, and the reply to come. `None`: the call was stopped before. The state was one that
    /// calls a model.
    async fn begin(self, streamed: bool) -> Option<(u64, Pieces)> {
        if self.cancel.is_cancelled() {
            return None;
        }
        let size = request_bytes(&self.state, self.action);
        if self.state.summed_result(self.action).is_none() && size < LARGE_BYTES {
            return self.begin_with(streamed, &[]);
        }
        // Boxed: a run that waits for a model must not hold the room for what is rare.
        Box::pin(async move {
            let environment = self.environment.clone();
            let texts = stored_texts(&self.state, self.action, &*self.payloads).await;
            off_thread(&*environment, size, move || self.begin_with(streamed, &texts)).await
        })
        .await
    }

    /// The same with these texts of the store.
    fn begin_with(self, streamed: bool, texts: &[(Text, String)]) -> Option<(u64, Pieces)> {
        let Self { action, model, state, prefix, .. } = self;
        let request = with_texts(request(&state, action, &prefix, streamed)?, texts);
        let (sent, name) = (sent(&request), request.model.name.clone());
        Some((sent, Pieces::begin(model, request, name)))
    }
}

/// A reply as it comes in.
struct Incoming {
    /// Before the masks: a piece that is moved from text to reasoning is masked as what it is.
    thoughts: Thoughts,
    /// `None`: there are no secrets.
    masks: Option<Masks>,
    taking: Taking,
}

impl Incoming {
    /// Takes the next piece, and passes on the pieces that are sorted by now, masked.
    fn take(&mut self, delta: Delta) -> Result<(), ModelFailure> {
        let Self { thoughts, masks, taking } = self;
        thoughts.pass(delta, |delta| taking.keep_masked(masks, delta))
    }

    /// The same with a piece that takes its time.
    async fn take_large(
        mut self: Box<Self>,
        environment: &dyn Environment,
        delta: Delta,
    ) -> (Box<Self>, Result<(), ModelFailure>) {
        self.taking.unpublished = Some(Vec::new());
        let taken = off_thread(environment, delta.text_bytes(), move || {
            let taken = self.take(delta);
            (self, taken)
        });
        let (mut incoming, taken) = taken.await;
        let taking = &mut incoming.taking;
        for update in taking.unpublished.take().into_iter().flatten() {
            taking.publisher.send(update);
        }
        (incoming, taken)
    }

    /// Takes the held-back pieces at the end of the stream.
    fn end(&mut self) -> Result<(), ModelFailure> {
        let Self { thoughts, masks, taking } = self;
        thoughts.end(|delta| taking.keep_masked(masks, delta))?;
        masks.as_mut().map_or(Ok(()), |masks| masks.end(|delta| taking.keep(delta)))
    }
}

/// Handles the pieces of a reply after masking.
struct Taking {
    action: ActionId,
    publisher: Publisher,
    display: DisplayLock,
    content: Option<ContentClock>,
    /// Updates held back because another attempt at the same call is shown.
    withheld: Vec<Update>,
    /// The reply is actions: its text is not shown.
    for_actions: bool,
    showing: Showing,
    assembler: Assembler,
    /// `None`: there is no subscriber, or the run has no typed output.
    partial: Option<Partial>,
    spent: Spent,
    /// Whether it is the run's own voice, which is shown as it comes.
    voice: bool,
    /// Whether anybody was shown something.
    published: bool,
    /// Number of pieces handled.
    taken: usize,
    /// Updates held while a piece is handled elsewhere; discarded if the call is dropped.
    unpublished: Option<Vec<Update>>,
}

impl Taking {
    /// Whether people see it come.
    fn is_heard(&self) -> bool {
        self.voice && self.publisher.shows_pieces()
    }

    /// Whether the reply is asked for piece by piece: people see it come, or its content is counted.
    fn in_pieces(&self) -> bool {
        (self.is_heard() || self.content.is_some()) && !self.for_actions
    }

    fn keep_masked(&mut self, masks: &mut Option<Masks>, delta: Delta) -> Result<(), ModelFailure> {
        match masks {
            Some(masks) => masks.pass(delta, |delta| self.keep(delta)),
            None => self.keep(delta),
        }
    }

    fn keep(&mut self, delta: Delta) -> Result<(), ModelFailure> {
        self.taken += 1;
        if self.voice {
            self.publisher.speaks(self.action);
        }
        if self.is_heard()
            && let Some(update) = self.showing.update(&delta)
            && !(self.for_actions && matches!(update, Update::Text { .. }))
        {
            self.show(update);
        }
        self.spent.note(&delta);
        let thought = delta == Delta::Thought;
        self.assembler.push(delta)?;
        if thought {
            self.show_again();
        }
        let output = self.partial.as_mut().and_then(|partial| partial.next(&self.assembler));
        if let Some(output) = output {
            self.show(Update::Partial { action: self.action, output: Arc::new(output) });
        }
        Ok(())
    }
}

/// The words for a call that was stopped from this side.
const STOPPED: &str = "stopped from this side";

fn failure(model: &Text, kind: FailureKind, message: &str) -> ModelFailure {
    ModelFailure::new(kind, message, model.clone())
}

fn sent(request: &ModelRequest) -> u64 {
    request.prompt.iter().map(|message| message.bytes()).sum::<u64>() + request.messages.bytes()
}

/// Yields to other tasks once.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Size of a call's request and reply, for an estimate if the provider sends no usage.
struct Spent {
    /// Bytes of the request.
    sent: u64,
    /// Bytes of the reply so far.
    received: u64,
    /// Whether the provider has counted.
    counted: bool,
}

impl Spent {
    fn note(&mut self, delta: &Delta) {
        let bytes = match delta {
            Delta::Text(text) | Delta::Reasoning(text) => text.len(),
            Delta::Sealed(sealed) => sealed.data.len(),
            Delta::Call { name, args, .. } => args.len() + name.as_ref().map_or(0, String::len),
            Delta::Usage(_) => {
                self.counted = true;
                0
            }
            // A provider bills an image by its size on the screen, not by its bytes: the count is the provider's.
            Delta::Media(_) | Delta::Annotation(_) | Delta::Stop(_) | Delta::Whole(_) | Delta::Thought => 0,
        };
        self.received = self.received.saturating_add(bytes as u64);
    }

    /// Usage of a failed call: the provider's count, or else an estimate if a reply had begun.
    fn paid(&self, failure: &ModelFailure, assembler: &Assembler) -> Usage {
        if failure.usage.total() > 0 {
            return failure.usage;
        }
        if self.counted || self.received == 0 {
            return assembler.usage();
        }
        let output = self.received / BYTES_A_TOKEN;
        Usage { input: self.sent / BYTES_A_TOKEN, output, estimated: true, ..Usage::default() }
    }
}

#[cfg(test)]
mod tests;
