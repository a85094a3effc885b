//! The parts of the core's state, whose fields no other file may write, and the files that add to `Agent`.

use std::collections::BTreeMap;

use super::{Source, closing_brace, sources};

/// The structs of the core's state with fields that are open to other files, and how many. These only fall.
///
/// `State` is the composition: `evolve` reaches the parts through it. The others are what the state answers to other crates.
const OPEN: &[(&str, &str, usize)] = &[
    ("state.rs", "State", 14),
    ("state.rs", "Request", 3),
    ("state/context.rs", "ContextUse", 4),
    ("state/open_call.rs", "OpenCall", 2),
    ("state/plan.rs", "DoneStep", 7),
    ("state/plan.rs", "FailedStep", 2),
    ("state/plan.rs", "Plan", 4),
    ("state/plan.rs", "PlanVersion", 2),
    ("state/questions.rs", "OpenQuestion", 5),
    ("state/stalls.rs", "StallAlarm", 3),
    ("state/turn.rs", "Branched", 2),
];

/// The most files of the runtime with an `impl` for `Agent`. This only falls.
const AGENT_FILES: usize = 2;

/// The structs of a file with the names of their open fields; a field without a name has its number.
fn open_fields(code: &str) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for (at, _) in code.match_indices("struct ") {
        let rest = &code[at + "struct ".len()..];
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let Some(open) = rest.find(['{', '(', ';']) else { continue };
        let end = match &rest[open..=open] {
            "{" => closing_brace(rest, open),
            "(" => rest.find(';'),
            _ => None,
        };
        let Some(end) = end else { continue };
        let fields = fields(&rest[open + 1..end]);
        let names = fields.iter().enumerate().filter_map(|(place, field)| {
            let field = field.strip_prefix("pub")?.trim_start();
            let field =
                field.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(field, |of| of.1);
            let name = field.split_once(':').map(|(name, _)| name.trim());
            Some(name.filter(|name| !name.contains(' ')).map_or_else(|| place.to_string(), str::to_owned))
        });
        found.insert(name, names.collect());
    }
    found
}

/// A field without its attributes.
fn bare(field: &str) -> &str {
    let mut field = field.trim();
    while let Some(rest) = field.strip_prefix("#[") {
        field = rest.split_once(']').map_or("", |(_, rest)| rest.trim());
    }
    field
}

/// The fields of the body of a struct, without attributes.
fn fields(body: &str) -> Vec<&str> {
    let (mut found, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, c) in body.char_indices().chain([(body.len(), ',')]) {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(&body[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.into_iter().map(bare).filter(|field| !field.is_empty()).collect()
}

/// The types that a file has an `impl` for.
fn implemented(code: &str) -> Vec<String> {
    let starts = code.match_indices("impl").filter(|(at, _)| code[..*at].ends_with(['\n', ' ']) || *at == 0);
    let heads = starts.filter_map(|(at, _)| {
        let rest = &code[at + "impl".len()..];
        rest.starts_with([' ', '<']).then(|| rest.split(['{', ';']).next().unwrap())
    });
    heads
        .map(|head| {
            let of = head.rsplit_once(" for ").map_or(head, |(_, of)| of);
            let of = if of.starts_with('<') { of.split_once("> ").map_or(of, |(_, of)| of) } else { of };
            let of = of.split(" where").next().unwrap().trim();
            of.split('<').next().unwrap().rsplit("::").next().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn parts_of_the_state_are_written_in_their_own_file() {
    let mut wrong = Vec::new();
    let mut known: Vec<_> = OPEN.iter().map(|(file, name, most)| ((*file, *name), *most)).collect();
    let all = sources();
    for Source { path, code, .. } in &all {
        let Some(file) = path.strip_prefix("windlass-core/src/") else { continue };
        if file != "state.rs" && !file.starts_with("state/") {
            continue;
        }
        for (name, open) in open_fields(code) {
            let place = known.iter().position(|(key, _)| *key == (file, name.as_str()));
            let most = place.map_or(0, |place| known.remove(place).1);
            if open.len() > most {
                wrong.push(format!(
                    "{file}: other files can write the fields of `{name}`: {}. At most {most} may be open: make them private, \
                     give readers a getter, and make each write a method here that says what happened",
                    open.join(", ")
                ));
            } else if open.len() < most {
                wrong.push(format!(
                    "{file}: `{name}` has {} open fields: write it down in place of {most}",
                    open.len()
                ));
            }
        }
    }
    wrong
        .extend(known.iter().map(|((file, name), _)| format!("{file}: there is no `{name}`: drop its line")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn few_files_add_to_the_agent() {
    let all = sources();
    let of_runtime = all.iter().filter(|source| source.path.starts_with("windlass-runtime/src/"));
    let files: Vec<&str> = of_runtime
        .filter(|source| implemented(&source.code).iter().any(|of| of == "Agent"))
        .map(|source| source.path.as_str())
        .collect();
    assert_eq!(
        files.len(),
        AGENT_FILES,
        "these files have an `impl` for `Agent`; a further one is a type of its own, and fewer are written down here: {files:?}"
    );
}

#[test]
fn open_fields_and_types_of_impls_are_found() {
    let code = "struct A<T> {\n    one: u8,\n    pub(super) two: BTreeMap<u8, T>,\n    #[serde(default)]\n    pub three: (u8, u8),\n}\nstruct B(u8, pub(crate) u8);\nstruct C;\n";
    let found = open_fields(code);
    assert_eq!(found["A"], ["two", "three"]);
    assert_eq!(found["B"], ["1"]);
    assert!(!found.contains_key("C"));
    let code = "impl Agent {}\nimpl<T: Into<u8>> From<T> for crate::agent::Agent {}\nimpl Tool for AgentTool {}\nfn f(_: impl Fn()) {}";
    assert_eq!(implemented(code)[..3], ["Agent", "Agent", "AgentTool"]);
}
