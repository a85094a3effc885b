//! The names that a template reads: those that nothing will give it are known before it is rendered.

use std::collections::HashSet;

use minijinja::machinery::Token;

use super::tags::{Fault, Tag};

/// Words of the language that stand where names do.
const WORDS: [&str; 13] =
    ["and", "else", "false", "False", "if", "in", "is", "none", "None", "not", "or", "true", "True"];

/// The parts of the input that a template needs (`lang` of `{{ input.lang }}`), each once, in order.
///
/// # Errors
/// It reads a name that is none of `known`, and that it neither sets itself, nor asks about (`is defined`), nor replaces
/// (`default`).
pub(super) fn read(tags: &[Tag<'_>], known: &[&str]) -> Result<Vec<String>, Fault> {
    let own: HashSet<&str> = tags.iter().flat_map(own).chain(["range"]).collect();
    let (mut of_input, mut seen) = (Vec::new(), HashSet::new());
    for tag in tags {
        for (at, name) in tag.words().filter(|(at, word)| is_name(tag, *at, word)) {
            let part = tag.word(at + 2).filter(|_| matches!(tag.token(at + 1), Some(Token::Dot)));
            if own.contains(name) || is_replaced(tag, at + 1) {
                continue;
            }
            if !known.contains(&name) {
                let known: Vec<String> = known.iter().map(|known| format!("`{known}`")).collect();
                let reason = format!("there is no value `{name}`, only {}", known.join(", "));
                return Err(Fault::at(tag.span(at), reason));
            }
            let needed = part.filter(|_| !is_replaced(tag, at + 3) && !is_asked(tag, at + 3));
            if let Some(part) = needed.filter(|part| name == "input" && seen.insert(*part)) {
                of_input.push(part.to_owned());
            }
        }
    }
    Ok(of_input)
}

/// Names that a tag gives a value or asks about. Where it does so is not looked at.
fn own<'t>(tag: &Tag<'t>) -> Vec<&'t str> {
    let assigned = |at: usize| matches!(tag.token(at), Some(Token::Assign));
    let first = tag.word(0).filter(|_| tag.is_block).unwrap_or_default();
    let targets = match first {
        "for" => tag.words().find(|(_, word)| *word == "in").map(|(at, _)| at),
        "set" | "with" => tag.assignment(),
        _ => None,
    };
    let targets = 1..targets.unwrap_or_default();
    let named = tag.words().filter(|(at, word)| {
        let asked = is_name(tag, *at, word) && is_asked(tag, at + 1);
        asked || targets.contains(at) || first == "with" && assigned(at + 1)
    });
    named.map(|(_, word)| word).chain(Some("loop").filter(|_| first == "for")).collect()
}

/// Whether a word is the name of a value: no word of the language, part of another value, filter, test or argument.
fn is_name(tag: &Tag<'_>, at: usize, word: &str) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| tag.word(at));
    let belongs = at.checked_sub(1).is_some_and(|at| matches!(tag.token(at), Some(Token::Dot | Token::Pipe)));
    let is_test = before(1) == Some("is") || before(1) == Some("not") && before(2) == Some("is");
    let is_argument = matches!(tag.token(at + 1), Some(Token::Assign));
    let is_statement = tag.is_block && at == 0;
    !(WORDS.contains(&word) || belongs || is_test || is_argument || is_statement)
}

/// Whether `default` follows.
fn is_replaced(tag: &Tag<'_>, at: usize) -> bool {
    matches!(tag.token(at), Some(Token::Pipe)) && matches!(tag.word(at + 1), Some("default" | "d"))
}

/// Whether a test follows that asks if there is a value.
fn is_asked(tag: &Tag<'_>, at: usize) -> bool {
    let test = at + 1 + usize::from(tag.word(at + 1) == Some("not"));
    tag.word(at) == Some("is") && matches!(tag.word(test), Some("defined" | "undefined"))
}
