//! Owns the reply side of Ollama's API: a JSON body to a [`Reply`], lines of a stream to [`Delta`]s.

use std::collections::VecDeque;

use windlass_core::Text;
use windlass_core::message::{Media, MediaSource, ProviderMetadata};
use windlass_core::model::{FailureKind, Reply, StopReason, Usage};

use super::ERRORS;
use super::shapes::{Body, ReplyMessage};
use crate::http::report_of;
use crate::wires::annotations::{WireToken, logprobs};
use crate::wires::{Decode, DecodeError, PiecedTexts, estimate, quoted, text_in};
use crate::{Assembler, Delta};

/// Turns the lines of one streamed reply into pieces.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Seals the thinking with this label, once, so that it goes back to the same provider.
    seal: Option<Text>,
    done: bool,
    /// Tokens of the request and of the reply, as far as the server counted them.
    counted: (Option<u64>, Option<u64>),
    calls: u32,
    output_bytes: usize,
}

impl Decoder {
    /// A decoder for one reply. With `seal`, its thinking is marked as this provider's own.
    pub fn new(seal: Option<Text>) -> Self {
        Self { seal, ..Self::default() }
    }

    fn body(&mut self, body: Body, out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        if let Some(error) = body.error() {
            return Err(DecodeError::reported(report_of(&error), &ERRORS));
        }
        self.counted.0 = body.prompt_eval_count.or(self.counted.0);
        self.counted.1 = body.eval_count.or(self.counted.1);
        if let Some(message) = body.message {
            self.message(message, out);
        }
        if let Some(tokens) = body.logprobs {
            logprobs(out, tokens.into_iter().filter_map(WireToken::read).collect());
        }
        if body.done == Some(true) {
            let reason = body.done_reason.as_deref().unwrap_or_default();
            out.push_back(Delta::Stop(stop_reason(reason)?));
            self.done = true;
        }
        Ok(())
    }

    fn message(&mut self, message: ReplyMessage, out: &mut VecDeque<Delta>) {
        if let Some(thinking) = message.thinking.filter(|thinking| !thinking.is_empty()) {
            self.output_bytes += thinking.len();
            out.push_back(Delta::Reasoning(thinking));
            if let Some(provider) = self.seal.take() {
                out.push_back(Delta::Sealed(ProviderMetadata { provider, data: Text::default() }));
            }
        }
        if let Some(content) = message.content.filter(|content| !content.is_empty()) {
            self.output_bytes += content.len();
            out.push_back(Delta::Text(content));
        }
        for image in message.images.0 {
            self.output_bytes += image.len();
            let source = MediaSource::Base64(image.as_str().into());
            out.push_back(Delta::Media(Media { media_type: image_type(&image).into(), name: None, source }));
        }
        for call in message.tool_calls.0 {
            let function = call.function.unwrap_or_default();
            let args = function.args();
            self.output_bytes += args.len() + function.name.as_ref().map_or(0, String::len);
            // Each call comes whole; servers are known to number all of them 0.
            let index = Some(self.calls);
            self.calls += 1;
            out.push_back(Delta::Call { index, id: call.id, name: function.name, args });
        }
    }
}

/// The texts that come in pieces.
static PIECES: PiecedTexts = PiecedTexts {
    pieces: &["message/content", "message/thinking"],
    over_by: Some("done"),
    ..PiecedTexts::NONE
};

impl Decode for Decoder {
    fn pieces(&self) -> &'static PiecedTexts {
        &PIECES
    }

    fn event(&mut self, data: &[u8], out: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let body =
            serde_json::from_str(&text_in(data)).map_err(|error| DecodeError::unreadable(&error, data))?;
        self.body(body, out)
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_finished(&self) -> bool {
        self.done
    }

    fn usage(&self, content_bytes: usize) -> Usage {
        let guess = estimate(content_bytes, self.output_bytes);
        match self.counted {
            (None, None) if self.output_bytes == 0 && !self.done => Usage::default(),
            (input, output) => Usage {
                input: input.unwrap_or(guess.input),
                output: output.unwrap_or(guess.output),
                estimated: input.is_none() || output.is_none(),
                ..Usage::default()
            },
        }
    }

    fn end(&mut self, content_bytes: usize, out: &mut VecDeque<Delta>) -> bool {
        if self.done {
            out.push_back(Delta::Usage(self.usage(content_bytes)));
        }
        self.done
    }
}

/// Decodes a whole reply. A server or gateway that streams unasked, or under another content type, sends several JSON values:
/// they are read one after another. `content_bytes` are the request's, for an estimate where the server counted nothing.
///
/// # Errors
/// The body is no JSON of the expected shape, it is an error that the server reports, or it ends before the reply does.
pub fn decode(
    data: &[u8],
    model: &Text,
    seal: Option<Text>,
    content_bytes: usize,
) -> Result<Reply, DecodeError> {
    let mut decoder = Decoder::new(seal);
    let mut deltas = VecDeque::new();
    // The caller that takes the whole reply checks its length.
    let mut assembler = Assembler::new(model.clone()).bounded(u64::MAX);
    let text = text_in(data);
    let mut bodies = serde_json::Deserializer::from_str(&text).into_iter::<Body>();
    while !decoder.done
        && let Some(body) = bodies.next()
    {
        decoder.body(body.map_err(|error| DecodeError::unreadable(&error, data))?, &mut deltas)?;
    }
    if !decoder.end(content_bytes, &mut deltas) {
        return Err(DecodeError::protocol(format!("the reply has no end: {}", quoted(data))));
    }
    for delta in deltas {
        assembler.push(delta).map_err(|failure| DecodeError::protocol(&*failure.message))?;
    }
    Ok(assembler.finish())
}

/// Why a reply ended. Replies without a reason stand in the documentation, too: they ended by themselves.
fn stop_reason(reason: &str) -> Result<StopReason, DecodeError> {
    match reason {
        "" | "stop" => Ok(StopReason::Stop),
        "length" => Ok(StopReason::Length),
        // The server's answers to a request without messages. Where there were some, it did not get to them: the same request
        // succeeds once the model is there.
        "load" | "unload" => Err(DecodeError {
            kind: FailureKind::Server,
            ..DecodeError::protocol(format!("the server generated nothing (done_reason `{reason}`)"))
        }),
        other => Err(DecodeError::protocol(format!("the reply ended for an unknown reason: `{other}`"))),
    }
}

/// The media type of an image in base64, by its first bytes.
fn image_type(base64: &str) -> &'static str {
    match base64 {
        jpeg if jpeg.starts_with("/9j/") => "image/jpeg",
        webp if webp.starts_with("UklGR") => "image/webp",
        gif if gif.starts_with("R0lGOD") => "image/gif",
        _ => "image/png",
    }
}

#[cfg(test)]
mod tests;
