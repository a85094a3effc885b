//! The parts of a URL that are credentials.

use super::Secret;
use super::views::unescaped;

/// The least number of letters and digits in a row, of both kinds, that make a part of a path look like a key. In
/// `gpt-4o-2024-07-18` there are four.
const KEY_RUN: usize = 12;

/// Has those parts of a server's URL masked from now on that are or may be credentials: user and password, the values of
/// the query, and segments of the path that look like keys.
pub fn mask_url_parts(url: &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if let Some((login, _)) = authority.rsplit_once('@') {
        let (user, password) = login.split_once(':').unwrap_or(("", login));
        know(password);
        if looks_like_a_key(user) {
            know(user);
        }
    }
    path.split('/').filter(|segment| looks_like_a_key(segment)).for_each(know);
    for pair in query.split(['&', ';']).chain([fragment]) {
        know(pair.split_once('=').map_or(pair, |(_, value)| value));
    }
}

/// A part as it is written, and as it is meant.
fn know(part: &str) {
    let mut meant = Vec::with_capacity(part.len());
    unescaped(part.as_bytes(), |byte, _| meant.push(byte));
    drop(Secret::new(part));
    if let Ok(meant) = String::from_utf8(meant) {
        drop(Secret::new(meant));
    }
}

/// Whether a text looks like a key and not like a word, name or date: many letters and digits in a row, of both kinds.
pub fn looks_like_a_key(part: &str) -> bool {
    part.split(|char: char| !char.is_ascii_alphanumeric()).any(|run| {
        run.len() >= KEY_RUN
            && run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}
