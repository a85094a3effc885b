//! Owns what the tour understands of a message: sums, the time, lists of files, files to read.

use super::sums;

/// The most intents that one message has.
const MAX_INTENTS: usize = 8;

/// Something that a message asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// An expression to be worked out by a tool.
    Sum {
        /// As the message said it.
        text: String,
        /// In the signs of arithmetic.
        expression: String,
    },
    /// The date or time.
    Time,
    /// The files in a folder.
    List(String),
    /// A file's content.
    Read(String),
}

/// The intents of a message in a fixed order: sums, time, lists, files.
pub(super) fn intents(text: &str) -> Vec<Intent> {
    let lower = text.to_lowercase().replace('’', "'");
    let words: Vec<&str> = text.split_whitespace().map(trimmed).filter(|word| !word.is_empty()).collect();
    let has = |any: &[&str]| words.iter().any(|word| any.iter().any(|one| word.eq_ignore_ascii_case(one)));
    let says = |any: &[&str]| any.iter().any(|phrase| lower.contains(phrase));

    let mut found: Vec<Intent> =
        sums::find(text).into_iter().map(|(text, expression)| Intent::Sum { text, expression }).collect();
    let asks_time = says(&["what time", "time is it", "current time", "time now", "tell me the time"]);
    let asks_date = says(&[
        "what day",
        "which day",
        "what date",
        "which date",
        "today's date",
        "current date",
        "what is today",
    ]);
    if asks_time || asks_date {
        found.push(Intent::Time);
    }
    let asks = has(&["which", "what", "list", "show", "see", "what's", "are"]);
    let files = has(&["files", "documents"]);
    let folder =
        has(&["folder", "directory"]) && (has(&["list"]) || says(&["what is in", "what's in", "which"]));
    let named: Vec<&str> = words.iter().copied().filter(|word| is_file(word)).collect();
    if asks && (files || folder) && named.is_empty() {
        found.push(Intent::List(folder_of(&words)));
    }
    let reads = has(&[
        "read",
        "open",
        "show",
        "print",
        "cat",
        "summarise",
        "summarize",
        "contents",
        "content",
        "quote",
    ]);
    if reads || says(&["what is in", "what's in", "what does", "look at", "look into"]) {
        found.extend(named.into_iter().map(|name| Intent::Read(name.to_owned())));
    }
    found.truncate(MAX_INTENTS);
    found
}

/// A word without quotes and punctuation around it; a path keeps its dots in front.
fn trimmed(word: &str) -> &str {
    let around = ['"', '\'', '`', '(', ')', '[', ']', '“', '”', '‘', ',', ';', ':', '!', '?'];
    word.trim_matches(around).trim_end_matches('.').trim_matches(around)
}

/// Whether a word names a file: by an extension, or as one of the usual names without one.
fn is_file(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    if ["README", "LICENSE", "Makefile", "Dockerfile", "CHANGELOG"].contains(&name) {
        return true;
    }
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let abbreviation = stem.len() <= 1 && extension.len() <= 1;
    !word.contains("://")
        && !word.contains('@')
        && !abbreviation
        && (1..=8).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.chars().any(|c| c.is_ascii_alphabetic())
}

/// The folder that a question about files means: what stands behind `in`, else the current one.
fn folder_of(words: &[&str]) -> String {
    const NONE: [&str; 12] = [
        "this",
        "the",
        "my",
        "our",
        "your",
        "here",
        "there",
        "current",
        "working",
        "a",
        "folder",
        "directory",
    ];
    let places = ["in", "inside", "under", "of", "within"];
    // `17% of 2350` is a sum, not a place.
    let number = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
    let place = words.iter().enumerate().position(|(at, word)| {
        places.iter().any(|one| word.eq_ignore_ascii_case(one)) && !words.get(at + 1).is_some_and(number)
    });
    let after = words.iter().skip(place.map_or(words.len(), |place| place + 1));
    let plain = |word: &&&str| !NONE.iter().any(|one| word.eq_ignore_ascii_case(one));
    let explicit = words.iter().find(|word| word.contains('/') && !word.contains("://"));
    let named = explicit.or_else(|| after.take_while(|word| !word.eq_ignore_ascii_case("and")).find(plain));
    named.map_or_else(|| ".".to_owned(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests;
