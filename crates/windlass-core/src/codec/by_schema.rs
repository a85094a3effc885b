//! Calls by schema: for a model that knows no calls, on a server that holds replies to a JSON Schema.
//!
//! A reply is one object with one of several forms: `{"reply": {"tool": NAME, "arguments": {…}}}` is a call, and
//! `{"reply": {"answer": …}}` is the answer. The forms stand under a property, because OpenAI's strict schemas have no choice at
//! the root. A reply holds one call: a list of calls lets a small model go on calling without a look at the first result, and
//! its grammar has no end of its own.

pub(crate) mod alternatives;
pub(crate) mod pieces;
pub(crate) mod prompt;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use windlass_text::json;
use windlass_text::steps;

use crate::codec::by_schema::pieces::AnswerPieces;
use crate::codec::fenced::{fenced_message, text_of};
use crate::codec::forms::ReadCall;
use crate::codec::phases::unfenced;
use crate::policy::results::Results;
use crate::policy::values::{Stop, Talk};
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::call_args::{CallArgs, Span};
use crate::vocabulary::ids::{ActionId, Text};
use crate::vocabulary::message::{AssistantMessage, Message};
use crate::vocabulary::model::Wire;
use crate::vocabulary::notation::Notation;
use crate::vocabulary::purpose::ToolChoice;
use crate::vocabulary::reply::{AnswerForm, FailureKind, ModelFailure, Refusal, StopReason};
use crate::vocabulary::tool::ToolSpec;

/// The property that the forms of a reply stand under.
const REPLY: &str = "reply";
/// The name of a call, where a reply has no form that it could be.
const NO_FORM: &str = "reply";

/// The content of a reply.
#[derive(Debug)]
pub(crate) enum ParsedReply {
    /// A call, whose place is the whole text.
    Call(ReadCall),
    /// The answer, as a text.
    Answer(Text),
    /// An object that has no form of a reply, with the fault.
    Neither(String),
    /// No object at all: its server does not hold replies to schemas.
    Prose,
}

#[derive(Deserialize)]
struct Object<'t> {
    #[serde(borrow, default, deserialize_with = "present")]
    reply: Option<&'t RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    tool: Option<&'t RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    arguments: Option<&'t RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    answer: Option<&'t RawValue>,
}

/// A member that is there, `null` included.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads a whole reply. The forms without the property around them count, too: a server that holds a model to no schema leaves it
/// to the model.
pub(crate) fn read(text: &Text, form: AnswerForm) -> ParsedReply {
    let whole = unfenced(text.trim());
    if !whole.starts_with('{') {
        return ParsedReply::Prose;
    }
    steps::add(whole.len());
    let read = |part| serde_json::from_str::<Object<'_>>(part);
    let object = match read(whole) {
        Ok(Object { reply: Some(reply), .. }) => read(reply.get()),
        object => object,
    };
    let object = match object {
        Ok(object) => object,
        Err(error) => return ParsedReply::Neither(format!("it is not valid JSON: {error}")),
    };
    let given = |member: Option<&'_ RawValue>| member.is_some_and(|member| member.get() != "null");
    match (given(object.tool), object.answer) {
        (true, Some(answer)) if answer.get() != "null" => {
            ParsedReply::Neither("it has a tool and an answer".to_owned())
        }
        (true, _) => call(text, &object),
        (false, Some(answer)) => match (form, text_of(Some(answer))) {
            (AnswerForm::Text, Some(words)) => ParsedReply::Answer((&*words).into()),
            (AnswerForm::Text, None) if matches!(answer.get(), "\"\"" | "null") => {
                ParsedReply::Answer("".into())
            }
            (AnswerForm::Text, None) | (AnswerForm::Output, _) => ParsedReply::Answer(answer.get().into()),
        },
        (false, None) => ParsedReply::Neither("it has neither a tool nor an answer".to_owned()),
    }
}

fn call(text: &Text, object: &Object<'_>) -> ParsedReply {
    let Some(name) = text_of(object.tool) else {
        return ParsedReply::Neither("the tool's name is no text".to_owned());
    };
    let args = object.arguments.map(|args| CallArgs::part(text, args.get(), Notation::Json, None));
    ParsedReply::Call(ReadCall {
        name: (&*name).into(),
        args: args.unwrap_or_else(|| "{}".into()),
        place: Span::of(text, text),
        ..ReadCall::default()
    })
}

/// A reply that is read as this answer: what a replay reads in place of the model's own, which differs in blanks and escapes at
/// most.
pub(crate) fn rebuilt(answer: &str, form: AnswerForm, stop: StopReason) -> Text {
    let (value, end) = match form {
        AnswerForm::Text => (Value::from(answer).to_string(), "\"}}"),
        AnswerForm::Output => (answer.to_owned(), "}}"),
    };
    let value = match form {
        AnswerForm::Text => value.strip_suffix('"').unwrap_or_default(),
        AnswerForm::Output => &value,
    };
    let end = if stop == StopReason::Length { "" } else { end };
    format!("{{\"reply\":{{\"answer\":{value}{end}").into()
}

/// The call that a reply without a form is, so that its fault is fed back as that of any call.
pub(crate) fn faulty(text: &Text, fault: &str) -> ReadCall {
    ReadCall {
        name: NO_FORM.into(),
        args: "{}".into(),
        place: Span::of(text, text),
        fault: Some(format!("Invalid reply: {fault}").into()),
        ..ReadCall::default()
    }
}

/// A message as it goes to the model. What came as text goes back as it came; other replies are written as the objects that they
/// would have been. Results are user messages.
pub(crate) fn object_message<'m>(
    message: &'m Message,
    results: &Results,
    form: AnswerForm,
) -> Cow<'m, Message> {
    let Message::Assistant(reply) = message else { return fenced_message(message, results) };
    let blank = reply.text.as_ref().is_none_or(|text| text.trim().is_empty());
    if reply.has_calls_in_text() || reply.calls.is_empty() && blank {
        return fenced_message(message, results);
    }
    let text = if reply.calls.is_empty() { answer(reply, form) } else { calls(reply) };
    Cow::Owned(Message::Assistant(AssistantMessage {
        text: Some(text.into()),
        reasoning: reply.reasoning.clone(),
        media: reply.media.clone(),
        ..AssistantMessage::default()
    }))
}

fn answer(reply: &AssistantMessage, form: AnswerForm) -> String {
    let text = reply.text.as_deref().unwrap_or_default();
    let value = (form == AnswerForm::Output).then(|| serde_json::from_str::<&RawValue>(text).ok()).flatten();
    match value {
        Some(value) => format!("{{\"reply\":{{\"answer\":{value}}}}}"),
        None => json!({ REPLY: { "answer": text } }).to_string(),
    }
}

/// Calls that were made natively, one object a line.
fn calls(reply: &AssistantMessage) -> String {
    let mut lines: Vec<String> = reply.text.iter().map(ToString::to_string).collect();
    lines.retain(|text| !text.trim().is_empty());
    lines.extend(reply.calls.iter().map(|call| {
        let args = json::read(&call.args).unwrap_or_default();
        json!({ REPLY: { "tool": &*call.name, "arguments": args } }).to_string()
    }));
    lines.join("\n")
}

impl State {
    /// The form of an answer to this call, if the call asks for a reply by schema.
    pub(crate) fn by_schema(&self, model_call: &ModelCall) -> Option<AnswerForm> {
        let policy = self.setup.policy();
        let wire = self
            .setup
            .models()
            .get(model_call.model() as usize)
            .map_or(policy.request.wire, |m| policy.wire_of(m));
        let own = model_call.purpose() == policy.request.purpose;
        (own && wire == Wire::Schema && self.has_tools()).then(|| self.answer_form())
    }

    fn has_tools(&self) -> bool {
        self.toolbox.all().iter().any(ToolSpec::is_offered)
    }

    /// The same in both phases of a turn, so that the instructions are.
    fn answer_form(&self) -> AnswerForm {
        let is_output = self.setup.policy().replies.stop == Stop::Text && self.setup.output().is_some();
        if is_output { AnswerForm::Output } else { AnswerForm::Text }
    }

    /// Whether a reply of the loop may be an answer: not where only a call of the finish tool ends it.
    pub(crate) fn may_answer(&self) -> bool {
        let replies = &self.setup.policy().replies;
        replies.stop != Stop::FinishTool || replies.talk == Talk::Answer || self.finish_tool().is_none()
    }

    /// The reader of the answer while this call's reply is being written; `None`: its text is the reply.
    pub fn answer_pieces(&self, action: ActionId) -> Option<AnswerPieces> {
        let form = self.by_schema(self.model_call(action)?)?;
        Some(AnswerPieces::of(form))
    }

    /// The wire for a model that has refused what its wire asks for; `None`: it has not, or there is no other.
    pub(crate) fn wire_after(&self, model_call: &ModelCall, failure: &ModelFailure) -> Option<Wire> {
        let (policy, model) = (self.setup.policy(), self.setup.models().get(model_call.model() as usize)?);
        if policy.request.wire != Wire::Auto || !self.has_tools() {
            return None;
        }
        let unsupported = failure.kind == FailureKind::Unsupported;
        let schemas = failure.refuses == Some(Refusal::Schema);
        match policy.wire_of(model) {
            Wire::Auto if *model_call.choice() == ToolChoice::None => None,
            // A request without a schema was refused for one: that is the grammar of its tools.
            Wire::Auto if schemas => self.setup.output().is_none().then_some(Wire::Fenced),
            Wire::Auto if !failure.refuses_tools() => None,
            Wire::Auto if model.structured == Some(true) => Some(Wire::Schema),
            Wire::Auto => Some(Wire::Fenced),
            Wire::Schema
                if self.by_schema(model_call).is_some() && (unsupported || failure.refuses.is_some()) =>
            {
                Some(Wire::Fenced)
            }
            Wire::Schema | Wire::Native | Wire::Fenced => None,
        }
    }
}

#[cfg(test)]
mod tests;
