//! The consequences of replies by schema, and the facts that are learnt of models that take no tools.

use std::sync::Arc;

use crate::codec::by_schema::pieces::AnswerPieces;
use crate::codec::by_schema::{ParsedReply, faulty, read};
use crate::codec::forms::ReadCall;
use crate::machine::decision::Decision;
use crate::protocol::fact::Adjusted;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::ids::Text;
use crate::vocabulary::model::{ModelChoice, Wire};
use crate::vocabulary::purpose::ToolChoice;
use crate::vocabulary::reply::{AnswerForm, Reply, StopReason};

impl Decision {
    /// The call that a reply by schema is, which stays in its text; or the form of an answer, which takes the place of the text.
    pub(crate) fn calls_by_schema(
        model_call: &ModelCall,
        form: AnswerForm,
        reply: &mut Reply,
    ) -> (Vec<ReadCall>, Option<AnswerForm>) {
        let Some(text) = reply.text.clone().filter(|text| !text.trim().is_empty()) else {
            return (Vec::new(), None);
        };
        let declined = matches!(reply.stop, StopReason::Refused | StopReason::Filtered);
        let read = read(&text, form);
        let cut = reply.stop == StopReason::Length
            && !matches!(read, ParsedReply::Answer(_) | ParsedReply::Call(_));
        let fault = match (read, cut.then(|| begun(form, &text)).flatten()) {
            (ParsedReply::Answer(answer), _) | (_, Some(answer)) => {
                reply.text = Some(answer);
                if let Some(annotations) = &mut reply.annotations {
                    annotations.without_spans();
                }
                return (Vec::new(), Some(form));
            }
            // Where no tool is offered, everything else is text.
            (ParsedReply::Call(_) | ParsedReply::Neither(_) | ParsedReply::Prose, _)
                if *model_call.choice() == ToolChoice::None =>
            {
                return (Vec::new(), None);
            }
            (ParsedReply::Call(call), _) => return (vec![call], None),
            (ParsedReply::Prose, _) if declined => return (Vec::new(), None),
            (ParsedReply::Prose, _) => "it is no JSON object".to_owned(),
            (ParsedReply::Neither(fault), _) => fault,
        };
        (vec![faulty(&text, &fault)], None)
    }

    /// Whether the reply says that the server holds no model to schemas: it is no object at all, though the model was learnt to be
    /// asked by schema.
    pub(crate) fn ignores_schema(&self, model_call: &ModelCall, reply: &Reply) -> bool {
        let detected = self.state.setup.policy().request.wire == Wire::Auto;
        let whole = matches!(reply.stop, StopReason::Stop | StopReason::ToolCalls);
        let text = reply.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        detected
            && whole
            && reply.calls.is_empty()
            && self.state.by_schema(model_call).is_some()
            && text.is_some_and(|text| !crate::codec::phases::unfenced(text).starts_with('{'))
    }

    /// The run's models with every choice of this one changed; `None`: `change` has changed none.
    pub(crate) fn adjusted(
        &self,
        model: u32,
        mut change: impl FnMut(&mut ModelChoice) -> bool,
    ) -> Option<Adjusted> {
        let mut models = (**self.state.setup.models()).clone();
        let name = models.get(model as usize)?.name.clone();
        let mut changed = false;
        for choice in models.iter_mut().filter(|choice| choice.name == name) {
            changed |= change(choice);
        }
        changed.then(|| Adjusted { models: Some(Arc::new(models)), ..Adjusted::default() })
    }
}

/// The part of an answer that was cut off; `None`: the reply is no answer so far.
fn begun(form: AnswerForm, text: &str) -> Option<Text> {
    let mut pieces = AnswerPieces::of(form);
    let answer = pieces.push(text);
    pieces.has_begun().then(|| answer.into())
}
