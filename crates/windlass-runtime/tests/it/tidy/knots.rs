//! Files that import each other in a circle, and files at the root of a crate's `src`: both make a feature touch many files.
//!
//! An import is a path through `crate::`, `super::` or `self::`, or a `use` of a module beside or below. Re-exports are followed to
//! the file that defines the item, so that a path through `crate::Item` hides nothing. A file and the modules within it are no
//! circle, and a link in a comment is no import. Tests, `lib.rs`, `main.rs` and programs in `bin/` are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, sources};

mod reexports;

pub(super) use reexports::Reexports;

/// The most files of one circle, the most folders of one circle, and the most files at the root, of each crate. These only fall.
const LIMITS: &[(&str, usize, usize, usize)] = &[
    ("windlass", 0, 0, 0),
    ("windlass-agent-file", 2, 1, 29),
    ("windlass-api", 1, 1, 7),
    ("windlass-bench", 1, 1, 4),
    ("windlass-cli", 2, 2, 25),
    ("windlass-client", 1, 1, 9),
    ("windlass-code", 1, 1, 8),
    ("windlass-core", 3, 1, 7),
    ("windlass-error", 0, 0, 0),
    ("windlass-harness", 2, 1, 15),
    ("windlass-http", 1, 1, 9),
    ("windlass-macros", 1, 1, 4),
    ("windlass-models", 2, 4, 16),
    ("windlass-read", 1, 4, 8),
    ("windlass-runtime", 1, 1, 6),
    ("windlass-schema", 1, 1, 14),
    ("windlass-server", 1, 1, 5),
    ("windlass-store", 2, 1, 14),
    ("windlass-testing", 2, 2, 13),
    ("windlass-terminal", 1, 1, 4),
    ("windlass-text", 2, 1, 7),
    ("windlass-threads", 0, 0, 0),
    ("windlass-tools", 2, 1, 16),
];

/// A module's path within its crate.
pub(super) type Module = Vec<String>;
/// The modules that each module imports.
pub(super) type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// The module of a file, or `None` for one that is left out.
fn module(path: &str) -> Option<Module> {
    let path = path.strip_suffix(".rs")?;
    if path == "lib" || path == "main" || path.starts_with("bin/") {
        return None;
    }
    let mut parts: Module = path.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    Some(parts)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The paths of a tree of `use`, such as `crate::{a::B, c}`.
fn expand(prefix: &str, tree: &str, out: &mut Vec<String>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        out.push(format!("{prefix}{tree}"));
        return;
    };
    let (head, body) = (&tree[..open], &tree[open + 1..tree.rfind('}').unwrap()]);
    let (mut depth, mut from) = (0_usize, 0);
    for (at, c) in body.char_indices().chain([(body.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = body[from..at].trim();
                if !part.is_empty() {
                    expand(&format!("{prefix}{head}"), part, out);
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}

/// The `use` items of a text: where each begins and ends, and its trees written out.
fn uses(code: &str) -> Vec<(usize, usize, Vec<String>)> {
    let mut found: Vec<(usize, usize, Vec<String>)> = Vec::new();
    for (at, _) in code.match_indices("use ") {
        if found.last().is_some_and(|(_, end, _)| at < *end) || code[..at].ends_with(is_word) {
            continue;
        }
        let Some(end) = code[at..].find(';').map(|end| at + end + 1) else { continue };
        let mut trees = Vec::new();
        expand("", &code[at + 4..end - 1].replace('\n', " "), &mut trees);
        found.push((at, end, trees));
    }
    found
}

/// All paths that a text names.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = String::new();
    let mut from = 0;
    for (at, end, trees) in uses(code) {
        found.extend(trees.iter().map(|path| path.split(" as ").next().unwrap().to_owned()));
        rest.push_str(&code[from..at]);
        from = end;
    }
    rest.push_str(&code[from..]);
    for root in ["crate", "super", "self"] {
        for (at, _) in rest.match_indices(&format!("{root}::")) {
            if !rest[..at].ends_with(|c: char| is_word(c) || c == ':') {
                let path = rest[at..].split(|c: char| !is_word(c) && c != ':').next().unwrap();
                found.push(path.trim_end_matches(':').to_owned());
            }
        }
    }
    found
}

/// The module in whose path a path begins: where it stands, seen from the crate's root.
fn absolute(from: &Module, path: &str) -> Module {
    let mut parts: Module = path.split("::").map(|part| part.trim().to_owned()).collect();
    let mut base = match parts[0].as_str() {
        "crate" => Vec::new(),
        _ => from.clone(),
    };
    while parts.first().is_some_and(|first| first == "super") {
        parts.remove(0);
        base.pop();
    }
    if parts.first().is_some_and(|first| first == "crate" || first == "self") {
        parts.remove(0);
    }
    base.extend(parts);
    base
}

/// What each file of a crate imports. `root`: the code of its `lib.rs`.
pub(super) fn imports(of: &[(Module, &str)], root: &str) -> Imports {
    let modules: BTreeSet<&Module> = of.iter().map(|(module, _)| module).collect();
    let reexports = Reexports::of(of, root);
    let mut all = Imports::new();
    for (module, code) in of {
        let found = all.entry(module.clone()).or_default();
        for path in paths(code) {
            let path = reexports.followed(absolute(module, &path));
            // The longest beginning that is a file.
            let target =
                (1..=path.len()).rev().map(|end| path[..end].to_vec()).find(|part| modules.contains(part));
            let own = |target: &Module| target.starts_with(module) || module.starts_with(target);
            found.extend(target.filter(|target| !own(target)));
        }
    }
    all
}

/// The folders that the files of each folder import. A file with a folder of its own name belongs to it.
fn between_folders(imports: &Imports) -> Imports {
    let parents: BTreeSet<&[String]> = imports.keys().map(|module| &module[..module.len() - 1]).collect();
    let folder = |module: &Module| {
        if parents.contains(module.as_slice()) { module.clone() } else { module[..module.len() - 1].to_vec() }
    };
    let mut folders = Imports::new();
    for (module, targets) in imports {
        let own = folder(module);
        let others = targets.iter().map(folder);
        let others: BTreeSet<Module> =
            others.filter(|other| !other.starts_with(&own) && !own.starts_with(other)).collect();
        folders.entry(own).or_default().extend(others);
    }
    let all: BTreeSet<Module> = folders.values().flatten().cloned().collect();
    for target in all {
        folders.entry(target).or_default();
    }
    folders
}

/// The modules that can be reached from one.
fn reached<'i>(imports: &'i Imports, from: &Module) -> BTreeSet<&'i Module> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Module> = imports[from].iter().collect();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(&imports[next]);
        }
    }
    found
}

/// The largest set of modules each of which reaches all others.
fn largest_knot(imports: &Imports) -> BTreeSet<Module> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reached(imports, module))).collect();
    let knot = |module: &Module| {
        let back = reach[module].iter().filter(|other| reach[**other].contains(module));
        back.map(|other| (*other).clone()).chain([module.clone()]).collect::<BTreeSet<Module>>()
    };
    imports.keys().map(knot).max_by_key(BTreeSet::len).unwrap_or_default()
}

/// The sources of a crate by module, and the code of its `lib.rs`.
type OfCrate<'s> = (Vec<(Module, &'s str)>, &'s str);

/// The sources of each crate.
pub(super) fn by_crate(all: &[Source]) -> BTreeMap<&str, OfCrate<'_>> {
    let mut crates: BTreeMap<&str, OfCrate<'_>> = BTreeMap::new();
    for source in all {
        let (name, path) = source.path.split_once("/src/").unwrap();
        let (sources, root) = crates.entry(name).or_default();
        sources.extend(module(path).map(|module| (module, source.code.as_str())));
        if path == "lib.rs" {
            *root = &source.code;
        }
    }
    crates
}

fn shown(modules: &BTreeSet<Module>) -> String {
    modules.iter().map(|module| module.join("/")).collect::<Vec<_>>().join(", ")
}

#[test]
fn import_knots_and_flat_roots_only_shrink() {
    let all = sources();
    let crates = by_crate(&all);
    let mut wrong = Vec::new();
    for (name, (sources, root)) in &crates {
        let limits = LIMITS.iter().find(|(known, ..)| known == name).unwrap_or_else(|| {
            panic!("give `{name}` its limits in {}: a new crate has knots of at most 6 files, and 14 at its root", file!())
        });
        let (_, most, most_folders, wide) = limits;
        let imports = imports(sources, root);
        let (files, folders) = (largest_knot(&imports), largest_knot(&between_folders(&imports)));
        let flat: BTreeSet<Module> =
            sources.iter().map(|(module, _)| module.clone()).filter(|module| module.len() == 1).collect();
        let measured = [
            ("files import each other in a circle", &files, *most),
            ("folders import each other in a circle", &folders, *most_folders),
            ("files stand at the root of `src`, where a folder is missing", &flat, *wide),
        ];
        for (fault, found, most) in measured {
            // A crate whose only files are its roots has no circle of one.
            let size = if sources.is_empty() { 0 } else { found.len() };
            if size > most {
                wrong.push(format!("{name}: {size} {fault}, at most {most} may: {}", shown(found)));
            } else if size < most {
                wrong.push(format!("{name}: {size} {fault}: write it down in place of {most}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_found_whatever_the_path_that_closes_it() {
    let of = |code: [&'static str; 4]| {
        let names = ["a", "b", "b/deep", "c"].map(|path| module(&format!("{path}.rs")).unwrap());
        largest_knot(&imports(&names.into_iter().zip(code).collect::<Vec<_>>(), "pub use c::C as Renamed;"))
            .into_iter()
            .map(|m| m.join("/"))
            .collect::<Vec<_>>()
    };
    // A module within another is no circle with it.
    assert_eq!(of(["", "use crate::b::deep::X;", "use super::Y;", ""]).len(), 1);
    assert_eq!(
        of(["use crate::{b::{deep::X, Z}, d};", "", "fn f() { super::super::a::g() }", ""]),
        ["a", "b/deep"]
    );
    assert_eq!(
        of(["use crate::b;", "use crate::c::C as D;", "", "fn f(_: crate::a::A) {}"]),
        ["a", "b", "c"]
    );
    assert_eq!(of(["use crate::b;", "use crate::c::C;", "", ""]).len(), 1);
    // A re-export hides nothing, at the root or in a file on the way.
    assert_eq!(of(["use crate::Renamed;", "", "", "use crate::a::A;"]), ["a", "c"]);
    assert_eq!(
        of(["use crate::b::Shown;", "pub(crate) use crate::c::C as Shown;", "", "use crate::a::A;"]),
        ["a", "c"]
    );
}

#[test]
fn a_circle_of_folders_is_found_though_no_two_files_make_one() {
    let names = ["a/one", "a/two", "b/one", "b/two"].map(|path| module(&format!("{path}.rs")).unwrap());
    let code = ["use crate::b::one::X;", "", "", "use crate::a::two::Y;"];
    let imports = imports(&names.into_iter().zip(code).collect::<Vec<_>>(), "");
    assert_eq!(largest_knot(&imports).len(), 1);
    assert_eq!(shown(&largest_knot(&between_folders(&imports))), "a, b");
}
