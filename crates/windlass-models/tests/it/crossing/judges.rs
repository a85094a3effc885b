//! Owns what each API takes of a conversation: a request is read by its rules, or refused in words.
//!
//! Sources: Anthropic, "Messages" and "Tool use: handle tool calls"; OpenAI API reference, "Create a response" and "Create chat
//! completion", guide "Reasoning models"; Ollama, `docs/api.md`. Gemini's rules stand in `gemini/schema.rs`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::gemini::schema;

/// A piece of a conversation, whatever the API.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    User(String),
    Said(String),
    Call {
        id: String,
        name: String,
        args: Value,
    },
    Result {
        id: String,
        text: String,
    },
    /// Base64.
    Image(String),
}

/// Reads a request, or says what is wrong with it.
pub type Judge = fn(&Value) -> Result<Vec<Item>, String>;

/// What all conversations are compared by. Ids are numbers of calls here, because each API has its own.
#[derive(Debug, Default, PartialEq)]
pub struct Kept {
    user: String,
    said: String,
    calls: Vec<(String, Value)>,
    results: Vec<(usize, String)>,
    images: usize,
}

/// Checks that ids are used once and every call is followed by its result, and sums the conversation up.
///
/// # Errors
/// The first fault, in words for people.
pub fn in_order(items: &[Item]) -> Result<Kept, String> {
    let mut kept = Kept::default();
    let mut numbers = BTreeMap::new();
    let mut open: Vec<&str> = Vec::new();
    let mut answering = false;
    for item in items {
        if let (false, true, Item::User(_) | Item::Said(_) | Item::Call { .. }) =
            (open.is_empty(), answering, item)
        {
            return Err(format!("the calls {open:?} have no results before {item:?}"));
        }
        match item {
            Item::User(text) => {
                let (text, notes) = without_notes(text);
                if !open.is_empty() && !text.is_empty() {
                    return Err(format!("the calls {open:?} are followed by `{text}`"));
                }
                kept.user.push_str(&text);
                kept.images += notes;
            }
            Item::Said(text) => kept.said.push_str(&without_notes(text).0),
            Item::Call { id, name, args } => {
                answering = false;
                if numbers.insert(id.as_str(), kept.calls.len()).is_some() {
                    return Err(format!("the id {id} is used twice"));
                }
                open.push(id);
                kept.calls.push((name.clone(), args.clone()));
            }
            Item::Result { id, text } => {
                answering = true;
                let at = open.iter().position(|one| one == id);
                open.remove(at.ok_or_else(|| format!("{id} answers no open call"))?);
                let (text, notes) = without_notes(text);
                kept.images += notes;
                kept.results.push((numbers[id.as_str()], text));
            }
            Item::Image(data) => {
                if data != super::PIXEL {
                    return Err(format!("another image: {data}"));
                }
                kept.images += 1;
            }
        }
    }
    if open.is_empty() { Ok(kept) } else { Err(format!("the calls {open:?} have no results")) }
}

/// A text without white space and notes in place of images, and how many notes there were.
fn without_notes(text: &str) -> (String, usize) {
    let (notes, lines): (Vec<_>, Vec<_>) =
        text.lines().partition(|line| line.starts_with("[image: image/png"));
    (lines.concat().split_whitespace().collect(), notes.len())
}

/// The smallest parts that a request consists of, in order, whose equality says "as it came".
pub fn parts(body: &Value) -> Vec<Value> {
    if let Some(items) = body["input"].as_array() {
        return items.clone();
    }
    let of = |list: &str, parts: &str| {
        list_of(&body[list]).flat_map(|one| list_of(&one[parts]).cloned().collect::<Vec<_>>()).collect()
    };
    if body.get("contents").is_some() { of("contents", "parts") } else { of("messages", "content") }
}

fn list_of(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("no text: {value}"))
}

fn filled(value: &Value) -> Result<String, String> {
    text(value).and_then(|text| if text.trim().is_empty() { Err("an empty text".into()) } else { Ok(text) })
}

fn id(value: &Value, most: usize, allowed: &str) -> Result<String, String> {
    let id = text(value)?;
    let fits = |letter: char| letter.is_ascii_alphanumeric() || allowed.contains(letter);
    let good = (1..=most).contains(&id.len()) && id.chars().all(fits);
    if good { Ok(id) } else { Err(format!("a bad id: {id}")) }
}

fn data_url(value: &Value) -> Result<Item, String> {
    let url = text(value)?;
    let data = url.strip_prefix("data:image/png;base64,").ok_or("no PNG in place")?;
    Ok(Item::Image(data.into()))
}

/// Messages alternate between user and assistant, and results stand at the front of the message behind their calls.
pub fn anthropic(body: &Value) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    let mut before = "assistant";
    let mut calls = Vec::new();
    for message in list_of(&body["messages"]) {
        let role = message["role"].as_str().unwrap_or_default();
        if !matches!((before, role), ("assistant", "user") | ("user", "assistant")) {
            return Err(format!("roles must alternate: {role} after {before}"));
        }
        before = if role == "user" { "user" } else { "assistant" };
        let blocks: Vec<Value> = match &message["content"] {
            Value::String(text) => vec![serde_json::json!({ "type": "text", "text": text })],
            content => content.as_array().filter(|list| !list.is_empty()).ok_or("no content")?.clone(),
        };
        let answers: Vec<_> = blocks
            .iter()
            .take_while(|block| block["type"] == "tool_result")
            .map(|block| &block["tool_use_id"])
            .collect();
        if calls.len() != answers.len() || !calls.iter().all(|call| answers.contains(&call)) {
            return Err(format!(
                "`tool_use` ids {calls:?} without `tool_result` blocks immediately after: {answers:?}"
            ));
        }
        calls = Vec::new();
        for block in &blocks {
            match (block["type"].as_str().unwrap_or_default(), role) {
                ("text", "user") => items.push(Item::User(filled(&block["text"])?)),
                ("text", _) => items.push(Item::Said(filled(&block["text"])?)),
                ("image", "user") => items.push(anthropic_image(block)?),
                ("thinking", "assistant") => drop(filled(&block["signature"])?),
                ("redacted_thinking", "assistant") => drop(filled(&block["data"])?),
                ("tool_use", "assistant") => {
                    calls.push(block["id"].clone());
                    let args = block["input"].clone();
                    if !args.is_object() {
                        return Err(format!("input is no dictionary: {args}"));
                    }
                    items.push(Item::Call {
                        id: id(&block["id"], 64, "_-")?,
                        name: id(&block["name"], 64, "_-")?,
                        args,
                    });
                }
                ("tool_result", "user") => {
                    let mut said = String::new();
                    let mut images = Vec::new();
                    match &block["content"] {
                        Value::String(text) => said.push_str(text),
                        content => {
                            for part in list_of(content) {
                                match part["type"].as_str() {
                                    Some("text") => said += &(filled(&part["text"])? + "\n"),
                                    Some("image") if block["is_error"] != true => {
                                        images.push(anthropic_image(part)?);
                                    }
                                    _ => return Err(format!("no part of a result: {part}")),
                                }
                            }
                        }
                    }
                    items.push(Item::Result { id: id(&block["tool_use_id"], 64, "_-")?, text: said });
                    items.extend(images);
                }
                (kind, _) => return Err(format!("no block `{kind}` of {role}")),
            }
        }
    }
    if before == "assistant" { Err("the last message is no user's".into()) } else { Ok(items) }
}

fn anthropic_image(block: &Value) -> Result<Item, String> {
    let source = &block["source"];
    if source["type"] != "base64" || source["media_type"] != "image/png" {
        return Err(format!("no image: {block}"));
    }
    Ok(Item::Image(text(&source["data"])?))
}

/// Reasoning has an item behind it, and comes with its encrypted content because nothing is stored.
pub fn responses(body: &Value) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    let input: Vec<_> = list_of(&body["input"]).collect();
    if body["store"] != false {
        return Err("the items' reasoning is not stored, so store must be false".into());
    }
    for (at, item) in input.iter().enumerate() {
        let role = item["role"].as_str().unwrap_or_default();
        match item["type"].as_str().unwrap_or("message") {
            "message" if matches!(role, "system" | "developer") => {}
            "message" => {
                let parts = match &item["content"] {
                    Value::String(text) if role == "user" => vec![Item::User(text.clone())],
                    Value::String(text) => vec![Item::Said(filled(&Value::String(text.clone()))?)],
                    content => list_of(content).map(responses_part).collect::<Result<_, _>>()?,
                };
                items.extend(parts);
            }
            "reasoning" => {
                filled(&item["encrypted_content"])?;
                let next = input.get(at + 1).map(|next| next["type"].as_str().unwrap_or("message"));
                if !matches!(next, Some("message" | "function_call")) || input[at + 1]["role"] == "user" {
                    return Err(format!("a reasoning item without its required following item: {item}"));
                }
            }
            "function_call" => items.push(Item::Call {
                id: id(&item["call_id"], 64, "_-.:")?,
                name: id(&item["name"], 64, "_-")?,
                args: serde_json::from_str(&text(&item["arguments"])?).map_err(|error| error.to_string())?,
            }),
            "function_call_output" => {
                let mut said = String::new();
                let mut images = Vec::new();
                match &item["output"] {
                    Value::String(text) => said.push_str(text),
                    output => {
                        for part in list_of(output) {
                            match responses_part(part)? {
                                Item::User(text) => said += &(text + "\n"),
                                other => images.push(other),
                            }
                        }
                    }
                }
                items.push(Item::Result { id: id(&item["call_id"], 64, "_-.:")?, text: said });
                items.extend(images);
            }
            kind => return Err(format!("no item `{kind}`")),
        }
    }
    Ok(items)
}

fn responses_part(part: &Value) -> Result<Item, String> {
    match part["type"].as_str().unwrap_or_default() {
        "input_text" => Ok(Item::User(text(&part["text"])?)),
        "output_text" => Ok(Item::Said(text(&part["text"])?)),
        "input_image" => data_url(&part["image_url"]),
        kind => Err(format!("no part `{kind}`")),
    }
}

/// The published schema, with signed calls.
pub fn gemini(body: &Value) -> Result<Vec<Item>, String> {
    schema::check(body)?;
    schema::check_signed(body)?;
    let mut items = Vec::new();
    // Calls may have no ids: the schema has compared calls and answers one by one.
    let (mut calls, mut answers) = (0, 0);
    let next = |count: &mut usize| {
        *count += 1;
        count.to_string()
    };
    for content in list_of(&body["contents"]) {
        for part in list_of(&content["parts"]) {
            if part["thought"] == true {
                continue;
            }
            if let Some(call) = part.get("functionCall") {
                let (name, args) = (text(&call["name"])?, call["args"].clone());
                items.push(Item::Call { id: next(&mut calls), name, args });
            } else if let Some(answer) = part.get("functionResponse") {
                let response = &answer["response"];
                let said = response.get("output").or_else(|| response.get("error")).ok_or("no output")?;
                items.push(Item::Result { id: next(&mut answers), text: text(said)? });
                for shown in list_of(&answer["parts"]) {
                    items.push(Item::Image(text(&shown["inlineData"]["data"])?));
                }
            } else if let Some(inline) = part.get("inlineData") {
                items.push(Item::Image(text(&inline["data"])?));
            } else if content["role"] == "user" {
                items.push(Item::User(text(&part["text"])?));
            } else {
                items.push(Item::Said(text(&part["text"])?));
            }
        }
    }
    Ok(items)
}

/// Ids have at most 40 characters, and results are texts.
pub fn chat(body: &Value) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    for message in list_of(&body["messages"]) {
        match message["role"].as_str().unwrap_or_default() {
            "system" => {}
            "user" => match &message["content"] {
                Value::String(text) => items.push(Item::User(text.clone())),
                content => {
                    for part in list_of(content) {
                        items.push(match part["type"].as_str() {
                            Some("text") => Item::User(text(&part["text"])?),
                            Some("image_url") => data_url(&part["image_url"]["url"])?,
                            _ => return Err(format!("no part of content: {part}")),
                        });
                    }
                }
            },
            "assistant" => {
                let calls = &message["tool_calls"];
                match &message["content"] {
                    Value::Null if calls.is_array() => {}
                    content => items.push(Item::Said(text(content)?)),
                }
                for call in list_of(calls) {
                    let function = &call["function"];
                    let args = text(&function["arguments"])?;
                    items.push(Item::Call {
                        id: id(&call["id"], 40, "_-.:")?,
                        name: id(&function["name"], 64, "_-")?,
                        args: serde_json::from_str(&args).map_err(|error| error.to_string())?,
                    });
                }
            }
            "tool" => items.push(Item::Result {
                id: id(&message["tool_call_id"], 40, "_-.:")?,
                text: text(&message["content"])?,
            }),
            role => return Err(format!("no role `{role}`")),
        }
    }
    Ok(items)
}

/// Content is one text, images stand beside it, and arguments are objects.
pub fn ollama(body: &Value) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    for message in list_of(&body["messages"]) {
        let content = text(&message["content"])?;
        match message["role"].as_str().unwrap_or_default() {
            "system" => {}
            "user" => items.push(Item::User(content)),
            "assistant" => {
                items.push(Item::Said(content));
                for call in list_of(&message["tool_calls"]) {
                    let function = &call["function"];
                    if !function["arguments"].is_object() {
                        return Err(format!("arguments are no object: {call}"));
                    }
                    let (name, args) = (text(&function["name"])?, function["arguments"].clone());
                    items.push(Item::Call { id: text(&call["id"])?, name, args });
                }
            }
            "tool" => {
                filled(&message["tool_name"])?;
                items.push(Item::Result { id: text(&message["tool_call_id"])?, text: content });
            }
            role => return Err(format!("no role `{role}`")),
        }
        for image in list_of(&message["images"]) {
            items.push(Item::Image(text(image)?));
        }
    }
    Ok(items)
}
