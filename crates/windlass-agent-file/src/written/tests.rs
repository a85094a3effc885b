use std::path::Path;

use super::*;

fn written(text: &str) -> Written {
    let env = |name: &str| Some(format!("value of {name}"));
    AgentFile::parse(text, Path::new("agent.yaml"), &env).unwrap().written()
}

const FILE: &str = r#"
name: keeper
model: { use: openai/m, base_url: "http://user:word@127.0.0.1:8181/v1?key=abc", key: "sk-literal" }
instructions: Say ${NOTHING}.
tools:
  - command: { name: go, run: [./go.sh], env: { MODE: slow, TOKEN: "Bearer ${TOKEN}!" } }
  - mcp: { name: s, url: "http://127.0.0.1:9/${PLACE}", headers: { Authorization: "Bearer abcd" } }
"#;

#[test]
fn names_of_variables_are_known_with_their_places_and_literals_apart() {
    let found = written(FILE);
    let pair = |place: &str, text: &str| (place.to_owned(), text.to_owned());
    assert_eq!(
        found.references,
        [
            pair("model.base_url", "127.0.0.1:8181/v1"),
            pair("tools.0.command.env.TOKEN", "*${TOKEN}*"),
            pair("tools.1.mcp.url", "*${PLACE}"),
        ]
    );
    let literals: Vec<&str> = found.literals.iter().map(Secret::expose).collect();
    assert_eq!(literals, ["slow", "Bearer abcd"], "a key of a model is none of them");
}

#[test]
fn a_rotated_literal_key_of_a_model_changes_nothing() {
    let (one, other) = (written(FILE), written(&FILE.replace("sk-literal", "sk-another")));
    assert_eq!(one.references, other.references);
    assert_eq!(one.literals, other.literals);
}
