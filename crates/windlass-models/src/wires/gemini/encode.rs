//! Owns the request side of Gemini: messages and tools to bytes that stay the same from turn to turn.
//!
//! A turn encodes only its new messages; the body is put together by copying bytes. `systemInstruction` and `contents` come
//! first and everything that may change from turn to turn behind them, so that a turn's body begins with that of the one before.
//! The last content stays open: what its side says next belongs to it.

use serde::Serialize;
use windlass_core::model::{ModelChoice, ToolChoice};
use windlass_core::{Message, ToolSpec};

use self::content::Contents;
pub(super) use self::media::takes;
use super::generation::{is_third, thinking};
use super::hosted::HOSTED;
use super::options::OPTIONS;
use crate::ModelRequest;
use crate::wires::hosted::with_hosted;
use crate::wires::json::{field, json_string, json_value, number, object};
use crate::wires::once::report;
use crate::wires::options::with_extra;
use crate::wires::prefix::{Conversation, Kept, with_kept};
use crate::wires::tools::{Brackets, offered};
use crate::wires::{Dialect, Encoding};

mod content;
mod media;

impl<const THIRD: bool> Conversation for Contents<THIRD> {
    fn start(bytes: usize) -> Self {
        Self::with_capacity(bytes + 256)
    }

    fn add(&mut self, dialect: &Dialect, new: &Message) {
        self.message(dialect, new);
    }

    fn tools(request: &ModelRequest) -> Vec<u8> {
        with_hosted(tools(&request.tools), request, HOSTED)
    }
}

/// Encodes a request. The path says whether the reply is streamed, not the body.
pub fn encode(dialect: &Dialect, request: &ModelRequest) -> Encoding {
    // What was kept for a model of the other kind is encoded anew.
    if is_third(dialect.plain_name(&request.model.name)) {
        with_kept(&request.prefix, dialect, request, |kept: &Kept<Contents<true>>| {
            body(dialect, request, kept)
        })
    } else {
        with_kept(&request.prefix, dialect, request, |kept: &Kept<Contents<false>>| {
            body(dialect, request, kept)
        })
    }
}

fn body<const THIRD: bool>(
    dialect: &Dialect,
    request: &ModelRequest,
    kept: &Kept<Contents<THIRD>>,
) -> Encoding {
    let (system, contents) = kept.messages.bytes();
    let tools = if request.choice == ToolChoice::None { &[] } else { kept.tools() };
    let mut tail = Vec::with_capacity(256);
    if !tools.is_empty() {
        tool_config(&mut tail, request);
    }
    generation_config(&mut tail, dialect, request);
    tail.push(b'}');
    with_extra(&mut tail, &request.model);
    let parts: [&[u8]; 7] = match (system, contents) {
        // The API wants contents: instructions alone are what is said.
        (system, []) if !system.is_empty() => {
            [b"{\"contents\":[{\"role\":\"user\",\"parts\":[", system, b"]}", b"]", tools, &tail, b""]
        }
        (_, []) => [b"{\"contents\":[", b"", b"", b"]", tools, &tail, b""],
        ([], contents) => [b"{\"contents\":[", contents, b"]}", b"]", tools, &tail, b""],
        (system, contents) => [
            b"{\"systemInstruction\":{\"parts\":[",
            system,
            b"]},\"contents\":[",
            contents,
            b"]}]",
            tools,
            &tail,
        ],
    };
    Encoding { body: parts.concat(), content_bytes: system.len() + contents.len() + tools.len() }
}

/// `,"tools":[…]` of the offered tools; nothing if there is none. Below their root schemas go out as they are:
/// `parametersJsonSchema` takes JSON Schema ("Function calling", `FunctionDeclaration`).
fn tools(specs: &[ToolSpec]) -> Vec<u8> {
    let brackets = Brackets { open: b",\"tools\":[{\"functionDeclarations\":[", close: b"]}]" };
    offered(specs, false, brackets, |out, tool| {
        out.push(b'{');
        tool.named(out);
        if takes_arguments(tool.schema()) {
            field(out, "parametersJsonSchema");
            json_value(out, tool.schema());
        }
        out.push(b'}');
    })
}

/// Whether a schema says more than that there are no arguments: without any, the field is to be left unset.
fn takes_arguments(schema: &serde_json::Value) -> bool {
    let Some(schema) = schema.as_object() else { return true };
    schema.iter().any(|(key, value)| match key.as_str() {
        "type" | "title" | "description" | "$schema" => false,
        "properties" => value.as_object().is_none_or(|properties| !properties.is_empty()),
        "required" => value.as_array().is_none_or(|required| !required.is_empty()),
        "additionalProperties" => *value != false,
        _ => true,
    })
}

/// `toolConfig`, where it says anything. `VALIDATED` holds calls to their schemas and leaves text possible; `ANY` does so for
/// calls that must come. Beside functions, the provider's own tools want their calls in the reply ("Combine built-in tools and
/// function calling").
fn tool_config(out: &mut Vec<u8>, request: &ModelRequest) {
    let mode = match &request.choice {
        ToolChoice::Auto if request.model.strict => Some("VALIDATED"),
        ToolChoice::Auto | ToolChoice::None => None,
        ToolChoice::Required | ToolChoice::Named(_) | ToolChoice::OneOf(_) => Some("ANY"),
    };
    let mut config = Vec::new();
    let mut calling = Vec::new();
    if let Some(mode) = mode {
        field(&mut calling, "mode");
        json_string(&mut calling, mode);
        let names = request.choice.tools();
        if !names.is_empty() {
            field(&mut calling, "allowedFunctionNames");
            json_value(&mut calling, &names);
        }
    }
    object(&mut config, "functionCallingConfig", &calling);
    if request.hosted().next().is_some() && request.tools.iter().any(ToolSpec::is_offered) {
        config.extend_from_slice(b",\"includeServerSideToolInvocations\":true");
    }
    object(out, "toolConfig", &config);
}

/// `generationConfig`, where there is a setting. The API has none for calls in parallel, and no metadata.
fn generation_config(out: &mut Vec<u8>, dialect: &Dialect, request: &ModelRequest) {
    let model = &request.model;
    let mut fields = Vec::new();
    let numbers = [
        ("temperature", model.temperature),
        ("topP", model.top_p),
        ("presencePenalty", model.presence_penalty),
    ];
    for (name, value) in numbers {
        number(&mut fields, name, value);
    }
    if let Some(max) = model.max_tokens {
        field(&mut fields, "maxOutputTokens");
        json_value(&mut fields, &max);
    }
    if !model.stop.is_empty() {
        field(&mut fields, "stopSequences");
        json_value(&mut fields, &model.stop);
    }
    if request.response_schema.is_some() {
        fields.extend_from_slice(b",\"responseMimeType\":\"application/json\"");
    }
    if let Some((_, schema)) = request.output_schema() {
        fields.extend_from_slice(b",\"responseJsonSchema\":");
        json_value(&mut fields, &**schema);
    }
    if thinking(&mut fields, dialect.plain_name(&model.name), model) {
        report(model, "reasoning", "the nearest effort that the model knows is sent");
    }
    OPTIONS.write(&mut fields, dialect, Some("generationConfig"), model);
    if model.logprobs().is_some() {
        fields.extend_from_slice(b",\"responseLogprobs\":true");
    }
    object(out, "generationConfig", &fields);
    OPTIONS.write(out, dialect, None, model);
    safety(out, model);
}

/// `safetySettings`, where there are any ("Safety settings").
fn safety(out: &mut Vec<u8>, model: &ModelChoice) {
    #[derive(Serialize)]
    struct Setting<'s> {
        category: &'s str,
        threshold: &'s str,
    }
    let Some(categories) = model.options.as_ref().and_then(|options| options.safety.as_ref()) else { return };
    let settings = categories.iter().map(|(category, threshold)| Setting { category, threshold });
    field(out, "safetySettings");
    json_value(out, &settings.collect::<Vec<_>>());
}

#[cfg(test)]
mod tests;
