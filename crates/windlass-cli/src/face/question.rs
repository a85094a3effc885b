//! A question in its frame: its text, its arguments, and the keys that answer it.

mod letters;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use windlass_terminal::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use windlass_terminal::input::{Done, Editor, History};
use windlass_terminal::markdown::Look;
use windlass_terminal::rows::{Cut, Margin, wrapped};
use windlass_terminal::{Color, Line, Modifier, Span, Style};

use super::draw::look;
use super::live::dim;
use super::{Face, Nothing};
use crate::out::{self, Style as Weight};
use letters::Letters;

/// Keys that were pressed before somebody could have read the question are no answer to it.
const UNREAD: Duration = Duration::from_millis(400);

/// The letter that Esc stands for, where a question has it.
const NO: char = 'n';
/// Rows of a question's text that its frame has room for.
const MOST_QUESTION: usize = 6;

/// A question as it is put.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The run that asks, where questions of several runs are put.
    pub(crate) of: Option<String>,
    /// The question, with its id and its place among the others.
    pub(crate) head: String,
    /// Its subject: the call and its arguments, the plan, the choices.
    pub(crate) body: Vec<(Weight, String)>,
    /// The answers, as one gives them.
    pub(crate) choices: String,
    /// Keys that answer; without any the answer is typed.
    pub(crate) keys: &'static [Key],
}

/// A letter that answers a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) letter: char,
    /// The letter in its word.
    pub(crate) label: &'static str,
    /// Its effect, in a few words.
    pub(crate) about: &'static str,
    pub(crate) then: Then,
    /// Whether Enter alone does the same.
    pub(crate) enters: bool,
    /// The number of a suggestion that means the same.
    pub(crate) number: Option<char>,
}

/// The step behind a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Nothing: the letter is the answer.
    Answers,
    /// Words behind this prompt, which may be left out.
    Words(&'static str),
    /// Words behind this prompt.
    Needs(&'static str),
    /// Enter, after this line: it does more than the letter tells.
    Enter(&'static str),
}

/// The step that the next key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Answer,
    /// Words are typed behind this key, after a prompt.
    Words(&'static Key, &'static str),
    /// The key waits for Enter, after a line.
    Enter(&'static Key, &'static str),
}

/// A question that stands.
#[derive(Debug)]
pub(super) struct Asking {
    asked: Asked,
    editor: Editor,
    step: Step,
    since: Instant,
    /// Whether the answers are explained.
    help: bool,
    /// Whether the whole question stands in the scrollback.
    printed: bool,
    /// The words that were not understood.
    unclear: Option<String>,
    /// What is typed where a letter answers. Words are no answer: keys count again after a pause.
    letters: Option<Letters>,
    /// Lines as they were typed; `None`: the question is left.
    lines: VecDeque<Option<String>>,
}

impl Face {
    /// Puts a question.
    pub(crate) fn ask(&self, asked: Asked) {
        self.change_now(|state| {
            let (editor, lines) = (Editor::new(History::read("", 0)), VecDeque::new());
            let since = Instant::now();
            let mut asking = Asking {
                asked,
                editor,
                step: Step::Answer,
                since,
                help: false,
                printed: false,
                unclear: None,
                letters: None,
                lines,
            };
            let question = asking.question(look());
            // What the frame has no room for is read in the scrollback.
            if question.len() > MOST_QUESTION {
                out::finished(&question);
                asking.printed = true;
            }
            state.asking = Some(asking);
        });
    }

    /// The next line that is typed at the question that stands; `None`: it is left. Cancel-safe.
    pub(crate) async fn typed(&self) -> Option<String> {
        loop {
            let answered = self.0.answered.notified();
            if let Some(line) = self.lock().asking.as_mut().and_then(|asking| asking.lines.pop_front()) {
                return line;
            }
            answered.await;
        }
    }

    /// Puts words where the answer is typed.
    pub(crate) fn draft(&self, words: &str) {
        self.change_now(|state| {
            if let Some(asking) = &mut state.asking {
                asking.editor.set(words);
            }
        });
    }

    /// The line that was typed is no answer.
    pub(crate) fn unclear(&self, why: &str) {
        self.change_now(|state| {
            if let Some(asking) = &mut state.asking {
                asking.unclear = Some(why.to_owned());
            }
        });
    }

    /// The question is answered, left or withdrawn: what it was goes to the scrollback.
    pub(crate) fn asked(&self) {
        self.change_now(|state| {
            if let Some(asking) = state.asking.take() {
                let mut rows = if asking.printed { Vec::new() } else { asking.question(look()) };
                rows.extend(asking.body(look(), usize::MAX));
                out::finished(&rows);
            }
        });
    }
}

impl Asking {
    /// Keys count anew once they pause: another program had the terminal.
    pub(super) fn is_seen_anew(&mut self) {
        self.since = Instant::now();
        self.letters = None;
    }

    pub(super) fn paste(&mut self, text: &str) {
        if self.is_new() {
            self.since = Instant::now();
        } else if self.waits_for_letter() {
            self.letters = None;
        } else {
            self.editor.paste(text);
        }
    }

    /// Whether keys are no answer yet.
    pub(super) fn is_new(&self) -> bool {
        self.since.elapsed() < UNREAD
    }

    /// Whether the answers are about to be shown.
    pub(super) fn is_moving(&self) -> bool {
        let goes_on = |letters: &Letters| letters.means().is_some() || letters.goes_on(Instant::now());
        self.is_new() || self.letters.as_ref().is_some_and(goes_on)
    }

    /// No key has come for a moment: takes the letters that are an answer, if none can follow any more.
    pub(super) fn paused(&mut self) -> bool {
        let ended = self.letters.as_ref().filter(|letters| !letters.goes_on(Instant::now()));
        let answer = ended.and_then(Letters::means);
        if let Some(key) = answer {
            self.choose(key);
        }
        answer.is_some()
    }

    /// Whether one letter answers now.
    fn waits_for_letter(&self) -> bool {
        !self.asked.keys.is_empty() && !matches!(self.step, Step::Words(..))
    }

    pub(super) fn key(&mut self, key: KeyEvent) {
        if self.is_new() {
            // Who goes on typing has not seen it yet.
            self.since = Instant::now();
            return;
        }
        if self.is_more(key) {
            return;
        }
        self.letters = None;
        self.unclear = None;
        if let Step::Enter(chosen, _) = self.step {
            self.step = Step::Answer;
            match key.code {
                KeyCode::Enter => self.lines.push_back(Some(chosen.letter.to_string())),
                KeyCode::Char(letter) if is_plain(key) => self.typed(format!("{}{letter}", chosen.letter)),
                _ => {}
            }
            return;
        }
        if self.waits_for_letter() {
            self.letter(key);
        } else {
            self.words(key);
        }
    }

    /// Whether a key belongs to the letters before it.
    fn is_more(&mut self, key: KeyEvent) -> bool {
        let now = Instant::now();
        // A key that waited to be read has followed an answer, too, however late it is read.
        let followed = |letters: &&mut Letters| letters.means().is_some() || letters.goes_on(now);
        let Some(letters) = self.letters.as_mut().filter(followed) else { return false };
        match (key.code, letters.means()) {
            (KeyCode::Char(letter), _) if is_plain(key) => letters.push(letter, self.asked.keys, now),
            (KeyCode::Enter, Some(answer)) => self.choose(answer),
            // Any other key takes the answer back.
            (_, Some(_)) => return false,
            (code, None) => letters.other(matches!(code, KeyCode::Enter | KeyCode::Esc), now),
        }
        true
    }

    /// A key where one letter answers.
    fn letter(&mut self, key: KeyEvent) {
        let find = |is: &dyn Fn(&Key) -> bool| self.asked.keys.iter().find(|key| is(key));
        match key.code {
            KeyCode::Char('d') if key.modifiers == KeyModifiers::CONTROL => self.lines.push_back(None),
            KeyCode::Char('?') => self.help = true,
            KeyCode::Char(letter) if is_plain(key) => {
                let is = |key: &Key| key.letter == letter || key.number == Some(letter);
                match find(&|key| key.then != Then::Answers && is(key)) {
                    // What follows is shown, and Enter sends it.
                    Some(chosen) => self.choose(chosen),
                    None => self.typed(letter.to_string()),
                }
            }
            KeyCode::Enter => match find(&|key| key.enters) {
                Some(chosen) => self.choose(chosen),
                None => self.unclear = Some(format!("a letter answers: {}", self.asked.choices)),
            },
            KeyCode::Esc => match find(&|key| key.letter == NO) {
                Some(no) => self.choose(no),
                None => self.unclear = Some(format!("Ctrl-C leaves it: {}", self.asked.choices)),
            },
            _ => {}
        }
    }

    /// A key where words answer.
    fn words(&mut self, key: KeyEvent) {
        if self.asked.keys.is_empty() && key.code == KeyCode::Esc {
            // As Enter does without words.
            self.editor.set("");
            self.lines.push_back(Some(String::new()));
            return;
        }
        if matches!(self.step, Step::Words(..)) && key.code == KeyCode::Esc {
            self.step = Step::Answer;
            self.editor.set("");
            return;
        }
        match (self.editor.key(key, &Nothing), self.step) {
            (Done::Sent(text), Step::Words(chosen, _)) => {
                // Who types `no` means no reason.
                let words = text.trim();
                let no = words.strip_prefix('o').filter(|_| chosen.letter == NO);
                let no = no.filter(|rest| !rest.starts_with(char::is_alphanumeric));
                let words = no.map_or(words, |rest| rest.trim_start_matches([' ', ',', '.', ':', ';', '!']));
                if words.is_empty() && matches!(chosen.then, Then::Needs(_)) {
                    return;
                }
                self.lines.push_back(Some(format!("{} {words}", chosen.letter).trim_end().to_owned()));
                // Should it be no answer, it is there to be mended.
                self.editor.set(&text);
            }
            (Done::Sent(text), _) => {
                self.editor.set(&text);
                self.lines.push_back(Some(text));
            }
            (Done::End, _) => self.lines.push_back(None),
            (Done::Edited | Done::Unknown, _) => {}
        }
    }

    fn typed(&mut self, words: String) {
        self.letters = Some(Letters::new(words, self.asked.keys, Instant::now()));
    }

    fn choose(&mut self, key: &'static Key) {
        self.letters = None;
        match key.then {
            Then::Answers => self.lines.push_back(Some(key.letter.to_string())),
            Then::Words(prompt) | Then::Needs(prompt) => self.step = Step::Words(key, prompt),
            Then::Enter(line) => self.step = Step::Enter(key, line),
        }
    }

    fn question(&self, look: Look) -> Vec<Line<'static>> {
        let bold = Style::new().add_modifier(Modifier::BOLD).fg(Color::Yellow);
        let of = self.asked.of.iter().map(|of| Span::styled(of.clone(), dim()));
        let lines = of.chain([Span::styled(self.asked.head.clone(), bold)]);
        lines.flat_map(|line| wrapped(&[line], look.columns, &Margin::default(), Cut::Words)).collect()
    }

    /// The rows of what it is about: all, or the beginning and the end.
    fn body(&self, look: Look, most: usize) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        for (weight, line) in &self.asked.body {
            let indent = line.chars().take_while(|char| *char == ' ').count().min(8);
            let (text, before) = (line.get(indent..).unwrap_or_default(), " ".repeat(indent));
            let margin = Margin { first: vec![Span::raw(before.clone())], rest: vec![Span::raw(before)] };
            let text = Span::styled(text.to_owned(), weight.on_row());
            rows.extend(wrapped(&[text], look.columns, &margin, Cut::Words));
        }
        let over = rows.len().saturating_sub(most);
        if over > 0 {
            let end = most / 3;
            let begin = most.saturating_sub(end + 1);
            let rest = rows.split_off(rows.len() - end);
            rows.truncate(begin);
            rows.push(Line::styled(format!("  … {} more rows: s shows all", over + 1), dim()));
            rows.extend(rest);
        }
        rows
    }

    /// Adds its rows, at most so many, and returns the place of the cursor among them.
    pub(super) fn rows(&self, look: Look, most: usize, rows: &mut Vec<Line<'static>>) -> (usize, usize) {
        let bar = if look.unicode { "─" } else { "-" };
        let mut question = vec![Line::styled(bar.repeat(look.columns.min(60)), dim())];
        question.extend(self.question(look).into_iter().take(MOST_QUESTION));
        if self.printed {
            question.push(Line::styled("  … the whole question stands above", dim()));
        }
        let choices = match self.step {
            // The answers stand there once they are taken.
            _ if self.is_new() => "…",
            Step::Answer => &self.asked.choices,
            Step::Words(key, _) if matches!(key.then, Then::Needs(_)) => "Enter sends it; Esc goes back",
            Step::Words(..) => "Enter sends it, with or without words; Esc goes back",
            Step::Enter(_, line) => line,
        };
        let unclear = self
            .letters
            .as_ref()
            .and_then(|letters| letters.text(choices, Instant::now()))
            .or_else(|| self.unclear.clone().filter(|_| !self.is_new()));
        let weight = if unclear.is_some() { Style::new().fg(Color::Red) } else { dim() };
        let taken = self.letters.as_ref().and_then(Letters::taken);
        let answers = unclear.or(taken).unwrap_or_else(|| choices.to_owned());
        let mut choices = Vec::new();
        for key in self.asked.keys.iter().filter(|_| self.help) {
            let margin = Margin { first: vec![], rest: vec![Span::raw("   ")] };
            let line = Span::styled(format!("{}  {}", key.letter, key.about), dim());
            choices.extend(wrapped(&[line], look.columns, &margin, Cut::Words));
        }
        let typed = Span::styled(answers, weight);
        choices.extend(wrapped(&[typed], look.columns, &Margin::default(), Cut::Words));
        let prompt = if let Step::Words(_, prompt) = self.step { prompt } else { "> " };
        let (editor, cursor) = self.editor.rows(prompt, look.columns, 3);
        let room = most.saturating_sub(question.len() + choices.len() + editor.len());
        rows.extend(question);
        rows.extend(self.body(look, room));
        rows.extend(choices);
        let first = rows.len();
        rows.extend(editor);
        (first + cursor.0, cursor.1)
    }
}

/// Whether a key types its letter.
fn is_plain(key: KeyEvent) -> bool {
    key.modifiers.is_empty() || key.modifiers == KeyModifiers::SHIFT
}
