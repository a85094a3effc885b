//! The YAML in the guides and the README is what it says it is.
//!
//! A block whose first line is a comment with a path (`# tests/lead.yaml`) is a file of that name, and so is a skill with one in its front matter: the files of a page lie in one
//! folder, and their cases run from there. The keys of the guides are secrets of the process, which holds back a piece of text as
//! long as it may begin one: so these tests have a process of their own.

#![expect(clippy::unwrap_used, reason = "functions that only tests call may fail like tests")]

use std::path::Path;

use windlass_core::policy::Preset;
use windlass_runtime::agent_file::{AgentFile, ModelNames};
use windlass_runtime::check_delegates;
use windlass_testing::fixture::FixtureFile;
use windlass_testing::{RunnerOptions, run_case};

const GUIDES: [&str; 13] = [
    "agent-file",
    "code",
    "context",
    "delegation",
    "limits",
    "models",
    "skills",
    "testing",
    "coming-from-kaos",
    "coming-from-acorn",
    "coming-from-promptchain",
    "coming-from-session10",
    "security",
];

/// The blocks of a page with the names of their files.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let blocks = text.split("```yaml\n").skip(1).map(|rest| rest.split("\n```").next().unwrap());
    blocks
        .map(|block| {
            let first = block.lines().next().unwrap_or_default();
            let name = first
                .strip_prefix("# ")
                .filter(|name| Path::new(name).extension().is_some_and(|end| end == "yaml"));
            (name.unwrap_or("example.yaml"), block)
        })
        .collect()
}

/// The Markdown files of a page: each has its name in its first line, or in its front matter.
fn skill_files(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let blocks = text.split("```markdown\n").skip(1).map(|rest| rest.split("\n```").next().unwrap());
    blocks.map(|block| {
        let named = block.lines().find_map(|line| line.strip_prefix("# "));
        (named.unwrap(), block)
    })
}

fn holds(page: &str, block: &str, file: &Path) {
    for case in FixtureFile::parse(block, file).unwrap().cases {
        assert!(case.is_ok(), "{page}: {:?}", case.err().map(|error| error.errors));
        let case = case.unwrap();
        assert!(case.faults().is_empty(), "{page}: {:?}", case.faults());
        let report = run_case(&case, RunnerOptions { crash: true, ..Default::default() });
        assert!(report.passed(), "{page}: {:?}", report.failures);
    }
}

#[test]
fn the_yaml_of_the_guides_works() {
    windlass_testing::code_program(env!("CARGO_BIN_EXE_windlass-testing-code"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    // The guides read keys from the environment.
    // Numbers of loops stay unset.
    let is_number = |name: &str| Preset::ALL.iter().flat_map(Preset::variables).any(|(own, _)| *own == name);
    let set = |name: &str| (!is_number(name)).then(|| format!("the value of {name}"));
    let guides = GUIDES.map(|page| format!("docs/{page}.md"));
    for page in guides.into_iter().chain(["README.md".to_owned()]) {
        let text = std::fs::read_to_string(root.join(&page)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let blocks = blocks(&text);
        for (name, block) in blocks.iter().copied().chain(skill_files(&text)) {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, block).unwrap();
        }
        for (name, block) in blocks {
            count += 1;
            let file = folder.path().join(name);
            if block.contains("expect:") {
                holds(&page, block, &file);
            } else {
                let node = windlass_runtime::yaml::parse(block).unwrap();
                let agent = AgentFile::from_node(&node, &file, &set, ModelNames::Full).unwrap();
                agent.check_available().unwrap();
                // Where a page shows one file of several, the others are left to the reader.
                if name != "example.yaml" {
                    check_delegates(&agent, &set).unwrap();
                }
            }
        }
    }
    assert_eq!(count, 73);
}

#[test]
fn the_page_of_the_log_names_every_event_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/log-format.md")).unwrap();
    let (_, list) =
        text.split_once("(their fields are documented at their structs in `windlass-core`):\n").unwrap();
    let (list, _) = list.split_once(".\n").unwrap();
    let named: Vec<_> = list.split([',', '\n']).map(|name| name.trim().trim_matches('`')).collect();
    let named: Vec<_> = named.into_iter().filter(|name| !name.is_empty()).collect();
    assert_eq!(named, windlass_core::Fact::KINDS);
}

#[test]
fn the_reference_of_a_case_is_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/testing.md")).unwrap();
    let (_, reference) = text.split_once("```yaml reference\n").unwrap();
    let (reference, _) = reference.split_once("\n```").unwrap();
    let case = FixtureFile::parse(reference, &root.join("docs/example.yaml")).unwrap().cases.remove(0);
    assert!(case.is_ok(), "{:?}", case.err().map(|error| error.errors));
    let case = case.unwrap();
    assert_eq!((case.faults(), case.later()), (Vec::new(), None));
}
