//! Reports once for each model which settings of the file go out in another form than they are set.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use windlass_core::model::ModelChoice;

/// The most models that are remembered for one setting: nothing is reported beyond.
const MOST: usize = 1_024;

/// The settings that were reported, with their models.
static REPORTED: Mutex<BTreeMap<&'static str, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The reports while a request is made only for them.
    static COLLECTED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Everything that is reported while a request is made, a line each, whether or not it was reported before.
pub(crate) fn reported_during(encode: impl FnOnce()) -> Vec<String> {
    COLLECTED.set(Some(Vec::new()));
    encode();
    COLLECTED.take().unwrap_or_default()
}

/// Logs, once a process, what becomes of a setting of a model.
pub(crate) fn report(model: &ModelChoice, setting: &'static str, what: &str) {
    COLLECTED.with_borrow_mut(|lines| {
        if let Some(lines) = lines {
            lines.push(format!("model {}: {setting}: {what}", model.name));
        }
    });
    if is_new(model, setting) {
        tracing::warn!(model = &*model.name, setting, "{what}");
    }
}

fn is_new(model: &ModelChoice, setting: &'static str) -> bool {
    // A panic leaves a whole set.
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    let models = reported.entry(setting).or_default();
    models.len() < MOST && !models.contains(&*model.name) && models.insert(model.name.to_string())
}

/// The settings that were reported for a model.
#[cfg(test)]
pub(crate) fn reported(model: &str) -> Vec<&'static str> {
    let reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    reported.iter().filter(|(_, models)| models.contains(model)).map(|(setting, _)| *setting).collect()
}

#[cfg(test)]
mod tests {
    use windlass_core::Message;
    use windlass_core::model::ModelChoice;

    use super::{is_new, reported};
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
    fn k54_what_a_wire_clamps_is_said() {
        let dialect = Dialect::default();
        anthropic_messages::encode::encode(&dialect, &full("a/claude-sonnet-4-5-all"));
        let thinking = ["reasoning", "stop", "temperature", "top_p"];
        assert_eq!(reported("a/claude-sonnet-4-5-all"), thinking);
        anthropic_messages::encode::encode(&dialect, &full("a/claude-opus-4-7-all"));
        assert_eq!(reported("a/claude-opus-4-7-all"), ["stop", "temperature", "top_p"]);
        gemini::encode::encode(&dialect, &full("g/gemini-3-pro-all"));
        assert_eq!(reported("g/gemini-3-pro-all"), ["reasoning"]);
        let off = |name: &str| {
            let mut request = full(name);
            request.model.reasoning = Some("off".into());
            request
        };
        openai_chat::encode::encode(&dialect, &off("c/o3-all"));
        openai_responses::encode::encode(&dialect, &off("r/o3-all"));
        openai_chat::encode::encode(&dialect, &off("c/gpt-5.1"));
        assert_eq!(
            (reported("c/o3-all"), reported("r/o3-all"), reported("c/gpt-5.1")),
            (vec!["reasoning"], vec!["reasoning"], vec![])
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
        assert!(reported("a/claude-sonnet-4-5-plain").is_empty());
    }
}
