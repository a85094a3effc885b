//! Code: the calls that it makes, and its end.

use windlass_text::find::nearest::Comparing;

use crate::codec::forms::ReadCall;
use crate::machine::decide::turns::MAX_CALLS;
use crate::machine::decision::{Decided, Decision};
use crate::machine::evolve::code::happened_before;
use crate::policy::code::CodeMode;
use crate::policy::own_tools::run_code::CODE_LIMIT;
use crate::protocol::fact::code::{CodeCalled, CodeStarted};
use crate::protocol::input::HostCall;
use crate::protocol::invalid_input::InvalidInput;
use crate::state::State;
use crate::state::open_call::{OpenCall, Origin, Stage};
use crate::vocabulary::ids::{ActionId, CallId, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::reply::ReplyCall;
use crate::vocabulary::tool::{ToolKind, ToolSpec};

impl Decision {
    /// Starts code, or lets it go on after a take-over.
    pub(crate) fn start_code(&mut self, open: &OpenCall) {
        self.record(CodeStarted { call: open.call.id.clone(), attempt: open.attempt() + 1 });
    }

    /// Whether a call runs code.
    pub(crate) fn is_code(&self, open: &OpenCall) -> bool {
        self.state.target(open).is_some_and(|tool| tool.kind == ToolKind::Code)
    }

    pub(crate) fn code_calls(&mut self, action: ActionId, calls: Vec<HostCall>) -> Decided {
        let Some(open) = self.state.running_code(action).cloned() else { return Err(self.unknown(action)) };
        if calls.is_empty() {
            return Err(InvalidInput::BadArguments { message: "the code asks for no call".to_owned() });
        }
        let code = open.call.id.clone();
        let before = self.state.code_calls(&code).count();
        let most = self.state.code_limits().calls as usize;
        if self.state.stopping() {
            self.code_over(&open, CallOutcome::Interrupted, None);
        } else if before > most || calls.len() > MAX_CALLS {
            self.code_over(&open, self.too_many(before + calls.len()), None);
        } else {
            self.record(CodeCalled { call: code.clone(), calls: self.identified(&open, before, calls) });
            self.admit_code_calls(&code);
            self.go_on();
        }
        Ok(())
    }

    /// The calls of code with their ids: the code's own, with the call's place from 1.
    fn identified(
        &self,
        open: &OpenCall,
        before: usize,
        calls: Vec<HostCall>,
    ) -> Vec<crate::vocabulary::message::ToolCall> {
        let code = &open.call.id;
        let id = |place: usize| match open.failed() {
            0 => format!("{code}.{place}"),
            tries => format!("{code}.try{}.{place}", tries + 1),
        };
        let calls = calls.into_iter().enumerate().map(|(place, call)| {
            let HostCall { name, args } = call;
            ReadCall::from(ReplyCall { id: Some(id(before + place + 1).into()), name, args })
        });
        self.identify(self.state.turn.number(), calls.collect())
    }

    /// Decides on the calls of code that nothing has been decided on yet, in order.
    pub(crate) fn admit_code_calls(&mut self, code: &CallId) {
        let queued = |open: &&OpenCall| matches!(open.stage(), Stage::Queued);
        let calls: Vec<OpenCall> = self.state.code_calls(code).filter(queued).cloned().collect();
        let most = self.state.code_limits().calls;
        let mut comparing = Comparing::default();
        let mut sure = self.state.ledger.counters().tool_calls;
        for open in calls {
            let id = open.call.id.clone();
            let beyond = matches!(open.origin(), Origin::Code { place, .. } if *place >= most);
            if let Some(outcome) = happened_before(&open, self.state.run) {
                self.finish_call(id, outcome.clone());
            } else if beyond {
                let asked = self.state.code_calls(code).count();
                self.finish_call(id, self.too_many(asked));
            } else if let Some(outcome) = self.fault(&open, &mut comparing) {
                self.finish_call(id, outcome);
            } else if open.attempt() == 0 && self.used_up(sure) {
                self.skip_beyond(id);
            } else {
                sure += u64::from(self.admit(&open) && open.attempt() == 0);
            }
        }
    }

    pub(crate) fn code_ended(
        &mut self,
        action: ActionId,
        outcome: CallOutcome,
        stdout: Option<Text>,
    ) -> Decided {
        let Some(open) = self.state.running_code(action).cloned() else { return Err(self.unknown(action)) };
        self.code_over(&open, outcome, stdout);
        Ok(())
    }

    /// Code has come to its end: it is tried again, or has its result.
    fn code_over(&mut self, open: &OpenCall, mut outcome: CallOutcome, stdout: Option<Text>) {
        let stopping = self.state.stopping();
        if stopping && outcome.may_retry() {
            outcome = CallOutcome::Interrupted;
        }
        // Where no call can be let run, a further try would come to the same end.
        let spent = self.state.turn.cut().is_some_and(|cut| cut.limit() == LimitKind::ToolCalls);
        // What nobody knows about is not made again (E30).
        let unknown = |call: &OpenCall| call.outcome() == Some(&CallOutcome::Unknown);
        let spent = spent || self.state.code_calls(&open.call.id).any(unknown);
        if !stopping && !spent && outcome.may_retry() && self.try_again(&open.call.id, &outcome) {
            return;
        }
        self.finish_code(open.call.id.clone(), outcome, stdout);
        self.go_on();
    }

    /// The error of calls beyond the limit of the code. A plan's steps have S's words.
    fn too_many(&self, asked: usize) -> CallOutcome {
        let most = self.state.code_limits().calls;
        let message = match self.state.setup.policy().calls.code {
            CodeMode::Steps(_) => format!("Too many functions ({asked} > {most})"),
            CodeMode::Off | CodeMode::Tool(_) => {
                format!("the code may make {most} calls, and has asked for {asked}")
            }
        };
        CallOutcome::Error { kind: Some(CODE_LIMIT.into()), message: message.into() }
    }

    /// When the run is being stopped: ends code whose calls have all ended.
    pub(crate) fn close_waiting_code(&mut self) {
        let done = |open: &&OpenCall| {
            matches!(open.stage(), Stage::CodeWaits) && self.state.has_results(&open.call.id)
        };
        let waiting: Vec<CallId> =
            self.state.open_calls().filter(done).map(|open| open.call.id.clone()).collect();
        for call in waiting {
            self.finish_call(call, CallOutcome::Interrupted);
        }
    }
}

impl State {
    /// Whether all calls that code has made have their results.
    pub(crate) fn has_results(&self, code: &CallId) -> bool {
        self.code_calls(code).all(|open| matches!(open.stage(), Stage::Done(_)))
    }

    /// The limits of code.
    pub(crate) fn code_limits(&self) -> crate::policy::code::CodeLimits {
        self.setup.policy().calls.code.limits().unwrap_or_default()
    }

    /// The tools that code can call.
    pub fn functions(&self) -> impl Iterator<Item = &ToolSpec> {
        self.toolbox.all().iter().filter(|tool| tool.is_function())
    }
}
