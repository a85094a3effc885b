//! Texts that were sent, the oldest first.

/// The first line of a history in a file.
const HEADER: &str = "#V2";

/// Texts that were sent before.
#[derive(Clone, Debug, Default)]
pub struct History {
    entries: Vec<String>,
    most: usize,
    /// The entry that is shown, and the text that stood there before.
    current: Option<(usize, String)>,
}

impl History {
    /// A history of at most so many texts, with those that a file has: a line each, with `\n` and `\\` for line ends and backslashes.
    pub fn read(file: &str, most: usize) -> Self {
        let lines = file.lines().filter(|line| *line != HEADER);
        let mut history = Self { most, ..Self::default() };
        lines.for_each(|line| history.push(&unescaped(line)));
        history
    }

    /// As a file.
    pub fn file(&self) -> String {
        let lines = self.entries.iter().map(|entry| entry.replace('\\', "\\\\").replace('\n', "\\n"));
        std::iter::once(HEADER.to_owned()).chain(lines).map(|line| line + "\n").collect()
    }

    /// Adds a text, unless it is the last one again.
    pub fn push(&mut self, text: &str) {
        self.current = None;
        if self.entries.last().is_none_or(|last| last != text) {
            self.entries.push(text.to_owned());
        }
        let over = self.entries.len().saturating_sub(self.most);
        self.entries.drain(..over);
    }

    /// The text at that place.
    pub fn get(&self, at: usize) -> Option<&str> {
        self.entries.get(at).map(String::as_str)
    }

    /// The next older text. `now` is what stands there, which comes back behind the newest one.
    pub(super) fn older(&mut self, now: &str) -> Option<String> {
        let (at, kept) = match self.current.take() {
            Some((at, kept)) => (at.saturating_sub(1), kept),
            None => (self.entries.len().checked_sub(1)?, now.to_owned()),
        };
        let text = self.entries.get(at).cloned();
        self.current = Some((at, kept));
        text
    }

    /// The next newer text.
    pub(super) fn newer(&mut self) -> Option<String> {
        let (at, kept) = self.current.take()?;
        match self.entries.get(at + 1) {
            Some(text) => {
                let text = text.clone();
                self.current = Some((at + 1, kept));
                Some(text)
            }
            None => Some(kept),
        }
    }

    /// The newest text before that place which has `wanted` in it.
    pub(super) fn find(&self, wanted: &str, before: Option<usize>) -> Option<usize> {
        let end = before.unwrap_or(self.entries.len());
        let found = |(_, entry): &(usize, &String)| !wanted.is_empty() && entry.contains(wanted);
        self.entries.iter().enumerate().take(end).rev().find(found).map(|(at, _)| at)
    }
}

fn unescaped(line: &str) -> String {
    let mut text = String::new();
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match (char, (char == '\\').then(|| chars.next()).flatten()) {
            (_, Some('n')) => text.push('\n'),
            (_, Some(other)) => text.push(other),
            (char, None) => text.push(char),
        }
    }
    text
}
