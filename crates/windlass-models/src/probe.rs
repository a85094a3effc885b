//! Owns what a model can do, found by asking it: one small request for each ability, and two for the cache.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Value, json};
use windlass_core::message::{Content, Media, MediaSource, Part};
use windlass_core::model::{ModelChoice, ModelFailure, Reply, Usage};
use windlass_core::policy::CachePoint;
use windlass_core::secret::mask;
use windlass_core::{Message, ToolSpec};
use windlass_macros::Named;

use crate::{Assembler, Delta, Model, ModelError, ModelRequest, Thoughts, assemble, resolve};

/// The most tokens of a probe's reply. Reasoning models count their thoughts: a smaller limit leaves no word.
pub const PROBE_TOKENS: u64 = 512;

/// A red square of 32 by 32 pixels, as PNG in base64. Some providers refuse images of a few pixels.
const RED: &str = "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC";

/// Instructions are repeated so often that they exceed 1024 tokens: providers keep no shorter beginnings (OpenAI and Anthropic,
/// "Prompt caching").
const REPEATS: usize = 160;

const SENTENCE: &str = "Answer in one word, in lower case, without a full stop. ";

/// An ability that is probed. [`Ability::ALL`] has them in the order of their probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
#[named(all)]
pub enum Ability {
    /// The reply comes in pieces.
    Stream,
    /// A tool is called with arguments that fit.
    ToolCall,
    /// Two calls come in one reply.
    ParallelCalls,
    /// The reply follows a JSON Schema.
    Schema,
    /// An image is seen.
    Image,
    /// The model thinks where it is asked to.
    Reasoning,
    /// The beginning of a request comes from the provider's cache when it is sent again.
    Cache,
}

/// How a probe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Outcome {
    /// The model did it.
    Works,
    /// The model answered, but did not do it. It may the next time.
    Missing,
    /// The request failed.
    Failed,
}

/// The finding of one probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The ability that was asked for.
    pub ability: Ability,
    /// How it ended.
    pub outcome: Outcome,
    /// The model's reply in short, or the provider's words; masked.
    pub found: String,
    /// Usage of its requests.
    pub usage: Usage,
    /// Whether the request failed because the model or its server knows no tools.
    pub refuses_tools: bool,
}

/// The findings on a model's abilities.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeReport {
    /// The reply to a request for one word.
    pub text: Reply,
    /// Findings of the other probes, in the order of [`Ability::ALL`].
    pub findings: Vec<Finding>,
}

/// Asks a model for a word, then for each ability, one request after another; a probe that fails does not end the others.
/// `name` is sent as [`ModelChoice::name`]. A reply has at most [`PROBE_TOKENS`] tokens, and only the two requests for the cache
/// are longer than a few lines.
///
/// # Errors
/// [`ModelError::Failed`]: the model gives no text, and nothing else was asked.
pub async fn probe(model: &dyn Model, name: &str) -> Result<ProbeReport, ModelError> {
    let text = resolve::check(model, name).await?;
    let mut findings = Vec::with_capacity(Ability::ALL.len());
    for ability in Ability::ALL {
        findings.push(look(model, name, ability).await);
    }
    Ok(ProbeReport { text, findings })
}

/// Asks a model for one ability.
pub async fn look(model: &dyn Model, name: &str, ability: Ability) -> Finding {
    let looked = match ability {
        Ability::Stream => streams(model, name).await,
        Ability::ToolCall => calls(model, name, 1, "Add 2 and 5 with the tool.").await,
        Ability::ParallelCalls => {
            calls(model, name, 2, "Add 2 and 5, and add 3 and 4. Call the tool for both at once.").await
        }
        Ability::Schema => follows_schema(model, name).await,
        Ability::Image => sees(model, name).await,
        Ability::Reasoning => reasons(model, name).await,
        Ability::Cache => caches(model, name).await,
    };
    let refuses_tools = looked.as_ref().is_err_and(ModelFailure::refuses_tools);
    let (outcome, found, usage) =
        looked.unwrap_or_else(|failure| (Outcome::Failed, failure.message.to_string(), failure.usage));
    Finding { ability, outcome, found: mask(&found).to_string(), usage, refuses_tools }
}

type Looked = Result<(Outcome, String, Usage), ModelFailure>;

/// `Works` if so, else `Missing`.
fn outcome(works: bool) -> Outcome {
    if works { Outcome::Works } else { Outcome::Missing }
}

fn request(name: &str, content: impl Into<Content>) -> ModelRequest {
    let message = Message::User { content: content.into(), pinned: false };
    let model = ModelChoice { name: name.into(), max_tokens: Some(PROBE_TOKENS), ..ModelChoice::default() };
    ModelRequest::new(model, [message])
}

/// The words of a reply in place of what was asked for.
fn text_of(reply: &Reply) -> String {
    reply.text.as_deref().map_or_else(|| "no text".to_owned(), |text| format!("it says: {}", text.trim()))
}

async fn streams(model: &dyn Model, name: &str) -> Looked {
    let asked = ModelRequest { stream: true, ..request(name, "Count from one to five in words.") };
    let mut deltas = model.call(asked);
    let mut thoughts = Thoughts::default();
    let mut assembler = Assembler::new(name);
    let mut pieces = 0_u64;
    while let Some(delta) = deltas.next().await {
        let delta = delta?;
        pieces += u64::from(matches!(delta, Delta::Text(_) | Delta::Reasoning(_)));
        thoughts.pass(delta, |delta| assembler.push(delta))?;
    }
    thoughts.end(|delta| assembler.push(delta))?;
    let usage = assembler.finish().usage;
    let found = if pieces == 0 { "the reply came whole".to_owned() } else { format!("pieces: {pieces}") };
    Ok((outcome(pieces > 0), found, usage))
}

async fn calls(model: &dyn Model, name: &str, wanted: usize, prompt: &str) -> Looked {
    let mut asked = request(name, prompt);
    let parameters = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
        "required": ["a", "b"],
        "additionalProperties": false,
    });
    asked.tools = Arc::new(vec![ToolSpec::new("add", "Adds two numbers.", parameters)]);
    if wanted > 1 {
        asked.model.parallel = Some(true);
        // Some APIs have no setting for it: the model calls as it likes.
        if model.refuses(&asked).is_some() {
            asked.model.parallel = None;
        }
    }
    let reply = assemble(model.call(asked), name).await?;
    let fits = |args: &str| {
        let args: Option<Value> = serde_json::from_str(args).ok();
        args.is_some_and(|args| ["a", "b"].iter().all(|key| args.get(key).is_some_and(Value::is_i64)))
    };
    let good = reply.calls.iter().filter(|call| &*call.name == "add" && fits(&call.args)).count();
    let all: Vec<_> = reply.calls.iter().map(|call| format!("{}({})", call.name, call.args)).collect();
    let found = if all.is_empty() { text_of(&reply) } else { all.join(", ") };
    Ok((outcome(good >= wanted), found, reply.usage))
}

async fn follows_schema(model: &dyn Model, name: &str) -> Looked {
    let mut asked = request(name, "What is 2 and 5 together?");
    let schema = json!({
        "type": "object",
        "properties": { "sum": { "type": "integer" } },
        "required": ["sum"],
        "additionalProperties": false,
    });
    asked.response_schema = Some(("sum".into(), Arc::new(schema)));
    let reply = assemble(model.call(asked), name).await?;
    let value: Option<Value> = reply.text.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let keys = |value: &Value| value.as_object().is_some_and(|object| object.len() == 1);
    let fits = value.filter(|value| keys(value) && value.get("sum").is_some_and(Value::is_i64));
    let found = fits.as_ref().map_or_else(|| text_of(&reply), Value::to_string);
    Ok((outcome(fits.is_some()), found, reply.usage))
}

async fn sees(model: &dyn Model, name: &str) -> Looked {
    let image = Media { media_type: "image/png".into(), name: None, source: MediaSource::Base64(RED.into()) };
    let question = Part::Text { text: "Which colour has this square? Answer in one English word.".into() };
    let asked = request(name, Content::Parts(vec![question, Part::Image(image)]));
    let reply = assemble(model.call(asked), name).await?;
    let sees = reply.text.as_deref().is_some_and(|text| text.to_lowercase().contains("red"));
    Ok((outcome(sees), text_of(&reply), reply.usage))
}

async fn reasons(model: &dyn Model, name: &str) -> Looked {
    let mut asked = request(name, "What is 17 times 23?");
    asked.model.reasoning = Some("low".into());
    let reply = assemble(model.call(asked), name).await?;
    let tokens = reply.usage.reasoning;
    let readable = reply.reasoning.as_ref().is_some_and(|reasoning| !reasoning.text.is_empty());
    let found = match (readable, tokens) {
        (false, 0) => "no thoughts".to_owned(),
        (true, 0) => "readable thoughts".to_owned(),
        (true, tokens) => format!("readable thoughts, tokens: {tokens}"),
        (false, tokens) => format!("hidden thoughts, tokens: {tokens}"),
    };
    Ok((outcome(readable || tokens > 0), found, reply.usage))
}

/// The same request twice, with the instructions marked for the cache.
async fn caches(model: &dyn Model, name: &str) -> Looked {
    let mut asked = request(name, "Which colour has the sky?");
    asked.prompt = Arc::new(vec![Arc::new(Message::system(SENTENCE.repeat(REPEATS)))]);
    asked.cache = vec![CachePoint::role("system")];
    let first = assemble(model.call(asked.clone()), name).await?.usage;
    let second = match assemble(model.call(asked), name).await {
        Ok(reply) => reply.usage,
        Err(mut failure) => {
            failure.usage.add(&first);
            return Err(failure);
        }
    };
    let mut usage = first;
    usage.add(&second);
    let found =
        format!("cached {} of {} tokens, written before: {}", second.cached, second.input, first.cache_write);
    Ok((outcome(second.cached > 0), found, usage))
}
