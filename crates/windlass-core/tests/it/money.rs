//! Limits on cost and tokens are limits: every way to a model call passes one door, at the price of the model that is
//! asked (E40, E41, contracts 6 and 15).

use std::sync::Arc;

use windlass_core::budget::{Amount, LOST_ATTEMPTS};
use windlass_core::event::{Adjusted, Cause, LimitFact, LimitReached, ModelFact, ResumedBy, RunInput};
use windlass_core::model::{FailureKind, ModelChoice, ModelFailure, Prices, Usage};
use windlass_core::policy::{AtLimit, Limit, LimitKind, Preset, Transport};
use windlass_core::run::{Accepted, StepEdits};
use windlass_core::{
    ActionId, ActionKind, CallOutcome, Event, Fact, Input, InputKind, Policy, RunId, State, Status, decide,
    evolve, pending, replay,
};

use crate::environment::{self, BEGINNING};

/// A dollar a million tokens, ten for replies.
const CHEAP: Prices =
    Prices { input: 1_000_000, output: 10_000_000, cached: 1_000_000, cache_write: 1_000_000, hosted: None };
/// A thousand dollars a million tokens of replies.
const DEAR: Prices = Prices {
    input: 1_000_000,
    output: 1_000_000_000,
    cached: 1_000_000,
    cache_write: 1_000_000,
    hosted: None,
};
/// A dollar, in the kept unit.
const USD: u64 = 1_000_000_000_000;

fn model(name: &str, prices: Option<Prices>, max_tokens: Option<u64>) -> ModelChoice {
    ModelChoice { name: name.into(), prices, max_tokens, ..ModelChoice::default() }
}

/// A policy with that limit, and three further tries at once.
fn limited(kind: LimitKind, max: u64, at_limit: AtLimit) -> Policy {
    let mut policy = Preset::CHAT.policy();
    policy.bounds.limits.clear();
    policy.bounds.limits.insert(kind, Limit { max, at_limit: Some(at_limit) });
    policy.transport = Transport { retries: 3, wait_ms: 0, max_wait_ms: 0 };
    policy
}

fn dollars(max: u64) -> Policy {
    limited(LimitKind::CostUsd, max * USD, AtLimit::Fail)
}

/// A run, its events, and when each append ended.
struct Run {
    state: State,
    origin: State,
    events: Vec<Event>,
    appends: Vec<(usize, Cause)>,
    now: u64,
}

impl Run {
    fn new(policy: Policy, models: Vec<ModelChoice>) -> Self {
        let mut start = environment::start(policy, &Arc::new(environment::tools()));
        if let InputKind::Start(started) = &mut start.what {
            started.models = Arc::new(models);
        }
        Self::begun(State::new(environment::run_id()), start.what)
    }

    fn begun(state: State, what: InputKind) -> Self {
        let origin = state.clone();
        let mut run = Self { state, origin, events: Vec::new(), appends: Vec::new(), now: BEGINNING };
        run.give(what);
        run
    }

    fn give(&mut self, what: InputKind) {
        self.now += 1;
        let Accepted { events, cause, state: next } =
            decide(&self.state, Input { at: self.now, what }).unwrap();
        self.state = events.iter().fold(self.state.clone(), evolve);
        assert_eq!(self.state, next);
        self.events.extend(events);
        self.appends.push((self.events.len(), cause));
    }

    fn calling(&self) -> Option<ActionId> {
        let mut actions = pending(&self.state).into_iter();
        actions.find(|action| matches!(action.work, ActionKind::CallModel { .. })).map(|action| action.id)
    }

    fn fails(&mut self, kind: FailureKind, usage: Usage) {
        let action = self.calling().unwrap();
        let failure = ModelFailure { usage, ..ModelFailure::new(kind, "it failed", "m") };
        self.give(InputKind::ModelFailed { action, failure: Box::new(failure), jitter: 0 });
    }

    fn replies(&mut self, text: Option<&str>, calls: Vec<(&str, &str, Option<&str>)>, usage: Usage) {
        let action = self.calling().unwrap();
        self.give(InputKind::replied(action, environment::reply(text, calls, usage)));
    }

    /// Lets the tools of a turn end.
    fn acts(&mut self) {
        while let Some(action) =
            pending(&self.state).into_iter().find(|action| matches!(action.work, ActionKind::RunTool { .. }))
        {
            self.give(InputKind::CallEnded {
                action: action.id,
                outcome: CallOutcome::Ok { content: "done".into() },
            });
        }
    }

    /// The process dies, and another one takes the run over.
    fn dies(&mut self, by_person: bool) {
        let by = if by_person { ResumedBy::Person } else { ResumedBy::Runtime };
        self.give(InputKind::resumed("another", 2, by));
    }

    fn asked(&self) -> usize {
        self.events.iter().filter(|event| matches!(event.fact, Fact::Model(ModelFact::Started(_)))).count()
    }

    fn limit(&self) -> &LimitReached {
        let mut facts = self.events.iter().rev().map(|event| &event.fact);
        facts
            .find_map(|fact| match fact {
                Fact::Limit(LimitFact::Reached(reached)) => Some(reached),
                _ => None,
            })
            .unwrap()
    }

    fn status(&self) -> Option<Status> {
        self.state.ended().map(|end| end.status)
    }

    /// It replays to the same events (point 4 of the contract).
    fn replays(&self) {
        let (mut state, mut from) = (self.origin.clone(), 0);
        for (to, cause) in &self.appends {
            state =
                replay(&state, cause, &self.events[from..*to]).unwrap_or_else(|found| panic!("{found:#?}"));
            from = *to;
        }
        assert_eq!(state, self.state);
    }
}

fn tokens(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

const COST: Option<Status> = Some(Status::Limit(LimitKind::CostUsd));

#[test]
fn e41_a_further_try_is_not_made_once_the_limit_is_used_up() {
    let mut run = Run::new(dollars(1), vec![model("m", Some(CHEAP), None)]);
    run.fails(FailureKind::Cut, tokens(1_000_000, 0));
    assert_eq!((run.asked(), run.status(), run.state.cost()), (1, COST, Some(USD)));
    assert_eq!((run.limit().reached, run.limit().needed), (USD, 0));
    run.replays();

    // After a wait, too: the timer of a try that cannot be paid is not even set.
    let mut policy = dollars(2);
    policy.transport = Transport { retries: 3, wait_ms: 100, max_wait_ms: 100 };
    let mut run = Run::new(policy, vec![model("m", Some(CHEAP), None)]);
    run.fails(FailureKind::Cut, tokens(1_000_000, 0));
    let timer = pending(&run.state).first().unwrap().id;
    run.now += 1_000;
    run.give(InputKind::TimerFired { action: timer });
    run.fails(FailureKind::Cut, tokens(1_000_000, 0));
    assert_eq!((run.asked(), run.status(), run.state.cost()), (2, COST, Some(2 * USD)));
    run.replays();
}

#[test]
fn k55_a_cost_that_the_provider_reports_counts_for_limits_where_it_is_more() {
    for (reported, cost) in [(USD, USD), (5, 10 * CHEAP.input)] {
        let mut run = Run::new(dollars(1), vec![model("m", Some(CHEAP), None)]);
        run.fails(FailureKind::Cut, Usage { reported: reported.into(), ..tokens(10, 0) });
        assert_eq!((run.state.cost(), run.status().is_some()), (Some(cost), reported == USD));
        run.replays();
    }
    let mut run = Run::new(Preset::CHAT.policy(), vec![model("m", None, None)]);
    run.replies(Some("done"), vec![], Usage { reported: USD.into(), ..tokens(10, 10) });
    assert_eq!(run.state.cost(), Some(USD), "no list price is needed");
    run.replays();
}

#[test]
fn e41_a_try_that_was_not_paid_is_made_again() {
    let mut run = Run::new(dollars(1), vec![model("m", Some(CHEAP), Some(50_000))]);
    run.fails(FailureKind::RateLimited, Usage::default());
    run.fails(FailureKind::RateLimited, Usage::default());
    run.replies(Some("done"), vec![], tokens(10, 10));
    assert_eq!((run.asked(), run.status()), (3, Some(Status::Answered)));
    run.replays();
}

#[test]
fn e43_a_fallback_is_admitted_at_its_own_price() {
    let models = || vec![model("m", Some(CHEAP), Some(100)), model("n", Some(DEAR), Some(40_000))];
    let mut run = Run::new(dollars(1), models());
    run.fails(FailureKind::NotFound, Usage::default());
    assert_eq!((run.asked(), run.status(), run.state.cost()), (1, COST, Some(0)));
    let reached = run.limit();
    assert_eq!(
        (reached.reached, reached.needed),
        (0, 40 * USD + run.state.reserved().cost + estimated(&run))
    );
    run.replays();
    // Where the limit pays for it, it is asked.
    let mut run = Run::new(dollars(41), models());
    run.fails(FailureKind::NotFound, Usage::default());
    run.replies(Some("done"), vec![], tokens(600_000, 40_000));
    assert_eq!((run.asked(), run.status()), (2, Some(Status::Answered)));
}

/// What the estimated input of the next request costs at a dollar a million.
fn estimated(run: &Run) -> u64 {
    let prompt: u64 = run.state.prompt().iter().map(|message| message.bytes()).sum();
    (prompt + run.state.history().bytes()) / 4 * CHEAP.input
}

#[test]
fn e40_a_switch_of_the_wire_is_admitted_like_any_call() {
    let mut run = Run::new(dollars(1), vec![model("m", Some(CHEAP), None)]);
    run.fails(FailureKind::Unsupported, tokens(1_000_000, 0));
    assert_eq!((run.asked(), run.status()), (1, COST));
    run.replays();
}

#[test]
fn e40_what_was_lost_stays_reserved_and_is_no_usage() {
    let mut run = Run::new(dollars(1), vec![model("m", Some(CHEAP), Some(10_000))]);
    let one = 100_000_000_000 + estimated(&run);
    for kill in 1..10 {
        assert_eq!(run.asked(), kill, "each attempt is on record before it is made");
        let before = run.calling();
        run.dies(kill % 4 == 0);
        assert_eq!(run.state.reserved().cost, one * kill as u64);
        assert_ne!(run.calling(), before, "and is another action");
    }
    assert_eq!(run.state.reserved().output, 90_000);
    // Nine hundred thousandths and a little are reserved: the tenth call does not fit any more.
    assert_eq!((run.asked(), run.status()), (9, COST));
    let reached = run.limit();
    assert_eq!((reached.reached, reached.reserved, reached.needed), (9 * one, 9 * one, one));
    assert_eq!((*run.state.usage(), run.state.cost()), (Usage::default(), Some(0)));
    assert_eq!(run.state.counters().model_calls, 0);
    run.replays();
}

#[test]
fn e40_what_was_lost_counts_for_limits_on_tokens() {
    for (kind, max) in
        [(LimitKind::Tokens, 2_500), (LimitKind::OutputTokens, 2_000), (LimitKind::InputTokens, 4)]
    {
        let policy = limited(kind, max, AtLimit::Fail);
        let mut run = Run::new(policy, vec![model("m", None, Some(1_000))]);
        run.dies(false);
        assert_eq!(run.status(), None, "{kind}: {:?}", run.state.reserved());
        run.dies(false);
        assert_eq!(run.status(), Some(Status::Limit(kind)));
        assert_eq!(run.limit().reserved, run.limit().reached);
        run.replays();
    }
}

#[test]
fn e40_reservations_are_carried_to_forks_and_to_runs_that_go_on() {
    let mut run = Run::new(dollars(1), vec![model("m", Some(CHEAP), Some(40_000))]);
    run.dies(false);
    let reserved = run.state.reserved();
    assert!(!reserved.is_zero());
    let fork = crate::forks::start(&run.state, &[], None, None);
    let mut fork = Run::begun(State::on_base(RunId::from_number(8), &run.state), fork.what);
    assert_eq!((fork.state.reserved(), fork.asked()), (reserved, 1));
    fork.fails(FailureKind::Cut, tokens(300_000, 0));
    assert_eq!((fork.asked(), fork.status()), (1, COST), "0.4 lost, 0.3 paid, and 0.4 more do not fit");
    fork.replays();

    run.fails(FailureKind::Cut, tokens(300_000, 0));
    assert_eq!(run.status(), COST);
    let mut start = environment::start(dollars(1), run.state.tools());
    if let InputKind::Start(started) = &mut start.what {
        started.run = RunId::from_number(8);
        started.models = run.state.models().clone();
        started.input = RunInput::Continue(run.state.carried());
    }
    let on = Run::begun(State::on_base(RunId::from_number(8), &run.state), start.what);
    assert_eq!((on.asked(), on.status(), on.state.reserved()), (0, COST, reserved));
    let none = Amount::default();
    assert_eq!(State::new(environment::run_id()).reserved(), none);
}

#[test]
fn a_call_that_kills_its_process_is_tried_five_times_and_five_more_by_hand() {
    let policy = limited(LimitKind::ModelCalls, 10, AtLimit::Fail);
    let mut run = Run::new(policy, vec![model("m", None, None)]);
    for round in 0..2 {
        for attempt in 1..=LOST_ATTEMPTS {
            assert_eq!(run.state.lost_attempts(), attempt, "the one that is going on counts as lost");
            assert_eq!(run.state.is_given_up(), attempt == LOST_ATTEMPTS);
            run.dies(attempt == LOST_ATTEMPTS);
        }
        assert_eq!(run.asked(), 1 + (round + 1) * LOST_ATTEMPTS as usize);
    }
    // Something between begins anew: a failure, or a reply.
    run.dies(false);
    run.dies(false);
    assert_eq!(run.state.lost_attempts(), 3);
    run.fails(FailureKind::RateLimited, Usage::default());
    assert_eq!(run.state.lost_attempts(), 1);
    run.dies(false);
    run.replies(None, vec![("read", "{}", None)], tokens(1, 1));
    assert_eq!(run.state.lost_attempts(), 0, "nothing is lost while tools run");
    run.acts();
    assert_eq!(run.state.lost_attempts(), 1);
    run.replays();
}

#[test]
fn e2_one_closing_call_goes_beyond_its_limit_and_no_more() {
    let wrap_up = || limited(LimitKind::CostUsd, USD, AtLimit::WrapUp);
    let two = || vec![model("m", Some(CHEAP), None), model("n", Some(DEAR), Some(40_000))];
    let beyond = |models| {
        let mut run = Run::new(wrap_up(), models);
        run.replies(None, vec![("read", "{}", None)], tokens(1_000_000, 0));
        assert_eq!((run.asked(), run.limit().reached), (2, USD));
        run
    };
    // The closing call that was paid is the one.
    let mut run = beyond(two());
    run.fails(FailureKind::Cut, tokens(1_000_000, 0));
    assert_eq!((run.asked(), run.status(), run.state.cost()), (2, COST, Some(2 * USD)));
    run.replays();
    // One that was not is made again, but not by a dearer model.
    let mut run = beyond(two());
    run.fails(FailureKind::RateLimited, Usage::default());
    assert_eq!(run.asked(), 3);
    run.fails(FailureKind::Auth, Usage::default());
    assert_eq!((run.asked(), run.status()), (3, COST));
    run.replays();
    // One that was lost is made again, as any call is.
    let mut run = beyond(two());
    run.dies(false);
    run.replies(Some("Summed up."), vec![], tokens(10, 10));
    assert_eq!((run.asked(), run.status()), (3, COST));
    assert_eq!(run.state.ended().unwrap().text.as_deref(), Some("Summed up."));
    run.replays();
}

#[test]
fn e2_a_closing_call_fits_into_the_other_limits() {
    let mut policy = limited(LimitKind::ModelCalls, 1, AtLimit::WrapUp);
    policy.bounds.limits.insert(LimitKind::CostUsd, Limit { max: USD, at_limit: None });
    let mut run = Run::new(policy, vec![model("m", Some(CHEAP), Some(60_000))]);
    run.replies(None, vec![("read", "{}", None)], tokens(500_000, 0));
    run.acts();
    // Half a dollar is left, and the summary may cost more.
    assert_eq!((run.asked(), run.status()), (1, Some(Status::Limit(LimitKind::ModelCalls))));
    run.replays();
}

#[test]
fn e40_a_model_without_a_price_is_not_asked_where_cost_is_limited() {
    let mut policy = dollars(1);
    policy.calls.hooks = windlass_core::policy::Hooks::AfterSteps;
    let mut run = Run::new(policy, vec![model("m", Some(CHEAP), None)]);
    run.replies(None, vec![("read", "{}", None)], tokens(10, 10));
    run.acts();
    let hook = pending(&run.state).first().unwrap().id;
    let adjusted =
        Adjusted { models: Some(Arc::new(vec![model("other", None, None)])), ..Adjusted::default() };
    let edits = StepEdits { adjusted: Some(adjusted), ..StepEdits::default() };
    run.give(InputKind::HookEnded { action: hook, edits: Box::new(edits) });
    assert_eq!(run.asked(), 1);
    let end = run.state.ended().unwrap();
    assert_eq!(end.status.to_string(), "failed(model)");
    assert!(end.error.as_deref().unwrap().contains("the price of model other is unknown"), "{end:?}");
    run.replays();
}

#[test]
fn e41_a_delegate_of_unknown_cost_hides_nothing_that_was_paid() {
    let mut run = Run::new(dollars(1), vec![model("m", Some(CHEAP), None)]);
    run.replies(None, vec![("helper", "{\"task\":\"t\"}", None)], tokens(900_000, 0));
    let work =
        pending(&run.state).into_iter().find(|action| matches!(action.work, ActionKind::Delegate { .. }));
    run.give(InputKind::DelegateEnded {
        action: work.unwrap().id,
        outcome: CallOutcome::Ok { content: "done".into() },
        usage: tokens(10, 10),
        cost: None,
        reserved: Amount::default(),
    });
    assert_eq!((run.asked(), run.state.cost()), (2, None));
    run.fails(FailureKind::Cut, tokens(100_000, 0));
    assert_eq!((run.asked(), run.status()), (2, COST), "a dollar was paid that is known of");
}
