//! What a run may spend, counted beside it from its facts alone: no model call begins that its limits cannot pay at the
//! price of the model that is asked, whatever failed, was switched or was lost before (E40, contract 15).

use std::collections::BTreeMap;

use windlass_core::budget::Budget;
use windlass_core::event::{DelegationFact, DelegationStarted, LimitFact, ModelFact, RunFact, TurnStarted};
use windlass_core::model::{Carried, FailureKind, Prices, Purpose, ToolChoice, Usage};
use windlass_core::policy::{AtLimit, LimitKind, Wire};
use windlass_core::{ActionId, CallId, Event, Fact, Message, State, evolve};

/// The limits that count what model calls use.
const METERED: [LimitKind; 4] =
    [LimitKind::Tokens, LimitKind::InputTokens, LimitKind::OutputTokens, LimitKind::CostUsd];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    input: u64,
    output: u64,
    cost: u64,
}

impl Sum {
    fn add(&mut self, input: u64, output: u64, cost: u64) {
        self.input += input;
        self.output += output;
        self.cost += cost;
    }

    fn of(&self, kind: LimitKind) -> u64 {
        match kind {
            LimitKind::Tokens => self.input + self.output,
            LimitKind::InputTokens => self.input,
            LimitKind::OutputTokens => self.output,
            LimitKind::CostUsd => self.cost,
            _ => 0,
        }
    }
}

/// A model call that is going on: what it may use, and at which price.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    model: u32,
    needed: Sum,
    prices: Option<Prices>,
}

/// A closing call: its limit, its turn, what was spent before it, and what its first attempt may use.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Closing {
    limit: LimitKind,
    begun: Option<(u32, Sum, Sum)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Purse {
    /// Whether the run goes on from another one, and with what that one had lent.
    goes_on: bool,
    /// What went before: of the runs that this one goes on from.
    carried: Sum,
    spent: Sum,
    unpriced: bool,
    reserved: Sum,
    /// What is lent, by the call whose task it is for.
    lent: BTreeMap<CallId, Budget>,
    /// The open calls, by purpose and the tool call that they are about.
    asked: BTreeMap<(&'static str, Option<CallId>), Asked>,
    /// Attempts beside those.
    hedged: BTreeMap<(&'static str, Option<CallId>), Asked>,
    closing: Option<Closing>,
    /// How many calls were refused because too little was left.
    pub(crate) refused: u32,
    /// How many attempts were lost.
    pub(crate) lost: u32,
}

impl Purse {
    pub(crate) fn carrying(carried: &Carried) -> Self {
        let Carried { usage, cost, reserved, .. } = carried;
        Self {
            goes_on: true,
            carried: Sum { input: usage.input, output: usage.output, cost: *cost },
            reserved: Sum { input: reserved.input, output: reserved.output, cost: reserved.cost },
            ..Self::default()
        }
    }

    /// Takes note of what followed, and of what was let begin.
    pub(crate) fn see(&mut self, before: &State, events: &[Event]) {
        let mut state = before.clone();
        for event in events {
            state = evolve(state, event);
            self.fact(&event.fact, &state);
        }
        let usage = (state.usage().input, state.usage().output);
        assert_eq!(
            usage,
            (self.spent.input, self.spent.output),
            "usage is what was counted, and no reservation"
        );
        assert_eq!(state.cost(), (!self.unpriced).then_some(self.spent.cost), "so is the cost");
        let reserved = state.reserved();
        let reserved = Sum { input: reserved.input, output: reserved.output, cost: reserved.cost };
        assert_eq!(reserved, self.reserved, "what was lost is reserved, and nothing more");
    }

    fn fact(&mut self, fact: &Fact, state: &State) {
        match fact {
            Fact::Model(ModelFact::Started(turn)) => {
                self.hedged.remove(&(turn.purpose.name(), turn.about.clone()));
                let asked = self.started(turn, state);
                self.asked.insert((turn.purpose.name(), turn.about.clone()), asked);
            }
            Fact::Model(ModelFact::Hedged(hedged)) => {
                let (turn, purpose, about) = (hedged.turn, hedged.purpose, hedged.about.clone());
                let (model, choice) = (hedged.model, ToolChoice::Auto);
                let started = TurnStarted {
                    turn,
                    purpose,
                    about,
                    model,
                    attempt: 1,
                    after_loss: false,
                    tool_choice: choice,
                    note: None,
                    without: Vec::new(),
                };
                let asked = self.started(&started, state);
                self.hedged.insert((purpose.name(), started.about), asked);
            }
            Fact::Model(ModelFact::Failed(turn)) if turn.remaining_model.is_some() => {
                let key = (turn.purpose.name(), turn.about.clone());
                let hedge = self.hedged.remove(&key).unwrap();
                let first = self.asked[&key].clone();
                assert_ne!(hedge.model, first.model, "two models are asked");
                let [failed, left] =
                    if turn.remaining_model == Some(first.model) { [hedge, first] } else { [first, hedge] };
                self.asked.insert(key.clone(), failed.clone());
                let before = self.spent;
                self.paid((turn.purpose, &turn.about), &turn.failure.usage);
                let stopped = turn.failure.kind == FailureKind::Cancelled && turn.failure.usage.estimated;
                if stopped {
                    // It may be billed in full.
                    let Sum { input, output, cost } = failed.needed;
                    self.reserved.add(
                        input.saturating_sub(self.spent.input - before.input),
                        output.saturating_sub(self.spent.output - before.output),
                        cost.saturating_sub(self.spent.cost - before.cost),
                    );
                }
                self.asked.insert(key, left);
            }
            Fact::Model(ModelFact::Completed(turn)) => self.paid((turn.purpose, &turn.about), &turn.usage),
            Fact::Model(ModelFact::Failed(turn)) => {
                self.paid((turn.purpose, &turn.about), &turn.failure.usage);
            }
            Fact::Model(ModelFact::ProbeAnswered(probe)) => self.paid((probe.purpose, &None), &probe.usage),
            Fact::Delegation(DelegationFact::Finished(done)) => {
                self.spent.add(done.usage.input, done.usage.output, done.cost.unwrap_or(0));
                self.unpriced |= done.cost.is_none() && done.usage.total() > 0;
                self.reserved.add(done.reserved.input, done.reserved.output, done.reserved.cost);
                self.lent.remove(&done.call);
            }
            Fact::Delegation(DelegationFact::Started(started)) => self.lends(started, state),
            Fact::Run(RunFact::Resumed(_)) => {
                for asked in self.asked.values_mut().chain(self.hedged.values_mut()) {
                    // What was lost once is reserved, and is not lost again with the next process.
                    let Sum { input, output, cost } = std::mem::take(&mut asked.needed);
                    self.reserved.add(input, output, cost);
                    self.lost += 1;
                }
            }
            Fact::Limit(LimitFact::Reached(reached)) => {
                self.refused += u32::from(reached.needed > 0);
                let calls = matches!(reached.at_limit, AtLimit::WrapUp | AtLimit::ForceFinish);
                self.closing = calls.then_some(Closing { limit: reached.limit, begun: None });
            }
            Fact::Limit(LimitFact::Raised(_)) => self.closing = None,
            _ => {}
        }
    }

    /// A part of what is left is lent: never more than that, and the same each time.
    fn lends(&mut self, started: &DelegationStarted, state: &State) {
        if let Some(before) = self.lent.insert(started.call.clone(), started.budget) {
            assert_eq!(before, started.budget, "a task goes on with what it was lent");
        }
        for kind in METERED {
            let first = started.attempt == 1 && !self.goes_on;
            let Some(max) = state.policy().limit(kind).filter(|_| first) else { continue };
            let lent = started.budget.get(kind).unwrap();
            let used = self.used(kind);
            assert!(lent == 0 || used <= max, "{kind} {max}: {lent} is lent, which makes {used}");
        }
    }

    /// What is used, reserved for lost calls, or lent.
    fn used(&self, kind: LimitKind) -> u64 {
        let lent: u64 = self.lent.values().filter_map(|lent| lent.get(kind)).sum();
        self.carried.of(kind) + self.spent.of(kind) + self.reserved.of(kind) + lent
    }

    fn paid(&mut self, (purpose, about): (Purpose, &Option<CallId>), usage: &Usage) {
        let prices = self.asked.remove(&(purpose.name(), about.clone())).and_then(|asked| asked.prices);
        self.unpriced |= prices.is_none() && usage.total() > 0;
        self.spent.add(usage.input, usage.output, prices.map_or(0, |prices| prices.cost(usage)));
    }

    /// A model call begins: it must fit into every limit.
    fn started(&mut self, turn: &TurnStarted, state: &State) -> Asked {
        let model = &state.models()[turn.model as usize];
        // Calls that are worded in the prompt are the provider's affair: they are no part of the estimate.
        let view = state.view(ActionId { run: state.run(), seq: state.version() }).unwrap();
        let prompt = if turn.purpose.speaks() { state.prompt() } else { &view.prompt };
        let all = prompt.iter().chain(view.messages.iter());
        let bytes = all.map(|message| sent(message, state.policy().wire_of(model))).sum::<u64>();
        let action = ActionId { run: state.run(), seq: state.version() };
        let own = state.need_of(action).map(|need| need.sure.input).filter(|_| !turn.purpose.speaks());
        let (input, output) = (own.unwrap_or(bytes / 4), model.max_tokens.unwrap_or(0));
        let cost = model.prices.as_ref().map_or(0, |prices| input * prices.input + output * prices.output);
        let needed = Sum { input, output, cost };
        for kind in METERED {
            let Some(max) = state.policy().limit(kind) else { continue };
            assert!(kind != LimitKind::CostUsd || model.prices.is_some(), "{} has no price", model.name);
            if self.closing.is_some_and(|closing| closing.limit == kind) {
                continue;
            }
            let going = self.asked.values().chain(self.hedged.values());
            let going: u64 = going.map(|asked| asked.needed.of(kind)).sum();
            let used = self.used(kind) + if turn.after_loss { 0 } else { going };
            assert!(used < max, "{kind} {max} is used up: {self:?}");
            // The size of an input is an estimate: a call without a bound begins as long as any tokens are left.
            let open = model.max_tokens.is_none() && kind != LimitKind::CostUsd;
            assert!(
                open || used + needed.of(kind) <= max,
                "{kind} {max}: {used} is used or reserved, and {} needs {needed:?}: {self:?}",
                model.name
            );
        }
        if let Some(closing) = &mut self.closing {
            match closing.begun {
                Some((same, spent, most)) if same == turn.turn && METERED.contains(&closing.limit) => {
                    let since = self.spent.of(closing.limit) - spent.of(closing.limit);
                    let all = since + needed.of(closing.limit);
                    assert!(
                        all <= most.of(closing.limit),
                        "one closing call goes beyond its limit: {self:?}"
                    );
                }
                Some((same, ..)) if same == turn.turn => {}
                _ => closing.begun = Some((turn.turn, self.spent, needed)),
            }
        }
        Asked { model: turn.model, needed, prices: model.prices.clone() }
    }
}

/// How many bytes of text a message is on that wire: a call that stands in its text goes out once more only where calls
/// have a place of their own.
fn sent(message: &Message, wire: Wire) -> u64 {
    match message {
        Message::Assistant(said)
            if matches!(wire, Wire::Schema | Wire::Fenced) && said.has_calls_in_text() =>
        {
            said.text.as_ref().map_or(0, |text| text.len() as u64)
        }
        other => other.bytes(),
    }
}
