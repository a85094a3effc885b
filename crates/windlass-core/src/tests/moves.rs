//! Valid next inputs: everything that the environment of a run can send, each within a budget.

use crate::machine::pending::pending;
use crate::model::{FailureKind, ModelFailure, Reply, Usage};
use crate::protocol::action::ActionKind;
use crate::protocol::fact::Adjusted;
use crate::protocol::fact::run::{AgentRef, ResumedBy};
use crate::protocol::input::{Input, InputKind};
use crate::run::{Found, HostCall};
use crate::tests::explore::Node;
use crate::tests::scenarios::Scenario;
use crate::vocabulary::amount::Amount;
use crate::vocabulary::ids::{ActionId, Text};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::question::{Answer, QuestionKind};

/// Budget of further inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) crashes: u8,
    /// Number of take-overs after an export.
    pub(crate) adoptions: u8,
    pub(crate) cancels: u8,
    pub(crate) steers: u8,
    pub(crate) pauses: u8,
    pub(crate) model_failures: u8,
    pub(crate) tool_failures: u8,
    pub(crate) tool_changes: u8,
    pub(crate) raises: u8,
    /// Answers that allow a tool for the rest of the session.
    pub(crate) rules: u8,
    /// Questions of delegates.
    pub(crate) questions: u8,
    /// Number of hooks that ask for branches.
    pub(crate) branches: u8,
    /// Number of replies so far; selects the list of the next one.
    pub(crate) replies: u8,
}

/// One thing that may come in, and what is left after it.
pub(crate) struct Move {
    pub(crate) input: Input,
    pub(crate) left: Left,
    /// Everything that was going on is lost.
    pub(crate) crash: bool,
}

/// All that may come in now.
pub(crate) fn moves(scenario: &Scenario, node: &Node) -> Vec<Move> {
    let mut all = Moves { scenario, node, found: Vec::new() };
    if node.state.is_finished() {
        return all.found;
    }
    let wanted = pending(&node.state);
    for (id, work) in &node.begun {
        let live = wanted.iter().any(|action| action.id == *id);
        all.ends(*id, work, live);
    }
    let left = node.left;
    if left.crashes > 0 {
        let by_hand = node.state.setup.policy().request.wait_for_quota;
        for by in [ResumedBy::Runtime, ResumedBy::Person].into_iter().take(1 + usize::from(by_hand)) {
            let what = InputKind::resumed("another", 2, by);
            let input = Input { at: node.now, what };
            let left = Left { crashes: left.crashes - 1, ..left };
            all.found.push(Move { input, left, crash: true });
        }
    }
    if left.adoptions > 0 {
        let (holder, epoch, by) = (Text::from("elsewhere"), 3, ResumedBy::Runtime);
        let agent = AgentRef { name: "tester".into(), digest: "another".into() };
        let changed = Adjusted { tools: scenario.tools.last().cloned(), ..Adjusted::default() };
        // Another agent goes on with it, or the same one, whose tools have changed since.
        let another = Adjusted { agent: Some(agent), ..changed.clone() };
        let same = changed.tools.is_some().then_some(changed);
        for adjusted in std::iter::once(another).chain(same) {
            let (holder, adjusted) = (holder.clone(), Some(Box::new(adjusted)));
            let what = InputKind::Resumed { holder, epoch, by, adjusted };
            let left = Left { adoptions: left.adoptions - 1, ..left };
            all.found.push(Move { input: Input { at: node.now, what }, left, crash: true });
        }
    }
    if left.cancels > 0 && !node.state.ending.is_cancel() {
        all.add(InputKind::Cancel { reason: None }, Left { cancels: left.cancels - 1, ..left });
    }
    if left.steers > 0 && !node.state.stopping() {
        all.add(InputKind::Steer("Also this.".into()), Left { steers: left.steers - 1, ..left });
    }
    if left.pauses > 0 && !node.state.stopping() && node.state.pause().is_none() {
        all.add(InputKind::Pause { reason: None }, Left { pauses: left.pauses - 1, ..left });
    }
    if left.tool_changes > 0 {
        for tools in scenario.tools.iter().skip(1) {
            let left = Left { tool_changes: left.tool_changes - 1, ..left };
            all.add(InputKind::ToolsChanged { tools: tools.clone(), binding_digests: None }, left);
        }
    }
    all.found
}

struct Moves<'n> {
    scenario: &'n Scenario,
    node: &'n Node,
    found: Vec<Move>,
}

impl Moves<'_> {
    fn add(&mut self, what: InputKind, left: Left) {
        self.found.push(Move { input: Input { at: self.node.now, what }, left, crash: false });
    }

    /// Possible ends of an action: on its own, or because it was stopped.
    fn ends(&mut self, action: ActionId, work: &ActionKind, live: bool) {
        let left = self.node.left;
        match work {
            ActionKind::CallModel { .. } => self.model_ends(action, live),
            ActionKind::RunTool { .. } => {
                self.add(
                    InputKind::CallEnded { action, outcome: CallOutcome::Ok { content: "done".into() } },
                    left,
                );
                if !live {
                    let outcome = CallOutcome::Abandoned;
                    self.add(InputKind::CallEnded { action, outcome }, left);
                }
                if left.tool_failures > 0 {
                    let left = Left { tool_failures: left.tool_failures - 1, ..left };
                    let burnt = CallOutcome::Error { kind: None, message: "it burns".into() };
                    self.add(InputKind::CallEnded { action, outcome: burnt }, left);
                    for outcome in [CallOutcome::TimedOut { after_ms: 9 }, CallOutcome::Interrupted] {
                        self.add(InputKind::CallLost { action, outcome }, left);
                    }
                }
            }
            ActionKind::RunCode { call } => self.code_goes_on(action, call, live),
            ActionKind::Delegate { .. } => self.delegate_ends(action, live),
            ActionKind::RunHook => {
                for edits in &self.scenario.edits {
                    let branches = u8::from(!edits.branches.is_empty());
                    if branches <= left.branches {
                        let left = Left { branches: left.branches - branches, ..left };
                        self.add(InputKind::HookEnded { action, edits: Box::new(edits.clone()) }, left);
                    }
                }
            }
            ActionKind::CheckCall { .. } => {
                let happened = Found::Happened(CallOutcome::Ok { content: "paid".into() });
                for found in [happened, Found::NotHappened, Found::Unsure] {
                    self.add(InputKind::Checked { action, found }, left);
                }
            }
            ActionKind::Ask { question } => {
                let open = self.node.state.questions.open().iter().find(|open| open.id == *question);
                for answer in open.map(|open| self.answers(open.kind)).unwrap_or_default() {
                    let raises = left.raises - u8::from(matches!(answer, Answer::Raise(_)));
                    let rules = left.rules - u8::from(answer == Answer::Always);
                    let what = InputKind::Answered { question: question.clone(), answer, by: None };
                    self.add(what, Left { raises, rules, ..left });
                }
            }
            ActionKind::SetTimer { at } => {
                let input = Input { at: self.node.now.max(*at), what: InputKind::TimerFired { action } };
                self.found.push(Move { input, left, crash: false });
            }
        }
    }

    /// Code makes two calls at once, then one more, and ends after each step.
    fn code_goes_on(&mut self, action: ActionId, call: &crate::vocabulary::ids::CallId, live: bool) {
        let left = self.node.left;
        let host = |name: &str| HostCall { name: name.into(), args: "{\"n\":1}".into() };
        let calls = match self.node.state.code_calls(call).count() {
            0 => vec![host("pay"), host("book")],
            2 => vec![host("read")],
            _ => Vec::new(),
        };
        if live && !calls.is_empty() {
            self.add(InputKind::CodeCalls { action, calls }, left);
        }
        let outcome = if live { CallOutcome::Ok { content: "7".into() } } else { CallOutcome::Interrupted };
        self.add(InputKind::CodeEnded { action, outcome, stdout: None }, left);
    }

    fn delegate_ends(&mut self, action: ActionId, live: bool) {
        let left = self.node.left;
        let usage = Usage { input: 3, ..Usage::default() };
        let reserved = Amount { input: 1, ..Amount::default() };
        let ended = |outcome| InputKind::DelegateEnded { action, outcome, usage, cost: Some(0), reserved };
        self.add(ended(CallOutcome::Ok { content: "delegated".into() }), left);
        if !live {
            self.add(ended(CallOutcome::Interrupted), left);
        } else if left.tool_failures > 0 {
            let left = Left { tool_failures: left.tool_failures - 1, ..left };
            self.add(ended(CallOutcome::Error { kind: None, message: "it burns".into() }), left);
        }
        if live && left.questions > 0 {
            let (model, until) = ("m9".into(), self.node.now + 300);
            let waits = InputKind::DelegateDeferred { action, model, until };
            self.add(waits, Left { questions: left.questions - 1, ..left });
        }
        if left.questions > 0 {
            let asks = InputKind::DelegateAsks {
                action,
                question: "q1".into(),
                kind: QuestionKind::Clarify,
                text: "Which?".into(),
                suggestions: Vec::new(),
            };
            self.add(asks, Left { questions: left.questions - 1, ..left });
        }
    }

    fn model_ends(&mut self, action: ActionId, live: bool) {
        let left = self.node.left;
        let options = self.scenario.replies(left.replies);
        for reply in options.iter().take(if live { usize::MAX } else { 1 }) {
            let left = Left { replies: left.replies.saturating_add(1), ..left };
            self.add(InputKind::replied(action, reply.clone()), left);
        }
        if !live {
            self.add(failed(action, FailureKind::Cancelled), left);
        } else if left.model_failures > 0 {
            let left = Left { model_failures: left.model_failures - 1, ..left };
            for kind in [FailureKind::RateLimited, FailureKind::Auth, FailureKind::BadRequest] {
                self.add(failed(action, kind), left);
            }
            if self.node.state.setup.policy().request.wait_for_quota {
                for wait in [500, 5_000] {
                    let mut failed = failed(action, FailureKind::RateLimited);
                    if let InputKind::ModelFailed { failure, .. } = &mut failed {
                        failure.retry_after_ms = Some(wait);
                    }
                    self.add(failed, left);
                }
            }
        }
    }

    fn answers(&self, kind: QuestionKind) -> Vec<Answer> {
        match kind {
            QuestionKind::Approval => {
                let mut answers = vec![
                    Answer::Approve,
                    Answer::ApproveWith { args: serde_json::json!({ "n": 2 }) },
                    Answer::Deny { reason: None },
                ];
                answers.extend((self.node.left.rules > 0).then_some(Answer::Always));
                answers
            }
            QuestionKind::Clarify => vec![Answer::Text("blue".into())],
            QuestionKind::Outcome => {
                vec![Answer::Result("paid".into()), Answer::RunAgain, Answer::Unknown]
            }
            QuestionKind::Result => vec![Answer::Result("by hand".into())],
            QuestionKind::Pause => {
                vec![Answer::Resume { text: None }, Answer::Resume { text: Some("Also.".into()) }]
            }
            QuestionKind::Auth => vec![Answer::Retry],
            QuestionKind::Plan => vec![Answer::Accept, Answer::Conclude("enough".into())],
            QuestionKind::Limit(limit) => {
                let mut answers = vec![Answer::Conclude("enough".into())];
                let reached = self.node.state.ending.closing().map_or(0, |closing| closing.reached().reached);
                if self.node.left.raises > 0 {
                    answers.push(Answer::Raise((reached + 2) as f64 / limit.scale()));
                }
                answers
            }
        }
    }
}

fn failed(action: ActionId, kind: FailureKind) -> InputKind {
    let usage = Usage { input: 3, ..Usage::default() };
    let failure = ModelFailure { usage, ..ModelFailure::new(kind, "it failed", "m1") };
    InputKind::ModelFailed { action, failure: Box::new(failure), jitter: 0 }
}

/// Invalid inputs: results of another kind or action, unknown questions, wrong answers.
pub(crate) fn misfits(scenario: &Scenario, node: &Node) -> Vec<InputKind> {
    let state = &node.state;
    let mut all = vec![InputKind::Start(Box::new(scenario.start()))];
    let reply = |action| InputKind::replied(action, Reply::default());
    let ended = |action| InputKind::CallEnded { action, outcome: CallOutcome::Unknown };
    let checked = |action| InputKind::Checked { action, found: Found::Unsure };
    let fired = |action| InputKind::TimerFired { action };
    let nobody = ActionId { run: state.run, seq: state.version + 1 };
    let foreign = ActionId { run: crate::vocabulary::ids::RunId::from_number(99), seq: 2 };
    for action in [nobody, foreign] {
        all.extend([reply(action), failed(action, FailureKind::Auth), ended(action), checked(action)]);
        all.push(fired(action));
    }
    for (id, work) in &node.begun {
        let foreign = ActionId { run: foreign.run, ..*id };
        match work {
            ActionKind::CallModel { .. } => {
                all.extend([ended(*id), checked(*id), fired(*id), reply(foreign)]);
            }
            // A delegate may end like any call, without a word of what it used.
            ActionKind::RunTool { .. } | ActionKind::Delegate { .. } => {
                all.extend([reply(*id), checked(*id), fired(*id), ended(foreign)]);
            }
            ActionKind::CheckCall { .. } => {
                all.extend([reply(*id), ended(*id), fired(*id), checked(foreign)]);
            }
            ActionKind::RunCode { .. } => all.extend([reply(*id), ended(*id), checked(*id), fired(*id)]),
            ActionKind::Ask { .. } | ActionKind::SetTimer { .. } | ActionKind::RunHook => {
                all.extend([reply(*id), ended(*id), checked(*id), fired(foreign)]);
            }
        }
    }
    if state.pause().is_some() || state.stopping() {
        all.push(InputKind::Pause { reason: None });
    }
    let every = [
        Answer::Approve,
        Answer::Resume { text: None },
        Answer::Text("blue".into()),
        Answer::Unknown,
        Answer::Conclude("enough".into()),
    ];
    for number in 0..=state.questions.asked() + 1 {
        let question: crate::vocabulary::ids::QuestionId = format!("q{number}").into();
        let open = state.questions.open().iter().find(|open| open.id == question);
        all.extend(every.iter().filter(|answer| open.is_none_or(|open| !answer.fits(open.kind))).map(
            |answer| InputKind::Answered { question: question.clone(), answer: answer.clone(), by: None },
        ));
    }
    all
}
