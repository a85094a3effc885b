//! Judge: a model says whether an answer does what was asked, or what is missing. Its reply is no message of the conversation.

use serde::Deserialize;
use windlass_text::json::object_in;

use crate::machine::decision::Decision;
use crate::machine::purposes::Rules;
use crate::protocol::fact::iterations::Judged;
use crate::state::State;

pub(crate) const RULES: Rules = Rules {
    recorded: State::judge_reply_recorded,
    replied: Decision::judge_replied,
    failed: Decision::judge_failed,
};

/// A verdict as models write it.
#[derive(Deserialize)]
struct Written {
    satisfied: bool,
    #[serde(default)]
    missing: Option<String>,
}

/// The verdict that a reply is: JSON, alone or with text or a fence around it. `None`: it is none.
pub(crate) fn verdict(text: &str) -> Option<Judged> {
    let Written { satisfied, missing } = serde_json::from_str(object_in(text)?).ok()?;
    Some(Judged { satisfied, missing: missing.unwrap_or_default().trim().into() })
}
