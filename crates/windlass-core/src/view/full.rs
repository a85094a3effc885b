//! The whole conversation, as calls and results, or as text for a model that knows no calls.

use std::sync::Arc;

use super::{Growth, Maker, Messages, View};
use crate::asks::Ask;
use crate::event::ToolChoice;
use crate::fenced::fenced_prompt;
use crate::policy::{Stop, Wire};
use crate::schema::plain_schema;
use crate::state::State;
use crate::tool::ToolSpec;

pub(super) const MAKER: Maker = Maker { view, bytes, growth: Growth::Appended };

pub(super) fn view(state: &State, ask: &Ask) -> View {
    let (setup, policy) = (&state.setup, &state.setup.policy);
    let wire =
        setup.models.get(ask.model as usize).map_or(policy.request.wire, |model| policy.wire_of(model));
    let shown = &state.toolbox.shown;
    let (wording, prompt, tools, choice) = if wire == Wire::Fenced {
        // The tools stand in the prompt, and no provider is told of them.
        let offered: &[ToolSpec] = if ask.choice == ToolChoice::None { &[] } else { shown };
        let prompt = fenced_prompt(&setup.prompt, offered, &policy.wording.results);
        (Some(Arc::new(policy.wording.results.clone())), Arc::new(prompt), Arc::default(), ToolChoice::None)
    } else {
        (None, setup.prompt.clone(), shown.clone(), ask.choice.clone())
    };
    let output_form = setup.output.as_ref().filter(|_| policy.replies.stop == Stop::Text);
    View {
        prompt,
        messages: Messages::shared(&state.conversation.history, wording),
        tools,
        choice,
        output_form: output_form.map(|schema| Arc::new(plain_schema(schema))),
        cache_points: policy.request.cache.0.clone(),
        bytes: bytes(state, wire),
    }
}

pub(super) fn bytes(state: &State, wire: Wire) -> u64 {
    let prompt: u64 = state.setup.prompt.iter().map(|message| message.bytes()).sum();
    let history = match wire {
        Wire::Fenced => state.conversation.history.bytes_as_text(),
        Wire::Auto | Wire::Native => state.conversation.history.bytes(),
    };
    prompt.saturating_add(history)
}
