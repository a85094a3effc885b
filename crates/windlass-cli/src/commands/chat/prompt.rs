//! Reads the user's next message: from the face of the conversation, or a line of stdin.

use std::io::{self, IsTerminal};

use crate::face::{Act, Face};
use crate::failure::{Exit, Failure};
use crate::interrupts::{Interrupt, Interrupts};
use crate::out;
use crate::stdin::Stdin;

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
    Face(Face),
    /// Lines of stdin; at a terminal, which edits them itself, behind a prompt.
    Lines {
        stdin: Stdin,
        prompts: bool,
    },
}

impl Prompt {
    pub(super) fn open(face: Option<&Face>) -> Self {
        let prompts = io::stdin().is_terminal() && out::stdout_is_terminal();
        face.cloned().map_or_else(|| Self::Lines { stdin: Stdin::new(), prompts }, Self::Face)
    }

    pub(super) async fn line(&mut self, interrupts: &mut Interrupts) -> Result<Line, Failure> {
        let failed = |error: &dyn std::error::Error| {
            Failure::new(Exit::Internal, "cannot read the next line").cause(error.to_string())
        };
        match self {
            Self::Face(face) => loop {
                tokio::select! {
                    biased;
                    interrupt = interrupts.next() => match interrupt {
                        Interrupt::Cancel if face.interrupted() => return Ok(Line::End),
                        Interrupt::Cancel => {}
                        Interrupt::Leave(_) => return Err(interrupt.failure()),
                    },
                    act = face.next() => match act {
                        Act::Sent(text) => return Ok(Line::Text(text)),
                        Act::End => return Ok(Line::End),
                        Act::Key(_) => {}
                    },
                }
            },
            Self::Lines { stdin, prompts } => {
                if *prompts {
                    interrupts.or(out::drained()).await?;
                    out::prompt("> ");
                }
                tokio::select! {
                    biased;
                    interrupt = interrupts.next() => match interrupt {
                        Interrupt::Cancel if *prompts => {
                            out::say("");
                            Ok(Line::Interrupted)
                        }
                        Interrupt::Cancel => Err(interrupt.failure()),
                        Interrupt::Leave(_) => {
                            if *prompts {
                                out::say("");
                            }
                            Err(interrupt.failure())
                        }
                    },
                    line = stdin.line() => {
                        let line = line.map_err(|error| failed(&error))?;
                        Ok(line.map_or(Line::End, Line::Text))
                    }
                }
            }
        }
    }
}
