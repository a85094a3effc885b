//! Messages as lines of text, for models that read about a conversation.

use std::fmt::Write as _;

use crate::vocabulary::message::Message;
use crate::vocabulary::payload::shortened;

/// Messages as lines of text, each cut to so many bytes in its middle.
pub(crate) fn conversation_text<'m>(messages: impl Iterator<Item = &'m Message>, each: usize) -> String {
    let mut text = String::new();
    for message in messages {
        let start = text.len();
        if let Message::System { text: system } = message {
            text.push('\n');
            text.push_str(system);
        } else {
            lines(&mut text, message);
        }
        if text.len() - start > each {
            let whole = text.split_off(start);
            text.push_str(&shortened(&whole, each as u64));
        }
    }
    text.trim_start().to_owned()
}

/// Adds a message as lines; nothing of a system message.
pub(crate) fn lines(out: &mut String, message: &Message) {
    // Writing into a String cannot fail.
    let _infallible = match message {
        Message::System { .. } => Ok(()),
        Message::User { content, .. } | Message::TaskDelegation { content } => {
            write!(out, "\n[User] {}", content.text())
        }
        Message::Tool(result) => write!(out, "\n[Tool Result] {}", result.content.text()),
        Message::Assistant(reply) => {
            for call in &reply.calls {
                let _infallible = write!(out, "\n[Assistant] Called {}({})", call.name, call.args);
            }
            let text = reply.text_without_calls();
            text.as_deref()
                .filter(|text| !text.is_empty())
                .map_or(Ok(()), |text| write!(out, "\n[Assistant] {text}"))
        }
    };
}
