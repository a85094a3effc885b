//! The line of status, below everything.

use windlass_read::words::{count, money, name};

/// The parts of the line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    /// The model that answers.
    pub(crate) model: String,
    /// The conversation's name; empty: it has none.
    pub(crate) session: String,
    /// The tokens of the last request, which the next one begins with.
    pub(crate) context: u64,
    /// The tokens that the conversation may have.
    pub(crate) window: Option<u64>,
    /// Tokens of all turns.
    pub(crate) tokens: u64,
    /// Their cost in dollars, as far as prices are known.
    pub(crate) cost_usd: f64,
    /// Messages that wait for the end of the turn.
    pub(crate) queued: usize,
    /// Files that go with the next message.
    pub(crate) attached: usize,
}

impl Status {
    /// How much of the context is used; `None`: it is not known.
    pub(super) fn of_context(&self) -> Option<String> {
        let used = tokens(Some(self.context).filter(|context| *context > 0)?);
        Some(match self.window.filter(|window| *window > 0) {
            Some(window) => {
                format!("context {used} of {} ({} %)", tokens(window), self.context * 100 / window)
            }
            None => format!("context {used}"),
        })
    }

    /// In words, the most important ones first.
    pub(super) fn words(&self, unicode: bool) -> String {
        let mut words = vec![name(&self.model)];
        if !self.session.is_empty() {
            words.push(format!("session {}", name(&self.session)));
        }
        words.extend(self.of_context());
        if self.tokens > 0 {
            words.push(format!("{} tokens", tokens(self.tokens)));
        }
        if self.cost_usd > 0.0 {
            words.push(format!("${}", money(self.cost_usd)));
        }
        if self.attached > 0 {
            words.push(count(self.attached as u64, "file") + " attached");
        }
        if self.queued > 0 {
            words.push(format!("{} queued", count(self.queued as u64, "message")));
        }
        words.retain(|word| !word.is_empty());
        words.join(if unicode { " · " } else { " - " })
    }
}

/// A number of tokens in few digits: `950`, `12.3k`, `1.2M`.
fn tokens(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}
