//! Telemetry: what runs do, as spans and metrics of OpenTelemetry (K29).
//!
//! Only the API is used here: whoever wants to see something installs providers in the process and says
//! [`set_telemetry`]. Until then nothing of this is made, and a run costs what it costs without. Spans have KAOS' names
//! (`agent.agentic_loop` › `agent.step.N` › `model.inference` | `tool.X` | `delegate.X`) and the attributes of
//! OpenTelemetry's semantic conventions for generative AI beside KAOS' own; neither holds a word of what was said.
//!
//! Contexts are handed on with the future that does the work, so a sub-agent's run is below its `delegate.X`, and
//! whatever a model adapter or a tool sends says which span it belongs to (W3C Trace Context).

mod meters;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_core::future::BoxFuture;
use opentelemetry::context::FutureExt as _;
use opentelemetry::trace::{SpanBuilder, SpanKind, Status as SpanStatus, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue, global};
use windlass_core::{Action, CallOutcome, Event, Fact, LimitKind, ModelFailure, Reply, State, Status, Text, What, Work};

use crate::agent::Agent;
use meters::{Meters, meters};

/// The name under which spans and metrics are made.
const SCOPE: &str = "windlass";
/// The header of a trace's context (W3C Trace Context, 3.2).
const TRACEPARENT: &str = "traceparent";

static ON: AtomicBool = AtomicBool::new(false);

/// Says whether runs that begin from here on tell what they do, to the providers that the process has installed
/// (`opentelemetry::global`). Off by default, and free then.
pub fn set_telemetry(on: bool) {
    ON.store(on, Ordering::Relaxed);
}

/// The current span as W3C Trace Context writes it; `None`: there is none.
fn traceparent(context: &Context) -> Option<Text> {
    let mut carrier: HashMap<String, String> = HashMap::new();
    global::get_text_map_propagator(|propagator| propagator.inject_context(context, &mut carrier));
    carrier.remove(TRACEPARENT).map(Into::into)
}

/// A run that is told of.
pub(crate) struct RunTrace {
    agent: Text,
    run: Context,
    step: Option<Context>,
    begun_at: u64,
    /// Whether an end was told of already.
    ended: bool,
}

impl RunTrace {
    /// Begins to tell of a run, if anybody wants to know. What a run says of its own trace when it is taken over again
    /// comes before what the process has going on.
    pub(crate) fn begin(agent: &Agent, state: &State, first: &mut Option<What>) -> Option<Self> {
        if !ON.load(Ordering::Relaxed) {
            return None;
        }
        let (session, policy) = match first {
            Some(What::Start(start)) => (start.session.clone(), start.policy.clone()),
            _ => (state.session().cloned(), state.policy().clone()),
        };
        let above = state.trace().map_or_else(Context::current, |parent| {
            let carrier = HashMap::from([(TRACEPARENT.to_owned(), parent.to_string())]);
            global::get_text_map_propagator(|propagator| propagator.extract(&carrier))
        });
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "invoke_agent"),
            KeyValue::new("gen_ai.agent.name", agent.name().to_string()),
            KeyValue::new("agent.name", agent.name().to_string()),
            KeyValue::new("windlass.run.id", state.run().to_string()),
        ];
        if let Some(session) = session {
            attributes.push(KeyValue::new("session.id", session.as_str().to_owned()));
            attributes.push(KeyValue::new("gen_ai.conversation.id", session.as_str().to_owned()));
        }
        if let Some(most) = policy.limit(LimitKind::ModelCalls) {
            attributes.push(KeyValue::new("agent.max_steps", i64::try_from(most).unwrap_or(i64::MAX)));
        }
        let run = span(&above, "agent.agentic_loop".to_owned(), SpanKind::Internal, attributes);
        if let Some(What::Start(start)) = first {
            start.trace = traceparent(&run);
        }
        Some(Self { agent: agent.name().clone(), run, step: None, begun_at: agent.world().now(), ended: false })
    }

    /// The span that log lines belong to now.
    pub(crate) fn context(&self) -> &Context {
        self.step.as_ref().unwrap_or(&self.run)
    }

    /// Takes note of what has become durable.
    pub(crate) fn see(&mut self, events: &[Event], now: u64) {
        for event in events {
            match &event.fact {
                Fact::TurnStarted(turn) if turn.attempt == 1 => self.next_step(u64::from(turn.turn)),
                Fact::RunEnded(end) => {
                    self.end_step();
                    self.ended = true;
                    let good = matches!(
                        end.status,
                        Status::Answered | Status::Concluded | Status::Clarification | Status::Limit(_)
                    );
                    let span = self.run.span();
                    span.set_attribute(KeyValue::new("windlass.status", end.status.to_string()));
                    span.set_attribute(tokens("gen_ai.usage.input_tokens", end.usage.input));
                    span.set_attribute(tokens("gen_ai.usage.output_tokens", end.usage.output));
                    finish(&self.run, (!good).then(|| end.status.to_string()));
                    let labels = [self.label(), KeyValue::new("success", good)];
                    meters().requests.took(now.saturating_sub(self.begun_at), &labels);
                }
                _ => {}
            }
        }
    }

    fn label(&self) -> KeyValue {
        KeyValue::new("agent.name", self.agent.to_string())
    }

    fn next_step(&mut self, number: u64) {
        let name = format!("agent.step.{number}");
        // A repeat after a refusal belongs to the same step.
        if self.step.is_some() && self.run.span().span_context().is_valid() {
            self.end_step();
        }
        let number = KeyValue::new("step", i64::try_from(number).unwrap_or(i64::MAX));
        self.step = Some(span(&self.run, name, SpanKind::Internal, vec![number, self.label()]));
    }

    fn end_step(&mut self) {
        if let Some(step) = self.step.take() {
            finish(&step, None);
        }
    }

    /// Work that is told of from its begin to its end.
    pub(crate) fn work(
        &self,
        action: &Action,
        state: &State,
        world: &std::sync::Arc<dyn crate::world::World>,
        future: BoxFuture<'static, Option<What>>,
    ) -> BoxFuture<'static, Option<What>> {
        let Some(told) = Told::of(action, state) else {
            return Box::pin(future.with_context(self.context().clone()));
        };
        let mut attributes = told.attributes();
        attributes.push(self.label());
        let context = span(self.context(), told.span_name(), SpanKind::Client, attributes);
        let (below, label, world, begun) = (context.clone(), self.label(), world.clone(), world.now());
        let work = async move {
            let end = future.await;
            let error = end.as_ref().and_then(|what| told.ended(&context, what));
            let good = end.is_some() && error.is_none();
            finish(&context, error);
            told.measure(&[label, KeyValue::new("success", good)], world.now().saturating_sub(begun), end.as_ref());
            end
        };
        Box::pin(work.with_context(below))
    }
}

impl Drop for RunTrace {
    /// A run that waits for somebody, or whose driver was dropped, has a span up to there.
    fn drop(&mut self) {
        self.end_step();
        if !self.ended {
            self.run.span().set_attribute(KeyValue::new("windlass.status", "suspended"));
            self.run.span().end();
        }
    }
}

/// Work that has a span of its own.
enum Told {
    Model { name: Text, temperature: Option<f64>, max_tokens: Option<u64> },
    Tool { name: Text, call: Text },
    Delegate { name: Text, call: Text },
}

impl Told {
    fn of(action: &Action, state: &State) -> Option<Self> {
        let named = |call: &windlass_core::CallId| {
            Some((state.open_call(call)?.call.name.clone(), Text::from(call.as_str())))
        };
        match &action.work {
            Work::CallModel { .. } => {
                let model = state.request()?.model;
                Some(Self::Model {
                    name: model.name.clone(),
                    temperature: model.temperature.or(state.policy().temperature),
                    max_tokens: model.max_tokens,
                })
            }
            Work::RunTool { call, .. } => named(call).map(|(name, call)| Self::Tool { name, call }),
            Work::Delegate { call, .. } => named(call).map(|(name, call)| Self::Delegate { name, call }),
            Work::RunHook | Work::CheckCall { .. } | Work::Ask { .. } | Work::SetTimer { .. } => None,
        }
    }

    fn span_name(&self) -> String {
        match self {
            Self::Model { .. } => "model.inference".to_owned(),
            Self::Tool { name, .. } => format!("tool.{name}"),
            Self::Delegate { name, .. } => format!("delegate.{name}"),
        }
    }

    fn attributes(&self) -> Vec<KeyValue> {
        match self {
            Self::Model { name, temperature, max_tokens } => {
                let (provider, model) = provider(name);
                let mut attributes = vec![
                    KeyValue::new("gen_ai.operation.name", "chat"),
                    KeyValue::new("gen_ai.provider.name", provider),
                    KeyValue::new("gen_ai.request.model", model),
                ];
                attributes.extend(temperature.map(|value| KeyValue::new("gen_ai.request.temperature", value)));
                attributes.extend(max_tokens.map(|most| tokens("gen_ai.request.max_tokens", most)));
                attributes
            }
            Self::Tool { name, call } => vec![
                KeyValue::new("gen_ai.operation.name", "execute_tool"),
                KeyValue::new("gen_ai.tool.name", name.to_string()),
                KeyValue::new("gen_ai.tool.call.id", call.to_string()),
                KeyValue::new("tool.name", name.to_string()),
            ],
            Self::Delegate { name, call } => vec![
                KeyValue::new("gen_ai.operation.name", "invoke_agent"),
                KeyValue::new("gen_ai.agent.name", name.to_string()),
                KeyValue::new("gen_ai.tool.call.id", call.to_string()),
                KeyValue::new("agent.delegation.target", name.to_string()),
            ],
        }
    }

    /// Puts what came of the work on its span. Gives the kind of its failure, if it is one.
    fn ended(&self, context: &Context, end: &What) -> Option<String> {
        let span = context.span();
        match end {
            What::Replied { reply, .. } | What::Objected { reply, .. } => {
                replied(reply).into_iter().for_each(|attribute| span.set_attribute(attribute));
                None
            }
            What::ModelFailed { failure, .. } => {
                let ModelFailure { status, usage, kind, .. } = &**failure;
                if let Some(status) = status {
                    span.set_attribute(KeyValue::new("http.response.status_code", i64::from(*status)));
                }
                span.set_attribute(tokens("gen_ai.usage.input_tokens", usage.input));
                span.set_attribute(tokens("gen_ai.usage.output_tokens", usage.output));
                Some(format!("{kind:?}").to_lowercase())
            }
            What::CallEnded { outcome, .. } | What::Delegated { outcome, .. } => failed(outcome),
            _ => None,
        }
    }

    fn measure(&self, labels: &[KeyValue], ms: u64, end: Option<&What>) {
        let Meters { models, tools, delegations, operations, tokens, .. } = meters();
        let with = |key: &'static str, name: &Text| {
            let mut all = labels.to_vec();
            all.push(KeyValue::new(key, name.to_string()));
            all
        };
        match self {
            Self::Model { name, .. } => {
                models.took(ms, &with("model", name));
                let (provider, model) = provider(name);
                let mut own = vec![
                    KeyValue::new("gen_ai.operation.name", "chat"),
                    KeyValue::new("gen_ai.provider.name", provider),
                    KeyValue::new("gen_ai.request.model", model),
                ];
                if let Some(What::Replied { reply, .. }) = end {
                    for (kind, count) in [("input", reply.usage.input), ("output", reply.usage.output)] {
                        let mut own = own.clone();
                        own.push(KeyValue::new("gen_ai.token.type", kind));
                        tokens.record(count, &own);
                    }
                } else {
                    own.push(KeyValue::new("error.type", "failed"));
                }
                operations.record(ms as f64 / 1_000.0, &own);
            }
            Self::Tool { name, .. } => tools.took(ms, &with("tool", name)),
            Self::Delegate { name, .. } => delegations.took(ms, &with("target", name)),
        }
    }
}

fn span(above: &Context, name: String, kind: SpanKind, attributes: Vec<KeyValue>) -> Context {
    let builder = SpanBuilder::from_name(name).with_kind(kind).with_attributes(attributes);
    above.with_span(global::tracer(SCOPE).build_with_context(builder, above))
}

/// Ends a span; with the kind of its failure, if it is one. Words of errors may hold anything, and stay in the log.
fn finish(context: &Context, error: Option<String>) {
    let span = context.span();
    match error {
        Some(kind) => {
            span.set_attribute(KeyValue::new("error.type", kind.clone()));
            span.set_status(SpanStatus::error(kind));
        }
        None => span.set_status(SpanStatus::Ok),
    }
    span.end();
}

fn replied(reply: &Reply) -> Vec<KeyValue> {
    vec![
        KeyValue::new("gen_ai.response.model", provider(&reply.model).1),
        KeyValue::new("gen_ai.response.finish_reasons", format!("{:?}", reply.stop).to_lowercase()),
        tokens("gen_ai.usage.input_tokens", reply.usage.input),
        tokens("gen_ai.usage.output_tokens", reply.usage.output),
        tokens("gen_ai.usage.cache_read.input_tokens", reply.usage.cached),
    ]
}

fn failed(outcome: &CallOutcome) -> Option<String> {
    let kind = match outcome {
        CallOutcome::Ok { .. } => return None,
        CallOutcome::Error { .. } => "error",
        CallOutcome::TimedOut { .. } => "timeout",
        CallOutcome::Interrupted { .. } => "interrupted",
        _ => "not_run",
    };
    Some(kind.to_owned())
}

fn tokens(key: &'static str, count: u64) -> KeyValue {
    KeyValue::new(key, i64::try_from(count).unwrap_or(i64::MAX))
}

/// `provider/model` in its two parts.
fn provider(name: &str) -> (String, String) {
    let (provider, model) = name.split_once('/').unwrap_or(("", name));
    (provider.to_owned(), model.to_owned())
}
