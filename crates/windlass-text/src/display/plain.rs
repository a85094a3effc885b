//! Text from models, tools, files and servers as a terminal may show it.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::display::unseen::is_unseen;

/// The text with each character that could steer the terminal or reorder a line written as an escape (`\u{1b}`).
/// Line ends and tabs stay; a carriage return goes from the end of a line.
pub fn plain(text: &str) -> Cow<'_, str> {
    let text =
        if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    if !text.contains(|char| !matches!(char, '\n' | '\t') && steers(char)) {
        return text;
    }
    Cow::Owned(text.chars().fold(String::with_capacity(text.len() + 8), |mut out, char| {
        match char {
            '\n' | '\t' => out.push(char),
            char => escape(&mut out, char),
        }
        out
    }))
}

/// The same on one line: line ends are escapes, too.
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::with_capacity(text.len() + 8), |mut out, char| {
        escape(&mut out, char);
        out
    }))
}

/// JSON that means the same, with such characters written as JSON's own escapes. They can only stand within its strings.
pub fn in_json(json: &str) -> Cow<'_, str> {
    if !json.contains(steers) {
        return Cow::Borrowed(json);
    }
    Cow::Owned(json.chars().fold(String::with_capacity(json.len() + 8), |mut out, char| {
        if steers(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                let _infallible = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(char);
        }
        out
    }))
}

fn escape(out: &mut String, char: char) {
    if steers(char) {
        out.extend(char.escape_unicode());
    } else {
        out.push(char);
    }
}

/// Whether a character controls the terminal or the text's display: controls (ECMA-48 sequences all begin with one) and
/// invisible characters, including marks that reorder a line (Unicode UAX 9). Joiners and variation selectors that scripts and
/// emoji need are kept.
fn steers(char: char) -> bool {
    let is_needed = matches!(char, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
    char.is_control() || is_unseen(char) && !is_needed
}

#[cfg(test)]
mod tests;
