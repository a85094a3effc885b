//! Skills and `AGENTS.md` of agent files (L37): what is shown of them, and what a run keeps.

use std::path::Path;

use crate::kit::{End, Home};
use crate::server::{Reply, Server};

/// A home with a skill whose instructions are this text.
fn home_with(text: &str) -> Home {
    let home = Home::new();
    write_skill(&home, text);
    home
}

fn write_skill(home: &Home, text: &str) {
    home.write(
        "skills/notes/SKILL.md",
        &format!("---\nname: notes\ndescription: Writes notes.\n---\n{text}\n"),
    );
}

fn activation() -> Reply {
    Reply::Call("agent-skill-activate".into(), r#"{"skill_name": "notes"}"#.into())
}

/// A run that waits for an approval of its activation.
fn waiting(more: &str) -> (Home, Server) {
    let server = Server::start(vec![activation(), Reply::Pieces(vec!["Done."])]);
    let home = home_with("Be brief.");
    let rule = "loop: { approve: [agent-skill-activate] }";
    home.write("agent.yaml", &format!("{}\nskills: skills\n{rule}\n{more}", server.agent()));
    let end = home.windlass(["run", "agent.yaml", "Go."]);
    assert_eq!(end.code, 75, "{end:?}");
    (home, server)
}

fn log(home: &Home) -> String {
    home.windlass(["runs", "export", "last"]).stdout
}

#[test]
fn l37_e71_a_run_goes_on_with_the_skills_that_it_began_with() {
    let changes: [fn(&Home); 3] = [
        |home| write_skill(home, "Be long."),
        |home| std::fs::remove_dir_all(home.path("skills")).unwrap(),
        |home| drop(home.write("skills/notes/SKILL.md", "broken")),
    ];
    for change in changes {
        let (home, _server) = waiting("");
        change(&home);
        let end = home.windlass(["runs", "answer", "last", "q1", "approve"]);
        assert_eq!((end.code, end.stdout.as_str()), (0, "Done.\n"), "{end:?}");
        let log = log(&home);
        assert!(log.contains("Activated skill 'notes'.\\n\\nBe brief."), "{log}");
        assert!(!log.contains("Be long."), "{log}");
    }
}

#[test]
fn l37_e71_a_switch_to_changed_skills_says_which_one_differs() {
    let (home, _server) = waiting("");
    write_skill(&home, "Be long.");
    let end = home.windlass(["runs", "answer", "--with", "agent.yaml", "last", "q1", "approve"]);
    // The approval was of the other text: it is asked for again.
    assert_eq!(end.code, 75, "{end:?}");
    assert!(end.stderr.contains("skill notes of tool `agent-skill-activate`"), "{end:?}");
    let end = home.windlass(["runs", "answer", "last", "q2", "approve"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "Done.\n"), "{end:?}");
    assert!(log(&home).contains("Activated skill 'notes'.\\n\\nBe long."));
}

#[test]
fn l37_a_check_and_a_list_show_skills() {
    let home = home_with("Be brief.");
    home.write("agent.yaml", "name: a\nmodel: tour\nskills: skills\n");
    let check = home.windlass(["agents", "check", "agent.yaml"]);
    assert_eq!(check.code, 0, "{check:?}");
    assert!(
        check.stdout.starts_with("ok agent.yaml: a, model tour, 1 tool, 1 skill, prompt of about "),
        "{check:?}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&home.windlass(["agents", "check", "--json", "agent.yaml"]).stdout).unwrap();
    assert_eq!(
        (&json["skills"], &json["agents_md"]),
        (&serde_json::json!(["notes"]), &serde_json::Value::Null)
    );
    let list = home.windlass(["tools", "list", "agent.yaml"]).stdout;
    assert!(list.starts_with("agent-skill-activate (skills; read only"), "{list}");
    assert!(list.ends_with("  skill notes: Writes notes.\n"), "{list}");
    let json: serde_json::Value =
        serde_json::from_str(&home.windlass(["tools", "list", "--json", "agent.yaml"]).stdout).unwrap();
    assert_eq!(json["skills"][0]["name"], "notes");

    home.write("skills/notes/SKILL.md", "---\nname: nots\ndescription: Writes notes.\n---\nBe brief.\n");
    let check = home.windlass(["agents", "check", "agent.yaml"]);
    assert_eq!(check.code, 65, "{check:?}");
    let fault = "skills/notes/SKILL.md:2:7: The skill is named `nots`, and its folder `notes`";
    assert!(check.stderr.contains(fault), "{check:?}");
}

fn in_folder(home: &Home, folder: &str, line: &str) -> End {
    home.typed(&home.path(folder), line)
}

#[test]
fn the_agents_md_of_the_working_folder_is_a_part_of_the_run() {
    let server = Server::start(vec![activation(), Reply::Pieces(vec!["Done."])]);
    let home = home_with("Be brief.");
    let rule = "skills: skills\nloop: { approve: [agent-skill-activate] }";
    home.write("agent.yaml", &format!("{}\nagents_md: true\n{rule}\n", server.agent()));
    home.write("work/.git/HEAD", "");
    home.write("work/AGENTS.md", "Build with {{ make }}.");
    home.write("work/inner/x", "");
    let check = in_folder(&home, "work/inner", "windlass agents check ../../agent.yaml");
    assert!(check.stdout.contains(", 1 skill, AGENTS.md, prompt of about "), "{check:?}");
    let end = in_folder(&home, "work/inner", "windlass run ../../agent.yaml Go.");
    assert_eq!(end.code, 75, "{end:?}");

    // Elsewhere and later it goes on with what it began with.
    home.write("work/AGENTS.md", "Another.");
    let end = in_folder(&home, "skills", "windlass runs answer last q1 approve");
    assert!(end.code == 0 && end.stdout.contains("\nDone.\n"), "{end:?}");
    let log = log(&home);
    assert!(log.contains("# Instructions of the folder (AGENTS.md)\\n\\nBuild with {{ make }}."), "{log}");
    assert!(!log.contains("Another."), "{log}");
}

#[test]
fn a_missing_agents_md_is_no_error_and_a_check_says_so() {
    let home = Home::new();
    home.write("agent.yaml", "name: a\nmodel: tour\nagents_md: inner\n");
    home.write("inner/.git/HEAD", "");
    let check = home.windlass(["agents", "check", "agent.yaml"]);
    assert_eq!(check.code, 0, "{check:?}");
    let folder: &Path = &home.path("inner");
    assert!(
        check.stderr.contains("agents_md: there is no AGENTS.md in ")
            && check.stderr.contains(&*folder.to_string_lossy()),
        "{check:?}"
    );
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 0);
}
