use super::*;

/// A folder with these empty files.
fn folder(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    folder
}

#[test]
fn files_are_completed_within_their_folder() {
    let folder = folder(&["notes.md", "nested/x", "my notes.md"]);
    let base = folder.path().display();
    let texts: Vec<String> =
        files(&format!("{base}/n"), Taken::GoesOn).into_iter().map(|offer| offer.text).collect();
    assert_eq!(texts, [format!("{base}/nested/"), format!("{base}/notes.md")]);
    let (from, offers) = behind_at(&format!("see @{base}/my")).unwrap();
    assert_eq!((from, offers[0].text.clone()), (5, format!("\"{base}/my notes.md\"")));
    assert_eq!(behind_at(&format!("see @\"{base}/my n")).unwrap().1.len(), 1);
    assert!(behind_at("a@b").is_none() && behind_at("see @a file").is_none());
}

#[test]
fn files_of_subfolders_are_offered_after_those_of_the_folder() {
    let folder = folder(&[
        "command.txt",
        "src/chat/commands.rs",
        "src/commands/run.rs",
        "src/old_command.rs",
        ".git/commands",
        "target/commands.d",
        "web/node_modules/commands.js",
    ]);
    let offered = |typed: &str| paths(folder.path(), typed);
    let all = ["command.txt", "src/chat/commands.rs", "src/old_command.rs", "src/commands/run.rs"];
    assert_eq!(offered("comm"), all);
    assert_eq!(offered("COMMANDS.RS"), ["src/chat/commands.rs"]);
    assert_eq!(offered("chat/comm"), ["src/chat/commands.rs"]);
    assert_eq!(offered("src/"), ["src/chat/", "src/commands/", "src/old_command.rs"]);
    assert_eq!(offered(""), ["command.txt", "src/", "target/", "web/"]);
    assert!(offered("zebra").is_empty() && offered("./comm").len() == 1);
}

#[test]
fn a_search_ends_after_so_many_entries_and_folders() {
    let deep = format!("{}needle", "d/".repeat(DEPTH + 1));
    let shallow = format!("{}needle", "e/".repeat(DEPTH));
    let folder = folder(&[&deep, &shallow]);
    assert_eq!(within(folder.path(), "needle"), [shallow]);
    for n in 0..READ + 10 {
        std::fs::write(folder.path().join(format!("many{n}")), "").unwrap();
    }
    assert_eq!(within(folder.path(), "many").len(), FOUND);
    assert!(within(folder.path(), "needle").is_empty(), "the folder alone has used all reads");
}

#[test]
fn a_message_names_files_and_what_is_near_to_one_is_told() {
    let folder = folder(&["README.md", "planning.md", "src/turns.rs", "my notes.md"]);
    let read = |text: &str| mentioned_in(folder.path(), text);
    let named = |text: &str| read(text).files;
    let base = folder.path().display();
    let readme = folder.path().join("README.md");
    assert_eq!(named("look at @README.md, please"), std::slice::from_ref(&readme));
    assert_eq!(named(&format!("{base}/README.md")), std::slice::from_ref(&readme));
    assert_eq!(named("see @\"my notes.md\" now"), [folder.path().join("my notes.md")]);
    assert_eq!(read("(ask ann@example.org, @alice, @ann and @nobody)"), Mentioned::default());
    let both = read("@README.md. and @no/file,");
    assert_eq!(both.files, [readme]);
    assert_eq!(both.notes, ["there is no file no/file: it goes as text"]);
    let note = |text: &str| read(text).notes.join("\n");
    for slip in ["@READM", "@reamde?", "@Readme"] {
        assert!(note(slip).ends_with("it goes as text; did you mean @README.md?"), "{slip}: {}", note(slip));
    }
    assert!(note("@REDME.md").ends_with("did you mean @README.md?"));
    assert!(note("@src/turn.rs").ends_with("did you mean @src/turns.rs?"));
    assert!(note("@turns.rs").ends_with("did you mean @src/turns.rs?"));
    assert_eq!(note("@src/"), "src is a folder: it goes as text; @src/FILE sends a file of it");
}
