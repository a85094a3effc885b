use super::{Intent, intents};

fn list(path: &str) -> Vec<Intent> {
    vec![Intent::List(path.into())]
}

fn read(path: &str) -> Vec<Intent> {
    vec![Intent::Read(path.into())]
}

#[test]
fn the_date_and_the_time() {
    for text in ["What day is it?", "what time is it", "Tell me the current time.", "What’s today's date?"]
    {
        assert_eq!(intents(text), [Intent::Time], "{text}");
    }
    for text in ["Time flies.", "I have a date tonight.", "day by day"] {
        assert_eq!(intents(text), [], "{text}");
    }
}

#[test]
fn lists_of_files() {
    for text in
        ["Which files are here?", "list the files", "What files are in this folder?", "List this directory"]
    {
        assert_eq!(intents(text), list("."), "{text}");
    }
    assert_eq!(intents("List the files in docs"), list("docs"));
    let sum_and_list = intents("What is 17% of 2350, and which files are here?");
    assert_eq!(sum_and_list.last(), list(".").last(), "a sum names no folder");
    assert_eq!(intents("list the files in the docs folder, please"), list("docs"));
    assert_eq!(intents("Which files are in ./src/bin/?"), list("./src/bin/"));
    assert_eq!(
        intents("list files in docs and tell me the current time"),
        [Intent::Time, Intent::List("docs".into())]
    );
    assert_eq!(intents("I like files."), []);
}

#[test]
fn files_to_read() {
    assert_eq!(intents("Read notes.md."), read("notes.md"));
    assert_eq!(intents("what is in README.md?"), read("README.md"));
    assert_eq!(intents("What's in `docs/a.b.txt`?"), read("docs/a.b.txt"));
    assert_eq!(intents("read the LICENSE"), read("LICENSE"));
    assert_eq!(intents("Show me ../x.toml and y.json").len(), 2);
    for text in [
        "read https://example.com/a.html",
        "read e.g. that",
        "mail a@b.com and open it",
        "read 3.14",
        "notes.md",
    ] {
        assert_eq!(intents(text), [], "{text}");
    }
}

#[test]
fn several_at_once_and_never_too_many() {
    let both = intents("What is 17% of 2350, and what day is it?");
    assert!(matches!(both.as_slice(), [Intent::Sum { .. }, Intent::Time]), "{both:?}");
    let many: Vec<_> = (0..50).map(|n| format!("f{n}.md")).collect();
    assert_eq!(intents(&format!("read {}", many.join(" "))).len(), 8);
    assert_eq!(intents("Write me a poem about the sea."), []);
    assert_eq!(intents(""), []);
}
