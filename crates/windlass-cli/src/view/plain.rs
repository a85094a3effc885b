//! A run for people: the answer on stdout, everything else on stderr.
//!
//! At a terminal all text streams once. Elsewhere stdout gets the final answer only, and nothing if the run has none: a reader
//! such as `jq` must not meet rejected, intermediate or broken-off text.
//!
//! What the model says may turn out to be a call in text form, which is no answer: text that begins like one is held
//! back until the reply is whole.

mod beyond;
mod planning;

use std::collections::HashSet;
use std::io;

use serde_json::Value;
use windlass_core::budget::Counters;
use windlass_core::event::{
    Adjusted, CallDecided, Decision, DelegationStarted, LimitReached, MessageQueued, Millis, RunEnded,
    RunInput, RunResumed, RunStarted, SteerKind, StepBranched, TurnCompleted,
};
use windlass_core::policy::Wire;
use windlass_core::run::LogLevel;
use windlass_core::{ActionId, CallId, Event, Fact, RunId, State, Status};
use windlass_read::words::asked::by;
use windlass_read::words::refused::tool_refused;
use windlass_read::words::{Calls, Cuts, changed};
use windlass_read::words::{LINE_CHARS, count, cut, limit, name, rejection, span, usage};
use windlass_runtime::Update;

use super::Paper;
use super::asked;
use super::waits::Waits;
use crate::out::{self, Style};

/// Level of detail for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Only the answer and errors.
    Quiet,
    /// Progress, too.
    Usual,
    /// The model's reasoning and the agent's log lines, too.
    Verbose,
}

/// Text that goes to stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    /// All text as it comes, for a terminal.
    Streamed,
    /// The final answer at the end of the run.
    Final,
}

/// Shows a run to people.
#[derive(Debug)]
pub(crate) struct Plain {
    detail: Detail,
    answers: Answers,
    /// Whether to show questions: they are shown if the user at this terminal is not asked them.
    pub(super) questions: bool,
    /// Whether the run's id is left out.
    pub(super) brief: bool,
    /// Whether an error follows that says why the run failed.
    pub(super) says_end: bool,
    pub(super) paper: Paper,
    /// What the run waits for.
    pub(super) waits: Waits,
    /// The run, once it is known.
    run: Option<RunId>,
    turn: Turn,
    calls: Calls,
    cuts: Cuts,
    /// The option that names the log, for commands that are suggested.
    pub(super) log_words: String,
    /// The branches that a hook asked for: they count against no limit on calls.
    by_hook: HashSet<CallId>,
    /// The version of the plan that was shown last.
    plan_version: u32,
    pub(super) started_at: u64,
    model_calls: u64,
    tool_calls: u64,
}

/// The reply that is coming in.
#[derive(Debug, Default)]
struct Turn {
    action: Option<ActionId>,
    /// Everything that came.
    text: String,
    /// Number of its bytes that were shown.
    shown: usize,
    reasoning: String,
}

impl Plain {
    pub(super) fn new(detail: Detail) -> Self {
        Self {
            detail,
            answers: if out::stdout_is_terminal() { Answers::Streamed } else { Answers::Final },
            questions: false,
            brief: false,
            says_end: false,
            paper: Paper::default(),
            waits: Waits::default(),
            run: None,
            turn: Turn::default(),
            calls: Calls::default(),
            cuts: Cuts::default(),
            log_words: String::new(),
            by_hook: HashSet::new(),
            plan_version: 0,
            started_at: 0,
            model_calls: 0,
            tool_calls: 0,
        }
    }

    /// A run that began earlier: what its open calls are called.
    pub(super) fn recall(&mut self, state: &State) {
        self.waits.recall(state);
        if !state.is_finished() {
            self.count_from(state.counters());
        }
        self.calls = Calls::of(state);
        let versions = state.plan().map_or(0, |plan| plan.versions.len());
        self.plan_version = u32::try_from(versions).unwrap_or(u32::MAX);
        self.run = Some(state.run());
    }

    fn count_from(&mut self, counters: &Counters) {
        self.model_calls = counters.model_calls;
        self.tool_calls = counters.tool_calls;
    }

    pub(super) fn close(mut self) -> Option<io::Error> {
        self.end_line();
        self.paper.broken
    }

    /// A line beside the point.
    pub(super) fn remark(&mut self, text: &str) {
        if self.detail != Detail::Quiet {
            self.end_line();
            out::note_styled(&[(Style::Dim, text)]);
        }
    }

    pub(super) fn warn(&mut self, text: &str) {
        if self.detail != Detail::Quiet {
            self.end_line();
            out::note(text);
        }
    }

    /// Ends the answer's current line before output to stderr, and between two replies.
    fn end_line(&mut self) {
        if out::within_line() {
            self.paper.piece("\n");
        }
    }

    pub(super) fn update(&mut self, update: &Update) {
        match update {
            Update::Text { action, text } => self.text(*action, text),
            Update::Reasoning { action, text } => {
                self.enter(*action);
                self.turn.reasoning.push_str(text);
            }
            Update::Void { action } if self.turn.action == Some(*action) => {
                if self.turn.shown > 0 {
                    self.warn("the reply broke off; ignore the part shown above");
                }
                self.turn = Turn::default();
            }
            Update::Log(line) if matches!(line.level, LogLevel::Overshot | LogLevel::Unheard) => {
                self.warn(&cut(&line.text, usize::MAX));
            }
            Update::Log(line) if self.detail == Detail::Verbose => self.remark(&cut(&line.text, usize::MAX)),
            Update::Void { .. } | Update::Call { .. } | Update::Partial { .. } | Update::Log(_) => {}
            Update::Refused { invalid } => self.warn(&format!("refused: {invalid}")),
            Update::Events(_) => self.events(update),
        }
    }

    fn enter(&mut self, action: ActionId) {
        if self.turn.action != Some(action) {
            self.end_line();
            self.turn = Turn { action: Some(action), ..Turn::default() };
        }
    }

    fn text(&mut self, action: ActionId, text: &str) {
        self.enter(action);
        self.turn.text.push_str(text);
        let begins = self.turn.text.trim_start();
        if !begins.is_empty() && !begins.starts_with(['{', '[', '<', '`']) {
            self.show_rest();
        }
    }

    /// Shows what came and was not shown, where text streams.
    fn show_rest(&mut self) {
        if self.answers == Answers::Final {
            return;
        }
        if let Some(rest) = self.turn.text.get(self.turn.shown..).filter(|rest| !rest.is_empty()) {
            self.paper.piece(rest);
            self.turn.shown = self.turn.text.len();
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        self.waits.event(event);
        self.calls.learn(&event.fact);
        match &event.fact {
            Fact::RunStarted(start) => self.run_started(start, event.at),
            Fact::RunResumed(resumed) => self.resumed(resumed, event.at),
            Fact::TurnCompleted(turn) => self.turn_completed(turn),
            Fact::TurnFailed(failed) => self.turn_failed(failed, event.at),
            Fact::Adjusted(adjusted) => self.adjusted(adjusted),
            Fact::CallDecided(decided) => self.decided(decided),
            Fact::ToolAllowed(allowed) => self.tool_allowed(&allowed.tool),
            Fact::CodeStarted(_)
            | Fact::CodeFinished(_)
            | Fact::CallStarted(_)
            | Fact::DelegationStarted(_)
            | Fact::DelegationWaits(_)
            | Fact::DelegationFinished(_)
            | Fact::CallRetried(_)
            | Fact::CallDoubted(_)
            | Fact::CallFinished(_) => self.call_event(&event.fact, event.at),
            Fact::InputRequested(asked) if self.questions => {
                let by = by(asked, &self.calls);
                self.warn(&format!("asked: {} ({}): {by}{}", asked.question, asked.kind, asked.text));
            }
            Fact::ProbeAnswered(_) => self.model_calls += 1,
            Fact::CodeCalled(_) | Fact::CallHeld(_) | Fact::InputRequested(_) => {}
            Fact::InputReceived(one) => {
                self.remark(&asked::answer(one));
            }
            Fact::Steered(steered) => {
                self.remark(&format!("{}: {}", told(steered.kind), self.cuts.line(&steered.text)));
            }
            Fact::RunPaused(_) => self.remark("paused"),
            Fact::MessageQueued(MessageQueued { run, .. }) => {
                self.remark(&format!("a message waits for the end of this run; run {run} will answer it"));
            }
            Fact::StepBranched(branched) => self.branched(branched),
            Fact::OutputRejected(rejected) => {
                self.warn(&format!("not accepted: {}", rejection(rejected.reason)));
            }
            Fact::LimitReached(reached) => self.limit_reached(reached),
            Fact::LimitRaised(raised) => {
                self.remark(&format!("the limit is now {}", raised.limit.amount(raised.max)));
            }
            Fact::CancelRequested(_) => self.warn("stopping…"),
            Fact::RunEnded(end) => self.ended(end, event.at),
            Fact::Perceived(_) | Fact::PlanProposed(_) | Fact::PlanMade(_) | Fact::StepFinished(_) => {
                self.planning(&event.fact);
            }
            Fact::TurnStarted(_)
            | Fact::HistoryEdited(_)
            | Fact::TurnHedged(_)
            | Fact::HedgeSkipped(_)
            | Fact::CallVerified(_)
            | Fact::ResultSummarised(_)
            | Fact::ContextMeasured(_)
            | Fact::ContextWarned(_)
            | Fact::Compacted(_)
            | Fact::CompactionSkipped(_)
            | Fact::IterationStarted(_)
            | Fact::Judged(_)
            | Fact::BoardSaved(_)
            | Fact::BoardRestored(_) => {
                if let Some((loud, text)) = self.beyond(&event.fact) {
                    if loud { self.warn(&text) } else { self.remark(&text) }
                }
            }
        }
    }

    fn resumed(&mut self, resumed: &RunResumed, at: Millis) {
        self.started_at = at;
        self.remark(&format!("resumed{}", behind(resumed)));
    }

    fn run_started(&mut self, start: &RunStarted, at: Millis) {
        self.started_at = at;
        if let RunInput::Continue(carried) = &start.input {
            self.count_from(&carried.counters);
        }
        self.run = Some(start.run);
        if !self.brief {
            self.remark(&format!("run: {}", start.run));
        }
    }

    fn branched(&mut self, branched: &StepBranched) {
        let asked = &branched.calls;
        self.by_hook.extend(asked.iter().map(|call| call.id.clone()));
        self.remark(&format!("a hook asked for {}", count(asked.len() as u64, "branch call")));
    }

    fn turn_completed(&mut self, turn: &TurnCompleted) {
        self.model_calls += 1;
        if !turn.speaks() {
            return;
        }
        if self.detail == Detail::Verbose
            && let Some(reasoning) = turn.reasoning.as_ref().filter(|reasoning| !reasoning.text.is_empty())
        {
            let text = reasoning.text.to_string();
            self.remark(&text);
        }
        self.settle(turn.beside_calls().as_deref().unwrap_or_default());
        self.end_line();
        let action = self.turn.action.take();
        self.turn =
            Turn { text: self.turn.text.clone(), shown: self.turn.shown, action, reasoning: String::new() };
    }

    /// The reply is complete: shows the rest of its text.
    fn settle(&mut self, text: &str) {
        let shown = self.turn.text.get(..self.turn.shown).unwrap_or_default();
        if !text.starts_with(shown) {
            // The text may have lost the calls that were read from it.
            if is_left_of(text, shown) {
                text.clone_into(&mut self.turn.text);
                self.turn.shown = text.len();
                return;
            }
            // Pieces were missed.
            self.end_line();
            self.turn.shown = 0;
        }
        text.clone_into(&mut self.turn.text);
        self.show_rest();
    }

    fn adjusted(&mut self, adjusted: &Adjusted) {
        // What was learnt of a model (K41).
        let mut models = adjusted.models.iter().flat_map(|models| models.iter());
        let learnt = models.find_map(|model| match model.wire? {
            Wire::Schema => Some((&model.name, "calls are asked for by a schema")),
            Wire::Fenced => Some((&model.name, "calls are sent as text")),
            Wire::Auto | Wire::Native => None,
        });
        if let Some((name, how)) = learnt {
            self.remark(&format!("{name} does not support tools: {how} from now on"));
            return;
        }
        if let Some(refused) = &adjusted.refused {
            let words = tool_refused(refused, &self.cuts);
            self.warn(&words);
            return;
        }
        self.remark(&format!("changed: {}", changed(adjusted)));
    }

    fn name(&self, call: &CallId) -> String {
        self.calls.name(call)
    }

    fn decided(&mut self, decided: &CallDecided) {
        let name = self.name(&decided.call);
        match &decided.decision {
            Decision::Approved => self.remark(&format!("approved: {name}")),
            Decision::Edited { .. } => self.remark(&format!("approved: {name}, with changed arguments")),
            Decision::Allowed => self.remark(&format!("approved for the session: {name}")),
            Decision::Denied { .. } => {}
            Decision::Forbidden { pattern } => self.warn(&format!("forbidden: {name} (deny: {pattern})")),
        }
    }

    fn delegated(&mut self, started: &DelegationStarted) {
        self.call_started(&started.call, started.attempt);
        if self.detail == Detail::Verbose {
            self.remark(&format!("{} works on it in run {}", name(&started.agent), started.run));
        }
    }

    fn tool_allowed(&mut self, tool: &str) {
        self.remark(&format!("{} needs no further approval in this session", name(tool)));
    }

    fn call_started(&mut self, call: &CallId, attempt: u32) {
        self.tool_calls += u64::from(attempt == 1 && !self.by_hook.contains(call));
        let name = self.calls.name(call);
        let args = self.calls.args(call, &self.cuts).unwrap_or_default();
        let again = if attempt > 1 { format!(" (try {attempt})") } else { String::new() };
        if self.detail != Detail::Quiet {
            self.end_line();
            let plain = |text| (Style::Plain, text);
            out::note_styled(&[
                plain("-> "),
                (Style::Bold, &name),
                plain(&again),
                plain(" "),
                (Style::Dim, &args),
            ]);
        }
    }

    fn result(&mut self, call: &CallId, text: &str) {
        let name = self.name(call);
        let text = self.cuts.line(text);
        self.remark(&format!("<- {name}: {text}"));
    }

    fn limit_reached(&mut self, reached: &LimitReached) {
        self.warn(&format!("limit reached: {}", limit(reached)));
    }

    /// The final answer, unless it was shown as it came.
    fn answer(&mut self, text: &str, output: Option<&Value>) {
        if !self.is_shown(text, output) {
            self.end_line();
            self.paper.piece(text);
        }
    }

    /// Whether the last reply that streamed to a terminal is this answer, or holds this output.
    fn is_shown(&self, text: &str, output: Option<&Value>) -> bool {
        match self.answers {
            Answers::Final => false,
            Answers::Streamed => {
                let shown = self.turn.text.trim();
                shown == text.trim() || output.is_some_and(|output| in_json(shown).as_ref() == Some(output))
            }
        }
    }

    fn ended(&mut self, end: &RunEnded, at: u64) {
        let output = end.output.as_ref().map(|output| format!("{output:#}"));
        let text = output.as_deref().or(end.text.as_deref()).unwrap_or_default();
        match end.status {
            Status::Answered | Status::Concluded | Status::Clarification => {
                self.answer(text, end.output.as_ref());
            }
            // An output that a forced finish gave is one all the same.
            Status::Limit(_) if output.is_some() => {
                self.answer(text, end.output.as_ref());
            }
            // The text of any other end must not look like an answer.
            Status::Limit(_) | Status::Failed(_) if !self.is_shown(text, None) && !text.is_empty() => {
                self.end_line();
                out::say(format_args!("at the end: {}", text.trim_end()));
            }
            Status::Limit(_) | Status::Failed(_) | Status::Cancelled => {}
        }
        self.end_line();
        let mut words = vec![count(self.model_calls, "model call")];
        if self.tool_calls > 0 {
            words.push(count(self.tool_calls, "tool call"));
        }
        words.push(usage(&end.usage, end.cost.map(|pico| pico as f64 / 1e12)));
        words.push(span(at.saturating_sub(self.started_at)));
        self.remark(&format!("{}: {}", end.status, words.join(", ")));
        if let Some(run) = self.run.filter(|_| self.cuts.any()) {
            let log = &self.log_words;
            self.remark(&format!(
                "lines that end with … were cut: `windlass runs show{log} {run}` shows more"
            ));
        }
    }
}

/// By how much the clock is behind the run's latest time, if it is.
fn behind(resumed: &RunResumed) -> String {
    let behind = resumed.clock_behind_ms.map(|ms| {
        let seconds = ms / 1_000;
        format!(": the clock is {seconds} s behind the run's latest time, from which the run goes on")
    });
    behind.unwrap_or_default()
}

/// Whether a text is what is left of another one after parts of it were taken out.
fn is_left_of(text: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    text.trim().chars().all(|char| rest.any(|other| other == char))
}

/// The JSON value that a reply consists of, with or without a fence around it.
fn in_json(reply: &str) -> Option<Value> {
    let fenced = reply.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")?.split_once('\n'));
    serde_json::from_str(fenced.map_or(reply, |(_, within)| within)).ok()
}

fn told(kind: SteerKind) -> &'static str {
    match kind {
        SteerKind::Steering => "steered",
        SteerKind::Correction => "corrected",
        SteerKind::Clarification => "clarified",
        SteerKind::Objective => "another objective, from the next turn on",
    }
}
