//! The meaning of a line that is typed at a question.

use windlass_core::Answer;
use windlass_core::event::QuestionKind;
use windlass_core::run::OpenQuestion;

use super::Put;
use windlass_runtime::host::read_answer;

/// Meaning of a typed line.
#[derive(Debug)]
pub(super) enum Typed {
    Answer(Answer),
    /// Not now: the run is suspended.
    Later,
    /// Not now, and the conversation is over.
    Quit,
    /// Everything that was left out is wanted.
    All,
    /// The arguments are to be edited.
    Edit,
    /// Invalid; holds what was expected.
    Unclear(String),
}

/// The answers to a question of that kind, as one types them.
pub(super) fn choices(kind: QuestionKind, cut: bool, chat: bool) -> String {
    let (later, quit) = (", [l]ater", if chat { ", /quit" } else { "" });
    match kind {
        QuestionKind::Approval => {
            let all = if cut { ", [s]how all" } else { "" };
            format!(
                "[y]es, [a]lways in this session, [n]o, [n]o REASON, [e]dit the arguments{all}{later}{quit}"
            )
        }
        QuestionKind::Clarify => {
            format!("type the answer, or the number of a suggestion; Ctrl-D: later{quit}")
        }
        QuestionKind::Outcome => format!("[r]esult TEXT, [a]gain, [u]nknown{later}{quit}"),
        QuestionKind::Result => format!("type the result; [l]ater{quit}"),
        QuestionKind::Plan => {
            format!(
                "Enter or [a]ccept, [p]lan LINE; LINE or JSON, [c]onclude TEXT, [j]son ANSWER{later}{quit}"
            )
        }
        QuestionKind::Limit(_) => format!("[c]onclude TEXT, [j]son ANSWER, [r]aise N{later}{quit}"),
        QuestionKind::Pause => format!("[r]esume, [r]esume MESSAGE{later}{quit}"),
        QuestionKind::Auth => format!("renew the key, then Enter or [r]etry{later}{quit}"),
    }
}

/// Reads a line.
pub(super) fn typed(put: &Put<'_>, line: &str) -> Typed {
    let (word, rest) =
        line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()));
    let kind = put.question.kind;
    let words = match (kind, word) {
        (_, "/quit" | "/exit") if rest.is_empty() => return Typed::Quit,
        (QuestionKind::Clarify, _) => return clarified(put.question, line, &put.choices),
        (_, "l" | "later") if rest.is_empty() => return Typed::Later,
        (QuestionKind::Approval, "y" | "yes" | "approve") => format!("approve {rest}"),
        (QuestionKind::Approval, "a" | "always") => format!("always {rest}"),
        (QuestionKind::Approval, "n" | "no" | "deny") => format!("deny {rest}"),
        (QuestionKind::Approval, "s" | "show") => return Typed::All,
        (QuestionKind::Approval, "e" | "edit" | "args") if rest.is_empty() => return Typed::Edit,
        (QuestionKind::Approval, "e" | "edit" | "args") => {
            return put.read_args(rest).map_or_else(Typed::Unclear, Typed::Answer);
        }
        (QuestionKind::Outcome, "r" | "result") => format!("result {rest}"),
        (QuestionKind::Outcome, "a" | "again" | "run_again") => format!("run_again {rest}"),
        (QuestionKind::Outcome, "u" | "unknown") => format!("unknown {rest}"),
        (QuestionKind::Pause, "r" | "resume") => format!("resume {rest}"),
        (QuestionKind::Auth, "" | "1" | "r" | "retry") => format!("retry {rest}"),
        (QuestionKind::Result, _) => line.to_owned(),
        (QuestionKind::Limit(_), "1") if rest.is_empty() => "conclude".to_owned(),
        (QuestionKind::Plan, "") => "accept".to_owned(),
        (QuestionKind::Plan | QuestionKind::Limit(_), "j" | "json") => format!("json {rest}"),
        (QuestionKind::Plan, "a" | "accept") => format!("accept {rest}"),
        (QuestionKind::Plan, "p" | "plan") => format!("plan {rest}"),
        (QuestionKind::Plan | QuestionKind::Limit(_), "c" | "conclude") => format!("conclude {rest}"),
        (QuestionKind::Limit(_), "r" | "raise") => format!("raise {rest}"),
        _ => return Typed::Unclear(put.choices.clone()),
    };
    let words: Vec<String> = words.trim().split(' ').map(str::to_owned).collect();
    read_answer(kind, &words).map_or_else(Typed::Unclear, Typed::Answer)
}

fn clarified(question: &OpenQuestion, line: &str, choices: &str) -> Typed {
    let chosen = line.parse::<usize>().ok().and_then(|place| question.suggestions.get(place.checked_sub(1)?));
    match chosen {
        Some(suggestion) => Typed::Answer(Answer::Text(suggestion.clone())),
        None if line.is_empty() => Typed::Unclear(choices.to_owned()),
        None => Typed::Answer(Answer::Text(line.into())),
    }
}
