//! Owns what is said once of a model: settings of the file that its API does not take, or not so.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use windlass_core::model::ModelChoice;

/// The most models that are remembered of one setting: beyond, nothing more is said.
const MOST: usize = 1_024;

/// All that was said: settings with their models.
static SAID: Mutex<BTreeMap<&'static str, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// What is said while a request is made only to hear it.
    static HEARD: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Everything said of a model while its request is made, a line each, whether or not it was said before.
pub(crate) fn heard(encode: impl FnOnce()) -> Vec<String> {
    HEARD.set(Some(Vec::new()));
    encode();
    HEARD.take().unwrap_or_default()
}

/// Says in the log, once a process, what becomes of a setting of a model.
pub(crate) fn say(model: &ModelChoice, setting: &'static str, what: &str) {
    HEARD.with_borrow_mut(|heard| {
        if let Some(heard) = heard {
            heard.push(format!("model {}: {setting}: {what}", model.name));
        }
    });
    if is_new(model, setting) {
        tracing::warn!(model = &*model.name, setting, "{what}");
    }
}

/// Says it of a setting that the API has no place for.
pub(crate) fn dropped(model: &ModelChoice, setting: &'static str) {
    say(model, setting, "the setting is left out: the provider's API does not know it");
}

fn is_new(model: &ModelChoice, setting: &'static str) -> bool {
    // A panic leaves a whole set.
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let models = said.entry(setting).or_default();
    models.len() < MOST && !models.contains(&*model.name) && models.insert(model.name.to_string())
}

/// The settings of which something was said of a model.
#[cfg(test)]
pub(crate) fn said(model: &str) -> Vec<&'static str> {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    said.iter().filter(|(_, models)| models.contains(model)).map(|(setting, _)| *setting).collect()
}

#[cfg(test)]
mod tests {
    use windlass_core::Message;
    use windlass_core::model::ModelChoice;

    use super::{is_new, said};
    use crate::ModelRequest;
    use crate::wires::{Dialect, anthropic_messages, gemini, ollama, openai_chat, openai_responses, testing};

    #[test]
    fn k54_a_setting_is_said_once_of_each_model() {
        let model = |name: &str| ModelChoice { name: name.into(), ..ModelChoice::default() };
        assert!(is_new(&model("once/a"), "top_p") && !is_new(&model("once/a"), "top_p"));
        assert!(is_new(&model("once/a"), "stop") && is_new(&model("once/b"), "top_p"));
    }

    /// A request with every setting that a file can have.
    fn full(name: &str) -> ModelRequest {
        let mut request = testing::request(name, vec![Message::user("Hi")]);
        request.model = ModelChoice {
            temperature: Some(1.5),
            top_p: Some(0.5),
            presence_penalty: Some(0.5),
            max_tokens: Some(3_000),
            reasoning: Some("max".into()),
            parallel: Some(false),
            strict: true,
            stop: vec![" ".into(), "x".into()],
            metadata: [("team".into(), "blue".into())].into(),
            ..request.model
        };
        request
    }

    #[test]
    fn k54_what_a_wire_drops_or_clamps_is_said() {
        let dialect = Dialect::default();
        anthropic_messages::encode::encode(&dialect, &full("a/claude-sonnet-4-5-all"));
        let thinking = ["metadata", "presence_penalty", "reasoning", "stop", "temperature", "top_p"];
        assert_eq!(said("a/claude-sonnet-4-5-all"), thinking);
        anthropic_messages::encode::encode(&dialect, &full("a/claude-opus-4-7-all"));
        assert_eq!(
            said("a/claude-opus-4-7-all"),
            ["metadata", "presence_penalty", "stop", "temperature", "top_p"]
        );
        gemini::encode::encode(&dialect, &full("g/gemini-3-pro-all"));
        assert_eq!(said("g/gemini-3-pro-all"), ["metadata", "parallel", "reasoning"]);
        ollama::encode::encode(&dialect, &full("o/qwen-all"));
        assert_eq!(said("o/qwen-all"), ["metadata", "parallel", "strict"]);
        let off = |name: &str| {
            let mut request = full(name);
            request.model.reasoning = Some("off".into());
            request
        };
        openai_chat::encode::encode(&dialect, &off("c/o3-all"));
        openai_responses::encode::encode(&dialect, &off("r/o3-all"));
        openai_chat::encode::encode(&dialect, &off("c/gpt-5.1"));
        assert_eq!(
            (said("c/o3-all"), said("r/o3-all"), said("c/gpt-5.1")),
            (vec!["reasoning"], vec!["presence_penalty", "reasoning", "stop"], vec![])
        );
    }

    #[test]
    fn k54_of_settings_that_are_sent_as_they_are_nothing_is_said() {
        let dialect = Dialect::default();
        let mut plain = testing::request("a/claude-sonnet-4-5-plain", vec![Message::user("Hi")]);
        plain.model.temperature = Some(0.5);
        plain.model.stop = vec!["x".into()];
        anthropic_messages::encode::encode(&dialect, &plain);
        gemini::encode::encode(&dialect, &plain);
        ollama::encode::encode(&dialect, &plain);
        openai_chat::encode::encode(&dialect, &plain);
        plain.model.stop = Vec::new();
        openai_responses::encode::encode(&dialect, &plain);
        assert!(said("a/claude-sonnet-4-5-plain").is_empty());
    }
}
