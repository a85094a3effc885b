//! Owns the settings of a request: limits, sampling, thinking, structured output.

use serde_json::Value;
use windlass_core::model::{ModelChoice, ModelOption};

use super::is_on;
use super::schema::held_to;
use crate::ModelRequest;
use crate::wires::Dialect;
use crate::wires::anthropic_messages::models::Model;
use crate::wires::anthropic_messages::options::OPTIONS;
use crate::wires::effort::is_off;
use crate::wires::json::{field, json_string, json_value, object};
use crate::wires::marker::{LIFETIMES, lifetime, marker};
use crate::wires::once::report;
use crate::wires::options::with_extra;

/// The least budget of thinking, in tokens ("Extended thinking").
const MIN_BUDGET: u64 = 1024;

/// Budgets of efforts, in tokens.
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
    /// As its effort says, or as much as it decides by itself.
    Adaptive(Option<&'r str>),
    /// Up to this many tokens.
    Budget(u64),
}

impl<'r> Thinking<'r> {
    fn of(model: Model<'_>, settings: &'r ModelChoice, max_tokens: u64) -> Self {
        let set = settings.reasoning_options();
        if let Some(budget) = set.and_then(|set| set.budget_tokens) {
            return Self::Budget(budget);
        }
        let Some(effort) = settings.reasoning.as_deref() else {
            return if set.is_some() { Self::Adaptive(None) } else { Self::Unsaid };
        };
        if is_off(effort) {
            return Self::Least;
        }
        if model.thinks_adaptively() {
            return Self::Adaptive(Some(if effort == "minimal" { "low" } else { effort }));
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

/// The facts of the rest of a request that decide on its settings.
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
    let forced = scene.has_tools && request.choice.is_forced();
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
    write_thinking(out, thinking, model, settings.reasoning_options().and_then(|set| set.show));
    let effort = match asked {
        Thinking::Adaptive(effort) => effort,
        Thinking::Least if model.always_thinks() => Some("low"),
        Thinking::Unsaid | Thinking::Least | Thinking::Budget(_) => None,
    };
    output_config(out, effort, request.output_schema().map(|(_, schema)| &**schema));
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
    let mut metadata = Vec::new();
    OPTIONS.write(&mut metadata, scene.dialect, Some("metadata"), settings);
    if let Some(user) = settings.metadata.get("user_id").filter(|_| metadata.is_empty()) {
        field(&mut metadata, "user_id");
        json_string(&mut metadata, user);
    }
    object(out, "metadata", &metadata);
    OPTIONS.write(out, scene.dialect, None, settings);
    if is_on(settings, ModelOption::CacheAutomatic) {
        out.extend_from_slice(&marker(settings));
    }
    if request.stream {
        out.extend_from_slice(b",\"stream\":true");
    }
    out.push(b'}');
    with_extra(out, settings);
}

/// Why a model does not take its settings; `None`: it does.
///
/// `top_k` is a sampling setting, which newer models refuse, and which others refuse while they think. A budget is at least 1,024 tokens
/// and less than `max_tokens` ("Extended thinking"); models from 4.7 on have none, older ones do not think unless they are asked to
/// ("Adaptive thinking").
pub(in crate::wires::anthropic_messages) fn refusal(
    dialect: &Dialect,
    settings: &ModelChoice,
) -> Option<String> {
    let model = Model::named(dialect.plain_name(&settings.name));
    let set = settings.reasoning_options();
    let budget = set.and_then(|set| set.budget_tokens);
    let thinks = budget.is_some() || settings.reasoning.as_deref().is_some_and(|effort| !is_off(effort));
    if let Some(lifetime) = lifetime(settings).filter(|lifetime| !LIFETIMES.contains(lifetime)) {
        return Some(format!("`cache_lifetime` is `{lifetime}`: its API knows `5m` and `1h`"));
    }
    if settings.option(ModelOption::TopK).is_some() {
        if !model.takes_sampling() {
            return Some("`top_k`: the model takes no sampling settings".to_owned());
        }
        if thinks {
            return Some(
                "`top_k` beside `reasoning`: the model takes it only where it does not think".to_owned(),
            );
        }
    }
    if let Some(key) = settings.metadata.keys().find(|key| ***key != *"user_id") {
        return Some(format!("`metadata.{key}`: its API knows `user_id` alone"));
    }
    let max_tokens = settings.max_tokens.unwrap_or_else(|| model.max_tokens());
    match budget {
        Some(_) if !model.takes_budget() => Some(
            "`reasoning.budget_tokens`: the model decides itself how much it thinks, led by `effort`"
                .to_owned(),
        ),
        Some(budget) if budget < MIN_BUDGET => {
            Some(format!("`reasoning.budget_tokens` is {budget}: the least budget is {MIN_BUDGET}"))
        }
        Some(budget) if budget >= max_tokens => Some(format!(
            "`reasoning.budget_tokens` is {budget}: it must be less than the {max_tokens} tokens of a whole reply (`max_tokens`)"
        )),
        None if set.is_some() && !thinks && !model.thinks_adaptively() => {
            Some("`reasoning.show`: the model does not think without `effort` or `budget_tokens`".to_owned())
        }
        Some(_) | None => None,
    }
}

/// The difference between the effort as set and as sent.
fn unlike(settings: &ModelChoice, asked: Thinking<'_>, sent: Thinking<'_>) -> Option<&'static str> {
    let effort = settings.reasoning.as_deref().unwrap_or_default();
    match sent {
        Thinking::Unsaid if asked == Thinking::Unsaid => {
            (!effort.is_empty()).then_some("the setting is left out: max_tokens has no room for thinking")
        }
        // A turn that must call a tool, and what follows it, cannot think.
        Thinking::Unsaid => {
            Some("the setting is left out where a tool must be called: the provider refuses both")
        }
        Thinking::Adaptive(Some(level)) if level != effort => {
            Some("low is sent, because the model knows no lower effort")
        }
        Thinking::Budget(budget) => budget_of(effort)
            .is_some_and(|wanted| wanted != budget)
            .then_some("the nearest budget that the API and max_tokens allow is sent"),
        Thinking::Least | Thinking::Adaptive(_) => None,
    }
}

/// The budget that an effort means.
fn budget_of(effort: &str) -> Option<u64> {
    BUDGETS.iter().find(|(name, _)| *name == effort).map(|(_, budget)| *budget)
}

fn write_thinking(out: &mut Vec<u8>, thinking: Thinking<'_>, model: Model<'_>, show: Option<bool>) {
    let display = |show| if show { "summarized" } else { "omitted" };
    match thinking {
        Thinking::Unsaid => {}
        Thinking::Least if model.always_thinks() => {}
        Thinking::Least if model.thinks_between_tools() => {
            out.extend_from_slice(b",\"thinking\":{\"type\":\"between_tools\"}");
        }
        Thinking::Least => out.extend_from_slice(b",\"thinking\":{\"type\":\"disabled\"}"),
        // Without `display` newer models show nothing of it.
        Thinking::Adaptive(_) => {
            out.extend_from_slice(b",\"thinking\":{\"type\":\"adaptive\"");
            field(out, "display");
            json_string(out, display(show.unwrap_or(true)));
            out.push(b'}');
        }
        Thinking::Budget(budget) => {
            out.extend_from_slice(b",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":");
            json_value(out, &budget);
            if let Some(show) = show {
                field(out, "display");
                json_string(out, display(show));
            }
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
