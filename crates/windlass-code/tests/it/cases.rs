//! Files of cases: `# == name`, code, and `# -> outcome`. `WINDLASS_UPDATE=1` writes the outcomes anew, for a person to read.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_code::{FailureKind, Limits};

use crate::support::{Ran, program, run_with};

/// A case of a file.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) source: String,
    pub(crate) outcome: String,
}

/// All files of a folder of cases.
pub(crate) fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

pub(crate) fn cases(file: &Path) -> Vec<Case> {
    let text = fs::read_to_string(file).unwrap();
    let mut cases = Vec::new();
    for part in text.split("# == ").skip(1) {
        let (name, rest) = part.split_once('\n').unwrap();
        let (source, outcome) = rest.split_once("# -> ").unwrap_or((rest, ""));
        cases.push(Case {
            name: name.trim().to_owned(),
            source: source.trim_end().to_owned(),
            outcome: outcome.trim().to_owned(),
        });
    }
    cases
}

/// An outcome in a line: the value, or the kind of failure and the last line of its error; what was printed; calls.
pub(crate) fn outcome(ran: &Ran) -> String {
    let mut text = match &ran.ended {
        Ok(value) => format!("done {value}"),
        Err(failure) => {
            let kind = match &failure.kind {
                FailureKind::Raised(_) => "raised".to_owned(),
                FailureKind::Limit(limit) => format!("limit {limit}"),
                kind => format!("{kind:?}").to_lowercase(),
            };
            let line = failure.line.map(|line| format!(" line {line}")).unwrap_or_default();
            let error = failure.message.lines().rfind(|line| !line.starts_with("hint:")).unwrap_or_default();
            let hint = failure.message.lines().find(|line| line.starts_with("hint:"));
            let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{kind}{line}: {error}{hint}")
        }
    };
    if !ran.output.text.is_empty() {
        let _ = write!(text, " | printed {}", Value::from(ran.output.text.as_str()));
    }
    if !ran.calls().is_empty() {
        let _ = write!(text, " | called {}", ran.calls().join(", "));
    }
    let end = text.floor_char_boundary(600);
    text.truncate(end);
    text
}

/// Whether an outcome is the expected one. Which of two limits a bomb meets first depends on the machine.
fn same(found: &str, expected: &str) -> bool {
    let bounded = |text: &str| text.starts_with("limit seconds") || text.starts_with("limit memory");
    found == expected || (bounded(found) && bounded(expected))
}

/// Runs all cases of a folder; `look` sees each outcome besides.
pub(crate) async fn check(folder: &str, look: impl Fn(&Case, &Ran)) {
    let mut wrong = Vec::new();
    for file in files(folder) {
        // Bombs end by their limit. The others are to have time enough on a busy machine.
        let seconds = if file.ends_with("bombs.py") { 0.5 } else { 30.0 };
        let limits = Limits { seconds, ..Limits::default() };
        let mut written = String::new();
        for case in cases(&file) {
            let ran = run_with(&limits, program(&case.source)).await;
            let found = outcome(&ran);
            look(&case, &ran);
            if !same(&found, &case.outcome) {
                wrong.push(format!("{}:\n  expected {}\n  found    {found}", case.name, case.outcome));
            }
            let _ = write!(written, "# == {}\n{}\n# -> {found}\n\n", case.name, case.source);
        }
        if std::env::var_os("WINDLASS_UPDATE").is_some() {
            let head = fs::read_to_string(&file).unwrap();
            let head = head.split("# == ").next().unwrap_or_default();
            fs::write(&file, format!("{head}{}\n", written.trim_end())).unwrap();
        }
    }
    assert!(wrong.is_empty() || std::env::var_os("WINDLASS_UPDATE").is_some(), "{}", wrong.join("\n"));
}
