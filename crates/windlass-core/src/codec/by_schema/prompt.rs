//! The instructions for replies by schema: a model that is held to a schema need not have seen it.

use std::sync::Arc;

use crate::codec::by_schema::alternatives::Wanted;
use crate::codec::by_schema::object_message;
use crate::codec::fenced::prompt_with;
use crate::policy::results::Results;
use crate::vocabulary::message::Message;
use crate::vocabulary::reply::AnswerForm;
use crate::vocabulary::tool::ToolSpec;

const TO_CALL: &str = "Every reply is one JSON object and nothing else.\n\
    To use a tool, reply in this form; its result comes with the next message:\n\
    {\"reply\": {\"tool\": \"tool_name\", \"arguments\": {\"arg1\": \"value1\"}}}\n\
    Use one tool at a time.";
const TO_ANSWER: &str = "To answer, reply in this form:\n{\"reply\": {\"answer\": \"your answer\"}}";
const TO_ANSWER_WITH: &str =
    "To answer, reply in the form {\"reply\": {\"answer\": ...}}, with a value of this schema:";

/// The messages before the conversation, with the offered tools described in the system prompt. It depends on no choice among
/// tools, so that the provider's cache of it stays valid.
pub(crate) fn object_prompt(
    prompt: &[Arc<Message>],
    tools: &[ToolSpec],
    answer: Option<Wanted<'_>>,
    results: &Results,
) -> Vec<Arc<Message>> {
    let described: Vec<String> = tools
        .iter()
        .filter(|tool| tool.is_offered())
        .map(|tool| format!("- **{}**: {}\n  Parameters: {}", tool.name, tool.description, tool.parameters))
        .collect();
    let mut sections = vec![format!("\n## Available Tools\n{}", described.join("\n")), TO_CALL.to_owned()];
    let mut form = AnswerForm::Text;
    match answer {
        None => {}
        Some(Wanted::Text) => sections.push(TO_ANSWER.to_owned()),
        Some(Wanted::Output(schema)) => {
            form = AnswerForm::Output;
            sections.push(format!("{TO_ANSWER_WITH}\n{schema}"));
        }
    }
    prompt_with(&sections, prompt, |message| object_message(message, results, form))
}
