//! Work that has a span of its own: its name, its attributes, its end, and what is measured of it.

use opentelemetry::trace::TraceContextExt as _;
use opentelemetry::{Array, Context, KeyValue, Value};
use windlass_core::model::{ModelFailure, Reply};
use windlass_core::{Action, ActionKind, CallId, CallOutcome, InputKind, State, Text};

use super::meters::{Conventional, Meters, conventional};
use super::tokens;

/// Work that has a span of its own.
pub(super) enum Traced {
    Model { name: Text, temperature: Option<f64>, max_tokens: Option<u64> },
    Tool { name: Text, call: Text },
    Delegate { name: Text, call: Text },
}

impl Traced {
    pub(super) fn of(action: &Action, state: &State) -> Option<Self> {
        let named =
            |call: &CallId| Some((state.open_call(call)?.target_name().clone(), Text::from(call.as_str())));
        match &action.work {
            ActionKind::CallModel { .. } => {
                let model = state.request(action.id)?.model;
                Some(Self::Model {
                    name: model.name.clone(),
                    temperature: model.temperature_or(state.policy().request.temperature),
                    max_tokens: model.max_tokens,
                })
            }
            ActionKind::RunTool { call, .. } | ActionKind::RunCode { call } => {
                named(call).map(|(name, call)| Self::Tool { name, call })
            }
            ActionKind::Delegate { call, .. } => {
                named(call).map(|(name, call)| Self::Delegate { name, call })
            }
            ActionKind::RunHook
            | ActionKind::CheckCall { .. }
            | ActionKind::Ask { .. }
            | ActionKind::SetTimer { .. } => None,
        }
    }

    pub(super) fn span_name(&self) -> String {
        match self {
            Self::Model { .. } => "model.inference".to_owned(),
            Self::Tool { name, .. } => format!("tool.{name}"),
            Self::Delegate { name, .. } => format!("delegate.{name}"),
        }
    }

    pub(super) fn attributes(&self) -> Vec<KeyValue> {
        match self {
            Self::Model { name, temperature, max_tokens } => {
                let (provider, model) = provider(name);
                let mut attributes = vec![
                    KeyValue::new("gen_ai.operation.name", "chat"),
                    KeyValue::new("gen_ai.provider.name", provider),
                    KeyValue::new("gen_ai.request.model", model),
                ];
                attributes
                    .extend(temperature.map(|value| KeyValue::new("gen_ai.request.temperature", value)));
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
    pub(super) fn ended(context: &Context, end: &InputKind) -> Option<String> {
        let span = context.span();
        match end {
            InputKind::Replied { reply, .. } => {
                for attribute in replied(reply) {
                    span.set_attribute(attribute);
                }
                None
            }
            InputKind::ModelFailed { failure, .. } => {
                let ModelFailure { status, usage, kind, .. } = &**failure;
                if let Some(status) = status {
                    span.set_attribute(KeyValue::new("http.response.status_code", i64::from(*status)));
                }
                span.set_attribute(tokens("gen_ai.usage.input_tokens", usage.input));
                span.set_attribute(tokens("gen_ai.usage.output_tokens", usage.output));
                Some(format!("{kind:?}").to_lowercase())
            }
            InputKind::CallEnded { outcome, .. }
            | InputKind::CallLost { outcome, .. }
            | InputKind::CodeEnded { outcome, .. }
            | InputKind::DelegateEnded { outcome, .. } => failed(outcome),
            InputKind::Start(_)
            | InputKind::Resumed { .. }
            | InputKind::CodeCalls { .. }
            | InputKind::DelegateAsks { .. }
            | InputKind::DelegateDeferred { .. }
            | InputKind::Checked { .. }
            | InputKind::HookEnded { .. }
            | InputKind::Answered { .. }
            | InputKind::Steer(_)
            | InputKind::Pause { .. }
            | InputKind::Queue { .. }
            | InputKind::Cancel { .. }
            | InputKind::ToolsChanged { .. }
            | InputKind::TimerFired { .. } => None,
        }
    }

    pub(super) fn measure(&self, meters: &Meters, labels: &[KeyValue], ms: u64, end: Option<&InputKind>) {
        let Meters { models, tools, delegations, .. } = meters;
        let Conventional { operations, tokens } = conventional();
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
                if let Some(InputKind::Replied { reply, .. }) = end {
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

fn replied(reply: &Reply) -> Vec<KeyValue> {
    let stop = format!("{:?}", reply.stop).to_lowercase();
    vec![
        KeyValue::new("gen_ai.response.model", provider(&reply.model).1),
        KeyValue::new("gen_ai.response.finish_reasons", Value::Array(Array::String(vec![stop.into()]))),
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
        CallOutcome::Interrupted | CallOutcome::Abandoned => "interrupted",
        CallOutcome::Malformed { .. }
        | CallOutcome::Rejected { .. }
        | CallOutcome::UnknownTool { .. }
        | CallOutcome::Denied { .. }
        | CallOutcome::Skipped { .. }
        | CallOutcome::Unknown => "not_run",
    };
    Some(kind.to_owned())
}

/// `provider/model` in its two parts.
fn provider(name: &str) -> (String, String) {
    let (provider, model) = name.split_once('/').unwrap_or(("unknown", name));
    (provider.to_owned(), model.to_owned())
}
