//! Failures of model calls, one after another: what was told is not told again.

use windlass_core::event::{ModelFact, RunFact};
use windlass_core::{Event, Fact, State};
use windlass_read::words::span;

/// The tries of the model call that goes on.
#[derive(Debug, Default)]
pub(super) struct Failing {
    /// The number of this try.
    attempt: u32,
    /// The most tries of one call, once they are known.
    most: Option<u32>,
    /// The model and the words of the failure before.
    before: Option<(String, String)>,
}

impl Failing {
    /// A run that began earlier.
    pub(super) fn recall(&mut self, state: &State) {
        self.most = Some(state.policy().transport.retries + 1);
    }

    /// Takes an event in. The line of a failure that is the same as the one before, where the same model is asked again.
    pub(super) fn again(&mut self, event: &Event) -> Option<String> {
        if let Fact::Run(RunFact::Started(start)) = &event.fact {
            self.most = Some(start.policy.transport.retries + 1);
        } else if let Fact::Model(ModelFact::Started(turn)) = &event.fact {
            self.attempt = turn.attempt;
        } else if let Fact::Model(ModelFact::Completed(_)) = &event.fact {
            self.before = None;
        }
        let Fact::Model(ModelFact::Failed(failed)) = &event.fact else { return None };
        let now = (failed.failure.model.to_string(), failed.failure.message.to_string());
        let is_known = self.before.replace(now.clone()) == Some(now);
        let same_model = failed.next_model.is_none() && failed.remaining_model.is_none();
        let retry_at = failed.retry_at.filter(|_| is_known && same_model && !failed.for_quota)?;
        let (pause, next) = (span(retry_at.saturating_sub(event.at)), self.attempt + 1);
        let of = self.most.map(|most| format!(" of {most}")).unwrap_or_default();
        Some(format!("again in {pause} (try {next}{of})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of a try that fails with these words.
    fn fails(failing: &mut Failing, attempt: u32, message: &str, more: &str) -> Option<String> {
        let started = format!(r#"{{"action":1,"turn":1,"attempt":{attempt},"model":0}}"#);
        failing.again(&Event { at: 0, fact: Fact::from_body("TurnStarted", &started).unwrap() });
        let failed =
            format!(r#"{{"turn":1,"failure":{{"kind":"connect","message":"{message}","model":"a"}}{more}}}"#);
        failing.again(&Event { at: 1_000, fact: Fact::from_body("TurnFailed", &failed).unwrap() })
    }

    #[test]
    fn a_failure_that_was_told_is_its_number_and_the_pause() {
        let retry = r#","retry_at":3000"#;
        let mut failing = Failing { most: Some(4), ..Failing::default() };
        assert_eq!(fails(&mut failing, 1, "refused", retry), None);
        assert_eq!(fails(&mut failing, 2, "refused", retry).unwrap(), "again in 2.0 s (try 3 of 4)");
        assert_eq!(fails(&mut failing, 3, "reset", retry), None, "another failure is told");
        assert_eq!(fails(&mut failing, 3, "reset", retry).unwrap(), "again in 2.0 s (try 4 of 4)");
        for more in ["", r#","retry_at":3000,"next_model":1"#, r#","retry_at":3000,"for_quota":true"#] {
            assert_eq!(fails(&mut failing, 4, "reset", more), None, "what comes next is told: {more}");
        }
    }
}
