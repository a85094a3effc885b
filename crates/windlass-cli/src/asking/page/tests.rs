use serde_json::json;

use super::*;
use crate::asking::changes::Write;
use crate::asking::subject::Subject;

/// The page as text, and whether something was left out.
fn shown(args: &Value, write: Option<&Write>, whole: bool) -> (String, bool) {
    let page = Page::of(args, write, whole);
    let lines: Vec<&str> = page.lines.iter().map(|(_, line)| line.as_str()).collect();
    (lines.join("\n"), page.cut)
}

#[test]
fn texts_stand_without_escapes_and_everything_else_as_json() {
    let args = json!({
        "content": "# Title\n\n\tIt's \"quoted\"\n",
        "count": 3,
        "gaps": "a.txt          content: harmless",
        "flags": { "a": [1, 2, { "b": null }] },
        "nothing": "",
        "path": "notes/today.md",
        "word": "3",
        "yes": "true",
    });
    let expected = "\x20 content:
    | # Title
    |\x20
    | \tIt's \"quoted\"
    |\x20
  count: 3
  gaps: \"a.txt          content: harmless\"
  flags: {\"a\":[1,2,{\"b\":null}]}
  nothing: \"\"
  path: notes/today.md
  word: \"3\"
  yes: \"true\"";
    assert_eq!(shown(&args, None, false), (expected.to_owned(), false));
    assert_eq!(shown(&json!({}), None, false).0, "  (no arguments)");
}

#[test]
fn what_is_nested_and_long_stands_below_its_name() {
    let args = json!({ "list": [{ "text": "one\ntwo", "n": 1 }, ["a\nb"], 7], "o": { "k": "v\nw" } });
    let expected = "\x20 list:
    -
      text:
        | one
        | two
      n: 1
    -
      -
        | a
        | b
    - 7
  o:
    k:
      | v
      | w";
    assert_eq!(shown(&args, None, false).0, expected);
}

#[test]
fn what_is_long_is_cut_and_can_be_shown_whole() {
    let lines: Vec<String> = (1..=100).map(|line| format!("line {line}")).collect();
    let word = format!("{}{}{}", "x".repeat(280), "y".repeat(100), "z".repeat(120));
    let args = json!({ "text": lines.join("\n"), "word": word });
    let (short, cut) = shown(&args, None, false);
    let middle = "| line 40\n    … 40 more lines: [s]how all\n    | line 81\n";
    assert!(cut && short.contains(middle) && short.contains("| line 100\n"), "{short}");
    let (head, tail) = ("x".repeat(280), "z".repeat(120));
    let ends = format!("word: {head}… (100 more characters: [s]how all) …{tail}");
    assert!(short.ends_with(&ends), "{short}");
    let (whole, cut) = shown(&args, None, true);
    assert!(!cut && whole.contains("| line 100\n") && whole.ends_with(&word), "{whole}");
}

#[test]
fn a_write_to_a_file_is_shown_as_its_change() {
    let folder = tempfile::tempdir().unwrap();
    let before: Vec<String> = (1..=20).map(|line| format!("line {line}")).collect();
    let after = before.join("\n").replace("line 10", "line ten") + "\nlast";
    std::fs::write(folder.path().join("notes.txt"), before.join("\n") + "\n").unwrap();
    let args = json!({ "path": "notes.txt", "content": after });
    let write = changes::written(&Subject::example("files__write_file", &args), Some(folder.path())).unwrap();
    let path = folder.path().join("notes.txt").display().to_string();
    let (page, cut) = shown(&args, Some(&write), false);
    let expected = "\x20 path: notes.txt
  content: as a change of FILE, if the tool replaces the whole file
    @@ -7,7 +7,7 @@
     line 7
     line 8
     line 9
    -line 10
    +line ten
     line 11
     line 12
     line 13
    @@ -18,3 +18,4 @@
     line 18
     line 19
     line 20
    +last
    \\ no newline at the end";
    assert_eq!((page.replace(&path, "FILE"), cut), (expected.to_owned(), false));
    let fresh = json!({ "path": "new.txt", "content": "a\nb" });
    let write = changes::written(&Subject::example("write_file", &fresh), Some(folder.path())).unwrap();
    let (page, _) = shown(&fresh, Some(&write), false);
    assert!(
        page.contains("    | a\n    | b\n  (")
            && page.contains("new.txt: no such file here; the tool may write to another place)"),
        "{page}"
    );
}

#[test]
fn an_old_and_a_new_text_are_shown_as_one_change() {
    let args = json!({ "edits": [{ "oldText": "a\nb\nc", "newText": "a\nB\nc" }], "path": "x" });
    let expected = "\x20 edits:
    -
      oldText -> newText:
         a
        -b
        +B
         c
        \\ no newline at the end
  path: x";
    assert_eq!(shown(&args, None, false).0, expected);
}
