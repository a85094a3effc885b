//! Texts as data: templates with named places, such as `{error}`. What a run is given are the preset's.

use serde::{Deserialize, Serialize};

use crate::vocabulary::ids::Text;
use crate::vocabulary::message::SteerKind;

/// Makes a struct of templates. A run stores only templates that differ from the defaults, so the defaults may change only
/// together with [`Fact::SCHEMA`](crate::Fact::SCHEMA): old runs must fold to the same messages.
macro_rules! templates {
    ($(#[$about:meta])* $Set:ident { $($(#[$doc:meta])* $name:ident: $default:expr,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
        #[serde(default)]
        pub struct $Set {
            $($(#[$doc])* pub $name: Text,)+
        }

        impl Default for $Set {
            fn default() -> Self {
                Self { $($name: $default.into(),)+ }
            }
        }

        impl ::serde::Serialize for $Set {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeMap as _;
                let default = Self::default();
                let mut map = serializer.serialize_map(None)?;
                $(if self.$name != default.$name {
                    map.serialize_entry(stringify!($name), &self.$name)?;
                })+
                map.end()
            }
        }
    };
}
pub(crate) use templates;

templates! {
    /// Fixed texts for the model.
    Texts {
        /// The input of a run, `{input}`: of a conversation, the last message that a person or another agent said.
        input: "{input}",
        /// `talk: {remind: n}`.
        reminder: "You must respond by calling one of the available tools. Use the provided tools to take action, \
                   or call __finish__ with the appropriate arguments to complete the task.",
        /// `talk: {clarify: n}`.
        clarification: "Please either call a tool or provide the final answer.",
        /// `talk: {correct: n}`.
        correction: "You must call a tool or indicate you are done.",
        /// The error of a run that ends because no prompt helped; `{n}` is how many there were.
        no_call: "the model neither called a tool nor answered after {n} prompts",
        /// The same of a run that ends after one accepted turn ([`Turns::One`](super::Turns::One)).
        no_call_at_once: "the model neither called a tool nor answered after {n} prompts",
        /// Before the second phase of a turn ([`Phases::Two`](super::Phases::Two)).
        answer_now: "No further action was asked for. Give your answer to the user now, in plain text and not as an action.",
        /// The text of such a run. Empty: it has none.
        no_call_text: "",
        /// The text of a cancelled run. Empty: it has none.
        cancelled: "",
        /// After a reply that the token limit cut off.
        truncated: "Your last reply was cut off at the token limit and was not used. \
                    Reply again, and be brief enough to finish.",
        /// After a reply in which the model declined.
        refused: "Your last reply was a refusal and was not used. \
                  Answer as far as you can, or say plainly what you cannot do.",
        /// After a reply that the provider's filter cut off.
        filtered: "Your last reply was stopped by a content filter and was not used. Reply again in other words.",
        /// The text of a run whose model has failed; `{error}` says why. Without it the run has no text.
        model_failed: "",
        /// The same after a timeout; `{seconds}` is how long. Without it the other one applies.
        model_timed_out: "",
        /// After an answer that was given before required tools had succeeded; `{tools}` names them.
        unproven: "Your answer was not accepted, because required tools have not succeeded yet: {tools}. \
                   Call them first, then answer. If that is impossible, say why.",
        /// Before the conversation of a run that is reminded of earlier ones; `{runs}` are their inputs and answers. Empty: the
        /// model is not told.
        recalled: "Earlier runs with similar inputs ended with these answers. They may be outdated; \
                   use them where they help.\n{runs}",
        /// A message to the running agent, `{text}`.
        steering_message: "{text}",
        /// A correction to the running agent, `{text}`.
        correction_message: "[Correction]: {text}",
        /// A clarification to the running agent, `{text}`.
        clarification_message: "[Clarification]: {text}",
        /// Another objective of the running agent, `{text}`.
        objective_message: "[The objective is now]: {text}",
        /// After `note_at` equal calls in a row; `{n}` is their number, `{tool}` the tool.
        repeated: "You have called `{tool}` {n} times in a row with the same arguments. \
                   The result will not change: use what you have, or do something else.",
        /// After calls of one tool in a row (`stuck`); `{n}` is their number, `{tool}` the tool.
        stuck: "You have called `{tool}` {n} times in a row and seem to be stuck. All results so far are kept. \
                Use them, or try another way.",
        /// Before the closing call of `wrap_up`; `{n}` is the limit's number, `{limit}` what it counts (`tool rounds`).
        wrap_up: "The limit of {n} {limit} is reached. No more tools can be called. \
                  Sum up what was done and found, and give the best answer that this allows.",
        /// Question to a person at a limit (`at_limit: ask`); `{amount}` is the limit with its unit, `{n}` its number, `{reached}`
        /// the number that was reached.
        ask_limit: "The limit of {amount} is reached. Conclude with a text, or raise the limit?",
        /// The same at the limit `plan_steps`. Empty: as at the others.
        ask_steps: "",
        /// Suggestions of these questions, one a line. The first concludes with what there is.
        limit_suggestions: "Conclude with current results\nProvide final answer",
        /// Question to a person about a step that failed after all tries; `{n}` is the number of further tries, `{step}` the step,
        /// `{error}` its last error.
        ask_result: "The step `{step}` failed after {n} retries: {error}\nWhich result is to be used?",
        /// The same about a step that has tries left and gets none, because a call of it may have happened.
        ask_doubtful: "The step `{step}` failed, and is not tried again because a call of it may have happened: {error}\n\
                       Which result is to be used?",
        /// Question to a person about a new plan (`ask_on_replan`); `{plan}` are its lines, `{step}` is its next step.
        ask_plan: "The plan failed. Proposed plan:\n{plan}\nNext step: {step}",
        /// Opens the next iteration of `another: always`, and after a judge that was not satisfied and does not say why.
        another: "Check your last answer against the objective, and give a better and complete one. \
                  If nothing can be better, give the same answer again.",
        /// Instructions of the judge.
        judge: "You judge whether a draft answer does what was asked, no more and no less. Reply with one JSON object \
                and nothing else: {\"satisfied\": true, \"missing\": \"\"} if it does, else {\"satisfied\": false, \
                \"missing\": \"...\"} with what is missing or wrong, addressed to its author.",
        /// After a reply of the judge that could not be read.
        judge_again: "Your last reply was not the JSON object that was asked for. Reply with it, and with nothing else.",
        /// Request for the output as text, where a call of the finish tool cannot be forced; `{form}` is the form to fill in.
        xml_form: "You must provide your final answer now. Respond with your answer in the following XML structure:\n\n\
                   {form}\n\nFill in the values. Do not repeat the descriptions.",
        /// After such an answer that does not fit; `{error}` says why.
        xml_again: "Error: Output validation failed: {error}\n\n\
                    Please respond again with the XML structure, filled in with valid values.",
        /// Contract of a perception.
        perceive: "",
        /// Contract of a decision; `{tools}` are the functions that code can call.
        decide: "",
        /// After an answer that is to be JSON and does not fit; `{error}` says why.
        json_again: "Error: Output validation failed: {error}\n\nReply again with JSON that fits the schema.",
    }
}

/// The place of the input in its template.
pub(crate) const INPUT: &str = "{input}";

impl Texts {
    /// An input as it was given, where it stands under a heading of its own and not in the words of [`Texts::input`].
    pub(crate) fn unworded<'t>(&self, input: &'t str) -> &'t str {
        let Some((before, after)) = self.input.split_once(INPUT) else { return input };
        input.strip_prefix(before).and_then(|input| input.strip_suffix(after)).unwrap_or(input)
    }

    /// A message to the running agent, as the model reads it.
    pub(crate) fn steering(&self, kind: SteerKind, text: &str) -> Text {
        let template = match kind {
            SteerKind::Steering => &self.steering_message,
            SteerKind::Correction => &self.correction_message,
            SteerKind::Clarification => &self.clarification_message,
            SteerKind::Objective => &self.objective_message,
        };
        filled(template, &[("text", text)]).into()
    }
}

/// Lines that go to the log at fixed places; `None`: none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogTexts {
    /// Added to each model call that acts: `{i}` is its number, `{max}` the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Text>,
    /// At the beginning of each iteration: `{i}` is its number, `{max}` the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<Text>,
    /// As a call begins: `{tool}` is its tool, `{id}` its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Text>,
    /// After a reply with calls: `{k}` is how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Text>,
    /// After a reply that is the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Text>,
    /// When the limit on model calls or iterations cut the loop, `{max}`: a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Text>,
    /// When a call of a turn in two phases begins: `{i}` is the number of the step, `{max}` the limit, `{action}` is
    /// `tool_call` or `delegate`, `{target}` the tool or agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Text>,
}

impl LogTexts {
    /// No lines.
    pub fn silent() -> Self {
        let (iteration, call) = (None, None);
        Self { turn: None, iteration, call, calls: None, answer: None, limit: None, progress: None }
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for LogTexts {
    fn default() -> Self {
        Self {
            turn: Some("Agentic iteration {i}/{max}".into()),
            iteration: None,
            call: None,
            calls: Some("Executing {k} tool call(s)".into()),
            answer: Some("Final response received (no tool calls)".into()),
            limit: Some("Max agentic iterations reached without final response".into()),
            progress: Some(
                r#"{"type": "progress", "step": {i}, "max_steps": {max}, "action": "{action}", "target": "{target}"}"#
                    .into(),
            ),
        }
    }
}

/// A template with its places filled in, in one pass: a value that looks like a place stays as it is.
pub(crate) fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let value = values.iter().find_map(|(name, value)| {
            let tail = after.strip_prefix(name)?.strip_prefix('}')?;
            Some((*value, tail))
        });
        // A brace that begins no place is text.
        let (value, tail) = value.unwrap_or(("{", after));
        out.push_str(value);
        rest = tail;
    }
    out.push_str(rest);
    out
}
