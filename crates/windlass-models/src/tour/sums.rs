//! Owns how the tour finds arithmetic in words and signs. It never works anything out: that is a tool's work.

/// Words for operators, the longer ones first.
const SIGNS: [(&[&str], &str); 12] = [
    (&["to", "the", "power", "of"], "^"),
    (&["multiplied", "by"], "*"),
    (&["divided", "by"], "/"),
    (&["percent", "of"], "% of"),
    (&["plus"], "+"),
    (&["minus"], "-"),
    (&["times"], "*"),
    (&["x"], "*"),
    (&["×"], "*"),
    (&["÷"], "/"),
    (&["squared"], "^ 2"),
    (&["cubed"], "^ 3"),
];

/// Words in front of a list of numbers, and the sign between them.
const LISTS: [(&str, &str); 7] = [
    ("sum", "+"),
    ("total", "+"),
    ("add", "+"),
    ("product", "*"),
    ("multiply", "*"),
    ("average", "+"),
    ("mean", "+"),
];

/// A part of a message that arithmetic may be made of.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(String),
    /// One of `+ - * / ^ % ( )`.
    Sign(char),
    /// `of` behind a percentage.
    Of,
    Word(String),
}

/// The sums in a message: each as it was said, and in signs.
pub(super) fn find(text: &str) -> Vec<(String, String)> {
    let tokens = tokens(text);
    let mut found = lists(&tokens);
    let mut rest = tokens.as_slice();
    while let Some(start) = rest.iter().position(|token| !matches!(token, Token::Word(_) | Token::Of)) {
        rest = rest.get(start..).unwrap_or_default();
        let length = rest.iter().position(|token| matches!(token, Token::Word(_))).unwrap_or(rest.len());
        let (run, after) = rest.split_at(length);
        if let Some(expression) = expression(run) {
            found.push((as_written(run), expression));
        }
        rest = after;
    }
    found
}

fn tokens(text: &str) -> Vec<Token> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let rest = words.get(at..).unwrap_or_default();
        let bare = |word: &str| word.trim_end_matches([',', '.', '?', '!', ';', ':']).to_owned();
        let sign = SIGNS.iter().find(|(names, _)| {
            rest.len() >= names.len() && names.iter().zip(rest).all(|(name, word)| *name == bare(word))
        });
        // `x` is a sign between numbers only.
        let after_number = matches!(out.last(), Some(Token::Number(_) | Token::Sign(')')));
        if let Some((names, signs)) = sign.filter(|_| after_number) {
            signs.split(' ').for_each(|part| out.extend(split(part)));
            at += names.len();
            if word.ends_with('?') {
                out.push(Token::Word("?".to_owned()));
            }
            continue;
        }
        if *word == "of" && out.last() == Some(&Token::Sign('%')) {
            out.push(Token::Of);
        } else {
            out.extend(split(word));
        }
        at += 1;
    }
    out
}

/// The tokens of one word of a text.
fn split(word: &str) -> Vec<Token> {
    let core =
        word.trim_matches(['?', '!', ',', ';', ':', '"', '\'', '`', '=', '$', '€']).trim_end_matches('.');
    let ends = word.len() > core.len() && word.ends_with([',', ';', ':', '.', '?', '!']);
    let mut out = if core == "of" { vec![Token::Of] } else { signs(core) };
    if ends {
        out.push(Token::Word(word.chars().last().map(String::from).unwrap_or_default()));
    }
    out
}

fn signs(core: &str) -> Vec<Token> {
    let whole = || vec![Token::Word(core.to_owned())];
    let dates =
        |sign: char| core.split(sign).filter(|part| part.chars().all(|c| c.is_ascii_digit())).count() == 3;
    let foreign = |c: char| !c.is_ascii_digit() && !".,+-*/^%()×÷".contains(c);
    if core.is_empty() || core.contains(foreign) || (core.len() >= 6 && (dates('-') || dates('/'))) {
        return whole();
    }
    let mut out = Vec::new();
    let mut number = String::new();
    for c in core.chars().chain([' ']) {
        if c.is_ascii_digit() || c == '.' || c == ',' {
            number.push(c);
            continue;
        }
        if !number.is_empty() {
            let Some(plain) = plain_number(&std::mem::take(&mut number)) else { return whole() };
            out.push(Token::Number(plain));
        }
        match c {
            ' ' => {}
            '×' => out.push(Token::Sign('*')),
            '÷' => out.push(Token::Sign('/')),
            sign => out.push(Token::Sign(sign)),
        }
    }
    out
}

/// A number without commas between its thousands; `None` for what is none (`1.2.3`, `1,2`).
fn plain_number(text: &str) -> Option<String> {
    let (whole, part) = text.split_once('.').map_or((text, None), |(whole, part)| (whole, Some(part)));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let mut many = groups.clone().peekable();
    let grouped = many.peek().is_some() && (first.is_empty() || first.len() > 3);
    let bad =
        grouped || groups.any(|group| group.len() != 3) || part.is_some_and(|part| part.contains(['.', ',']));
    let plain = text.replace(',', "");
    (!bad && plain.parse::<f64>().is_ok()).then_some(plain)
}

/// A run of tokens as an expression, if it is one with at least one sign between two numbers.
fn expression(run: &[Token]) -> Option<String> {
    let (mut out, mut depth, mut wants_number, mut joins) = (String::new(), 0_u32, true, 0);
    for (at, token) in run.iter().enumerate() {
        let behind = run.get(at + 1);
        match token {
            Token::Number(number) if wants_number => {
                out.push_str(number);
                wants_number = false;
            }
            Token::Sign('(') if wants_number => {
                depth += 1;
                out.push('(');
            }
            Token::Sign('-') if wants_number => out.push('-'),
            Token::Sign(')') if !wants_number => {
                depth = depth.checked_sub(1)?;
                out.push(')');
            }
            Token::Sign('%') if !wants_number && behind == Some(&Token::Of) => out.push_str(" / 100"),
            Token::Of if !wants_number => {
                out.push_str(" * ");
                (wants_number, joins) = (true, joins + 1);
            }
            Token::Sign(sign) if !wants_number && *sign != '(' => {
                out.push(' ');
                out.push(*sign);
                out.push(' ');
                (wants_number, joins) = (true, joins + 1);
            }
            Token::Number(_) | Token::Sign(_) | Token::Of | Token::Word(_) => return None,
        }
    }
    (joins > 0 && depth == 0 && !wants_number).then_some(out)
}

/// A run of tokens, as a person writes it.
fn as_written(run: &[Token]) -> String {
    let mut out = String::new();
    for token in run {
        let (text, tight) = match token {
            Token::Number(text) | Token::Word(text) => (text.clone(), false),
            Token::Of => ("of".to_owned(), false),
            Token::Sign(sign) => (sign.to_string(), matches!(sign, ')')),
        };
        let percent = text == "%" && run.contains(&Token::Of);
        if !out.is_empty() && !tight && !percent && !out.ends_with('(') {
            out.push(' ');
        }
        out.push_str(&text);
    }
    out
}

/// Sums that are told as a list: `the sum of 3, 4 and 5`.
fn lists(tokens: &[Token]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(word) = token else { continue };
        let Some((name, sign)) = LISTS.iter().find(|(name, _)| name == word) else { continue };
        let mut numbers = Vec::new();
        for next in tokens.get(at + 1..).unwrap_or_default() {
            match next {
                Token::Number(number) => numbers.push(number.as_str()),
                Token::Of => {}
                Token::Word(word) if ["and", ",", "by", "to", "the", "numbers"].contains(&word.as_str()) => {}
                Token::Sign(_) | Token::Word(_) => break,
            }
        }
        let joined = numbers.join(&format!(" {sign} "));
        let expression = match *name {
            _ if numbers.len() < 2 => continue,
            "average" | "mean" => format!("({joined}) / {}", numbers.len()),
            _ => joined,
        };
        let of = match *name {
            "add" => "sum",
            "multiply" => "product",
            name => name,
        };
        found.push((format!("the {of} of {}", numbers.join(", ")), expression));
    }
    found
}

#[cfg(test)]
mod tests;
