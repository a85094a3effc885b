//! Re-exports of a crate, followed to the file that defines the item.

use std::collections::{BTreeMap, BTreeSet};

use super::super::closing_brace;
use super::{Module, absolute, is_word, uses};

/// Where the names of a crate come from that a file gives without defining them.
#[derive(Debug, Default)]
pub(in super::super) struct Reexports {
    /// The path behind each name.
    names: BTreeMap<Module, Module>,
    /// Modules that give all names of another one.
    globs: Vec<(Module, Module)>,
    /// The names that each file defines.
    defined: BTreeSet<Module>,
}

/// The modules within a file, each with the range of its block.
fn blocks(code: &str) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("mod ") {
        if code[..at].ends_with(is_word) {
            continue;
        }
        let name: String = code[at + 4..].chars().take_while(|c| is_word(*c)).collect();
        let open = at + 4 + name.len();
        let brace = open + code[open..].find(|c: char| !c.is_whitespace()).unwrap_or(0);
        if !code[brace..].starts_with('{') {
            continue;
        }
        found.push((name, brace, closing_brace(code, brace).unwrap_or(code.len())));
    }
    found
}

impl Reexports {
    /// `root`: the code of `lib.rs`.
    pub(in super::super) fn of(files: &[(Module, &str)], root: &str) -> Self {
        let mut all = Self::default();
        for (module, code) in files {
            all.read(module, code, files);
        }
        all.read(&Module::new(), root, files);
        all
    }

    fn read(&mut self, module: &Module, code: &str, files: &[(Module, &str)]) {
        let blocks = blocks(code);
        for (at, _, trees) in uses(code) {
            let line = code[..at].rfind('\n').map_or(0, |line| line + 1);
            let visibility = code[line..at].trim();
            if visibility != "pub" && !(visibility.starts_with("pub(") && visibility.ends_with(')')) {
                continue;
            }
            let inner = blocks.iter().filter(|(_, open, end)| (*open..*end).contains(&at));
            let within: Module = module.iter().cloned().chain(inner.map(|(name, ..)| name.clone())).collect();
            for tree in trees {
                let (path, alias) = tree.split_once(" as ").unwrap_or((&tree, ""));
                let path = path.trim();
                let first = path.split("::").next().unwrap();
                let beside = || within.iter().cloned().chain([first.to_owned()]).collect::<Module>();
                let internal = ["crate", "super", "self"].contains(&first)
                    || files.iter().any(|(module, _)| *module == beside());
                if !internal {
                    continue;
                }
                let target = absolute(&within, path);
                let (last, parent) = target.split_last().unwrap();
                if last == "*" {
                    self.globs.push((within.clone(), parent.to_vec()));
                } else {
                    let name = if alias.is_empty() { last } else { alias.trim() };
                    self.names
                        .insert(within.iter().cloned().chain([name.to_owned()]).collect(), target.clone());
                }
            }
        }
        for word in ["fn ", "struct ", "enum ", "trait ", "const ", "static ", "type ", "macro_rules! "] {
            for (at, _) in code.match_indices(word) {
                let name: String = code[at + word.len()..].chars().take_while(|c| is_word(*c)).collect();
                self.defined.insert(module.iter().cloned().chain([name]).collect());
            }
        }
    }

    /// The path of the item itself.
    pub(in super::super) fn followed(&self, mut path: Module) -> Module {
        // A circle of re-exports is no program.
        for _ in 0..16 {
            let Some(next) = self.next(&path) else { break };
            path = next;
        }
        path
    }

    fn next(&self, path: &Module) -> Option<Module> {
        for end in 1..=path.len() {
            let (name, rest) = path.split_at(end);
            if let Some(target) = self.names.get(name).filter(|target| target.as_slice() != name) {
                return Some(target.iter().chain(rest).cloned().collect());
            }
            let (last, parent) = name.split_last().unwrap();
            let behind = self.globs.iter().filter(|(module, _)| module == parent).find_map(|(_, target)| {
                let named: Module = target.iter().chain([last]).cloned().collect();
                (self.defined.contains(&named) || self.names.contains_key(&named)).then_some(named)
            });
            if let Some(target) =
                behind.filter(|target| target.as_slice() != name && !self.defined.contains(name))
            {
                return Some(target.into_iter().chain(rest.iter().cloned()).collect());
            }
        }
        None
    }
}
