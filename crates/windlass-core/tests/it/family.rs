//! A family of runs under test: a root and those that do tasks of it, with what drivers would know of them, and beside them
//! a count of what was admitted and used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::budget::{Account, Amount, Budget, Reservation, Undrawn};
use windlass_core::event::ResumedBy;
use windlass_core::model::{FailureKind, ModelChoice, ModelFailure, Usage};
use windlass_core::policy::{LimitKind, Share};
use windlass_core::run::Accepted;
use windlass_core::{
    ActionId, ActionKind, CallOutcome, Input, InputKind, Policy, RunId, State, decide, pending,
};

use crate::environment::{self, BEGINNING};

/// How runs of one depth are made.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) policy: Policy,
    pub(crate) models: Vec<ModelChoice>,
}

/// One thing that may happen: to which model call, what, and how much it uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub(crate) what: u8,
    pub(crate) pick: u16,
    pub(crate) used: u16,
}

/// A model call that is going on.
struct Going {
    action: ActionId,
    /// What it reserved in its run, or on the account.
    reserved: Reservation,
    /// On which accounts.
    drawn: Vec<(RunId, Reservation)>,
    model: ModelChoice,
}

struct Member {
    state: State,
    depth: usize,
    /// The run that handed its task over, and the action there.
    above: Option<(RunId, ActionId)>,
    /// The runs on whose accounts its model calls draw, nearest first.
    accounts: Vec<RunId>,
}

pub(crate) struct Family {
    kinds: Vec<Kind>,
    members: BTreeMap<RunId, Member>,
    accounts: BTreeMap<RunId, Account>,
    going: Vec<Going>,
    /// Model calls that wait for an account.
    waiting: BTreeSet<ActionId>,
    now: u64,
    /// What model calls have used.
    pub(crate) paid: Amount,
    /// What those that were lost with their process may have used.
    pub(crate) lost: Amount,
    /// The same of those that still waited for their account when their process died: a log cannot tell them apart.
    unsent: Amount,
    /// How much of what was used had not been reserved: replies of models without `max_tokens`.
    pub(crate) overshot: Amount,
    /// How many calls were not made.
    pub(crate) refused: usize,
}

impl Family {
    pub(crate) fn new(kinds: Vec<Kind>) -> Self {
        let mut family = Self {
            kinds,
            members: BTreeMap::new(),
            accounts: BTreeMap::new(),
            going: Vec::new(),
            waiting: BTreeSet::new(),
            now: BEGINNING,
            paid: Amount::default(),
            lost: Amount::default(),
            unsent: Amount::default(),
            overshot: Amount::default(),
            refused: 0,
        };
        family.begin(environment::run_id(), 0, None, Budget::default());
        family.settle();
        family
    }

    pub(crate) fn root(&self) -> &State {
        &self.members[&environment::run_id()].state
    }

    pub(crate) fn runs(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = &State> {
        self.members.values().map(|member| &member.state)
    }

    fn begin(&mut self, run: RunId, depth: usize, above: Option<(RunId, ActionId)>, budget: Budget) {
        let kind = self.kinds[depth.min(self.kinds.len() - 1)].clone();
        let mut start = environment::start(kind.policy, &Arc::new(environment::tools()));
        if let InputKind::Start(started) = &mut start.what {
            (started.run, started.models, started.budget) = (run, Arc::new(kind.models), budget);
            started.parent = above.map(|(parent, _)| parent);
        }
        let state = State::new(run);
        self.members.insert(run, Member { state, depth, above, accounts: Vec::new() });
        assert!(self.give(run, start.what), "a run can be started");
        self.open_account(run);
    }

    /// The accounts that a run draws on: its own, if it shares its limits, and those of the runs above.
    fn open_account(&mut self, run: RunId) {
        let state = &self.members[&run].state;
        let shares = state.policy().bounds.share == Share::Shared && !state.metered_limits().is_unlimited();
        let above = self.members[&run].above.filter(|_| state.budget().account.is_some());
        let mut accounts = above.map_or_else(Vec::new, |(parent, _)| self.members[&parent].accounts.clone());
        if shares {
            let account = Account::new(state.metered_limits(), self.used_below(run, run));
            self.accounts.insert(run, account);
            accounts.insert(0, run);
        }
        self.members.get_mut(&run).unwrap().accounts = accounts;
    }

    fn used_below(&self, run: RunId, own: RunId) -> Amount {
        let Some(member) = self.members.get(&run) else { return Amount::default() };
        let used = if run == own { member.state.used_before() } else { member.state.used_or_lost() };
        member.state.delegated_runs().fold(used, |sum, child| sum.plus(self.used_below(child, own)))
    }

    fn give(&mut self, run: RunId, what: InputKind) -> bool {
        self.now += 1;
        let member = self.members.get_mut(&run).unwrap();
        let Ok(Accepted { state: next, .. }) = decide(&member.state, Input { at: self.now, what }) else {
            return false;
        };
        member.state = next;
        if let Some(account) = self.accounts.get_mut(&run) {
            account.limit(self.members[&run].state.metered_limits());
        }
        true
    }

    /// What drivers do until nothing is left but model calls that are going on: stops what is gone, begins what is new, brings
    /// ends back.
    fn settle(&mut self) {
        while self.stop_one() || self.begin_one() || self.end_one() {}
        self.check();
    }

    /// Stops a model call, or another run, that is not wanted any more.
    fn stop_one(&mut self) -> bool {
        let wanted = |run: &RunId, id| pending(&self.members[run].state).iter().any(|action| action.id == id);
        if let Some(place) = self.going.iter().position(|going| !wanted(&going.action.run, going.action)) {
            self.fail(place, FailureKind::Cancelled, Usage::default());
            return true;
        }
        let gone = self.waiting.iter().copied().find(|action| !wanted(&action.run, *action));
        if let Some(action) = gone {
            self.waiting.remove(&action);
            let failure = Box::new(ModelFailure::new(FailureKind::Cancelled, "it was stopped", "m"));
            return self.give(action.run, InputKind::ModelFailed { action, failure, jitter: 0 });
        }
        let unwanted = |member: &&Member| {
            let gone = member.above.is_some_and(|(parent, action)| !wanted(&parent, action));
            gone && !member.state.is_finished()
        };
        let left: Vec<RunId> =
            self.members.values().filter(unwanted).map(|member| member.state.run()).collect();
        left.into_iter().any(|run| self.give(run, InputKind::Cancel { reason: None }))
    }

    fn begin_one(&mut self) -> bool {
        let runs: Vec<RunId> = self.members.keys().copied().collect();
        runs.into_iter().any(|run| {
            let actions = pending(&self.members[&run].state);
            actions.into_iter().any(|action| match action.work {
                ActionKind::CallModel { .. } => self.call(action.id),
                ActionKind::Delegate { call, run: child, .. } => {
                    let lent = *self.members[&run].state.open_call(&call).unwrap().lent();
                    self.hand_over(action.id, child, lent)
                }
                ActionKind::SetTimer { .. } => {
                    self.now += 100_000;
                    self.give(run, InputKind::TimerFired { action: action.id })
                }
                _ => false,
            })
        })
    }

    /// Begins a run that does a task, or goes on with it.
    fn hand_over(&mut self, action: ActionId, child: RunId, lent: Budget) -> bool {
        let depth = self.members[&action.run].depth + 1;
        match self.members.get_mut(&child) {
            None => {
                self.begin(child, depth, Some((action.run, action)), lent);
                true
            }
            Some(member) if member.above != Some((action.run, action)) => {
                member.above = Some((action.run, action));
                true
            }
            Some(_) => false,
        }
    }

    /// Begins a model call, once it has drawn on all accounts.
    fn call(&mut self, action: ActionId) -> bool {
        if self.going.iter().any(|going| going.action == action) {
            return false;
        }
        let member = &self.members[&action.run];
        let model = member.state.request(action).unwrap().model.clone();
        let need = member.state.need_of(action).unwrap();
        let mut reserved = member.state.reservation(action).unwrap();
        let mut drawn: Vec<(RunId, Reservation)> = Vec::new();
        for owner in member.accounts.clone() {
            match self.accounts.get_mut(&owner).unwrap().draw(&need) {
                Ok(more) => {
                    drawn.push((owner, more));
                    reserved = more;
                }
                Err(undrawn) => {
                    self.release(&drawn, |_| Amount::default());
                    let Undrawn::Never(short) = undrawn else {
                        self.waiting.insert(action);
                        return false;
                    };
                    self.waiting.remove(&action);
                    self.refused += 1;
                    let kind = FailureKind::OverBudget(short.limit);
                    let failure = Box::new(ModelFailure::new(kind, "too little is left", "m"));
                    return self.give(action.run, InputKind::ModelFailed { action, failure, jitter: 0 });
                }
            }
        }
        self.waiting.remove(&action);
        self.going.push(Going { action, reserved, drawn, model });
        true
    }

    fn release(&mut self, drawn: &[(RunId, Reservation)], used: impl Fn(&Reservation) -> Amount) {
        for (owner, reserved) in drawn {
            self.accounts.get_mut(owner).unwrap().settle(reserved, used(reserved));
        }
    }

    /// Brings the end of a run back to the one above.
    fn end_one(&mut self) -> bool {
        let ended = |member: &Member| {
            let (parent, action) = member.above.filter(|_| member.state.is_finished())?;
            let (usage, cost) = (*member.state.usage(), member.state.cost());
            let reserved = member.state.reserved_if_lost();
            let outcome = CallOutcome::Ok { content: "done".into() };
            Some((parent, InputKind::DelegateEnded { action, outcome, usage, cost, reserved }))
        };
        let ends: Vec<_> = self.members.values().filter_map(ended).collect();
        ends.into_iter().any(|(parent, what)| self.give(parent, what))
    }

    /// Lets something happen to one of the model calls that are going on. Says whether there was one.
    pub(crate) fn happens(&mut self, next: Move) -> bool {
        if self.going.is_empty() {
            return false;
        }
        let place = usize::from(next.pick) % self.going.len();
        let usage = self.usage(place, next.used);
        match next.what % 16 {
            0 => self.die(),
            1 => self.fail(place, FailureKind::RateLimited, Usage::default()),
            2 => self.fail(place, FailureKind::Cut, usage),
            3 => self.fail(place, FailureKind::NotFound, Usage::default()),
            4 if next.used.is_multiple_of(8) => {
                self.give(environment::run_id(), InputKind::Cancel { reason: None });
            }
            what => {
                let deep = self.members[&self.going[place].action.run].depth;
                let tasks = if what >= 9 && deep < 3 { usize::from(next.used % 5) } else { 0 };
                self.reply(place, tasks, usage);
            }
        }
        self.settle();
        true
    }

    /// What a call may have used: no more input than was estimated, no more output than its bound.
    fn usage(&self, place: usize, used: u16) -> Usage {
        let Going { reserved, model, .. } = &self.going[place];
        let input = reserved.sure.input.min(u64::from(used % 64));
        let output = model.max_tokens.map_or(u64::from(used), |most| most.min(u64::from(used)));
        Usage { input, output, ..Usage::default() }
    }

    /// The first model call that is going on asks for so many tasks.
    pub(crate) fn asks_for(&mut self, tasks: usize, usage: Usage) {
        self.reply(0, tasks, usage);
        self.settle();
    }

    fn reply(&mut self, place: usize, tasks: usize, usage: Usage) {
        let action = self.going[place].action;
        let args: Vec<String> =
            (0..tasks).map(|task| format!("{{\"task\":\"{task} {}\"}}", self.now)).collect();
        let calls = args.iter().map(|args| ("helper", &**args, None)).collect();
        let reply = Box::new(environment::reply(Some("Well."), calls, usage));
        self.ends(place, usage);
        assert!(self.give(action.run, InputKind::replied(action, reply)), "a reply is taken");
    }

    fn fail(&mut self, place: usize, kind: FailureKind, usage: Usage) {
        let action = self.going[place].action;
        let failure = Box::new(ModelFailure { usage, ..ModelFailure::new(kind, "it failed", "m") });
        self.ends(place, usage);
        assert!(
            self.give(action.run, InputKind::ModelFailed { action, failure, jitter: 0 }),
            "a failure is taken"
        );
    }

    fn ends(&mut self, place: usize, usage: Usage) {
        let going = self.going.remove(place);
        let cost = going.model.prices.map_or(0, |prices| prices.cost(&usage));
        let used = Amount { input: usage.input, output: usage.output, cost };
        self.release(&going.drawn, |_| used);
        self.paid = self.paid.plus(used);
        if going.model.max_tokens.is_none() {
            let reserved = going.reserved.total();
            self.overshot = self.overshot.plus(Amount {
                input: used.input.saturating_sub(reserved.input),
                output: used.output.saturating_sub(reserved.output),
                cost: used.cost.saturating_sub(reserved.cost),
            });
        }
    }

    /// The process dies with all its calls. Another one takes the root over, and what its runs had handed over.
    fn die(&mut self) {
        for action in std::mem::take(&mut self.waiting) {
            let waited = self.members[&action.run].state.reservation(action).unwrap();
            self.unsent = self.unsent.plus(waited.sure);
        }
        for going in std::mem::take(&mut self.going) {
            self.lost = self.lost.plus(going.reserved.sure);
        }
        self.accounts.clear();
        let mut runs: Vec<(usize, RunId)> =
            self.members.iter().map(|(run, member)| (member.depth, *run)).collect();
        runs.sort_unstable();
        for (_, run) in runs {
            if self.members[&run].state.is_finished() {
                continue;
            }
            let by = ResumedBy::Person;
            self.give(run, InputKind::resumed("another", 2, by));
            self.open_account(run);
            let handed: Vec<_> = pending(&self.members[&run].state);
            for action in handed {
                if let ActionKind::Delegate { run: child, .. } = action.work
                    && let Some(member) = self.members.get_mut(&child)
                {
                    member.above = Some((run, action.id));
                }
            }
        }
    }

    /// What was admitted, and whether what was used beyond it was reported: all that may have been paid stays within the root's
    /// limits, except replies of models without `max_tokens` that were longer than what they had reserved.
    pub(crate) fn check(&self) {
        let spent = self.states().map(State::spend).map(|spend| Amount {
            input: spend.input,
            output: spend.output,
            cost: spend.cost,
        });
        let spent = spent.fold(Amount::default(), Amount::plus);
        assert_eq!(spent, self.paid, "what runs say they spent counts each call once, at every moment");
        let bounded = self.kinds.iter().flat_map(|kind| &kind.models).all(|model| model.max_tokens.is_some());
        let going = self.going.iter().fold(Amount::default(), |sum, going| sum.plus(going.reserved.total()));
        let all = self.paid.plus(self.lost).plus(going);
        for kind in [LimitKind::Tokens, LimitKind::InputTokens, LimitKind::OutputTokens, LimitKind::CostUsd] {
            let Some(max) = self.kinds[0].policy.limit(kind) else { continue };
            // Of calls without a bound, limits on tokens let one begin whose input is larger than what is left.
            if bounded || kind == LimitKind::CostUsd {
                let most = max + self.overshot.of(kind);
                assert!(
                    all.of(kind) <= most,
                    "{kind} {max}: {all:?} was admitted, overshot {:?}",
                    self.overshot
                );
            }
        }
    }

    /// Once the root has ended: all that was used is counted there, all that was lost is reserved there, and nothing else.
    pub(crate) fn check_end(&self) {
        let root = self.root();
        let open = self.states().filter(|state| !state.is_finished());
        let open: Vec<_> = open.map(|state| (state.run(), state.kind(), pending(state))).collect();
        assert!(open.is_empty(), "all runs come to their end: {open:?}");
        let counted =
            Amount { input: root.usage().input, output: root.usage().output, cost: root.cost().unwrap() };
        assert_eq!(counted, self.paid, "usage is counted on every way out (E41)");
        assert_eq!(root.reserved(), self.lost.plus(self.unsent), "what was lost stays reserved");
        let over = root.overshoots().next().is_some();
        let most = root.metered_limits();
        let beyond = |kind| most.get(kind).is_some_and(|max| self.paid.of(kind) > max);
        assert_eq!(
            over,
            [LimitKind::Tokens, LimitKind::InputTokens, LimitKind::OutputTokens, LimitKind::CostUsd]
                .into_iter()
                .any(beyond),
            "an overshoot is reported"
        );
    }
}
