//! Models, servers and files whose words are meant for the terminal instead of for people.

use std::process::Output;

use serde_json::{Value, json};

use crate::kit::Home;
use crate::server::{Reply, Server};

/// Colours, a window's title, the clipboard, a C1 control, a right-to-left override, a line that is written over.
const WORDS: &str = "w\u{1b}[31m\u{1b}]0;owned\u{7}\u{1b}]52;c;aGk=\u{1b}\\\u{9b}2J\u{202e}\u{2066}\rx";
/// A name that forges a line of its own.
const NAME: &str = "nothing\n-> forged";

/// What of a text would steer a terminal.
pub(crate) fn steering(text: &str) -> String {
    let steers = |char: &char| matches!(char, '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // A terminal's own line ends.
    text.replace("\r\n", "\n").chars().filter(steers).collect()
}

fn all(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

/// A run whose model calls a tool that is not there, under a name that is made for the terminal.
fn attacked() -> (Home, Vec<Output>) {
    let home = Home::new();
    let args = json!({ "text": WORDS }).to_string();
    let server = Server::start(vec![
        Reply::Call(format!("{WORDS}{NAME}"), args.clone()),
        Reply::Call(format!("{WORDS}{NAME}"), format!("not JSON: {WORDS}\n-> forged")),
        Reply::Refuses(400, WORDS),
    ]);
    // YAML takes such characters as escapes only.
    let escape = |char: char| format!("\\u{:04x}", u32::from(char));
    let escaped: String = WORDS.chars().map(escape).collect();
    home.write(
        "agent.yaml",
        &format!("{}description: \"{escaped}\"\ninstructions: \"{escaped}\"\n", server.agent()),
    );
    let session = ["run", "agent.yaml", "--session", "s\u{1b}[1m", "-v", WORDS];
    let first = home.command(session).env("WINDLASS_LOG", "debug").output().unwrap();
    (home, vec![first])
}

#[test]
fn e12_no_command_shows_words_that_steer_the_terminal() {
    let (home, mut outs) = attacked();
    let commands: &[&[&str]] = &[
        &["runs", "show", "last"],
        &["runs", "show", "last", "--events"],
        &["runs", "list"],
        &["runs", "effects", "last"],
        &["runs", "diff", "last", "last"],
        &["runs", "replay", "last"],
        &["runs", "watch", "last"],
        &["runs", "resume", "last"],
        &["sessions", "list"],
        &["sessions", "events", "s\u{1b}[1m"],
        &["runs", "show", "\u{1b}[2Jnobody"],
        &["tools", "call", "agent.yaml", WORDS],
        &["agents", "check", "no\u{1b}[2Jfile.yaml"],
        &["run", "--\u{1b}[2Joption"],
        &["test", "no\u{1b}[2Jfile.yaml"],
    ];
    outs.extend(commands.iter().map(|args| home.command(*args).output().unwrap()));
    let broken: Vec<(usize, String)> = (0..)
        .zip(&outs)
        .map(|(place, out)| (place, all(out)))
        .filter(|(_, said)| !steering(said).is_empty() || said.contains("\n-> forged"))
        .collect();
    assert!(broken.is_empty(), "of {:?}: {broken:#?}", commands.len() + 1);
    let shown = all(&outs[1]);
    assert!(shown.contains("-> w\\u{1b}[31m"), "the name is shown: {shown}");
}

#[test]
fn json_keeps_each_value_and_a_piped_answer_each_byte() {
    let (home, _) = attacked();
    for args in
        [&["runs", "show", "last", "--json"][..], &["runs", "list", "--json"], &["runs", "export", "last"]]
    {
        let out = home.command(args).output().unwrap();
        let said = String::from_utf8(out.stdout).unwrap();
        let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.iter().any(|line| words_of(line).contains(WORDS)), "{args:?}: {said}");
    }
    let server = Server::start(vec![Reply::Pieces(vec!["answer \u{1b}[1m\r\n\u{202e}"])]);
    home.write("agent.yaml", &server.agent());
    let out = home.command(["run", "agent.yaml", "-q", "hi"]).output().unwrap();
    assert_eq!(String::from_utf8(out.stdout).unwrap(), "answer \u{1b}[1m\r\n\u{202e}\n");
}

/// All texts of a value, one after another.
fn words_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words_of).collect(),
        Value::Object(fields) => fields.values().map(words_of).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}
