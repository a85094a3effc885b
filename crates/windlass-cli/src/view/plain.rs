//! A run for people: the answer on stdout, everything else on stderr.
//!
//! At a terminal all text streams once. Elsewhere stdout gets the final answer only, and nothing if the run has none: a reader
//! such as `jq` must not meet rejected, intermediate or broken-off text.
//!
//! A model's text may turn out to be a call in text form, which is no answer: text that begins like one is held
//! back until the reply is whole.

mod ending;
mod failing;
mod planning;
mod together;

use std::collections::HashSet;
use std::io;

use windlass_core::budget::Counters;
use windlass_core::event::{
    CallFact, DelegationStarted, ModelFact, PeopleFact, RunFact, RunInput, RunStarted, TurnCompleted,
};
use windlass_core::run::LogLevel;
use windlass_core::{ActionId, CallId, Event, Fact, RunId, State};
use windlass_read::words::annotations;
use windlass_read::words::asked::by;
use windlass_read::words::progress::progress;
use windlass_read::words::{Calls, Cuts};
use windlass_read::words::{cut, documents, name};
use windlass_runtime::Update;

use super::Paper;
use super::asked;
use super::waits::Waits;
use crate::face::{Delegates, Face};
use crate::out::{self, Style};
pub(crate) use ending::fenced;
use failing::Failing;

/// Maximum number of bytes that wait for the end of their word. Some scripts have no blanks.
const MAX_WORD: usize = 32;

/// Level of detail for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Only the answer and errors.
    Quiet,
    /// Progress, too.
    Default,
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
    /// The waits of the run.
    pub(super) waits: Waits,
    /// The run, once it is known.
    run: Option<RunId>,
    turn: Turn,
    calls: Calls,
    failing: Failing,
    cuts: Cuts,
    /// The option that names the log, for commands that are suggested.
    pub(super) log_words: String,
    /// The branches that a hook asked for: they count against no limit on calls.
    by_hook: HashSet<CallId>,
    /// The version of the plan that was shown last.
    plan_version: u32,
    pub(super) started_at: u64,
    /// The face of the conversation, which shows calls and waits as they go on.
    pub(super) face: Option<Face>,
    pub(super) delegates: Option<Delegates>,
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
    rendered: usize,
    reasoning: String,
    /// The sources of its text, a line each.
    sources: Vec<String>,
    /// Whether the person has stopped it.
    stopped: bool,
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
            failing: Failing::default(),
            cuts: Cuts::default(),
            log_words: String::new(),
            by_hook: HashSet::new(),
            plan_version: 0,
            started_at: 0,
            face: None,
            delegates: None,
            model_calls: 0,
            tool_calls: 0,
        }
    }

    /// A run that began earlier: what its open calls are called.
    pub(super) fn recall(&mut self, state: &State) {
        self.waits.recall(state);
        self.failing.recall(state);
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

    /// The text that came is whole.
    fn end_text(&self) {
        if let Some(face) = &self.face {
            face.end_text();
        }
    }

    pub(super) fn update(&mut self, update: &Update) {
        match update {
            Update::Text { action, text } => self.text(*action, text),
            Update::Reasoning { action, text } => {
                self.enter(*action);
                self.turn.reasoning.push_str(text);
            }
            Update::Void { action } if self.turn.action == Some(*action) => self.void(),
            Update::Log(line) if matches!(line.level, LogLevel::Overshot | LogLevel::Unheard) => {
                self.warn(&cut(&line.text, usize::MAX));
            }
            Update::Log(line) if self.detail == Detail::Verbose => self.remark(&cut(&line.text, usize::MAX)),
            Update::Void { .. } | Update::Call { .. } | Update::Partial { .. } | Update::Log(_) => {}
            Update::Refused { invalid } => self.warn(&format!("refused: {invalid}")),
            Update::Events(_) => self.events(update),
        }
    }

    /// The reply broke off. Who has stopped it knows that, and keeps what came.
    fn void(&mut self) {
        if self.turn.stopped {
            self.end_word();
        }
        let turn = std::mem::take(&mut self.turn);
        if turn.stopped {
            self.end_text();
            return;
        }
        let rendered = match &self.face {
            Some(face) => face.drop_text(),
            None => turn.rendered > 0,
        };
        if rendered {
            self.warn("the reply broke off; ignore the part shown above");
        }
    }

    fn enter(&mut self, action: ActionId) {
        if self.turn.action != Some(action) {
            self.end_word();
            self.end_text();
            self.end_line();
            self.turn = Turn { action: Some(action), stopped: self.turn.stopped, ..Turn::default() };
        }
    }

    fn text(&mut self, action: ActionId, text: &str) {
        self.enter(action);
        if self.turn.stopped && self.face.is_some() {
            // What came until then stands above.
            return;
        }
        self.turn.text.push_str(text);
        let begins = self.turn.text.trim_start();
        if !begins.is_empty() && !begins.starts_with(['{', '[', '<', '`']) {
            self.show_until(self.word_end());
        }
    }

    /// Where the last whole word ends in the text that came: a screen reader speaks each piece, and what is typed meanwhile stands
    /// behind it. A face places text itself.
    fn word_end(&self) -> usize {
        let text = &self.turn.text;
        let end = text.trim_end_matches(|char: char| !char.is_whitespace()).len();
        if self.face.is_some() || text.len() - end > MAX_WORD { text.len() } else { end }
    }

    /// Shows the word that came in part, if words before it are shown.
    fn end_word(&mut self) {
        if self.turn.rendered > 0 {
            self.show_rest();
        }
    }

    /// Shows what came and was not shown, where text streams.
    fn show_rest(&mut self) {
        self.show_until(self.turn.text.len());
    }

    fn show_until(&mut self, end: usize) {
        if self.answers == Answers::Final {
            return;
        }
        if let Some(rest) = self.turn.text.get(self.turn.rendered..end).filter(|rest| !rest.is_empty()) {
            self.paper.piece(rest);
            self.turn.rendered = end;
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        self.waits.event(event);
        self.calls.learn(&event.fact);
        self.count(event);
        let again = self.failing.again(event);
        if self.rendered_by_face(&event.fact) {
            return;
        }
        if let Fact::People(PeopleFact::CancelRequested(_)) = &event.fact {
            self.turn.stopped = true;
            self.end_text();
        }
        if let Some(line) = again {
            self.warn(&line);
        } else if let Some(line) = progress(event, &self.calls, &self.cuts) {
            if line.is_warning { self.warn(&line.text) } else { self.remark(&line.text) }
        } else if let Fact::Run(RunFact::Started(start)) = &event.fact {
            self.run_started(start);
        } else if let Fact::Model(ModelFact::Completed(turn)) = &event.fact {
            self.turn_completed(turn);
        } else if let Fact::People(PeopleFact::InputRequested(asked)) = &event.fact {
            if self.questions {
                let by = by(asked, &self.calls);
                self.warn(&format!("asked: {} ({}): {by}{}", asked.question, asked.kind, asked.text));
            }
        } else if let Fact::People(PeopleFact::InputReceived(one)) = &event.fact {
            self.remark(&asked::answer(one));
        } else if let Fact::Run(RunFact::Ended(end)) = &event.fact {
            self.ended(end, event.at);
        } else {
            self.call_begins(&event.fact);
            self.planning(&event.fact);
        }
    }

    /// Takes in what the line at the end says.
    fn count(&mut self, event: &Event) {
        let fact = &event.fact;
        if let Fact::Run(RunFact::Started(_) | RunFact::Resumed(_)) = fact {
            self.started_at = event.at;
            // What was waited before is no part of it.
            self.waits.take_by_people();
        }
        if let Fact::Run(RunFact::Started(start)) = fact
            && let RunInput::Continue(carried) = &start.input
        {
            self.count_from(&carried.counters);
        } else if let Fact::Model(ModelFact::ProbeAnswered(_) | ModelFact::Completed(_)) = fact {
            self.model_calls += 1;
        } else if let Fact::Call(CallFact::StepBranched(branched)) = fact {
            self.by_hook.extend(branched.calls.iter().map(|call| call.id.clone()));
        }
    }

    fn run_started(&mut self, start: &RunStarted) {
        self.run = Some(start.run);
        if !self.brief {
            self.remark(&format!("run: {}", start.run));
        }
        for line in documents(start) {
            self.warn(&line);
        }
    }

    fn turn_completed(&mut self, turn: &TurnCompleted) {
        if !turn.speaks() {
            return;
        }
        if self.detail == Detail::Verbose
            && let Some(reasoning) = turn.reasoning.as_ref().filter(|reasoning| !reasoning.text.is_empty())
        {
            let text = reasoning.text.to_string();
            self.remark(&text);
        }
        for step in turn.annotations.iter().flat_map(|all| &all.steps) {
            let line = format!("-> {}", annotations::step(step, &self.cuts));
            self.remark(&line);
        }
        self.settle(turn.text_without_calls().as_deref().unwrap_or_default());
        self.end_text();
        self.end_line();
        let action = self.turn.action.take();
        self.turn = Turn {
            text: self.turn.text.clone(),
            rendered: self.turn.rendered,
            action,
            reasoning: String::new(),
            sources: turn.annotations.iter().flat_map(|all| annotations::sources(all, &self.cuts)).collect(),
            stopped: self.turn.stopped,
        };
    }

    /// The reply is complete: shows the rest of its text.
    fn settle(&mut self, text: &str) {
        let rendered = self.turn.text.get(..self.turn.rendered).unwrap_or_default();
        if !text.starts_with(rendered) {
            // The text may have lost the calls that were read from it.
            if is_left_of(text, rendered) {
                text.clone_into(&mut self.turn.text);
                self.turn.rendered = text.len();
                return;
            }
            // Pieces were missed.
            self.end_text();
            self.end_line();
            self.turn.rendered = 0;
        }
        text.clone_into(&mut self.turn.text);
        self.show_rest();
    }

    fn delegated(&mut self, started: &DelegationStarted) {
        self.call_started(&started.call, started.attempt);
        if let Some(delegates) = &self.delegates {
            delegates.follow(started.run, &started.agent);
        }
        if self.detail == Detail::Verbose {
            self.remark(&format!("{} works on it in run {}", name(&started.agent), started.run));
        }
    }

    fn call_started(&mut self, call: &CallId, attempt: u32) {
        self.tool_calls += u64::from(attempt == 1 && !self.by_hook.contains(call));
        let name = self.calls.name(call);
        let args = self.calls.args(call, &self.cuts).unwrap_or_default();
        let again = if attempt > 1 { format!(" (try {attempt})") } else { String::new() };
        if let Some(face) = &self.face {
            face.begin(call.as_str(), &format!("{name}{again}"), &args);
            return;
        }
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
}

/// Whether a text is what is left of another one after parts of it were taken out.
fn is_left_of(text: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    text.trim().chars().all(|char| rest.any(|other| other == char))
}
