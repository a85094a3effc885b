//! The end of a run: its answer, and what it took.

use serde_json::Value;
use windlass_core::Status;
use windlass_core::event::RunEnded;
use windlass_read::words::{count, span, usage};

use super::{Answers, Plain};
use crate::out;

/// The shortest time for answers that is told of, in milliseconds.
const LONG_ANSWER: u64 = 1_000;

impl Plain {
    /// The final answer, unless it was shown as it came.
    fn answer(&mut self, text: &str, output: Option<&Value>) {
        if !self.is_rendered(text, output) {
            self.end_line();
            // In a face text is Markdown, and a value is code.
            match output.filter(|_| self.face.is_some()) {
                Some(_) => self.paper.piece(&fenced(text)),
                None => self.paper.piece(text),
            }
        }
    }

    /// Whether the last reply that streamed to a terminal is this answer, or holds this output.
    fn is_rendered(&self, text: &str, output: Option<&Value>) -> bool {
        match self.answers {
            Answers::Final => false,
            Answers::Streamed => {
                let rendered = self.turn.text.trim();
                rendered == text.trim()
                    || output.is_some_and(|output| in_json(rendered).as_ref() == Some(output))
            }
        }
    }

    pub(super) fn ended(&mut self, end: &RunEnded, at: u64) {
        self.end_word();
        let output = end.output.as_ref().map(|output| format!("{output:#}"));
        let text = output.as_deref().or(end.text.as_deref()).unwrap_or_default();
        match end.status {
            Status::Answered | Status::Concluded | Status::Clarification => {
                self.answer(text, end.output.as_ref());
                for line in std::mem::take(&mut self.turn.sources) {
                    self.remark(&line);
                }
            }
            // An output that a forced finish gave is one all the same.
            Status::Limit(_) if output.is_some() => {
                self.answer(text, end.output.as_ref());
            }
            // The text of any other end must not look like an answer.
            Status::Limit(_) | Status::Failed(_) if !self.is_rendered(text, None) && !text.is_empty() => {
                self.end_line();
                out::say(format_args!("at the end: {}", text.trim_end()));
            }
            Status::Limit(_) | Status::Failed(_) | Status::Cancelled => {}
        }
        self.end_text();
        self.end_line();
        let mut words = vec![count(self.model_calls, "model call")];
        if self.tool_calls > 0 {
            words.push(count(self.tool_calls, "tool call"));
        }
        words.push(usage(&end.usage, end.cost.map(|pico| pico as f64 / 1e12)));
        let (all, by_people) = (at.saturating_sub(self.started_at), self.waits.take_by_people());
        words.push(span(all.saturating_sub(by_people)));
        if by_people >= LONG_ANSWER {
            words.push(format!("and {} for answers", span(by_people)));
        }
        if self.face.is_some() {
            out::note("");
        }
        self.remark(&format!("{}: {}", end.status, words.join(", ")));
        if let Some(run) = self.run.filter(|_| self.cuts.any()) {
            let log = &self.log_words;
            self.remark(&format!(
                "lines that end with … were cut: `windlass runs show{log} {run}` shows more"
            ));
        }
    }
}

/// A JSON value as a block of code in Markdown.
pub(crate) fn fenced(json: &str) -> String {
    format!("```json\n{json}\n```\n")
}

/// The JSON value that a reply consists of, with or without a fence around it.
fn in_json(reply: &str) -> Option<Value> {
    let fenced = reply.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")?.split_once('\n'));
    serde_json::from_str(fenced.map_or(reply, |(_, within)| within)).ok()
}
