//! Owns what differs between generations of Gemini models: thinking, signatures of calls, media in results of functions.

use windlass_core::model::ModelChoice;

use crate::wires::effort::is_off;
use crate::wires::json::{field, json_string, json_value};

/// Whether a model belongs to Gemini 3 or a later generation. A name without a number (`gemini-flash-latest`) means the newest
/// model; a model of another family (`gemma-…`) has none of what came with Gemini 3.
///
/// Such models refuse a history whose calls lack their thought signatures ("Thought signatures"), take levels of thinking
/// ("Thinking") and take media in results of functions ("Function calling", "Multimodal function responses").
pub(super) fn is_third(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let Some(rest) = name.strip_prefix("gemini-") else { return false };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let major = rest.get(..digits).unwrap_or_default();
    major.is_empty() || major.parse().map_or(true, |major: u32| major >= 3)
}

/// Writes `"thinkingConfig":{…}` where there is an effort or another setting of it, with a comma in front. The summaries of thoughts are
/// asked for beside an effort or a budget, unless thinking is switched off or they are not to be shown.
///
/// Levels and budgets are those of "OpenAI compatibility": `minimal` and `low` are 1,024 tokens for models before Gemini 3,
/// `medium` 8,192, `high` 24,576, and `none` 0, or 128 for a Pro model ("Thinking"). Thinking of Gemini 3 cannot be switched off: `none` is its least level, and
/// efforts above `high` are `high`. Any other word is sent as a level.
///
/// Whether the effort is another one than was asked for, because the model has none such.
pub(super) fn thinking(out: &mut Vec<u8>, model: &str, choice: &ModelChoice) -> bool {
    let set = choice.reasoning_options();
    let (wanted, show) = (set.and_then(|set| set.budget_tokens), set.and_then(|set| set.show));
    let effort = match choice.reasoning.as_deref() {
        Some(effort) if is_off(effort) => Some("none".to_owned()),
        effort => effort.map(|effort| effort.trim().to_ascii_lowercase()),
    };
    if effort.is_none() && wanted.is_none() && show.is_none() {
        return false;
    }
    let third = is_third(model);
    let budget = wanted.or(match effort.as_deref() {
        // Gemini 2.5 Pro thinks with 128 tokens at least.
        Some("none") if !third && model.contains("-pro") => Some(128),
        Some("none") if !third => Some(0),
        Some("minimal" | "low") if !third => Some(1024),
        Some("medium") if !third => Some(8192),
        Some("high" | "xhigh" | "max") if !third => Some(24_576),
        _ => None,
    });
    field(out, "thinkingConfig");
    out.extend_from_slice(b"{\"includeThoughts\":");
    json_value(out, &show.unwrap_or(budget != Some(0)));
    if let Some(budget) = budget {
        field(out, "thinkingBudget");
        json_value(out, &budget);
    } else if let Some(effort) = &effort {
        field(out, "thinkingLevel");
        let level = match effort.as_str() {
            // Gemini 3 Pro has no level below `low`.
            "none" | "minimal" if model.contains("-pro") => "LOW".to_owned(),
            "none" => "MINIMAL".to_owned(),
            "xhigh" | "max" => "HIGH".to_owned(),
            level => level.to_ascii_uppercase(),
        };
        json_string(out, &level);
    }
    out.push(b'}');
    match effort.as_deref() {
        Some("none") => budget != Some(0),
        Some("minimal") => third && model.contains("-pro"),
        Some("xhigh" | "max") => true,
        _ => false,
    }
}
