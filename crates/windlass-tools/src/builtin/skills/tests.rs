use serde_json::{Value, json};
use windlass_core::message::ToolMessage;

use super::*;
use crate::builtin::tests::context;
use crate::tool::{ToolContext, ToolResult};

fn skill(name: &str, folder: PathBuf) -> Skill {
    Skill {
        name: name.into(),
        description: "Writes <b>notes</b> & more.\nUse it for releases.".into(),
        compatibility: Some("Needs git".into()),
        text: "Group the changes.".into(),
        folder,
    }
}

fn all(skills: Vec<Skill>) -> Skills {
    let mut skills = Skills::new(skills);
    skills.tools = SkillTools::All;
    skills
}

async fn call(skills: &Skills, tool: &str, args: Value, active: &[&str]) -> ToolResult {
    let tools = skills.tools();
    let tool = tools.iter().find(|own| *own.spec().name == *tool).unwrap();
    let active_skills = active.iter().map(|name| (*name).into()).collect();
    tool.call(ToolContext { active_skills, ..context() }, args).await
}

async fn text(skills: &Skills, args: Value) -> String {
    call(skills, ACTIVATE, args, &[]).await.unwrap().text().into_owned()
}

async fn failure(skills: &Skills, args: Value) -> String {
    call(skills, ACTIVATE, args, &[]).await.unwrap_err().message.to_string()
}

#[test]
fn the_system_message_names_skills_with_the_same_bytes_whatever_their_order() {
    let two = || vec![skill("b", "b".into()), skill("a-1", "a".into())];
    let mut skills = Skills::new(two());
    let xml = skills.section();
    assert!(xml.ends_with(
        "<available_skills>\n  <skill>\n    <name>a-1</name>\n    <description>Writes &lt;b&gt;notes&lt;/b&gt; &amp; more. Use it \
         for releases.</description>\n  </skill>\n  <skill>\n    <name>b</name>\n    <description>Writes &lt;b&gt;notes&lt;/b&gt; \
         &amp; more. Use it for releases.</description>\n  </skill>\n</available_skills>"
    ));
    let turned: Vec<Skill> = two().into_iter().rev().collect();
    assert_eq!(Skills::new(turned).section(), xml);
    assert!(xml.contains("`agent-skill-activate`"));

    skills.form = SkillForm::Yaml;
    let yaml = skills.section();
    assert!(yaml.ends_with(
        "available_skills:\n  - name: a-1\n    description: \"Writes <b>notes</b> & more. Use it for releases.\"\n  - name: b\n    \
         description: \"Writes <b>notes</b> & more. Use it for releases.\""
    ));
    skills.form = SkillForm::Json;
    let json = skills.section();
    let list = json.split_once("\n\n{").map(|(_, list)| format!("{{{list}")).unwrap();
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["available_skills"][1]["name"], "b");
    assert_eq!(Skills::default().section(), "");
    assert!(Skills::default().tools().is_empty());
}

#[tokio::test]
async fn an_activation_gives_the_instructions_and_names_the_other_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("references/deep")).unwrap();
    for file in
        ["SKILL.md", ".hidden", "run.sh", "references/b.md", "references/a.md", "references/deep/c.md"]
    {
        std::fs::write(folder.path().join(file), "x").unwrap();
    }
    let skills = Skills::new(vec![skill("notes", folder.path().to_owned())]);
    let words = text(&skills, json!({ "skill_name": "notes" })).await;
    assert_eq!(
        words,
        "Activated skill 'notes'.\n\nIt needs: Needs git\n\nGroup the changes.\n\nOther files of this skill, each read with \
         `agent-skill-activate` and `file` when the instructions need it:\n- references/a.md\n- references/b.md\n- \
         references/deep/c.md\n- run.sh"
    );
    // A model that fills in each argument means the same.
    assert_eq!(text(&skills, json!({ "skill_name": "notes", "file": "", "from_line": 1 })).await, words);
    assert_eq!(text(&skills, json!({ "skill_name": "notes", "file": "SKILL.md" })).await, words);

    // The text is that with which the agent was made; only the other files are gone.
    drop(folder);
    let words = text(&skills, json!({ "skill_name": "notes" })).await;
    assert!(words.contains("Group the changes."), "{words}");
    assert!(words.contains("Its other files cannot be read: the folder of the skill is gone"), "{words}");
}

#[tokio::test]
async fn many_files_are_not_all_named() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..60 {
        std::fs::write(folder.path().join(format!("{number:02}.md")), "x").unwrap();
    }
    let skills = Skills::new(vec![skill("notes", folder.path().to_owned())]);
    let words = text(&skills, json!({ "skill_name": "notes" })).await;
    assert!(words.ends_with("- 49.md\n- and more, which are not listed"), "{words}");
}

#[tokio::test]
async fn files_are_read_within_the_folder_of_their_skill_alone() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let folder = outside.path().join("notes");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("form.md"), "one\ntwo\nthree\n").unwrap();
    std::fs::write(folder.join("bytes"), [0, 159, 146, 150]).unwrap();
    let skills = Skills::new(vec![skill("notes", folder.clone())]);
    let file = |file: &str| json!({ "skill_name": "notes", "file": file });

    assert_eq!(text(&skills, file("form.md")).await, "form.md of skill 'notes':\n\none\ntwo\nthree\n");
    let from = json!({ "skill_name": "notes", "file": "form.md", "from_line": 3 });
    assert_eq!(text(&skills, from).await, "form.md of skill 'notes':\n\nthree\n");

    let up = failure(&skills, file("../secret")).await;
    assert_eq!(up, "`../secret` leads out of the allowed folder");
    let absolute = outside.path().join("secret");
    assert!(
        failure(&skills, file(&absolute.to_string_lossy()))
            .await
            .contains("is outside of the allowed folders")
    );
    assert_eq!(failure(&skills, file("none.md")).await, "`none.md` does not exist");
    assert_eq!(failure(&skills, file("bytes")).await, "`bytes` is not UTF-8 text");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&absolute, folder.join("link")).unwrap();
        assert_eq!(failure(&skills, file("link")).await, "`link` leads out of the allowed folder");
        std::os::unix::fs::symlink("form.md", folder.join("inner")).unwrap();
        assert!(text(&skills, file("inner")).await.contains("three"));
    }
}

#[tokio::test]
async fn an_unknown_skill_is_refused_with_those_that_there_are() {
    let skills = Skills::new(vec![skill("notes", ".".into()), skill("pdf", ".".into())]);
    assert_eq!(
        failure(&skills, json!({ "skill_name": "note" })).await,
        "there is no skill `note`; did you mean notes?; the skills are notes, pdf"
    );
}

#[tokio::test]
async fn the_tools_that_manage_skills_go_by_what_is_active() {
    let skills = all(vec![skill("notes", ".".into()), skill("pdf", ".".into())]);
    assert_eq!(
        skills.tool_names(),
        ["agent-skill-activate", "agent-skill-deactivate", "agent-skills-list-active"]
    );
    let say = |result: ToolResult| result.map(|content| content.text().into_owned());
    let none = say(call(&skills, LIST_ACTIVE, json!({}), &[]).await).unwrap();
    assert_eq!(none, "No skills are currently activated.");
    let two = say(call(&skills, LIST_ACTIVE, json!({}), &["pdf", "notes"]).await).unwrap();
    assert_eq!(two, "Activated skills: notes, pdf");
    let gone = say(call(&skills, DEACTIVATE, json!({ "skill_name": "pdf" }), &["pdf"]).await).unwrap();
    assert_eq!(gone, "Deactivated skill 'pdf'. Its instructions no longer apply.");
    let error = call(&skills, DEACTIVATE, json!({ "skill_name": "pdf" }), &["notes"]).await.unwrap_err();
    assert_eq!(&*error.message, "the skill `pdf` is not active. Activated skills: notes");
    let asking: Vec<bool> = skills.tools().iter().map(|tool| asks_for_active(tool.spec())).collect();
    assert_eq!(asking, [false, true, true]);
    assert!(skills.tools().iter().all(|tool| tool.spec().effect == windlass_core::tool::Effect::ReadOnly));
}

fn result(name: &str, text: &str, failed: bool) -> Message {
    Message::Tool(ToolMessage { call: "c".into(), name: name.into(), content: text.into(), failed })
}

#[test]
fn what_is_active_follows_from_the_conversation() {
    let names = |messages: &[Message]| {
        active(messages.iter()).into_iter().map(|name| name.to_string()).collect::<Vec<_>>()
    };
    let on = |name: &str| result(ACTIVATE, &format!("Activated skill '{name}'.\n\nDo it."), false);
    let off = |name: &str| result(DEACTIVATE, &format!("Deactivated skill '{name}'. Gone."), false);
    assert_eq!(names(&[]), [""; 0]);
    assert_eq!(names(&[on("a"), on("b")]), ["a", "b"]);
    assert_eq!(names(&[on("a"), on("b"), on("a")]), ["b", "a"]);
    assert_eq!(names(&[on("a"), on("b"), off("a")]), ["b"]);
    assert_eq!(names(&[on("a"), off("a"), on("a")]), ["a"]);
    // Frames of other loops.
    let framed = "Successfully Executed Tool: agent-skill-activate\n-- Start Tool Result ---\nActivated skill 'a'.\n\nDo it.";
    assert_eq!(names(&[result(ACTIVATE, framed, false)]), ["a"]);
    assert_eq!(
        names(&[result(ACTIVATE, "{\"result\": \"Activated skill 'a'.\\n\\nDo it.\"}", false)]),
        ["a"]
    );
    // What a compaction leaves of a text, a failure, another tool, and files that pretend.
    let left = "[600 bytes of this result are left out; `read_result` reads them: {\"handle\": \"c\"}]";
    assert_eq!(names(&[on("a"), result(ACTIVATE, left, false)]), ["a"]);
    assert_eq!(names(&[result(ACTIVATE, left, false)]), [""; 0]);
    assert_eq!(names(&[result(ACTIVATE, "Activated skill 'a'.", true)]), [""; 0]);
    assert_eq!(names(&[result("read_file", "Activated skill 'a'.", false)]), [""; 0]);
    assert_eq!(names(&[result(ACTIVATE, "f.md of skill 'b':\n\nActivated skill 'a'.", false)]), [""; 0]);
    assert_eq!(names(&[result(ACTIVATE, "Activated skill 'A b'.", false)]), [""; 0]);
}

#[test]
fn names_are_those_of_the_format() {
    let longest = "a".repeat(64);
    for name in ["a", "a-b", "1", "pdf-2-text", longest.as_str()] {
        assert!(valid_name(name), "{name}");
    }
    let long = "a".repeat(65);
    for name in ["", "A", "a_b", "-a", "a-", "a--b", "a b", "é", long.as_str()] {
        assert!(!valid_name(name), "{name}");
    }
}

#[test]
fn an_agent_whose_skill_says_something_else_is_another_one() {
    let bound = |text: &str| {
        let skills = Skills::new(vec![Skill { text: text.into(), ..skill("notes", "x".into()) }]);
        skills.tools()[0].binding()
    };
    assert_ne!(bound("one"), bound("two"));
    assert_eq!(bound("one")[0].what.as_ref(), "skill notes");
    let moved = Skills::new(vec![Skill { text: "one".into(), ..skill("notes", "y".into()) }]);
    assert_eq!(bound("one"), moved.tools()[0].binding(), "its folder may move");
}
