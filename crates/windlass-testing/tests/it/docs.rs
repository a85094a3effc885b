//! The YAML in the guides and the README is what it says it is.

use std::path::Path;

use windlass_runtime::agent_file::{AgentFile, ModelNames};
use windlass_runtime::yaml;
use windlass_testing::fixture::FixtureFile;
use windlass_testing::{RunnerOptions, run_case};

#[test]
fn the_yaml_of_the_guides_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut blocks = 0;
    // The guides read keys from the environment.
    let set = |name: &str| Some(format!("the value of {name}"));
    let guides = ["agent-file", "limits", "testing", "coming-from-kaos", "coming-from-acorn", "security"]
        .map(|page| format!("docs/{page}.md"));
    for page in guides.into_iter().chain(["README.md".to_owned()]) {
        let text = std::fs::read_to_string(root.join(&page)).unwrap();
        for block in text.split("```yaml\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()) {
            blocks += 1;
            let file = root.join("docs").join("example.yaml");
            if block.contains("expect:") {
                for case in FixtureFile::parse(block, &file).unwrap().cases {
                    let report =
                        run_case(&case.unwrap(), RunnerOptions { crash: true, ..Default::default() });
                    assert!(report.passed(), "{page}: {:?}", report.failures);
                }
            } else {
                let node = yaml::parse(block).unwrap();
                let agent = AgentFile::from_node(&node, &file, &set, ModelNames::Full).unwrap();
                agent.check_available().unwrap();
            }
        }
    }
    assert_eq!(blocks, 17);
}
