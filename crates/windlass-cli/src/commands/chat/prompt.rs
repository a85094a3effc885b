//! Reads the user's next message: edited at a terminal, or a line of stdin.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use crate::failure::{Exit, Failure};
use crate::home;
use crate::interrupts::Interrupts;
use crate::out;
use crate::stdin::Stdin;

/// Number of lines kept for the arrow keys.
const HISTORY_LINES: usize = 1_000;

/// Result of reading a line.
#[derive(Debug)]
pub(super) enum Line {
    Text(String),
    /// Ctrl-C at the prompt.
    Interrupted,
    End,
}

/// Source of lines.
pub(super) enum Prompt {
    /// A terminal; the editor is gone while it reads.
    Terminal {
        editor: Option<Box<Editor<(), FileHistory>>>,
        history: Option<PathBuf>,
    },
    Pipe(Stdin),
}

impl Prompt {
    pub(super) fn open() -> Self {
        let at_terminal = io::stdin().is_terminal() && out::stdout_is_terminal();
        match editor().filter(|_| at_terminal) {
            None => Self::Pipe(Stdin::new()),
            Some(mut editor) => {
                let history = home::folder().ok().map(|home| home.join("chat_history"));
                if let Some(path) = &history {
                    // There is none at first.
                    let _fresh = editor.load_history(path);
                }
                Self::Terminal { editor: Some(Box::new(editor)), history }
            }
        }
    }

    pub(super) async fn line(&mut self, interrupts: &mut Interrupts) -> Result<Line, Failure> {
        let failed = |error: &dyn std::error::Error| {
            Failure::new(Exit::Internal, "cannot read the next line").cause(error.to_string())
        };
        let (place, history) = match self {
            Self::Pipe(stdin) => {
                let line = interrupts.or(stdin.line()).await?;
                return Ok(line.map_err(|error| failed(&error))?.map_or(Line::End, Line::Text));
            }
            Self::Terminal { editor, history } => (editor, history),
        };
        // The editor writes directly, so earlier output must be flushed above its line.
        interrupts.or(out::drained()).await?;
        let Some(mut editor) = place.take() else { return Ok(Line::End) };
        let as_it_was = tcgetattr(io::stdin()).ok();
        // It waits for keys on a thread of its own: tool servers go on meanwhile.
        let read = tokio::task::spawn_blocking(move || {
            let line = editor.readline("> ");
            (editor, line)
        });
        let read = interrupts.or(read).await.inspect_err(|_| {
            // The editor's thread is left behind, and with it how it had set the terminal.
            if let Some(before) = &as_it_was {
                let _kept = tcsetattr(io::stdin(), OptionalActions::Now, before);
            }
            out::leave_editor();
        });
        let (mut editor, line) = read?.map_err(|error| failed(&error))?;
        let line = match line {
            Ok(line) => {
                if editor.add_history_entry(&line).unwrap_or(false)
                    && let Some(path) = history
                {
                    keep(&mut editor, path);
                }
                Line::Text(line)
            }
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(ReadlineError::Eof) => Line::End,
            Err(error) => return Err(failed(&error)),
        };
        *place = Some(editor);
        Ok(line)
    }
}

fn editor() -> Option<Editor<(), FileHistory>> {
    let config = Config::builder().max_history_size(HISTORY_LINES).ok()?.auto_add_history(false).build();
    Editor::with_config(config).ok()
}

/// Keeps the history where only the user can read it. Should that fail, only the arrow keys know less next time.
fn keep(editor: &mut Editor<(), FileHistory>, path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    if editor.save_history(path).is_ok() {
        let _open = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
    }
}
