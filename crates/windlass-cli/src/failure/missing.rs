//! Hints for a command that was given no files.

use std::path::Path;

/// The folder of tests that `windlass init` makes.
const TESTS: &str = "tests";
/// The agent file that it makes.
const AGENT: &str = "agent.yaml";

/// A hint by the words of the parser: with the files of the folder, else an example.
pub(super) fn hint(text: &str, folder: &Path) -> Option<String> {
    if text.contains("Usage: windlass test <FILE|FOLDER>") {
        Some(if folder.join(TESTS).is_dir() {
            format!("`windlass test {TESTS}` runs the cases in that folder")
        } else {
            "name files of cases or folders of them, such as `windlass test my-agent.test.yaml`; `windlass init` writes an agent with some".to_owned()
        })
    } else if text.contains("Usage: windlass agents check <FILE>") {
        Some(if folder.join(AGENT).is_file() {
            format!("`windlass agents check {AGENT}` checks that file")
        } else {
            "name agent files, such as `windlass agents check agents/*.yaml`; `windlass init` writes an agent"
                .to_owned()
        })
    } else if text.contains("Usage: windlass run <FILE>") {
        let file = if folder.join(AGENT).is_file() { AGENT } else { "agent.yaml" };
        Some(format!(
            "`windlass run {file} \"…\"` asks the agent of that file; `windlass \"…\"` asks without one"
        ))
    } else {
        None
    }
}
