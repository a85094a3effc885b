//! Act: the model answers or calls tools. Its calls alone write the conversation.

use crate::machine::decision::Decision;
use crate::machine::purposes::Rules;
use crate::policy::texts::{Texts, filled};
use crate::protocol::fact::turns::TurnFailed;
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::ids::Text;
use crate::vocabulary::outcome::{FailKind, Status};
use crate::vocabulary::reply::{FailureKind, ModelFailure};

pub(crate) const RULES: Rules = Rules { recorded: State::acted, replied: Decision::turn_replied, failed };

/// A closing call that failed is the end of the closing; any other one is the end of the run.
fn failed(decision: &mut Decision, model_call: &ModelCall, failure: ModelFailure) {
    let kind = if failure.kind == FailureKind::TooLarge { FailKind::TooLarge } else { FailKind::Model };
    let error: Text = decision.words_of(model_call, &failure).into();
    let text = text_of(&decision.state.setup.policy().wording.texts, &failure);
    decision.record(TurnFailed::last(model_call, failure));
    if decision.state.ending.closing().is_some() {
        decision.finish_closing(None);
    } else {
        decision.end(Status::Failed(kind), text, Some(error));
    }
}

/// The preset's text for a failed model, if it has one.
fn text_of(texts: &Texts, failure: &ModelFailure) -> Option<Text> {
    let after = failure.after_ms.filter(|_| !texts.model_timed_out.is_empty());
    let template = if after.is_some() { &texts.model_timed_out } else { &texts.model_failed };
    let seconds = after.map_or(String::new(), |ms| (f64::from(ms) / 1e3).to_string());
    let text = filled(template, &[("error", &failure.to_string()), ("seconds", &seconds)]);
    (!text.is_empty()).then(|| text.into())
}
