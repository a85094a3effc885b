//! Values that a `loop` section may name and this version does not support yet. The commit that implements one deletes its
//! line.

use serde_json::Value;

use crate::vocabulary::settings::written::Word;

/// A key, or values of a key, whose behaviour does not exist yet.
#[derive(Clone, Copy, Debug)]
pub struct Later {
    /// The key's path in the section, with dots.
    pub path: &'static str,
    /// Values that ask for nothing: they are taken, and change nothing.
    pub taken: &'static [Word<'static>],
    /// The values that come later; empty: all others.
    pub later: &'static [&'static str],
}

/// Meaning of a value of such a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Nothing.
    Nothing,
    /// Something that this version cannot do yet.
    Later,
    /// Something else: the key's reader looks at it.
    Else,
}

/// All of them.
pub const LATER: &[Later] = &[values("wire", &["xml"])];

const fn values(path: &'static str, later: &'static [&'static str]) -> Later {
    Later { path, taken: &[], later }
}

impl Later {
    /// Meaning of this value of the key.
    pub fn named(&self, value: &Value) -> Named {
        let is = |word: &Word<'_>| match word {
            Word::Text(text) => value.as_str() == Some(text),
            Word::Flag(flag) => value.as_bool() == Some(*flag),
        };
        if self.taken.iter().any(is) {
            Named::Nothing
        } else if self.later.is_empty() || value.as_str().is_some_and(|text| self.later.contains(&text)) {
            Named::Later
        } else {
            Named::Else
        }
    }

    /// Whether the whole key comes later.
    pub fn is_key(&self) -> bool {
        self.later.is_empty()
    }
}
