//! Owns [`Masker`]: all secrets that are known, and the texts without them.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use serde_json::Value;

use super::matcher::replaced;
use super::patterns::Patterns;
use super::{Secret, StreamMask};

/// Maximum number of known secrets. A new one replaces the oldest: of keys that rotate, the oldest has expired.
const MAX_SECRETS: usize = 1_024;

/// Hides secrets in texts, also in base64, hexadecimal, URL and JSON escapes, each of them broken into lines. The time it takes is
/// linear in the text, however many secrets there are.
///
/// Each [`Secret`] is known to the process's own masker, [`Masker::of_process`], which [`mask`] asks.
#[derive(Default)]
pub struct Masker {
    any: AtomicBool,
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    secrets: VecDeque<Arc<str>>,
    /// Made when it is first asked for after a change.
    patterns: Option<Arc<Patterns>>,
}

/// The text without any secret that this process knows.
pub fn mask(text: &str) -> Cow<'_, str> {
    Masker::of_process().hide(text)
}

/// Number of bytes that must be read past the part of a text that is kept, so that a secret at the cut is masked as a whole.
pub const SECRET_MARGIN: usize = 16 * 1024;

/// The last bytes of a text of which up to [`SECRET_MARGIN`] more were read: masked before it is cut, since half a secret
/// would not be known.
pub fn mask_and_cut(text: &str, bytes: usize) -> String {
    let masked = mask(text);
    let cut = masked.ceil_char_boundary(masked.len().saturating_sub(bytes));
    masked.get(cut..).unwrap_or_default().to_owned()
}

/// The first bytes of a text, masked before it is cut, and whether anything of it is left out. A `body` of more than
/// [`SECRET_MARGIN`] bytes beyond those may have been read in part: half a secret at its end is left out, too.
pub fn mask_first(body: &[u8], bytes: usize) -> (String, bool) {
    let text = String::from_utf8_lossy(body);
    let masked = mask(&text);
    let may_go_on = body.len() >= bytes + SECRET_MARGIN;
    let known = masked.len().saturating_sub(if may_go_on { SECRET_MARGIN } else { 0 });
    let kept = masked.get(..masked.floor_char_boundary(known.min(bytes))).unwrap_or_default();
    (kept.to_owned(), kept.len() < masked.len())
}

/// Masks all texts of a JSON value, the names of its fields too.
pub fn mask_json(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(masked) = mask(text) {
                *text = masked;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_json),
        Value::Object(fields) => {
            if fields.keys().any(|name| matches!(mask(name), Cow::Owned(_))) {
                let named = std::mem::take(fields).into_iter();
                *fields = named.map(|(name, value)| (mask(&name).into_owned(), value)).collect();
            }
            fields.values_mut().for_each(mask_json);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Masker {
    /// A masker that knows no secret.
    pub fn new() -> Self {
        Self::default()
    }

    /// The masker that knows each [`Secret`] of this process.
    pub fn of_process() -> &'static Self {
        static OF_PROCESS: OnceLock<Masker> = OnceLock::new();
        OF_PROCESS.get_or_init(Self::new)
    }

    /// Whether it knows no secret.
    pub fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }

    /// Hides a secret from now on. One that is too short ([`Secret::is_masked`]) stays visible.
    pub fn add(&self, secret: &Secret) {
        if !secret.is_masked() {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.secrets.contains(&secret.0) {
            return;
        }
        if known.secrets.len() == MAX_SECRETS {
            known.secrets.pop_front();
        }
        known.secrets.push_back(secret.0.clone());
        known.patterns = None;
        self.any.store(true, Ordering::Release);
    }

    /// The text with `***` in place of each secret.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if text.len() < Secret::MIN_MASKED_BYTES {
            return Cow::Borrowed(text);
        }
        let Some(patterns) = self.patterns() else { return Cow::Borrowed(text) };
        let ranges = patterns.find(text);
        if ranges.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(replaced(text, &ranges)) }
    }

    /// Hides secrets in a text that comes in pieces, also one that is split between them.
    pub fn stream(&self) -> StreamMask<'_> {
        StreamMask::new(self)
    }

    pub(super) fn patterns(&self) -> Option<Arc<Patterns>> {
        if self.is_empty() {
            return None;
        }
        if let Some(patterns) = &self.known.read().unwrap_or_else(PoisonError::into_inner).patterns {
            return Some(patterns.clone());
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let patterns = Arc::new(Patterns::new(known.secrets.iter().rev().map(|secret| &**secret)));
        known.patterns = Some(patterns.clone());
        Some(patterns)
    }
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("Masker").field("secrets", &known.secrets.len()).finish_non_exhaustive()
    }
}
