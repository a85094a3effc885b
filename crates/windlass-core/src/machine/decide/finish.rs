//! Typed output: what follows from calls of the finish tool, and from text that must be an output.

use serde_json::Value;
use windlass_text::xml::{from_xml, xml_form};

use crate::codec::args::{check_args, check_args_within};
use crate::machine::decide::limits::fill;
use crate::machine::decision::{Decision, RAW_OUTPUT};
use crate::policy::iterations::Another;
use crate::policy::limits::AtLimit;
use crate::policy::values::Stop;
use crate::protocol::fact::turns::TurnFailed;
use crate::protocol::fact::{OutputRejected, Rejection};
use crate::state::ending::ClosingStage;
use crate::state::model_calls::ModelCall;
use crate::state::open_call::OpenCall;
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::message::ToolCall;
use crate::vocabulary::model::Wire;
use crate::vocabulary::outcome::{CallOutcome, FailKind, Status};
use crate::vocabulary::purpose::ToolChoice;
use crate::vocabulary::reply::{FailureKind, ModelFailure};
use crate::vocabulary::tool::{OUTPUT_FIELD, OutputForm, ToolKind};

/// The root of an output in XML (acorn's default).
const XML_ROOT: &str = "output";
/// Why other calls of a turn that finishes the run are not run.
const RUN_FINISHED: &str = "the run finished";

/// The finish calls of a turn.
pub(crate) enum Finish {
    /// None of them is a call of the finish tool.
    None,
    /// The first one whose output fits, and the output.
    Valid(CallId, Option<Value>),
    /// The same, before required tools have succeeded: the note that says so.
    Unproven(CallId, Text),
    /// None fits: each with what is wrong.
    Rejected(Vec<(CallId, Text)>),
}

impl Finish {
    /// Outcome of this finish call in a turn that does not finish the run.
    pub(crate) fn outcome(&self, call: &CallId) -> CallOutcome {
        let rejected = match self {
            Self::Unproven(_, note) => return CallOutcome::Skipped { reason: note.clone() },
            Self::Rejected(all) => all.iter().find(|(id, _)| id == call).map(|(_, message)| message.clone()),
            Self::None | Self::Valid(..) => None,
        };
        match rejected {
            Some(message) => CallOutcome::Rejected { message },
            // A steering message arrived while the model finished: it enters before the run ends (E21).
            None => CallOutcome::Skipped { reason: "the user has said more".into() },
        }
    }
}

impl Decision {
    /// The finish calls of the current turn.
    pub(crate) fn finish_in_turn(&self) -> Finish {
        let mut rejected = Vec::new();
        let own = |open: &&OpenCall| open.origin().is_model() && self.is_finish(&open.call);
        for open in self.open_calls().iter().filter(own) {
            match self.output_of(&open.call) {
                Ok(output) => return Finish::Valid(open.call.id.clone(), output),
                Err(message) => rejected.push((open.call.id.clone(), message.into())),
            }
        }
        if rejected.is_empty() { Finish::None } else { Finish::Rejected(rejected) }
    }

    pub(crate) fn output_of(&self, call: &ToolCall) -> Result<Option<Value>, String> {
        let Some(tool) = self.state.tool(&call.name) else { return Ok(None) };
        let ToolKind::Finish(form) = tool.kind else { return Ok(None) };
        if form == OutputForm::None {
            return Ok(None);
        }
        let mut args = check_args_within(tool, &call.args, &self.checks)?;
        self.objected()?;
        Ok(match form {
            OutputForm::Value => args.get_mut(OUTPUT_FIELD).map(Value::take),
            OutputForm::Object | OutputForm::None => Some(args),
        })
    }

    /// Whether the agent's own check accepts the output of the reply that came.
    fn objected(&self) -> Result<(), String> {
        self.objection.as_ref().map_or(Ok(()), |objection| Err(objection.to_string()))
    }

    /// Ends the run with the output of this call. The other calls still get a result.
    pub(crate) fn finish_with(&mut self, call: &CallId, output: Option<Value>, status: Status) {
        let text = self.reply_text().filter(|text| !text.trim().is_empty());
        let all: Vec<OpenCall> = self.state.open_calls().cloned().collect();
        for open in all {
            let id = open.call.id.clone();
            let outcome = if id == *call {
                CallOutcome::Ok { content: "The run finished.".into() }
            } else {
                let wrong = self.is_finish(&open.call).then(|| self.output_of(&open.call).err()).flatten();
                wrong.map_or_else(
                    || CallOutcome::Skipped { reason: RUN_FINISHED.into() },
                    |message| CallOutcome::Rejected { message: message.into() },
                )
            };
            self.finish_call(id, outcome);
        }
        self.end_with(status, text, output, None);
    }

    /// After outputs that do not fit: whether the model may try again. If not, the run has failed.
    pub(crate) fn finish_goes_on(&mut self, finish: &Finish) -> bool {
        if let Finish::Unproven(call, note) = finish {
            return self.send_back(Some(call.clone()), note.clone());
        }
        let Finish::Rejected(rejected) = finish else { return true };
        let Some((call, message)) = rejected.first().cloned() else { return true };
        self.reject(Some(call), &message)
    }

    /// Records an output that does not fit. `false`: that was one too many, and the run has failed.
    pub(crate) fn reject(&mut self, call: Option<CallId>, message: &str) -> bool {
        // Of a fork that begins within the append: it is counted already.
        if call.as_ref().and_then(|id| self.state.open_call(id)).is_some_and(OpenCall::rejected) {
            return true;
        }
        let most = self.state.setup.policy().replies.parse_retries;
        if self.no_try_is_left() {
            let error =
                format!("Failed to validate output after {most} retries: {message}{}", self.raw_output(call));
            self.skip_all("the output was not accepted");
            self.fail(FailKind::Parse, error.into());
            return false;
        }
        let texts = &self.state.setup.policy().wording.texts;
        let note = if call.is_some() {
            message.into()
        } else {
            let form = if self.takes_text_output() { &texts.json_again } else { &texts.xml_again };
            fill(form, "{error}", message).into()
        };
        self.record(OutputRejected { reason: Rejection::Invalid, note, call, run_only: false });
        true
    }

    /// The model's last raw output, for the error of a failed run.
    fn raw_output(&self, call: Option<CallId>) -> String {
        let raw = match call {
            Some(id) => self.state.open_call(&id).map(|open| open.call.args.to_text()),
            None => self.reply_text(),
        };
        raw.map_or(String::new(), |raw| format!("{RAW_OUTPUT}{raw}"))
    }

    /// One more call that must finish: the tool choice is forced, the conversation stays as it is.
    pub(crate) fn force_finish(&mut self) {
        let native = self.state.wire() != Wire::Fenced;
        // A model that answers with the output is not told of the tool: the view takes it out of the choice.
        let Some(finish) = self.state.finish_tool().filter(|_| native) else {
            return self.ask_for_xml();
        };
        let choice = ToolChoice::Named(finish.name.clone());
        self.begin_turn(choice, None);
    }

    /// Asks for the output as text, where a call cannot be forced.
    fn ask_for_xml(&mut self) {
        let Some(schema) = self.output_form_schema() else {
            self.finish_closing(None);
            return;
        };
        let form = xml_form(XML_ROOT, &schema);
        let note = fill(&self.state.setup.policy().wording.texts.xml_form, "{form}", &form);
        self.begin_turn(ToolChoice::None, Some(note.into()));
    }

    /// The schema of what a finish tool's arguments are.
    fn output_form_schema(&self) -> Option<std::sync::Arc<Value>> {
        self.state.finish_tool().map(|tool| tool.parameters.clone())
    }

    /// The reply of a closing call that must finish. `false`: no such call is going on.
    pub(crate) fn forced_reply(&mut self) -> bool {
        let Some(closing) = self.state.ending.closing().cloned() else { return false };
        if closing.reached().at_limit != AtLimit::ForceFinish || self.state.finish_tool().is_none() {
            return false;
        }
        let status = Status::Limit(closing.reached().limit);
        match self.finish_in_turn() {
            Finish::Valid(call, output) => self.finish_with(&call, output, status),
            Finish::Rejected(rejected) => {
                let Some((call, message)) = rejected.first().cloned() else { return false };
                if self.reject(Some(call), &message) {
                    let finish = Finish::Rejected(rejected);
                    let all: Vec<OpenCall> = self.state.open_calls().cloned().collect();
                    for open in all {
                        let outcome = if self.is_finish(&open.call) {
                            finish.outcome(&open.call.id)
                        } else {
                            CallOutcome::Skipped { reason: "no tool can be called any more".into() }
                        };
                        self.finish_call(open.call.id, outcome);
                    }
                    if self.asked_for_text() {
                        // A choice that was ignored or refused is not forced again: each attempt would take two calls.
                        self.begin_turn(ToolChoice::None, None);
                    } else {
                        self.force_finish();
                    }
                }
            }
            Finish::None | Finish::Unproven(..) if self.takes_text_output() => {
                let text = self.reply_text();
                self.skip_all("no tool can be called any more");
                self.close_with(text);
            }
            Finish::None | Finish::Unproven(..) if self.asked_for_text() => self.xml_reply(status),
            Finish::None | Finish::Unproven(..) => {
                self.skip_all("no tool can be called any more");
                self.ask_for_xml();
            }
        }
        true
    }

    /// Whether the closing call that was answered asked for the output as text.
    fn asked_for_text(&self) -> bool {
        self.state.ending.closing().is_some_and(|closing| closing.stage() == ClosingStage::TextAsked)
    }

    fn xml_reply(&mut self, status: Status) {
        self.skip_all("no tool can be called any more");
        let text = self.reply_text().unwrap_or_else(|| "".into());
        let Some(schema) = self.output_form_schema() else { return };
        let read = from_xml(XML_ROOT, &text, &schema).and_then(|args| {
            let Some(tool) = self.state.finish_tool() else { return Ok(args) };
            let mut args = check_args(tool, &args.to_string())?;
            self.objected()?;
            if tool.kind == ToolKind::Finish(OutputForm::Value) {
                return Ok(args.get_mut(OUTPUT_FIELD).map(Value::take).unwrap_or_default());
            }
            Ok(args)
        });
        match read {
            Ok(output) => self.end_with(status, None, Some(output), None),
            Err(message) => {
                if self.reject(None, &message) {
                    self.begin_turn(ToolChoice::None, None);
                }
            }
        }
    }

    /// A provider that knows no forced tool choice: the output is asked for as text instead (acorn).
    pub(crate) fn forced_choice_refused(&mut self, model_call: &ModelCall, failure: &ModelFailure) -> bool {
        let refused = matches!(failure.kind, FailureKind::Unsupported | FailureKind::BadRequest);
        if self.state.ending.closing().is_none()
            || !refused
            || !matches!(model_call.choice(), ToolChoice::Named(_))
            // No choice was sent.
            || self.state.answers_in_text(model_call.model())
        {
            return false;
        }
        let failure = failure.clone();
        self.record(TurnFailed::last(model_call, failure));
        self.ask_for_xml();
        true
    }

    /// Whether an answer in text must be an output: the model that gave it was asked for one.
    pub(crate) fn takes_text_output(&self) -> bool {
        self.state.setup.output().is_some()
            && (self.state.setup.policy().replies.stop == Stop::Text || self.state.turn.output_in_text())
    }

    /// The reply of a closing call without tools: where an output is wanted, it must be one.
    pub(crate) fn close_with(&mut self, text: Option<Text>) {
        let Some(closing) = self.state.ending.closing().cloned().filter(|_| self.takes_text_output()) else {
            return self.finish_closing(text);
        };
        match self.read_output(text.as_deref()) {
            Ok(output) => self.end_with(Status::Limit(closing.reached().limit), text, Some(output), None),
            // A summary is worth something without an output.
            Err(_) if closing.reached().at_limit == AtLimit::WrapUp && self.no_try_is_left() => {
                self.finish_closing(text);
            }
            Err(message) => {
                if self.reject(None, &message) {
                    self.begin_turn(ToolChoice::None, None);
                }
            }
        }
    }

    fn no_try_is_left(&self) -> bool {
        self.state.turn.consecutive().rejected() >= self.state.setup.policy().replies.parse_retries
    }

    /// The output that a reply in text is.
    pub(crate) fn read_output(&self, text: Option<&str>) -> Result<Value, String> {
        let Some(schema) = self.state.setup.output() else { return Err("no output is wanted".to_owned()) };
        let output = crate::codec::args::check_output(schema, text.unwrap_or_default())?;
        self.objected().map(|()| output)
    }

    /// A reply in text where an output is wanted: JSON that fits the schema.
    pub(crate) fn text_output(&mut self, text: Option<Text>) {
        match self.read_output(text.as_deref()) {
            Ok(output) if self.state.conversation.steering().is_empty() => {
                if let Some(note) = self.unproven() {
                    return self.again_with(note);
                }
                if self.state.setup.policy().replies.another != Another::Never {
                    return self.drafted();
                }
                self.end_with(Status::Answered, text, Some(output), None);
            }
            Ok(_) => self.drafted(),
            Err(message) => {
                if self.reject(None, &message) {
                    self.next_turn();
                }
            }
        }
    }
}
