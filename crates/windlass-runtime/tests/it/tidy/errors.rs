//! Errors: each has a kind and a code of its own, and no library speaks of the command line.

use std::collections::BTreeMap;
use std::fs;

use super::{Source, crates, literals, sources};

/// Programs: they speak of their own options, and of those of the program that they test.
const PROGRAMS: [&str; 3] = ["windlass-bench/", "windlass-cli/", "windlass-harness/"];
/// Options in the words of model servers, which a wire looks for.
const OPTIONS_OF_OTHERS: [&str; 3] = ["--data-raw", "--jinja", "--enable-auto-tool-choice"];
/// Codes from before codes named their area.
const WITHOUT_AREA: [&str; 11] = [
    "bad_base_url",
    "bad_header",
    "http",
    "missing_base_url",
    "missing_key",
    "missing_variable",
    "model_failed",
    "no_model",
    "no_wire",
    "offline",
    "unknown_provider",
];
/// A code of two enums: an agent file cannot be read, whether it was given or another one names it.
const SHARED: [&str; 1] = ["agent.read"];
/// Errors without a kind: the cause of `StoreError::Locked`, which has one.
const CAUSES: [&str; 1] = ["LockHolder"];

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The commands of the command line, from the enum that declares them.
fn commands() -> Vec<String> {
    let text = fs::read_to_string(crates().join("windlass-cli/src/cli.rs")).unwrap();
    let (_, body) = text.split_once("enum Command {").unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let variants = body.lines().map(str::trim).filter(|line| line.starts_with(|c: char| c.is_uppercase()));
    let found: Vec<_> = variants.map(|line| line.split('(').next().unwrap().to_lowercase()).collect();
    assert!(found.iter().any(|command| command == "runs"), "{found:?}");
    found
}

/// The command or option of the command line that a text names.
fn spoken<'t>(text: &'t str, commands: &[String]) -> Option<&'t str> {
    for (at, _) in text.match_indices("windlass ") {
        let word = text[at + 9..].split(|c| !is_word(c)).next().unwrap();
        if commands.iter().any(|command| command == word) {
            return Some(&text[at..at + 9 + word.len()]);
        }
    }
    for (at, _) in text.match_indices("--") {
        let option = text[at..].split(|c| !is_word(c) && c != '-').next().unwrap();
        let alone = !text[..at].ends_with(|c: char| is_word(c) || c == '-');
        let named = option[2..].starts_with(|c: char| c.is_ascii_lowercase());
        if alone && named && !OPTIONS_OF_OTHERS.contains(&option) {
            return Some(option);
        }
    }
    None
}

#[test]
fn no_library_speaks_of_the_command_line() {
    let commands = commands();
    assert_eq!(spoken("see `windlass runs show`", &commands), Some("windlass runs"));
    assert_eq!(spoken("name one with --log", &commands), Some("--log"));
    assert_eq!(spoken("the windlass runs-ahead -- or --- not", &commands), Some("windlass runs"));
    assert_eq!(spoken("the windlass binary; a--b; `--jinja`", &commands), None);
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| !PROGRAMS.iter().any(|name| source.path.starts_with(name)))
    {
        for (line, text) in literals(&source.text) {
            if let Some(words) = spoken(text, &commands) {
                found.push(format!("{}:{line}: `{words}`", source.path));
            }
        }
    }
    assert!(
        found.is_empty(),
        "say what to do in the library's terms, and put the command into windlass-cli/src/failure/hints.rs:\n{}",
        found.join("\n")
    );
}

/// What stands between a word and a closing mark.
fn after<'t>(text: &'t str, word: &str, close: char) -> Option<&'t str> {
    let (_, rest) = text.split_once(word)?;
    rest.split(close).next()
}

/// The attributes of errors in a source: kind and code, where the code is a text.
fn said(source: &Source) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in source.code.match_indices("#[diagnostic(") {
        let end = at + source.code[at..].find(")]\n").unwrap();
        let attribute = &source.text[at..end];
        let Some(code) = after(attribute, "code = \"", '"') else { continue };
        found.push((after(attribute, "kind = ", ',').unwrap_or("transparent").to_owned(), code.to_owned()));
    }
    found
}

fn is_code(code: &str) -> bool {
    let snake = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let of_tools = code.starts_with("tool_") || code.starts_with("mcp_");
    match code.split_once('.') {
        Some((area, name)) => snake(area) && snake(name),
        None => snake(code) && (of_tools || WITHOUT_AREA.contains(&code)),
    }
}

#[test]
fn a_code_has_one_place_and_one_kind() {
    let mut known: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for source in sources() {
        for (kind, code) in said(&source) {
            if !is_code(&code) {
                wrong.push(format!("{}: `{code}` is not of the form area.name", source.path));
            }
            let here = (source.path.clone(), kind);
            let first = known.entry(code.clone()).or_insert_with(|| here.clone());
            if *first != here && !SHARED.contains(&code.as_str()) {
                wrong.push(format!("`{code}` is {first:?} and {here:?}"));
            }
        }
    }
    assert!(known.len() > 150, "the codes were not found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_error_derives_its_kind() {
    let mut wrong = Vec::new();
    let mut derived = 0;
    for source in sources() {
        for (at, _) in
            source.code.match_indices("\npub enum ").chain(source.code.match_indices("\npub struct "))
        {
            let name = source.code[at..].split_whitespace().nth(2).unwrap();
            let name = name.split(|c| !is_word(c)).next().unwrap();
            // An empty line stands between items.
            let before = source.code[..at].rfind("\n\n").unwrap_or(0);
            let attributes = &source.code[before..at];
            let derives = |of: &str| {
                let mut lists =
                    attributes.split("derive(").skip(1).map(|list| list.split(')').next().unwrap());
                lists.any(|list| {
                    list.split(", ").any(|one| one.trim() == of || one.trim().ends_with(&format!("::{of}")))
                })
            };
            let by_hand = source.code.contains(&format!("Error for {name} {{"));
            let is_error = derives("Error")
                || by_hand
                || (name.ends_with("Error") && source.code[at..].starts_with("\npub enum"));
            derived += usize::from(derives("Diagnostic"));
            let has_one = derives("Diagnostic") || source.code.contains(&format!("Diagnostic for {name} {{"));
            if is_error && !has_one && !CAUSES.contains(&name) {
                wrong.push(format!("{}: `{name}`", source.path));
            }
        }
    }
    assert!(derived > 20, "the errors were not found: {derived}");
    assert!(
        wrong.is_empty(),
        "these errors do not derive `windlass_error::Diagnostic`:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_command_line_has_hints_for_codes_that_exist() {
    let all = sources();
    let hints = all.iter().find(|source| source.path == "windlass-cli/src/failure/hints.rs").unwrap();
    let codes: Vec<&str> = literals(&hints.text)
        .into_iter()
        .map(|(_, text)| text.trim_matches('"'))
        .filter(|text| is_code(text))
        .collect();
    assert!(codes.len() > 10, "{codes:?}");
    let libraries = all.iter().filter(|source| !source.path.starts_with("windlass-cli/"));
    let known: Vec<&str> =
        libraries.flat_map(|source| literals(&source.text)).map(|(_, text)| text.trim_matches('"')).collect();
    let gone: Vec<_> = codes.iter().filter(|code| !known.contains(code)).collect();
    assert!(gone.is_empty(), "no error has the codes {gone:?}");
}
