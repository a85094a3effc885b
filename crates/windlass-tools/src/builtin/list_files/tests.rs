use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::builtin::tests::{call, error_of};

fn folder() -> (TempDir, ListFiles) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("docs/b/c")).unwrap();
    fs::create_dir_all(folder.path().join("other/empty")).unwrap();
    for file in ["docs/z.md", "docs/a.txt", "docs/b/m.md", "docs/b/c/n.md", "other/o.md"] {
        fs::write(folder.path().join(file), "x").unwrap();
    }
    let tool = ListFiles::new(&[folder.path().join("docs"), folder.path().join("other")]).unwrap();
    (folder, tool)
}

#[tokio::test]
async fn folders_are_listed_in_order_to_the_depth_that_is_asked_for() {
    let (folder, tool) = folder();
    assert_eq!(call(&tool, json!({})).await, "a.txt\nb/\nz.md");
    assert_eq!(call(&tool, json!({ "depth": 2 })).await, "a.txt\nb/\nb/c/\nb/m.md\nz.md");
    assert_eq!(call(&tool, json!({ "path": "b", "depth": 99 })).await, "b/c/\nb/c/n.md\nb/m.md");
    let other = folder.path().join("other");
    let listed = call(&tool, json!({ "path": other })).await;
    assert_eq!(listed, format!("{0}/empty/\n{0}/o.md", other.display()));
    assert_eq!(call(&tool, json!({ "path": other.join("empty") })).await, "[the folder is empty]");
}

#[tokio::test]
async fn patterns_fit_names_or_paths() {
    let (_folder, tool) = folder();
    assert_eq!(call(&tool, json!({ "pattern": "*.md", "depth": 9 })).await, "b/c/n.md\nb/m.md\nz.md");
    assert_eq!(call(&tool, json!({ "pattern": "b/?.md", "depth": 9 })).await, "b/m.md");
    assert_eq!(call(&tool, json!({ "pattern": "*.rs" })).await, "[nothing matches the pattern]");
}

#[test]
fn steps_of_a_pattern_are_counted_and_bounded() {
    let mut listing = Listing::new(Some(&"*a".repeat(500)));
    let mut steps = |n: usize| {
        let before = listing.compared;
        listing.fits(Path::new("x"), &"a".repeat(n));
        listing.compared - before
    };
    assert_eq!(steps(200), 2 * steps(100));
    let mut listing = Listing::new(Some("*"));
    assert!(listing.fits(Path::new("x"), "x") && listing.cut.is_none());
    listing.compared = MAX_COMPARED;
    assert!(!listing.fits(Path::new("x"), "x"));
    assert_eq!(
        listing.cut,
        Some("the pattern is too long for so many entries: use a shorter one or a folder below")
    );
}

#[tokio::test]
async fn what_cannot_be_listed_is_told() {
    let (_folder, tool) = folder();
    for (path, kind) in
        [("missing", "NotFound"), ("a.txt", "NotADirectory"), ("..", "OutsideFolder"), ("/", "OutsideFolder")]
    {
        assert_eq!(error_of(&tool, json!({ "path": path })).await.kind.as_deref(), Some(kind), "{path}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_listed_and_not_followed() {
    let (folder, tool) = folder();
    std::os::unix::fs::symlink("..", folder.path().join("docs/b/up")).unwrap();
    assert_eq!(call(&tool, json!({ "path": "b", "depth": 9 })).await, "b/c/\nb/c/n.md\nb/m.md\nb/up");
    assert_eq!(error_of(&tool, json!({ "path": "b/up/.." })).await.kind.as_deref(), Some("OutsideFolder"));
}

#[tokio::test]
async fn a_long_list_is_cut_and_says_so() {
    let (folder, tool) = folder();
    let many = folder.path().join("docs/many");
    fs::create_dir(&many).unwrap();
    for n in 0..MAX_ENTRIES {
        fs::write(many.join(format!("{n:04}")), "").unwrap();
    }
    let listed = call(&tool, json!({ "path": "many" })).await;
    assert_eq!((listed.lines().count(), listed.lines().last()), (MAX_ENTRIES, Some("many/0999")));
    fs::write(many.join("z"), "").unwrap();
    let listed = call(&tool, json!({ "path": "many" })).await;
    assert_eq!(listed.lines().count(), MAX_ENTRIES + 1);
    assert!(listed.ends_with(
        "many/0999\n[1000 entries are shown and there are more: use a pattern or a folder below]"
    ));
}
