//! Letters that are typed where one letter answers, and the word that they may begin.

use std::time::{Duration, Instant};

use windlass_read::words::cut;

use super::{Key, UNREAD};

/// A letter or a word answers once no other key has followed it for so long: "you should not" begins with a yes.
const ALONE: Duration = Duration::from_millis(600);
/// Characters of words that are no answer.
const WORDS: usize = 30;

/// The letters since the last pause.
#[derive(Debug)]
pub(super) struct Letters {
    words: String,
    last: Instant,
    /// Whether they were meant as a command: it lasts until Enter or Esc.
    command: bool,
    /// The answer that they are, as long as no other letter follows.
    means: Option<&'static Key>,
}

impl Letters {
    pub(super) fn new(words: String, keys: &'static [Key], now: Instant) -> Self {
        let means = keys.iter().find(|key| key.is_named(&words));
        Self { command: words.starts_with('/'), words, last: now, means }
    }

    /// One more letter.
    pub(super) fn push(&mut self, letter: char, keys: &'static [Key], now: Instant) {
        self.words.push(letter);
        self.last = now;
        self.means = keys.iter().find(|key| key.is_named(&self.words));
    }

    /// A key that is no letter.
    pub(super) fn other(&mut self, ends: bool, now: Instant) {
        self.last = now;
        self.command &= !ends;
    }

    /// Whether the next letter is one more of them, unless a pause is noticed before.
    pub(super) fn goes_on(&self, now: Instant) -> bool {
        let pause = if self.means.is_some() { ALONE } else { UNREAD };
        self.command || now.duration_since(self.last) < pause
    }

    /// The answer that they may be.
    pub(super) fn means(&self) -> Option<&'static Key> {
        self.means
    }

    /// The answer that is about to be taken, in words.
    pub(super) fn taken(&self) -> Option<String> {
        let key = self.means?;
        Some(format!("{}: {} (any other key takes it back)", key.label, key.about))
    }

    /// The row of the answers, if they are none.
    pub(super) fn text(&self, choices: &str, now: Instant) -> Option<String> {
        if self.means.is_some() {
            return None;
        }
        let words = cut(&self.words, WORDS);
        Some(match (self.words.starts_with('/'), self.goes_on(now)) {
            (true, true) => {
                "commands wait until the question is answered or left: Enter or Esc goes back".to_owned()
            }
            (false, true) => format!("`{words}` is no answer"),
            (_, false) => format!("`{words}` is no answer: {choices}"),
        })
    }
}

impl Key {
    /// Whether it is its letter, its number or its word.
    fn is_named(&self, words: &str) -> bool {
        let mut chars = words.chars();
        let one = chars.next().filter(|_| chars.as_str().is_empty());
        let is_one = one.is_some_and(|one| one == self.letter || self.number == Some(one));
        is_one || self.label.replace(['[', ']'], "").eq_ignore_ascii_case(words)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Then;
    use super::*;

    const fn key(letter: char, label: &'static str, number: Option<char>) -> Key {
        Key { letter, label, about: "", then: Then::Answers, enters: false, number }
    }

    static KEYS: [Key; 2] = [key('y', "[y]es", Some('1')), key('s', "[s]how all", None)];

    /// The answer, once keys have paused.
    fn answer(words: &str) -> Option<char> {
        let now = Instant::now();
        let mut chars = words.chars();
        let mut letters = Letters::new(chars.next().unwrap().to_string(), &KEYS, now);
        for letter in chars {
            assert!(letters.goes_on(now + ALONE / 2));
            letters.push(letter, &KEYS, now);
        }
        assert!(!letters.goes_on(now + ALONE.max(UNREAD)));
        assert_eq!(letters.text("", now).is_none(), letters.means().is_some());
        letters.means().map(|key| key.letter)
    }

    #[test]
    fn a_letter_its_number_and_its_word_are_the_answer_and_other_words_are_none() {
        for words in ["y", "1", "yes", "Yes"] {
            assert_eq!(answer(words), Some('y'), "{words}");
        }
        assert_eq!(answer("show all"), Some('s'));
        for words in ["x", "Y", "you", "ye", "yy", "12", "yes?", "should not", "show"] {
            assert_eq!(answer(words), None, "{words}");
        }
    }

    #[test]
    fn a_command_lasts_until_enter_or_esc() {
        let now = Instant::now();
        let mut letters = Letters::new("/".into(), &KEYS, now);
        letters.push('y', &KEYS, now);
        assert!(letters.goes_on(now + 10 * UNREAD));
        letters.other(true, now);
        assert!(!letters.goes_on(now + UNREAD));
        assert_eq!(letters.text("[y]es", now + UNREAD).unwrap(), "`/y` is no answer: [y]es");
    }
}
