//! The commands of a conversation: their words, and their completion.

mod files;

use windlass_core::text::nearest;
use windlass_terminal::input::{Completer, Offer, Taken};

use crate::drive::Commands;
use crate::out::{self, frames};

use files::files;
pub(super) use files::{expanded, mentioned};

/// A command.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    args: &'static str,
    about: &'static str,
}

impl Command {
    /// Whether Enter behind its first letters sends it: not one that takes words, and none that changes the conversation.
    fn is_sent_by_its_beginning(&self) -> bool {
        self.args.is_empty() && !CHANGING.contains(&self.name)
    }

    /// Whether words behind it would be lost.
    pub(super) fn takes_nothing(&self) -> bool {
        self.args.is_empty()
    }

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
    command("/new", "[NAME]", "begin another session; so does /clear"),
    command("/sessions", "[NAME]", "list the newest sessions, or go on with one of them"),
    command("/cost", "", "tokens and cost so far"),
    command("/context", "", "how much of the model's context the conversation uses"),
    command("/copy", "", "copy the last answer to the clipboard"),
    command("/raw", "", "show the last answer as the model wrote it"),
    command("/save", "FILE", "write the conversation to a file, as Markdown"),
    command("/quit", "", "leave; so do exit and Ctrl-D"),
];

/// Commands that nobody wants to send by mistake.
const CHANGING: [&str; 5] = ["/undo", "/edit", "/retry", "/stop", "/quit"];

/// The answer to a command that other programs have.
const COMPACT: &str = "there is no /compact: with `loop: { context: { max_tokens: 8000, compact: summarise } }` in its file an agent sums up \
    what is old by itself; /context tells how full it is, /new begins anew";

/// Other names.
fn canonical(word: &str) -> &str {
    match word {
        "/usage" => "/cost",
        "/exit" => "/quit",
        "/cancel" => "/stop",
        "/clear" => "/new",
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
    if word == "/compact" {
        return COMPACT.to_owned();
    }
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
    ("Tab", "complete a command, or a file behind @; Enter takes the first one that fits"),
    ("@FILE", "send that file with the message; @\"A FILE\" where its name has blanks"),
    ("//TEXT", "a message that begins with a slash"),
    ("Ctrl-A, E, W, U, K, Y", "move and cut as in a shell; Ctrl-_ takes a change back"),
    ("Ctrl-O", "show the calls since the last time whole: arguments and results"),
    ("Esc, Ctrl-C", "end the agent's turn; at an approval Esc says no, Ctrl-C later"),
    ("Ctrl-D, Ctrl-C twice", "leave, where nothing is typed"),
    ("Ctrl-L, Ctrl-Z", "clear the screen; go to the shell, and come back by `fg`"),
];

/// The words that can be typed in a conversation.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) sessions: Vec<String>,
}

impl Completer for Words {
    fn offers(&self, before: &str) -> Option<(usize, Vec<Offer>)> {
        if before.contains('@')
            && let Some(found) = files::behind_at(before)
        {
            return Some(found);
        }
        let (word, rest) = match before.split_once(' ') {
            None if before.starts_with('/') => return Some((0, commands(before))),
            None => return None,
            Some(split) => split,
        };
        let from = before.len() - rest.len();
        match word {
            "/attach" => Some((from, files(rest, Taken::GoesOn))),
            // The file may be a new one.
            "/save" => Some((from, files(rest, Taken::Chosen))),
            "/sessions" => {
                let fits = self.sessions.iter().filter(|name| name.starts_with(rest));
                let offer =
                    |name: &String| Offer { text: name.clone(), about: String::new(), taken: Taken::GoesOn };
                Some((from, fits.map(offer).collect()))
            }
            _ => None,
        }
    }
}

fn commands(typed: &str) -> Vec<Offer> {
    let fits = COMMANDS.iter().filter(|command| command.name.starts_with(typed));
    let offer = |command: &Command| Offer {
        text: command.name.to_owned(),
        about: command.about.to_owned(),
        taken: if command.is_sent_by_its_beginning() { Taken::Sent } else { Taken::GoesOn },
    };
    fits.map(offer).collect()
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
        let taken = |typed: &str| commands(typed)[0].taken;
        assert_eq!(
            [taken("/hel"), taken("/ret"), taken("/att")],
            [Taken::Sent, Taken::GoesOn, Taken::GoesOn]
        );
        assert!(offered("hello /co").is_empty());
        assert!(offered("a@b").is_empty(), "an address is no file");
        assert!(unknown("/modle").contains("/model"));
        assert_eq!(found("/exit").map(|command| command.name), Some("/quit"));
        assert_eq!(found("/clear").map(|command| command.name), Some("/new"));
        assert!(unknown("/compact").contains("compact: summarise"));
    }
}
