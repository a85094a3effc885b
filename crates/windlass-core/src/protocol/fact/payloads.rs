//! The payloads that facts refer to.

use crate::protocol::fact::context::Compacted;
use crate::protocol::fact::fork::MadeCall;
use crate::protocol::fact::run::RunInput;
use crate::protocol::fact::{
    CallFact, CodeFact, ContextFact, DelegationFact, Fact, HistoryEdited, ModelFact, PeopleFact, RunFact,
};
use crate::vocabulary::ids::CallId;
use crate::vocabulary::message::{Content, Part};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::payload::Ref;

impl Fact {
    /// The call that this fact ends, and its outcome.
    pub(crate) fn call_end(&self) -> Option<(&CallId, &CallOutcome)> {
        if let Self::Call(CallFact::Finished(finished)) = self {
            Some((&finished.call, &finished.outcome))
        } else if let Self::Delegation(DelegationFact::Finished(finished)) = self {
            Some((&finished.call, &finished.outcome))
        } else if let Self::Code(CodeFact::Finished(finished)) = self {
            Some((&finished.call, &finished.outcome))
        } else {
            None
        }
    }

    /// The payloads that this fact refers to: a log keeps them as long as it keeps the fact.
    pub fn refs(&self) -> Vec<&Ref> {
        let mut refs: Vec<&Ref> = self.agent_files().into_iter().collect();
        if let Self::People(PeopleFact::Steered(steered)) = self {
            refs.extend(steered.parts.iter().filter_map(Part::stored));
        }
        let contents: Vec<&Content> = if let Self::Run(RunFact::Started(start)) = self {
            match &start.input {
                RunInput::Messages(messages) => {
                    messages.iter().filter_map(|message| message.content()).collect()
                }
                RunInput::Fork(fork) => {
                    let own = fork.calls.iter().filter_map(|call| call.outcome.as_ref()?.content());
                    let made = fork.calls.iter().flat_map(|call| &call.made).filter_map(MadeCall::content);
                    own.chain(made).collect()
                }
                RunInput::Continue(_) => Vec::new(),
            }
        } else if let Self::Context(
            ContextFact::HistoryEdited(HistoryEdited { splices, .. })
            | ContextFact::Compacted(Compacted { splices, .. }),
        ) = self
        {
            let inserted = splices.iter().flat_map(|splice| &splice.insert);
            inserted.filter_map(|message| message.content()).collect()
        } else if let Self::Model(ModelFact::Failed(turn)) = self {
            turn.failure.reply().into_iter().collect()
        } else {
            self.call_end().and_then(|(_, outcome)| outcome.content()).into_iter().collect()
        };
        refs.extend(contents.into_iter().flat_map(Content::refs));
        refs
    }

    /// The files of the agent that goes on from this fact on.
    pub fn agent_files(&self) -> Option<&Ref> {
        if let Self::Run(RunFact::Started(start)) = self {
            start.agent_files.as_deref()
        } else if let Self::Run(RunFact::Adjusted(adjusted)) = self {
            let switched = adjusted.switched.as_ref().and_then(|switched| switched.agent_files.as_deref());
            switched.or(adjusted.agent_files.as_deref())
        } else {
            None
        }
    }
}
