//! Code with its comments, texts, numbers and keywords apart: a reader of one line at a time that knows how families of languages
//! mark them, and nothing of their grammar. It costs nothing to open and a pass over the text.

mod languages;

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::Span;

use languages::{Language, language};

/// Lines longer than this are shown without a difference.
const LONGEST: usize = 2_000;

/// A construct that goes on over the end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    Code,
    /// A comment or a text that ends with this.
    Until(&'static str, Role),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Plain,
    Comment,
    Text,
    Number,
    Keyword,
    Added,
    Removed,
}

impl Role {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Comment => Style::new().add_modifier(Modifier::DIM),
            Self::Text | Self::Added => Style::new().fg(Color::Green),
            Self::Number => Style::new().fg(Color::Cyan),
            Self::Keyword => Style::new().fg(Color::Magenta),
            Self::Removed => Style::new().fg(Color::Red),
        }
    }
}

/// The lines of a code block, each as styled text. `within` is what goes on before the first one, and then behind the last.
pub(super) fn highlighted(info: &str, code: &str, within: &mut Within) -> Vec<Vec<Span<'static>>> {
    let name = info.split([' ', ',', '{']).next().unwrap_or_default();
    if matches!(name, "diff" | "patch") {
        return code.split('\n').map(changed).collect();
    }
    let Some(language) = language(name) else {
        return code.split('\n').map(|line| vec![Span::raw(line.to_owned())]).collect();
    };
    code.split('\n').map(|line| line_of(language, line, within)).collect()
}

fn changed(line: &str) -> Vec<Span<'static>> {
    let role = match line.chars().next() {
        Some('+') => Role::Added,
        Some('-') => Role::Removed,
        Some('@') => Role::Comment,
        _ => Role::Plain,
    };
    vec![Span::styled(line.to_owned(), role.style())]
}

fn line_of(language: &Language, line: &str, within: &mut Within) -> Vec<Span<'static>> {
    if line.len() > LONGEST {
        return vec![Span::raw(line.to_owned())];
    }
    let mut spans = Vec::new();
    let (mut rest, mut plain) = (line, String::new());
    while !rest.is_empty() {
        let (length, role) = token(language, rest, within, plain.chars().next_back());
        let (part, after) = rest.split_at(length);
        rest = after;
        if role == Role::Plain {
            plain.push_str(part);
            continue;
        }
        if !plain.is_empty() {
            spans.push(Span::raw(std::mem::take(&mut plain)));
        }
        spans.push(Span::styled(part.to_owned(), role.style()));
    }
    if !plain.is_empty() || spans.is_empty() {
        spans.push(Span::raw(plain));
    }
    spans
}

/// The length of the next part, and its role.
fn token(language: &Language, rest: &str, within: &mut Within, before: Option<char>) -> (usize, Role) {
    if let Within::Until(end, role) = *within {
        return match rest.find(end) {
            Some(at) => {
                *within = Within::Code;
                (at + end.len(), role)
            }
            None => (rest.len(), role),
        };
    }
    let inside_word = before.is_some_and(is_word);
    if !inside_word && language.comments.iter().any(|mark| rest.starts_with(mark)) {
        return (rest.len(), Role::Comment);
    }
    for (open, close, role) in language.blocks {
        if let Some(after) = rest.strip_prefix(open) {
            let role = if *role { Role::Text } else { Role::Comment };
            if let Some(at) = after.find(close) {
                return (open.len() + at + close.len(), role);
            }
            *within = Within::Until(close, role);
            return (rest.len(), role);
        }
    }
    let Some(first) = rest.chars().next() else { return (0, Role::Plain) };
    if language.quotes.contains(first)
        && let Some(length) = quoted(rest, first)
    {
        return (length, Role::Text);
    }
    if is_word(first) && !inside_word {
        let length = rest.find(|char| !is_word(char)).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let role = if first.is_ascii_digit() {
            Role::Number
        } else if language.keywords.split(' ').any(|keyword| keyword == word) {
            Role::Keyword
        } else {
            Role::Plain
        };
        return (length, role);
    }
    (first.len_utf8(), Role::Plain)
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// The length of a text in quotes on this line; `None`: it does not end, as an apostrophe.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, char) in rest.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if char == '\\' {
            escaped = true;
        } else if char == quote {
            return Some(at + char.len_utf8());
        }
    }
    None
}
