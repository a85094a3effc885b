//! The words of a command line, with places for arguments.

use serde_json::{Map, Value};

use crate::tool::ToolError;

/// A word of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Fixed(String),
    Param(String),
}

impl Word {
    /// Reads a word: `{name}` is the place of a parameter, `{{` and `}}` are braces, and braces around anything that is no
    /// name are text.
    pub(super) fn parse(word: &str) -> Self {
        let mut pieces = Vec::new();
        let mut fixed = String::new();
        let mut rest = word;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, braced) = rest.split_at(at);
            fixed.push_str(before);
            let name = braced.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            if let Some(tail) = braced.strip_prefix("{{").or_else(|| braced.strip_prefix("}}")) {
                fixed.push_str(braced.get(..1).unwrap_or(""));
                rest = tail;
            } else if let Some((name, tail)) = name.filter(|(name, _)| is_name(name)) {
                if !fixed.is_empty() {
                    pieces.push(Piece::Fixed(std::mem::take(&mut fixed)));
                }
                pieces.push(Piece::Param(name.to_owned()));
                rest = tail;
            } else {
                let (brace, tail) = braced.split_at(1);
                fixed.push_str(brace);
                rest = tail;
            }
        }
        fixed.push_str(rest);
        if !fixed.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Fixed(fixed));
        }
        Self(pieces)
    }

    /// The parameters that the word has places for.
    pub(super) fn params(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Param(name) => Some(name.as_str()),
            Piece::Fixed(_) => None,
        })
    }

    /// The word with arguments in their places; `None` if one of them is missing or null.
    ///
    /// # Errors
    /// An argument begins with `-` where that is not allowed, or has a zero byte, which no program can be given.
    pub(super) fn filled(
        &self,
        args: &Map<String, Value>,
        dashes: bool,
    ) -> Result<Option<String>, ToolError> {
        let mut word = String::new();
        for piece in &self.0 {
            let name = match piece {
                Piece::Fixed(text) => {
                    word.push_str(text);
                    continue;
                }
                Piece::Param(name) => name,
            };
            let value = match args.get(name) {
                None | Some(Value::Null) => return Ok(None),
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            if value.starts_with('-') && !dashes {
                let message =
                    format!("the argument `{name}` begins with `-`, which would be taken for an option");
                return Err(ToolError::of_kind("InvalidArguments", message));
            }
            if value.contains('\0') {
                let message = format!("the argument `{name}` has a zero byte");
                return Err(ToolError::of_kind("InvalidArguments", message));
            }
            word.push_str(&value);
        }
        Ok(Some(word))
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests;
