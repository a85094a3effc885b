//! The tools of skills. All of them only read.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::ToolSpec;
use windlass_core::text::{did_you_mean, nearest};

use super::{ACTIVATE, ACTIVATED, DEACTIVATE, DEACTIVATED, LIST_ACTIVE, ORIGIN, Skill, files};
use crate::binding::Bound;
use crate::function::{Args, Properties, blocking};
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

/// The argument that names a skill.
const NAME: &str = "skill_name";

fn spec(name: &str, description: &str, properties: Properties) -> ToolSpec {
    let mut spec = ToolSpec::read_only(name, description, properties.finish());
    spec.origin = ORIGIN.into();
    spec
}

/// Gives the instructions of a skill and the list of its other files, or one of them.
#[derive(Debug)]
pub(super) struct Activate {
    spec: ToolSpec,
    skills: Arc<[Skill]>,
}

impl Activate {
    pub(super) fn new(skills: Arc<[Skill]>) -> Self {
        let mut properties = Properties::new();
        properties.required::<String>(NAME, "The name of the skill");
        properties.optional::<String>(
            "file",
            "A file of the skill that is to be read in place of its instructions",
        );
        properties.optional::<std::num::NonZeroU64>(
            "from_line",
            "The first line of the file to read, counted from 1",
        );
        let description = "Activates a skill: gives its instructions and the list of its other files. With `file`, gives that file of the skill.";
        Self { spec: spec(ACTIVATE, description, properties), skills }
    }

    fn skill(&self, name: &str) -> Result<Skill, ToolError> {
        self.skills.iter().find(|skill| *skill.name == *name).cloned().ok_or_else(|| {
            let names = || self.skills.iter().map(|skill| &*skill.name);
            let like = did_you_mean(&nearest(name, names()));
            let all = names().collect::<Vec<_>>().join(", ");
            ToolError::of_kind(
                "UnknownSkill",
                format!("there is no skill `{name}`{like}; the skills are {all}"),
            )
        })
    }
}

impl Tool for Activate {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn binding(&self) -> Vec<Bound> {
        // An agent whose skill says something else is another agent; where its folder lies does not matter.
        let whole =
            |skill: &Skill| format!("{}\n{}\n{}", skill.description, compatibility(skill), skill.text);
        self.skills.iter().map(|skill| Bound::open(format!("skill {}", skill.name), whole(skill))).collect()
    }

    fn call(&self, _: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let mut args = Args::new(args)?;
            let name: String = args.required(NAME)?;
            let file: Option<String> = args.optional("file")?;
            let from_line: Option<u64> = args.optional("from_line")?;
            let skill = self.skill(name.trim())?;
            // A model that fills in every argument means the instructions.
            let file = file.filter(|file| !file.trim().is_empty() && file != files::SKILL_FILE);
            blocking(move || {
                Ok(match file {
                    Some(file) => files::read(&skill, &file, from_line.unwrap_or(1))?,
                    None => instructions(&skill),
                }
                .into())
            })
            .await
        })
    }
}

fn compatibility(skill: &Skill) -> &str {
    skill.compatibility.as_deref().unwrap_or_default()
}

fn instructions(skill: &Skill) -> String {
    let needs = compatibility(skill);
    let needs = if needs.is_empty() { String::new() } else { format!("It needs: {needs}") };
    let head = format!("{ACTIVATED}{}'.", skill.name);
    let parts = [head, needs, skill.text.trim().to_owned(), files::listed(skill)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Lays a skill down. Its text stays in the conversation, where nothing is taken back.
#[derive(Debug)]
pub(super) struct Deactivate {
    spec: ToolSpec,
}

impl Deactivate {
    pub(super) fn new() -> Self {
        let mut properties = Properties::new();
        properties.required::<String>(NAME, "The name of the skill");
        let description = "Deactivates a skill that is no longer needed: its instructions no longer apply.";
        Self { spec: spec(DEACTIVATE, description, properties) }
    }
}

impl Tool for Deactivate {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let name: String = Args::new(args)?.required(NAME)?;
            let name = name.trim();
            if !context.active_skills.iter().any(|active| **active == *name) {
                let message = format!("the skill `{name}` is not active. {}", active_names(&context));
                return Err(ToolError::of_kind("NotActive", message));
            }
            Ok(format!("{DEACTIVATED}{name}'. Its instructions no longer apply.").into())
        })
    }
}

/// Says which skills are active.
#[derive(Debug)]
pub(super) struct ListActive {
    spec: ToolSpec,
}

impl ListActive {
    pub(super) fn new() -> Self {
        let description = "Lists the active skills: those whose instructions stand in this conversation.";
        Self { spec: spec(LIST_ACTIVE, description, Properties::new()) }
    }
}

impl Tool for ListActive {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, context: ToolContext, _: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move { Ok(active_names(&context).into()) })
    }
}

fn active_names(context: &ToolContext) -> String {
    let mut names: Vec<&str> = context.active_skills.iter().map(AsRef::as_ref).collect();
    if names.is_empty() {
        return "No skills are currently activated.".to_owned();
    }
    names.sort_unstable();
    format!("Activated skills: {}", names.join(", "))
}
