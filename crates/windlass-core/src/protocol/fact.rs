//! Events: facts about a run, in the past tense, stored for ever.
//!
//! A [`State`](crate::State) is the fold of its events. Nothing is ever edited or removed: corrections are new events.
//! The stored form is described in `docs/log-format.md`; each kind carries a schema version ([`Fact::SCHEMA`]).

pub(crate) mod calls;
pub(crate) mod code;
pub(crate) mod context;
pub(crate) mod fork;
pub(crate) mod interrupts;
pub(crate) mod iterations;
pub(crate) mod limits;
pub(crate) mod payloads;
pub(crate) mod plan;
pub(crate) mod refused;
pub(crate) mod run;
pub(crate) mod turns;
pub(crate) mod verdict;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::policy::Policy;
use crate::protocol::fact::calls::{
    CallDecided, CallDoubted, CallFinished, CallHeld, CallRetried, CallStarted, DelegationDeferred,
    DelegationFinished, DelegationStarted, ResultSummarised, StepBranched, ToolAllowed,
};
use crate::protocol::fact::code::{CodeCalled, CodeFinished, CodeStarted};
use crate::protocol::fact::context::{Compacted, CompactionSkipped, ContextMeasured, ContextWarned};
use crate::protocol::fact::interrupts::{AnsweredBy, RunPaused, Steered};
use crate::protocol::fact::iterations::{BlackboardRestored, BlackboardSaved, IterationStarted, Judged};
use crate::protocol::fact::limits::{LimitRaised, LimitReached};
use crate::protocol::fact::plan::{Perceived, PlanMade, PlanProposed, StepFinished};
use crate::protocol::fact::refused::{ProbeAnswered, RefusedItems, RefusedSetting, RefusedTool};
use crate::protocol::fact::run::{AgentRef, AgentSwitch, RunResumed, RunStarted};
use crate::protocol::fact::turns::{HedgeSkipped, TurnCompleted, TurnFailed, TurnHedged, TurnStarted};
use crate::protocol::fact::verdict::CallVerified;
use crate::vocabulary::binding::BindingDigests;
use crate::vocabulary::history::Splice;
use crate::vocabulary::ids::{CallId, Millis, QuestionId, RunId, Text};
use crate::vocabulary::message::Message;
use crate::vocabulary::model::ModelChoice;
use crate::vocabulary::outcome::Status;
use crate::vocabulary::payload::Ref;
use crate::vocabulary::question::{Answer, QuestionKind};
use crate::vocabulary::reply::Usage;
use crate::vocabulary::tool::ToolSpec;

/// One fact with its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When it was accepted, in the time of the input that caused it.
    pub at: Millis,
    /// The recorded fact.
    #[serde(flatten)]
    pub fact: Fact,
}

macro_rules! facts {
    ($($(#[$about:meta])* $group:ident($of:ident) { $($(#[$doc:meta])* $short:ident = $name:ident($held:ty),)+ })+) => {
        /// A fact: one kind of event with its data, by the part of the loop that it is about. A kind is stored under the name of
        /// its struct, and its group is not stored; large data are boxed, so that a log in memory keeps small events.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Fact {
            $($(#[$about])* $group($of),)+
        }

        $($(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $of {
            $($(#[$doc])* $short($held),)+
        }

        impl From<$of> for Fact {
            fn from(fact: $of) -> Self {
                Self::$group(fact)
            }
        })+

        impl Fact {
            /// The schema version of newly written events.
            pub const SCHEMA: u32 = 1;

            /// The names of all kinds, group by group.
            pub const KINDS: &'static [&'static str] = &[$($(stringify!($name)),+),+];

            /// The kind's name, as it is stored and shown.
            pub fn kind(&self) -> &'static str {
                match self {
                    $($(Self::$group($of::$short(_)) => stringify!($name),)+)+
                }
            }

            /// The data as JSON text, without kind and time: what a store keeps as the event's body.
            ///
            /// # Errors
            /// A value that JSON cannot hold; none of our types has one.
            pub fn body(&self) -> serde_json::Result<String> {
                match self {
                    $($(Self::$group($of::$short(data)) => serde_json::to_string(data),)+)+
                }
            }

            /// Reads the data of a fact of that kind, in this version's schema, from where it stands.
            ///
            /// # Errors
            /// As for [`Fact::from_body`].
            pub(crate) fn deserialize_body<'de, D>(kind: &str, data: D) -> Result<Self, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                match kind {
                    $($(stringify!($name) => {
                        <$held>::deserialize(data).map(|data| Self::$group($of::$short(data)))
                    })+)+
                    other => Err(serde::de::Error::unknown_variant(other, Self::KINDS)),
                }
            }

            /// Reads what [`Fact::body`] wrote.
            ///
            /// # Errors
            /// The kind is unknown to this version, or the body does not fit it.
            pub fn from_body(kind: &str, body: &str) -> serde_json::Result<Self> {
                let mut reader = serde_json::Deserializer::from_str(body);
                let fact = Self::deserialize_body(kind, &mut reader)?;
                reader.end()?;
                Ok(fact)
            }
        }

        $($(impl From<$name> for Fact {
            fn from(data: $name) -> Self {
                Self::$group($of::$short(<$held>::from(data)))
            }
        })+)+

        /// The written form of a fact, which has no groups.
        #[derive(Serialize)]
        #[serde(tag = "type", content = "data")]
        enum Written<'f> {
            $($($name(&'f $held),)+)+
        }

        impl Serialize for Fact {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $($(Self::$group($of::$short(data)) => Written::$name(data),)+)+
                }
                .serialize(serializer)
            }
        }

        /// The same, as it is read.
        #[derive(Deserialize)]
        #[serde(tag = "type", content = "data")]
        enum Read {
            $($($name($held),)+)+
        }

        impl<'de> Deserialize<'de> for Fact {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok(match Read::deserialize(deserializer)? {
                    $($(Read::$name(data) => Self::$group($of::$short(data)),)+)+
                })
            }
        }
    };
}

facts! {
    /// The run as a whole.
    Run(RunFact) {
        /// A run began.
        Started = RunStarted(Box<RunStarted>),
        /// A holder took the run over after a crash or a pause.
        Resumed = RunResumed(RunResumed),
        /// The run's tools, models or instructions changed while it was running.
        Adjusted = Adjusted(Adjusted),
        /// The run's one end.
        Ended = RunEnded(RunEnded),
    }
    /// Model calls, and what became of them.
    Model(ModelFact) {
        /// A model call was decided on; its request is built from the state when the call starts.
        Started = TurnStarted(TurnStarted),
        /// A model call brought a whole reply.
        Completed = TurnCompleted(TurnCompleted),
        /// A model call failed; with `retry_at`, it is tried again.
        Failed = TurnFailed(TurnFailed),
        /// A request without some items of the conversation was accepted, in the search for the one that the provider refuses. Its
        /// reply is not used.
        ProbeAnswered = ProbeAnswered(ProbeAnswered),
        /// A model has taken too long to reply, and the next one is asked beside it.
        Hedged = TurnHedged(TurnHedged),
        /// A model has taken too long to reply, and the limits leave too little for another one beside it.
        HedgeSkipped = HedgeSkipped(HedgeSkipped),
        /// A reply was not accepted, and the model is told why.
        OutputRejected = OutputRejected(OutputRejected),
    }
    /// Calls of tools.
    Call(CallFact) {
        /// A call waits for a person's decision.
        Held = CallHeld(CallHeld),
        /// A call was allowed or denied.
        Decided = CallDecided(CallDecided),
        /// A person allowed all calls of a tool for the rest of the session.
        ToolAllowed = ToolAllowed(ToolAllowed),
        /// A model judged a call before it runs.
        Verified = CallVerified(Box<CallVerified>),
        /// A call may run from here on: durable before done.
        Started = CallStarted(CallStarted),
        /// A try of a call failed and another one follows.
        Retried = CallRetried(CallRetried),
        /// A call had started when the process died, and its effect must not be repeated blindly.
        Doubted = CallDoubted(CallDoubted),
        /// A call has its one result.
        Finished = CallFinished(CallFinished),
        /// A model summed up the result of a call, or could not.
        ResultSummarised = ResultSummarised(ResultSummarised),
        /// A hook asked for branches; it is asked again once they have ended.
        StepBranched = StepBranched(StepBranched),
    }
    /// Code that a model wrote.
    Code(CodeFact) {
        /// Code that a model wrote may run from here on: durable before done.
        Started = CodeStarted(CodeStarted),
        /// Code makes calls, and waits for their results.
        Called = CodeCalled(CodeCalled),
        /// Code has its one result.
        Finished = CodeFinished(CodeFinished),
    }
    /// Tasks that were handed to other agents.
    Delegation(DelegationFact) {
        /// A task was handed to another agent: durable before done.
        Started = DelegationStarted(Box<DelegationStarted>),
        /// A handed-over task waits for the quota of a model, and is handed over again then.
        Deferred = DelegationDeferred(DelegationDeferred),
        /// A handed-over task has its one result.
        Finished = DelegationFinished(DelegationFinished),
    }
    /// Plans, iterations and the blackboard.
    Plan(PlanFact) {
        /// Perception judged the query, or the result of a step.
        Perceived = Perceived(Box<Perceived>),
        /// A plan waits for a person's word.
        Proposed = PlanProposed(PlanProposed),
        /// A version of the plan was made or continued, with its next step.
        Made = PlanMade(PlanMade),
        /// A step of the plan has its one result.
        StepFinished = StepFinished(StepFinished),
        /// An inner loop up to an answer began.
        IterationStarted = IterationStarted(IterationStarted),
        /// An answer was judged.
        Judged = Judged(Judged),
        /// A snapshot was made of the blackboard.
        BlackboardSaved = BlackboardSaved(BlackboardSaved),
        /// A run was stuck: the blackboard went back to its last snapshot, and the model is told. No result is removed.
        BlackboardRestored = BlackboardRestored(BlackboardRestored),
    }
    /// The conversation as models are sent it.
    Context(ContextFact) {
        /// The conversation was changed: by a hook, or because the provider refuses items of it.
        HistoryEdited = HistoryEdited(HistoryEdited),
        /// The provider's count of a request differs from the estimate by more than a tenth.
        Measured = ContextMeasured(ContextMeasured),
        /// A request has reached the share of the context budget that gives a warning.
        Warned = ContextWarned(ContextWarned),
        /// The conversation was made smaller.
        Compacted = Compacted(Compacted),
        /// The conversation should have been made smaller and is as before.
        CompactionSkipped = CompactionSkipped(CompactionSkipped),
    }
    /// Questions, answers and messages of people.
    People(PeopleFact) {
        /// A question was put to a person.
        InputRequested = InputRequested(InputRequested),
        /// A question was answered.
        InputReceived = InputReceived(InputReceived),
        /// A message to the running agent was accepted; it enters the conversation at the next turn.
        Steered = Steered(Steered),
        /// The run stands still until the question of its pause is answered: everything that was going on has ended.
        Paused = RunPaused(RunPaused),
        /// A message came to the session while the run was going on; a run of its own answers it afterwards.
        MessageQueued = MessageQueued(MessageQueued),
        /// Cancellation was requested.
        CancelRequested = CancelRequested(CancelRequested),
    }
    /// Limits that cut the loop.
    Limit(LimitFact) {
        /// A limit cut the loop.
        Reached = LimitReached(LimitReached),
        /// A limit was raised by a person.
        Raised = LimitRaised(LimitRaised),
    }
}

/// See [`PeopleFact::InputRequested`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputRequested {
    /// The question's id.
    pub question: QuestionId,
    /// Kind of answer expected.
    pub kind: QuestionKind,
    /// The call that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The question in words.
    pub text: Text,
    /// Answers to choose from, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<Text>,
    /// The question's id in the run that the call was handed to, if it comes from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_question: Option<QuestionId>,
    /// The model call that begins once it is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Box<TurnStarted>>,
}

/// See [`PeopleFact::InputReceived`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputReceived {
    /// The question.
    pub question: QuestionId,
    /// The answer.
    pub answer: Answer,
    /// The giver, and the place; `None`: nobody has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AnsweredBy>,
}

/// See [`PeopleFact::MessageQueued`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageQueued {
    /// The id of the run that answers it.
    pub run: RunId,
    /// SHA-256 of the request that brought it, where it came under an idempotency key
    /// ([`RunStarted::request_digest`](crate::event::RunStarted::request_digest)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_digest: Option<Text>,
    /// The message.
    pub messages: Vec<Arc<Message>>,
}

/// See [`RunFact::Adjusted`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Adjusted {
    /// All tools from here on; `None`: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Arc<Vec<ToolSpec>>>,
    /// All models with their settings from here on; `None`: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Arc<Vec<ModelChoice>>>,
    /// The messages before the conversation from here on; `None`: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Arc<Vec<Arc<Message>>>>,
    /// The objective of an adopted run, as in [`RunStarted::objective`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Text>,
    /// The values of all policy slots from here on; `None`: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Arc<Policy>>,
    /// All binding digests from here on; `None`: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding_digests: Option<Arc<BindingDigests>>,
    /// The agent that continues an imported run; `None`: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRef>,
    /// The files that it was made of ([`RunStarted::agent_files`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_files: Option<Arc<Ref>>,
    /// Another agent that a person gave the run; `None`: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switched: Option<Box<AgentSwitch>>,
    /// A tool that is offered no longer, because a provider refuses requests with it; `None`: no other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedTool>,
    /// A setting that is not sent any longer, because a provider refuses requests with it (`models` has none of it); `None`: no other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_setting: Option<Box<RefusedSetting>>,
}

/// See [`ContextFact::HistoryEdited`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryEdited {
    /// The changes, one after another: places count in the conversation as the earlier ones left it.
    pub splices: Vec<Splice>,
    /// The items that the provider refused, where they are why; `None`: a hook changed the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedItems>,
}

/// Why a reply was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// The token limit cut it off.
    Truncated,
    /// The model declined.
    Refused,
    /// The provider's filter cut it off.
    Filtered,
    /// It calls no tool where one is expected, or says nothing at all.
    NoCall,
    /// It does not fit the output schema.
    Invalid,
    /// It was given before required tools had succeeded.
    Unproven,
}

/// See [`ModelFact::OutputRejected`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputRejected {
    /// Why.
    pub reason: Rejection,
    /// Note to the model: a message of its own, or the result of `call`.
    pub note: Text,
    /// The call of the finish tool that was not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// Whether the reply and the note are of no use beyond this run: the session goes on without them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub run_only: bool,
}

/// See [`PeopleFact::CancelRequested`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CancelRequested {
    /// Why, or by whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
}

/// See [`RunFact::Ended`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// Final status.
    pub status: Status,
    /// The answer, or the preset's text for this end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
    /// The typed output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The error, for `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Text>,
    /// Tokens used by the whole run.
    pub usage: Usage,
    /// Cost of the whole run in pico-dollars; `None` where a price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}
