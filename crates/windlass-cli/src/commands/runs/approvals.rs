//! People's decisions on the calls of a run.

use serde_json::{Value, json};
use windlass_core::event::{AnsweredBy, CallFact, Decision, InputReceived, PeopleFact};
use windlass_core::text::display_args;
use windlass_core::{CallId, Fact, QuestionId, RunId};
use windlass_read::RunPages;
use windlass_store::{Batch, Log};

use crate::failure::Failure;

/// A person's decision on a call.
#[derive(Debug)]
struct Approval {
    call: CallId,
    question: Option<QuestionId>,
    /// The person who answered, and the place.
    by: Option<AnsweredBy>,
    decision: Decision,
    /// Whether it allows all later calls of the tool in the session.
    always: bool,
}

/// The decisions of people in one run, in order.
#[derive(Debug, Default)]
pub(super) struct Approvals(Vec<Approval>);

impl Approvals {
    /// Reads them from the run's events.
    pub(super) async fn of(log: &dyn Log, run: RunId) -> Result<Self, Failure> {
        let mut all = Vec::new();
        let mut pages = RunPages::new(log, run);
        while let Some(batches) = pages.next().await? {
            for batch in &batches {
                decided(batch, &mut all);
            }
        }
        Ok(Self(all))
    }

    fn on<'a>(&'a self, call: &CallId) -> impl DoubleEndedIterator<Item = &'a Approval> {
        self.0.iter().filter(move |approval| approval.call == *call)
    }

    /// The arguments that a person gave the call.
    pub(super) fn args(&self, call: &CallId) -> Option<&str> {
        self.on(call).rev().find_map(|approval| match &approval.decision {
            Decision::Edited { args } => Some(&**args),
            Decision::Approved | Decision::Allowed | Decision::Denied { .. } | Decision::Forbidden { .. } => {
                None
            }
        })
    }

    /// One line for each decision on the call, which the model made with these arguments.
    pub(super) fn lines(&self, call: &CallId, asked: &str) -> Vec<String> {
        let line = |approval: &Approval| {
            let by = approval.by.as_ref().map(|by| format!(", {by}")).unwrap_or_default();
            let to =
                approval.question.as_ref().map(|question| format!(" ({question}{by})")).unwrap_or_default();
            match &approval.decision {
                Decision::Approved if approval.always => {
                    format!("approved{to}, with all later calls of the tool in this session")
                }
                Decision::Approved => format!("approved{to}"),
                Decision::Allowed => "approved for the session by an earlier answer".to_owned(),
                Decision::Edited { .. } => {
                    format!("approved{to} with changed arguments; the model's were {}", display_args(asked))
                }
                Decision::Denied { reason: Some(reason) } => format!("denied{to}: {reason}"),
                Decision::Denied { reason: None } | Decision::Forbidden { .. } => format!("denied{to}"),
            }
        };
        self.on(call).map(line).collect()
    }

    /// The decisions as data.
    pub(super) fn json(&self) -> Value {
        let one = |approval: &Approval| json!({ "call": approval.call, "question": approval.question, "by": approval.by, "decision": approval.decision, "always": approval.always });
        self.0.iter().map(one).collect()
    }
}

/// Adds the decisions of an append. The answer that a decision follows from stands before it in the same append.
fn decided(batch: &Batch, all: &mut Vec<Approval>) {
    let (mut answered, mut always): (Option<InputReceived>, bool) = (None, false);
    for event in batch.events.iter() {
        if let Fact::People(PeopleFact::InputReceived(received)) = &event.fact {
            answered = Some(received.clone());
        } else if matches!(event.fact, Fact::Call(CallFact::ToolAllowed(_))) {
            always = true;
        } else if let Fact::Call(CallFact::Decided(decided)) = &event.fact
            && by_person(&decided.decision)
        {
            let (question, by) = answered.take().map(|received| (received.question, received.by)).unzip();
            all.push(Approval {
                call: decided.call.clone(),
                question,
                by: by.flatten(),
                decision: decided.decision.clone(),
                always: std::mem::take(&mut always),
            });
        }
    }
}

fn by_person(decision: &Decision) -> bool {
    match decision {
        Decision::Approved | Decision::Edited { .. } | Decision::Allowed | Decision::Denied { .. } => true,
        Decision::Forbidden { .. } => false,
    }
}
