//! The interpreter's exceptions as failures that a model can act on.

use std::fmt::Write as _;
use std::time::Duration;

use monty_types::{ExcType, MontyException, StackFrame};

use super::hints;
use crate::{Failure, FailureKind, Limit, Limits};

/// The name of the source in errors.
pub(super) const FILE: &str = "code";
/// Maximum number of frames of a traceback that are shown, from its start and from its end.
const MOST_FRAMES: usize = 8;
/// Maximum length of a line or message that is shown, in bytes.
const MOST_BYTES: usize = 2_000;

/// The failure of a source that cannot be compiled.
pub(super) fn compiling(error: &MontyException) -> Failure {
    let unsupported = error.exc_type() == ExcType::NotImplementedError;
    let kind = if unsupported { FailureKind::Unsupported } else { FailureKind::Syntax };
    let line = error.traceback().last().map(|frame| frame.start.line);
    let mut message = String::new();
    if let Some(frame) = error.traceback().last() {
        let _ = writeln!(message, "  line {}", frame.start.line);
        if let Some(text) = &frame.preview_line {
            let text = text.lines().next().unwrap_or_default();
            let _ = writeln!(message, "    {}", cut(text.trim()));
        }
    }
    let error_text = error.message().unwrap_or_default();
    let error_text =
        error_text.replace("The monty syntax parser does not yet support", "this Python does not have");
    let _ = write!(message, "{}: {}", error.exc_type(), cut(&error_text));
    hint(&mut message, error);
    Failure { kind, message, line }
}

/// The failure of code that ran.
pub(super) fn running(error: &MontyException, source: &str, limits: &Limits, running: Duration) -> Failure {
    let line = error.traceback().last().map(|frame| frame.start.line);
    let line = line.filter(|line| *line as usize <= source.lines().count());
    let mut message = traceback(error.traceback(), source);
    let error_text = error.message().unwrap_or_default();
    let exception = error.exc_type();
    if exception == ExcType::TimeoutError && running >= limits.running() {
        let _ = write!(message, "the code ran for longer than {} s", limits.seconds);
        message.push_str("\nhint: do less in one step, or look for a loop without an end");
        return Failure { kind: FailureKind::Limit(Limit::Seconds), message, line };
    }
    if exception == ExcType::MemoryError && error_text.starts_with("memory limit exceeded") {
        let _ = write!(message, "the code needed more than {} MiB of memory", limits.memory_mb);
        message.push_str("\nhint: keep less at once");
        return Failure { kind: FailureKind::Limit(Limit::Memory), message, line };
    }
    let unsupported = exception == ExcType::NotImplementedError
        && (error_text.contains("not yet") || error_text.contains("not supported"));
    let kind =
        if unsupported { FailureKind::Unsupported } else { FailureKind::Raised(exception.to_string()) };
    let _ = write!(message, "{}", error.exc_type());
    if !error_text.is_empty() {
        let _ = write!(message, ": {}", cut(error_text));
    }
    hint(&mut message, error);
    Failure { kind, message, line }
}

fn hint(message: &mut String, error: &MontyException) {
    let error_text = error.message().unwrap_or_default();
    if let Some(hint) = hints::of_message(&error.exc_type().to_string(), error_text) {
        message.push_str("\nhint: ");
        message.push_str(&hint);
    }
}

/// The frames with the lines of the original source.
fn traceback(frames: &[StackFrame], source: &str) -> String {
    let mut text = String::new();
    if frames.is_empty() {
        return text;
    }
    text.push_str("Traceback (most recent call last):\n");
    let left_out = frames.len().saturating_sub(2 * MOST_FRAMES);
    for (at, frame) in frames.iter().enumerate() {
        if left_out > 0 && at == MOST_FRAMES {
            let _ = writeln!(text, "  ({left_out} frames are left out)");
        }
        if left_out > 0 && (MOST_FRAMES..MOST_FRAMES + left_out).contains(&at) {
            continue;
        }
        let name = frame.frame_name.as_deref().unwrap_or("<module>");
        let _ = writeln!(text, "  line {}, in {}", frame.start.line, cut(name));
        if let Some(line) = source.lines().nth((frame.start.line as usize).saturating_sub(1)) {
            let _ = writeln!(text, "    {}", cut(line.trim()));
        }
    }
    text
}

/// The beginning of a text.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MOST_BYTES)).unwrap_or_default()
}
