//! The runs of a session: they are one chain, and each message has one fate in it.

use std::collections::BTreeSet;

use windlass_core::event::{ModelFact, PeopleFact, RunEnded, RunFact, RunInput};
use windlass_core::{Event, Fact, Message, RunId, State, Status};

use crate::mock::bracketed;
use crate::scene::WhileRunning;

/// A run of a session.
#[derive(Clone, Debug)]
pub(super) struct Link {
    run: RunId,
    /// The run that it continues, and the number of that one's events.
    base: Option<(RunId, u64)>,
    version: u64,
    end: Option<RunEnded>,
    inputs: Vec<String>,
    steered: Vec<String>,
    queued: Vec<String>,
    /// Replies without calls. Steering that comes during the last one leads to another one.
    answers: Vec<String>,
}

/// The user messages among some messages.
pub(super) fn user_texts<'m>(messages: impl IntoIterator<Item = &'m Message>) -> Vec<String> {
    let text = |message: &Message| {
        if let Message::User { content, .. } = message { Some(content.text().into_owned()) } else { None }
    };
    messages.into_iter().filter_map(text).collect()
}

impl Link {
    /// Reads a run's events.
    ///
    /// # Errors
    /// The first one does not start it.
    pub(super) fn of<'e>(run: RunId, events: impl Iterator<Item = &'e Event>) -> Result<Self, String> {
        let mut link = Self {
            run,
            base: None,
            version: 0,
            end: None,
            inputs: Vec::new(),
            steered: Vec::new(),
            queued: Vec::new(),
            answers: Vec::new(),
        };
        for event in events {
            link.version += 1;
            if let Fact::Run(RunFact::Started(start)) = &event.fact {
                link.base = start.base.as_ref().map(|base| (base.run, base.version));
                if let RunInput::Messages(messages) = &start.input {
                    link.inputs = user_texts(messages.iter().map(|message| &**message));
                }
            } else if link.version == 1 {
                return Err(format!("run {run} begins with {}", event.fact.kind()));
            } else if let Fact::People(PeopleFact::Steered(steered)) = &event.fact {
                link.steered.push(steered.text.to_string());
            } else if let Fact::People(PeopleFact::MessageQueued(queued)) = &event.fact {
                link.queued.extend(user_texts(queued.messages.iter().map(|message| &**message)));
            } else if let Fact::Model(ModelFact::Completed(turn)) = &event.fact {
                let answer = turn.text.as_ref().filter(|_| turn.calls.is_empty());
                link.answers.extend(answer.map(ToString::to_string));
            } else if let Fact::Run(RunFact::Ended(end)) = &event.fact {
                link.end = Some(end.clone());
            }
        }
        Ok(link)
    }

    /// How often it answers that message.
    fn answers(&self, message: &str) -> usize {
        self.answers.iter().filter(|text| text.contains(&bracketed(message))).count()
    }

    fn was_cancelled(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.status == Status::Cancelled)
    }
}

/// The runs of a session are one chain: the head is the last one, and each continues the whole of the one before.
///
/// # Errors
/// Names the run that is not in the chain, or that continues another one than the last.
pub(super) fn one_chain(links: &[Link], head: Option<RunId>) -> Result<(), String> {
    let mut left: BTreeSet<RunId> = links.iter().map(|link| link.run).collect();
    let mut next = head;
    while let Some(run) = next {
        let link = links.iter().find(|link| link.run == run);
        let link = link.ok_or_else(|| format!("run {run} of the chain is not in the session"))?;
        if !left.remove(&run) {
            return Err(format!("the chain comes to run {run} twice"));
        }
        if let Some((base, version)) = link.base {
            let base_link = links.iter().find(|link| link.run == base);
            if let Some(base_link) =
                base_link.filter(|base_link| base_link.version != version || base_link.end.is_none())
            {
                let events = base_link.version;
                return Err(format!("run {run} continues event {version} of run {base}, which has {events}"));
            }
        }
        next = link.base.map(|(base, _)| base);
    }
    match left.first() {
        None => Ok(()),
        Some(run) => Err(format!("run {run} is not in the chain of its session, whose head is {head:?}")),
    }
}

/// The place of a message in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Places {
    inputs: usize,
    steered: usize,
    queued: usize,
    answers: usize,
    in_conversation: usize,
    cancelled: bool,
}

/// The knowledge that a sender has of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It was taken on.
    Accepted,
    /// It was refused.
    Refused,
    /// Its sender died first: it was taken on, or not.
    Unknown,
}

/// A session once all of its runs have ended.
#[derive(Debug)]
pub(super) struct Session {
    policy: WhileRunning,
    links: Vec<Link>,
    /// The messages in the conversation of the last run.
    conversation: Vec<String>,
}

impl Session {
    /// A session whose runs are one chain, and the state of its last run.
    ///
    /// # Errors
    /// They are not, or one has not ended.
    pub(super) fn of(policy: WhileRunning, links: Vec<Link>, head: Option<&State>) -> Result<Self, String> {
        one_chain(&links, head.map(State::run))?;
        if let Some(open) = links.iter().find(|link| link.end.is_none()) {
            return Err(format!("run {} has not ended", open.run));
        }
        let conversation =
            head.map(|head| user_texts(head.history().iter().map(|message| &**message))).unwrap_or_default();
        Ok(Self { policy, links, conversation })
    }

    pub(super) fn links(&self) -> &[Link] {
        &self.links
    }

    pub(super) fn policy(&self) -> WhileRunning {
        self.policy
    }

    /// That run answered the message, as its sender was told.
    ///
    /// # Errors
    /// Another run did.
    pub(super) fn was_answered_by(&self, message: &str, run: RunId) -> Result<(), String> {
        let answers = |link: &Link| link.run == run && link.answers(message) > 0;
        if self.links.iter().any(answers) {
            return Ok(());
        }
        Err(format!("{message:?} was answered by run {run}, the log has {:?}", self.places(message)))
    }

    /// That run was cancelled, as the sender of its message was told.
    ///
    /// # Errors
    /// It was not.
    pub(super) fn was_cancelled(&self, run: RunId) -> Result<(), String> {
        let cancelled = |link: &Link| link.run == run && link.was_cancelled();
        if self.links.iter().any(cancelled) { Ok(()) } else { Err(format!("run {run} was not cancelled")) }
    }

    fn places(&self, message: &str) -> Places {
        let among = |texts: &[String]| texts.iter().filter(|text| *text == message).count();
        let mut places = Places { in_conversation: among(&self.conversation), ..Places::default() };
        for link in &self.links {
            let inputs = among(&link.inputs);
            places.inputs += inputs;
            places.steered += among(&link.steered);
            places.queued += among(&link.queued);
            places.answers += link.answers(message);
            places.cancelled |= inputs > 0 && link.was_cancelled();
        }
        places
    }

    /// A message has one fate in the log, and that is the one that its sender knows of. Gives whether it was taken on.
    ///
    /// # Errors
    /// Says what the log has.
    pub(super) fn holds(&self, message: &str, known: Known) -> Result<bool, String> {
        let places = self.places(message);
        let is_absent = places == Places::default();
        let fits = match known {
            Known::Accepted => self.is_answered_once(places),
            Known::Refused => is_absent,
            Known::Unknown => is_absent || self.is_answered_once(places),
        };
        if fits { Ok(!is_absent) } else { Err(format!("{message:?} is {known:?}, the log has {places:?}")) }
    }

    fn is_answered_once(&self, places: Places) -> bool {
        let Places { inputs, steered, queued, answers, in_conversation, cancelled } = places;
        let enters = match self.policy {
            WhileRunning::Refuse | WhileRunning::Interrupt => inputs == 1 && steered + queued == 0,
            WhileRunning::Queue => inputs == 1 && steered == 0 && queued <= 1,
            // Steering that a run ended without having heard has a run of its own.
            WhileRunning::Steer => steered <= 1 && inputs <= 1 && steered + inputs > 0 && queued <= 1,
        };
        let interrupted = self.policy == WhileRunning::Interrupt && cancelled;
        // The run after an interrupted one answers both messages, unless it is interrupted, too.
        enters && in_conversation == 1 && (answers == 1 || interrupted && answers == 0)
    }
}

#[cfg(test)]
mod tests;
