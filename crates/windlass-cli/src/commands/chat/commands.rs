//! The commands of a conversation: their words, and their completion.

use std::path::PathBuf;

use windlass_core::text::nearest;
use windlass_terminal::input::{Completer, Offer};

use crate::out;

/// Files that are offered at most.
const FILES: usize = 200;

/// A command.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    args: &'static str,
    about: &'static str,
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
    format!("unknown command {word}{near} (/help lists the commands)")
}

/// The commands, a line each.
pub(super) fn help() -> String {
    let words = |command: &Command| format!("{} {}", command.name, command.args);
    let wide = COMMANDS.iter().map(|command| words(command).len()).max().unwrap_or(0);
    let lines = COMMANDS.iter().map(|command| format!("{:wide$}  {}", words(command), command.about));
    lines.collect::<Vec<_>>().join("\n")
}

/// The keys of the face.
pub(super) const KEYS: &str = "\
Enter                send; \\ Enter, Alt-Enter or Ctrl-J begins another line
Up, Down, Ctrl-R     messages that were sent before, and a search among them
Tab                  complete a command, or a file behind @
@FILE                send that file with the message
Ctrl-O               show the calls since the last time whole: arguments and results
Ctrl-C               end the agent's turn; at a question: leave it for later
Ctrl-L               clear the screen";

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
            let typed = before.get(begin + 1..).filter(|typed| !typed.contains(char::is_whitespace))?;
            return Some((begin + 1, files(typed)));
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
    if whole.starts_with(['/', '~', '.'])
        && !whole.contains('\n')
        && let Some(path) = exists(&whole)
    {
        return vec![path];
    }
    let words = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let trimmed = |word: &str| {
        exists(word).or_else(|| exists(word.trim_end_matches([',', '.', ';', ':', '?', '!', ')'])))
    };
    words.filter_map(trimmed).collect()
}

/// The files that a message seems to name, and that are not there.
pub(super) fn missing_files(text: &str) -> Vec<String> {
    let words = text.split_whitespace().filter(|word| word.starts_with('@') && word.contains(['.', '/']));
    let found = |word: &&str| named_files(word).is_empty();
    words.filter(found).map(|word| word.trim_start_matches('@').to_owned()).collect()
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
    }
}
