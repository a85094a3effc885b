//! The letters that answer a question of each kind.

use windlass_core::event::QuestionKind;

use crate::face::{Key, Then};

const fn key(letter: char, then: Then, about: &'static str) -> Key {
    Key { letter, about, then, enters: false }
}

const fn entered(letter: char, then: Then, about: &'static str) -> Key {
    Key { letter, about, then, enters: true }
}

const LATER: Key =
    key('l', Then::Answers, "leave the question: the run waits, and is asked again when you go on");

static APPROVAL: [Key; 6] = [
    key('y', Then::Answers, "the call runs, this once"),
    key(
        'a',
        Then::Enter("always: Enter lets this and all later calls of the tool in this session run"),
        "it runs, and so do further calls of this tool in this session; Enter confirms it",
    ),
    key('n', Then::Words("why not? "), "it does not run; the model reads your reason and goes on"),
    key('e', Then::Answers, "change the arguments in your editor, then it runs"),
    key('s', Then::Answers, "show the arguments whole, above"),
    LATER,
];
static OUTCOME: [Key; 4] = [
    key('r', Then::Words("its result: "), "it ran: type its result, as the tool would have given it"),
    key(
        'a',
        Then::Enter("again: Enter runs the call once more, whatever it did before"),
        "run the call again, though it may have had its effect; Enter confirms it",
    ),
    key('u', Then::Answers, "nobody knows: the model is told so, and goes on"),
    LATER,
];
static PAUSE: [Key; 2] =
    [entered('r', Then::Words("say to it: "), "the run goes on, with what you say to it"), LATER];
static AUTH: [Key; 2] = [entered('r', Then::Answers, "the key is renewed: try again"), LATER];
static PLAN: [Key; 5] = [
    entered('a', Then::Answers, "accept the plan as it is"),
    key('p', Then::Words("plan (LINE; LINE or JSON): "), "another plan in its place"),
    key('c', Then::Words("conclude with: "), "end with this text as the answer"),
    key('j', Then::Words("answer (JSON): "), "end with this value as the answer"),
    LATER,
];
static LIMIT: [Key; 4] = [
    key('c', Then::Words("conclude with: "), "end with this text, or with what there is"),
    key('j', Then::Words("answer (JSON): "), "end with this value as the answer"),
    key('r', Then::Words("the new limit: "), "raise the limit, and go on"),
    LATER,
];

/// The letters for a question of that kind. None: its answer is typed.
pub(super) fn keys(kind: QuestionKind) -> &'static [Key] {
    match kind {
        QuestionKind::Approval => &APPROVAL,
        QuestionKind::Outcome => &OUTCOME,
        QuestionKind::Pause => &PAUSE,
        QuestionKind::Auth => &AUTH,
        QuestionKind::Plan => &PLAN,
        QuestionKind::Limit(_) => &LIMIT,
        QuestionKind::Clarify | QuestionKind::Result => &[],
    }
}

/// The answers in a line. `None`: the answer is typed.
pub(super) fn choices(kind: QuestionKind, chat: bool) -> Option<String> {
    let letters = match kind {
        QuestionKind::Approval => "[y]es, [a]lways, [n]o, [e]dit, [s]how all",
        QuestionKind::Outcome => "[r]esult, run [a]gain, [u]nknown",
        QuestionKind::Pause => "[r]esume",
        QuestionKind::Auth => "renew the key, then [r]etry",
        QuestionKind::Plan => "[a]ccept, [p]lan anew, [c]onclude, [j]son",
        QuestionKind::Limit(_) => "[c]onclude, [j]son, [r]aise",
        QuestionKind::Clarify | QuestionKind::Result => return None,
    };
    let quit = if chat { "; Ctrl-C: later, too" } else { "" };
    Some(format!("{letters}, [l]ater, ? explains{quit}"))
}

#[cfg(test)]
mod tests {
    use windlass_core::policy::LimitKind;

    use super::*;

    #[test]
    fn each_letter_is_in_the_line_of_answers_and_means_one_thing() {
        let kinds = [
            QuestionKind::Approval,
            QuestionKind::Outcome,
            QuestionKind::Pause,
            QuestionKind::Auth,
            QuestionKind::Plan,
            QuestionKind::Limit(LimitKind::ModelCalls),
        ];
        for kind in kinds {
            let line = choices(kind, true).unwrap();
            for key in keys(kind) {
                assert_eq!(line.matches(&format!("[{}]", key.letter)).count(), 1, "{kind:?}: {line}");
                assert_eq!(
                    keys(kind).iter().filter(|other| other.letter == key.letter).count(),
                    1,
                    "{kind:?}"
                );
            }
            assert_eq!(line.matches('[').count(), keys(kind).len(), "{kind:?}: {line}");
        }
    }
}
