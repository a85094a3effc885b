//! The README's commands, typed as they stand there, on the tour.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Command;

use crate::kit::Home;

/// The lines of the README's shell blocks within the tour of five minutes.
fn lines() -> Vec<String> {
    let page = include_str!("../../../../README.md");
    let tour = page.split("## Five minutes").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let blocks = tour.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// A home with the repository's examples, of which the slow one is less so.
fn home() -> Home {
    let home = Home::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let copied = Command::new("cp").arg("-r").arg(root.join("examples")).arg(home.path("")).status().unwrap();
    assert!(copied.success());
    let slow = home.read("examples/slow.yaml");
    assert!(slow.contains("sleep 20"));
    home.write("examples/slow.yaml", &slow.replace("sleep 20", "sleep 1"));
    home
}

/// Runs the agent that is slow, and kills it while its tool works.
fn kill(home: &Home) {
    let mut child = home.start(["run", "examples/slow.yaml", "Which files are here?"]);
    let told = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(told.map(Result::unwrap).any(|line| line.starts_with("-> list_files")), "its tool is called");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The two newest runs, the older one first.
fn two_runs(home: &Home) -> [String; 2] {
    let listed = home.windlass(["runs", "list", "--json"]).stdout;
    let ids = listed.lines().map(|line| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["run"].as_str().unwrap().to_owned()
    });
    let mut ids: Vec<String> = ids.take(2).collect();
    ids.reverse();
    ids.try_into().unwrap()
}

#[test]
fn every_command_of_the_tour_works_or_says_what_it_needs() {
    let home = home();
    let lines = lines();
    assert!(lines.len() > 15, "{lines:?}");
    let mut typed = 0;
    for line in lines {
        let (command, remark) = line.split_once(" #").unwrap_or((&line, ""));
        // on_a_server.rs has the service, its chat and its kill.
        let serves = ["windlass serve", "WINDLASS_SERVER", "windlass chat slow", "pkill"];
        if remark.contains("needs") || serves.iter().any(|word| command.contains(word)) {
            continue;
        }
        let mut command = command.trim().to_owned();
        if command.contains(" RUN ") {
            let [older, newer] = two_runs(&home);
            command =
                command.replace(" OTHER_RUN", &format!(" {newer}")).replace(" RUN", &format!(" {older}"));
        }
        // The supervisor waits for ever: once through is enough.
        let command = command.replace(" --wait", "").replace("git diff", "echo changed");
        let chats = if command.starts_with("windlass chat") { "echo Hello | " } else { "" };
        let command = format!("{chats}{command}");
        if command.contains("run examples/slow.yaml") {
            kill(&home);
            continue;
        }
        let done = home.typed(&home.path(""), &command);
        let wanted = match &command {
            command if command.contains("approval.yaml") => 75,
            // As `diff` does where it finds differences.
            command if command.contains("runs diff") => 1,
            _ => 0,
        };
        assert_eq!(done.code, wanted, "{command}: {done:?}");
        typed += 1;
    }
    assert!(typed > 15, "{typed}");
}

#[test]
fn the_typed_agent_of_the_tour_answers_on_the_tour() {
    let home = Home::new();
    let page = include_str!("../../../../README.md");
    let block = page.split("```yaml\n").find(|block| block.starts_with("name: sentiment")).unwrap();
    home.write("sentiment.yaml", block.split("```").next().unwrap());
    let done = home.windlass(["run", "sentiment.yaml", "I like it."]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.contains("\"sentiment\": \"positive\""), "{done:?}");
}
