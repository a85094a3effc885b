//! Ctrl-C cancels; SIGTERM, SIGHUP and SIGQUIT leave a run to be resumed.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{BOTH, Home, PLAIN, SLOW, assert_end, finish, lines, until};

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

#[test]
fn the_first_one_cancels_and_says_how_the_conversation_goes_on() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    interrupt(&child);
    let end = finish(child);
    assert_end!(home, end);
    assert_eq!(home.last()["status"], "cancelled");
    assert_eq!(home.events("CallFinished"), 1, "the open call has a result");
    home.write("agent.yaml", SLOW);
    home.write("go", "");
    let hint = end.stderr.lines().find(|line| line.contains("--session")).unwrap();
    let session = hint.split("--session ").nth(1).unwrap().split(' ').next().unwrap();
    let end = home.windlass(["run", "agent.yaml", "--session", session, "What is 2 + 5?"]);
    assert_eq!(end.code, 0, "{end:?}");
}

#[test]
fn the_second_one_ends_at_once_and_the_run_can_be_resumed() {
    let home = Home::new();
    // It does not stop when it is asked to, for longer than anybody waits.
    let deaf = SLOW.replace("echo sum >> sums;", "trap '' TERM INT; echo sum >> sums;");
    home.write("agent.yaml", &format!("{deaf}loop: {{ grace_ms: 3600000 }}\n"));
    let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    interrupt(&child);
    until("it is being stopped", || home.events("CancelRequested") == 1);
    interrupt(&child);
    let end = finish(child);
    assert_eq!(end.code, 130, "{end:?}");
    assert!(end.stderr.contains("was left before it had ended"), "{end:?}");
    assert!(end.stderr.contains("hint: `windlass runs resume "), "{end:?}");
    home.write("go", "");
    // It was asked to stop, and that is what it does when somebody goes on with it.
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!(end.code, 130, "{end:?}");
    assert_eq!(home.last()["status"], "cancelled");
}

#[test]
fn nothing_that_the_run_began_is_left() {
    let home = Home::new();
    home.write("agent.yaml", &SLOW.replace("echo sum >> sums;", "echo $$ > pid; echo sum >> sums;"));
    let child = home.start(["run", "agent.yaml", BOTH]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    interrupt(&child);
    assert_eq!(finish(child).code, 130);
    let pid: i32 = home.read("pid").trim().parse().unwrap();
    let alive = Pid::from_raw(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
    assert!(!alive, "the tool's process {pid} is still there");
}

#[test]
fn a_chat_that_waits_for_a_line_ends() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    let mut child = home.command(["chat", "agent.yaml"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    until("the chat has begun", || home.path("home/log.db").exists());
    interrupt(&child);
    let end = finish(child);
    drop(stdin);
    assert_eq!(end.code, 130, "{end:?}");
}

/// What a signal leaves: the tool had its SIGTERM, the run is neither cancelled nor held, and goes on when it is resumed.
const POLITE: &str = r#"
name: polite
description: Works out sums.
model: tour
tools:
  - command:
      name: calculate
      run: [sh, -c, "trap 'echo told >> told; exit 1' TERM; echo $$ > pid; echo sum >> sums; while [ ! -e go ]; do sleep 0.02; done; echo 7"]
      description: Works out a sum.
      parameters: { type: object, properties: { expression: { type: string } }, required: [expression] }
      effect: read_only
"#;

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn is_alive(pid: &str) -> bool {
    let pid = pid.trim().parse().ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// The tool was told to end and has, and nothing of that stands in the log.
fn is_laid_down(home: &Home) {
    assert_eq!(lines(&home.path("told")), 1, "the tool had its SIGTERM");
    assert!(!is_alive(&home.read("pid")), "the tool's process is still there");
    let last = home.last();
    assert_eq!(last["status"], "running", "{last}");
    assert_eq!(last["summary"]["holder"], serde_json::Value::Null, "{last}");
    for event in ["CallFinished", "CancelRequested", "RunEnded"] {
        assert_eq!(home.events(event), 0, "{event}");
    }
}

#[test]
fn sigterm_stops_the_tool_and_leaves_the_run_to_be_resumed() {
    let home = Home::new();
    home.write("agent.yaml", POLITE);
    let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    send(&child, Signal::TERM);
    let end = finish(child);
    assert_end!(home, end);
    is_laid_down(&home);
    home.write("go", "");
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
}

#[test]
fn sighup_and_sigquit_do_so_too_unless_they_are_ignored_from_the_start() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(mask.trim(), 16).unwrap();
    for (signal, code) in [(Signal::HUP, 129), (Signal::QUIT, 131)] {
        if ignored & (1 << (signal.as_raw() - 1)) != 0 {
            continue;
        }
        let home = Home::new();
        home.write("agent.yaml", POLITE);
        let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
        until("the sum has begun", || lines(&home.path("sums")) == 1);
        send(&child, signal);
        let end = finish(child);
        assert_eq!(end.code, code, "{end:?}");
        is_laid_down(&home);
    }
    let home = Home::new();
    home.write("agent.yaml", POLITE);
    let mut nohup = std::process::Command::new("sh");
    let plain = home.command(["run", "agent.yaml", "What is 2 + 5?"]);
    nohup.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(plain.get_program()).args(plain.get_args());
    nohup.current_dir(home.path("")).env_clear();
    nohup.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    nohup.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    let child = nohup.stderr(std::process::Stdio::piped()).spawn().unwrap();
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    send(&child, Signal::HUP);
    home.write("go", "");
    let end = finish(child);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
}

#[test]
fn after_sigterm_a_second_signal_ends_at_once() {
    let home = Home::new();
    let deaf =
        SLOW.replace("echo sum >> sums;", "trap 'echo told >> told' TERM; echo $$ > pid; echo sum >> sums;");
    home.write("agent.yaml", &format!("{deaf}loop: {{ grace_ms: 3600000 }}\n"));
    let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    send(&child, Signal::TERM);
    until("it is being stopped", || lines(&home.path("told")) == 1);
    send(&child, Signal::TERM);
    let end = finish(child);
    assert_eq!(end.code, 143, "{end:?}");
    assert_eq!(home.events("RunEnded"), 0);
    until("the tool is gone", || !is_alive(&home.read("pid")));
}

#[test]
fn sigterm_reaches_the_commands_of_a_delegate_and_both_runs_go_on() {
    let home = Home::new();
    home.write("polite.yaml", POLITE);
    home.write(
        "lead.yaml",
        "name: lead\ninstructions: You lead.\nloop: { preset: text }\nagents: [ ./polite.yaml ]\n",
    );
    let asks = r#"["```delegate\n{\"agent\": \"polite\", \"task\": \"What is 2 + 5?\"}\n```", "It is 7."]"#;
    let mut command = home.command(["run", "lead.yaml", "--session", "s", "2 + 5?"]);
    let child = command.env("DEBUG_MOCK_RESPONSES", asks).spawn().unwrap();
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    send(&child, Signal::TERM);
    let end = finish(child);
    assert_eq!(end.code, 143, "{end:?}");
    assert_eq!(lines(&home.path("told")), 1, "the tool had its SIGTERM");
    let runs = home.windlass(["runs", "list", "--json"]).stdout;
    assert_eq!(runs.matches("\"interrupted\"").count(), 2, "{runs}");
    let mut roots = runs.lines().filter(|line| line.contains("lead"));
    let root: serde_json::Value = serde_json::from_str(roots.next_back().unwrap()).unwrap();
    home.write("go", "");
    let mut command = home.command(["runs", "resume", root["run"].as_str().unwrap()]);
    let last = r#"["It is 7."]"#;
    let end = finish(command.env("DEBUG_MOCK_RESPONSES", last).spawn().unwrap());
    assert_eq!((end.code, end.stdout.trim()), (0, "It is 7."), "{end:?}");
    let runs = home.windlass(["runs", "list", "--json"]).stdout;
    assert_eq!(runs.lines().count(), 2, "no task was handed over twice: {runs}");
}

#[test]
fn sigterm_lays_down_what_resume_all_and_an_answer_brought_on() {
    let home = Home::new();
    home.write("agent.yaml", POLITE);
    let mut dead = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    dead.kill().unwrap();
    dead.wait().unwrap();
    let all = home.start(["runs", "resume", "--all"]);
    until("the sum has begun again", || lines(&home.path("sums")) == 2);
    // What the first process left was stopped, too. Its shell may have died of its closed stderr before it said so.
    drop(std::fs::remove_file(home.path("told")));
    send(&all, Signal::TERM);
    let end = finish(all);
    assert_eq!(end.code, 143, "{end:?}");
    assert!(end.stdout.ends_with("  left\n"), "{end:?}");
    is_laid_down(&home);

    let home = Home::new();
    home.write("agent.yaml", &format!("{POLITE}loop: {{ approve: [calculate] }}\n"));
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 5?"]).code, 75);
    let answer = home.start(["runs", "answer", "last", "q1", "approve"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    send(&answer, Signal::TERM);
    let end = finish(answer);
    assert_eq!(end.code, 143, "{end:?}");
    is_laid_down(&home);
}

#[test]
fn sigterm_ends_a_chat_at_its_prompt_and_in_a_turn() {
    let home = Home::new();
    home.write("agent.yaml", POLITE);
    for said in ["", "What is 2 + 5?\n"] {
        let mut command = home.command(["chat", "agent.yaml", "--session", "s"]);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, said.as_bytes()).unwrap();
        if said.is_empty() {
            until("the chat has begun", || home.path("home/log.db").exists());
        } else {
            until("the sum has begun", || lines(&home.path("sums")) == 1);
        }
        send(&child, Signal::TERM);
        let end = finish(child);
        drop(stdin);
        assert_eq!(end.code, 143, "{said:?}: {end:?}");
    }
    is_laid_down(&home);
}

#[test]
fn sigterm_ends_tool_servers_and_tools_that_are_called_by_hand() {
    let home = Home::new();
    // It never answers, so that it is still being started.
    let silent = "name: silent\nmodel: tour\ntools:\n  - mcp: { name: s, command: [sh, -c, \"echo $$ > pid; sleep 600\"] }\n";
    home.write("silent.yaml", silent);
    let child = home.start(["run", "silent.yaml", "hello"]);
    until("the server has begun", || !home.read("pid").is_empty());
    send(&child, Signal::TERM);
    let end = finish(child);
    assert_eq!((end.code, end.stderr.as_str()), (143, "error: ended by SIGTERM\n"), "{end:?}");
    until("the server is gone", || !is_alive(&home.read("pid")));

    home.write("polite.yaml", POLITE);
    let child = home.start(["tools", "call", "polite.yaml", "calculate", r#"{"expression":"1"}"#]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    send(&child, Signal::TERM);
    let end = finish(child);
    assert_eq!((end.code, lines(&home.path("told"))), (143, 1), "{end:?}");
}
