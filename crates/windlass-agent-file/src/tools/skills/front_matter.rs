//! A `SKILL.md`: front matter in YAML between lines of `---`, and instructions behind it.

use std::path::Path;

use serde::Deserialize;
use windlass_tools::skills::{MAX_SKILL_NAME, SKILL_FILE, Skill, valid_name};

use crate::reading::Reading;
use crate::yaml::{self, At, Field, Node, NodeValue, Place, Problem, YamlError};

/// The line before and behind the front matter.
const FENCE: &str = "---";

/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 1_024;

/// The longest note on what a skill needs, in characters.
const MAX_COMPATIBILITY: usize = 500;

/// The keys of the format.
const KEYS: [&str; 6] = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// The part of the front matter that Windlass reads.
#[derive(Debug, Deserialize)]
struct FrontMatter {
    name: At<String>,
    description: At<String>,
    #[serde(default)]
    compatibility: Option<At<String>>,
}

/// The skill of a text. Keys that the format does not have are noted and ignored.
pub(super) fn skill(
    text: &str,
    folder: &Path,
    rendered: &str,
    reading: &Reading<'_>,
) -> Result<Skill, YamlError> {
    let (front, body, end) = split(text)?;
    // An empty line for the first fence keeps the numbers of the lines.
    let node = yaml::parse(&format!("\n{front}")).map_err(quoted)?;
    note_unknown(&node, rendered, reading);
    let FrontMatter { name, description, compatibility } = read(&node)?;
    checked_name(&name, folder)?;
    within(&description, MAX_DESCRIPTION)?;
    if let Some(compatibility) = &compatibility {
        within(compatibility, MAX_COMPATIBILITY)?;
    }
    if body.trim().is_empty() {
        return Err(fault(
            end,
            format!("The {SKILL_FILE} has no instructions behind its front matter"),
            None,
        ));
    }
    Ok(Skill {
        name: name.value.as_str().into(),
        description: description.value.trim().into(),
        compatibility: compatibility.map(|text| text.value.trim().into()),
        text: body.trim().into(),
        folder: folder.to_owned(),
    })
}

/// The front matter, what follows it, and the place of its end.
fn split(text: &str) -> Result<(&str, &str, Place), YamlError> {
    let begin = Place { line: 1, column: 1 };
    let help = || {
        Some(format!(
            "begin the file with `{FENCE}`, `name: ..`, `description: ..` and `{FENCE}`, each on a line"
        ))
    };
    let is_fence = |line: &str| line.trim_end() == FENCE;
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| is_fence(line));
    let first = first.ok_or_else(|| fault(begin, format!("The {SKILL_FILE} has no front matter"), help()))?;
    let mut at = first.len();
    for (number, line) in lines.enumerate() {
        if is_fence(line) {
            let front = text.get(first.len()..at).unwrap_or_default();
            let body = text.get(at + line.len()..).unwrap_or_default();
            return Ok((front, body, Place { line: number + 2, column: 1 }));
        }
        at += line.len();
    }
    Err(fault(
        begin,
        format!("The front matter of the {SKILL_FILE} has no end: a line `{FENCE}` is missing"),
        help(),
    ))
}

fn read(node: &Node) -> Result<FrontMatter, YamlError> {
    if node.is_null() {
        let problem = Problem::MissingKey { path: String::new(), key: "name".to_owned() };
        return Err(YamlError::new(Place { line: 1, column: 1 }, "", problem));
    }
    let mut known = node.clone();
    if let NodeValue::Map(entries) = &mut known.value {
        entries.retain(|(key, _)| ["name", "description", "compatibility"].contains(&key.name.as_str()));
    }
    Field::root(&known).decode()
}

/// A colon within a text is the mistake that others let pass.
fn quoted(error: YamlError) -> YamlError {
    let YamlError { problem, .. } = &error;
    let Problem::Syntax { message, help: None } = &**problem else { return error };
    let help = Some("put a text with `: ` in it between quotes".to_owned());
    YamlError { problem: Box::new(Problem::Syntax { message: message.clone(), help }), ..error }
}

fn note_unknown(node: &Node, rendered: &str, reading: &Reading<'_>) {
    let NodeValue::Map(entries) = &node.value else { return };
    for (key, _) in entries.iter().filter(|(key, _)| !KEYS.contains(&key.name.as_str())) {
        reading.remark(format!(
            "{rendered}:{}:{}: the key `{}` is none of the format and is ignored; its keys are {}",
            key.line,
            key.column,
            key.name,
            KEYS.join(", ")
        ));
    }
}

fn checked_name(name: &At<String>, folder: &Path) -> Result<(), YamlError> {
    if !valid_name(&name.value) {
        return Err(name.wrong(&format!(
            "1 to {MAX_SKILL_NAME} lower-case letters, digits and single hyphens between them"
        )));
    }
    let own = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if own != name.value {
        let message = format!("The skill is named `{}`, and its folder `{own}`", name.value);
        return Err(fault(name.place, message, Some("give both one name".to_owned())));
    }
    Ok(())
}

fn within(text: &At<String>, most: usize) -> Result<(), YamlError> {
    let count = text.value.trim().chars().count();
    if count == 0 {
        return Err(text.wrong("a non-empty text"));
    }
    if count > most {
        let message = format!("`{}` has {count} characters, at most {most} are taken", text.path);
        let help = "what is longer belongs into the instructions, behind the front matter";
        return Err(fault(text.place, message, Some(help.to_owned())));
    }
    Ok(())
}

fn fault(place: Place, message: String, help: Option<String>) -> YamlError {
    YamlError::new(place, "", Problem::Other { code: "agent.skill", message, help })
}
