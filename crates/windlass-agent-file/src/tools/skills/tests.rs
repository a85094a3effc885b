use std::path::Path;

use windlass_error::Diagnostic as _;

use super::*;
use crate::AgentFile;
use crate::files::{AgentSource, FileOverrides};

fn env(_: &str) -> Option<String> {
    None
}

fn put(folder: &Path, file: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn skill_md(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\n# How\n\nDo it.\n")
}

fn agent(folder: &Path, text: &str) -> AgentFile {
    put(folder, "a.yaml", text);
    AgentFile::read(&folder.join("a.yaml"), &env).unwrap_or_else(|error| panic!("{error}"))
}

/// The error, its code and its help.
fn refused(folder: &Path, text: &str) -> String {
    put(folder, "a.yaml", text);
    let error = AgentFile::read(&folder.join("a.yaml"), &env).unwrap_err();
    let help = error.help().map(|help| format!("\nhint: {help}")).unwrap_or_default();
    format!("{error} [{}]{help}", error.code()).replace(&*folder.to_string_lossy(), "FOLDER")
}

/// The error of an agent with one skill of this text in the folder `notes`.
fn bad(text: impl AsRef<[u8]>) -> String {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "notes/SKILL.md", text);
    refused(folder.path(), "skills: notes")
}

fn names(file: &AgentFile) -> Vec<String> {
    file.skills.iter().map(|skill| skill.name.to_string()).collect()
}

#[test]
fn a_folder_is_a_skill_or_holds_skills() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "skills/pdf/SKILL.md", skill_md("pdf"));
    put(at, "skills/notes/SKILL.md", skill_md("notes").replace('\n', "\r\n"));
    put(at, "skills/no-skill/README.md", "x");
    put(at, "skills/.hidden/SKILL.md", "x");
    put(at, "more/web/SKILL.md", format!("\u{feff}{}", skill_md("web")));
    let file = agent(at, "skills: [./skills, more/web/]");
    assert_eq!(names(&file), ["notes", "pdf", "web"]);
    let first = file.skills.iter().next().unwrap();
    assert_eq!((&*first.description, &*first.text), ("Does notes.", "# How\r\n\r\nDo it."));
    assert_eq!(first.folder.canonicalize().unwrap(), at.join("skills/notes").canonicalize().unwrap());
    assert_eq!(names(&agent(at, "skills: skills")), ["notes", "pdf"]);
    assert_eq!(names(&agent(at, "skills: more/web")), ["web"]);
    let file = agent(at, "skills: { folders: skills, form: json, tools: all }");
    assert_eq!((file.skills.form, file.skills.tools), (SkillForm::Json, SkillTools::All));
    let tools: Vec<_> = file.tool_names().into_iter().map(|tool| (tool.name, tool.place.line)).collect();
    let expected = ["agent-skill-activate", "agent-skill-deactivate", "agent-skills-list-active"];
    assert_eq!(tools, expected.map(|name| (name.to_owned(), 1)));
    // A branch may have its own.
    let file = agent(at, "agents: [ { name: b, branch: { instructions: x, skills: skills } } ]");
    let crate::DelegateEntry::Branch { file, .. } = &file.agents[0] else { panic!("no branch") };
    assert_eq!(names(file), ["notes", "pdf"]);
}

#[test]
fn all_keys_of_the_format_are_read_and_others_are_remarked_on() {
    let folder = tempfile::tempdir().unwrap();
    let text = "---\nname: notes\ndescription: >\n  Writes\n  notes.\nlicense: MIT\ncompatibility: Needs git\nmetadata: { version: \"1.0\", n: 1 }\n\
                allowed-tools: Bash(git:*) Read\nwhen_to_use: always\n---\nDo it.";
    put(folder.path(), "notes/SKILL.md", text);
    let file = agent(folder.path(), "skills: notes");
    let skill = file.skills.iter().next().unwrap();
    assert_eq!((&*skill.description, skill.compatibility.as_deref()), ("Writes notes.", Some("Needs git")));
    let remarks: Vec<_> =
        file.remarks.iter().map(|line| line.replace(&*folder.path().to_string_lossy(), "FOLDER")).collect();
    assert_eq!(
        remarks,
        [
            "FOLDER/notes/SKILL.md:10:1: the key `when_to_use` is none of the format and is ignored; its keys are name, description, \
          license, compatibility, metadata, allowed-tools"
        ]
    );
}

#[test]
fn a_skill_that_breaks_the_format_is_refused_with_its_file_and_line() {
    insta::assert_snapshot!(
        [
            bad("# Notes\n"),
            bad(""),
            bad("---\nname: notes\ndescription: x\n"),
            bad("---\n---\nDo it."),
            bad("---\ndescription: x\n---\nDo it."),
            bad("---\nname: notes\n---\nDo it."),
            bad("---\nname: Notes\ndescription: x\n---\nDo it."),
            bad("---\nname: other\ndescription: x\n---\nDo it."),
            bad("---\nname: notes\ndescription: \" \"\n---\nDo it."),
            bad("---\nname: notes\ndescription: 5\n---\nDo it."),
            bad(format!("---\nname: notes\ndescription: {}\n---\nDo it.", "é".repeat(1_025))),
            bad(format!("---\nname: notes\ndescription: x\ncompatibility: {}\n---\nDo it.", "x".repeat(501))),
            bad("---\nname: notes\ndescription: Use when: needed\n---\nDo it."),
            bad("---\nname: notes\nname: notes\n---\nDo it."),
            bad("---\n[ 1 ]\n---\nDo it."),
            bad("---\nname: notes\ndescription: x\n---\n \n"),
            bad([0xff, 0xfe]),
            bad("x".repeat(60_001)),
        ]
        .join("\n\n")
    );
}

#[test]
fn folders_without_skills_and_two_skills_of_one_name_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "one/notes/SKILL.md", skill_md("notes"));
    put(at, "two/notes/SKILL.md", skill_md("notes"));
    put(at, "empty/inner/x.md", "x");
    let tools = "skills: one\ntools: [ { command: { name: agent-skill-activate, run: [a] } } ]";
    insta::assert_snapshot!(
        [
            refused(at, "name: a\nskills: [one, two]"),
            refused(at, "skills: [one, empty]"),
            refused(at, "skills: none"),
            refused(at, "skills: []"),
            refused(at, "skills: { form: json }"),
            refused(at, "skills: { folders: one, form: toml }"),
            refused(at, "skills: { folder: one }"),
            refused(at, "skills: 3"),
            refused(at, tools),
        ]
        .join("\n\n")
    );
}

#[test]
fn every_bad_skill_is_told_at_once_with_the_other_faults() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "x/SKILL.md", "no");
    put(at, "y/SKILL.md", "no");
    put(at, "a.yaml", "skills: [x, y]\nmodle: auto\n");
    let faults: Vec<String> = AgentFile::faults(&at.join("a.yaml"), &env)
        .into_iter()
        .map(|fault| fault.in_file("a.yaml").to_string().replace(&*at.to_string_lossy(), "FOLDER"))
        .collect();
    assert_eq!(faults.len(), 3, "{faults:#?}");
    assert!(faults.iter().any(|fault| fault.starts_with("FOLDER/x/SKILL.md:1:1: ")), "{faults:#?}");
    assert!(faults.iter().any(|fault| fault.starts_with("FOLDER/y/SKILL.md:1:1: ")), "{faults:#?}");
}

#[test]
fn too_many_skills_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..=MAX_SKILLS {
        let name = format!("s{number}");
        put(folder.path(), &format!("skills/{name}/SKILL.md"), skill_md(&name));
    }
    assert!(refused(folder.path(), "skills: skills").contains("brings more than 100 skills"));
}

#[cfg(unix)]
#[test]
fn a_skill_whose_text_lies_elsewhere_is_refused_and_a_linked_folder_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "elsewhere.md", skill_md("notes"));
    std::fs::create_dir(at.join("notes")).unwrap();
    std::os::unix::fs::symlink(at.join("elsewhere.md"), at.join("notes/SKILL.md")).unwrap();
    assert!(refused(at, "skills: notes").contains("it is a link that leads out of its folder"));
    put(at, "shared/web/SKILL.md", skill_md("web"));
    std::fs::create_dir(at.join("skills")).unwrap();
    std::os::unix::fs::symlink(at.join("shared/web"), at.join("skills/web")).unwrap();
    assert_eq!(names(&agent(at, "skills: skills")), ["web"]);
}

#[test]
fn a_run_keeps_the_texts_of_its_skills() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "skills/notes/SKILL.md", skill_md("notes"));
    put(at, "skills/pdf/SKILL.md", skill_md("pdf"));
    put(at, "skills/notes/form.md", "x");
    put(at, "web/SKILL.md", skill_md("web"));
    let file = agent(at, "skills: [skills, web]\ninstructions: { file: skills/notes/form.md }");
    let source = AgentSource::of(&file, FileOverrides::default()).unwrap();
    let bytes = source.to_bytes().unwrap();
    std::fs::remove_dir_all(at).unwrap();
    let again = AgentSource::from_bytes(&bytes).unwrap().agent_file(&env, &[]).unwrap();
    assert!(file.skills.iter().eq(again.skills.iter()));
    assert_eq!(again.skills.section(), file.skills.section());
}

#[test]
fn a_program_reads_skills_as_an_agent_file_does() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "skills/notes/SKILL.md", skill_md("notes"));
    let read = read_skills(&[&folder.path().join("skills")]).unwrap();
    assert!(read.iter().eq(agent(folder.path(), "skills: skills").skills.iter()));
    let error = read_skills(&[&folder.path().join("none")]).unwrap_err().to_string();
    assert!(error.starts_with("the folder ") && error.contains("cannot be read"), "{error}");
}

#[test]
fn skills_are_tools_for_the_loop_of_a_typed_output() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "notes/SKILL.md", skill_md("notes"));
    let output = "output: { schema: { type: object, properties: {} } }\n";
    let calls = |text: String| {
        agent(folder.path(), &text).policy().unwrap().limit(windlass_core::policy::LimitKind::ModelCalls)
    };
    let with_tool = calls(format!("{output}tools: [ {{ builtin: now }} ]"));
    assert_eq!(calls(format!("{output}skills: notes")), with_tool);
    assert_ne!(calls(output.to_owned()), with_tool);
}
