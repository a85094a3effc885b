//! Arguments as people read them: a field on a line, texts of several lines as blocks, writes to files as differences.

use serde_json::{Map, Value};
use windlass_core::text::{display_name, display_value};
use windlass_read::words::count;

use super::changes::{self, Side, Write};
use crate::out::Style;

/// Maximum number of lines shown of a text or a difference, unless all of it is wanted: of its beginning, and of its end.
const LINES: (usize, usize) = (40, 20);
/// Maximum number of characters shown of a line, unless all of it is wanted: of its beginning, and of its end.
const CHARS: (usize, usize) = (280, 120);
/// Maximum number of characters of a list or an object on one line.
const ONE_LINE: usize = 100;
/// Spaces before the arguments, and before each level within them.
const INDENT: usize = 2;

/// A call's arguments as they are shown.
#[derive(Debug, Default)]
pub(super) struct Page {
    lines: Vec<(Style, String)>,
    /// Whether all is shown, however long.
    whole: bool,
    cut: bool,
}

impl Page {
    /// The arguments of a call; `write`: the change that it makes to a file.
    pub(super) fn of(args: &Value, write: Option<&Write>, whole: bool) -> Self {
        let mut page = Self { whole, ..Self::default() };
        match args.as_object() {
            Some(fields) if fields.is_empty() => page.line(INDENT, "(no arguments)"),
            Some(fields) => page.object(INDENT, fields, write),
            None => page.value(INDENT, "", args),
        }
        page
    }

    /// Whether something was left out.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Its lines.
    pub(super) fn into_lines(self) -> Vec<(Style, String)> {
        self.lines
    }

    fn styled(&mut self, style: Style, indent: usize, text: &str) {
        self.lines.push((style, format!("{:indent$}{text}", "")));
    }

    fn line(&mut self, indent: usize, text: &str) {
        self.styled(Style::Plain, indent, text);
    }

    fn object(&mut self, indent: usize, fields: &Map<String, Value>, write: Option<&Write>) {
        let pairs = changes::pairs(fields);
        for (key, value) in fields {
            let label = format!("{}:", display_name(key));
            if let Some(pair) = pairs.iter().find(|pair| pair.new == key) {
                let label = format!("{} -> {}:", display_name(pair.old), display_name(pair.new));
                self.line(indent, &label);
                self.sides(indent + INDENT, &changes::between(pair.before, pair.after));
            } else if pairs.iter().any(|pair| pair.old == key) {
                // It stands beside the text that replaces it.
            } else if let Some(write) = write.filter(|write| write.field == *key) {
                self.write(indent, &label, write, value);
            } else {
                self.value(indent, &label, value);
            }
        }
    }

    fn write(&mut self, indent: usize, label: &str, write: &Write, value: &Value) {
        let path = write.path.display();
        match &write.change {
            Ok(sides) if sides.is_empty() => {
                self.line(indent, &format!("{label} the same as in {path}"));
            }
            Ok(sides) => {
                self.line(
                    indent,
                    &format!("{label} as a change of {path}, if the tool replaces the whole file"),
                );
                self.sides(indent + INDENT, sides);
            }
            Err(why) => {
                self.value(indent, label, value);
                self.styled(Style::Dim, indent, &format!("({path}: {why})"));
            }
        }
    }

    fn value(&mut self, indent: usize, label: &str, value: &Value) {
        match value {
            Value::String(text) if text.contains('\n') => {
                self.line(indent, label);
                let lines: Vec<&str> = text.split('\n').collect();
                self.ends(indent + INDENT, &lines, |line| (Style::Plain, "| ", line));
            }
            Value::String(text) => {
                let text =
                    if is_bare(text) { self.shortened(text) } else { self.shortened(&rendered(value)) };
                self.line(indent, format!("{label} {text}").trim_start());
            }
            Value::Object(fields) if !fits(value) => {
                self.line(indent, label);
                self.object(indent + INDENT, fields, None);
            }
            Value::Array(items) if !fits(value) => {
                self.line(indent, label);
                for item in items {
                    self.item(indent + INDENT, item);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) | Value::Array(_) => {
                self.line(indent, format!("{label} {}", rendered(value)).trim_start());
            }
        }
    }

    /// An item of a list: its fields stand below a dash.
    fn item(&mut self, indent: usize, item: &Value) {
        match item.as_object() {
            Some(fields) if !fits(item) => {
                self.line(indent, "-");
                self.object(indent + INDENT, fields, None);
            }
            Some(_) | None => self.value(indent, "-", item),
        }
    }

    fn sides(&mut self, indent: usize, sides: &[Side]) {
        self.ends(indent, sides, |side| match side {
            Side::Place(text) => (Style::Dim, "", text),
            Side::Same(text) => (Style::Plain, " ", text),
            Side::Added(text) => (Style::Added, "+", text),
            Side::Removed(text) => (Style::Removed, "-", text),
        });
    }

    /// Lines with their style and their sign: all, or the beginning and the end.
    fn ends<'l, L>(
        &mut self,
        indent: usize,
        lines: &'l [L],
        render: impl Fn(&'l L) -> (Style, &'static str, &'l str),
    ) {
        let (head, tail) = LINES;
        let all = self.whole || lines.len() <= head + tail;
        let (head, tail) = if all { (lines.len(), lines.len()) } else { (head, lines.len() - tail) };
        for (at, line) in lines.iter().enumerate().filter(|(at, _)| *at < head || *at >= tail) {
            if at == tail {
                self.more(indent, tail - head);
            }
            let (style, sign, text) = render(line);
            let text = self.shortened(text);
            self.styled(style, indent, &format!("{sign}{text}"));
        }
    }

    fn more(&mut self, indent: usize, lines: usize) {
        if lines > 0 {
            self.cut = true;
            let lines = count(lines as u64, "more line");
            self.styled(Style::Dim, indent, &format!("… {lines}: [s]how all"));
        }
    }

    /// A line, or its beginning and its end: what matters may stand behind a long beginning.
    fn shortened(&mut self, line: &str) -> String {
        let (head, tail) = CHARS;
        let chars = line.chars().count();
        if self.whole || chars <= head + tail {
            return line.to_owned();
        }
        self.cut = true;
        let begin: String = line.chars().take(head).collect();
        let end: String = line.chars().skip(chars - tail).collect();
        let more = count((chars - head - tail) as u64, "more character");
        format!("{begin}… ({more}: [s]how all) …{end}")
    }
}

/// Whether a text is read as itself without quotes: not as a number, a list or nothing, and without gaps that could move what
/// follows to a line of its own.
fn is_bare(text: &str) -> bool {
    let edges = text.trim() != text || text.is_empty();
    let gaps =
        text.chars().zip(text.chars().skip(1)).any(|(one, next)| one.is_whitespace() && next.is_whitespace());
    !edges && !gaps && !text.starts_with(['"', '|', '-']) && serde_json::from_str::<Value>(text).is_err()
}

/// Whether a list or an object stands on one line.
fn fits(value: &Value) -> bool {
    is_flat(value) && value.to_string().chars().count() <= ONE_LINE
}

fn is_flat(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains('\n'),
        Value::Array(items) => items.iter().all(is_flat),
        Value::Object(fields) => changes::pairs(fields).is_empty() && fields.values().all(is_flat),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// A value as JSON on one line, however long.
fn rendered(value: &Value) -> String {
    let short = value.to_string();
    if short.chars().count() <= ONE_LINE { display_value(value) } else { short }
}

#[cfg(test)]
mod tests;
