//! The tags of a template, read before it is compiled: the parser and the compiler go as deep as a tag is long.

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use windlass_core::text::steps;

/// The most tokens of one tag.
const MAX_TAG_TOKENS: usize = 500;
/// The longest text or name within a tag, in bytes.
const MAX_LITERAL_BYTES: usize = 4096;
/// The longest line with tags, in bytes.
const MAX_LINE_BYTES: usize = 65_000;
/// The most `elif`s of a template: each is nested in the one before.
const MAX_ELIFS: usize = 100;

/// An error in a template, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) line: usize,
    pub(crate) reason: String,
}

impl Fault {
    pub(super) fn at(span: Span, reason: impl Into<String>) -> Self {
        Self { line: usize::from(span.start_line).max(1), reason: reason.into() }
    }
}

impl From<minijinja::Error> for Fault {
    fn from(error: minijinja::Error) -> Self {
        let reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        Self { line: error.line().unwrap_or(1), reason }
    }
}

/// A tag: what stands between its braces.
#[derive(Default)]
pub(super) struct Tag<'t> {
    /// Whether it is `{% .. %}`.
    pub(super) is_block: bool,
    tokens: Vec<(Token<'t>, Span)>,
}

impl<'t> Tag<'t> {
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn token(&self, at: usize) -> Option<&Token<'t>> {
        self.tokens.get(at).map(|(token, _)| token)
    }

    pub(super) fn span(&self, at: usize) -> Span {
        self.tokens.get(at).map(|(_, span)| *span).unwrap_or_default()
    }

    /// The names and words, with their places.
    pub(super) fn words(&self) -> impl Iterator<Item = (usize, &'t str)> {
        let word = |(at, (token, _)): (usize, &(Token<'t>, Span))| {
            if let Token::Ident(word) = token { Some((at, *word)) } else { None }
        };
        self.tokens.iter().enumerate().filter_map(word)
    }

    /// The place of the first `=`.
    pub(super) fn assignment(&self) -> Option<usize> {
        self.tokens.iter().position(|(token, _)| matches!(token, Token::Assign))
    }

    pub(super) fn word(&self, at: usize) -> Option<&'t str> {
        if let Some(Token::Ident(word)) = self.token(at) { Some(word) } else { None }
    }
}

/// The tags of a template.
///
/// # Errors
/// It is none, or one of its lines, tags or literals is too long.
pub(super) fn tags(text: &str) -> Result<Vec<Tag<'_>>, Fault> {
    lines(text)?;
    steps::add(text.len());
    let (mut tags, mut elifs) = (Vec::<Tag<'_>>::new(), 0);
    for token in tokenize(text, false, SyntaxConfig::default()) {
        steps::add(1);
        let (token, span) = token.map_err(|error| begun(text, error.into()))?;
        if matches!(token, Token::VariableStart | Token::BlockStart) {
            tags.push(Tag { is_block: matches!(token, Token::BlockStart), ..Tag::default() });
            continue;
        }
        let Some(tag) = tags
            .last_mut()
            .filter(|_| !matches!(token, Token::TemplateData(_) | Token::VariableEnd | Token::BlockEnd))
        else {
            continue;
        };
        let literal = if let Token::Str(text) | Token::Ident(text) = &token {
            text.len()
        } else if let Token::String(text) = &token {
            text.len()
        } else {
            0
        };
        elifs += usize::from(tag.is_block && tag.tokens.is_empty() && matches!(token, Token::Ident("elif")));
        tag.tokens.push((token, span));
        let reason = if tag.tokens.len() > MAX_TAG_TOKENS {
            format!("a tag has more than {MAX_TAG_TOKENS} words and signs")
        } else if literal > MAX_LITERAL_BYTES {
            format!("a text or name in a tag has more than {MAX_LITERAL_BYTES} bytes")
        } else if elifs > MAX_ELIFS {
            format!("there are more than {MAX_ELIFS} `elif`")
        } else {
            continue;
        };
        return Err(Fault::at(span, reason));
    }
    Ok(tags)
}

/// Checks the length of lines with tags: the reader counts columns in 16 bits, and one more for an error.
fn lines(text: &str) -> Result<(), Fault> {
    steps::add(text.len());
    let begins = |line: &str| ["{{", "{%", "{#"].iter().any(|begin| line.contains(begin));
    match text.split('\n').position(|line| line.len() > MAX_LINE_BYTES && begins(line)) {
        None => Ok(()),
        Some(at) => {
            let reason = format!("a line with tags has more than {MAX_LINE_BYTES} bytes");
            Err(Fault { line: at + 1, reason })
        }
    }
}

/// The fault of a comment without an end is where the comment begins, not where the text ends.
fn begun(text: &str, fault: Fault) -> Fault {
    if !fault.reason.contains("end of comment") {
        return fault;
    }
    let closed = text.rfind("#}").map_or(0, |at| at + 2);
    let open = text.get(closed..).and_then(|rest| rest.find("{#"));
    match open.and_then(|at| text.get(..closed + at)) {
        Some(before) => Fault {
            line: before.matches('\n').count() + 1,
            reason: "the comment that begins with `{#` has no end `#}`".to_owned(),
        },
        None => fault,
    }
}
