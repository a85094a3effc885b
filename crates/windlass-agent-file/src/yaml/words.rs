//! Words of ours for the commonest mistakes in YAML: the parser's say where it stopped, not what to write.

use super::node::Place;

/// The message and the advice for an error of the parser; `None`: its own words are all there is.
pub(super) fn of(parser: &str, text: &str, place: Place) -> Option<(String, String)> {
    let lines = Lines { text, at: place.line };
    let line = lines.this();
    if parser.contains("mapping values are not allowed") {
        return Some(colon(&lines, place.column));
    }
    if parser.contains("simple key expected") || parser.contains("could not find expected ':'") {
        return Some(match unspaced(line) {
            Some(key) => no_space(key, place.line),
            None => (
                "this line has no key".to_owned(),
                "write `key: value`; a text of several lines stands below `key: |`, each line further in than the key"
                    .to_owned(),
            ),
        });
    }
    if parser.contains("invalid trailing content after") {
        let double = parser.contains("double");
        let inner = if double {
            "write `\\\"` for a quote within the text"
        } else {
            "write `''` for a quote within the text"
        };
        let message = "the quoted text has ended, and something follows it".to_owned();
        return Some((
            message,
            format!("{inner}, or put the text under `key: |`, where quotes mean nothing"),
        ));
    }
    if parser.contains("flow mapping") || parser.contains("flow sequence") {
        let message = "within `{ }` and `[ ]` a comma or a closing bracket was expected here".to_owned();
        let help = "quote texts that hold `: `, `,`, `#`, `{`, `}`, `[` or `]`, and close each bracket";
        return Some((message, help.to_owned()));
    }
    if parser.contains("quoted scalar") {
        let message = "a quoted text does not end where it should".to_owned();
        let help = "close the quotes, or put a text of several lines under `key: |`";
        return Some((message, help.to_owned()));
    }
    if parser.contains("block sequence entries are not allowed") {
        let message = "a list cannot begin in the line of its key".to_owned();
        return Some((
            message,
            "begin it in the next line, or write `key: [a, b]`; quote a text that begins with `- `"
                .to_owned(),
        ));
    }
    if parser.contains("did not find expected key") || parser.contains("did not find expected '-'") {
        let message = "the indentation of this line fits none of the lines above".to_owned();
        let help = "keys of one map, and dashes of one list, stand exactly below one another";
        return Some((message, help.to_owned()));
    }
    let first = line.chars().nth(place.column.saturating_sub(1));
    if parser.contains("unexpected character")
        || parser.contains("unknown anchor")
        || parser.contains("alias")
    {
        return Some(special(first?));
    }
    None
}

/// A text that begins with a sign which means something in YAML.
pub(super) fn special(sign: char) -> (String, String) {
    (
        format!("a text cannot begin with `{sign}` unless it is quoted"),
        format!("write `\"{sign}...\"`, or put the text under `key: |`"),
    )
}

/// A colon where none may stand.
fn colon(lines: &Lines<'_>, column: usize) -> (String, String) {
    let line = lines.this();
    let before: String = line.chars().take(column.saturating_sub(1)).collect();
    if let Some((key, _)) = before.trim_start().trim_start_matches("- ").split_once(": ") {
        let key = rendered_key(key);
        let message = format!("the text of `{key}` holds a colon and a space, which begin a map");
        return (message, format!("quote it: `{key}: \"... : ...\"`, or put it under `{key}: |`"));
    }
    let previous = lines.previous();
    if let Some((at, key)) = previous.and_then(|(at, line)| unspaced(line).map(|key| (at, key))) {
        return no_space(key, at);
    }
    match previous {
        Some((at, line)) if has_value(line) => (
            format!("this line stands further in than line {at}, which has a value already"),
            "align keys of one map; a text of several lines with `: ` in it stands under `key: |`".to_owned(),
        ),
        _ => (
            "a colon and a space begin a map, and none can begin here".to_owned(),
            "quote a text that holds `: `, or put it under `key: |`".to_owned(),
        ),
    }
}

fn no_space(key: &str, line: usize) -> (String, String) {
    let key = rendered_key(key);
    (format!("`{key}:` in line {line} is followed by no space"), format!("write `{key}: value`"))
}

/// The key of a line whose colon is followed by no space: `name:x`.
fn unspaced(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches("- ");
    let (key, value) = line.split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    (is_key && !value.is_empty() && !value.starts_with([' ', '\t', '/'])).then_some(key)
}

/// Whether a line is a key with a value.
fn has_value(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(_, value)| !value.trim().is_empty())
}

/// A key as messages show it. A longer one is a text, which may be anything.
fn rendered_key(key: &str) -> &str {
    if key.len() <= 40 && !key.contains(char::is_whitespace) { key } else { "key" }
}

struct Lines<'t> {
    text: &'t str,
    /// From 1.
    at: usize,
}

impl<'t> Lines<'t> {
    fn this(&self) -> &'t str {
        self.text.lines().nth(self.at.saturating_sub(1)).unwrap_or_default()
    }

    /// The last line above that holds something, with its number.
    fn previous(&self) -> Option<(usize, &'t str)> {
        let previous = self.text.lines().take(self.at.saturating_sub(1)).zip(1..);
        let filled =
            previous.filter(|(line, _)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
        filled.last().map(|(line, at)| (at, line))
    }
}
