//! A run whose agent's file has moved, changed or gone since (E71): the run goes on with what the log has kept of it. A file with a
//! secret in it is not kept: the hint is a command that works.

use crate::kit::{ASKING, End, Home, SLOW, assert_end, hinted, lines, until};
use crate::server::{Reply, Server};

/// A home in which the process that drove a run of that agent was killed, within a sum.
fn crashed(file: &str, agent: &str, more: &[&str]) -> Home {
    let home = Home::new();
    home.write(file, agent);
    home.write("helper.yaml", HELPER);
    let mut child = home.command(["run", file, "What is 2 + 5?"].iter().chain(more)).spawn().unwrap();
    until("the sum has begun", || lines(&home.path("sums")) + lines(&home.path("sub/sums")) == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    home.write("go", "");
    home.write("sub/go", "");
    home
}

/// The slow agent with a secret in its file, which the log does not keep.
fn secret() -> String {
    SLOW.replacen("effect: read_only", "effect: read_only\n      env: { API_TOKEN: sk-literal-secret-1 }", 1)
}

#[test]
fn e71_a_run_goes_on_with_its_agent_wherever_its_file_is_and_whatever_it_says() {
    let changes: [fn(&Home); 4] = [
        |home| std::fs::rename(home.path("agent.yaml"), home.path("moved.yaml")).unwrap(),
        |home| std::fs::remove_file(home.path("agent.yaml")).unwrap(),
        |home| drop(home.write("agent.yaml", "model: [")),
        |home| {
            drop(
                home.write("agent.yaml", &SLOW.replace("name: slow", "name: slow\ninstructions: Be brief.")),
            );
        },
    ];
    for change in changes {
        let home = crashed("agent.yaml", SLOW, &[]);
        change(&home);
        went_on(&resume(&home));
        let home = crashed("agent.yaml", SLOW, &[]);
        change(&home);
        assert_eq!(home.windlass(["runs", "resume", "--all"]).code, 0);
        assert_eq!(home.last()["status"], "answered");
    }
    // The files of those that it hands tasks to are kept with it.
    let home = crashed("agent.yaml", &lead(SLOW), &[]);
    std::fs::remove_file(home.path("helper.yaml")).unwrap();
    went_on(&resume(&home));
}

#[test]
fn e71_a_task_goes_on_after_its_agents_file_has_changed() {
    let server = task_and_answer();
    let (home, _) = crashed_in_the_task(&server, SLOW);
    home.write("helper.yaml", "model: [");
    let end = resume(&home);
    assert_eq!((end.code, end.stdout.as_str()), (0, "It is done.\n"), "{end:?}");
}

/// A delegate, which the lead needs not call.
const HELPER: &str = "name: helper\ndescription: Helps.\nmodel: tour\n";

fn lead(slow: &str) -> String {
    slow.replace("name: slow", "name: lead\nagents: [./helper.yaml]")
}

fn resume(home: &Home) -> End {
    home.windlass(["runs", "resume", "last"])
}

/// The run went on to its end.
fn went_on(end: &End) {
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
}

#[test]
fn an_agents_file_that_has_moved_within_the_folder_is_named() {
    let home = crashed("agent.yaml", &secret(), &[]);
    std::fs::rename(home.path("agent.yaml"), home.path("moved.yaml")).unwrap();
    let refused = resume(&home);
    assert_end!(home, refused);
    went_on(&hinted(&home, &refused, ""));
}

#[test]
fn an_agents_file_that_has_moved_into_a_folder_is_named() {
    let home = crashed("agent.yaml", &secret(), &[]);
    home.write("agents/go", "");
    std::fs::rename(home.path("agent.yaml"), home.path("agents/agent.yaml")).unwrap();
    let refused = resume(&home);
    assert!(refused.stderr.contains("--with agents/agent.yaml`"), "{refused:?}");
    went_on(&hinted(&home, &refused, ""));
    // From elsewhere, too.
    let home = crashed("agent.yaml", &secret(), &[]);
    std::fs::rename(home.path("agent.yaml"), home.path("moved.yaml")).unwrap();
    let mut elsewhere = home.command(["runs", "resume", "last"]);
    let refused = crate::kit::end(elsewhere.current_dir("/").output().unwrap());
    assert!(
        refused.stderr.contains(&format!("--with {}`", home.path("moved.yaml").display())),
        "{refused:?}"
    );
}

#[test]
fn an_agents_file_that_is_gone_is_asked_for() {
    let home = crashed("agent.yaml", &secret(), &[]);
    std::fs::remove_file(home.path("agent.yaml")).unwrap();
    let refused = resume(&home);
    assert_end!(home, refused);
    let other = Home::new();
    let written = other.write("again.yaml", &secret()).display().to_string();
    // Its commands run in their file's folder.
    other.write("go", "");
    went_on(&hinted(&home, &refused, &written));
}

#[test]
fn an_agent_that_has_changed_is_refused_and_named() {
    let home = crashed("agent.yaml", &secret(), &[]);
    home.write("agent.yaml", &secret().replace("name: slow", "name: slow\ninstructions: Be brief."));
    let refused = resume(&home);
    assert_end!(home, refused);
    let all = home.windlass(["runs", "resume", "--all"]);
    let said = refused.stderr.lines().find(|line| line.starts_with("hint: ")).unwrap();
    assert!(all.code == 1 && all.stderr.contains(said), "{all:?}");
    went_on(&hinted(&home, &refused, ""));
}

#[test]
fn a_delegates_file_that_is_gone_is_said_with_the_agent_that_names_it() {
    let home = crashed("agent.yaml", &lead(&secret()), &[]);
    std::fs::create_dir(home.path("agents")).unwrap();
    std::fs::rename(home.path("helper.yaml"), home.path("agents/helper.yaml")).unwrap();
    let refused = resume(&home);
    assert_end!(home, refused);
    home.write("agent.yaml", &lead(&secret()).replace("./helper.yaml", "./agents/helper.yaml"));
    went_on(&hinted(&home, &refused, ""));
}

/// A home in which the process was killed while the delegate of `agent.yaml` worked on its task.
fn crashed_in_the_task(server: &Server, slow: &str) -> (Home, String) {
    let home = Home::new();
    let lead = format!("{}agents: [./helper.yaml]\n", server.agent());
    home.write("agent.yaml", &lead);
    home.write("helper.yaml", &slow.replace("name: slow", "name: helper\ndescription: Helps."));
    let mut child = home.start(["run", "agent.yaml", "Go on."]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    home.write("go", "");
    home.write("agents/go", "");
    (home, lead)
}

fn task_and_answer() -> Server {
    let task = Reply::Call("helper".into(), r#"{"task": "What is 2 + 5?"}"#.into());
    Server::start(vec![task, Reply::Pieces(vec!["It is done."])])
}

#[test]
fn a_task_goes_on_after_its_agents_file_has_moved() {
    let server = task_and_answer();
    let (home, lead) = crashed_in_the_task(&server, &secret());
    std::fs::rename(home.path("helper.yaml"), home.path("agents/helper.yaml")).unwrap();
    let refused = resume(&home);
    assert_eq!(refused.code, 65, "{refused:?}");
    home.write("agent.yaml", &lead.replace("./helper.yaml", "./agents/helper.yaml"));
    let end = hinted(&home, &refused, "");
    assert_eq!((end.code, end.stdout.as_str()), (0, "It is done.\n"), "{end:?}");
}

#[test]
fn a_task_goes_on_after_its_agents_file_has_changed() {
    let server = task_and_answer();
    let (home, _) = crashed_in_the_task(&server, &secret());
    home.write("helper.yaml", &secret().replace("name: slow", "name: helper\ndescription: Helps more."));
    let refused = resume(&home);
    assert_eq!(refused.code, 65, "{refused:?}");
    let end = hinted(&home, &refused, "");
    assert_eq!((end.code, end.stdout.as_str()), (0, "It is done.\n"), "{end:?}");
}

#[test]
fn a_delegate_that_has_changed_is_named() {
    let home = crashed("agent.yaml", &lead(&secret()), &[]);
    home.write("helper.yaml", &HELPER.replace("Helps.", "Helps more."));
    let refused = resume(&home);
    assert_end!(home, refused);
    went_on(&hinted(&home, &refused, ""));
}

#[test]
fn a_delegate_of_the_command_line_has_a_new_place() {
    let agent = ["--agent", "helper=helper.yaml"];
    let home = crashed("agent.yaml", &secret(), &agent);
    std::fs::rename(home.path("helper.yaml"), home.path("other.yaml")).unwrap();
    let refused = resume(&home);
    assert_end!(home, refused);
    let unknown = home.windlass(["runs", "resume", "last", "--agent", "helpr=other.yaml"]);
    assert_end!(home, unknown);
    went_on(&hinted(&home, &refused, "other.yaml"));
}

#[test]
fn what_the_command_line_said_stays_when_the_file_is_named() {
    let home = crashed("agent.yaml", &secret().replace("model: tour", "model: openai/x"), &["-m", "tour"]);
    std::fs::rename(home.path("agent.yaml"), home.path("moved.yaml")).unwrap();
    went_on(&hinted(&home, &resume(&home), ""));
}

#[test]
fn questions_after_a_resume_with_a_file_need_not_name_it() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 3?"]).code, 75);
    home.write("agent.yaml", &ASKING.replace("name: asking", "name: asking\ninstructions: Be brief."));
    let asked = home.windlass(["runs", "resume", "last", "--with", "agent.yaml"]);
    assert_end!(home, asked);
    let end = hinted(&home, &asked, "");
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{end:?}");
}

#[test]
fn a_fork_says_how_to_name_the_file() {
    let home = crashed("agent.yaml", &secret(), &[]);
    std::fs::rename(home.path("agent.yaml"), home.path("moved.yaml")).unwrap();
    let refused = home.windlass(["runs", "fork", "last", "--at", "1", "What is 3 + 4?"]);
    assert_eq!(refused.code, 65, "{refused:?}");
    let end = hinted(&home, &refused, "");
    assert_eq!(end.code, 0, "{end:?}");
}

#[test]
fn a_chat_that_meets_a_changed_agent_says_how_its_open_run_goes_on() {
    let home = Home::new();
    home.write("agent.yaml", ASKING);
    assert_eq!(home.windlass(["run", "agent.yaml", "--session", "s", "What is 2 + 3?"]).code, 75);
    home.write("agent.yaml", &ASKING.replace("name: asking", "name: asking\ninstructions: Be brief."));
    let refused = home.windlass_with(["chat", "agent.yaml", "--session", "s"], "What is 3 + 3?\n");
    assert_end!(home, refused);
    assert_eq!(hinted(&home, &refused, "").code, 75);
}
