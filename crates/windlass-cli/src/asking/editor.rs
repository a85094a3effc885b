//! The person's own editor, with a call's arguments in it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use serde_json::Value;
use tokio::process::Command;
use windlass_core::schema::check_args;

use super::subject::Subject;
use crate::out;

/// The variables that name the editor, the first one first.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];
/// The largest file that is taken back from the editor, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The editor's command, where the environment names one.
pub(super) fn command() -> Option<String> {
    VARIABLES
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|command| !command.trim().is_empty())
}

/// Arguments on their way through the editor.
#[derive(Debug)]
pub(super) struct Draft {
    /// As the editor shows them next.
    text: String,
    /// As the call has them now.
    now: Value,
}

impl Draft {
    pub(super) fn new(args: &Value) -> Self {
        let text = format!("{}\n", serde_json::to_string_pretty(args).unwrap_or_default());
        Self { text, now: args.clone() }
    }

    /// Opens the editor until it ends. `Err` says why its text is not taken; it is kept for the next time.
    pub(super) async fn edit(&mut self, editor: &str, subject: &Subject) -> Result<Value, String> {
        let file =
            Draught::new(&self.text).map_err(|error| format!("cannot write a file to edit: {error}"))?;
        run(editor, &file.0).await?;
        self.text = file.read().map_err(|error| format!("cannot read the edited file: {error}"))?;
        let args = checked(&self.text, subject)?;
        if args == self.now {
            return Err("the arguments were not changed".to_owned());
        }
        Ok(args)
    }
}

/// The arguments that a text is, if they fit the tool.
pub(super) fn checked(text: &str, subject: &Subject) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Err("the file is empty, so the arguments were not changed".to_owned());
    }
    match &subject.spec {
        Some(spec) => check_args(spec, text),
        None => {
            serde_json::from_str(text).map_err(|error| format!("the arguments are not valid JSON: {error}"))
        }
    }
}

/// Runs the editor's command on a file. Nothing else is shown meanwhile.
async fn run(editor: &str, path: &Path) -> Result<(), String> {
    out::drained().await;
    let _hidden = out::pause();
    // As for `git`: a command with arguments of its own.
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg(editor).arg(path).kill_on_drop(true);
    let mut screen = Screen { before: tcgetattr(std::io::stdin()).ok(), left: false };
    let ended = command.status().await;
    screen.left = true;
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the editor `{editor}` failed ({status}); the arguments were not changed")),
        Err(error) => Err(format!("cannot start the editor `{editor}`: {error}")),
    }
}

/// The terminal as it was before the editor, to which it goes back if the editor is killed.
#[derive(Debug)]
struct Screen {
    before: Option<Termios>,
    /// Whether the editor has left by itself.
    left: bool,
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.left {
            return;
        }
        if let Some(before) = &self.before {
            let _kept = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
        out::leave_screen();
    }
}

/// A file that its user alone can read, removed at the end.
#[derive(Debug)]
struct Draught(PathBuf);

impl Draught {
    fn new(text: &str) -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("windlass-{}.json", uuid::Uuid::now_v7().simple()));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let made = Self(path);
        file.write_all(text.as_bytes())?;
        Ok(made)
    }

    fn read(&self) -> std::io::Result<String> {
        use std::io::Read as _;
        let mut text = String::new();
        let read = fs::File::open(&self.0)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
        if read as u64 > MAX_BYTES {
            return Err(std::io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
        }
        Ok(text)
    }
}

impl Drop for Draught {
    fn drop(&mut self) {
        // A temporary folder that cannot be written to keeps the file.
        let _left = fs::remove_file(&self.0);
    }
}
