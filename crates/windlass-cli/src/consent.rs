//! Consent to a command that deletes for good.

use windlass_store::{PRUNE_CHUNK, Prune, Pruned, Pruning, StoreError, prune};

use crate::failure::{Exit, Failure};
use crate::out;
use crate::stdin::{self, Stdin};

/// Maximum number of lines shown of what would be deleted.
const LISTED: usize = 20;

/// The things that a command would delete.
#[derive(Debug)]
pub(crate) struct Doomed {
    /// Their number and kind, such as `3 runs`.
    pub(crate) what: String,
    /// One line for each.
    pub(crate) lines: Vec<String>,
}

impl Doomed {
    /// Asks at a terminal. `false`: the user said no, or input ended.
    ///
    /// # Errors
    /// Nobody can be asked: the command needs `--yes`.
    pub(crate) async fn consent(&self) -> Result<bool, Failure> {
        let listed = self.lines.iter().take(LISTED).cloned();
        let more = self.lines.len().saturating_sub(LISTED);
        let more = (more > 0).then(|| format!("and {more} more: `--dry-run` lists all"));
        let listed: Vec<String> = listed.chain(more).collect();
        if !stdin::somebody() {
            let failure = Failure::new(
                Exit::Usage,
                format!("{} would be deleted for good; `--yes` is missing", self.what),
            );
            let failure = listed.into_iter().fold(failure, Failure::detail);
            return Err(failure.hint(
                "nothing was deleted; add `--yes` to delete without a question, or `--dry-run` to look",
            ));
        }
        if self.lines.is_empty() {
            return Ok(true);
        }
        listed.iter().for_each(out::say);
        out::prompt(&format!("Delete {} for good? [y/N] ", self.what));
        let line = Stdin::new().line().await?;
        if line.is_none() {
            out::say("");
        }
        let yes = line.is_some_and(|line| matches!(line.trim().to_lowercase().as_str(), "y" | "yes"));
        if !yes {
            out::say("nothing was deleted");
        }
        Ok(yes)
    }
}

/// Deletes, and says at a terminal how far it is where that takes more than one step.
///
/// # Errors
/// The log failed; what was deleted until then is gone.
pub(crate) async fn delete(log: &dyn Pruning, what: Prune) -> Result<Pruned, StoreError> {
    let shows = out::stderr_is_terminal();
    let progress = |done: usize, all: usize| {
        if shows && all > PRUNE_CHUNK {
            out::note(format_args!("{done} of {all} runs deleted"));
        }
    };
    prune(log, what, progress).await
}
