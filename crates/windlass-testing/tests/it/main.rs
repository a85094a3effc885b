//! The project's own scripted conversations, as users run theirs.
use std::path::Path;

use windlass_testing::fixture::FixtureFile;
use windlass_testing::{RunnerOptions, run_case};

#[test]
fn all_conversations_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut failed = Vec::new();
    let mut passed = 0;
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "yaml") {
                for case in FixtureFile::read(&path).unwrap().cases {
                    let report = run_case(&case.unwrap(), RunnerOptions { crash: true, ..Default::default() });
                    if report.passed() {
                        passed += 1;
                    } else {
                        let failures: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
                        failed.push(format!("{} {}:\n{}", path.display(), report.name, failures.join("\n")));
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{passed} passed\n{}", failed.join("\n"));
    assert!(passed > 0);
}
