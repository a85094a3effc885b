//! Events and everything else in words, short enough for a line: one sentence for each event, wherever it is shown.
//!
//! ```
//! use windlass_core::event::CancelRequested;
//! use windlass_core::Fact;
//! use windlass_read::words::{Calls, Cuts, phrase};
//!
//! let fact = Fact::from(CancelRequested { reason: Some("enough".into()) });
//! assert_eq!(phrase(&fact, &Calls::default(), &Cuts::default()), "was told to stop: enough");
//! ```

pub mod annotations;
pub mod asked;
mod calls;
mod cuts;
pub mod differences;
mod phrases;
pub mod progress;
pub mod receipts;
pub mod refused;
pub mod waits;

use windlass_core::CallOutcome;
use windlass_core::event::{DeniedBy, LimitReached, Rejection, RunInput, RunStarted};
use windlass_core::message::{Content, Media, MediaSource, Part};
use windlass_core::model::Usage;
use windlass_core::policy::LimitKind;
use windlass_core::text::plain;

pub use calls::Calls;
pub use cuts::Cuts;
pub use phrases::{changed, compaction, kind_of, not_compacted, phrase};

/// The limits on what model calls use: a call in progress may go beyond them.
const METERED: [LimitKind; 4] =
    [LimitKind::Tokens, LimitKind::InputTokens, LimitKind::OutputTokens, LimitKind::CostUsd];
/// Maximum number of characters of arguments or of a result in a line of progress.
pub const LINE_CHARS: usize = 120;
/// Maximum number of characters shown of a name or id.
const NAME_CHARS: usize = 200;

/// The text on one line of at most so many characters.
pub fn cut(text: &str, chars: usize) -> String {
    let one_line = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = one_line.chars().take(chars).collect();
    if short.len() < one_line.len() {
        short.push('…');
    }
    short
}

/// The parts that go with a text: ` [plan.png: image/png]` or ` [text: 12 bytes]` each.
fn with_parts(parts: &[Part]) -> String {
    let words = parts.iter().map(|part| match part {
        Part::Image(media) | Part::File(media) => {
            let called = media.name.as_deref().map(|called| format!("{}: ", name(called)));
            format!(" [{}{}]", called.unwrap_or_default(), name(&media.media_type))
        }
        Part::Text { text } => format!(" [text: {} bytes]", text.len()),
        Part::Stored(stored) => format!(" [text: {} bytes]", stored.bytes),
    });
    words.collect::<Vec<_>>().concat()
}

/// A name from outside: on one line and shortened.
pub fn name(text: &str) -> String {
    cut(text, NAME_CHARS)
}

/// Outcome of a call in a few words.
pub fn outcome(outcome: &CallOutcome) -> String {
    match outcome {
        CallOutcome::Ok { content } => content_line(content),
        CallOutcome::Error { kind, message } => match kind {
            Some(kind) => format!("failed ({kind}): {message}"),
            None => format!("failed: {message}"),
        },
        CallOutcome::TimedOut { after_ms } => format!("timed out after {}", span(*after_ms)),
        CallOutcome::Malformed { message } => message.to_string(),
        CallOutcome::Rejected { message } => format!("the output was rejected: {message}"),
        CallOutcome::UnknownTool { nearest } if nearest.is_empty() => "unknown tool".to_owned(),
        CallOutcome::UnknownTool { nearest } => {
            format!("unknown tool; did you mean {}?", nearest.join(", "))
        }
        CallOutcome::Denied { reason, by } => {
            let by = match by {
                DeniedBy::Policy => "forbidden",
                DeniedBy::Person => "denied",
                DeniedBy::Verifier => "not verified",
            };
            reason.as_ref().map_or_else(|| by.to_owned(), |reason| format!("{by}: {reason}"))
        }
        CallOutcome::Skipped { reason } => format!("skipped: {reason}"),
        CallOutcome::Interrupted => "interrupted".to_owned(),
        CallOutcome::Abandoned => "interrupted and abandoned".to_owned(),
        CallOutcome::Unknown => "unknown whether it happened".to_owned(),
    }
}

fn content_line(content: &Content) -> String {
    match content {
        Content::Text(text) => text.to_string(),
        Content::Parts(parts) => {
            let words = parts.iter().map(|part| match part {
                Part::Text { text } => text.to_string(),
                Part::Stored(stored) => format!("({} bytes) {}", stored.bytes, stored.head),
                Part::Image(media) | Part::File(media) => format!("[{}]", media.media_type),
            });
            words.collect::<Vec<_>>().join(" ")
        }
    }
}

/// The form in which the documents of an input are sent to a model that takes them as text only: a line each.
pub fn documents(start: &RunStarted) -> Vec<String> {
    let RunInput::Messages(messages) = &start.input else { return Vec::new() };
    let parts = messages.iter().filter_map(|message| match message.content() {
        Some(Content::Parts(parts)) => Some(parts),
        _ => None,
    });
    // Files of an input are stored only where their text follows them.
    let line = |pair: &[Part]| match pair {
        [Part::File(Media { source: MediaSource::Stored(_), .. }), text] => {
            let text = match text {
                Part::Text { text } => text,
                Part::Stored(stored) => &stored.head,
                Part::Image(_) | Part::File(_) => return None,
            };
            let line = text.lines().next().unwrap_or_default();
            Some(line.trim_matches(['[', ']']).to_owned())
        }
        _ => None,
    };
    parts.flat_map(|parts| parts.windows(2).filter_map(line)).collect()
}

/// Milliseconds as people write them.
pub fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1e3),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// `3 tool calls`, `1 tool call`.
pub fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Tokens and cost.
pub fn usage(usage: &Usage, cost_usd: Option<f64>) -> String {
    let about = if usage.estimated { "about " } else { "" };
    let cached = if usage.cached > 0 { format!(" ({} cached)", usage.cached) } else { String::new() };
    let cost =
        cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!(", ${}", money(cost))).unwrap_or_default();
    format!("{about}{} tokens in{cached}, {} out{cost}", usage.input, usage.output)
}

/// Dollars, with as many digits as a small sum needs.
pub fn money(usd: f64) -> String {
    if usd >= 0.01 { format!("{usd:.2}") } else { format!("{usd:.6}") }
}

/// A time of day in the local time zone.
pub fn time(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(chrono::DateTime::from_timestamp_millis);
    time.map_or_else(
        || ms.to_string(),
        |time| time.with_timezone(&chrono::Local).format("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// The time of a day, with the day if it is another one than today.
pub fn short_time(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(chrono::DateTime::from_timestamp_millis);
    let Some(time) = time.map(|time| time.with_timezone(&chrono::Local)) else { return ms.to_string() };
    let today = time.date_naive() == chrono::Local::now().date_naive();
    time.format(if today { "%H:%M" } else { "%Y-%m-%d %H:%M" }).to_string()
}

/// A span of time to its minute: `1 h`, `1 h 20 min`.
pub fn short_span(ms: u64) -> String {
    let minutes = ms.div_ceil(60_000);
    match (minutes / 60, minutes % 60) {
        (0, _) if ms < 60_000 => format!("{} s", ms.div_ceil(1_000)),
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// A limit that was reached: its value, the usage where that differs, and the amount that the next call would have needed.
pub fn limit(reached: &LimitReached) -> String {
    let show = |number| reached.limit.show(number);
    let most = reached.limit.amount(reached.max);
    let of_lost = match reached.reserved {
        0 => String::new(),
        reserved => format!(", {} of it reserved for lost model calls", show(reserved)),
    };
    match reached.needed {
        0 if reached.reached > reached.max && METERED.contains(&reached.limit) => {
            format!("{most} ({} used{of_lost})", show(reached.reached))
        }
        0 if of_lost.is_empty() => most,
        0 => format!("{most} ({} used or reserved{of_lost})", show(reached.reached)),
        needed => format!(
            "{most} ({} used or reserved{of_lost}; the next model call may need {})",
            show(reached.reached),
            show(needed)
        ),
    }
}

/// Why a reply was not accepted.
pub fn rejection(reason: Rejection) -> &'static str {
    match reason {
        Rejection::Truncated => "the reply was cut off at the token limit",
        Rejection::Refused => "the model declined to answer",
        Rejection::Filtered => "the provider's filter cut the reply off",
        Rejection::NoCall => "the reply calls no tool or is empty",
        Rejection::Invalid => "the reply does not match the output schema",
        Rejection::Unproven => "required tools had not succeeded before the answer",
    }
}
