//! Presets: each is a full set of values for the policy slots.

use std::collections::BTreeMap;
use std::fmt;

use crate::event::Purpose;

use super::{
    Another, AtLimit, Batch, Discovery, Limit, LimitKind, LogTexts, Malformed, Memory, Policy, Repetition,
    Results, Share, Stop, Talk, Texts, Transport, View, Wire,
};

/// The five loops by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// SwiftAgentKit's adapter: until a reply without calls.
    Chat,
    /// KAOS: fenced blocks in plain text.
    Text,
    /// PromptChain: iterations of refinement.
    Refine,
    /// The Session 10 agent: perception, plan, steps of code.
    Plan,
    /// acorn: typed input and output.
    Typed,
}

impl Preset {
    /// All presets with their names; the second is the system's own, taken as an alias.
    pub const NAMES: [(Self, &'static str, &'static str); 5] = [
        (Self::Chat, "chat", "swiftagent"),
        (Self::Text, "text", "kaos"),
        (Self::Refine, "refine", "promptchain"),
        (Self::Plan, "plan", "session10"),
        (Self::Typed, "typed", "acorn"),
    ];

    /// The preset of that name or alias.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES
            .into_iter()
            .find(|(_, own, alias)| name == *own || name == *alias)
            .map(|(preset, ..)| preset)
    }

    /// The name that says what it does.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(preset, ..)| *preset == self).map_or("", |(_, name, _)| name)
    }

    /// Names that the preset's system has for limits, each with the limit that it means here.
    pub fn limit_aliases(self) -> &'static [(&'static str, LimitKind)] {
        match self {
            Self::Chat => &[("maxAgenticIterations", LimitKind::ModelCalls)],
            Self::Text | Self::Typed => &[("max_steps", LimitKind::ModelCalls)],
            Self::Refine => {
                &[("max_internal_steps", LimitKind::Iterations), ("max_tool_rounds", LimitKind::ToolRounds)]
            }
            Self::Plan => &[("MAX_STEPS", LimitKind::PlanSteps), ("MAX_RETRIES", LimitKind::Retries)],
        }
    }

    /// The values before a run has started.
    pub(crate) fn first_policy(self) -> Policy {
        self.policy().unwrap_or_else(chat)
    }

    /// The preset's values, or `None` for one that this version does not have yet.
    pub(super) fn policy(self) -> Option<Policy> {
        match self {
            Self::Chat => Some(chat()),
            Self::Text => Some(text()),
            Self::Typed => Some(typed()),
            Self::Refine | Self::Plan => None,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn chat() -> Policy {
    Policy {
        preset: "chat".into(),
        wire: Wire::Auto,
        view: View::Full,
        purpose: Purpose::Act,
        stop: Stop::Text,
        single_turn: false,
        hooks: false,
        discovery: Discovery::All,
        cache: Vec::new(),
        temperature: None,
        talk: Talk::Answer,
        malformed: Malformed::FeedBack(3),
        batch: Batch::Concurrent(10),
        results: Results::Plain,
        retries: 0,
        retry_wait_ms: 1_000,
        parse_retries: 2,
        another: Another::Never,
        verify: None,
        repetition: Some(Repetition { note_at: 3, stop_at: 6 }),
        strategy: None,
        ask_on_replan: false,
        limits: BTreeMap::from([(LimitKind::ModelCalls, Limit { max: 10, at_limit: None })]),
        at_limit: AtLimit::LastText(Some("Maximum iterations reached. Unable to complete the task.".into())),
        share: Share::Equal,
        approve: Vec::new(),
        deny: Vec::new(),
        context: None,
        memory: None,
        forgets: false,
        merges_system: false,
        grace_ms: 2_000,
        tool_ms: 300_000,
        transport: Transport::default(),
        texts: Texts::default(),
    }
}

/// Texts of a preset whose system logs nothing of what SwiftAgentKit does.
fn silent(texts: Texts) -> Texts {
    Texts { log: LogTexts::default(), ..texts }
}

impl Policy {
    /// The loop that sums up a branch: one answer to the conversation as a text, at acorn's temperature.
    #[must_use]
    pub fn summary(transport: Transport) -> Self {
        Self {
            preset: "summary".into(),
            wire: Wire::Native,
            view: View::Transcript,
            purpose: Purpose::Merge,
            temperature: Some(0.3),
            at_limit: AtLimit::None,
            transport,
            texts: silent(Texts::default()),
            ..chat()
        }
    }
}

/// KAOS: one fenced block a turn, every model call is a step.
fn text() -> Policy {
    Policy {
        preset: "text".into(),
        wire: Wire::Fenced,
        batch: Batch::First,
        results: Results::Kaos,
        repetition: None,
        limits: BTreeMap::from([(LimitKind::ModelCalls, Limit { max: 5, at_limit: None })]),
        at_limit: AtLimit::Text("Reached maximum reasoning steps ({n})".into()),
        memory: Some(Memory { context_limit: 6, max_sessions: 1_000, max_session_events: 500 }),
        merges_system: true,
        tool_ms: 60_000,
        texts: silent(Texts::default()),
        ..chat()
    }
}

/// acorn's words, to the letter of its design.
const XML_FORM: &str = "You must provide your final answer now. Respond with your answer in the following XML structure:\n\
    {form}\n\nFill in the values. Do not repeat the descriptions.";

/// acorn: one accepted turn, unless `max_steps` is given; the output comes through the tool `__finish__`.
fn typed() -> Policy {
    Policy {
        preset: "typed".into(),
        stop: Stop::FinishTool,
        single_turn: true,
        temperature: Some(0.7),
        talk: Talk::Remind(2),
        results: Results::Acorn,
        repetition: None,
        limits: BTreeMap::new(),
        at_limit: AtLimit::ForceFinish,
        texts: silent(Texts {
            no_call: "No tool calls in agentic loop step after {n} retries".into(),
            no_call_at_once: "No tool called in single-turn mode after {n} retries".into(),
            xml_form: XML_FORM.into(),
            ..Texts::default()
        }),
        ..chat()
    }
}
