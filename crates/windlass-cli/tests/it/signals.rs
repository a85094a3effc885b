//! Ctrl-C cancels; SIGTERM, SIGHUP and SIGQUIT leave a run to be resumed.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{BOTH, Home, PLAIN, SLOW, assert_end, finish, lines, until};
use crate::server::{Reply, Server};

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
    assert!(end.stderr.contains("was left before its end"), "{end:?}");
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
    let pid = home.read("pid");
    assert!(!pid.is_empty() && !is_alive(&pid), "the tool's process {pid} is still there");
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

/// Whether a process is there that has not ended; one that nobody has reaped yet has.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// The tool was told to end and has, and the run is left.
fn is_laid_down(home: &Home) {
    assert_eq!(lines(&home.path("told")), 1, "the tool had its SIGTERM");
    assert!(!is_alive(&home.read("pid")), "the tool's process is still there");
    is_left(home);
}

/// Nobody holds the run, and nothing of its stop stands in the log.
fn is_left(home: &Home) {
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
    assert_eq!((end.code, end.stderr.as_str()), (143, "ended by SIGTERM\n"), "{end:?}");
    until("the server is gone", || !is_alive(&home.read("pid")));

    home.write("polite.yaml", POLITE);
    let child = home.start(["tools", "call", "polite.yaml", "calculate", r#"{"expression":"1"}"#]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    send(&child, Signal::TERM);
    let end = finish(child);
    assert_eq!((end.code, lines(&home.path("told"))), (143, 1), "{end:?}");
}

/// A tool server over stdio in the shell. A call of its tool waits for the file `go`; it has a child of its own by then, which
/// does not hear SIGTERM.
const SERVER: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"sum","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*)
      sh -c 'trap "" TERM; echo $$ > child; while [ -e server.sh ] && [ ! -e go ]; do sleep 0.02; done' &
      echo $$ > pid
      echo call >> calls
      wait
      result='{"content":[{"type":"text","text":"7"}]}' ;;
    *) result= ;;
  esac
  case "$id$result" in
    '') ;;
    "$id") printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result" ;;
  esac
done
"#;

#[test]
fn sigterm_ends_a_tool_server_that_serves_a_call_and_leaves_the_run_to_be_resumed() {
    let model = Server::start(vec![
        Reply::Call("s__sum".to_owned(), "{}".to_owned()),
        Reply::Pieces(vec!["2 + 5 is 7."]),
    ]);
    let home = Home::new();
    home.write("server.sh", SERVER);
    let tools = "tools: [ { mcp: { name: s, command: [sh, server.sh] }, effect: read_only } ]\n";
    home.write("agent.yaml", &format!("{}{tools}", model.agent()));
    let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the call is served", || lines(&home.path("calls")) == 1 && !home.read("child").is_empty());
    let began = [home.read("pid"), home.read("child")];
    send(&child, Signal::TERM);
    let end = finish(child);
    assert_eq!(end.code, 143, "{end:?}");
    until("the server and what it began are gone", || !began.iter().any(|pid| is_alive(pid)));
    is_left(&home);
    home.write("go", "");
    let end = home.windlass(["runs", "resume", "last"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 5 is 7.\n"), "{end:?}");
    assert_eq!(lines(&home.path("calls")), 2, "the call was lost, and made again");
}
