//! Owns the words that switch reasoning off, and what a model of OpenAI's APIs takes in their place.

use windlass_core::model::ModelChoice;

use super::Dialect;
use super::once::report;

/// Efforts that mean no reasoning.
const OFF: [&str; 4] = ["none", "off", "false", "disabled"];

/// Words for an effort that means no reasoning and is not sent.
const LEAST: &str = "the model knows no such effort: its least one is sent, or none if it does not reason";

/// Whether an effort means no reasoning.
pub(crate) fn is_off(effort: &str) -> bool {
    OFF.iter().any(|word| effort.trim().eq_ignore_ascii_case(word))
}

/// The effort that a model of OpenAI's APIs is sent: one that means no reasoning becomes its least one, which is reported.
pub(crate) fn effort<'m>(dialect: &Dialect, model: &'m ModelChoice) -> Option<&'m str> {
    let asked = model.reasoning.as_deref();
    if !asked.is_some_and(is_off) {
        return asked;
    }
    let least = least(dialect.plain_name(&model.name));
    if !least.is_some_and(is_off) {
        report(model, "reasoning", LEAST);
    }
    least
}

/// The least effort of a model by its plain name, as OpenAI's APIs name it; `None`: the setting is left out, because the model does
/// not reason or has one effort only.
///
/// Source: the OpenAI API reference, `reasoning_effort`: models before GPT-5.1 do not take `none`, and GPT-5 Pro takes `high` alone;
/// the models' pages: GPT-5 takes `minimal`, the models for Codex, the o series and gpt-oss nothing below `low`.
fn least(model: &str) -> Option<&'static str> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let of =
        |family: &str| name == family || name.strip_prefix(family).is_some_and(|rest| rest.starts_with('-'));
    let series = |letter: char| {
        let rest = name.strip_prefix(letter);
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    let silent =
        ["gpt-3.5", "gpt-4", "gpt-4.1", "gpt-4.5", "gpt-4o", "chatgpt-4o", "gpt-5-pro", "gpt-5-chat"];
    if silent.into_iter().any(of) {
        None
    } else if of("gpt-oss") || series('o') || (name.starts_with("gpt-5") && name.contains("-codex")) {
        Some("low")
    } else if of("gpt-5") {
        Some("minimal")
    } else {
        Some("none")
    }
}

#[cfg(test)]
mod tests {
    use super::{is_off, least};

    #[test]
    fn the_least_effort_goes_by_the_model() {
        for (model, effort) in [
            ("gpt-5.1", Some("none")),
            ("gpt-5.4-mini", Some("none")),
            ("gpt-5", Some("minimal")),
            ("gpt-5-mini-2025-08-07", Some("minimal")),
            ("gpt-5-pro", None),
            ("gpt-5-chat-latest", None),
            ("gpt-5-codex", Some("low")),
            ("gpt-5.3-codex", Some("low")),
            ("o3", Some("low")),
            ("o4-mini", Some("low")),
            ("openai/gpt-oss-120b", Some("low")),
            ("gpt-4o", None),
            ("gpt-4.1-mini", None),
            ("qwen/qwen3-32b", Some("none")),
            ("olmo-3", Some("none")),
        ] {
            assert_eq!(least(model), effort, "{model}");
        }
    }

    #[test]
    fn one_word_of_several_switches_reasoning_off() {
        assert!(["none", "off", "false", "Disabled", " none "].into_iter().all(is_off));
        assert!(!["low", "minimal", "", "0"].into_iter().any(is_off));
    }
}
