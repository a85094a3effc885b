//! Owns the request side of Anthropic Messages: messages and tools to bytes that stay the same from turn to turn.
//!
//! A turn encodes only its new messages; the body is put together by copying bytes. The first system messages are the request's
//! `system`; later ones stand in user messages, because only the newest models take them between others. Messages of one role
//! in a row are one message. What changes from turn to turn stands behind the messages.

use std::borrow::Cow;

use windlass_core::Message;
use windlass_core::model::{ModelChoice, ModelOption, OptionValue, ToolChoice};

pub(super) use self::content::takes;
use self::content::{Form, Role, blocks, role_of, system_block};
pub(super) use self::ids::is_odd;
use self::settings::Scene;
pub(super) use self::settings::refusal;
use super::hosted::HOSTED;
use super::models::Model;
use crate::ModelRequest;
use crate::model::MAX_MARKED;
use crate::wires::hosted::with_hosted;
use crate::wires::json::json_string;
use crate::wires::marker::marker;
use crate::wires::own_ids::OwnIds;
use crate::wires::prefix::{Conversation, Kept, with_kept};
use crate::wires::{Dialect, Encoding};

mod content;
mod ids;
mod schema;
mod settings;
mod tools;

/// The message in place of a first user message, which the API demands.
const NO_USER: &[u8] = b"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"(no message)\"}]}";

/// Whether a setting of the cache is switched on.
fn is_on(settings: &ModelChoice, option: ModelOption) -> bool {
    settings.option(option) == Some(OptionValue::Flag(true))
}

/// The conversation with the last message still open, and none marked. `SYSTEM`: the model knows system messages amid it.
struct Messages<const SYSTEM: bool> {
    system: Vec<u8>,
    bytes: Vec<u8>,
    /// The role of the message that is open; `None`: there is none yet.
    role: Option<Role>,
    /// Whether system messages still go to the front.
    leading: bool,
    /// The blocks of each message; empty where it has none.
    spans: Vec<Span>,
    so_far: SoFar,
    /// The provider's own ids of calls.
    ids: OwnIds,
}

/// The facts of its conversation that a request's settings depend on.
#[derive(Clone, Copy, Debug, Default)]
struct SoFar {
    /// Whether the last message of the user begins with a result.
    answers: bool,
    /// Whether the last message of the assistant begins with thinking.
    thinks: bool,
    /// Whether there are calls or results.
    has_calls: bool,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    /// It stands before the conversation.
    is_system: bool,
    /// It is a system message amid it.
    is_turn: bool,
    start: usize,
    end: usize,
}

impl Span {
    fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

impl<const SYSTEM: bool> Conversation for Messages<SYSTEM> {
    fn start(bytes: usize) -> Self {
        Self {
            system: Vec::new(),
            bytes: Vec::with_capacity(bytes + 256),
            role: None,
            leading: true,
            spans: Vec::new(),
            so_far: SoFar::default(),
            ids: OwnIds::default(),
        }
    }

    fn add(&mut self, dialect: &Dialect, new: &Message) {
        let is_system = self.leading && new.instructs();
        self.leading = is_system;
        self.so_far.has_calls |= match new {
            Message::Tool(_) => true,
            Message::Assistant(reply) => !reply.calls.is_empty(),
            Message::System { .. } | Message::User { .. } | Message::TaskDelegation { .. } => false,
        };
        self.ids.note(&dialect.label, new, is_odd);
        let (start, end) = if is_system { self.add_system(new) } else { self.add_message(dialect, new) };
        let is_turn = self.role == Some(Role::System);
        self.spans.push(Span { is_system, is_turn, start, end });
    }

    fn tools(request: &ModelRequest) -> Vec<u8> {
        with_hosted(tools::tools(request), request, HOSTED)
    }
}

/// Encodes a request, `stream` saying whether the reply comes as server-sent events.
pub fn encode(dialect: &Dialect, request: &ModelRequest) -> Encoding {
    // What was kept for a model of the other kind is encoded anew.
    if Model::named(dialect.plain_name(&request.model.name)).knows_system_turns() {
        encode_for::<true>(dialect, request)
    } else {
        encode_for::<false>(dialect, request)
    }
}

fn encode_for<const SYSTEM: bool>(dialect: &Dialect, request: &ModelRequest) -> Encoding {
    let name = dialect.plain_name(&request.model.name);
    let mut head = Vec::with_capacity(64 + name.len());
    head.extend_from_slice(b"{\"model\":");
    json_string(&mut head, name);
    with_kept(&request.prefix, dialect, request, |kept: &Kept<Messages<SYSTEM>>| {
        let messages = &kept.messages;
        let tools = if request.choice == ToolChoice::None && !messages.so_far.has_calls {
            Cow::Borrowed(&[][..])
        } else {
            Cow::Borrowed(kept.tools())
        };
        let marks = Marks::of(dialect, request, messages, !tools.is_empty());
        let tools = if marks.tools { Cow::Owned(tools::marked(&tools, &marks.marker)) } else { tools };
        let mut tail = Vec::with_capacity(256);
        if !tools.is_empty() {
            tools::choice(&mut tail, &request.choice, request.model.parallel);
        }
        let scene = Scene { dialect, has_tools: !tools.is_empty(), lacks_thought: messages.lacks_thought() };
        settings::settings(&mut tail, name, request, scene);

        let (begin, close): (&[u8], &[u8]) =
            if messages.system.is_empty() { (b"", b"") } else { (b",\"system\":[", b"]") };
        let system = messages.rewritten(true, &marks, dialect, request);
        let conversation = messages.rewritten(false, &marks, dialect, request);
        let last: &[u8] = if messages.role.is_none() { NO_USER } else { b"]}" };
        let parts: [&[u8]; 10] =
            [&head, begin, &system, close, b",\"messages\":[", &conversation, last, b"]", &tools, &tail];
        let body = parts.concat();
        Encoding { body, content_bytes: system.len() + conversation.len() + tools.len() }
    })
}

/// The places of a request that carry markers, or are written otherwise than they are kept.
struct Marks {
    /// Places of marked messages, in order.
    places: Vec<usize>,
    /// The place of a last assistant message, which may not end with a blank.
    last: Option<usize>,
    tools: bool,
    marker: Cow<'static, [u8]>,
}

impl Marks {
    /// The messages that the request marks. Where a marker is left, the unchanging front has one as well: the last system
    /// message, or the last tool where there is none. Marks behind the tools and those of the provider's own count among the most.
    fn of<const SYSTEM: bool>(
        dialect: &Dialect,
        request: &ModelRequest,
        messages: &Messages<SYSTEM>,
        has_tools: bool,
    ) -> Self {
        let mut places = if dialect.quirks.cache_control { request.marked() } else { Vec::new() };
        let settings = &request.model;
        let tools = has_tools && is_on(settings, ModelOption::CacheTools);
        let most =
            MAX_MARKED - usize::from(tools) - usize::from(is_on(settings, ModelOption::CacheAutomatic));
        if places.len() > most {
            // The front stays, as everywhere.
            places.drain(1..places.len() + 1 - most);
        }
        let is_system = |place: &usize| messages.spans.get(*place).is_some_and(|span| span.is_system);
        let is_free = !places.is_empty() && places.len() < most && !places.iter().any(is_system);
        let fronts = messages.spans.iter().take_while(|span| span.is_system);
        let front = fronts.enumerate().filter(|(_, span)| !span.is_empty()).last().map(|(place, _)| place);
        if is_free && let Some(front) = front {
            places.insert(0, front);
        }
        let ends_with_assistant = messages.role == Some(Role::Assistant);
        let last = messages.spans.iter().rposition(|span| !span.is_system && !span.is_empty());
        Self {
            tools: tools || (is_free && front.is_none() && has_tools),
            marker: marker(settings),
            places,
            last: last.filter(|_| ends_with_assistant),
        }
    }
}

impl<const SYSTEM: bool> Messages<SYSTEM> {
    fn add_system(&mut self, new: &Message) -> (usize, usize) {
        let before = self.system.len();
        if before > 0 {
            self.system.push(b',');
        }
        let start = self.system.len();
        system_block(&mut self.system, new, None);
        if self.system.len() == start {
            self.system.truncate(before);
        }
        (start.min(self.system.len()), self.system.len())
    }

    /// The role that a message is written with. A system message stands for itself behind one of the user, where the model knows that
    /// ("Mid-conversation system messages"); elsewhere it is a part of the user's.
    fn role_of(&self, new: &Message) -> Role {
        let stands = SYSTEM && matches!(self.role, Some(Role::User | Role::System));
        match new {
            Message::System { text } if stands && !text.trim().is_empty() => Role::System,
            _ => role_of(new),
        }
    }

    fn add_message(&mut self, dialect: &Dialect, new: &Message) -> (usize, usize) {
        let (before, role) = (self.bytes.len(), self.role_of(new));
        match self.role {
            Some(open) if open == role => self.bytes.push(b','),
            Some(_) => self.bytes.extend_from_slice(b"]},"),
            None if role == Role::Assistant => {
                self.bytes.extend_from_slice(NO_USER);
                self.bytes.push(b',');
            }
            None => {}
        }
        if self.role != Some(role) {
            self.bytes.extend_from_slice(match role {
                Role::User => b"{\"role\":\"user\",\"content\":[",
                Role::Assistant => b"{\"role\":\"assistant\",\"content\":[",
                Role::System => b"{\"role\":\"system\",\"content\":[",
            });
        }
        let start = self.bytes.len();
        if role == Role::System {
            system_block(&mut self.bytes, new, None);
        } else {
            blocks(&mut self.bytes, dialect, &self.ids, new, Form::default());
        }
        if self.bytes.len() == start {
            self.bytes.truncate(before);
            return (before, before);
        }
        if self.role != Some(role) {
            let begins = |kind: &[u8]| self.bytes.get(start..).is_some_and(|blocks| blocks.starts_with(kind));
            match role {
                Role::User => self.so_far.answers = begins(b"{\"type\":\"tool_result\""),
                Role::Assistant => {
                    self.so_far.thinks =
                        begins(b"{\"type\":\"thinking\"") || begins(b"{\"type\":\"redacted_thinking\"");
                }
                Role::System => {}
            }
        }
        self.role = Some(role);
        (start, self.bytes.len())
    }

    /// Whether the model is amid a turn that did not begin with thinking: another model began it, or its thinking is lost.
    fn lacks_thought(&self) -> bool {
        !self.so_far.thinks
            && (self.role == Some(Role::Assistant) || (self.role == Some(Role::User) && self.so_far.answers))
    }

    /// The system messages or the others, with some written anew. What is kept stays as it is, so that a marker may move from
    /// turn to turn.
    fn rewritten(
        &self,
        is_system: bool,
        marks: &Marks,
        dialect: &Dialect,
        request: &ModelRequest,
    ) -> Cow<'_, [u8]> {
        let bytes = if is_system { &self.system } else { &self.bytes };
        let marked = marks.places.iter().map(|place| (*place, Some(&*marks.marker)));
        let last = marks.last.filter(|last| !marks.places.contains(last)).map(|last| (last, None));
        let mut out = Vec::new();
        let mut copied = 0;
        for (place, mark) in marked.chain(last) {
            let span = self.spans.get(place).filter(|span| span.is_system == is_system && !span.is_empty());
            let (Some(span), Some(message)) = (span, request.message(place)) else { continue };
            out.extend_from_slice(bytes.get(copied..span.start).unwrap_or_default());
            if is_system || span.is_turn {
                system_block(&mut out, &message, mark);
            } else {
                blocks(
                    &mut out,
                    dialect,
                    &self.ids,
                    &message,
                    Form { mark, is_last: marks.last == Some(place) },
                );
            }
            copied = span.end;
        }
        if copied == 0 {
            return Cow::Borrowed(bytes);
        }
        out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests;
