//! A38: the memory service.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::tool::Effect;
use windlass_core::{CallId, RunId};
use windlass_tools::conformance::Conformance;
use windlass_tools::memory::{MAX_CONTENT, MAX_KEY, Memory};
use windlass_tools::{SharedService, Tool, ToolContext};

fn context() -> ToolContext {
    ToolContext {
        run: RunId::from_number(1),
        call: CallId::from("c1"),
        attempt: 1,
        idempotency_key: "1:c1".into(),
        cancelled: tokio_util::sync::CancellationToken::new(),
        lease: windlass_tools::Lease::none(),
        active_skills: Vec::new(),
    }
}

fn tool(service: &SharedService, name: &str) -> Arc<dyn Tool> {
    service.pick([name]).unwrap().remove(0)
}

async fn call(service: &SharedService, name: &str, args: Value) -> String {
    match tool(service, name).call(context(), args).await {
        Ok(content) => content.text().into_owned(),
        Err(error) => format!("ERROR {error}"),
    }
}

fn keys(text: &str) -> Vec<String> {
    let found: Vec<Value> = serde_json::from_str(text).unwrap();
    found.iter().map(|entry| entry["key"].as_str().unwrap().to_owned()).collect()
}

async fn remember(service: &SharedService, key: &str, content: &str) {
    let said = call(service, "save", json!({ "key": key, "content": content })).await;
    assert_eq!(said, format!("Saved memory: {key}"));
}

#[tokio::test]
async fn a38_what_was_saved_is_found_replaced_listed_and_deleted() {
    let memory = SharedService::new(Memory::in_process());
    let used = memory.begin().await.unwrap();
    assert_eq!(call(&memory, "list_all", json!({})).await, "No memories stored.");
    assert_eq!(call(&memory, "search", json!({ "query": "x" })).await, "No memories found.");
    let tags = json!({ "key": "colour", "content": "Prefers dark mode", "tags": ["ui", "settings"] });
    assert_eq!(call(&memory, "save", tags).await, "Saved memory: colour");
    remember(&memory, "name", "Ann").await;
    let expected = "[\n  {\n    \"key\": \"colour\",\n    \"content\": \"Prefers dark mode\",\n    \"tags\": [\n      \"ui\",\n      \"settings\"\n    ]\n  }\n]";
    for query in ["COLO", "dark", "settings"] {
        assert_eq!(call(&memory, "search", json!({ "query": query })).await, expected, "{query}");
    }
    assert_eq!(keys(&call(&memory, "list_all", json!({})).await), ["name", "colour"], "the last one first");
    remember(&memory, "colour", "Prefers light mode").await;
    assert_eq!(keys(&call(&memory, "list_all", json!({ "limit": 1 })).await), ["colour"]);
    assert_eq!(call(&memory, "search", json!({ "query": "dark" })).await, "No memories found.");
    assert_eq!(call(&memory, "delete", json!({ "key": "colour" })).await, "Deleted memory: colour");
    assert_eq!(call(&memory, "delete", json!({ "key": "colour" })).await, "Memory not found: colour");
    used.end().await;
}

#[tokio::test]
async fn a38_a_query_means_what_it_says() {
    let memory = SharedService::new(Memory::in_process());
    let used = memory.begin().await.unwrap();
    remember(&memory, "a", "100% sure").await;
    remember(&memory, "b", "1000 times").await;
    remember(&memory, "c", "snake_case \\ '; DROP TABLE memories; --").await;
    assert_eq!(keys(&call(&memory, "search", json!({ "query": "100%" })).await), ["a"]);
    assert_eq!(keys(&call(&memory, "search", json!({ "query": "e_c" })).await), ["c"]);
    assert_eq!(keys(&call(&memory, "search", json!({ "query": "\\ '; DROP" })).await), ["c"]);
    used.end().await;
}

#[tokio::test]
async fn a38_sizes_are_bounded_and_the_error_says_by_what() {
    let memory = SharedService::new(Memory::in_process());
    let used = memory.begin().await.unwrap();
    let long = "x".repeat(MAX_CONTENT + 1);
    let save = |key: String, content: &str| json!({ "key": key, "content": content });
    assert_eq!(
        call(&memory, "save", save("a".into(), &long)).await,
        "ERROR `content` has 65537 bytes, expected at most 65536"
    );
    assert_eq!(
        call(&memory, "save", save("k".repeat(MAX_KEY + 1), "")).await,
        "ERROR `key` has 257 bytes, expected at most 256"
    );
    assert_eq!(call(&memory, "save", save(String::new(), "")).await, "ERROR `key` is empty, expected a name");
    let tags: Vec<String> = (0..33).map(|n| n.to_string()).collect();
    assert_eq!(
        call(&memory, "save", json!({ "key": "a", "content": "", "tags": tags })).await,
        "ERROR `tags` has 33 tags, expected at most 32"
    );
    for n in 0..6 {
        remember(&memory, &format!("k{n}"), &"x".repeat(MAX_CONTENT)).await;
    }
    let listed = call(&memory, "list_all", json!({})).await;
    assert!(listed.ends_with("[3 more match but are omitted: together they are too long]"));
    used.end().await;
}

#[tokio::test]
async fn a38_a_file_outlives_its_service_and_is_its_owners() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/notes.db");
    for round in 0..2 {
        let memory = SharedService::new(Memory::at(&path));
        assert_eq!(
            call(&memory, "list_all", json!({})).await,
            "ERROR the memory is not open: its service was not set up"
        );
        let used = memory.begin().await.unwrap();
        if round == 0 {
            remember(&memory, "name", "Ann").await;
        } else {
            assert_eq!(keys(&call(&memory, "search", json!({ "query": "ann" })).await), ["name"]);
        }
        used.end().await;
        assert!(!Path::new(&format!("{}-wal", path.display())).exists(), "the file is closed");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a38_a_memory_that_acorn_made_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch(
        "CREATE TABLE memories (key TEXT PRIMARY KEY, content TEXT NOT NULL, tags TEXT DEFAULT '[]',
            created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
         INSERT INTO memories (key, content, tags) VALUES ('a', 'one', '[\"t\"]');
         INSERT INTO memories (key, content, updated_at) VALUES ('z', 'of the future', '2999-01-01 00:00:00')",
    )
    .unwrap();
    drop(file);
    let memory = SharedService::new(Memory::at(&path));
    let used = memory.begin().await.unwrap();
    remember(&memory, "b", "two").await;
    assert_eq!(keys(&call(&memory, "list_all", json!({})).await), ["b", "z", "a"]);
    used.end().await;
}

#[tokio::test]
async fn a38_a_place_that_is_no_memory_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "This is no database, and long enough to be looked at as one. ".repeat(20))
        .unwrap();
    let memory = SharedService::new(Memory::at(&path));
    let error = memory.begin().await.unwrap_err().to_string();
    assert!(error.starts_with("cannot use the memory ") && error.contains("notes.txt: "), "{error}");
    assert!(memory.health().await.is_err());
}

#[tokio::test]
async fn a38_effects_are_declared_and_its_tools_keep_the_rules_of_tools() {
    let folder = tempfile::tempdir().unwrap();
    let memory = SharedService::new(Memory::at(folder.path().join("memory.db")));
    let used = memory.begin().await.unwrap();
    let effects: Vec<_> =
        memory.tools().iter().map(|tool| (tool.spec().name.to_string(), tool.spec().effect)).collect();
    let expected = [
        ("memory__save", Effect::Idempotent),
        ("memory__search", Effect::ReadOnly),
        ("memory__delete", Effect::Idempotent),
        ("memory__list_all", Effect::ReadOnly),
    ];
    assert_eq!(effects, expected.map(|(name, effect)| (name.to_owned(), effect)));
    let args =
        [json!({ "key": "k", "content": "c" }), json!({ "query": "q" }), json!({ "key": "k" }), json!({})];
    for (tool, args) in memory.tools().into_iter().zip(args) {
        let breaches = Conformance::of_shared(tool).call(args).check().await;
        assert!(breaches.is_empty(), "{breaches:?}");
    }
    used.end().await;
}
