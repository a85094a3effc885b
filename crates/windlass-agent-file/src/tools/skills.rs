//! The section `skills`: folders with instructions that the model takes up when it needs them, in the public format of Agent Skills.

mod front_matter;

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, json_schema};
use serde::de::SeqAccess;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use windlass_tools::skills::{SKILL_FILE, Skill, SkillForm, SkillTools, Skills};

use crate::files::plain;
use crate::kinds::Filled;
use crate::reading::Reading;
use crate::yaml::{At, Kind, Node, OfKind, Valued, YamlError, of_kind};
use crate::{AgentFile, AgentFileError, ModelNames};

/// The largest `SKILL.md`, in bytes: with the list of its files it goes to a model whole.
pub const MAX_SKILL_BYTES: u64 = 60_000;

/// The most skills of one agent.
pub const MAX_SKILLS: usize = 100;

/// How the system message names skills: `xml` (elements), `yaml` (a list) or `json` (an object).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum FormKey {
    #[default]
    Xml,
    Yaml,
    Json,
}

/// The tools of skills: `activate` (agent-skill-activate alone) or `all` (also agent-skill-deactivate and
/// agent-skills-list-active).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum ToolsKey {
    #[default]
    Activate,
    All,
}

/// Folders, one at least.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folders(Vec<At<Filled>>);

impl OfKind for Folders {
    const EXPECTED: &'static str = "a folder, or a list of at least one";

    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>> {
        match kind {
            Kind::Text => Some(value.read().map(|folder| Self(vec![folder]))),
            Kind::List => Some(value.read().map(Self)),
            Kind::Nothing | Kind::Flag | Kind::Number | Kind::Map => None,
        }
    }
}

impl<'de> Deserialize<'de> for Folders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_kind(deserializer)
    }
}

windlass_core::schema_as!(inline [] Folders, "skillFolders", |_| {
    let folder = json_schema!({ "type": "string", "minLength": 1 });
    json_schema!({ "oneOf": [folder, { "type": "array", "minItems": 1, "items": folder }] })
});

/// Skills as a file says them: folders alone stand for a map with them.
#[derive(Clone, Debug)]
pub(crate) struct SkillKeys(SkillMap);

/// Agent Skills: folders whose `SKILL.md` the model reads when a task needs it. The system message has the name and the
/// description of each.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "skills")]
pub(crate) struct SkillMap {
    /// Folders: each is a skill (it holds a `SKILL.md`), or holds folders that are.
    folders: Folders,
    /// How the system message names the skills: `xml`, `yaml` or `json`.
    #[serde(default)]
    form: FormKey,
    /// The tools of skills that the model is offered: `activate` (`agent-skill-activate`), or `all` (also `agent-skill-deactivate` and
    /// `agent-skills-list-active`).
    #[serde(default)]
    tools: ToolsKey,
}

impl OfKind for SkillKeys {
    const EXPECTED: &'static str =
        "a folder, a list of folders, or a map such as { folders: [./skills], form: json }";

    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>> {
        let alone = |folders| Self(SkillMap { folders, ..SkillMap::default() });
        match kind {
            Kind::Text => Some(value.read().map(|folder| alone(Folders(vec![folder])))),
            Kind::List => Some(value.read().map(|folders| alone(Folders(folders)))),
            Kind::Map => Some(value.read().map(Self)),
            Kind::Nothing | Kind::Flag | Kind::Number => None,
        }
    }
}

impl<'de> Deserialize<'de> for SkillKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_kind(deserializer)
    }
}

windlass_core::schema_as!(inline [] SkillKeys, "skills_or_folders", |generator| {
    let folders = generator.subschema_for::<Folders>();
    json_schema!({ "oneOf": [folders, generator.subschema_for::<SkillMap>()] })
});

/// The skills of a file. Their texts are noted: they are a part of the agent.
pub(crate) fn read(keys: &At<SkillKeys>, reading: &Reading<'_>) -> Result<Skills, YamlError> {
    let SkillMap { folders, form, tools } = &keys.value.0;
    if folders.0.is_empty() {
        return Err(keys.error("agent.skill", format!("`{}` names no folder", keys.path)));
    }
    let mut found: Vec<Skill> = Vec::new();
    let mut names: HashMap<_, PathBuf> = HashMap::new();
    for entry in &folders.0 {
        for skill in of_entry(entry, reading)? {
            if let Some(first) = names.insert(skill.name.clone(), skill.folder.clone()) {
                let (name, second) = (&skill.name, skill.folder.display());
                let message = format!("Two skills are named `{name}`: {} and {second}", first.display());
                return Err(entry.error("agent.skill", message).with_help("remove or rename one of the two"));
            }
            found.push(skill);
        }
        if found.len() > MAX_SKILLS {
            let message = format!("`{}` brings more than {MAX_SKILLS} skills", entry.path);
            return Err(entry.error("agent.skill", message).with_help("name the folders of single skills"));
        }
    }
    let mut skills = Skills::new(found);
    skills.form = match form {
        FormKey::Xml => SkillForm::Xml,
        FormKey::Yaml => SkillForm::Yaml,
        FormKey::Json => SkillForm::Json,
    };
    skills.tools = match tools {
        ToolsKey::Activate => SkillTools::Activate,
        ToolsKey::All => SkillTools::All,
    };
    Ok(skills)
}

/// The skills of folders, for an agent that is built in a program: each is a skill, or holds folders that are. Relative ones start from
/// the working folder.
///
/// # Errors
/// A folder cannot be read or has no skill, or a skill breaks the format.
pub fn read_skills(folders: &[&Path]) -> Result<Skills, AgentFileError> {
    let folders: Vec<_> = folders.iter().map(|folder| folder.to_string_lossy()).collect();
    let node = Node::from_json(&json!({ "skills": folders }));
    Ok(AgentFile::from_node(&node, Path::new(""), &|_| None, ModelNames::Plain)?.skills)
}

/// The skills of a folder: itself, or those in it.
fn of_entry(entry: &At<Filled>, reading: &Reading<'_>) -> Result<Vec<Skill>, YamlError> {
    let folder = plain(&reading.path(&entry.value.0));
    let written = Path::new(&entry.value.0);
    if let Some(skill) = of_folder(entry, &folder, written, reading)? {
        return Ok(vec![skill]);
    }
    let rendered = reading.rendered_path(&entry.value.0);
    let inner = reading.files.folders(&folder).map_err(|error| {
        entry
            .error("agent.skill", format!("the folder {rendered} cannot be read: {error}"))
            .with_help("paths start from the folder of the agent file")
    })?;
    let each = inner.iter().map(|name| of_folder(entry, &folder.join(name), &written.join(name), reading));
    let found: Vec<Skill> = each.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    if found.is_empty() {
        let message =
            format!("there is no skill in {rendered}: neither it nor a folder in it has a {SKILL_FILE}");
        return Err(entry.error("agent.skill", message));
    }
    Ok(found)
}

/// The skill of a folder; `None`: it has no `SKILL.md`. `written`: the folder as messages name it.
fn of_folder(
    entry: &At<Filled>,
    folder: &Path,
    written: &Path,
    reading: &Reading<'_>,
) -> Result<Option<Skill>, YamlError> {
    let path = folder.join(SKILL_FILE);
    let rendered = reading.rendered_path(&written.join(SKILL_FILE).to_string_lossy());
    let failed = |reason: String| entry.error("agent.skill", format!("{rendered} cannot be read: {reason}"));
    let bytes = match reading.files.read(&path, MAX_SKILL_BYTES) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            let help =
                "move parts of it into other files of the folder, which the model reads when it needs them";
            return Err(failed(error.to_string()).with_help(help));
        }
        read => read.map_err(|error| failed(error.to_string()))?,
    };
    if reading.files.leads_out(&path, folder) {
        return Err(failed("it is a link that leads out of its folder".to_owned()));
    }
    let text = crate::files::text_of(bytes).map_err(failed)?;
    reading.note(&path, &text);
    let skill = front_matter::skill(&text, folder, &rendered, reading);
    // The place is one of the skill's file, and the value at fault one of the agent's.
    skill.map(Some).map_err(|error| YamlError { path: entry.path.clone(), ..error.in_file(&rendered) })
}

#[cfg(test)]
mod tests;
