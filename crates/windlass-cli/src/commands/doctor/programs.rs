//! Programs that tool servers need, and the interpreter of code.

use std::path::PathBuf;

use super::{Finding, Level};

/// Most MCP servers are Node programs; many others are started by uvx.
const PROGRAMS: [(&str, &str); 3] = [
    ("node", "install Node.js to use tool servers that are Node programs"),
    ("npx", "install Node.js, which brings npx, to use tool servers from npm"),
    ("uvx", "install uv to use tool servers that are Python programs"),
];

pub(super) fn look() -> Vec<Finding> {
    let interpreter = (!cfg!(feature = "code")).then(|| {
        let todo = "build with the feature `code` to use agents whose models write code";
        Finding::new(Level::Missing, "code mode", "not built in").todo(todo)
    });
    let programs = PROGRAMS.into_iter().map(|(program, todo)| match find(program) {
        Some(path) => Finding::new(Level::Ok, program, path.display().to_string()),
        None => Finding::new(Level::Missing, program, "not in PATH").todo(todo),
    });
    interpreter.into_iter().chain(programs).collect()
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok())
}
