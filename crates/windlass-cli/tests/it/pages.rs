//! Pages of docs/ whose commands are typed as they stand there, on the tour.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{Home, until};

/// The fenced blocks of a page: language and text.
pub(crate) fn blocks(page: &str) -> Vec<(&str, &str)> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    fenced.filter_map(|block| block.split_once('\n')).collect()
}

/// The name of the file that a block is, if it begins with one. It may stand in the front matter of a Markdown file.
fn named(block: &str) -> Option<&str> {
    let name = block.lines().find(|line| *line != "---")?.strip_prefix("# ")?;
    (name.contains('.') && !name.contains(' ')).then_some(name)
}

/// A line without what differs from run to run: ids, times and durations.
fn plain(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let is_id = |text: &str| text.len() >= 8 && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        let bare = word.trim_matches('`');
        match word {
            "ms" | "s" => drop(words.pop()),
            _ if bare.split(':').next().is_some_and(is_id) => {
                words.push(bare.split_once(':').map_or("ID".to_owned(), |(_, rest)| format!("ID:{rest}")));
            }
            _ if word.len() == 8 && word.bytes().filter(|byte| *byte == b':').count() == 2 => {
                words.push("TIME".to_owned());
            }
            _ => words.push(bare.to_owned()),
        }
    }
    words.join(" ")
}

/// Types the commands of a page in a folder of its own, with the files that the page shows, and finds what it says that they show.
/// `own` runs a line in its own way, in that folder, and gives what it shows. Returns the number of lines.
fn type_page(home: &Home, page: &str, mut own: impl FnMut(&Path, &str) -> Option<String>) -> usize {
    let mut folder: PathBuf = home.path("");
    let (mut typed, mut shown) = (0, String::new());
    for (language, block) in blocks(page) {
        match language {
            "yaml" | "python" | "markdown" => {
                if let Some(name) = named(block) {
                    let file = folder.join(name);
                    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                    std::fs::write(file, format!("{block}\n")).unwrap();
                }
            }
            "sh" => {
                shown.clear();
                for line in block.lines() {
                    typed += 1;
                    if let Some(name) = line.strip_prefix("cd ") {
                        folder.push(name);
                    } else if let Some(done) = own(&folder, line) {
                        shown += &done;
                    } else {
                        let done = home.typed(&folder, line);
                        assert_eq!(done.code, 0, "{line}: {done:?}");
                        shown += &done.stdout;
                    }
                }
            }
            "text" => {
                let mut lines = shown.lines().map(plain);
                for line in block.lines() {
                    let line = plain(line);
                    assert!(
                        lines.any(|shown| shown == line),
                        "{line:?} is not shown, or not in this place:\n{shown}"
                    );
                }
            }
            // What only a person at a terminal sees.
            "" => {}
            other => panic!("a block of {other:?}"),
        }
    }
    typed
}

/// Starts an agent whose tool writes that file, and sends it a signal once the file has a line.
fn signalled(home: &Home, folder: &Path, agent: &str, written: &str, signal: Signal) -> String {
    let mut command = home.command(["run", agent, "Get the document owls.txt."]);
    let child = command.current_dir(folder).spawn().unwrap();
    until("its tool has written", || {
        std::fs::read_to_string(folder.join(written)).is_ok_and(|text| !text.is_empty())
    });
    kill_process(Pid::from_child(&child), signal).unwrap();
    let ended = child.wait_with_output().unwrap();
    let code = ended.status.code().unwrap_or_else(|| 128 + ended.status.signal().unwrap());
    format!("{}exit code {code}\n", String::from_utf8_lossy(&ended.stderr))
}

/// The id of the run that waits for an answer.
fn suspended(home: &Home) -> String {
    let listed = home.windlass(["runs", "list", "--status", "suspended", "--json"]).stdout;
    let run: serde_json::Value = serde_json::from_str(listed.trim()).unwrap();
    run["run"].as_str().unwrap().to_owned()
}

#[test]
fn the_tutorial_can_be_typed_and_shows_what_it_says() {
    let home = Home::new();
    // The tool is killed at once here, and need not be slow for a person.
    let page = include_str!("../../../../docs/tutorial.md").replace("sleep 6", "sleep 1");
    let typed = type_page(&home, &page, |folder, line| {
        let kills = line.starts_with("timeout -s KILL");
        kills.then(|| signalled(&home, folder, "slow.yaml", "loans.txt", Signal::KILL))
    });
    assert!(typed > 25, "{typed}");
}

#[test]
fn the_guide_to_agent_files_can_be_typed_and_shows_what_it_says() {
    let typed = type_page(&Home::new(), include_str!("../../../../docs/agent-file.md"), |_, _| None);
    assert!(typed > 12, "{typed}");
}

#[test]
fn the_page_on_skills_can_be_typed_and_shows_what_it_says() {
    let home = Home::new();
    let typed = type_page(&home, include_str!("../../../../docs/skills.md"), |_, _| None);
    assert_eq!(typed, 3);
    let tested = home.windlass(["test", "tests/maintainer.yaml", "--crash"]);
    assert_eq!(tested.code, 0, "{tested:?}");
}

#[test]
fn the_page_on_upgrades_can_be_typed_and_shows_what_it_says() {
    let home = Home::new();
    let page = include_str!("../../../../docs/upgrade.md").replace("sleep 6", "sleep 1");
    let mut waiting = None;
    let typed = type_page(&home, &page, |folder, line| {
        if line.starts_with("timeout -s TERM") {
            return Some(signalled(&home, folder, "slow.yaml", "begun.txt", Signal::TERM));
        }
        // The page has the id of the run that waits.
        if !line.contains("535eddac") {
            return None;
        }
        let id = waiting.get_or_insert_with(|| suspended(&home));
        let done = home.typed(folder, &line.replace("535eddac", id));
        assert_eq!(done.code, 0, "{line}: {done:?}");
        Some(done.stdout)
    });
    assert!(typed > 16, "{typed}");
}

#[test]
fn the_client_in_python_stands_in_its_page_and_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let client = std::fs::read_to_string(root.join("examples/client.py")).unwrap();
    let page = include_str!("../../../../docs/python.md");
    assert!(
        blocks(page).iter().any(|(_, block)| format!("{block}\n") == client),
        "the page shows another client"
    );

    let home = Home::new();
    let ask = |before: &str, agent: &str| {
        let line =
            format!("{before}python3 {}/client.py {}/{agent} 'What is 17% of 2350?'", "examples", "examples");
        home.typed(&root, &line)
    };
    let answered = ask("", "quickstart.yaml");
    assert_eq!(answered.code, 0, "{answered:?}");
    assert!(answered.stdout.contains("17% of 2350 is 399.5."), "{answered:?}");
    let allowed = ask("echo approve | ", "approval.yaml");
    assert_eq!(allowed.code, 0, "{allowed:?}");
    assert!(allowed.stdout.contains("asks q1: May `calculate` run"), "{allowed:?}");
    assert!(allowed.stdout.contains("[answered: run "), "{allowed:?}");
    let absent = ask("", "absent.yaml");
    assert_eq!(absent.code, 1, "{absent:?}");
    assert!(absent.stdout.contains("hint: "), "{absent:?}");
}
