//! Reads an expression and evaluates it on the way: recursive descent with a bounded depth.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = signed { ("*" | "/" | "%" | "of") signed }
//! signed  = ("+" | "-") signed | power
//! power   = percent [ "^" signed ]
//! percent = atom [ "%" ]                      // where no operand follows
//! atom    = number | name | name "(" sum { "," sum } ")" | "(" sum ")"
//! ```

use super::number::{Impossible, Number};
use super::{MAX_DEPTH, MAX_EXPRESSION};

const FUNCTIONS: &str = "sqrt, abs, min, max, round, floor, ceil, ln, log, log2, exp, sin, cos, tan";

/// The value of an expression.
///
/// # Errors
/// It is none, or has no value; the text says why and at which character.
pub(crate) fn evaluate(expression: &str) -> Result<Number, String> {
    if expression.len() > MAX_EXPRESSION {
        return Err(format!(
            "the expression has {} bytes; the maximum is {MAX_EXPRESSION}",
            expression.len()
        ));
    }
    let mut parser = Parser { chars: expression.chars().collect(), at: 0, depth: 0 };
    let term = parser.sum()?;
    match parser.peek() {
        None => Ok(term.value),
        Some(',') => Err(parser.wrong("unexpected `,`: write numbers without separators, such as 1000")),
        Some(')') => Err(parser.wrong("this `)` has no `(`")),
        Some(found) => Err(parser.wrong(&format!("expected an operator, found `{found}`"))),
    }
}

/// A value, and whether it was written as a bare percentage.
#[derive(Clone, Copy)]
struct Term {
    value: Number,
    percent: bool,
}

impl From<Number> for Term {
    fn from(value: Number) -> Self {
        Self { value, percent: false }
    }
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn sum(&mut self) -> Result<Term, String> {
        self.nested(|parser| {
            let mut sum = parser.product()?;
            while let Some(sign @ ('+' | '-')) = parser.peek() {
                let at = parser.at;
                parser.at += 1;
                let term = parser.product()?;
                if term.percent && !sum.percent {
                    let message = "a percentage cannot be added to a number: write `p% of x`";
                    return Err(parser.wrong_at(at, message));
                }
                let value =
                    if sign == '+' { sum.value.plus(term.value) } else { sum.value.minus(term.value) };
                sum = Term { value: parser.check_at(at, value)?, percent: sum.percent };
            }
            Ok(sum)
        })
    }

    fn product(&mut self) -> Result<Term, String> {
        let mut product = self.signed()?;
        loop {
            let at = self.at_next();
            let operator = match self.peek() {
                Some(sign @ ('*' | '/' | '%')) if self.chars.get(self.at + 1) != Some(&'*') => {
                    self.at += 1;
                    sign
                }
                _ if self.word_is("of") => {
                    self.at += 2;
                    '*'
                }
                _ => return Ok(product),
            };
            let factor = self.signed()?.value;
            let value = match operator {
                '*' => product.value.times(factor),
                '/' => product.value.over(factor),
                _ => product.value.remainder(factor),
            };
            product = self.check_at(at, value)?.into();
        }
    }

    fn signed(&mut self) -> Result<Term, String> {
        match self.peek() {
            Some(sign @ ('+' | '-')) => self.nested(|parser| {
                parser.at += 1;
                let term = parser.signed()?;
                Ok(if sign == '-' { Term { value: term.value.negative(), ..term } } else { term })
            }),
            _ => self.power(),
        }
    }

    fn power(&mut self) -> Result<Term, String> {
        let base = self.percent()?;
        let at = self.at_next();
        let sign = match (self.peek(), self.chars.get(self.at + 1)) {
            (Some('^'), _) => 1,
            (Some('*'), Some('*')) => 2,
            _ => return Ok(base),
        };
        self.at += sign;
        let exponent = self.nested(Self::signed)?.value;
        Ok(self.check_at(at, base.value.power(exponent))?.into())
    }

    /// A `%` is a percent sign unless an operand follows it: then it asks for the remainder.
    fn percent(&mut self) -> Result<Term, String> {
        let value = self.atom()?;
        if self.peek() != Some('%') {
            return Ok(value.into());
        }
        let sign = self.at;
        self.at += 1;
        let remainder = match self.peek() {
            Some(next) if next.is_alphabetic() => !self.word_is("of"),
            Some(next) => next.is_ascii_digit() || next == '(' || next == '.',
            None => false,
        };
        if remainder {
            self.at = sign;
            return Ok(value.into());
        }
        let value = self.check_at(sign, value.over(Number::whole(100)))?;
        Ok(Term { value, percent: true })
    }

    fn atom(&mut self) -> Result<Number, String> {
        match self.peek() {
            Some('(') => {
                let open = self.at;
                self.at += 1;
                let value = self.sum()?.value;
                if self.peek() != Some(')') {
                    return Err(self.wrong_at(open, "this `(` is never closed"));
                }
                self.at += 1;
                Ok(value)
            }
            Some(next) if next.is_ascii_digit() || next == '.' => self.number(),
            Some(next) if next.is_alphabetic() => self.name(),
            Some(found) => Err(self.wrong(&format!("expected a number, found `{found}`"))),
            None => Err(self.wrong("expected a number, found the end")),
        }
    }

    fn number(&mut self) -> Result<Number, String> {
        let start = self.at;
        let text: String = self.take(|c| c.is_ascii_digit() || c == '.' || c == '_').replace('_', "");
        let exponent = self.exponent();
        let points = text.chars().filter(|c| *c == '.').count();
        if points > 1 || text == "." {
            return Err(self.wrong_at(start, &format!("`{text}` is not a number")));
        }
        Number::literal(&text, exponent).ok_or_else(|| self.wrong_at(start, "this number is too large"))
    }

    /// `e` and a whole number, or nothing: the `e` of `2 * e` is the constant.
    fn exponent(&mut self) -> i32 {
        let back = self.at;
        if !matches!(self.chars.get(self.at), Some('e' | 'E')) {
            return 0;
        }
        self.at += 1;
        let negative = self.chars.get(self.at) == Some(&'-');
        if matches!(self.chars.get(self.at), Some('+' | '-')) {
            self.at += 1;
        }
        let digits = self.take(|c| c.is_ascii_digit());
        if digits.is_empty() {
            self.at = back;
            return 0;
        }
        let size = digits.parse().unwrap_or(100_000).min(100_000);
        if negative { -size } else { size }
    }

    fn name(&mut self) -> Result<Number, String> {
        let start = self.at;
        let name = self.take(char::is_alphanumeric).to_lowercase();
        if self.peek() == Some('(') {
            self.at += 1;
            let args = self.arguments(start, &name)?;
            return match function(&name, &args) {
                Some(result) => self.check_at(start, result),
                None => Err(self.wrong_at(start, &unknown_function(&name, args.len()))),
            };
        }
        match name.as_str() {
            "pi" | "π" => Ok(Number::Float(std::f64::consts::PI)),
            "e" => Ok(Number::Float(std::f64::consts::E)),
            _ if FUNCTIONS.split(", ").any(|known| known == name) => {
                Err(self.wrong(&format!("expected `(` after `{name}`")))
            }
            _ => Err(self.wrong_at(
                start,
                &format!("unknown name `{name}`; the known ones are pi, e and the functions {FUNCTIONS}"),
            )),
        }
    }

    fn arguments(&mut self, start: usize, name: &str) -> Result<Vec<Number>, String> {
        let mut args = Vec::new();
        loop {
            args.push(self.sum()?.value);
            match self.peek() {
                Some(',') => self.at += 1,
                Some(')') => {
                    self.at += 1;
                    return Ok(args);
                }
                Some(found) => return Err(self.wrong(&format!("expected `,` or `)`, found `{found}`"))),
                None => return Err(self.wrong_at(start, &format!("the `(` of `{name}` is never closed"))),
            }
        }
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        if self.depth == MAX_DEPTH {
            return Err(self.wrong(&format!("nested more than {MAX_DEPTH} levels deep")));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// The next sign that is no space, in its plain form.
    fn peek(&mut self) -> Option<char> {
        while self.chars.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.chars.get(self.at).map(|c| match c {
            '×' | '·' => '*',
            '÷' => '/',
            '−' | '–' => '-',
            other => *other,
        })
    }

    fn at_next(&mut self) -> usize {
        self.peek();
        self.at
    }

    fn word_is(&mut self, word: &str) -> bool {
        self.peek();
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let letters: String = rest.iter().take_while(|c| c.is_alphabetic()).collect();
        letters.eq_ignore_ascii_case(word)
    }

    fn take(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let taken: String = rest.iter().copied().take_while(|c| wanted(*c)).collect();
        self.at += taken.chars().count();
        taken
    }

    fn check_at(&self, at: usize, value: Result<Number, Impossible>) -> Result<Number, String> {
        value.map_err(|why| self.wrong_at(at, why))
    }

    fn wrong(&self, message: &str) -> String {
        self.wrong_at(self.at, message)
    }

    #[expect(clippy::unused_self, reason = "reads as the parser's complaint")]
    fn wrong_at(&self, at: usize, message: &str) -> String {
        format!("at character {}: {message}", at + 1)
    }
}

/// `None`: there is no such function, or not of so many arguments.
fn function(name: &str, args: &[Number]) -> Option<Result<Number, Impossible>> {
    let float = |of: fn(f64) -> f64, x: &Number| Number::of_float(of(x.float()));
    Some(match (name, args) {
        ("abs", [x]) => Ok(x.absolute()),
        ("sqrt", [x]) => float(f64::sqrt, x),
        ("exp", [x]) => float(f64::exp, x),
        ("sin", [x]) => float(f64::sin, x),
        ("cos", [x]) => float(f64::cos, x),
        ("tan", [x]) => float(f64::tan, x),
        ("ln" | "log" | "log2", [x, ..]) if !Number::whole(0).less_than(*x) => {
            Err("the logarithm of zero or less is undefined")
        }
        ("ln", [x]) => float(f64::ln, x),
        ("log", [x]) => float(f64::log10, x),
        ("log2", [x]) => float(f64::log2, x),
        ("log", [x, base]) => Number::of_float(x.float().log(base.float())),
        ("floor", [x]) => Ok(x.floor()),
        ("ceil", [x]) => Ok(x.negative().floor().negative()),
        ("round", [x]) => x.rounded(0),
        ("round", [x, places]) => places
            .small_whole()
            .ok_or("round takes a whole number of digits")
            .and_then(|places| x.rounded(places)),
        ("min", [first, rest @ ..]) => {
            Ok(rest.iter().fold(*first, |least, x| if x.less_than(least) { *x } else { least }))
        }
        ("max", [first, rest @ ..]) => {
            Ok(rest.iter().fold(*first, |most, x| if most.less_than(*x) { *x } else { most }))
        }
        _ => return None,
    })
}

fn unknown_function(name: &str, args: usize) -> String {
    if FUNCTIONS.split(", ").any(|known| known == name) {
        format!("`{name}` does not take {args} arguments")
    } else {
        format!("unknown function `{name}`; the known ones are {FUNCTIONS}")
    }
}
