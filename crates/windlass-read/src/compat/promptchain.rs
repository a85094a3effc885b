//! A run's metadata in the shape of PromptChain: what `return_metadata=True` gives there.

mod accuracy;

use serde::Serialize;
use serde_json::Value;
use windlass_core::policy::LimitKind;
use windlass_core::{RunId, State, Status};
use windlass_store::Log;

use crate::error::Error;
use crate::load::load;
use crate::timeline::{ModelTurns, Timeline, TimelineCall, TimelineStep};

pub use accuracy::similarity;

/// A run's metadata. Its JSON has PromptChain's field names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunMetadata {
    /// The answer; empty if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_answer: Option<String>,
    /// Number of iterations.
    pub total_steps: usize,
    /// Whether a limit cut the run.
    pub max_steps_reached: bool,
    /// Whether the run was answered.
    pub objective_achieved: bool,
    /// The iterations.
    pub steps: Vec<StepMetadata>,
    /// Number of tool calls.
    pub total_tools_called: usize,
    /// Tokens of all model calls, delegates' included.
    pub total_tokens_used: u64,
    /// From the first event to the last, waits for people included.
    pub total_execution_time_ms: u64,
    /// The view of the history that the model was sent.
    pub history_mode: String,
    /// The limit on iterations, if there is one.
    pub max_internal_steps: Option<u64>,
    /// The first model of the run.
    pub model_name: String,
    /// Its models with the number of their replies, if it has several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub turns_by_model: Vec<ModelTurns>,
    /// The size of its requests, once a provider has counted one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextSize>,
    /// How far results are like what a verifier expected, over all calls with an expected result: from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction_accuracy: Option<f64>,
    /// Number of errors.
    pub errors_count: usize,
    /// Failed model calls, failed tools, and the run's own error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Number of warnings.
    pub warnings_count: usize,
    /// Limits that were reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The size of a run's requests, and how good the estimate for the last one was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ContextSize {
    /// Tokens of the last counted request by the run's own estimate.
    pub estimated_tokens: u64,
    /// Its tokens as the provider counted them.
    pub counted_tokens: u64,
    /// By how much the estimate was too high, in percent of the count; negative: too low.
    pub error_percent: f64,
    /// Tokens that the next request would have.
    pub next_tokens: u64,
    /// The budget for one request, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

impl ContextSize {
    /// Of a run; `None`: no provider has counted a request of it.
    pub fn of(state: &State) -> Option<Self> {
        let size = state.context_use();
        Some(Self {
            estimated_tokens: size.estimated,
            counted_tokens: size.counted,
            error_percent: size.error_percent()?,
            next_tokens: size.tokens,
            max_tokens: size.max_tokens,
        })
    }
}

/// An iteration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepMetadata {
    /// Its number, from 1.
    pub step_number: usize,
    /// Number of tool calls.
    pub tool_calls_count: usize,
    /// The tool calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallMetadata>,
    /// Tokens of its model calls.
    pub tokens_used: u64,
    /// Its length.
    pub execution_time_ms: u64,
    /// Prompts after turns with neither text nor call.
    pub clarification_attempts: u32,
    /// Its last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolCallMetadata {
    /// The tool.
    pub name: String,
    /// The arguments; text that is no JSON stays a text.
    pub args: Value,
    /// The result.
    pub result: Option<String>,
    /// The result that a verifier expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// How far the result is like the expected one, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Time that it ran.
    pub time_ms: u64,
    /// Why it gave no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl RunMetadata {
    /// The summary: counts and flags without texts, calls and error messages.
    #[must_use]
    pub fn summary(&self) -> Self {
        let steps = self.steps.iter().map(|step| StepMetadata {
            tool_calls: Vec::new(),
            error: None,
            ..step.clone()
        });
        Self {
            final_answer: None,
            steps: steps.collect(),
            errors: Vec::new(),
            warnings: Vec::new(),
            ..self.clone()
        }
    }
}

/// The metadata of a run, from its log.
///
/// # Errors
/// The run is not in the log, or the log failed.
pub async fn run_metadata(log: &dyn Log, run: RunId) -> Result<RunMetadata, Error> {
    let timeline = Timeline::of(log, run).await?;
    let state = load(log, run).await?;
    Ok(RunMetadata { context: ContextSize::of(&state), ..of(&timeline) })
}

fn of(timeline: &Timeline) -> RunMetadata {
    let status = timeline.end.as_ref().map(|end| end.status);
    let steps: Vec<_> = timeline.steps.iter().enumerate().map(|(place, one)| step(place + 1, one)).collect();
    let own = timeline.end.as_ref().and_then(|end| end.error.as_ref()).map(ToString::to_string);
    let errors: Vec<String> =
        timeline.steps.iter().flat_map(|step| step.errors.iter().cloned()).chain(own).collect();
    let policy = &timeline.start.policy;
    let view = serde_json::to_value(policy.request.view).unwrap_or_default();
    RunMetadata {
        final_answer: Some(timeline.answer().unwrap_or_default()),
        total_steps: steps.len(),
        max_steps_reached: matches!(status, Some(Status::Limit(_))),
        objective_achieved: matches!(status, Some(Status::Answered)),
        total_tools_called: timeline.calls().count(),
        total_tokens_used: timeline.steps.iter().map(|step| step.tokens).sum(),
        total_execution_time_ms: timeline.ms(),
        history_mode: view.as_str().unwrap_or_default().to_owned(),
        max_internal_steps: policy.limit(LimitKind::Iterations),
        model_name: timeline.start.models.first().map(|model| model.name.to_string()).unwrap_or_default(),
        turns_by_model: if timeline.models.len() > 1 { timeline.models.clone() } else { Vec::new() },
        context: None,
        prediction_accuracy: accuracy::mean(timeline.calls()),
        errors_count: errors.len(),
        errors,
        warnings_count: timeline.warnings.len(),
        warnings: timeline.warnings.clone(),
        steps,
    }
}

fn step(number: usize, step: &TimelineStep) -> StepMetadata {
    StepMetadata {
        step_number: number,
        tool_calls_count: step.calls.len(),
        tool_calls: step.calls.iter().map(call).collect(),
        tokens_used: step.tokens,
        execution_time_ms: step.ended.saturating_sub(step.began),
        clarification_attempts: step.clarifications,
        error: step.errors.last().cloned(),
    }
}

fn call(call: &TimelineCall) -> ToolCallMetadata {
    ToolCallMetadata {
        name: call.name.to_string(),
        args: serde_json::from_str(&call.args).unwrap_or_else(|_| Value::String(call.args.to_string())),
        result: call.result(),
        expected: call.expected.as_ref().map(ToString::to_string),
        accuracy: accuracy::of_call(call),
        time_ms: call.ms(),
        error: call.error(),
    }
}
