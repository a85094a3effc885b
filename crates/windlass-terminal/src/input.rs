//! The person's message: edited over several lines with the keys of readline, with history, search and completion.

mod history;
mod keys;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};
use ratatui_textarea::{CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::rows::{fitted, width};
pub use history::History;
use keys::input;

/// The most words that are offered at once.
const OFFERED: usize = 8;

/// The effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// The text is rendered as it is now.
    Edited,
    /// The person has sent this.
    Sent(String),
    /// Ctrl-D at an empty text.
    End,
    /// The key means nothing here.
    Unknown,
}

/// A word that can stand in the place of what is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The word.
    pub text: String,
    /// Its meaning.
    pub about: String,
    /// The effect of Enter.
    pub taken: Taken,
}

/// The effect of Enter where a word is offered for what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It takes the word, which begins so, and sends it if it stands alone.
    Sent,
    /// It takes the word, which begins so. More may follow.
    GoesOn,
    /// It sends what is typed, which may be another word, unless one was chosen.
    Chosen,
}

/// Knows words. It gets the text before the cursor, and returns where the word begins (in bytes), and what can stand there.
pub trait Completer {
    /// The words; `None`: none belongs there.
    fn offers(&self, before: &str) -> Option<(usize, Vec<Offer>)>;
}

/// Words that are offered.
#[derive(Debug)]
struct Offers {
    from: usize,
    all: Vec<Offer>,
    /// The one that Enter takes.
    chosen: Option<usize>,
}

/// A search through the history.
#[derive(Debug, Default)]
struct Search {
    wanted: String,
    /// The entry that was found.
    at: Option<usize>,
}

/// A text that somebody types.
#[derive(Debug)]
pub struct Editor {
    area: TextArea<'static>,
    history: History,
    offers: Option<Offers>,
    search: Option<Search>,
}

impl Editor {
    /// An empty text.
    pub fn new(history: History) -> Self {
        Self { area: TextArea::default(), history, offers: None, search: None }
    }

    /// The text.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Puts another text in its place, with the cursor behind it.
    pub fn set(&mut self, text: &str) {
        self.area = TextArea::new(text.split('\n').map(str::to_owned).collect());
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
        self.offers = None;
        self.search = None;
    }

    /// Keeps the text among those that were sent, so that it comes back.
    pub fn keep(&mut self) {
        let text = self.text();
        self.history.push(&text);
    }

    /// The texts that were sent, for the arrow keys.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Inserts pasted text as it is.
    pub fn paste(&mut self, text: &str) {
        self.search = None;
        self.offers = None;
        // Terminals paste line ends as carriage returns.
        self.area.insert_str(text.replace("\r\n", "\n").replace('\r', "\n"));
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent, completer: &dyn Completer) -> Done {
        if self.search.is_some() {
            return self.search_key(key, completer);
        }
        let plain = key.modifiers.is_empty() || key.modifiers == KeyModifiers::SHIFT;
        let done = match (key.code, key.modifiers) {
            (KeyCode::Enter, KeyModifiers::NONE) => return self.enter(completer),
            (KeyCode::Enter, _) | (KeyCode::Char('j'), KeyModifiers::CONTROL) => {
                self.area.insert_newline();
                Done::Edited
            }
            (KeyCode::Char('d'), KeyModifiers::CONTROL) if self.area.is_empty() => return Done::End,
            (KeyCode::Char('r'), KeyModifiers::CONTROL) => {
                self.search = Some(Search::default());
                self.offers = None;
                return Done::Edited;
            }
            (KeyCode::Esc, _) => return self.escape(),
            (KeyCode::Tab | KeyCode::BackTab, _) => {
                return self.tab(key.code == KeyCode::BackTab, completer);
            }
            (KeyCode::Up | KeyCode::Down, _) if plain => return self.vertical(key.code == KeyCode::Up),
            (KeyCode::Char('p'), KeyModifiers::CONTROL) => return self.vertical(true),
            (KeyCode::Char('n'), KeyModifiers::CONTROL) => return self.vertical(false),
            _ => self.edit(key),
        };
        if done == Done::Edited {
            self.offer(completer);
        }
        done
    }

    /// Keys that change the text or move within it.
    fn edit(&mut self, key: KeyEvent) -> Done {
        match (key.code, key.modifiers) {
            (KeyCode::Char('u'), KeyModifiers::CONTROL) => {
                self.area.delete_line_by_head();
            }
            (KeyCode::Char('_' | '7'), KeyModifiers::CONTROL) => {
                self.area.undo();
            }
            _ => match input(key) {
                Some(input) => {
                    self.area.input(input);
                }
                None => return Done::Unknown,
            },
        }
        Done::Edited
    }

    fn enter(&mut self, completer: &dyn Completer) -> Done {
        if let Some(offer) = self.choice() {
            self.take_offer(&offer);
            if offer.taken != Taken::Sent || self.text() != offer.text {
                self.offer(completer);
                return Done::Edited;
            }
        }
        // A backslash at the end goes on in the next line.
        let (row, column) = self.place();
        let line = self.area.lines().get(row).cloned().unwrap_or_default();
        if line.ends_with('\\') && column == line.chars().count() {
            self.area.delete_char();
            self.area.insert_newline();
            return Done::Edited;
        }
        let text = self.text();
        self.set("");
        if !text.trim().is_empty() {
            self.history.push(&text);
        }
        Done::Sent(text)
    }

    fn place(&self) -> (usize, usize) {
        let cursor = self.area.cursor();
        (cursor.0, cursor.1)
    }

    fn escape(&mut self) -> Done {
        if self.offers.take().is_some() { Done::Edited } else { Done::Unknown }
    }

    /// Up and Down: among the words that are offered, the lines of the text, and then the history.
    fn vertical(&mut self, up: bool) -> Done {
        if let Some(offers) = &mut self.offers {
            offers.step(up);
            return Done::Edited;
        }
        let (row, _) = self.place();
        let edge = if up { row == 0 } else { row + 1 >= self.area.lines().len() };
        if !edge {
            self.area.move_cursor(if up { CursorMove::Up } else { CursorMove::Down });
            return Done::Edited;
        }
        let text = self.text();
        let other = if up { self.history.older(&text) } else { self.history.newer() };
        if let Some(other) = other {
            self.set(&other);
        }
        Done::Edited
    }

    /// The text before the cursor.
    fn before(&self) -> Option<String> {
        let (row, column) = self.place();
        let line = self.area.lines().get(row)?.chars().take(column).collect();
        let lines = self.area.lines().iter().take(row).cloned();
        Some(lines.chain([line]).collect::<Vec<String>>().join("\n"))
    }

    /// The character behind the cursor, if one is on its line.
    fn behind(&self) -> Option<char> {
        let (row, column) = self.place();
        self.area.lines().get(row)?.chars().nth(column)
    }

    fn offer(&mut self, completer: &dyn Completer) {
        let found = self.before().and_then(|before| completer.offers(&before));
        let found = found.filter(|(_, all)| !all.is_empty());
        self.offers = found.map(|(from, all)| Offers { from, all, chosen: None });
    }

    /// Completes as far as all words agree, then goes through them.
    fn tab(&mut self, back: bool, completer: &dyn Completer) -> Done {
        if self.offers.is_none() {
            self.offer(completer);
        }
        let Some(before) = self.before() else { return Done::Edited };
        let Some(offers) = &mut self.offers else { return Done::Edited };
        let typed = before.get(offers.from..).unwrap_or_default().to_owned();
        let common = common(&offers.all);
        if let [only] = offers.all.as_slice() {
            let only = only.clone();
            self.take_offer(&only);
        } else if offers.chosen.is_none() && common.len() > typed.len() && common.contains(&typed) {
            self.replace(&typed, &common);
            self.offer(completer);
        } else {
            offers.step(back);
        }
        Done::Edited
    }

    /// The word that Enter takes: the one that was chosen, or the first one that begins as what is typed, unless that is a word.
    fn choice(&self) -> Option<Offer> {
        let offers = self.offers.as_ref()?;
        if let Some(at) = offers.chosen {
            return offers.all.get(at).cloned();
        }
        let before = self.before()?;
        let typed = before.get(offers.from..)?;
        let is_within = self.behind().is_some_and(|char| !char.is_whitespace());
        if is_within || offers.all.iter().any(|offer| offer.text == typed) {
            return None;
        }
        // Of the files of a folder none is meant before its name begins.
        let name = bare(typed);
        if name.is_empty() || offers.from > 0 && name.ends_with('/') {
            return None;
        }
        let fits = |offer: &&Offer| offer.taken != Taken::Chosen && bare(&offer.text).starts_with(&name);
        offers.all.iter().find(fits).cloned()
    }

    /// Puts a word in the place of what is typed. A blank parts it from what is typed next, unless that goes on with it or sends it.
    fn take_offer(&mut self, offer: &Offer) {
        let (Some(offers), Some(before)) = (self.offers.take(), self.before()) else { return };
        self.replace(before.get(offers.from..).unwrap_or_default(), &offer.text);
        if offer.taken == Taken::Sent || offer.text.ends_with('/') {
            return;
        }
        if self.behind() == Some(' ') {
            self.area.move_cursor(CursorMove::Forward);
        } else {
            self.area.insert_char(' ');
        }
    }

    fn replace(&mut self, typed: &str, text: &str) {
        for _ in typed.chars() {
            self.area.delete_char();
        }
        self.area.insert_str(text);
    }

    fn search_key(&mut self, key: KeyEvent, completer: &dyn Completer) -> Done {
        let Some(search) = &mut self.search else { return Done::Unknown };
        match (key.code, key.modifiers) {
            (KeyCode::Char('r'), KeyModifiers::CONTROL) => {
                search.at = self.history.find(&search.wanted, search.at).or(search.at);
            }
            (KeyCode::Char(char), KeyModifiers::NONE | KeyModifiers::SHIFT) => {
                search.wanted.push(char);
                search.at = self.history.find(&search.wanted, None);
            }
            (KeyCode::Backspace, _) => {
                search.wanted.pop();
                search.at = self.history.find(&search.wanted, None);
            }
            (KeyCode::Esc, _) | (KeyCode::Char('g'), KeyModifiers::CONTROL) => self.search = None,
            _ => {
                // Any other key acts on what was found; Enter only takes it over.
                let found = search.at.and_then(|at| self.history.get(at)).map(str::to_owned);
                self.search = None;
                if let Some(found) = found {
                    self.set(&found);
                }
                return if key.code == KeyCode::Enter { Done::Edited } else { self.key(key, completer) };
            }
        }
        Done::Edited
    }

    /// The text in rows behind a prompt, at most so many, and the place of the cursor among them.
    pub fn rows(&self, prompt: &str, columns: usize, most: usize) -> (Vec<Line<'static>>, (usize, usize)) {
        if let Some(search) = &self.search {
            return self.search_rows(search, columns);
        }
        let side = width(prompt);
        let room = columns.saturating_sub(side + 1).max(1);
        let (cursor_row, cursor_column) = self.place();
        let (mut rows, mut cursor) = (Vec::new(), (0, side));
        for (at, line) in self.area.lines().iter().enumerate() {
            let on = (at == cursor_row).then_some(cursor_column);
            if let Some((row, column)) = lay(line, room, on, &mut rows) {
                cursor = (row, side + column);
            }
        }
        let most = most.max(1);
        let first = (cursor.0 + 1).saturating_sub(most);
        let last = (first + most).min(rows.len());
        let dim = Style::new().add_modifier(Modifier::DIM);
        let rendered = rows.get(first..last).unwrap_or_default().iter().enumerate().map(|(at, text)| {
            let mark = if first + at == 0 { prompt.to_owned() } else { " ".repeat(side) };
            Line::from(vec![Span::styled(mark, dim), Span::raw(text.clone())])
        });
        let mut rendered: Vec<_> = rendered.collect();
        cursor.0 -= first;
        rendered.extend(self.offers.iter().flat_map(|offers| offers.rows(columns)));
        (rendered, cursor)
    }

    fn search_rows(&self, search: &Search, columns: usize) -> (Vec<Line<'static>>, (usize, usize)) {
        let label = format!("search: {}", search.wanted);
        let found = search.at.and_then(|at| self.history.get(at)).unwrap_or("(nothing found)");
        let column = width(&label).min(columns.saturating_sub(1));
        let dim = Style::new().add_modifier(Modifier::DIM);
        let rows = vec![Line::from(fitted(&label, columns)), Line::styled(fitted(found, columns), dim)];
        (rows, (0, column))
    }
}

impl Offers {
    fn step(&mut self, back: bool) {
        let count = self.all.len();
        self.chosen = match (self.chosen, back) {
            (None, false) => Some(0),
            (None, true) => Some(count - 1),
            (Some(at), false) => Some((at + 1) % count),
            (Some(at), true) => Some((at + count - 1) % count),
        };
    }

    fn rows(&self, columns: usize) -> Vec<Line<'static>> {
        let first = self.chosen.unwrap_or(0).saturating_sub(OFFERED - 1);
        let wide = self.all.iter().map(|offer| width(&offer.text)).max().unwrap_or(0);
        let rendered = self.all.iter().enumerate().skip(first).take(OFFERED);
        let mut rows: Vec<_> = rendered
            .map(|(at, offer)| {
                let gap = " ".repeat(wide - width(&offer.text) + 2);
                let chosen = self.chosen == Some(at);
                let mark = if chosen { "> " } else { "  " };
                let text =
                    fitted(&format!("{mark}{}{gap}{}", offer.text, offer.about), columns.saturating_sub(1));
                let weight = if chosen { Modifier::REVERSED } else { Modifier::DIM };
                Line::styled(text, Style::new().add_modifier(weight))
            })
            .collect();
        let more = self.all.len().saturating_sub(first + OFFERED);
        if more > 0 {
            let text = fitted(&format!("  … {more} more"), columns.saturating_sub(1));
            rows.push(Line::styled(text, Style::new().add_modifier(Modifier::DIM)));
        }
        rows
    }
}

/// Lays a line out in rows of at most so many columns. Returns row and column of the cursor, which stands before that character.
fn lay(line: &str, room: usize, cursor: Option<usize>, rows: &mut Vec<String>) -> Option<(usize, usize)> {
    let (mut row, mut used, mut at, mut place) = (String::new(), 0, 0, None);
    for cluster in line.graphemes(true) {
        let rendered = windlass_text::display::plain::plain(cluster).replace('\t', "    ");
        let wide = width(&rendered);
        if used + wide > room && used > 0 {
            rows.push(std::mem::take(&mut row));
            used = 0;
        }
        let chars = cluster.chars().count();
        if place.is_none() && cursor.is_some_and(|cursor| cursor < at + chars) {
            place = Some((rows.len(), used));
        }
        row.push_str(&rendered);
        used += wide;
        at += chars;
    }
    if place.is_none() && cursor.is_some() {
        place = Some((rows.len(), used));
    }
    rows.push(row);
    place
}

/// A word as it is compared: without a quote at its beginning, in small letters.
fn bare(word: &str) -> String {
    word.strip_prefix('"').unwrap_or(word).to_lowercase()
}

/// The longest beginning that all words share.
fn common(offers: &[Offer]) -> String {
    let mut words = offers.iter().map(|offer| offer.text.as_str());
    let Some(first) = words.next() else { return String::new() };
    let mut length = first.len();
    for word in words {
        let same = first.char_indices().zip(word.chars()).take_while(|((_, one), other)| one == other);
        length = length.min(same.last().map_or(0, |((at, char), _)| at + char.len_utf8()));
    }
    first.get(..length).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
