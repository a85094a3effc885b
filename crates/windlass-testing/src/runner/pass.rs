//! One pass over a case: a fresh environment, a fresh log, the case's runs one after another.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{FutureExt, future::join};
use serde_json::Value;
use windlass_core::event::{PeopleFact, QuestionKind, RunFact, SteerKind, Steered};
use windlass_core::{Answer, Event, Fact, InputKind, Message, QuestionId, RunId, SessionId, State};
use windlass_read::{load, load_until};
use windlass_runtime::{
    Agent, DriveOptions, Environment, Error, People, Prepared, Run, RunMessages, in_full as refusal,
};
use windlass_store::{Batch, Log};

use super::agent::build;
use super::outcome::{Outcome, Stop};
use super::record::{self, RunRecord};
use super::seen::Seen;
use super::unscripted;
use super::way::{Mode, Pass};
use super::wrong_answers::{accepted_wrong, takes};
use crate::crash::CrashLog;
use crate::doubles::ScriptedPeople;
use crate::fixture::{Case, CaseInput, Interrupt, Mismatch, When};
use crate::schedule::Turns;
use crate::script::{Execution, GivenTask, PostOffice, Script, last_step, within};
use crate::sim::SimEnvironment;

/// The message to a steered run.
pub(crate) const STEERED: &str = "Somebody has something to say.";

/// Why a pass ended early without a failure.
struct Wrong {
    miss: Mismatch,
    /// The question that took a wrong answer.
    question: QuestionId,
}

/// State shared by the runs and restarts of a pass.
struct Stage<'c> {
    case: &'c Case,
    pass: Pass,
    environment: SimEnvironment,
    script: Script,
    log: Arc<CrashLog>,
    agent: Agent,
    /// The run that is under way.
    current: Option<RunId>,
    /// Number of sessions that have begun after the first one.
    session: usize,
    /// Number of restarts from the log so far.
    restarts: usize,
    /// A wrong answer that was taken.
    wrong: Option<Wrong>,
}

/// Runs the case once. `Err`: the agent or an input was refused, or something ended the pass before its time.
pub(crate) fn run(case: &Case, pass: Pass) -> Result<Outcome, Box<Stop>> {
    let environment = SimEnvironment::default();
    let turns = pass.seed.map(|seed| Turns::of(seed.number)).unwrap_or_default();
    let script = Script::of(case, turns.clone());
    script.lock().oracle = !pass.scripted;
    let log = CrashLog::scheduled(pass.crash, turns);
    script.lock().resumes = pass.pause > 0;
    log.pause_after(pass.cancel.max(pass.steer).max(pass.pause));
    if let Some(plan) = pass.plan() {
        plan.interruptions.iter().for_each(|(event, how)| log.interrupt(*event, *how));
        let office = PostOffice { log: log.clone(), environment: environment.clone() };
        script.lock().post = plan.by_post.then_some(office);
    }
    let refused = |message| {
        let before = Outcome::default();
        Box::new(Stop { message, why: None, before, log: Vec::new(), request: None })
    };
    let agent = build(case, &script, &environment, log.clone()).map_err(refused)?;
    let mut stage = Stage {
        case,
        pass,
        environment,
        script,
        log,
        agent,
        current: None,
        session: 0,
        restarts: 0,
        wrong: None,
    };
    let mut runs = Vec::new();
    for place in 0..case.runs.len() {
        match stage.run(place) {
            Ok(run) => runs.push(run),
            Err(message) => return Err(stage.stop(runs, message)),
        }
    }
    Ok(stage.outcome(runs))
}

impl Stage<'_> {
    fn run(&mut self, place: usize) -> Result<RunRecord, String> {
        let (requests, executed) = {
            let script = self.script.lock();
            (script.requests().len(), script.executed.clone())
        };
        let begun = self.environment.now();
        self.current = None;
        let input = self.input(place)?;
        self.session += usize::from(self.case.runs.get(place).is_some_and(|run| run.new_session));
        let first = self.prepare(&input)?;
        let mut updates = Seen::default();
        let (id, state) = self.play_out(first, &input, &mut updates)?;
        let batches = self.batches(id);
        let base = self.base(&batches)?;
        let base = base.as_ref();
        if let Some(hole) = updates.hole.take() {
            self.script.problem(hole);
        }
        let mut script = self.script.lock();
        // What was lost and not sent again by now never will be.
        script.forget_lost();
        if let Some((wrong, miss)) = accepted_wrong(&script, &batches) {
            let refused = format!("a wrong answer to question {wrong} was accepted");
            self.wrong = Some(Wrong { miss, question: wrong });
            return Err(refused);
        }
        let events = record::without_restarts(&batches, &script.by_oracle);
        Ok(RunRecord {
            unscripted: unscripted::call(self.case, &batches, &|run| self.batches(run)),
            replay_differs: record::replay_differs(&state, base, &batches),
            log_lines: record::log_lines(&state, base, &batches),
            asked: record::asked(&events, &|run| self.batches(run)),
            lost_for_good: record::lost_for_good(&batches, &|run| self.batches(run)),
            events,
            updates: updates.updates,
            requests: script.requests().len() - requests,
            executed: since(&executed, &script.executed),
            virtual_ms: self.environment.now() - begun,
            state,
            batches,
        })
    }

    /// Drives a run to where it comes to rest, through what the log loses. Gives also its id, which a start that was lost
    /// changes.
    fn play_out(
        &mut self,
        first: Prepared,
        input: &RunMessages,
        updates: &mut Seen,
    ) -> Result<(RunId, State), String> {
        let mut id = first.id();
        self.current = Some(id);
        let mut prepared = Some(first);
        let state = loop {
            let Some(next) = prepared.take() else { break self.state(id)? };
            let end = self.drive(next, updates);
            for (run, events) in self.log.take_dropped() {
                self.lost(run, &events);
            }
            if let Some(lost) = self.log.take_lost() {
                // The log failed, and with it the driver: what was not written has to come again.
                let (run, events) = lost;
                self.lost(run, &events);
                let start =
                    events.first().is_some_and(|event| matches!(event.fact, Fact::Run(RunFact::Started(_))));
                let began = run != id || !start;
                prepared = if began { self.restart(id)? } else { Some(self.prepare(input)?) };
                id = prepared.as_ref().map_or(id, Prepared::id);
                self.current = Some(id);
                continue;
            }
            match end {
                Some(run) => {
                    let state = run.map_err(|error| refusal(&error))?.state().clone();
                    updates.ends_at(self.pass.mode, state.version());
                    break state;
                }
                None if self.log.take_crash() => prepared = self.restart(id)?,
                None => {
                    self.script.problem("nothing can go on, and no timer is set".to_owned());
                    break self.state(id)?;
                }
            }
        };
        Ok((id, state))
    }

    fn outcome(&self, runs: Vec<RunRecord>) -> Outcome {
        let batch_ends = self.log.append_ends();
        let script = self.script.lock();
        let sent = |tasks: &Vec<GivenTask>| tasks.iter().map(|task| task.sent.clone()).collect();
        Outcome {
            runs,
            restarts: self.restarts,
            requests: script.requests().to_vec(),
            peers: script.tasks.iter().map(|(path, tasks)| (path.clone(), sent(tasks))).collect(),
            once: script.once.clone(),
            problem: script.problem.clone(),
            batch_ends,
        }
    }

    /// The pass ends before its time. Only what is said to the first run before it begins can be refused.
    fn stop(&mut self, runs: Vec<RunRecord>, message: String) -> Box<Stop> {
        let begun = !runs.is_empty() || self.current.is_some();
        let miss = || Mismatch::new("no error", message.as_str()).under(&format!("run {}", runs.len() + 1));
        let batches = self.current.map(|run| self.batches(run)).unwrap_or_default();
        let mut last: Vec<&Event> = batches.iter().flat_map(|batch| batch.events.iter()).collect();
        let all = last.len();
        let why = match self.wrong.take() {
            Some(wrong) => {
                let taken = last.iter().position(|event| takes(event, &wrong.question));
                last.truncate(taken.map_or(all, |line| line + 1));
                Some(wrong.miss)
            }
            None => begun.then(miss),
        };
        let cut = last.len() < all;
        let events: Vec<&Event> = runs.iter().flat_map(|run| run.events.iter()).chain(last).collect();
        let sent = events.iter().filter(|event| event.fact.attempt().is_some()).count();
        let log = events.into_iter().map(record::line).collect();
        let request = cut.then_some(sent as u32);
        Box::new(Stop { message, why, log, request, before: self.outcome(runs) })
    }

    /// An append was not written: whose part has to come again.
    fn lost(&self, run: RunId, events: &[Event]) {
        let path = self.path_of(run, events.first());
        let mut script = self.script.lock();
        script.doers.insert(run, path);
        script.lost(run, events);
    }

    /// Path of a run's part: a branch has its parent's, or its own if a peer of its name has one.
    fn path_of(&self, run: RunId, lost: Option<&Event>) -> String {
        if let Some(path) = self.script.lock().doers.get(&run) {
            return path.clone();
        }
        let batches = self.batches(run);
        let first = batches.first().and_then(|batch| batch.events.first()).or(lost);
        let Some(Fact::Run(RunFact::Started(start))) = first.map(|event| &event.fact) else {
            return String::new();
        };
        let Some(parent) = start.parent else { return String::new() };
        let parent_path = self.path_of(parent, None);
        let own = within(&parent_path, &start.agent.name);
        if self.script.lock().has_scene(&own) { own } else { parent_path }
    }

    fn prepare(&self, input: &RunMessages) -> Result<Prepared, String> {
        let prepared = self.sim(self.agent.prepare(input.clone(), self.options()))?;
        prepared.map_err(|error| refusal(&error))
    }

    fn options(&self) -> DriveOptions {
        let people: Arc<dyn People> = Arc::new(ScriptedPeople {
            script: self.script.clone(),
            environment: self.environment.clone(),
            log: self.log.clone(),
        });
        let session = (self.case.runs.len() > 1).then(|| match self.session {
            0 => SessionId::from("case"),
            n => SessionId::from(format!("case {}", n + 1)),
        });
        DriveOptions {
            people: Some(people),
            wait_for_timers: true,
            hold_for_quota: true,
            session,
            ..DriveOptions::default()
        }
    }

    fn input(&self, place: usize) -> Result<RunMessages, String> {
        let run = self.case.runs.get(place).ok_or("there is no such run")?;
        let mut messages = match &run.input {
            CaseInput::Text(text) => vec![Message::user(text.as_str())],
            CaseInput::Messages(messages) => messages.iter().map(|message| Message::clone(message)).collect(),
            CaseInput::Object(_) => Vec::new(),
        };
        let mut script = self.script.lock();
        let first = script.requests().len() as u32 + 1;
        let (now, later): (Vec<_>, Vec<_>) = std::mem::take(&mut script.steer)
            .into_iter()
            .partition(|steer| steer.when == When::BeforeModelCall(first));
        script.steer = later;
        for steer in now {
            match steer.what {
                Interrupt::Say(message @ Steered { kind: SteerKind::Steering, .. }) => {
                    let content = message.content(message.text.clone());
                    messages.push(Message::User { content, pinned: message.pinned });
                }
                Interrupt::Say(_) | Interrupt::Pause(_) | Interrupt::Abort(_) => {
                    return Err(format!("before model call {first} no run goes on that could hear this"));
                }
            }
        }
        let input = match &run.input {
            CaseInput::Object(object) => RunMessages::from(object.clone()),
            CaseInput::Text(_) | CaseInput::Messages(_) => RunMessages::default(),
        };
        Ok(messages.into_iter().fold(input, RunMessages::and))
    }

    /// Drives the run in the simulated environment. `None`: it crashed, or nothing can go on.
    fn drive(&self, prepared: Prepared, seen: &mut Seen) -> Option<Result<Run, Error>> {
        self.reach(&prepared);
        let updates = (self.pass.mode == Mode::Streaming).then(|| prepared.updates().after(seen.facts));
        let crashed = || {
            if self.pass.cancel > 0 && self.log.written() >= self.pass.cancel {
                self.script.lock().cancel_now();
            }
            if self.pass.steer > 0 && self.log.written() >= self.pass.steer {
                self.script.lock().steer_now(STEERED);
            }
            if self.pass.pause > 0 && self.log.written() >= self.pass.pause {
                self.script.lock().pause_now();
                self.unpause_now();
            }
            let crashed = self.log.crashed();
            // What is dropped now was in flight: it did not happen.
            self.script.lock().crashing |= crashed || self.log.failed();
            crashed
        };
        let end = self.environment.run(
            async {
                match updates {
                    Some(updates) => join(prepared.drive(), seen.collect(updates)).await.0,
                    None => prepared.drive().await,
                }
            },
            crashed,
        );
        self.script.lock().crashing = false;
        end
    }

    /// Ends the pause where that does not wait until somebody is asked.
    fn unpause_now(&self) {
        let Some(run) = self.current.filter(|_| self.pass.at_once) else { return };
        // The log is in memory: it answers at once.
        if let Some(Ok(state)) = load(&*self.log, run).now_or_never()
            && let Some(open) = state.pause()
        {
            self.script.lock().answer_now(&open.id, Answer::Resume { text: None });
        }
    }

    /// Simulates a new process: everything was dropped, and the run is resumed from the log.
    fn restart(&mut self, run: windlass_core::RunId) -> Result<Option<Prepared>, String> {
        self.restarts += 1;
        self.log.forget_holder(self.agent.holder());
        self.agent = build(self.case, &self.script, &self.environment, self.log.clone())?;
        if self.state(run)?.is_finished() {
            return Ok(None);
        }
        let prepared = self.sim(self.agent.resume(run).options(self.options()).prepare())?;
        prepared.map(Some).map_err(|error| refusal(&error))
    }

    /// Lets the script reach the run. What was sent to it and is not in the log was lost with a crash: it is sent again.
    fn reach(&self, prepared: &Prepared) {
        let batches = self.batches(prepared.id());
        let logged = |what: &InputKind| {
            let same = |event: &&Event| {
                if let InputKind::Steer(sent) = what {
                    // The driver adds a prompt to it.
                    let Fact::People(PeopleFact::Steered(logged)) = &event.fact else { return false };
                    Steered { prompt: None, run: None, ..logged.clone() } == *sent
                } else if let InputKind::Pause { .. } = what {
                    matches!(&event.fact, Fact::People(PeopleFact::InputRequested(asked)) if asked.kind == QuestionKind::Pause)
                } else if matches!(what, InputKind::Cancel { .. }) {
                    matches!(event.fact, Fact::People(PeopleFact::CancelRequested(_)))
                } else {
                    false
                }
            };
            batches.iter().flat_map(|batch| batch.events.iter()).filter(same).count()
        };
        let mut script = self.script.lock();
        script.handle = Some(prepared.handle());
        if batches.is_empty() {
            script.sent.clear();
            script.promised.clear();
        }
        script.resend(logged);
    }

    fn state(&self, run: windlass_core::RunId) -> Result<State, String> {
        self.sim(load(&*self.log, run))?.map_err(|error| refusal(&error))
    }

    /// The base that the run's start names: the session's last run, or none.
    fn base(&self, batches: &[Batch]) -> Result<Option<State>, String> {
        let first = batches.first().and_then(|batch| batch.events.first()).map(|event| &event.fact);
        let Some(Fact::Run(RunFact::Started(start))) = first else { return Ok(None) };
        let Some(base) = &start.base else { return Ok(None) };
        let state = self.sim(load_until(&*self.log, base.run, base.version))?;
        state.map(Some).map_err(|error| refusal(&error))
    }

    fn batches(&self, run: windlass_core::RunId) -> Vec<Batch> {
        match self.sim(self.log.read(run, 1, usize::MAX)) {
            Ok(Ok(batches)) => batches,
            _ => Vec::new(),
        }
    }

    fn sim<F: Future>(&self, future: F) -> Result<F::Output, String> {
        self.environment.run(future, || false).ok_or_else(|| "nothing can go on".to_owned())
    }
}

type Executed = BTreeMap<String, Vec<Execution>>;

/// Executions since then by tool name, over all agents of the tree.
fn since(before: &Executed, after: &Executed) -> BTreeMap<String, Vec<Value>> {
    let mut fresh: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (key, all) in after {
        let new = all.iter().skip(before.get(key).map_or(0, Vec::len));
        let args = new.map(|execution| execution.args.clone());
        fresh.entry(last_step(key).to_owned()).or_default().extend(args);
    }
    fresh
}
