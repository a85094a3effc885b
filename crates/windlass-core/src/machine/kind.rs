//! Kinds of states and of inputs, by name: for tables of coverage, and for people.

use std::fmt;

use crate::protocol::input::InputKind;
use crate::state::open_call::{Asked, Stage};
use crate::state::{Phase, State};

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident => $text:literal),+ $(,)?) => {
        /// The kind of a run's state. Kinds differ in the inputs that they take, and in the events that follow.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum StateKind {
            $($(#[$doc])* $name,)+
        }

        impl StateKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The kind in words.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

kinds! {
    /// Nothing has happened yet.
    NotStarted => "not started",
    /// A model call is going on.
    Calling => "model call",
    /// The one model call after a limit is going on.
    Closing => "closing call",
    /// A model call failed and is tried again later.
    Waiting => "wait before a model call",
    /// A hook is asked what is to change.
    Hook => "hook",
    /// Calls run, or other agents do them.
    Running => "calls run",
    /// Calls run while people are asked about others.
    RunningAsked => "calls run, people asked",
    /// A tool is asked whether a call happened.
    Checking => "calls checked",
    /// Failed calls wait for their next try.
    Retrying => "wait before a call",
    /// People are asked about calls.
    Asked => "people asked",
    /// A person is asked about a limit.
    LimitAsked => "limit asked",
    /// Everything rests until a person resumes the run.
    Paused => "paused",
    /// The run is cancelled, and work is being stopped.
    Cancelling => "being cancelled",
    /// A limit has cut the loop, and work is being stopped.
    Cutting => "being cut",
    /// The run has ended.
    Ended => "ended",
}

impl fmt::Display for StateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl State {
    /// The kind of the run's state.
    pub fn kind(&self) -> StateKind {
        let going_on = !matches!(self.phase, Phase::New | Phase::Ended(_));
        if going_on && self.ending.is_cancel() {
            return StateKind::Cancelling;
        }
        if going_on && self.stopping() {
            return StateKind::Cutting;
        }
        match &self.phase {
            Phase::New => StateKind::NotStarted,
            Phase::Ended(_) => StateKind::Ended,
            Phase::Asking if self.model_calls.in_progress().next().is_none() => StateKind::Waiting,
            Phase::Asking if self.ending.closing().is_some() => StateKind::Closing,
            Phase::Asking => StateKind::Calling,
            Phase::Stepping { .. } => StateKind::Hook,
            // A call beside the loop, which the next turn waits for.
            Phase::Between if self.model_calls.in_progress().next().is_some() => StateKind::Calling,
            Phase::Between if self.model_calls.iter().next().is_some() => StateKind::Waiting,
            Phase::Between if self.questions.paused().is_some() => StateKind::Paused,
            Phase::Between => StateKind::LimitAsked,
            Phase::Acting(calls) => {
                let any = |fits: fn(&Stage) -> bool| calls.iter().any(|call| fits(call.stage()));
                if any(|stage| matches!(stage, Stage::Doubted { asked: Asked::Tool, .. })) {
                    StateKind::Checking
                } else if any(|stage| {
                    matches!(
                        stage,
                        Stage::Running { .. }
                            | Stage::Coding { .. }
                            | Stage::Verifying
                            | Stage::Delegated { .. }
                    )
                }) {
                    if self.questions.open().is_empty() {
                        StateKind::Running
                    } else {
                        StateKind::RunningAsked
                    }
                } else if any(|stage| {
                    matches!(stage, Stage::Retrying { .. } | Stage::DelegateDeferred { .. })
                }) {
                    StateKind::Retrying
                } else {
                    StateKind::Asked
                }
            }
        }
    }
}

macro_rules! inputs {
    ($($pattern:pat => $name:ident),+ $(,)?) => {
        impl InputKind {
            /// The names of all kinds of inputs, in the order of their definition.
            pub const KINDS: &'static [&'static str] = &[$(stringify!($name)),+];

            /// The kind's name.
            pub fn kind(&self) -> &'static str {
                match self {
                    $($pattern => stringify!($name),)+
                }
            }
        }
    };
}

inputs! {
    Self::Start(_) => Start,
    Self::Resumed { .. } => Resumed,
    Self::Replied { .. } => Replied,
    Self::ModelFailed { .. } => ModelFailed,
    Self::CallEnded { .. } => CallEnded,
    Self::CallLost { .. } => CallLost,
    Self::CodeCalls { .. } => CodeCalls,
    Self::CodeEnded { .. } => CodeEnded,
    Self::DelegateEnded { .. } => DelegateEnded,
    Self::DelegateAsks { .. } => DelegateAsks,
    Self::DelegateDeferred { .. } => DelegateDeferred,
    Self::Checked { .. } => Checked,
    Self::HookEnded { .. } => HookEnded,
    Self::Answered { .. } => Answered,
    Self::Steer(_) => Steer,
    Self::Pause { .. } => Pause,
    Self::Queue { .. } => Queue,
    Self::Cancel { .. } => Cancel,
    Self::ToolsChanged { .. } => ToolsChanged,
    Self::TimerFired { .. } => TimerFired,
}

/// The inputs that a call brings which runs, here or with another agent.
const OF_CALLS: &[&str] =
    &["CallEnded", "CallLost", "CodeCalls", "CodeEnded", "DelegateEnded", "DelegateAsks", "DelegateDeferred"];

impl StateKind {
    /// The reason why an input of that kind ([`InputKind::KINDS`]) never fits a state of this kind; `None`: it may fit.
    pub fn refuses(self, input: &str) -> Option<&'static str> {
        use StateKind::{
            Asked, Calling, Cancelling, Checking, Closing, Cutting, Ended, NotStarted, Retrying, Running,
            RunningAsked,
        };
        let calling = [Calling, Closing, Cancelling, Cutting].contains(&self);
        let acting = [Running, RunningAsked, Checking, Retrying, Asked].contains(&self);
        let working = [Running, RunningAsked, Checking, Cancelling, Cutting].contains(&self);
        if self == NotStarted {
            return (input != "Start").then_some("a run begins with its start");
        }
        let stopping = [Cancelling, Cutting].contains(&self);
        let is = |names: &[&str]| names.contains(&input);
        // The first that holds.
        let reasons = [
            (self == Ended, "the run has ended"),
            (is(&["Start"]), "a run starts once"),
            // Beside calls a summary may be in the making.
            (is(&["Replied", "ModelFailed"]) && !calling && !acting, "no model call is going on"),
            (is(OF_CALLS) && !working, "no call runs"),
            (is(&["Checked"]) && self != Checking && !stopping, "nothing is checked"),
            (is(&["HookEnded"]) && self != Self::Hook, "no hook is asked"),
            // A pause may be asked for at any time.
            (is(&["Answered"]) && stopping, "no question is open"),
            (is(&["Cancel"]) && self == Cancelling, "it is cancelled already"),
            (is(&["Pause"]) && self == Self::Paused, "it is paused already"),
            (is(&["Steer", "Pause"]) && stopping, "nobody listens any more"),
            (is(&["TimerFired"]) && stopping, "no timer is set any more"),
        ];
        reasons.iter().find(|(holds, _)| *holds).map(|(_, why)| *why)
    }
}
