//! The skills as the system message names them.

use serde_json::Value;

use super::{ACTIVATE, Skill};

/// How the system message names skills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkillForm {
    /// Elements.
    #[default]
    Xml,
    /// A list of maps.
    Yaml,
    /// An object with a list.
    Json,
}

/// The part of the system message; empty without skills.
pub(super) fn of(skills: &[Skill], form: SkillForm) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let list = match form {
        SkillForm::Xml => xml(skills),
        SkillForm::Yaml => yaml(skills),
        SkillForm::Json => json(skills),
    };
    format!(
        "# Skills\n\nA skill holds instructions for one kind of task. Where a task fits the description of a skill, activate the skill first: \
         `{ACTIVATE}` with its name gives its instructions. Then follow them.\n\n{list}"
    )
}

fn xml(skills: &[Skill]) -> String {
    let mut out = "<available_skills>\n".to_owned();
    for skill in skills {
        let (name, description) = (escaped(&skill.name), escaped(&one_line(&skill.description)));
        out += "  <skill>\n    <name>";
        out += &name;
        out += "</name>\n    <description>";
        out += &description;
        out += "</description>\n  </skill>\n";
    }
    out + "</available_skills>"
}

fn yaml(skills: &[Skill]) -> String {
    let each = |skill: &Skill| {
        // A text of JSON is one of YAML, too (YAML 1.2.2, 1.2).
        let description = Value::from(one_line(&skill.description));
        format!("\n  - name: {}\n    description: {description}", skill.name)
    };
    format!("available_skills:{}", skills.iter().map(each).collect::<Vec<_>>().concat())
}

fn json(skills: &[Skill]) -> String {
    // The order of keys must not depend on how the program was built.
    let each = |skill: &Skill| {
        let description = Value::from(one_line(&skill.description));
        format!("{{\"name\":\"{}\",\"description\":{description}}}", skill.name)
    };
    format!("{{\"available_skills\":[{}]}}", skills.iter().map(each).collect::<Vec<_>>().join(","))
}

/// A text without breaks, which belong to the file that it stood in.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
