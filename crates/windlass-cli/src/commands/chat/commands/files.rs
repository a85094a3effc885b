//! The files that a message names behind `@`, and their completion.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use windlass_core::text::nearest;
use windlass_terminal::input::{Offer, Taken};

/// Maximum number of files of a folder that are offered.
const FILES: usize = 200;
/// Maximum number of files of subfolders that are offered.
const FOUND: usize = 20;
/// Maximum number of entries that one look reads: it is taken at each key.
const READ: usize = 2_000;
/// Number of folders within each other that are looked into.
const DEPTH: usize = 6;
/// Folders of files that programs make.
const MADE: [&str; 2] = ["node_modules", "target"];
/// Maximum number of files that are suggested for one that is not there.
const SUGGESTED: usize = 2;
/// Number of letters from which the beginning of a file's name is taken for that file.
const ENOUGH: usize = 3;
/// Ends of a sentence, which belong to no file's name.
const ENDS: [char; 7] = [',', '.', ';', ':', '?', '!', ')'];

/// The mentions of a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Mentioned {
    /// Those that are files.
    pub(in super::super) files: Vec<PathBuf>,
    /// A line on each that seems to be a file, and is none.
    pub(in super::super) notes: Vec<String>,
}

/// Reads the mentions of a message: `@FILE`, or the path of a file alone, as terminals paste what is dropped on them.
pub(in super::super) fn mentioned(text: &str) -> Mentioned {
    mentioned_in(Path::new(""), text)
}

fn mentioned_in(root: &Path, text: &str) -> Mentioned {
    let file = |path: &str| Some(root.join(expanded(path))).filter(|path| path.is_file());
    let whole = text.trim().trim_matches('\'').replace("\\ ", " ");
    if whole.contains('/')
        && !whole.contains('\n')
        && let Some(path) = file(&whole)
    {
        return Mentioned { files: vec![path], notes: Vec::new() };
    }
    let mut mentioned = Mentioned::default();
    for name in mentions(text) {
        let bare = name.trim_end_matches(ENDS);
        match file(name).or_else(|| file(bare)) {
            Some(path) => mentioned.files.push(path),
            None => mentioned.notes.extend(note(root, bare)),
        }
    }
    mentioned
}

/// The names behind `@` that stand at the beginning of a word, between quotes or up to a blank.
fn mentions(text: &str) -> Vec<&str> {
    let begins = text.match_indices('@').filter(|(at, _)| begins_word(text, *at));
    let name = |rest: &'_ str| -> Option<(usize, usize)> {
        match rest.strip_prefix('"') {
            Some(quoted) => Some((1, 1 + quoted.find('"')?)),
            None => Some((0, rest.find(char::is_whitespace).unwrap_or(rest.len()))),
        }
    };
    let found = begins.filter_map(|(at, _)| {
        let rest = text.get(at + 1..)?;
        let (from, to) = name(rest)?;
        rest.get(from..to)
    });
    found.collect()
}

/// Whether a word begins at this byte.
fn begins_word(text: &str, at: usize) -> bool {
    text.get(..at).is_some_and(|ahead| ahead.is_empty() || ahead.ends_with(char::is_whitespace))
}

/// The note on a mention that is no file. A word without a dot or a slash may be somebody's name: it is left alone, unless a file
/// or folder is called nearly so.
fn note(root: &Path, name: &str) -> Option<String> {
    let folder = name.trim_end_matches('/');
    if !folder.is_empty() && root.join(expanded(folder)).is_dir() {
        return Some(format!("{folder} is a folder: it goes as text; @{folder}/FILE sends a file of it"));
    }
    let near = near_files(root, name);
    if name.is_empty() || near.is_empty() && !name.contains(['.', '/']) {
        return None;
    }
    let near: Vec<String> = near.iter().map(|path| format!("@{path}")).collect();
    let near = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    Some(format!("there is no file {name}: it goes as text{near}"))
}

/// Files that are probably meant by the name of one that is not there.
fn near_files(root: &Path, path: &str) -> Vec<String> {
    let (folder, name) = split(path);
    let Some(before) = path.get(..path.len() - name.len()) else { return Vec::new() };
    let names: Vec<String> = entries(&root.join(folder))
        .filter(|(own, _)| own.starts_with('.') == name.starts_with('.'))
        .filter(|(own, at)| (path.contains(['.', '/']) || is_like(name, own)) && at.is_file())
        .map(|(own, _)| own)
        .collect();
    let like = nearest(name, names.iter().map(String::as_str)).into_iter().take(SUGGESTED);
    let like: Vec<String> = like.map(|name| format!("{before}{name}")).collect();
    if !like.is_empty() || !name.contains('.') || path.contains('/') {
        return like;
    }
    let same = within(root, name).into_iter().filter(|path| split(path).1 == name);
    same.take(SUGGESTED).collect()
}

/// Whether a word without an ending means the file of this name: its beginning, or its stem with a slip of the pen.
fn is_like(word: &str, name: &str) -> bool {
    let (word, name) = (word.to_lowercase(), name.to_lowercase());
    let stem = name.split('.').next().unwrap_or_default();
    let (typed, all) = (word.chars().count(), stem.chars().count());
    typed >= ENOUGH
        && (name.starts_with(&word)
            || typed.abs_diff(all) <= 1
                && !nearest(&word, [stem]).is_empty()
                && word.get(..1) == stem.get(..1))
}

/// The path that is being typed behind an `@`: where it begins, and what can stand there. `None`: no path is being typed.
pub(super) fn behind_at(before: &str) -> Option<(usize, Vec<Offer>)> {
    let begin = before.rfind('@').filter(|at| begins_word(before, *at))? + 1;
    let typed = before.get(begin..)?;
    let (typed, quoted) = typed.strip_prefix('"').map_or((typed, false), |typed| (typed, true));
    if quoted && typed.contains('"') || !quoted && typed.contains(char::is_whitespace) {
        return None;
    }
    let paths = paths(Path::new(""), typed).into_iter();
    Some((begin, paths.map(|path| offer(between_quotes(path, quoted), Taken::GoesOn)).collect()))
}

/// Files and folders whose path begins so.
pub(super) fn files(typed: &str, taken: Taken) -> Vec<Offer> {
    beginning(Path::new(""), typed).into_iter().map(|path| offer(path, taken)).collect()
}

fn offer(text: String, taken: Taken) -> Offer {
    Offer { text, about: String::new(), taken }
}

/// A path with blanks stands between quotes. Those of a folder are open: more of the path follows.
fn between_quotes(path: String, quoted: bool) -> String {
    if !quoted && !path.contains(char::is_whitespace) {
        return path;
    }
    let end = if path.ends_with('/') { "" } else { "\"" };
    format!("\"{path}{end}")
}

/// Paths that begin so, and then those of files in subfolders that hold what was typed.
fn paths(root: &Path, typed: &str) -> Vec<String> {
    let mut paths = beginning(root, typed);
    let is_place = typed.contains('/') && !paths.is_empty();
    if typed.is_empty() || typed.starts_with(['/', '~', '.']) || is_place {
        return paths;
    }
    let more = within(root, typed);
    paths.extend(more.into_iter().filter(|path| !path.starts_with(typed) || path.contains('/')));
    paths
}

/// Files and folders of one folder whose path begins so.
fn beginning(root: &Path, typed: &str) -> Vec<String> {
    let (folder, name) = split(typed);
    let Some(before) = typed.get(..typed.len() - name.len()) else { return Vec::new() };
    let fits = |own: &str| own.starts_with(name) && (name.starts_with('.') || !own.starts_with('.'));
    let path = |(own, at): (String, PathBuf)| format!("{before}{own}{}", if at.is_dir() { "/" } else { "" });
    let fitting = entries(&root.join(folder)).filter(|(own, _)| fits(own));
    let mut found: Vec<String> = fitting.take(FILES).map(path).collect();
    found.sort();
    found
}

/// Files whose path holds these letters, those first whose own name begins with them. Hidden folders are left out.
fn within(root: &Path, typed: &str) -> Vec<String> {
    let wanted = typed.to_lowercase();
    let mut folders = VecDeque::from([(root.to_owned(), String::new(), 0)]);
    let (mut found, mut left) = (Vec::new(), READ);
    while let Some((folder, before, depth)) = folders.pop_front() {
        for (own, at) in entries(&folder).take(left) {
            left = left.saturating_sub(1);
            if own.starts_with('.') {
                continue;
            }
            let path = format!("{before}{own}");
            // What a link leads to may hold the link.
            let is_folder = at.symlink_metadata().is_ok_and(|what| what.is_dir());
            if is_folder && depth < DEPTH && !MADE.contains(&own.as_str()) {
                folders.push_back((at, format!("{path}/"), depth + 1));
            } else if !is_folder && path.to_lowercase().contains(&wanted) && at.is_file() {
                let own = own.to_lowercase();
                found.push((Reverse((own.starts_with(&wanted), own.contains(&wanted))), depth, path));
            }
        }
    }
    found.sort();
    found.into_iter().take(FOUND).map(|(_, _, path)| path).collect()
}

/// The folder of a path that is typed, and the name in it.
fn split(typed: &str) -> (PathBuf, &str) {
    match typed.rsplit_once('/') {
        None => (PathBuf::new(), typed),
        Some(("", name)) => (PathBuf::from("/"), name),
        Some((folder, name)) => (expanded(folder), name),
    }
}

/// The entries of a folder: names that can be shown, with their paths.
fn entries(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> + use<> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let all = std::fs::read_dir(here).into_iter().flatten().filter_map(Result::ok).take(READ);
    all.filter_map(|entry| {
        let own = entry.file_name().into_string().ok().filter(|own| !own.contains(char::is_control))?;
        Some((own, entry.path()))
    })
}

/// A path with `~` for the home folder.
pub(in super::super) fn expanded(path: &str) -> PathBuf {
    let home = || std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let rest = if path == "~" { Some("") } else { path.strip_prefix("~/") };
    rest.zip(home()).map_or_else(|| PathBuf::from(path), |(rest, home)| home.join(rest))
}

#[cfg(test)]
mod tests;
