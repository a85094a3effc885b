//! Every run that is possible within small bounds: a breadth-first search over all states that a scenario can reach.
//!
//! Each way into each state is checked: the facts follow from the input alone, the state is their fold, and the promises
//! of [`Monitor`] hold. Each state is checked: what does not fit is refused, and from it an end can be reached.
//! A failure prints the shortest way to it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::machine::decide::{accept, decide};
use crate::machine::evolve::evolve;
use crate::machine::pending::pending;
use crate::machine::rebuild::replay;
use crate::protocol::action::ActionKind;
use crate::protocol::fact::{Event, Fact, RunFact};
use crate::protocol::input::{Input, InputKind};
use crate::run::{Accepted, StateKind};
use crate::state::State;
use crate::tests::canon::canon;
use crate::tests::environment::BEGINNING;
use crate::tests::monitor::Monitor;
use crate::tests::moves::{Left, Move, misfits, moves};
use crate::tests::scenarios::{Depth, Family, Scenario, scenarios};
use crate::vocabulary::ids::ActionId;

/// The most states of one scenario: beyond that its bounds are too wide.
const MOST_STATES: usize = 500_000;

/// A state with what its future depends on beside it.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) state: State,
    /// Work that was begun and whose end has not come yet: wanted, or being stopped.
    pub(crate) begun: BTreeMap<ActionId, ActionKind>,
    pub(crate) left: Left,
    pub(crate) monitor: Monitor,
    pub(crate) now: u64,
}

/// The path on which a node was first reached.
struct Way {
    from: usize,
    input: Input,
    events: Vec<Event>,
}

#[derive(Default)]
struct Search {
    seen: BTreeMap<u64, usize>,
    nodes: Vec<Node>,
    ways: Vec<Option<Way>>,
    /// From where each node is reached.
    sources: Vec<Vec<usize>>,
    steps: usize,
}

/// Statistics of a search.
#[derive(Default)]
pub(crate) struct Seen {
    states: usize,
    steps: usize,
    kinds: BTreeSet<&'static str>,
    ends: BTreeSet<String>,
    /// Kinds of inputs accepted in each kind of state.
    pairs: BTreeSet<(StateKind, &'static str)>,
}

/// Looks at all states of a scenario.
fn explore(scenario: &Scenario, seen: &mut Seen) {
    let mut search = Search::default();
    let first = Node {
        state: State::new(crate::tests::environment::run_id()),
        begun: BTreeMap::new(),
        left: scenario.left,
        monitor: Monitor::default(),
        now: BEGINNING,
    };
    search.nodes.push(first);
    search.ways.push(None);
    search.sources.push(Vec::new());
    let start = Input { at: BEGINNING, what: InputKind::Start(Box::new(scenario.start())) };
    search.go(scenario, 0, Move { input: start, left: scenario.left, crash: false }, seen);
    let mut next = 1;
    while next < search.nodes.len() {
        assert!(next < MOST_STATES, "{}: more than {MOST_STATES} states", scenario.name);
        let node = search.nodes[next].clone();
        if let Err(fault) = refuses(scenario, &node) {
            search.fail(scenario, next, None, &fault);
        }
        for step in moves(scenario, &node) {
            search.go(scenario, next, step, seen);
        }
        next += 1;
    }
    search.ends_everywhere(scenario);
    seen.states += search.nodes.len();
    seen.steps += search.steps;
}

/// Checks that every invalid input is refused.
fn refuses(scenario: &Scenario, node: &Node) -> Result<(), String> {
    for what in misfits(scenario, node) {
        let input = Input { at: node.now, what };
        if let Ok(events) = accept(&node.state, input.clone()) {
            return Err(format!("{:?} was taken: {events:?}", input.what));
        }
    }
    Ok(())
}

impl Search {
    /// Takes one step, checks it, and notes where it leads.
    fn go(&mut self, scenario: &Scenario, from: usize, step: Move, seen: &mut Seen) {
        self.steps += 1;
        let node = self.nodes[from].clone();
        match take(node, &step) {
            Err(fault) => self.fail(scenario, from, Some(&step.input), &fault),
            Ok((node, events)) => {
                let pair = (self.nodes[from].state.kind(), step.input.what.kind());
                if let Some(reason) = pair.0.refuses(pair.1) {
                    self.fail(scenario, from, Some(&step.input), &format!("but {reason}"));
                }
                seen.pairs.insert(pair);
                for event in &events {
                    seen.kinds.insert(event.fact.kind());
                    if let Fact::Run(RunFact::Ended(end)) = &event.fact {
                        seen.ends.insert(end.status.to_string());
                    }
                }
                match self.seen.entry(canon(scenario, &node)) {
                    Entry::Occupied(known) => self.sources[*known.get()].push(from),
                    Entry::Vacant(new) => {
                        new.insert(self.nodes.len());
                        self.nodes.push(node);
                        self.ways.push(Some(Way { from, input: step.input, events }));
                        self.sources.push(vec![from]);
                    }
                }
            }
        }
    }

    /// From every state an end can be reached: there is no way into a run that hangs.
    fn ends_everywhere(&self, scenario: &Scenario) {
        let mut ends: Vec<bool> = self.nodes.iter().map(|node| node.state.is_finished()).collect();
        let mut open: Vec<usize> = (0..self.nodes.len()).filter(|place| ends[*place]).collect();
        while let Some(place) = open.pop() {
            for source in &self.sources[place] {
                if !std::mem::replace(&mut ends[*source], true) {
                    open.push(*source);
                }
            }
        }
        if let Some(place) = ends.iter().position(|ends| !ends) {
            self.fail(scenario, place, None, "no end can be reached any more");
        }
    }

    /// Prints the way to a state, and what is wrong there.
    fn fail(&self, scenario: &Scenario, place: usize, input: Option<&Input>, fault: &str) -> ! {
        let mut ways = Vec::new();
        let mut at = place;
        while let Some(way) = &self.ways[at] {
            ways.push(way);
            at = way.from;
        }
        let mut text = format!("{}: {fault}\n", scenario.name);
        for way in ways.iter().rev() {
            let what = match &way.input.what {
                InputKind::Start(_) => "Start".to_owned(),
                other => format!("{other:?}"),
            };
            let _ = writeln!(text, "  at {} {what}", way.input.at - BEGINNING);
            for event in &way.events {
                let body: String = event.fact.body().unwrap().chars().take(160).collect();
                let _ = writeln!(text, "      {} {body}", event.fact.kind());
            }
        }
        if let Some(input) = input {
            let _ = writeln!(text, "  then at {} {:?}", input.at - BEGINNING, input.what);
        }
        let node = &self.nodes[place];
        let _ = writeln!(text, "  in phase {:?}\n  wanted {:?}", node.state.phase, pending(&node.state));
        panic!("{text}");
    }
}

/// One input, as a driver takes it: which facts follow, and what is going on then.
fn take(mut node: Node, step: &Move) -> Result<(Node, Vec<Event>), String> {
    let before = node.state.clone();
    let Accepted { events, cause, state } = decide(&before, step.input.clone())
        .map_err(|invalid| format!("an input that fits is refused: {invalid}"))?;
    let again = accept(&before, step.input.clone());
    if again.as_ref() != Ok(&events) {
        return Err("the same input gives other facts".to_owned());
    }
    let folded = events.iter().fold(before.clone(), evolve);
    if folded != state {
        return Err("the state is not the fold of its events".to_owned());
    }
    match replay(&before, &cause, &events) {
        Ok(again) if again == state => {}
        Ok(_) => return Err("a replay of these facts gives another state".to_owned()),
        Err(difference) => return Err(format!("these facts do not replay: {difference:?}")),
    }
    node.monitor.see(&step.input.what, &before, &events, &state)?;
    if step.crash {
        node.begun.clear();
    }
    let done = ended(&step.input.what);
    let wanted = pending(&state);
    node.begun.retain(|id, work| {
        done != Some(*id)
            && (wanted.iter().any(|action| action.id == *id)
                || !matches!(
                    work,
                    ActionKind::Ask { .. } | ActionKind::SetTimer { .. } | ActionKind::RunHook
                ))
    });
    node.begun.extend(wanted.into_iter().map(|action| (action.id, action.work)));
    if node.begun.is_empty() && !state.is_finished() {
        return Err("nobody can bring the run on".to_owned());
    }
    if done.is_some() && accept(&state, step.input.clone()).is_ok() {
        return Err("a double is taken".to_owned());
    }
    node.state = state;
    node.left = step.left;
    node.now = step.input.at;
    Ok((node, events))
}

/// The action whose end this is.
fn ended(what: &InputKind) -> Option<ActionId> {
    match what {
        InputKind::Replied { action, .. }
        | InputKind::ModelFailed { action, .. }
        | InputKind::CallEnded { action, .. }
        | InputKind::CallLost { action, .. }
        | InputKind::CodeCalls { action, .. }
        | InputKind::CodeEnded { action, .. }
        | InputKind::DelegateEnded { action, .. }
        | InputKind::DelegateAsks { action, .. }
        | InputKind::DelegateDeferred { action, .. }
        | InputKind::HookEnded { action, .. }
        | InputKind::Checked { action, .. }
        | InputKind::TimerFired { action } => Some(*action),
        _ => None,
    }
}

/// Looks at all scenarios of a family, and says how much there was to see.
#[expect(clippy::print_stdout, reason = "whoever runs it alone wants to know how much was seen")]
fn look_at(family: Family, depth: Depth, least: usize) -> Seen {
    let mut seen = Seen::default();
    let all = scenarios(family, depth);
    for scenario in &all {
        explore(scenario, &mut seen);
    }
    println!(
        "{family:?}: {} scenarios, {} states, {} steps, {} pairs of state and input; ends: {}",
        all.len(),
        seen.states,
        seen.steps,
        seen.pairs.len(),
        seen.ends.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    );
    assert!(seen.states >= least, "only {} states: the bounds are too narrow to show anything", seen.states);
    seen
}

macro_rules! families {
    ($($quick:ident, $deep:ident => $family:ident, $least:literal);+ $(;)?) => {
        $(
            #[test]
            fn $quick() {
                look_at(Family::$family, Depth::Quick, $least);
            }

            #[test]
            #[ignore = "minutes: `cargo nextest run -p windlass-core --run-ignored only deep`"]
            fn $deep() {
                look_at(Family::$family, Depth::Deep, $least);
            }
        )+
    };
}

families! {
    all_orders_of_calls, deep_orders_of_calls => Calls, 1_000;
    all_ways_of_code, deep_ways_of_code => Code, 300;
    all_ways_of_people, deep_ways_of_people => People, 1_000;
    all_crashes_with_doubts, deep_crashes_with_doubts => Doubts, 1_000;
    all_limits, deep_limits => Limits, 1_000;
    all_iterations, deep_iterations => Iterations, 100;
    all_pauses, deep_pauses => Pauses, 1_000;
    all_outputs_and_hooks, deep_outputs_and_hooks => Outputs, 1_000;
    all_replies_and_failures, deep_replies_and_failures => Models, 1_000;
}
