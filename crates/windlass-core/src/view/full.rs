//! The whole conversation, as calls and results, or as text for a model that knows no calls.

use std::sync::Arc;

use windlass_schema::plain_schema;

use crate::codec::by_schema::alternatives::{Wanted, alternatives};
use crate::codec::by_schema::prompt::object_prompt;
use crate::codec::fenced::{actions_prompt, fenced_prompt};
use crate::policy::values::Phases;
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::state::output::prompt_for;
use crate::view::{Growth, Maker, Messages, View, Wording};
use crate::vocabulary::message::Message;
use crate::vocabulary::model::Wire;
use crate::vocabulary::output::{OutputBy, is_any_object};
use crate::vocabulary::purpose::ToolChoice;
use crate::vocabulary::reply::AnswerForm;
use crate::vocabulary::tool::{FINISH_TOOL, ToolSpec};

pub(crate) const MAKER: Maker = Maker { view, bytes, growth: Growth::Appended };

pub(crate) fn view(state: &State, model_call: &ModelCall) -> View {
    let (setup, policy) = (&state.setup, state.setup.policy());
    let wire = wire(state, model_call);
    let visible = state.toolbox.visible();
    // In two phases the prompt stays the same, so that the provider's cache of it stays valid.
    let hidden = *model_call.choice() == ToolChoice::None && policy.replies.phases == Phases::One;
    if let Some(form) = state.by_schema(model_call) {
        return by_schema(state, model_call, form);
    }
    let (wording, prompt, tools, choice) = if wire == Wire::Fenced {
        // The tools stand in the prompt, and no provider is told of them.
        let offered: &[ToolSpec] = if hidden { &[] } else { visible };
        let worded = match policy.replies.phases {
            Phases::One => fenced_prompt,
            Phases::Two => actions_prompt,
        };
        let prompt = worded(setup.prompt(), offered, &policy.wording.results);
        let wording = Wording::Blocks(Arc::new(policy.wording.results.clone()));
        (Some(wording), Arc::new(prompt), Arc::default(), ToolChoice::None)
    } else {
        (None, setup.prompt().clone(), visible.clone(), model_call.choice().clone())
    };
    let by = state.output_by(model_call.model()).filter(|_| !state.is_for_actions(model_call));
    let (tools, choice) = match state.toolbox.without_finish().filter(|_| by == Some(OutputBy::Native)) {
        Some(others) => (others.clone(), choice.without(FINISH_TOOL)),
        None => (tools, choice),
    };
    let output_form = setup.output().filter(|_| by == Some(OutputBy::Native));
    let prompt = match setup.output() {
        Some(schema)
            if by == Some(OutputBy::Prompt) || output_form.is_some_and(|form| is_any_object(form)) =>
        {
            Arc::new(prompt_for(&prompt, &plain_schema(schema)))
        }
        _ => prompt,
    };
    View {
        prompt,
        messages: Messages::shared(state.conversation.history(), wording),
        tools,
        choice,
        output_form: output_form.map(|schema| Arc::new(plain_schema(schema))),
        cache_points: policy.request.cache.explicit().to_vec(),
        max_tokens: None,
        bytes: bytes(state, wire),
    }
}

/// The same where replies are objects by schema: the provider is told of no tools, and the schema has the forms that the choice
/// among them leaves.
fn by_schema(state: &State, model_call: &ModelCall, form: AnswerForm) -> View {
    let (setup, policy) = (&state.setup, state.setup.policy());
    let (visible, results) = (state.toolbox.visible(), &policy.wording.results);
    let output = setup.output().filter(|_| form == AnswerForm::Output).map(|output| plain_schema(output));
    let answer = state.may_answer().then(|| output.as_ref().map_or(Wanted::Text, Wanted::Output));
    View {
        prompt: Arc::new(object_prompt(setup.prompt(), visible, answer, results)),
        messages: Messages::shared(
            state.conversation.history(),
            Some(Wording::Objects(Arc::new(results.clone()), form)),
        ),
        tools: Arc::default(),
        choice: ToolChoice::None,
        output_form: Some(Arc::new(alternatives(visible, model_call.choice(), answer))),
        cache_points: policy.request.cache.explicit().to_vec(),
        max_tokens: None,
        bytes: bytes(state, Wire::Schema),
    }
}

pub(crate) fn bytes(state: &State, wire: Wire) -> u64 {
    let history = match wire {
        Wire::Schema | Wire::Fenced => state.conversation.history().bytes_as_text(),
        Wire::Auto | Wire::Native => state.conversation.history().bytes(),
    };
    prompt_bytes(state).saturating_add(history)
}

/// The wire of the model that is asked.
pub(crate) fn wire(state: &State, model_call: &ModelCall) -> Wire {
    let (setup, policy) = (&state.setup, state.setup.policy());
    setup.models().get(model_call.model() as usize).map_or(policy.request.wire, |model| policy.wire_of(model))
}

/// Bytes of a message over that wire.
pub(crate) fn message_bytes(message: &Message, wire: Wire) -> u64 {
    match wire {
        Wire::Schema | Wire::Fenced => message.bytes().saturating_sub(message.bytes_again()),
        Wire::Auto | Wire::Native => message.bytes(),
    }
}

/// Bytes of the messages before the conversation.
pub(crate) fn prompt_bytes(state: &State) -> u64 {
    state.setup.prompt().iter().map(|message| message.bytes()).sum()
}
