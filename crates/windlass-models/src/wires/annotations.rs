//! Owns the parts of annotations that wires read alike: texts, addresses, arguments, and OpenAI's form of probabilities.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::{Map, Value};
use windlass_core::Text;
use windlass_core::message::{Alternative, HostedStep, HostedTool, Source, TokenLogprob};

use super::loose::scalar;
use crate::{Annotation, Cited, Delta};

/// Says a step.
pub(super) fn step(out: &mut VecDeque<Delta>, step: HostedStep) {
    out.push_back(Delta::Annotation(Box::new(Annotation::Step(step))));
}

/// Says a citation.
pub(super) fn cited(out: &mut VecDeque<Delta>, cited: Cited) {
    out.push_back(Delta::Annotation(Box::new(Annotation::Citation(cited))));
}

/// Says tokens; nothing for none.
pub(super) fn logprobs(out: &mut VecDeque<Delta>, tokens: Vec<TokenLogprob>) {
    if !tokens.is_empty() {
        out.push_back(Delta::Annotation(Box::new(Annotation::Logprobs(tokens))));
    }
}

/// A JSON object, or a value that may be one.
pub(super) trait Object {
    fn field(&self, name: &str) -> Option<&Value>;
}

impl Object for Value {
    fn field(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}

impl Object for Map<String, Value> {
    fn field(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}

/// A field that is a text with something in it.
pub(super) fn text(of: &impl Object, name: &str) -> Option<Text> {
    of.field(name)?.as_str().filter(|text| !text.is_empty()).map(Into::into)
}

/// A field that is a whole number.
pub(super) fn number(of: &Value, name: &str) -> Option<usize> {
    usize::try_from(of.get(name)?.as_u64()?).ok()
}

/// The elements of a field that is a list.
pub(super) fn list<'v>(of: &'v Value, name: &str) -> &'v [Value] {
    of.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts that are there, a line each; `None`: there is none.
pub(super) fn lines(texts: impl IntoIterator<Item = Option<Text>>) -> Option<Text> {
    let lines: Vec<Text> = texts.into_iter().flatten().collect();
    let joined = || lines.iter().map(|line| line.trim_end_matches('\n')).collect::<Vec<_>>().join("\n");
    match &*lines {
        [] => None,
        [line] => Some(line.clone()),
        _ => Some(joined().into()),
    }
}

/// The source that an object with an address and a title describes.
pub(super) fn page(of: &Value) -> Source {
    Source { title: text(of, "title"), url: text(of, "url").or_else(|| text(of, "uri")), file: None }
}

/// Arguments of a tool as people read them: the one thing that a known tool is asked, or their JSON. `None`: there are none.
pub(super) fn input(tool: HostedTool, args: &Value) -> Option<Text> {
    let known: &[&str] = match tool {
        HostedTool::WebSearch | HostedTool::FileSearch | HostedTool::ToolSearch => &["query", "pattern"],
        HostedTool::Url => &["url"],
        HostedTool::Code => &["code"],
        HostedTool::Image => &["prompt"],
        HostedTool::Computer | HostedTool::Mcp | HostedTool::Other => &[],
    };
    let queries = || lines(list(args, "queries").iter().map(json));
    known.iter().find_map(|name| text(args, name)).or_else(queries).or_else(|| json(args))
}

/// A value as JSON; a text as it is, and nothing for an empty value.
pub(super) fn json(value: &Value) -> Option<Text> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.as_str().into()).filter(|text: &Text| !text.is_empty()),
        Value::Object(fields) if fields.is_empty() => None,
        Value::Array(items) if items.is_empty() => None,
        other => Some(other.to_string().into()),
    }
}

/// A token with its probability, as OpenAI and servers after it write it (API reference, `logprobs`).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireToken {
    #[serde(deserialize_with = "scalar")]
    token: Option<Box<str>>,
    logprob: Option<f64>,
    top_logprobs: Option<Vec<WireAlternative>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireAlternative {
    #[serde(deserialize_with = "scalar")]
    token: Option<Box<str>>,
    logprob: Option<f64>,
}

impl WireToken {
    /// The token; `None`: it has no number.
    pub(super) fn read(self) -> Option<TokenLogprob> {
        let top = self
            .top_logprobs
            .unwrap_or_default()
            .into_iter()
            .filter_map(|other| Some(Alternative { text: other.token?.into(), logprob: other.logprob? }));
        Some(TokenLogprob { text: self.token?.into(), logprob: self.logprob?, top: top.collect() })
    }
}
