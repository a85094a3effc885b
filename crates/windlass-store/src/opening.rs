//! Data from a run's first event, for listings and for stores' indexes.

use windlass_core::event::{RunFact, RunInput};
use windlass_core::{Event, Fact, Message, Owner, RunId, SessionId, Text};

/// The most bytes of a title, as [`RunSummary`](crate::RunSummary) promises.
const TITLE_BYTES: usize = 200;

/// The parts of a run's first event that listings need.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    pub(crate) agent: Text,
    pub(crate) owner: Owner,
    pub(crate) session: Option<SessionId>,
    pub(crate) parent: Option<RunId>,
    pub(crate) title: Text,
}

impl Opening {
    /// A run whose first event is no `RunStarted` has no agent and no title: the store does not judge that.
    pub(crate) fn of(first: Option<&Event>) -> Self {
        let Some(Event { fact: Fact::Run(RunFact::Started(started)), .. }) = first else {
            return Self::default();
        };
        Self {
            agent: started.agent.name.clone(),
            owner: started.owner.clone(),
            session: started.session.clone(),
            parent: started.parent,
            title: title(&started.input),
        }
    }
}

/// The run that a first event names as its base.
pub(crate) fn base(first: Option<&Event>) -> Option<RunId> {
    match first {
        Some(Event { fact: Fact::Run(RunFact::Started(started)), .. }) => {
            started.base.as_ref().map(|base| base.run)
        }
        _ => None,
    }
}

fn title(input: &RunInput) -> Text {
    let RunInput::Messages(messages) = input else { return Text::default() };
    let text = messages.iter().find_map(|message| {
        if let Message::User { content, .. } | Message::TaskDelegation { content } = message.as_ref() {
            Some(content.text())
        } else {
            None
        }
    });
    text.map_or_else(Text::default, |text| {
        text.get(..text.floor_char_boundary(TITLE_BYTES)).unwrap_or_default().into()
    })
}
