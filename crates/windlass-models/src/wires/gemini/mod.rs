//! The wire of the Gemini API and of Gemini on Vertex AI: `generateContent` and `streamGenerateContent`.
//!
//! Sources: the Gemini API reference, "Generating content" (ai.google.dev/api/generate-content) and "Caching" for `Content` and
//! `Part`; the guides "Function calling", "Thinking", "Thought signatures" and "Structured output"; the reference of Vertex AI for
//! what only it documents (`partialArgs`, `MODEL_ARMOR`). [`encode`] and [`decode`] are pure.

use std::borrow::Cow;

use serde::Deserialize;
use windlass_core::ToolSpec;
use windlass_core::message::Part;
use windlass_core::model::{ModelOption, Reply};

use self::decode::Decoder;
use super::{Asked, Decode, DecodeError, Dialect, Encoding, KeyHeader, Wire, WireFacts, text_in};
use crate::ModelRequest;
use crate::http::{ErrorWords, Framing};

mod annotations;
pub mod decode;
mod elements;
pub mod encode;
mod ends;
mod generation;
mod hosted;
mod metadata;
mod options;
mod partial;
mod shapes;

/// The name of the wire. Layouts of replies carry it in both services: whose they are, the provider's label says.
const NAME: &str = "gemini";

/// The Gemini API, or a server that speaks it under other facts.
#[derive(Clone, Copy, Debug)]
pub struct Gemini {
    facts: &'static WireFacts,
}

/// The Gemini API (`generativelanguage.googleapis.com`), whose key stands in `x-goog-api-key`.
pub static GEMINI: Gemini = Gemini { facts: &FACTS };

/// Gemini on Vertex AI (`gemini_vertex`), which takes a bearer token: the same bodies behind another header. The project and the place
/// stand in the base URL: `https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION/publishers/google`.
pub static VERTEX: Gemini = Gemini { facts: &VERTEX_FACTS };

static FACTS: WireFacts = WireFacts {
    name: NAME,
    base_path: "/v1beta",
    call_path: "/models",
    models_path: "models?pageSize=1000",
    framing: Framing::Events,
    key: KeyHeader::Named("x-goog-api-key"),
    headers: &[],
    errors: &ERRORS,
    options: options::OPTIONS,
    hosted: hosted::HOSTED,
    betas: None,
    restore: None,
};

static VERTEX_FACTS: WireFacts = WireFacts {
    name: "gemini_vertex",
    base_path: "/v1/publishers/google",
    models_path: "models",
    key: KeyHeader::Bearer,
    ..FACTS
};

/// Error wordings of the Gemini API and Vertex AI ("Troubleshooting", and the words of `google.rpc.Code`).
///
/// `tools` is not among the names of tools: the words for a missing thought signature say "required for tools to work".
pub(super) static ERRORS: ErrorWords = ErrorWords {
    context_length: &[
        "exceeds the maximum number of tokens",
        "input token count",
        "input context is too long",
        "context window",
    ],
    tools: &["function calling"],
    tool_choice: &["function_calling_config", "functioncallingconfig", "allowed_function_names"],
    calls: &["tools", "function_declarations"],
    schemas: &[
        "json mode",
        "response_json_schema",
        "responsejsonschema",
        "response_schema",
        "responseschema",
        "response_mime_type",
        "response mime type",
    ],
    unsupported: &["not support", "unsupported", "not enabled", "not available"],
    rate_limited: &["resource_exhausted", "resource has been exhausted", "exceeded your current quota"],
    overloaded: &["overloaded", "unavailable"],
};

impl Wire for Gemini {
    fn facts(&self) -> &WireFacts {
        self.facts
    }

    fn takes(&self, _: &Dialect, part: &Part) -> bool {
        encode::takes(part)
    }

    /// `VALIDATED` holds the calls of all tools to their schemas ("Function calling modes").
    fn refuses(&self, _: &Dialect, request: &ModelRequest) -> Option<String> {
        let is_other =
            |tool: &&ToolSpec| tool.is_offered() && request.is_strict(tool) != request.model.strict;
        // GenerateContentRequest, "cachedContent": instructions and tools of the request are refused beside it.
        let has_own = request.tools.iter().any(ToolSpec::is_named)
            || request.whole().next().is_some_and(|first| first.instructs());
        if has_own && request.model.option(ModelOption::CachedContent).is_some() {
            return Some(
                "`cached_content`: instructions and tools stand in it, and the agent may have none"
                    .to_owned(),
            );
        }
        let tool = request.tools.iter().find(is_other)?;
        Some(format!(
            "tool `{}`: its API holds all tools to their schemas or none: set `strict` at the model",
            tool.name
        ))
    }

    fn path(&self, model: &str, stream: bool) -> Cow<'static, str> {
        // A tuned model is named with its collection: `tunedModels/NAME`.
        let collection = if model.contains('/') { "" } else { "models/" };
        let model = model.replace('?', "%3F");
        let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        Cow::Owned(format!("{collection}{model}:{method}"))
    }

    fn encode(&self, dialect: &Dialect, request: &ModelRequest) -> Encoding {
        encode::encode(dialect, request)
    }

    fn decode(&self, dialect: &Dialect, body: &[u8], asked: &Asked) -> Result<Reply, DecodeError> {
        decode::decode(body, &dialect.label, asked)
    }

    fn decoder(&self, dialect: &Dialect) -> Box<dyn Decode> {
        Box::new(Decoder::new(&dialect.label))
    }

    fn model_names(&self, body: &[u8]) -> Result<Vec<String>, DecodeError> {
        let list: List =
            serde_json::from_str(&text_in(body)).map_err(|error| DecodeError::protocol(error.to_string()))?;
        let generates = |model: &Listed| {
            let methods = model.supported_generation_methods.as_ref();
            methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
        };
        let names = list.models.into_iter().filter(generates).map(|model| model.name);
        Ok(names.map(|name| name.strip_prefix("models/").map(str::to_owned).unwrap_or(name)).collect())
    }
}

/// The answer of `models.list`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct List {
    models: Vec<Listed>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Listed {
    name: String,
    supported_generation_methods: Option<Vec<String>>,
}

#[cfg(test)]
mod tests;
