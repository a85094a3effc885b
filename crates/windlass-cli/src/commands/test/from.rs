//! `windlass test --from RUN`: a case from a recorded run.

use std::path::{Path, PathBuf};

use windlass_core::State;
use windlass_read::load;
use windlass_runtime::kept_files_of;
use windlass_store::SqliteLog;
use windlass_testing::fixture::recorded_case;

use crate::commands::runs::find;
use crate::failure::{Exit, Failure};
use crate::home::{self, LogArgs};
use crate::{agents, out};

pub(super) async fn run(
    word: &str,
    file: Option<&Path>,
    agent: Option<&Path>,
    log_args: &LogArgs,
) -> Result<Exit, Failure> {
    let (log, run) = find::open_log(&log_args.clone().local()?, word).await?;
    let state = load(&*log, run).await?;
    let agent = match agent {
        Some(agent) => home::absolute(agent),
        None => known(&log, &state).await?,
    };
    let folder = file.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let case = recorded_case(&*log, run, &from(&agent, &home::absolute(folder))).await?;
    let Some(file) = file else {
        out::answer(&case)?;
        return Ok(Exit::Good);
    };
    let written = std::fs::OpenOptions::new().write(true).create_new(true).open(file);
    let written = written.and_then(|mut opened| std::io::Write::write_all(&mut opened, case.as_bytes()));
    written.map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot write {}", file.display())).cause(error.to_string())
    })?;
    let file = home::quoted(&file.display().to_string());
    out::note(format_args!("wrote {file}; `windlass test {file}` runs it"));
    Ok(Exit::Good)
}

/// The file that the run's agent came from.
async fn known(log: &SqliteLog, state: &State) -> Result<PathBuf, Failure> {
    let path = kept_files_of(log, state).await?.map(|kept| agents::file_of(&kept));
    path.filter(|path| path.exists()).ok_or_else(|| {
        let run = state.run();
        Failure::new(Exit::Failed, format!("the file of the agent of run {run} is not known, or gone"))
            .hint("name it with `--agent FILE`")
    })
}

/// A path as a case in that folder names it.
fn from(path: &Path, folder: &Path) -> String {
    match path.strip_prefix(folder) {
        Ok(relative) => format!("./{}", relative.display()),
        Err(_) => path.display().to_string(),
    }
}
