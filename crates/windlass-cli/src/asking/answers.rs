//! The commands that answer a question.

use windlass_core::event::QuestionKind;
use windlass_core::run::OpenQuestion;

use crate::home::quoted;

/// The commands that answer a question, without `windlass`.
pub(crate) fn commands(run: windlass_core::RunId, log: &str, question: &OpenQuestion) -> Vec<String> {
    if question.kind == QuestionKind::Pause && question.call.is_none() {
        return vec![format!("windlass runs resume{log} {run}")];
    }
    let ways: Vec<String> = match question.kind {
        QuestionKind::Approval => vec!["approve".to_owned(), "deny 'why not'".to_owned()],
        QuestionKind::Clarify => {
            vec![quoted(question.suggestions.first().map_or("your answer", |first| first))]
        }
        QuestionKind::Outcome => {
            vec!["result 'ITS RESULT'".to_owned(), "run_again".to_owned(), "unknown".to_owned()]
        }
        QuestionKind::Result => vec![quoted("the result")],
        QuestionKind::Plan => vec!["accept".to_owned(), "conclude 'your text'".to_owned()],
        // Of a task's run.
        QuestionKind::Pause => vec!["resume".to_owned()],
        QuestionKind::Auth => vec!["retry".to_owned()],
        QuestionKind::Limit(_) => vec!["conclude 'your text'".to_owned(), "raise N".to_owned()],
    };
    ways.into_iter().map(|way| format!("windlass runs answer{log} {run} {} {way}", question.id)).collect()
}
