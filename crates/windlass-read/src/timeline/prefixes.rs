//! Requests that begin otherwise than those before them, with the reasons: there a provider's cache of their prefix does not serve (E38).

use serde::Serialize;
use windlass_core::event::{Adjusted, ContextFact, Millis, ModelFact, PeopleFact, RunFact};
use windlass_core::message::SteerKind;
use windlass_core::{Event, Fact};

/// For how long providers keep what they were not told to keep longer (Anthropic, "Prompt caching": five minutes; OpenAI: five to ten).
const KEPT_MS: u64 = 5 * 60 * 1_000;

/// A request of the conversation that does not go on with the beginning of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PrefixBreak {
    /// The turn of the request.
    pub turn: u32,
    /// The number of the event that it follows from.
    pub seq: u64,
    /// The reason.
    pub cause: BreakCause,
}

/// Why a request begins otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakCause {
    /// Other tools are offered.
    Tools,
    /// The instructions, or the objective, are others.
    Instructions,
    /// Another agent has the run.
    Agent,
    /// Another model is asked.
    Model,
    /// Messages were removed from the conversation, or summed up.
    Compacted,
    /// The conversation was edited: by a hook, or because the provider refused parts of it.
    Edited,
    /// Nothing was asked for longer than providers keep it.
    Idle,
}

impl BreakCause {
    /// The reason, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Tools => "other tools are offered",
            Self::Instructions => "the instructions are others",
            Self::Agent => "another agent has the run",
            Self::Model => "another model is asked",
            Self::Compacted => "the conversation was compacted",
            Self::Edited => "the conversation was edited",
            Self::Idle => "nothing was asked for more than five minutes",
        }
    }
}

/// Follows the requests of a conversation.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    /// The model of the last request, and when it was answered.
    last: Option<(u32, Millis)>,
    /// The change since.
    pending: Option<(u64, BreakCause)>,
    breaks: Vec<PrefixBreak>,
}

impl Prefixes {
    /// Takes in what an event says of requests.
    pub(super) fn learn(&mut self, seq: u64, event: &Event) {
        if let Some(attempt) = event.fact.attempt() {
            if attempt.purpose.speaks() && !attempt.alongside {
                let turn =
                    if let Fact::Model(ModelFact::Started(turn)) = &event.fact { turn.turn } else { 0 };
                self.asks(seq, event.at, attempt.model, turn);
            }
        } else if let Fact::Model(ModelFact::Completed(turn)) = &event.fact {
            if turn.purpose.speaks()
                && let Some((_, at)) = &mut self.last
            {
                *at = event.at;
            }
        } else if let Some(cause) = cause(&event.fact) {
            // The first change is the one that counts: all behind it is written anew anyway.
            self.pending.get_or_insert((seq, cause));
        }
    }

    fn asks(&mut self, seq: u64, at: Millis, model: u32, turn: u32) {
        let other = |(last, answered): (u32, Millis)| {
            if last == model {
                (at.saturating_sub(answered) > KEPT_MS).then_some((seq, BreakCause::Idle))
            } else {
                Some((seq, BreakCause::Model))
            }
        };
        let pending = self.pending.take();
        if let Some(last) = self.last.replace((model, at))
            && let Some((seq, cause)) = pending.or_else(|| other(last))
        {
            self.breaks.push(PrefixBreak { turn, seq, cause });
        }
    }

    /// The requests that begin otherwise.
    pub(super) fn done(self) -> Vec<PrefixBreak> {
        self.breaks
    }
}

/// The change that a fact makes to the beginning of requests.
fn cause(fact: &Fact) -> Option<BreakCause> {
    if let Fact::Run(RunFact::Adjusted(Adjusted { tools, prompt, agent, switched, refused, .. })) = fact {
        let changes = [
            (agent.is_some() || switched.is_some(), BreakCause::Agent),
            (tools.is_some() || refused.is_some(), BreakCause::Tools),
            (prompt.is_some(), BreakCause::Instructions),
        ];
        return changes.into_iter().find(|(changed, _)| *changed).map(|(_, cause)| cause);
    }
    if let Fact::People(PeopleFact::Steered(steered)) = fact {
        return (steered.kind == SteerKind::Objective).then_some(BreakCause::Instructions);
    }
    match fact {
        Fact::Context(ContextFact::Compacted(_)) => Some(BreakCause::Compacted),
        Fact::Context(ContextFact::HistoryEdited(_)) => Some(BreakCause::Edited),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::{Event, Fact};

    use super::{BreakCause, Prefixes};

    const TURN: (&str, &str) = ("TurnStarted", r#"{"turn":2,"attempt":1}"#);
    const OTHER: (&str, &str) = ("TurnStarted", r#"{"turn":2,"attempt":1,"model":1}"#);
    const REPLY: (&str, &str) = (
        "TurnCompleted",
        r#"{"turn":1,"text":"So","stop":"stop","usage":{"input":9,"output":1},"model":"m"}"#,
    );

    /// The breaks of a conversation whose facts lie so many milliseconds apart.
    fn breaks(apart: u64, facts: &[(&str, &str)]) -> Vec<(u64, BreakCause)> {
        let mut prefixes = Prefixes::default();
        for (seq, (kind, body)) in (1..).zip(facts) {
            let fact = Fact::from_body(kind, body).unwrap();
            prefixes.learn(seq, &Event { at: seq * apart, fact });
        }
        prefixes.done().into_iter().map(|broke| (broke.seq, broke.cause)).collect()
    }

    #[test]
    fn e38_a_request_that_begins_otherwise_is_named_with_its_reason() {
        let tools = ("Adjusted", r#"{"tools":[]}"#);
        let prompt = ("Adjusted", r#"{"prompt":[]}"#);
        let detected = ("Adjusted", r#"{"models":[{"name":"m","wire":"fenced"}]}"#);
        let objective = ("Steered", r#"{"text":"Sing.","kind":"objective"}"#);
        let steered = ("Steered", r#"{"text":"Sing."}"#);
        for (between, wanted) in [
            (vec![], None),
            (vec![steered], None),
            (vec![detected], None),
            (vec![tools], Some((3, BreakCause::Tools))),
            (vec![prompt], Some((3, BreakCause::Instructions))),
            (vec![objective], Some((3, BreakCause::Instructions))),
            // What comes first breaks the prefix; all behind it is written anew anyway.
            (vec![steered, prompt, tools], Some((4, BreakCause::Instructions))),
        ] {
            let facts: Vec<_> = [TURN, REPLY].into_iter().chain(between).chain([TURN]).collect();
            assert_eq!(breaks(1_000, &facts).first().copied(), wanted, "{facts:?}");
        }
        assert_eq!(breaks(1_000, &[TURN, REPLY, OTHER]), [(3, BreakCause::Model)]);
        assert_eq!(breaks(400_000, &[TURN, REPLY, TURN]), [(3, BreakCause::Idle)]);
        // Before the first request nothing can break.
        assert_eq!(breaks(1_000, &[tools, TURN, REPLY, TURN]), []);
    }
}
