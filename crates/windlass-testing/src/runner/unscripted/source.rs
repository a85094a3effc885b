//! The names that a piece of Python uses. Whether code catches the error of an unknown name cannot be seen from outside, so its
//! source is what says which tools it meant.

/// Names that are used and not defined there, and, where calls are made at once, the texts that may name a tool.
pub(super) fn names(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut texts = Vec::new();
    read(source, &mut found, &mut texts);
    if found.iter().any(|name| name == "parallel") {
        found.append(&mut texts);
    }
    found
}

fn read(source: &str, found: &mut Vec<String>, texts: &mut Vec<String>) {
    let mut rest = source;
    // Whether the next name is an attribute or being defined.
    let mut other = false;
    while let Some(c) = rest.chars().next() {
        if c == '#' {
            rest = rest.find('\n').and_then(|end| rest.get(end..)).unwrap_or_default();
        } else if c == '\'' || c == '"' {
            let (text, after) = literal(rest, c);
            texts.push(text.to_owned());
            rest = after;
            other = false;
        } else if c.is_alphanumeric() || c == '_' {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            rest = after;
            if after.starts_with(['\'', '"']) {
                rest = prefixed(name, after, found, texts);
            } else if !other && !name.starts_with(|c: char| c.is_ascii_digit()) && !is_assigned(after) {
                found.push(name.to_owned());
            }
            other = name == "def";
        } else {
            other = c == '.' || (other && c.is_whitespace());
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
}

/// A literal with a prefix: what stands in braces of a formatted one is code.
fn prefixed<'s>(prefix: &str, rest: &'s str, found: &mut Vec<String>, texts: &mut Vec<String>) -> &'s str {
    let quote = rest.chars().next().unwrap_or('"');
    let (text, after) = literal(rest, quote);
    texts.push(text.to_owned());
    if prefix.contains(['f', 'F']) {
        for part in text.split('{').skip(1) {
            read(part.split('}').next().unwrap_or_default(), found, texts);
        }
    }
    after
}

/// The text of a literal that begins here, and what follows it. One that does not end is the rest.
fn literal(rest: &str, quote: char) -> (&str, &str) {
    let one = quote.to_string();
    let three = one.repeat(3);
    let close = if rest.starts_with(&three) { three } else { one };
    let inner = rest.get(close.len()..).unwrap_or_default();
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        let tail = inner.get(at..).unwrap_or_default();
        if !escaped && let Some(after) = tail.strip_prefix(&close) {
            return (inner.get(..at).unwrap_or_default(), after);
        }
        escaped = c == '\\' && !escaped;
    }
    (inner, "")
}

/// Whether a value is given to the name that stands before: a variable or a named argument.
fn is_assigned(after: &str) -> bool {
    let after = after.trim_start_matches([' ', '\t']);
    after.starts_with('=') && !after.starts_with("==")
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_in_use_are_found_and_texts_only_beside_calls_at_once() {
        assert_eq!(names("return a__b(1) # c__d()"), ["return", "a__b"]);
        assert_eq!(names("x.a__b()\ndef a__c(): pass\na__d = 1"), ["x", "def", "pass"]);
        assert_eq!(names("say('a__b()')"), ["say"]);
        assert_eq!(names("f'{a__b(1)} c__d'"), ["a__b"]);
        assert_eq!(names(r#"parallel(("a__b", 1), ('it\'s', 2))"#), ["parallel", "a__b", r"it\'s"]);
        assert_eq!(names("'''a\n'b'''\na__b()"), ["a__b"]);
        assert_eq!(names("'open"), [""; 0]);
        assert_eq!(names("if a__b == 1: pass"), ["if", "a__b", "pass"]);
    }
}
