//! An earlier run with the same words that was interrupted: a person who types a command again may want to go on with it.

use windlass_read::json::listed_state;
use windlass_runtime::agent_file::AgentFile;
use windlass_store::{RunFilter, Store};

use crate::drive::Words;
use crate::failure::Failure;
use crate::input::Input;
use crate::out;
use crate::view::View;

/// Newest runs that are looked at.
const RUNS: usize = 20;

/// Tells a person at the terminal of such a run.
pub(super) async fn tell(
    log: &dyn Store,
    file: &AgentFile,
    input: &Input,
    words: &Words,
    view: &mut View,
) -> Result<(), Failure> {
    let typed = input.text().trim();
    if !out::stderr_is_terminal() || typed.is_empty() {
        return Ok(());
    }
    let newest = log.list(RunFilter { limit: RUNS, ..RunFilter::default() }).await?;
    let same = newest.items.iter().find(|run| {
        let title = run.title.trim_end_matches('…');
        run.parent.is_none()
            && *run.agent == *file.name
            && !title.is_empty()
            && typed.starts_with(title)
            && listed_state(run) == "interrupted"
    });
    if let Some(run) = same {
        view.remark(&format!(
            "a run with the same words was interrupted: `windlass runs resume{} {}` goes on with it",
            words.log, run.run
        ));
    }
    Ok(())
}
