//! The letters that answer a question of each kind.

use windlass_core::event::QuestionKind;

use crate::face::{Key, Then};

const fn key(letter: char, label: &'static str, then: Then, about: &'static str) -> Key {
    Key { letter, label, about, then, enters: false, number: None }
}

impl Key {
    /// Enter alone does the same.
    const fn entered(self) -> Self {
        Self { enters: true, ..self }
    }

    /// So does the number of a suggestion.
    const fn numbered(self, number: char) -> Self {
        Self { number: Some(number), ..self }
    }
}

const LATER: Key = key(
    'l',
    "[l]ater",
    Then::Answers,
    "leave the question: the run waits, and is asked again when you go on",
);

static APPROVAL: [Key; 6] = [
    key('y', "[y]es", Then::Answers, "the call runs, this once"),
    key(
        'a',
        "[a]lways",
        Then::Enter("always: Enter lets this and all later calls of the tool in this session run"),
        "it runs, and so do further calls of this tool in this session; Enter confirms it",
    ),
    key(
        'n',
        "[n]o",
        Then::Words("why not? "),
        "it does not run; the model reads your reason and goes on; Esc does the same",
    ),
    key('e', "[e]dit", Then::Answers, "change the arguments in your editor, then it runs"),
    key('s', "[s]how all", Then::Answers, "show the arguments whole, above"),
    LATER,
];
static OUTCOME: [Key; 4] = [
    key(
        'r',
        "[r]esult",
        Then::Needs("its result: "),
        "it ran: type its result, as the tool would have given it",
    ),
    key(
        'a',
        "run [a]gain",
        Then::Enter("again: Enter runs the call once more, whatever it did before"),
        "run the call again, though it may have had its effect; Enter confirms it",
    ),
    key('u', "[u]nknown", Then::Answers, "nobody knows: the model is told so, and goes on"),
    LATER,
];
static PAUSE: [Key; 2] = [
    key('r', "[r]esume", Then::Words("say to it: "), "the run goes on, with what you say to it").entered(),
    LATER,
];
static AUTH: [Key; 2] = [
    key('r', "renew the key, then [r]etry", Then::Answers, "the key is renewed: try again")
        .entered()
        .numbered('1'),
    LATER,
];
static PLAN: [Key; 5] = [
    key('a', "[a]ccept", Then::Answers, "accept the plan as it is").entered(),
    key('p', "[p]lan anew", Then::Needs("plan (LINE; LINE or JSON): "), "another plan in its place"),
    key('c', "[c]onclude", Then::Needs("conclude with: "), "end with this text as the answer"),
    key('j', "[j]son", Then::Needs("answer (JSON): "), "end with this value as the answer"),
    LATER,
];
static LIMIT: [Key; 4] = [
    key('c', "[c]onclude", Then::Words("conclude with: "), "end with this text, or with what there is")
        .numbered('2'),
    key('j', "[j]son", Then::Needs("answer (JSON): "), "end with this value as the answer"),
    key('r', "[r]aise", Then::Needs("the new limit: "), "raise the limit, and go on"),
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
    let labels: Vec<&str> = keys(kind).iter().map(|key| key.label).collect();
    if labels.is_empty() {
        return None;
    }
    let quit = if chat { "; Ctrl-C: later, too" } else { "" };
    Some(format!("{}, ? explains{quit}", labels.join(", ")))
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
            assert!(keys(kind).iter().filter(|key| key.enters).count() <= 1, "{kind:?}");
            for key in keys(kind) {
                assert!(key.label.contains(&format!("[{}]", key.letter)), "{}", key.label);
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
