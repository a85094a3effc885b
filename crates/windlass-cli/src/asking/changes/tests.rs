use serde_json::json;
use windlass_core::ToolSpec;

use super::*;

fn is_write(tool: &str, args: &Value) -> bool {
    written(&Subject::example(tool, args), Some(Path::new("/nonexistent"))).is_some()
}

#[test]
fn a_call_writes_a_file_by_its_tools_name_and_effect_and_by_its_arguments() {
    let args = json!({ "path": "a", "content": "b" });
    for tool in ["write_file", "files__write_file", "save", "createFile", "update-document"] {
        assert!(is_write(tool, &args), "{tool}");
    }
    for tool in ["read_file", "append_to_file", "insert_text", "search"] {
        assert!(!is_write(tool, &args), "{tool}");
    }
    for args in
        [json!({ "file_path": "a", "text": "b", "mode": 7 }), json!({ "filename": "a", "new_content": "b" })]
    {
        assert!(is_write("write", &args), "{args}");
    }
    for args in [
        json!({ "path": "a" }),
        json!({ "path": 1, "content": "b" }),
        json!({ "path": "a", "file": "c", "content": "b" }),
        json!({ "path": "a", "content": "b", "data": "c" }),
        json!(["a", "b"]),
    ] {
        assert!(!is_write("write", &args), "{args}");
    }
    let spec = ToolSpec::read_only("write", "Writes nothing.", json!({ "type": "object" }));
    let reads = Subject { spec: Some(spec), ..Subject::example("write", &args) };
    assert!(written(&reads, Some(Path::new("/"))).is_none());
}

#[test]
fn what_is_no_text_file_is_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bytes"), [0xff, 0xfe]).unwrap();
    std::fs::write(folder.path().join("large"), vec![b'a'; 1024 * 1024 + 1]).unwrap();
    let why = |name: &str| {
        let args = json!({ "path": name, "content": "x" });
        written(&Subject::example("write", &args), Some(folder.path())).unwrap().change.unwrap_err()
    };
    assert_eq!(why("bytes"), "not compared, it is no text");
    assert_eq!(why("large"), "not compared, it is larger than 1048576 bytes");
    assert_eq!(why("."), "not compared, it is no regular file");
    assert_eq!(why("none"), "no such file here; the tool may write to another place");
    let args = json!({ "path": "bytes", "content": "x" });
    let elsewhere = written(&Subject::example("write", &args), None).unwrap();
    assert_eq!(
        elsewhere.change.unwrap_err(),
        "not compared, it is not known in which folder the path begins"
    );
    // A path of its own does not begin in the folder.
    assert_eq!(why("/dev/zero"), "not compared, it is no regular file");
}

#[test]
fn equal_texts_have_no_difference() {
    assert_eq!(hunks("a\nb\n", "a\nb\n", AROUND), []);
}
