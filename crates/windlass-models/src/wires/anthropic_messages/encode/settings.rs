//! Owns the settings of a request: limits, sampling, thinking, structured output.

use serde_json::Value;
use windlass_core::model::{ModelChoice, ModelOption, ToolChoice};

use super::schema::held_to;
use crate::ModelRequest;
use crate::wires::Dialect;
use crate::wires::anthropic_messages::models::Model;
use crate::wires::anthropic_messages::options::OPTIONS;
use crate::wires::effort::is_off;
use crate::wires::json::{field, json_string, json_value, object};
use crate::wires::once::{dropped, report};
use crate::wires::options::with_extra;

/// The least budget of thinking, in tokens ("Extended thinking").
const MIN_BUDGET: u64 = 1024;

/// Budgets of the efforts that have names, in tokens; numbers stand for themselves.
const BUDGETS: [(&str, u64); 6] = [
    ("minimal", 1_024),
    ("low", 2_048),
    ("medium", 8_192),
    ("high", 16_384),
    ("xhigh", 32_000),
    ("max", 32_000),
];

/// How a request asks for thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thinking<'r> {
    /// The model's default.
    Unsaid,
    /// As little as it can.
    Least,
    /// As its effort says.
    Adaptive(&'r str),
    /// Up to this many tokens.
    Budget(u64),
}

impl<'r> Thinking<'r> {
    fn of(model: Model<'_>, settings: &'r ModelChoice, max_tokens: u64) -> Self {
        let Some(effort) = settings.reasoning.as_deref() else { return Self::Unsaid };
        if is_off(effort) {
            return Self::Least;
        }
        if model.thinks_adaptively() {
            return Self::Adaptive(if effort == "minimal" { "low" } else { effort });
        }
        let wanted = budget_of(effort).unwrap_or(MIN_BUDGET);
        // The budget is part of the limit, and an answer needs room beside it.
        let budget = wanted.min(max_tokens / 2).max(MIN_BUDGET);
        if budget < max_tokens { Self::Budget(budget) } else { Self::Unsaid }
    }

    /// Whether the request asks for thinking.
    fn is_on(self) -> bool {
        matches!(self, Self::Adaptive(_) | Self::Budget(_))
    }
}

/// What of the rest of a request decides on its settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'d> {
    pub(super) dialect: &'d Dialect,
    /// A choice among tools counts.
    pub(super) has_tools: bool,
    /// The turn that goes on did not begin with thinking.
    pub(super) lacks_thought: bool,
}

/// Writes everything behind messages and tools, with the closing brace.
pub(super) fn settings(out: &mut Vec<u8>, name: &str, request: &ModelRequest, scene: Scene<'_>) {
    let (settings, model) = (&request.model, Model::named(name));
    let max_tokens = settings.max_tokens.unwrap_or_else(|| model.max_tokens());
    field(out, "max_tokens");
    json_value(out, &max_tokens);
    let forced = scene.has_tools && matches!(request.choice, ToolChoice::Required | ToolChoice::Named(_));
    let asked = Thinking::of(model, settings, max_tokens);
    let thinking = match asked {
        // "Thinking may not be enabled when tool_choice forces tool use."
        Thinking::Adaptive(_) | Thinking::Budget(_) if forced => Thinking::Unsaid,
        // With a budget, a turn that goes on must begin with thinking ("Extended thinking", "Toggling thinking modes").
        Thinking::Budget(_) if scene.lacks_thought => Thinking::Unsaid,
        Thinking::Unsaid | Thinking::Least | Thinking::Adaptive(_) | Thinking::Budget(_) => asked,
    };
    if let Some(words) = unlike(settings, asked, thinking) {
        report(settings, "reasoning", words);
    }
    write_thinking(out, thinking, model);
    let effort = match asked {
        Thinking::Adaptive(effort) => Some(effort),
        Thinking::Least if model.always_thinks() => Some("low"),
        Thinking::Unsaid | Thinking::Least | Thinking::Budget(_) => None,
    };
    output_config(out, effort, request.response_schema.as_ref().map(|(_, schema)| &**schema));
    sampling(out, settings, model, thinking.is_on());
    // A text of blanks alone is refused.
    let stop: Vec<_> = settings.stop.iter().filter(|text| !text.trim().is_empty()).collect();
    if stop.len() < settings.stop.len() {
        report(settings, "stop", "texts of blanks alone are left out: the provider refuses them");
    }
    if !stop.is_empty() {
        field(out, "stop_sequences");
        json_value(out, &stop);
    }
    // The API stores nothing else.
    if settings.metadata.keys().any(|key| **key != *"user_id") {
        report(
            settings,
            "metadata",
            "of the metadata only user_id is sent: the provider's API knows nothing else",
        );
    }
    let mut metadata = Vec::new();
    OPTIONS.write(&mut metadata, scene.dialect, Some("metadata"), settings);
    if let Some(user) = settings.metadata.get("user_id").filter(|_| metadata.is_empty()) {
        field(&mut metadata, "user_id");
        json_string(&mut metadata, user);
    }
    object(out, "metadata", &metadata);
    OPTIONS.write(out, scene.dialect, None, settings);
    if request.stream {
        out.extend_from_slice(b",\"stream\":true");
    }
    out.push(b'}');
    with_extra(out, settings);
}

/// Why a model does not take its options: `top_k` is a sampling setting, which newer models refuse, and which others refuse while they
/// think ("Extended thinking", "Feature compatibility").
pub(in crate::wires::anthropic_messages) fn refusal(
    dialect: &Dialect,
    settings: &ModelChoice,
) -> Option<String> {
    settings.option(ModelOption::TopK)?;
    let thinks = settings.reasoning.as_deref().is_some_and(|effort| !is_off(effort));
    if !Model::named(dialect.plain_name(&settings.name)).takes_sampling() {
        Some("`top_k`: the model takes no sampling settings".to_owned())
    } else if thinks {
        Some("`top_k` beside `reasoning`: the model takes it only where it does not think".to_owned())
    } else {
        None
    }
}

/// What of the effort is not sent as it is set.
fn unlike(settings: &ModelChoice, asked: Thinking<'_>, sent: Thinking<'_>) -> Option<&'static str> {
    let effort = settings.reasoning.as_deref()?;
    match sent {
        Thinking::Unsaid if asked == Thinking::Unsaid => {
            Some("the setting is left out: max_tokens has no room for thinking")
        }
        // A turn that must call a tool, and what follows it, cannot think.
        Thinking::Unsaid => {
            Some("the setting is left out where a tool must be called: the provider refuses both")
        }
        Thinking::Adaptive(level) if level != effort => {
            Some("low is sent, because the model knows no lower effort")
        }
        Thinking::Budget(budget) => (budget_of(effort) != Some(budget))
            .then_some("the nearest budget that the API and max_tokens allow is sent"),
        Thinking::Least | Thinking::Adaptive(_) => None,
    }
}

/// The budget that an effort means.
fn budget_of(effort: &str) -> Option<u64> {
    let named = BUDGETS.iter().find(|(name, _)| *name == effort).map(|(_, budget)| *budget);
    named.or_else(|| effort.parse().ok())
}

fn write_thinking(out: &mut Vec<u8>, thinking: Thinking<'_>, model: Model<'_>) {
    match thinking {
        Thinking::Unsaid => {}
        Thinking::Least if model.always_thinks() => {}
        Thinking::Least if model.thinks_between_tools() => {
            out.extend_from_slice(b",\"thinking\":{\"type\":\"between_tools\"}");
        }
        Thinking::Least => out.extend_from_slice(b",\"thinking\":{\"type\":\"disabled\"}"),
        // Without `display` newer models show nothing of it.
        Thinking::Adaptive(_) => {
            out.extend_from_slice(b",\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"}");
        }
        Thinking::Budget(budget) => {
            out.extend_from_slice(b",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":");
            json_value(out, &budget);
            out.push(b'}');
        }
    }
}

/// Effort ("Effort") and the schema of the whole reply ("Structured outputs").
fn output_config(out: &mut Vec<u8>, effort: Option<&str>, schema: Option<&Value>) {
    if effort.is_none() && schema.is_none() {
        return;
    }
    out.extend_from_slice(b",\"output_config\":{");
    if let Some(effort) = effort {
        out.extend_from_slice(b"\"effort\":");
        json_string(out, effort);
    }
    if let Some(schema) = schema {
        let comma = if effort.is_some() { "," } else { "" };
        out.extend_from_slice(comma.as_bytes());
        out.extend_from_slice(b"\"format\":{\"type\":\"json_schema\",\"schema\":");
        json_value(out, &held_to(schema));
        out.push(b'}');
    }
    out.push(b'}');
}

/// Temperature from 0 to 1 and nucleus sampling, as far as the model takes them. With thinking the temperature is 1, and nucleus
/// sampling at least 0.95 ("Extended thinking", "Feature compatibility").
fn sampling(out: &mut Vec<u8>, settings: &ModelChoice, model: Model<'_>, thinks: bool) {
    if settings.presence_penalty.is_some() {
        dropped(settings, "presence_penalty");
    }
    if !model.takes_sampling() {
        for (setting, value) in [("temperature", settings.temperature), ("top_p", settings.top_p)] {
            if value.is_some() {
                report(settings, setting, "the setting is left out: the model takes no sampling settings");
            }
        }
        return;
    }
    let temperature = settings.temperature.filter(|temperature| temperature.is_finite() && !thinks);
    if settings.temperature.is_some_and(|wanted| (wanted - 1.0).abs() > f64::EPSILON) && temperature.is_none()
    {
        report(
            settings,
            "temperature",
            "the setting is left out while the model thinks: its temperature is 1 then",
        );
    }
    if let Some(temperature) = temperature {
        if !(0.0..=1.0).contains(&temperature) {
            report(
                settings,
                "temperature",
                "the nearest value from 0 to 1 is sent, because the API takes no other",
            );
        }
        field(out, "temperature");
        json_value(out, &temperature.clamp(0.0, 1.0));
    }
    let taken = temperature.is_some() && model.takes_one_sampling();
    let least = if thinks { 0.95 } else { 0.0 };
    let top_p = settings.top_p.filter(|top_p| (least..=1.0).contains(top_p) && !taken);
    if settings.top_p.is_some() && top_p.is_none() {
        report(
            settings,
            "top_p",
            "the setting is left out: the model takes it neither beside a temperature nor out of bounds",
        );
    }
    if let Some(top_p) = top_p {
        field(out, "top_p");
        json_value(out, &top_p);
    }
}
