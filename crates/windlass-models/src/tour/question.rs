//! Owns which tools a question is about, and with what arguments: by their names, effects and schemas alone.

use serde_json::{Map, Number, Value};
use windlass_core::ToolSpec;
use windlass_core::model::ReplyCall;
use windlass_core::tool::{Effect, ToolKind};

/// The most calls that one question leads to.
const MAX_CALLS: usize = 8;

/// Words of a question, and the word that the names of fitting tools have.
const MEANINGS: [(&[&str], &str); 3] = [
    (&["time", "day", "date", "today"], "now"),
    (&["day", "date"], "today"),
    (&["files", "documents", "folder"], "list"),
];

/// The request in the first line of a message.
pub(super) struct Question<'t> {
    line: &'t str,
    words: Vec<&'t str>,
    /// Sums in signs: as they were written, and as expressions.
    sums: Vec<(String, String)>,
}

impl<'t> Question<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let line = text.trim_start().lines().next().unwrap_or_default();
        let around = |c| QUOTES.contains(&c) || ENDS.contains(&c);
        let bare = |word: &'t str| word.trim_start_matches(QUOTES).trim_end_matches(around);
        Self { line, words: line.split_whitespace().map(bare).collect(), sums: sums(line) }
    }

    /// The calls that the question leads to: of tools for its sums, of tools that it names, of tools for files whose verb it
    /// begins with, and of tools that only read and have one of its words in their name.
    pub(super) fn calls(&self, tools: &[&ToolSpec]) -> Vec<ReplyCall> {
        let wanted = tools.iter().filter(|spec| self.wants(spec));
        wanted.flat_map(|spec| self.calls_of(spec)).take(MAX_CALLS).collect()
    }

    /// The sum, as it was written, that is worked out with these arguments.
    pub(super) fn sum(&self, args: &str) -> Option<&str> {
        let args: Value = serde_json::from_str(args).ok()?;
        let (written, _) = self
            .sums
            .iter()
            .find(|(_, expression)| args.get("expression") == Some(&expression.as_str().into()))?;
        Some(written)
    }

    fn wants(&self, spec: &ToolSpec) -> bool {
        let names = names(spec);
        let says = |name: &str| self.words.iter().any(|word| word.eq_ignore_ascii_case(name));
        let means = |name: &str| {
            MEANINGS.iter().any(|(words, meaning)| *meaning == name && words.iter().any(|word| says(word)))
        };
        let reads = spec.effect == Effect::ReadOnly;
        spec.kind == ToolKind::Run
            && (!self.sums.is_empty() && spec.parameters.pointer("/properties/expression").is_some()
                || names.iter().all(|name| says(name))
                || self.orders(spec, &names)
                || reads && names.iter().any(|name| says(name) || means(name)))
    }

    /// Whether the line is an order to the tool, with a file: `Save notes.txt: ...` to `save_file`.
    fn orders(&self, spec: &ToolSpec, names: &[String]) -> bool {
        let verb = self.words.first().zip(names.first());
        let takes_file =
            || FILE.iter().any(|name| spec.parameters.pointer(&format!("/properties/{name}")).is_some());
        verb.is_some_and(|(word, name)| word.eq_ignore_ascii_case(name))
            && self.words.iter().any(|word| is_path(word))
            && takes_file()
    }

    /// Calls with each text that a parameter may be given; none if a required one is for something else.
    fn calls_of(&self, spec: &ToolSpec) -> Vec<ReplyCall> {
        let properties = spec.parameters.get("properties").and_then(Value::as_object);
        let properties = || properties.into_iter().flatten();
        let required = spec.parameters.get("required").and_then(Value::as_array);
        let call = |at: usize| {
            let mut numbers = self.words.iter().filter_map(|word| word.parse::<Number>().ok());
            let mut args = Map::new();
            for (name, schema) in properties() {
                let needed = required.is_some_and(|names| names.iter().any(|one| one == name));
                let numeric = schema.get("type").is_some_and(|kind| kind == "number" || kind == "integer");
                let texts = self.texts(spec, name);
                let text = texts.get(at).or(texts.last()).cloned().map(Value::from);
                match text.or_else(|| numbers.next().filter(|_| needed && numeric).map(Value::from)) {
                    Some(value) => drop(args.insert(name.clone(), value)),
                    None if needed => return None,
                    None => {}
                }
            }
            Some(called(spec, &Value::Object(args)))
        };
        let times = properties().map(|(name, _)| self.texts(spec, name).len()).max().unwrap_or_default();
        (0..times.max(1)).filter_map(call).collect()
    }

    /// The values that a parameter of that name may be given.
    fn texts(&self, spec: &ToolSpec, parameter: &str) -> Vec<String> {
        let lists = names(spec).iter().any(|name| name == "list");
        let paths = self.words.iter().filter(|word| is_path(word)).map(|word| (*word).to_owned());
        match parameter {
            "expression" => self.sums.iter().map(|(_, expression)| expression.clone()).collect(),
            "path" | "folder" | "directory" if lists => {
                vec![paths.into_iter().find(|path| path.contains('/')).unwrap_or_else(|| ".".to_owned())]
            }
            file if FILE.contains(&file) => paths.collect(),
            "timezone" => vec!["UTC".to_owned()],
            "query" | "question" => vec![self.line.to_owned()],
            "text" | "content" => {
                vec![self.line.split_once(": ").map_or(self.line, |(_, text)| text).to_owned()]
            }
            _ => Vec::new(),
        }
    }
}

/// A call of a tool.
pub(super) fn called(spec: &ToolSpec, args: &Value) -> ReplyCall {
    ReplyCall { id: None, name: spec.name.clone(), args: args.to_string().into() }
}

/// The words of a tool's own name: `files__read_text_file` has read, text and file.
fn names(spec: &ToolSpec) -> Vec<String> {
    let own = spec.name.rsplit("__").next().unwrap_or_default();
    own.split(['_', '-', '.']).map(str::to_lowercase).collect()
}

/// Parameters that take a file.
const FILE: [&str; 3] = ["path", "file", "filename"];
const QUOTES: [char; 9] = ['"', '\'', '`', '“', '”', '(', ')', '[', ']'];
const ENDS: [char; 6] = [',', ';', ':', '.', '!', '?'];

/// Whether a word names a file or folder: by an ending such as `.md`, or by a slash.
fn is_path(word: &str) -> bool {
    let ends = word.rsplit_once('.').is_some_and(|(_, end)| end.chars().all(char::is_alphanumeric));
    let named = word.contains(char::is_alphabetic) && word.len() > 3;
    named && (ends || word.contains('/')) && !word.contains("://") && !word.contains('@')
}

/// The sums of a line that are written in signs, such as `17% of 2350`. It works nothing out: that is a tool's work.
fn sums(line: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut run = String::new();
    for word in line.split_whitespace().chain(["?"]) {
        let bare = word.trim_end_matches(ENDS);
        let is_date = bare.split(['-', '/']).count() == 3;
        let is_part = bare.chars().all(|c| "0123456789.+-*/^%()".contains(c)) && !is_date;
        if is_part && !bare.is_empty() || bare == "of" && run.ends_with('%') {
            run = [&run, bare].join(" ");
        } else {
            found.push(std::mem::take(&mut run));
        }
        if bare != word {
            found.push(std::mem::take(&mut run));
        }
    }
    let ends = |sum: &str| sum.ends_with(|c: char| c.is_ascii_digit() || c == ')');
    let joins = |sum: &str| {
        sum.contains(|c: char| c.is_ascii_digit())
            && sum.trim_start_matches('-').contains(['+', '-', '*', '/', '^', '%'])
    };
    let found = found.iter().map(|sum| sum.trim().to_owned()).filter(|sum| ends(sum) && joins(sum));
    found.map(|sum| (sum.clone(), sum.replace("% of", " / 100 *"))).collect()
}

#[cfg(test)]
mod tests;
