//! The answer of a reply by schema, while the reply is being written.

use crate::codec::by_schema::REPLY;
use crate::vocabulary::reply::AnswerForm;

/// The most characters of a member's name that are kept: longer ones are none of ours.
const MOST_NAME: usize = 16;

/// Reads the answer out of a reply piece by piece: all its pieces together are the text that the whole reply is read as. Nothing
/// else of the reply is text.
#[derive(Clone, Debug)]
pub struct AnswerPieces {
    form: AnswerForm,
    at: At,
    /// Whether the property around the forms has been entered.
    within: bool,
    begun: bool,
}

#[derive(Clone, Debug)]
enum At {
    /// Before the object; `true`: within the first line of a fence.
    Start(bool),
    /// Before a member, or the object's end.
    Member,
    /// In a member's name; `true`: after a backslash.
    Name(String, bool),
    /// After a member's name, before its colon.
    Colon(String),
    /// Before a member's value.
    Value(String),
    /// In a value that is no text; `true`: it is the answer.
    Within(Whole, bool),
    /// In a text that is the answer.
    Text(Escape),
    Over,
}

/// Progress in a value of any kind.
#[derive(Clone, Copy, Debug, Default)]
struct Whole {
    depth: usize,
    text: bool,
    escaped: bool,
}

/// Progress in an escape sequence.
#[derive(Clone, Copy, Debug, Default)]
enum Escape {
    #[default]
    None,
    Begun,
    /// Digits read, their number, and the first half of a pair.
    Hex(u32, u8, Option<u32>),
    /// The second half of a pair must follow: its backslash, then its `u`.
    Half(u32),
    HalfBegun(u32),
}

/// How a value goes on after a character.
enum Step {
    On,
    /// The character is the last one of it.
    Last,
    /// The character is behind it.
    Behind,
}

impl Whole {
    fn step(&mut self, c: char) -> Step {
        if self.text {
            match (self.escaped, c) {
                (true, _) => self.escaped = false,
                (false, '\\') => self.escaped = true,
                (false, '"') => {
                    self.text = false;
                    return if self.depth == 0 { Step::Last } else { Step::On };
                }
                (false, _) => {}
            }
            return Step::On;
        }
        match c {
            '"' => self.text = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' if self.depth == 0 => return Step::Behind,
            '}' | ']' => {
                self.depth -= 1;
                return if self.depth == 0 { Step::Last } else { Step::On };
            }
            c if self.depth == 0 && (c == ',' || c.is_whitespace()) => return Step::Behind,
            _ => {}
        }
        Step::On
    }
}

impl AnswerPieces {
    pub(crate) fn of(form: AnswerForm) -> Self {
        Self { form, at: At::Start(false), within: false, begun: false }
    }

    /// The same for another reply.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::of(self.form)
    }

    /// Whether the answer has begun.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// More of the answer out of more of the reply.
    pub fn push(&mut self, piece: &str) -> String {
        let mut answer = String::new();
        for c in piece.chars() {
            self.take(c, &mut answer);
        }
        answer
    }

    fn take(&mut self, c: char, answer: &mut String) {
        self.at = match std::mem::replace(&mut self.at, At::Over) {
            At::Start(_) if c == '{' => At::Member,
            At::Start(fence) if fence || c == '`' => At::Start(true),
            At::Start(fence) if c.is_whitespace() => At::Start(fence),
            At::Member if c == ',' || c.is_whitespace() => At::Member,
            At::Member if c == '"' => At::Name(String::new(), false),
            At::Name(name, false) if c == '"' => At::Colon(name),
            At::Name(mut name, escaped) => {
                if name.len() < MOST_NAME {
                    name.push(c);
                }
                At::Name(name, !escaped && c == '\\')
            }
            At::Colon(name) if c == ':' => At::Value(name),
            At::Colon(name) if c.is_whitespace() => At::Colon(name),
            At::Start(_) | At::Member | At::Colon(_) | At::Over => At::Over,
            At::Value(name) if c.is_whitespace() => At::Value(name),
            At::Value(name) => self.value(&name, c, answer),
            At::Within(whole, visible) => Self::whole(whole, visible, c, answer),
            At::Text(escape) => text(escape, c, answer),
        };
    }

    fn value(&mut self, name: &str, c: char, answer: &mut String) -> At {
        if name == REPLY && !self.within && c == '{' {
            self.within = true;
            return At::Member;
        }
        // A text that is `null` is none.
        let visible = name == "answer" && !(c == 'n' && self.form == AnswerForm::Text);
        self.begun |= visible;
        if visible && c == '"' && self.form == AnswerForm::Text {
            return At::Text(Escape::None);
        }
        Self::whole(Whole::default(), visible, c, answer)
    }

    fn whole(mut whole: Whole, visible: bool, c: char, answer: &mut String) -> At {
        let step = whole.step(c);
        if visible && !matches!(step, Step::Behind) {
            answer.push(c);
        }
        match step {
            Step::On => At::Within(whole, visible),
            Step::Last | Step::Behind if visible => At::Over,
            Step::Behind if c == '}' => At::Over,
            Step::Last | Step::Behind => At::Member,
        }
    }
}

fn text(escape: Escape, c: char, answer: &mut String) -> At {
    let next = match (escape, c) {
        (Escape::Half(half), '\\') => Escape::HalfBegun(half),
        (Escape::HalfBegun(half), 'u') => Escape::Hex(0, 0, Some(half)),
        // Half of a pair is no text: the whole reply is no JSON.
        (Escape::None, '"') | (Escape::Half(_) | Escape::HalfBegun(_), _) => return At::Over,
        (Escape::None, '\\') => Escape::Begun,
        (Escape::None, c) => {
            answer.push(c);
            Escape::None
        }
        (Escape::Begun, 'u') => Escape::Hex(0, 0, None),
        (Escape::Begun, c) => {
            answer.push(match c {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                other => other,
            });
            Escape::None
        }
        (Escape::Hex(read, count, half), c) => {
            let Some(digit) = c.to_digit(16) else { return At::Over };
            let read = read * 16 + digit;
            if count < 3 { Escape::Hex(read, count + 1, half) } else { unit(read, half, answer) }
        }
    };
    At::Text(next)
}

/// A unit of UTF-16 that is whole.
fn unit(unit: u32, half: Option<u32>, answer: &mut String) -> Escape {
    let code = match half {
        Some(half) if (0xDC00..0xE000).contains(&unit) => 0x10000 + ((half - 0xD800) << 10) + (unit - 0xDC00),
        None if (0xD800..0xDC00).contains(&unit) => return Escape::Half(unit),
        Some(_) | None => unit,
    };
    answer.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    Escape::None
}
