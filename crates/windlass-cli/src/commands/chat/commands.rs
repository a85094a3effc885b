//! The commands of a conversation: their words, and their completion.

use std::path::PathBuf;

use windlass_core::text::nearest;
use windlass_terminal::input::{Completer, Offer};

use crate::drive::Commands;
use crate::out::{self, frames};

/// Files that are offered at most.
const FILES: usize = 200;

/// A command.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    args: &'static str,
    about: &'static str,
}

impl Command {
    /// Its name, with its arguments.
    fn words(&self) -> String {
        format!("{} {}", self.name, self.args).trim_end().to_owned()
    }
}

const fn command(name: &'static str, args: &'static str, about: &'static str) -> Command {
    Command { name, args, about }
}

/// All commands, in the order of the help.
pub(super) const COMMANDS: &[Command] = &[
    command("/help", "", "list these commands and the keys"),
    command("/model", "[NAME]", "name the model, or go on with another one"),
    command("/tools", "", "list the tools of the agent"),
    command("/attach", "[FILE]", "send a file with the next message, or list those that will be sent"),
    command("/steer", "TEXT", "say something to the agent while it works"),
    command("/queue", "TEXT", "send a message once the agent has finished"),
    command("/pause", "[REASON]", "let the agent pause once its calls have ended"),
    command("/stop", "", "end the agent's turn, as Ctrl-C does"),
    command("/fork", "[NAME]", "go on in another session from here; this one stays as it is"),
    command("/undo", "", "go back to before the last message; its run stays in the log"),
    command("/edit", "", "go back, and edit the last message"),
    command("/retry", "", "go back, and send the last message again"),
    command("/new", "[NAME]", "begin another session"),
    command("/sessions", "[NAME]", "list the newest sessions, or go on with one"),
    command("/cost", "", "tokens and cost so far"),
    command("/context", "", "how much of the model's context the conversation uses"),
    command("/copy", "", "copy the last answer to the clipboard"),
    command("/raw", "", "show the last answer as the model wrote it"),
    command("/save", "FILE", "write the conversation to a file, as Markdown"),
    command("/quit", "", "leave; so does Ctrl-D"),
];

/// Other names.
fn canonical(word: &str) -> &str {
    match word {
        "/usage" => "/cost",
        "/exit" => "/quit",
        "/cancel" => "/stop",
        word => word,
    }
}

/// The command of that name.
pub(super) fn found(word: &str) -> Option<&'static Command> {
    let word = canonical(word);
    COMMANDS.iter().find(|command| command.name == word)
}

/// The refusal of a word that is no command.
pub(super) fn unknown(word: &str) -> String {
    let near = nearest(word, COMMANDS.iter().map(|command| command.name));
    let near = near.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    format!("unknown command {word}{near} (/help lists the commands; // begins a message with a slash)")
}

/// The commands, a line each, and the keys of a face.
pub(super) fn help(face: bool) -> String {
    let all: Vec<_> = COMMANDS.iter().map(|command| (command.words(), command.about)).collect();
    if face { format!("{}\n\n{}", columns(&all), keys()) } else { columns(&all) }
}

/// The keys of the face, a line each.
fn keys() -> String {
    let all: Vec<_> = KEYS.iter().map(|(keys, about)| ((*keys).to_owned(), *about)).collect();
    columns(&all)
}

/// The commands of a run that is no conversation.
#[derive(Debug)]
pub(crate) struct OfRun;

impl OfRun {
    const OWN: [&str; 6] = ["/help", "/steer", "/pause", "/stop", "/context", "/quit"];
}

impl Commands for OfRun {
    fn named(&self, word: &str) -> Option<&'static str> {
        found(word).map(|command| command.name).filter(|name| Self::OWN.contains(name))
    }

    fn unknown(&self, word: &str) -> String {
        unknown(word)
    }

    fn text(&self, command: &str) -> Option<String> {
        if command != "/help" {
            return None;
        }
        let own = COMMANDS.iter().filter(|command| Self::OWN.contains(&command.name));
        let help: Vec<_> = own.map(|command| (command.words(), command.about)).collect();
        Some(format!("{}\n\n{}", columns(&help), keys()))
    }
}

/// Two columns; in a narrow terminal one, with the second part below the first.
fn columns(all: &[(String, &str)]) -> String {
    let first = all.iter().map(|(words, _)| words.len()).max().unwrap_or(0);
    let whole = all.iter().map(|(_, about)| first + 2 + about.len()).max().unwrap_or(0);
    let narrow = frames::is_drawn() && frames::size().0 <= whole.min(FULL);
    let lines = all.iter().map(|(words, about)| {
        if narrow { format!("{words}\n  {about}") } else { format!("{words:first$}  {about}") }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Columns in which two columns of help are read well.
const FULL: usize = 70;

/// The keys of the face.
const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; \\ Enter, Alt-Enter or Ctrl-J begins another line"),
    ("Up, Down, Ctrl-R", "messages that were sent before, and a search among them"),
    ("Tab", "complete a command, or a file behind @"),
    ("@FILE", "send that file with the message; @\"A FILE\" where its name has blanks"),
    ("//TEXT", "a message that begins with a slash"),
    ("Ctrl-A, E, W, U, K, Y", "move and cut as in a shell; Ctrl-_ takes a change back"),
    ("Ctrl-O", "show the calls since the last time whole: arguments and results"),
    ("Esc, Ctrl-C", "end the agent's turn; at a question Ctrl-C leaves it for later"),
    ("Ctrl-D", "leave, where nothing is typed"),
    ("Ctrl-L, Ctrl-Z", "clear the screen; go to the shell, and come back by `fg`"),
];

/// The words that can be typed in a conversation.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) sessions: Vec<String>,
}

impl Completer for Words {
    fn offers(&self, before: &str) -> Option<(usize, Vec<Offer>)> {
        if let Some(begin) = before.rfind('@').filter(|at| {
            before.get(..*at).is_some_and(|ahead| ahead.is_empty() || ahead.ends_with(char::is_whitespace))
        }) {
            let typed = before.get(begin + 1..)?;
            let (typed, quoted) = typed.strip_prefix('"').map_or((typed, false), |typed| (typed, true));
            if quoted && typed.contains('"') || !quoted && typed.contains(char::is_whitespace) {
                return None;
            }
            return Some((
                begin + 1,
                files(typed).into_iter().map(|offer| between_quotes(offer, quoted)).collect(),
            ));
        }
        let (word, rest) = match before.split_once(' ') {
            None if before.starts_with('/') => return Some((0, commands(before))),
            None => return None,
            Some(split) => split,
        };
        let from = before.len() - rest.len();
        match word {
            "/attach" | "/save" => Some((from, files(rest))),
            "/sessions" => {
                let fits = self.sessions.iter().filter(|name| name.starts_with(rest));
                Some((from, fits.map(|name| Offer { text: name.clone(), about: String::new() }).collect()))
            }
            _ => None,
        }
    }
}

/// A path with blanks stands between quotes. Those of a folder are open: more of the path follows.
fn between_quotes(offer: Offer, quoted: bool) -> Offer {
    if !quoted && !offer.text.contains(char::is_whitespace) {
        return offer;
    }
    let end = if offer.text.ends_with('/') { "" } else { "\"" };
    Offer { text: format!("\"{}{end}", offer.text), ..offer }
}

fn commands(typed: &str) -> Vec<Offer> {
    let fits = COMMANDS.iter().filter(|command| command.name.starts_with(typed));
    fits.map(|command| Offer { text: command.name.to_owned(), about: command.about.to_owned() }).collect()
}

/// Files and folders whose path begins so.
fn files(typed: &str) -> Vec<Offer> {
    let (folder, name) = typed.rsplit_once('/').map_or(("", typed), |(folder, name)| (folder, name));
    let place = match folder {
        "" if typed.starts_with('/') => PathBuf::from("/"),
        "" => PathBuf::from("."),
        folder => expanded(folder),
    };
    let Ok(entries) = std::fs::read_dir(place) else { return Vec::new() };
    let mut found: Vec<Offer> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let own = entry.file_name().into_string().ok()?;
            let hidden = own.starts_with('.') && !name.starts_with('.');
            if hidden || !own.starts_with(name) || own.contains(char::is_control) {
                return None;
            }
            let begin = typed.get(..typed.len() - name.len())?;
            let slash = if entry.path().is_dir() { "/" } else { "" };
            Some(Offer { text: format!("{begin}{own}{slash}"), about: String::new() })
        })
        .take(FILES)
        .collect();
    found.sort_by(|one, other| one.text.cmp(&other.text));
    found
}

/// A path with `~` for the home folder.
pub(super) fn expanded(path: &str) -> PathBuf {
    let home = || std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let rest = if path == "~" { Some("") } else { path.strip_prefix("~/") };
    rest.zip(home()).map_or_else(|| PathBuf::from(path), |(rest, home)| home.join(rest))
}

/// The files that a message names: `@FILE`, or the path of a file alone, as terminals paste what is dropped on them.
pub(super) fn named_files(text: &str) -> Vec<PathBuf> {
    let exists = |path: &str| Some(expanded(path)).filter(|path| path.is_file());
    let whole = text.trim().trim_matches('\'').replace("\\ ", " ");
    if whole.contains('/')
        && !whole.contains('\n')
        && let Some(path) = exists(&whole)
    {
        return vec![path];
    }
    let trimmed = |word: &str| {
        exists(word).or_else(|| exists(word.trim_end_matches([',', '.', ';', ':', '?', '!', ')'])))
    };
    mentions(text).into_iter().filter_map(trimmed).collect()
}

/// The names behind `@` that stand at the beginning of a word, between quotes or up to a blank.
fn mentions(text: &str) -> Vec<&str> {
    let begins = text.match_indices('@').filter(|(at, _)| {
        text.get(..*at).is_some_and(|ahead| ahead.is_empty() || ahead.ends_with(char::is_whitespace))
    });
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

/// The files that a message seems to name, and that are not there.
pub(super) fn missing_files(text: &str) -> Vec<String> {
    let there = named_files(text);
    let is_there = |name: &str| {
        let path = expanded(name.trim_end_matches([',', '.', ';', ':', '?', '!', ')']));
        there.contains(&path) || there.contains(&expanded(name))
    };
    let named = mentions(text).into_iter().filter(|name| name.contains(['.', '/']) && !is_there(name));
    named.map(str::to_owned).collect()
}

/// Says it above what is drawn.
pub(super) fn tell(text: &str) {
    text.lines().for_each(out::note);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_completed_and_near_ones_are_named() {
        let words = Words { sessions: vec!["trip".to_owned()] };
        let offered = |before: &str| -> Vec<String> {
            words
                .offers(before)
                .map(|(_, all)| all.into_iter().map(|one| one.text).collect())
                .unwrap_or_default()
        };
        assert_eq!(offered("/co"), ["/cost", "/context", "/copy"]);
        assert_eq!(offered("/sessions t"), ["trip"]);
        assert!(offered("hello /co").is_empty());
        assert!(offered("a@b").is_empty(), "an address is no file");
        assert!(unknown("/modle").contains("/model"));
        assert_eq!(found("/exit").map(|command| command.name), Some("/quit"));
    }

    #[test]
    fn files_are_completed_within_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("notes.md"), "x").unwrap();
        std::fs::create_dir(folder.path().join("nested")).unwrap();
        let base = folder.path().display();
        let texts: Vec<String> = files(&format!("{base}/n")).into_iter().map(|offer| offer.text).collect();
        assert_eq!(texts, [format!("{base}/nested/"), format!("{base}/notes.md")]);
        let named = named_files(&format!("look at @{base}/notes.md, please"));
        assert_eq!(named, [folder.path().join("notes.md")]);
        assert_eq!(named_files(&format!("{base}/notes.md")), [folder.path().join("notes.md")]);
        assert!(named_files("ann@example.org and @nobody").is_empty());
        let blank = folder.path().join("my notes.md");
        std::fs::write(&blank, "x").unwrap();
        assert_eq!(named_files(&format!("see @\"{base}/my notes.md\" now")), [blank]);
        assert_eq!(missing_files(&format!("@{base}/notes.md. and @no/file")), ["no/file"]);
        let words = Words { sessions: Vec::new() };
        let text = format!("see @{base}/my");
        let (from, offers) = words.offers(&text).unwrap();
        assert_eq!((from, offers[0].text.clone()), (5, format!("\"{base}/my notes.md\"")));
        assert_eq!(words.offers(&format!("see @\"{base}/my n")).unwrap().1.len(), 1);
    }
}
