//! Inputs of a run: text, messages, or an object that matches the agent's input schema.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use windlass_core::Message;
use windlass_core::event::{RunInput, Steered};
use windlass_core::message::{Content, Media, MediaSource, Part};
use windlass_core::policy::Stop;
use windlass_core::schema::check_value;
use windlass_core::text::{from_xml, to_xml};

use crate::agent::Agent;
use crate::agent::documents::{check, first_model, is_pdf, is_unread, with_text};
use crate::platform::error::Error;

/// The root of an input in XML (acorn's default).
const XML_ROOT: &str = "input";

/// The input of a run: a text, messages, or an object for an agent with typed input.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunMessages {
    messages: Vec<Message>,
    object: Option<Map<String, Value>>,
    /// Whether the user's messages stay through every compaction.
    pinned: bool,
}

/// The bytes of texts in values, and some for each value.
fn bytes_of<'v>(values: impl Iterator<Item = &'v Value>) -> u64 {
    let of = |value: &Value| match value {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => bytes_of(items.iter()),
        Value::Object(map) => bytes_of(map.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    values.map(|value| of(value) + 2).sum()
}

impl From<&str> for RunMessages {
    fn from(text: &str) -> Self {
        vec![Message::user(text)].into()
    }
}

impl From<String> for RunMessages {
    fn from(text: String) -> Self {
        vec![Message::user(text)].into()
    }
}

impl From<Vec<Message>> for RunMessages {
    fn from(messages: Vec<Message>) -> Self {
        Self { messages, object: None, pinned: false }
    }
}

impl From<Map<String, Value>> for RunMessages {
    fn from(object: Map<String, Value>) -> Self {
        Self { messages: Vec::new(), object: Some(object), pinned: false }
    }
}

impl RunMessages {
    /// A value for an agent with typed input.
    ///
    /// # Errors
    /// It is no object in JSON.
    pub fn typed(input: &impl Serialize) -> Result<Self, Error> {
        let fault = match serde_json::to_value(input) {
            Ok(Value::Object(object)) => return Ok(object.into()),
            Ok(_) => "expected a JSON object".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(Error::NoObject { fault })
    }

    /// Messages that the log has kept.
    pub(crate) fn from_stored(messages: &[Arc<Message>]) -> Self {
        Self {
            messages: messages.iter().map(|message| Message::clone(message)).collect(),
            object: None,
            pinned: false,
        }
    }

    /// The whole input as one text.
    pub fn text(&self) -> String {
        let texts = self.messages.iter().map(|message| match message {
            Message::System { text } => text.to_string(),
            Message::User { content, .. } | Message::TaskDelegation { content } => {
                content.text().into_owned()
            }
            Message::Assistant(reply) => reply.text.as_deref().unwrap_or_default().to_owned(),
            Message::Tool(result) => result.content.text().into_owned(),
        });
        let object = self.object.iter().map(|object| Value::Object(object.clone()).to_string());
        object.chain(texts).collect::<Vec<_>>().join("\n")
    }

    /// The same as a message to a run that goes on.
    pub(crate) fn steering(&self) -> Steered {
        let pins = |message: &Message| matches!(message, Message::User { pinned: true, .. });
        let pinned = self.pinned || self.messages.iter().any(pins);
        // The parts of one message keep their order.
        if let ([Message::User { content: Content::Parts(parts), .. }], None) =
            (&*self.messages, &self.object)
            && let Some((Part::Text { text }, others)) = parts.split_first()
        {
            return Steered { pinned, parts: others.to_vec(), ..Steered::from(text.clone()) };
        }
        let is_media = |part: &&Part| matches!(part, Part::Image(_) | Part::File(_));
        let parts = parts(&self.messages).filter(is_media).cloned().collect();
        Steered { pinned, parts, ..Steered::from(self.text()) }
    }

    /// About how many bytes it has. An object's count as many as it has when it is written.
    pub(crate) fn bytes(&self) -> u64 {
        let object = self.object.as_ref().map_or(0, |object| bytes_of(object.values()));
        self.messages.iter().map(Message::bytes).sum::<u64>() + object
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.object.is_none()
    }

    /// The same, pinned: no compaction removes these messages, in later runs of the session either.
    #[must_use]
    pub fn pinned(self) -> Self {
        Self { pinned: true, ..self }
    }

    /// Adds a message after what is there.
    pub fn and(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }
}

/// The parts of messages of people.
fn parts(messages: &[Message]) -> impl Iterator<Item = &Part> {
    let of = |message| match message {
        &Message::User { content: Content::Parts(ref parts), .. } => Some(parts),
        _ => None,
    };
    messages.iter().filter_map(of).flatten()
}

/// Whether an input has a document that is read before the run begins ([`with_documents`]).
pub(crate) fn has_documents(agent: &Agent, input: &RunMessages) -> bool {
    is_unread(agent, parts(&input.messages))
}

/// The same input with the text of each document that the first model takes as text only.
///
/// # Errors
/// A document cannot be read, or the log failed.
pub(crate) async fn with_documents(agent: &Agent, mut input: RunMessages) -> Result<RunMessages, Error> {
    for message in &mut input.messages {
        if let Message::User { content: Content::Parts(parts), .. } = message {
            with_text(agent, parts).await?;
        }
    }
    Ok(input)
}

/// Converts an input into the run's start and the templates' `input` value.
pub(crate) fn take_input(agent: &Agent, input: RunMessages) -> Result<(RunInput, Value), Error> {
    let RunMessages { messages, object, pinned } = input;
    let pin = |message: Message| if pinned { message.pinned() } else { message };
    let messages: Vec<Message> = messages.into_iter().map(pin).collect();
    are_taken(agent, parts(&messages))?;
    let object = match (object, agent.input_schema()) {
        (None, Some(_)) => Some(object_in(agent, &messages)?),
        (object, _) => object,
    };
    let Some(object) = object else {
        let seen = Value::String(text_of(messages.last()));
        return Ok((messages_input(messages), seen));
    };
    let text = match agent.input_schema() {
        Some(schema) => {
            let value = Value::Object(object.clone());
            check_value(schema, &value).map_err(|fault| bad_input(agent, fault))?;
            to_xml(XML_ROOT, &object, schema)
        }
        // acorn gives the fields as they are where there is no schema.
        None if agent.policy().replies.stop == Stop::FinishTool => Value::Object(object.clone()).to_string(),
        None => {
            let fault = "the input is an object, but the agent has no input schema";
            return Err(bad_input(agent, fault.to_owned()));
        }
    };
    let typed = agent.input_schema().is_some();
    let others = messages.into_iter().filter(|message| !typed || !is_input(message));
    let all = std::iter::once(pin(Message::user(text))).chain(others).collect();
    Ok((messages_input(all), Value::Object(object)))
}

/// Checks before a message is sent to a run that its images and files can be sent to the agent's first model, as they are or as text.
///
/// # Errors
/// The API has no place for one, or a document cannot be read.
pub(crate) async fn check_media(agent: &Agent, parts: &[Part]) -> Result<(), Error> {
    are_taken(agent, parts.iter())?;
    check(agent, parts).await
}

/// Refuses an image or a file that the agent's first model cannot be sent. A fallback is told of it in a note, and so is every model of
/// what is stored; a PDF becomes text before the run begins.
pub(crate) fn are_taken<'p>(agent: &Agent, mut parts: impl Iterator<Item = &'p Part>) -> Result<(), Error> {
    let Some((name, model)) = first_model(agent) else { return Ok(()) };
    let is_refused = |part: &Part| !is_pdf(part) && !model.takes(part);
    let Some((what, media)) = parts.find_map(|part| match part {
        Part::File(Media { source: MediaSource::Stored(_), .. }) => None,
        Part::Image(media) if is_refused(part) => Some(("image", media)),
        Part::File(media) if is_refused(part) => Some(("file", media)),
        _ => None,
    }) else {
        return Ok(());
    };
    let called = media.name.as_deref().map(|name| format!(" `{name}`")).unwrap_or_default();
    let source = match media.source {
        MediaSource::Url(_) => " at an address",
        MediaSource::ProviderFile(_) => " under a provider's id",
        MediaSource::Base64(_) | MediaSource::Stored(_) => "",
    };
    Err(Error::MediaNotTaken {
        agent: agent.name().to_string(),
        model: name.to_string(),
        what: format!("the {what}{called} ({}){source}", media.media_type),
    })
}

/// The templates' `input` value of a run that began with `input`.
pub(crate) fn seen_input(agent: &Agent, input: &RunInput) -> Value {
    let text = match input {
        RunInput::Messages(messages) => {
            let first = messages.iter().map(|message| &**message).find(|message| is_input(message));
            text_of(first.filter(|_| agent.input_schema().is_some()).or(messages.last().map(|last| &**last)))
        }
        RunInput::Continue(_) | RunInput::Fork(_) => String::new(),
    };
    let object = agent.input_schema().and_then(|schema| from_xml(XML_ROOT, &text, schema).ok());
    object.unwrap_or(Value::String(text))
}

/// An object that came as a text: from a command line, a task, a file.
fn object_in(agent: &Agent, messages: &[Message]) -> Result<Map<String, Value>, Error> {
    let text = text_of(messages.iter().find(|message| is_input(message)));
    match serde_json::from_str(&text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(bad_input(agent, "expected a JSON object".to_owned())),
        Err(error) => Err(bad_input(agent, format!("expected a JSON object: {error}"))),
    }
}

pub(crate) fn bad_input(agent: &Agent, fault: String) -> Error {
    Error::BadInput { agent: agent.name().to_string(), fault }
}

fn is_input(message: &Message) -> bool {
    matches!(message, Message::User { .. } | Message::TaskDelegation { .. })
}

fn messages_input(messages: Vec<Message>) -> RunInput {
    RunInput::Messages(messages.into_iter().map(Arc::new).collect())
}

fn text_of(message: Option<&Message>) -> String {
    match message {
        Some(Message::User { content, .. } | Message::TaskDelegation { content }) => {
            content.text().into_owned()
        }
        _ => String::new(),
    }
}
