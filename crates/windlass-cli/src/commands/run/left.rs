//! An earlier run with the same words that was interrupted: a person who types a command again may want to go on with it.

use windlass_runtime::agent_file::AgentFile;
use windlass_store::Store;

use crate::drive::Words;
use crate::failure::Failure;
use crate::input::Input;
use crate::out;
use crate::session::newest_of_agent;
use crate::view::View;

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
    let newest = newest_of_agent(&file.name, log).await?;
    let same = newest.iter().find(|run| {
        let title = run.title.trim_end_matches('…');
        !title.is_empty() && typed.starts_with(title) && run.is_interrupted()
    });
    if let Some(run) = same {
        view.remark(&format!(
            "a run with the same words was interrupted: `windlass runs resume{} {}` goes on with it",
            words.log, run.run
        ));
    }
    Ok(())
}
