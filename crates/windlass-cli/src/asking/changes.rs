//! Differences that a call would make: of a file that it writes, or between an old and a new text among its arguments.
//!
//! A call writes a file if its tool is not read-only, the tool's name says that it writes, and its arguments hold one path and one
//! text ([`PATHS`], [`CONTENTS`]). The tool itself decides what it does; this is only how its arguments are shown.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};
use windlass_core::tool::Effect;

use super::subject::Subject;

/// Names of arguments that are the path of a file. Case, `_` and `-` do not count.
const PATHS: &[&str] = &["path", "file", "filename", "filepath"];
/// Names of arguments that are the text of a file.
const CONTENTS: &[&str] = &["content", "contents", "text", "filetext", "filecontent", "newcontent", "data"];
/// Words in the names of tools that write files.
const WRITES: &[&str] = &["write", "save", "create", "update", "replace", "put", "set", "store", "edit"];
/// Words in the names of tools that write a part of a file.
const PARTS: &[&str] = &["append", "prepend", "insert", "patch", "add"];
/// Ends of the names of an old and a new text, after `old` and `new`.
const PAIRS: &[&str] = &["", "text", "str", "string", "content", "code"];
/// The largest file that is compared, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;
/// Time for a comparison; after that it is coarser.
const MAX_TIME: Duration = Duration::from_secs(1);
/// Lines around each change that are shown as they are.
const AROUND: usize = 3;

/// A line of a difference.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Where the next lines stand.
    Place(String),
    Same(String),
    Added(String),
    Removed(String),
}

/// A file that a call writes.
#[derive(Debug)]
pub(super) struct Write {
    /// The argument with the file's new text.
    pub(super) field: String,
    pub(super) path: PathBuf,
    /// The difference, or why there is none.
    pub(super) change: Result<Vec<Side>, String>,
}

/// The file that a call writes, as it stands now. A relative path begins in `folder`; without one it is not looked for.
pub(super) fn written(call: &Subject, folder: Option<&Path>) -> Option<Write> {
    let Subject { tool, args, spec, .. } = call;
    let reads = spec.as_ref().is_some_and(|spec| spec.effect == Effect::ReadOnly);
    let name = normal(tool);
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if reads || !has(WRITES) || has(PARTS) {
        return None;
    }
    let fields = args.as_object()?;
    let path = Path::new(only(fields, PATHS)?.1);
    let (field, text) = only(fields, CONTENTS)?;
    let path = folder.map_or_else(|| path.to_owned(), |folder| folder.join(path));
    let before = if path.is_absolute() {
        before(&path)
    } else {
        Err("not compared, it is not known in which folder the path begins".to_owned())
    };
    let change = before.map(|before| hunks(&before, text, AROUND));
    Some(Write { field: field.to_owned(), path, change })
}

/// The only text among these arguments that has one of the names.
fn only<'f>(fields: &'f Map<String, Value>, names: &[&str]) -> Option<(&'f str, &'f str)> {
    let mut found = fields.iter().filter(|(key, _)| names.contains(&normal(key).as_str()));
    let (key, value) = found.next()?;
    found.next().is_none().then_some(())?;
    Some((key, value.as_str()?))
}

fn normal(name: &str) -> String {
    name.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The text of a file, or why it cannot be compared.
fn before(path: &Path) -> Result<String, String> {
    let found = fs::metadata(path).map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            return "no such file here; the tool may write to another place".to_owned();
        }
        format!("not compared, {error}")
    })?;
    if !found.is_file() {
        return Err("not compared, it is no regular file".to_owned());
    }
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    match read {
        Ok(_) if text.len() as u64 > MAX_BYTES => {
            Err(format!("not compared, it is larger than {MAX_BYTES} bytes"))
        }
        Ok(_) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Err("not compared, it is no text".to_owned())
        }
        Err(error) => Err(format!("not compared, {error}")),
    }
}

/// Two texts among the arguments, of which one replaces the other.
#[derive(Debug)]
pub(super) struct Pair<'f> {
    pub(super) old: &'f String,
    pub(super) new: &'f String,
    pub(super) before: &'f str,
    pub(super) after: &'f str,
}

/// The pairs among these arguments: `old_text` and `new_text`, say.
pub(super) fn pairs(fields: &Map<String, Value>) -> Vec<Pair<'_>> {
    let named = |name: String| {
        let (key, value) = fields.iter().find(|(key, _)| normal(key) == name)?;
        Some((key, value.as_str()?))
    };
    let pair = |end: &&str| {
        let ((old, before), (new, after)) = (named(format!("old{end}"))?, named(format!("new{end}"))?);
        Some(Pair { old, new, before, after })
    };
    PAIRS.iter().filter_map(pair).collect()
}

/// The whole of two texts, line by line.
pub(super) fn between(before: &str, after: &str) -> Vec<Side> {
    let lines = before.lines().count().max(after.lines().count());
    let header = |side: &Side| matches!(side, Side::Place(place) if place.starts_with("@@"));
    hunks(before, after, lines).into_iter().filter(|side| !header(side)).collect()
}

/// The changes of a text with so many lines around each.
fn hunks(before: &str, after: &str, around: usize) -> Vec<Side> {
    let diff = TextDiff::configure().timeout(MAX_TIME).diff_lines(before, after);
    let mut unified = diff.unified_diff();
    let mut sides = Vec::new();
    for hunk in unified.context_radius(around).iter_hunks() {
        sides.push(Side::Place(hunk.header().to_string()));
        for change in hunk.iter_changes() {
            let text = change.value();
            let line = text.strip_suffix('\n').unwrap_or(text).to_owned();
            sides.push(match change.tag() {
                ChangeTag::Equal => Side::Same(line),
                ChangeTag::Insert => Side::Added(line),
                ChangeTag::Delete => Side::Removed(line),
            });
            if change.missing_newline() {
                sides.push(Side::Place("\\ no newline at the end".to_owned()));
            }
        }
    }
    sides
}

#[cfg(test)]
mod tests;
