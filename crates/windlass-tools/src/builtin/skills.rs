//! Agent Skills: folders with instructions for one kind of task, which a model takes up when it needs them.
//!
//! The system message has the name and the description of each skill ([`Skills::section`]). The text of a skill enters the
//! conversation as the result of [`ACTIVATE`], and the other files of its folder are read with the same tool. Which skills are active
//! follows from the conversation alone ([`active`]).

mod files;
mod section;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::{Message, Text};

use crate::tool::Tool;
use tools::{Activate, Deactivate, ListActive};

pub use files::SKILL_FILE;
pub use section::SkillForm;

/// The name of the tool that gives the text of a skill, or another file of its folder.
pub const ACTIVATE: &str = "agent-skill-activate";

/// The name of the tool by which a model lays a skill down.
pub const DEACTIVATE: &str = "agent-skill-deactivate";

/// The name of the tool that says which skills are active.
pub const LIST_ACTIVE: &str = "agent-skills-list-active";

/// The origin of these tools.
pub(crate) const ORIGIN: &str = "skills";

/// The beginning of a result that has the text of a skill, followed by its name and a quote.
const ACTIVATED: &str = "Activated skill '";

/// The beginning of a result that ends the use of a skill, followed by its name and a quote.
const DEACTIVATED: &str = "Deactivated skill '";

/// Bytes that the wording of results may put before them.
const FRAME_BYTES: usize = 256;

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is that of its folder.
    pub name: Text,
    /// Its purpose, and when to use it.
    pub description: Text,
    /// Its requirements on its surroundings, if it states any.
    pub compatibility: Option<Text>,
    /// The text of its `SKILL.md`, without the front matter.
    pub text: Text,
    /// Its folder. Its other files are read when they are asked for.
    pub folder: PathBuf,
}

/// The tools of skills that a model is offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkillTools {
    /// [`ACTIVATE`] alone.
    #[default]
    Activate,
    /// Also [`DEACTIVATE`] and [`LIST_ACTIVE`].
    All,
}

/// The skills of one agent, by name.
#[derive(Clone, Debug, Default)]
pub struct Skills {
    all: Arc<[Skill]>,
    /// How the system message names them.
    pub form: SkillForm,
    /// The tools that a model is offered.
    pub tools: SkillTools,
}

impl Skills {
    /// These skills, of which no two have one name.
    pub fn new(mut skills: Vec<Skill>) -> Self {
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        Self { all: skills.into(), ..Self::default() }
    }

    /// The skills, sorted by name.
    pub fn iter(&self) -> std::slice::Iter<'_, Skill> {
        self.all.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The part of the system message that names them: the same bytes for the same skills. Empty without skills.
    pub fn section(&self) -> String {
        section::of(&self.all, self.form)
    }

    /// The names of the tools that a model is offered; none without skills.
    pub fn tool_names(&self) -> &'static [&'static str] {
        match self.tools {
            _ if self.is_empty() => &[],
            SkillTools::Activate => &[ACTIVATE],
            SkillTools::All => &[ACTIVATE, DEACTIVATE, LIST_ACTIVE],
        }
    }

    /// The tools that a model is offered; none without skills.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let made = |name: &&'static str| -> Arc<dyn Tool> {
            match *name {
                DEACTIVATE => Arc::new(Deactivate::new()),
                LIST_ACTIVE => Arc::new(ListActive::new()),
                _ => Arc::new(Activate::new(self.all.clone())),
            }
        };
        self.tool_names().iter().map(made).collect()
    }
}

impl<'s> IntoIterator for &'s Skills {
    type Item = &'s Skill;
    type IntoIter = std::slice::Iter<'s, Skill>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Whether calls of a tool need to know which skills are active.
pub fn asks_for_active(tool: &windlass_core::ToolSpec) -> bool {
    *tool.origin == *ORIGIN && (*tool.name == *DEACTIVATE || *tool.name == *LIST_ACTIVE)
}

/// The skills whose text stands in a conversation and that were not laid down since, in the order of their activation. A text that a
/// compaction removed stands there no more.
pub fn active<'m>(conversation: impl Iterator<Item = &'m Message>) -> Vec<Text> {
    let mut active: Vec<Text> = Vec::new();
    for message in conversation {
        let Message::Tool(result) = message else { continue };
        let begins = match &*result.name {
            ACTIVATE => ACTIVATED,
            DEACTIVATE => DEACTIVATED,
            _ => continue,
        };
        let text = result.content.text();
        let Some(name) = named(&text, begins).filter(|_| !result.failed) else { continue };
        active.retain(|other| **other != *name);
        if begins == ACTIVATED {
            active.push(name.into());
        }
    }
    active
}

/// The name behind the beginning of a result, which the wording of results may have framed.
fn named<'t>(text: &'t str, begins: &str) -> Option<&'t str> {
    let (before, rest) = text.split_once(begins)?;
    // A file of a skill is no skill, whatever stands in it.
    let framed = before.len() <= FRAME_BYTES && !before.contains(files::OF_SKILL);
    let (name, _) = rest.split_once('\'').filter(|_| framed)?;
    valid_name(name).then_some(name)
}

/// The longest name of a skill.
pub const MAX_SKILL_NAME: usize = 64;

/// Whether this may be a skill's name: 1 to 64 lower-case letters, digits and single hyphens between them.
pub fn valid_name(name: &str) -> bool {
    (1..=MAX_SKILL_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !(name.starts_with('-') || name.ends_with('-') || name.contains("--"))
}

#[cfg(test)]
mod tests;
