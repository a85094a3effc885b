//! Owns how a wire writes the options of a model call, which it has no place for, and what of the body is a user's own (`extra`).

use serde_json::{Map, Value};
use windlass_core::model::{ModelChoice, ModelFailure, ModelOption};

use super::Dialect;
use super::json::{field, json_value};

/// A setting that every choice of a model has a field for, and that not every API has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// [`ModelChoice::stop`].
    Stop,
    /// [`ModelChoice::presence_penalty`].
    PresencePenalty,
    /// [`ModelChoice::parallel`].
    Parallel,
    /// [`ModelChoice::strict`].
    Strict,
    /// [`ModelChoice::metadata`].
    Metadata,
}

impl Setting {
    fn key(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::PresencePenalty => "presence_penalty",
            Self::Parallel => "parallel",
            Self::Strict => "strict",
            Self::Metadata => "metadata",
        }
    }

    fn is_set(self, model: &ModelChoice) -> bool {
        match self {
            Self::Stop => !model.stop.is_empty(),
            Self::PresencePenalty => model.presence_penalty.is_some(),
            Self::Parallel => model.parallel.is_some(),
            Self::Strict => model.strict,
            Self::Metadata => !model.metadata.is_empty(),
        }
    }
}

/// How a wire takes options.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The places of the options that it takes: a key of the body, or of an object in it (`generationConfig.seed`).
    pub places: &'static [(ModelOption, &'static str)],
    /// The places of those that it writes in a form of its own.
    pub formed: &'static [(ModelOption, &'static str)],
    /// The other settings that it has no place for.
    pub lacks: &'static [Setting],
    /// Every other key that it writes, in the same form: none of them may stand in [`extra`](windlass_core::model::ModelOptions::extra).
    pub written: &'static [&'static str],
}

/// The places of options in an object of the request that is called `reasoning`, where a server has one (OpenRouter, "Reasoning Tokens").
const REASONING_OBJECT: [(ModelOption, &str); 2] = [
    (ModelOption::ReasoningBudget, "reasoning.max_tokens"),
    (ModelOption::ShowReasoning, "reasoning.exclude"),
];

impl Options {
    /// The place of an option at a server; `None`: it has none.
    fn place(&self, dialect: &Dialect, option: ModelOption) -> Option<&'static str> {
        match option {
            ModelOption::TopK if dialect.quirks.no_top_k => None,
            ModelOption::Seed if dialect.quirks.random_seed => Some("random_seed"),
            _ => {
                let object: &[_] =
                    if dialect.quirks.reasoning_object { &REASONING_OBJECT } else { Default::default() };
                let mut places = self.places.iter().chain(self.formed).chain(object);
                places.find(|(known, _)| *known == option).map(|(_, place)| *place)
            }
        }
    }

    /// Writes the options of one object of the body, each with a comma in front; `None`: those of the body itself.
    pub(crate) fn write(
        &self,
        out: &mut Vec<u8>,
        dialect: &Dialect,
        object: Option<&str>,
        model: &ModelChoice,
    ) {
        let Some(options) = &model.options else { return };
        for option in ModelOption::ALL {
            let Some(place) = self.place(dialect, *option).filter(|_| self.is_plain(*option)) else {
                continue;
            };
            let (within, key) =
                place.split_once('.').map_or((None, place), |(within, key)| (Some(within), key));
            if let Some(value) = options.get(*option).filter(|_| within == object) {
                field(out, key);
                json_value(out, &value);
            }
        }
    }

    /// Whether an option is written as its value.
    fn is_plain(&self, option: ModelOption) -> bool {
        let mut formed = self.formed.iter().chain(&REASONING_OBJECT);
        !formed.any(|(known, _)| *known == option)
    }

    /// The setting that a server's refusal names, by its key in agent files: one that is set, and that the words call by the name that the
    /// wire writes.
    pub fn refused(
        &self,
        dialect: &Dialect,
        model: &ModelChoice,
        failure: &ModelFailure,
    ) -> Option<&'static str> {
        let words = failure.message.to_lowercase();
        if !failure.may_name_setting() || !REFUSING.iter().any(|word| words.contains(word)) {
            return None;
        }
        let options = ModelOption::ALL.iter().filter(|option| model.option(**option).is_some());
        let option = options.copied().find(|option| {
            let place = self.place(dialect, *option).map(str::to_lowercase);
            place.is_some_and(|place| {
                let key = place.rsplit('.').next().unwrap_or(&place);
                names(&words, &place) || names(&words, key)
            })
        });
        let own = || {
            OWN.iter()
                .find(|(_, is_set, called)| is_set(model) && called.iter().any(|name| names(&words, name)))
        };
        option.map(ModelOption::key).or_else(|| own().map(|(key, ..)| *key))
    }

    /// Why the settings of a model cannot be sent; `None`: they can.
    pub(crate) fn refusal(&self, dialect: &Dialect, model: &ModelChoice) -> Option<String> {
        let no_place = |key: &str| Some(format!("`{key}` has no place in its API"));
        if let Some(setting) = self.lacks.iter().find(|setting| setting.is_set(model)) {
            return no_place(setting.key());
        }
        let options = model.options.as_deref()?;
        let mut set = ModelOption::ALL.iter().filter(|option| options.get(**option).is_some());
        if let Some(option) = set.find(|option| self.place(dialect, **option).is_none()) {
            return no_place(option.key());
        }
        if let Some(path) = CHOICES.iter().find(|path| several(&options.extra, path)) {
            return Some(format!(
                "`extra` sets `{path}`: a run goes on with one reply, and the others would be paid for nothing"
            ));
        }
        let path = self.taken(dialect, &mut Vec::new(), &options.extra)?;
        Some(format!("`extra` sets `{path}`, which Windlass writes itself"))
    }

    /// The first path of `extra` that the wire writes itself.
    fn taken<'e>(
        &self,
        dialect: &Dialect,
        keys: &mut Vec<&'e str>,
        extra: &'e Map<String, Value>,
    ) -> Option<String> {
        for (key, value) in extra {
            keys.push(key);
            let path = keys.join(".");
            let places = ModelOption::ALL.iter().filter_map(|option| self.place(dialect, *option));
            let is_within =
                |known: &str| known.strip_prefix(&*path).is_some_and(|rest| rest.starts_with('.'));
            let is_taken = |known: &str| known == path || (is_within(known) && !value.is_object());
            let effort = dialect.quirks.reasoning_object.then_some("reasoning.effort");
            if self.written.iter().copied().chain(effort).chain(places).any(is_taken) {
                return Some(path);
            }
            if let Value::Object(within) = value
                && let Some(path) = self.taken(dialect, keys, within)
            {
                return Some(path);
            }
            keys.pop();
        }
        None
    }
}

/// Words of a server that takes no such setting of this model, or not this value (OpenAI: "Unsupported parameter", "Unsupported value",
/// "Unrecognized request argument"; Anthropic: "Extra inputs are not permitted", "is deprecated for this model"; Gemini: "Unknown name";
/// Mistral: "Extra inputs"; Ollama: "does not support").
const REFUSING: [&str; 9] = [
    "not support",
    "unsupported",
    "unrecognized",
    "unknown",
    "not permitted",
    "not allowed",
    "deprecated",
    "unexpected",
    "cannot be specified",
];

/// A setting that every choice has a field for: its key, whether it is set, and what APIs call it, in lower case.
type Own = (&'static str, fn(&ModelChoice) -> bool, &'static [&'static str]);

const OWN: [Own; 7] = [
    // A preset's temperature is none of the choice: it may be meant in any case.
    ("temperature", |model| model.sampling != Some(false), &["temperature"]),
    ("top_p", |model| model.top_p.is_some(), &["top_p", "topp"]),
    ("presence_penalty", |model| model.presence_penalty.is_some(), &["presence_penalty", "presencepenalty"]),
    ("stop", |model| !model.stop.is_empty(), &["stop", "stop_sequences", "stopsequences"]),
    ("parallel", |model| model.parallel.is_some(), &["parallel_tool_calls", "disable_parallel_tool_use"]),
    ("metadata", |model| !model.metadata.is_empty(), &["metadata"]),
    (
        "reasoning",
        |model| model.reasoning.is_some(),
        &[
            "reasoning_effort",
            "reasoning.effort",
            "reasoning",
            "thinking",
            "think",
            "output_config.effort",
            "effort",
            "thinkingconfig",
        ],
    ),
];

/// Whether words in lower case have that name as a whole one.
fn names(words: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    words.match_indices(name).any(|(at, _)| {
        let before = words.get(..at).and_then(|before| before.chars().next_back());
        let after = words.get(at + name.len()..).and_then(|rest| rest.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The places at which APIs take a number of replies.
const CHOICES: [&str; 3] = ["n", "best_of", "generationConfig.candidateCount"];

/// Whether that place holds another number than one.
fn several(extra: &Map<String, Value>, path: &str) -> bool {
    let mut keys = path.split('.');
    let first = keys.next().and_then(|key| extra.get(key));
    keys.try_fold(first, |value, key| value.map(|value| value.get(key)))
        .flatten()
        .is_some_and(|count| *count != 1)
}

/// Merges a user's own parts into the end of a body: everything behind the last key that is never a user's, with a comma in front
/// and the closing brace.
pub(crate) fn with_extra(end: &mut Vec<u8>, model: &ModelChoice) {
    let Some(options) = model.options.as_deref().filter(|options| !options.extra.is_empty()) else { return };
    let own = end.strip_prefix(b",").unwrap_or(end);
    let Ok(mut whole) = serde_json::from_slice::<Map<String, Value>>(&[b"{", own].concat()) else { return };
    merge(&mut whole, &options.extra);
    end.clear();
    json_value(end, &whole);
    if let Some(first) = end.first_mut() {
        *first = b',';
    }
}

pub(crate) fn merge(into: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (key, value) in extra {
        match (into.get_mut(key), value) {
            (Some(Value::Object(into)), Value::Object(extra)) => merge(into, extra),
            _ => drop(into.insert(key.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests;
