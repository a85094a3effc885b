use std::path::Path;

use super::{AgentSource, FileOverrides};
use crate::AgentFile;
use crate::files::Files as _;

const KEY: &str = "sk-live-0123456789abcdef";

fn env(name: &str) -> Option<String> {
    (name == "THE_KEY").then(|| KEY.to_owned())
}

fn read(folder: &Path, name: &str, text: &str) -> AgentFile {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    AgentFile::read(&path, &env).unwrap()
}

#[test]
fn an_agent_can_be_made_of_the_files_that_were_kept_when_those_of_the_disk_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("words.md"), "Answer in verse.").unwrap();
    let text = "model: { use: openai/x, key: \"${THE_KEY}\" }\ninstructions: { file: words.md }\n";
    let file = read(folder.path(), "poet.yaml", text);
    let overrides = FileOverrides { approve: vec!["files__*".to_owned()], ..FileOverrides::default() };
    let source = AgentSource::of(&file, overrides).unwrap();
    assert!(!source.masked, "a variable's name is no secret");
    let bytes = source.to_bytes().unwrap();
    assert!(!String::from_utf8(bytes.clone()).unwrap().contains(KEY));

    std::fs::remove_dir_all(folder.path()).unwrap();
    let kept = AgentSource::from_bytes(&bytes).unwrap();
    let again = kept.agent_file(&env, &[]).unwrap();
    assert_eq!(again.name, "poet");
    assert_eq!(again.instructions.text(), "Answer in verse.");
    assert_eq!(again.folder, file.folder);
    assert!(again.loop_section.keys.approve.is_some(), "what was said over the file stays");
    let unknown = kept.read(Path::new("/etc/hostname"), 1_000).unwrap_err();
    assert_eq!(unknown.kind(), std::io::ErrorKind::NotFound, "only what was kept is read");
}

#[test]
fn a_secret_that_stands_in_a_file_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let text = "model: { use: openai/x, key: sk-literal-0123456789 }\n";
    let long = AgentSource::of(&read(folder.path(), "a.yaml", text), FileOverrides::default()).unwrap();
    assert!(long.masked);
    assert!(!format!("{long:?}").contains("sk-literal"));
    // One that is too short to be masked everywhere is not kept either.
    let text = "model: { use: openai/x, key: abc1 }\n";
    let short = AgentSource::of(&read(folder.path(), "b.yaml", text), FileOverrides::default()).unwrap();
    assert!(short.masked);
    assert!(!format!("{short:?}").contains("abc1"));
}

#[test]
fn an_agent_within_another_document_has_no_source() {
    let node = crate::yaml::parse("model: tour\n").unwrap();
    let file = Path::new("case.yaml");
    let agent = AgentFile::from_node(&node, file, &env, crate::ModelNames::Plain).unwrap();
    assert_eq!(AgentSource::of(&agent, FileOverrides::default()), None);
}

#[test]
fn a_bare_model_name_is_one_of_the_same_server_and_provider() {
    let folder = tempfile::tempdir().unwrap();
    let address = "base_url: \"http://127.0.0.1:1/v1\", temperature: 0.5";
    for (used, wanted, then, keeps) in [
        ("m", "other", "other", true),
        ("anthropic/m", "other", "anthropic/other", true),
        ("m", "openai/other", "openai/other", false),
        ("m", "tour", "tour", false),
    ] {
        let mut file = read(folder.path(), "a.yaml", &format!("model: {{ use: {used}, {address} }}\n"));
        let overrides = FileOverrides { model: Some(wanted.to_owned()), ..FileOverrides::default() };
        overrides.apply(&mut file, &[]);
        let model = &file.models[0];
        assert_eq!((model.use_.as_str(), model.base_url.is_some()), (then, keeps), "{used} {wanted}");
        assert_eq!(model.temperature.is_some(), keeps);
    }
    let mut file = read(folder.path(), "a.yaml", "model: openai/m\n");
    let overrides = FileOverrides { model: Some("other".to_owned()), ..FileOverrides::default() };
    overrides.apply(&mut file, &[]);
    assert_eq!(file.models[0].use_, "other");
}

#[test]
fn a_folder_stands_for_the_agent_file_in_it() {
    let folder = tempfile::tempdir().unwrap();
    assert!(AgentFile::read(folder.path(), &env).is_err());
    read(folder.path(), "agent.yaml", "name: inner\nmodel: tour\n");
    let file = AgentFile::read(folder.path(), &env).unwrap();
    assert_eq!((file.name.as_str(), file.folder.as_path()), ("inner", folder.path()));
}
