//! The model calls of a run: purpose, model, usage, cost and end of each.

use serde::Serialize;
use windlass_core::event::{Adjusted, Millis, ModelAttempt, ModelFact, RunFact, TurnFailed};
use windlass_core::message::{Annotations, HostedTool};
use windlass_core::model::{FailureKind, ModelChoice, Prices, Purpose, Role, Usage};
use windlass_core::{CallId, Event, Fact, Text};

/// A model call that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    /// The number of the event that ended it.
    pub seq: u64,
    /// Its turn.
    pub turn: u32,
    /// Its purpose.
    pub purpose: Purpose,
    /// The model that was asked, as the agent names it.
    pub model: Text,
    /// The work that the model is asked for.
    pub role: Role,
    /// The number of the event that began it; `None`: the run's log does not say.
    pub began: Option<u64>,
    /// When it was asked.
    pub asked: Option<Millis>,
    /// When it ended.
    pub ended: Millis,
    /// Its tokens.
    pub usage: Usage,
    /// Its cost in pico-dollars as limits count it: at list price, or what its provider reported if that is more; `None`: the
    /// price is unknown, and nothing was reported.
    pub pico_usd: Option<u64>,
    /// The tools that its provider ran.
    pub hosted: Vec<HostedUse>,
    /// Savings of the provider's cache, in pico-dollars at list prices: below 0, writing to it cost more than reading from it saved;
    /// `None`: the price is unknown.
    pub saved: Option<i64>,
    /// How it ended.
    pub end: ModelCallEnd,
}

/// Uses of a tool that a provider ran within a model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostedUse {
    /// The tool.
    pub tool: HostedTool,
    /// Number of uses that did not fail.
    pub uses: u64,
    /// Their cost in pico-dollars, which is part of the call's; `None`: the price of a use is unknown, or it has none.
    pub pico_usd: Option<u64>,
}

/// How a model call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelCallEnd {
    /// With a reply.
    Replied,
    /// With a reply to a request that left items out, to find which one a provider refuses.
    Probed,
    /// Without a reply.
    Failed(FailureKind),
}

impl ModelCall {
    /// How long it took.
    pub fn ms(&self) -> Option<u64> {
        self.asked.map(|asked| self.ended.saturating_sub(asked))
    }
}

/// A model of a run, with the replies that it gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelTurns {
    /// Its name, as the agent names it.
    pub model: String,
    /// The work that it is asked for.
    pub role: Role,
    /// Number of replies, whatever their purpose.
    pub turns: u64,
}

/// Follows which models are asked, and what comes of it.
#[derive(Debug, Default)]
pub(super) struct ModelCalls {
    /// The run's models now.
    models: Vec<ModelChoice>,
    /// All models that it had, each once.
    known: Vec<(Text, Role)>,
    open: OpenCalls,
    ended: Vec<ModelCall>,
}

impl ModelCalls {
    /// These are the run's models from here on.
    pub(super) fn models(&mut self, models: &[ModelChoice]) {
        for model in models {
            if !self.known.iter().any(|(name, role)| *name == model.name && *role == model.role) {
                self.known.push((model.name.clone(), model.role));
            }
        }
        self.models = models.to_vec();
    }

    /// Takes in what an event says of model calls.
    pub(super) fn learn(&mut self, seq: u64, event: &Event) {
        if let Some(attempt) = event.fact.attempt() {
            self.open.begins(attempt, (seq, event.at));
        } else if let Fact::Model(ModelFact::Completed(turn)) = &event.fact {
            let asked = self.open.close(turn.purpose, turn.about.as_ref());
            let used = (turn.usage, turn.annotations.as_deref());
            self.ends((seq, event.at), (turn.turn, turn.purpose, asked), used, ModelCallEnd::Replied);
        } else if let Fact::Model(ModelFact::ProbeAnswered(probe)) = &event.fact {
            let asked = self.open.close(probe.purpose, None);
            let used = (probe.usage, None);
            self.ends((seq, event.at), (probe.turn, probe.purpose, asked), used, ModelCallEnd::Probed);
        } else if let Fact::Model(ModelFact::Failed(turn)) = &event.fact {
            self.failed(seq, event.at, turn);
        } else if let Fact::Run(RunFact::Adjusted(Adjusted { models: Some(models), .. })) = &event.fact {
            self.models(models);
        }
    }

    fn failed(&mut self, seq: u64, at: Millis, turn: &TurnFailed) {
        let (purpose, about) = (turn.purpose, turn.about.as_ref());
        let asked = match turn.remaining_model {
            Some(goes_on) => self.open.one_failed(purpose, about, goes_on),
            None => self.open.close(purpose, about),
        };
        let end = ModelCallEnd::Failed(turn.failure.kind);
        self.ends((seq, at), (turn.turn, purpose, asked), (turn.failure.usage, None), end);
    }

    /// A call has ended. Its cost is at the prices of the model that was asked, as the state counts it.
    fn ends(
        &mut self,
        place: (u64, Millis),
        call: (u32, Purpose, Asked),
        used: (Usage, Option<&Annotations>),
        end: ModelCallEnd,
    ) {
        let ((seq, ended), (turn, purpose, asked), (usage, ran)) = (place, call, used);
        let choice = self.models.get(asked.map_or(0, |(model, _)| model) as usize);
        let (model, role) =
            choice.map_or_else(|| ("".into(), Role::default()), |choice| (choice.name.clone(), choice.role));
        let free = (usage.total() == 0).then_some(0);
        let prices = choice.and_then(|choice| choice.prices.as_ref());
        let pico_usd = Prices::cost_of(prices, &usage, ran).or(free);
        let uses = ran.map(Annotations::uses).unwrap_or_default().into_iter();
        let hosted = uses.map(|(tool, uses)| {
            let pico_usd = prices.and_then(|prices| prices.hosted_cost(tool, uses));
            HostedUse { tool, uses, pico_usd }
        });
        let saved = prices.map(|prices| prices.saved(&usage));
        let (began, asked) = asked.map(|(_, place)| place).unzip();
        self.ended.push(ModelCall {
            seq,
            turn,
            purpose,
            model,
            role,
            began,
            asked,
            ended,
            usage,
            pico_usd,
            hosted: hosted.collect(),
            saved,
            end,
        });
    }

    /// All models of the run with their replies, and the calls that have ended.
    pub(super) fn done(self) -> (Vec<ModelTurns>, Vec<ModelCall>) {
        let replies = |name: &Text, role: Role| {
            let of = |call: &&ModelCall| {
                call.end == ModelCallEnd::Replied && call.model == *name && call.role == role
            };
            self.ended.iter().filter(of).count() as u64
        };
        let turns = self.known.iter().map(|(name, role)| ModelTurns {
            model: name.to_string(),
            role: *role,
            turns: replies(name, *role),
        });
        (turns.collect(), self.ended)
    }
}

/// The place and the time at which a model was asked.
type Since = (u64, Millis);
/// The model that was asked, by its place in the run's list, and since when.
type Asked = Option<(u32, Since)>;
/// A call that is going on: purpose, tool call, model, and since when.
type OpenCall = (Purpose, Option<CallId>, u32, Since);

/// The open calls: purpose, tool call, the model that is asked, by its place in the run's list, and since when.
#[derive(Debug, Default)]
struct OpenCalls(Vec<OpenCall>);

impl OpenCalls {
    /// An attempt at a call begins.
    fn begins(&mut self, attempt: ModelAttempt<'_>, at: (u64, Millis)) {
        let ModelAttempt { purpose, about, model, alongside } = attempt;
        // The attempts before it are over, or were lost with their process.
        while !alongside && self.close(purpose, about).is_some() {}
        self.0.push((purpose, about.cloned(), model, at));
    }

    /// One of two attempts has failed, and the other one goes on. Gives the model that failed, and since when it was asked.
    fn one_failed(&mut self, purpose: Purpose, about: Option<&CallId>, goes_on: u32) -> Asked {
        self.take(|open| open.0 == purpose && open.1.as_ref() == about && open.2 != goes_on)
    }

    /// A call has ended. Gives the model that was asked, and since when.
    fn close(&mut self, purpose: Purpose, about: Option<&CallId>) -> Asked {
        self.take(|open| open.0 == purpose && open.1.as_ref() == about)
    }

    fn take(&mut self, ended: impl Fn(&OpenCall) -> bool) -> Asked {
        self.0.iter().position(ended).map(|at| self.0.remove(at)).map(|open| (open.2, open.3))
    }
}
