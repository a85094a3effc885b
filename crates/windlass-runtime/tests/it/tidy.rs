//! Rules of the house that a test can hold: one driver, rooms that depend downwards, small files and functions.

mod doors;
mod errors;
mod knots;
mod parts;
mod storeys;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Files have at most so many lines, tests not counted.
const FILE_LINES: usize = 500;
/// Functions have at most so many lines.
const FUNCTION_LINES: usize = 70;
/// Files that are longer, each with its reason.
const LONG_FILES: &[(&str, &str)] = &[];
/// Functions that are longer, each with its reason.
const LONG_FUNCTIONS: &[(&str, &str, &str)] =
    &[("windlass-core/src/machine/evolve.rs", "apply", "one arm for each kind of event, a few lines each")];
/// Where each crate stands: it may depend on those with lower numbers only.
const ROOMS: &[(&str, u8)] = &[
    ("windlass-macros", 0),
    ("windlass-threads", 0),
    ("windlass-error", 1),
    ("windlass-text", 1),
    ("windlass-http", 2),
    ("windlass-schema", 2),
    ("windlass-code", 2),
    ("windlass-terminal", 2),
    ("windlass-core", 3),
    ("windlass-models", 4),
    ("windlass-tools", 4),
    ("windlass-store", 4),
    ("windlass-api", 4),
    ("windlass-agent-file", 5),
    ("windlass-client", 5),
    ("windlass-read", 5),
    ("windlass-runtime", 6),
    ("windlass-testing", 7),
    ("windlass-server", 7),
    ("windlass", 8),
    ("windlass-harness", 8),
    ("windlass-cli", 9),
    ("windlass-bench", 9),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

struct Source {
    /// From the folder of all crates.
    path: String,
    /// The part before its tests.
    text: String,
    /// The same without comments and literals, line by line as before.
    code: String,
}

/// All sources of all crates, without tests.
fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for room in fs::read_dir(crates()).unwrap() {
        let mut folders = vec![room.unwrap().path().join("src")];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                if path.is_dir() && name != "tests" {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests.rs" {
                    found.push(read(&path));
                }
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(found.len() > 50, "the sources were not found");
    found
}

fn read(path: &Path) -> Source {
    let whole = fs::read_to_string(path).unwrap();
    let end = whole.find("\n#[cfg(test)]").map_or(whole.len(), |end| end + 1);
    // A test module that only names its file is followed by code.
    let text = if whole[end..].lines().nth(1).is_some_and(|line| line.ends_with(';')) {
        &whole
    } else {
        &whole[..end]
    };
    let path = path.strip_prefix(crates()).unwrap().to_str().unwrap().to_owned();
    Source { path, text: text.to_owned(), code: code_of(text) }
}

/// Blanks out comments, strings and characters, so that braces and words in them do not count. Every byte keeps its place.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    for (part, is_code) in parts(text) {
        if is_code {
            code.push_str(part);
        } else {
            code.extend(part.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        }
    }
    code
}

/// The characters of the code, and between them whole comments and literals.
fn parts(text: &str) -> Vec<(&str, bool)> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("r\"") || rest.starts_with("r#\"") || rest.starts_with("r##\"") {
            let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
            let close = format!("\"{}", "#".repeat(hashes));
            let open = 2 + hashes;
            rest[open..].find(&close).map_or(rest.len(), |end| open + end + close.len())
        } else if rest.starts_with('"') {
            quoted(rest)
        } else {
            character(rest)
        };
        let length = if skipped > 0 { skipped } else { rest.chars().next().unwrap().len_utf8() };
        parts.push((&rest[..length], skipped == 0));
        at += length;
    }
    parts
}

/// The texts in the code, each with its line.
fn literals(text: &str) -> Vec<(usize, &str)> {
    let mut line = 1;
    let mut found = Vec::new();
    for (part, is_code) in parts(text) {
        if !is_code && (part.starts_with('"') || part.starts_with('r')) {
            found.push((line, part));
        }
        line += part.matches('\n').count();
    }
    found
}

fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (place, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return place + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character literal, or 0 for a lifetime and anything else.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices();
    let (Some((_, '\'')), Some((_, second)), Some((third_at, third))) =
        (chars.next(), chars.next(), chars.next())
    else {
        return 0;
    };
    match (second, third) {
        ('\\', _) => rest[third_at + third.len_utf8()..]
            .find('\'')
            .map_or(0, |end| third_at + third.len_utf8() + end + 1),
        (_, '\'') => third_at + 1,
        _ => 0,
    }
}

/// The place of the brace that closes the one at `open`.
fn closing_brace(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let closes = code[open..].char_indices().find(|(_, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    closes.map(|(at, _)| open + at)
}

/// Name, first line and number of lines of each function.
fn functions(code: &str) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        if code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_') {
            continue;
        }
        let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let body = code[at..].find(['{', ';']).map(|body| at + body);
        let Some(body) = body.filter(|body| !name.is_empty() && code[*body..].starts_with('{')) else {
            continue;
        };
        let end = closing_brace(code, body).unwrap_or_else(|| panic!("the braces of `{name}` do not match"));
        found.push((name, code[..at].lines().count(), code[at..=end].lines().count()));
    }
    found
}

#[test]
fn the_reader_of_sources_knows_comments_literals_and_functions() {
    let text = "fn one() {\n    let a = '{'; // }\n    let b = \"}\\\"}\";\n}\nfn two<'a>(x: &'a str) -> char {\n    '\\''\n}\n";
    let found = functions(&code_of(text));
    assert_eq!(found, [("one".to_owned(), 0, 4), ("two".to_owned(), 4, 3)]);
    assert_eq!(code_of("r#\"{ \" {\"# x /* { */ y").trim(), "x         y");
}

#[test]
fn files_are_short() {
    let long: Vec<String> = sources()
        .iter()
        .filter(|source| !LONG_FILES.iter().any(|(path, _)| *path == source.path))
        .map(|source| (source.text.lines().count(), &source.path))
        .filter(|(lines, _)| *lines > FILE_LINES)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "these files are too long:\n{}", long.join("\n"));
}

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for source in sources() {
        for (name, line, lines) in functions(&source.code) {
            let allowed =
                LONG_FUNCTIONS.iter().any(|(path, function, _)| *path == source.path && *function == name);
            if lines > FUNCTION_LINES && !allowed {
                long.push(format!("{}:{}: `{name}` has {lines} lines", source.path, line + 1));
            }
        }
    }
    assert!(long.is_empty(), "these functions are too long:\n{}", long.join("\n"));
}

/// A tuple among the parameters of a function hides how many it has. `From` of a pair has no other form.
#[test]
fn no_function_has_a_tuple_of_parameters() {
    let mut found = Vec::new();
    for source in sources() {
        for (at, _) in source.code.match_indices("fn ") {
            let item = &source.code[at + 3..];
            let name: String = item.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let is_word =
                source.code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
            let Some(open) = parameters(&item[name.len()..]).filter(|_| !is_word && !name.is_empty()) else {
                continue;
            };
            if name != "from" && tuples(&item[name.len() + open..]) {
                found.push(format!("{}:{}: `{name}`", source.path, source.code[..=at].lines().count()));
            }
        }
    }
    assert!(found.is_empty(), "give these a struct with a name, or fewer parameters:\n{}", found.join("\n"));
}

/// Where the list of parameters begins behind a function's name and its own parameters of types.
fn parameters(rest: &str) -> Option<usize> {
    let mut depth = 0_usize;
    rest.char_indices().find_map(|(at, c)| {
        match c {
            '<' => depth += 1,
            // An arrow closes nothing.
            '>' if !rest[..at].ends_with('-') => depth = depth.checked_sub(1)?,
            '(' if depth == 0 => return Some(Some(at)),
            '{' | ';' => return Some(None),
            _ => {}
        }
        None
    })?
}

/// Whether a parameter of the list that begins here is a pattern of several.
fn tuples(list: &str) -> bool {
    let (mut depth, mut begins, mut found) = (0_usize, true, false);
    for c in list.chars() {
        match c {
            '(' if depth == 1 && begins => found = true,
            ')' if depth == 1 => break,
            _ => {}
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        begins = depth == 1 && (matches!(c, ',' | '(') || begins && c.is_whitespace());
    }
    found
}

#[test]
fn a_tuple_of_parameters_is_told_from_a_parameter_of_a_type() {
    let finds = |code: &str| parameters(code).is_some_and(|open| tuples(&code[open..]));
    assert!(finds("(&self, (a, b): (A, B))"));
    assert!(finds("<T: Fn(A) -> B>(\n    (a, b): (A, B),\n    c: C,\n)"));
    assert!(!finds("(a: (A, B), f: impl Fn(A) -> B)"));
    assert!(!finds("<F>(f: F) where F: Fn((A, B))"));
}

#[test]
fn the_core_s_pending_is_called_at_one_place_outside_of_it() {
    let mut calls = Vec::new();
    for source in sources().iter().filter(|source| !source.path.starts_with("windlass-core/")) {
        for (at, _) in source.code.match_indices("pending(") {
            let before = &source.code[..at];
            let path = before.strip_suffix("::").unwrap_or("");
            let another = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.')
                || path.ends_with("future")
                || path.ends_with("stream");
            if !another {
                calls.push(format!("{}:{}", source.path, before.lines().count()));
            }
        }
    }
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert!(calls[0].starts_with("windlass-runtime/src/driver.rs"), "{calls:?}");
}

#[test]
fn the_driver_spawns_nothing() {
    let mut spawns = BTreeMap::new();
    for source in sources().iter().filter(|source| source.path.starts_with("windlass-runtime/")) {
        for word in [
            "tokio::spawn",
            "runtime.spawn",
            "task::spawn",
            "spawn_blocking",
            "spawn_local",
            "JoinSet",
            "thread::spawn",
        ] {
            for _ in source.code.match_indices(word) {
                *spawns.entry(source.path.clone()).or_insert(0) += 1;
            }
        }
    }
    // `Agent::stream` and the host run in the background, and say so; what they spawn is a whole drive, or reads the log.
    let of_host = |(path, spawns): (&str, usize)| (format!("windlass-runtime/src/host/{path}.rs"), spawns);
    let host = [("driving", 1), ("hub", 1), ("stream", 1), ("supervising", 1)].map(of_host);
    // A lease that the log would not release is released once it works again, when its driver has long gone.
    let lease = [("windlass-runtime/src/driver/lease.rs".to_owned(), 1)];
    assert_eq!(spawns, host.into_iter().chain(lease).collect::<BTreeMap<_, _>>());
}

/// Long work leaves the thread at one place, which bounds how much of it goes on at once. The others wait for the outside
/// world: files, databases, a person's input.
#[test]
fn threads_for_blocking_work_are_asked_for_at_few_places() {
    let asks =
        |source: &&Source| source.code.contains("spawn_blocking") || source.code.contains("block_in_place");
    let all = sources();
    let found: Vec<&str> = all.iter().filter(asks).map(|source| source.path.as_str()).collect();
    let expected = [
        "windlass-threads/src/lib.rs",
        // Files, and tools that are plain functions.
        "windlass-tools/src/function.rs",
        // The schemas of a tool server, which have a bound together.
        "windlass-tools/src/mcp/client/server.rs",
        "windlass-tools/src/memory/store.rs",
    ];
    assert_eq!(found, expected);
}

#[test]
fn nothing_is_left_to_do_and_nothing_is_unsafe() {
    let mut found = Vec::new();
    for source in sources() {
        let note = |line: usize, word: &str| format!("{}:{}: {word}", source.path, line + 1);
        for (number, line) in source.text.lines().enumerate() {
            let words = ["TODO", "FIXME", "XXX"].into_iter().filter(|word| line.contains(word));
            found.extend(words.map(|word| note(number, word)));
        }
        for (number, line) in source.code.lines().enumerate() {
            let words = ["todo!", "unimplemented!", "unsafe "].into_iter().filter(|word| line.contains(word));
            found.extend(words.map(|word| note(number, word)));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn rooms_depend_only_on_those_below() {
    let level = |name: &str| ROOMS.iter().find(|(room, _)| *room == name).map(|(_, level)| *level);
    for room in fs::read_dir(crates()).unwrap() {
        let path = room.unwrap().path();
        let Ok(manifest) = fs::read_to_string(path.join("Cargo.toml")) else { continue };
        let name = path.file_name().unwrap().to_str().unwrap();
        let own = level(name).unwrap_or_else(|| panic!("say in ROOMS where `{name}` stands"));
        let mut section = "";
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line;
            } else if section == "[dependencies]" && line.starts_with("windlass") {
                let on = line.split(['.', ' ', '=']).next().unwrap();
                let below = level(on).unwrap_or_else(|| panic!("say in ROOMS where `{on}` stands"));
                assert!(below < own, "`{name}` depends on `{on}`, which does not stand below it");
            }
        }
    }
}

/// The names that a crate's root gives: those of `pub use`, `pub mod`, `pub fn` and the like, which stand at a line's start.
fn root_names(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in format!("\n{code}").match_indices("\npub ") {
        let item = &code[at + 4..];
        if let Some(used) = item.strip_prefix("use ") {
            let used = used[..used.find(';').unwrap()].split_whitespace().collect::<Vec<_>>().join(" ");
            let list =
                used.split_once('{').map_or(used.as_str(), |(_, list)| list.trim_end_matches(['}', ' ']));
            let last = |name: &str| name.rsplit([':', ' ']).next().unwrap().to_owned();
            names.extend(list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(last));
        } else {
            let name = item.split_whitespace().nth(1).unwrap();
            names.push(name.split(['(', '<', ';', '{']).next().unwrap().to_owned());
        }
    }
    names
}

#[test]
fn the_roots_of_the_facade_and_the_core_are_small() {
    let code =
        "pub use a::{B, c as D};\npub mod e {\n    pub use f::G;\n}\npub fn h(i: u8) {}\npub use j::k;\n";
    assert_eq!(root_names(code), ["B", "D", "e", "h", "k"]);
    for (path, most) in [("windlass/src/lib.rs", 25), ("windlass-core/src/lib.rs", 39)] {
        let names = root_names(&read(&crates().join(path)).code);
        assert!(names.len() > 10 && names.len() <= most, "{path} has {}: {names:?}", names.len());
    }
}
