//! Telemetry: what runs do, as spans and metrics of OpenTelemetry.
//!
//! Only the API is used here: a program that wants telemetry installs providers in the process and calls
//! [`set_telemetry`]. Until then no span is made, and a run costs no more than without telemetry. Spans have plain names
//! (`agent.agentic_loop` › `agent.step.N` › `model.inference` | `tool.X` | `delegate.X`) and the attributes of
//! OpenTelemetry's semantic conventions for generative AI in addition to our own; neither holds a word of a conversation.
//!
//! The context travels with the future that does the work, so the parent span of a sub-agent's run is its `delegate.X` span, and requests of
//! models and tools carry the span that they belong to (W3C Trace Context).

mod meters;
mod traced;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use windlass_core::event::{ModelFact, RunFact};

use futures_core::future::BoxFuture;
use opentelemetry::context::FutureExt as _;
use opentelemetry::trace::{SpanBuilder, SpanKind, Status as SpanStatus, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, ContextGuard, KeyValue, global};
use windlass_core::policy::LimitKind;
use windlass_core::{Action, Event, Fact, InputKind, State, Status, Text};

use crate::agent::Agent;
use meters::{Meters, meters};
use traced::Traced;

/// The name under which spans and metrics are made.
const SCOPE: &str = "windlass";
/// The header of a trace's context (W3C Trace Context, 3.2).
const TRACEPARENT: &str = "traceparent";

static ON: AtomicBool = AtomicBool::new(false);

/// Sets whether runs that begin from here on have traces and metrics, with the providers that the process has installed
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

/// The trace of a run.
pub(crate) struct RunTrace {
    agent: Text,
    run: Context,
    step: Option<Context>,
    begun_at: u64,
    meters: &'static Meters,
    /// Whether its end was traced already.
    ended: bool,
}

impl RunTrace {
    /// Starts the trace of a run, if tracing is on. On a take-over, the trace recorded in the run takes precedence over the
    /// process's current span.
    pub(crate) fn begin(agent: &Agent, state: &State, first: &mut Option<InputKind>) -> Option<Self> {
        if !ON.load(Ordering::Relaxed) {
            return None;
        }
        let (session, policy) = match first {
            Some(InputKind::Start(start)) => (start.session.clone(), start.policy.clone()),
            _ => (state.session().cloned(), state.policy().clone()),
        };
        let parent = state.trace().map_or_else(Context::current, |recorded| {
            let carrier = HashMap::from([(TRACEPARENT.to_owned(), recorded.to_string())]);
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
        let run = span(&parent, "agent.agentic_loop".to_owned(), SpanKind::Internal, attributes);
        if let Some(InputKind::Start(start)) = first {
            start.traceparent = traceparent(&run);
        }
        Some(Self {
            agent: agent.name().clone(),
            run,
            step: None,
            begun_at: agent.environment().now(),
            meters: meters(&policy.preset),
            ended: false,
        })
    }

    /// Makes the current span that of log lines, as long as the guard lives.
    pub(crate) fn enter(&self) -> ContextGuard {
        self.context().clone().attach()
    }

    fn context(&self) -> &Context {
        self.step.as_ref().unwrap_or(&self.run)
    }

    /// Takes note of what has become durable.
    pub(crate) fn see(&mut self, events: &[Event], now: u64) {
        for event in events {
            if let Fact::Model(ModelFact::Started(turn)) = &event.fact
                && turn.attempt == 1
            {
                self.next_step(u64::from(turn.turn));
            } else if let Fact::Run(RunFact::Ended(end)) = &event.fact {
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
                self.meters.requests.took(now.saturating_sub(self.begun_at), &labels);
            }
        }
    }

    fn label(&self) -> KeyValue {
        KeyValue::new("agent.name", self.agent.to_string())
    }

    fn next_step(&mut self, number: u64) {
        let name = format!("agent.step.{number}");
        self.end_step();
        let number = KeyValue::new("step", i64::try_from(number).unwrap_or(i64::MAX));
        self.step = Some(span(&self.run, name, SpanKind::Internal, vec![number, self.label()]));
    }

    fn end_step(&mut self) {
        if let Some(step) = self.step.take() {
            finish(&step, None);
        }
    }

    /// Work with a span from its beginning to its end.
    pub(crate) fn work(
        &self,
        action: &Action,
        state: &State,
        environment: &std::sync::Arc<dyn crate::platform::environment::Environment>,
        future: BoxFuture<'static, Option<InputKind>>,
    ) -> BoxFuture<'static, Option<InputKind>> {
        let Some(traced) = Traced::of(action, state) else {
            return Box::pin(future.with_context(self.context().clone()));
        };
        let mut attributes = traced.attributes();
        attributes.push(self.label());
        let context = span(self.context(), traced.span_name(), SpanKind::Client, attributes);
        let (own, label, environment, begun) =
            (context.clone(), self.label(), environment.clone(), environment.now());
        let meters = self.meters;
        let work = async move {
            let end = future.await;
            let error = end.as_ref().and_then(|what| Traced::ended(&context, what));
            let good = end.is_some() && error.is_none();
            finish(&context, error);
            traced.measure(
                meters,
                &[label, KeyValue::new("success", good)],
                environment.now().saturating_sub(begun),
                end.as_ref(),
            );
            end
        };
        Box::pin(work.with_context(own))
    }
}

impl Drop for RunTrace {
    /// Ends the span of a run that is suspended or whose driver was dropped.
    fn drop(&mut self) {
        self.end_step();
        if !self.ended {
            self.run.span().set_attribute(KeyValue::new("windlass.status", "suspended"));
            self.run.span().end();
        }
    }
}

fn span(parent: &Context, name: String, kind: SpanKind, attributes: Vec<KeyValue>) -> Context {
    let builder = SpanBuilder::from_name(name).with_kind(kind).with_attributes(attributes);
    parent.with_span(global::tracer(SCOPE).build_with_context(builder, parent))
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

fn tokens(key: &'static str, count: u64) -> KeyValue {
    KeyValue::new(key, i64::try_from(count).unwrap_or(i64::MAX))
}
