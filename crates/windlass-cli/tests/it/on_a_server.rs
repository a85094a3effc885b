//! Commands that reach a server: `windlass serve` in one process, the command in another.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use serde_json::Value;

use crate::kit::{ASKING, End, Home, finish, until};
use crate::served::Served;
use crate::server::{Reply, Server};

const GUIDE: &str = "name: guide\nmodel: tour\n";

fn home() -> Home {
    let home = Home::new();
    home.write("agents/guide.yaml", GUIDE);
    home.write("agents/asking.yaml", ASKING);
    home
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_a_server_has_is_shown_as_its_log_shows_it() {
    let home = home();
    let server = Served::start(&home, "127.0.0.1:0");
    let url = &*server.url;
    let run = home.windlass(["run", "--server", url, "guide", "What is 2 + 5?"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("offline tour"), "{run:?}");
    let asks = home.windlass(["run", "--server", url, "asking", "What is 17% of 2350?"]);
    assert_eq!(asks.code, 75, "{asks:?}");
    assert!(asks.stderr.contains(&format!("windlass runs answer --server {url} ")), "{asks:?}");
    let answer = home.windlass(["runs", "answer", "--server", url, "last", "q1", "approve"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "17% of 2350 is 399.5.\n"), "{answer:?}");
    let again = home.windlass(["runs", "answer", "--server", url, "last", "q1", "approve"]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.stderr.contains("q1 was answered before: approve"), "{again:?}");
    // Every command that reads says the same, at an address, at a socket, and of the log itself.
    let socket = format!("unix:{}", home.path("api.sock").display());
    for command in [
        "runs list --json",
        "runs list",
        "runs show last --json --events",
        "runs show -e last",
        "runs show --tree last",
        "runs show --metadata last",
        "runs effects last",
        "runs costs last --json",
        "runs stats",
        "runs replay last",
        "runs export last",
        "runs export last --as jsonl",
        "runs watch last --json",
        "sessions list --all",
        "sessions stats",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let said = |more: &[&str]| {
            let child = home.command(words.iter().chain(more)).spawn().unwrap();
            finish(child)
        };
        let local = said(&[]);
        assert_eq!(local.code, 0, "{command}: {local:?}");
        for at in [url, &*socket] {
            let remote = said(&["--server", at]);
            assert_eq!((remote.code, &remote.stdout), (local.code, &local.stdout), "{command}: {remote:?}");
        }
    }
}

#[test]
fn a_conversation_on_a_server_goes_on() {
    let home = home();
    let server = Served::start(&home, "127.0.0.1:0");
    let url = &*server.url;
    let talk = ["chat", "--server", url, "guide", "--session", "trip", "--quiet"];
    let end = home.windlass_with(talk, "What is 2 + 5?\nAnd times 3?\n");
    assert_eq!((end.code, end.stdout.matches("offline tour").count()), (0, 2), "{end:?}");
    let shown = home.windlass(["sessions", "show", "--server", url, "trip"]);
    assert!(shown.stdout.contains("user: And times 3?"), "{shown:?}");
    let fork = home.windlass(["runs", "fork", "--server", url, "last", "--at", "1"]);
    assert_eq!(fork.code, 0, "{fork:?}");
    assert!(fork.stdout.contains("offline tour"), "{fork:?}");
}

#[test]
fn a_question_of_a_conversation_can_be_answered_from_elsewhere() {
    let home = home();
    let server = Served::start(&home, "127.0.0.1:0");
    let url = &*server.url;
    let talk = ["chat", "--server", url, "asking", "--session", "sums", "--quiet"];
    let end = home.windlass_with(talk, "What is 17% of 2350?\n");
    assert_eq!(end.code, 75, "{end:?}");
    let seen = home.windlass(["runs", "show", "--server", url, "last"]);
    assert!(seen.stdout.contains("q1 (approval)"), "{seen:?}");
    let stale = home.windlass(["runs", "answer", "--server", url, "last", "q1@00000000", "approve"]);
    assert_eq!(stale.code, 1, "{stale:?}");
    let left = home.windlass(["runs", "answer", "--server", url, "--leave", "last", "q1", "approve"]);
    assert_eq!(left.code, 0, "{left:?}");
    let watched = home.windlass(["runs", "watch", "--server", url, "last"]);
    assert_eq!((watched.code, watched.stdout.as_str()), (0, "17% of 2350 is 399.5.\n"), "{watched:?}");
}

#[test]
fn a_run_is_steered_paused_resumed_and_cancelled() {
    let home = home();
    let model = Server::start(vec![Reply::Pieces(vec!["Hello ", "world"]), Reply::Pieces(vec!["Again."])]);
    home.write("agents/x.yaml", &model.agent());
    let server = Served::start(&home, "127.0.0.1:0");
    let url = &*server.url;
    let child = home.command(["run", "--server", url, "x", "hi", "--json"]).spawn().unwrap();
    model.requests.recv().unwrap();
    until("the run is listed", || {
        home.windlass(["runs", "list", "--server", url]).stdout.contains("running")
    });
    let steer = ["runs", "steer", "--server", url, "--kind", "correction", "--pin", "last", "be", "brief"];
    let steered = home.windlass(steer);
    assert_eq!(steered.code, 0, "{steered:?}");
    let steer = ["runs", "steer", "--server", url, "--kind", "objective", "last", "sell", "everything"];
    let refused = home.windlass(steer);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("which no client writes"), "{refused:?}");
    let paused = home.windlass(["runs", "pause", "--server", url, "last"]);
    assert_eq!(paused.code, 0, "{paused:?}");
    model.go.send(()).unwrap();
    let end = finish(child);
    assert_eq!(end.code, 75, "{end:?}");
    let resumed = home.windlass(["runs", "resume", "--server", url, "last"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "Again.\n"), "{resumed:?}");
    let shown = home.windlass(["runs", "export", "--server", url, "last"]);
    assert!(shown.stdout.contains(r#""text":"be brief","kind":"correction","pinned":true"#), "{shown:?}");
    let named = home.windlass(["runs", "answer", "--server", url, "--by", "ann", "last", "q1", "approve"]);
    assert_eq!(named.code, 2, "{named:?}");
    let asks = home.windlass(["run", "--server", url, "asking", "What is 17% of 2350?"]);
    assert_eq!(asks.code, 75, "{asks:?}");
    let cancelled = home.windlass(["runs", "cancel", "--server", url, "last"]);
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    assert!(cancelled.stderr.contains(": cancelled"), "{cancelled:?}");
}

#[test]
fn e71_another_agent_of_the_server_is_given_to_a_run_with_the_preview_that_a_log_has() {
    let home = home();
    home.write("agents/brief.yaml", &ASKING.replace("name: asking", "name: brief\ninstructions: Be brief."));
    let server = Served::start(&home, "127.0.0.1:0");
    let url = &*server.url;
    let asks = home.windlass(["run", "--server", url, "asking", "What is 17% of 2350?"]);
    assert_eq!(asks.code, 75, "{asks:?}");
    let line = lines(&home.windlass(["runs", "list", "--server", url, "--json"]).stdout).remove(0);
    let (run, version) = (line["run"].as_str().unwrap(), line["events"].as_u64().unwrap());
    let preview = |at: u64| {
        format!(
            "from event {at} on, run {run} has another agent: instructions, examples or other settings of its file\n"
        )
    };
    let unknown = home.windlass(["runs", "resume", "--server", url, "last", "--with", "nobody"]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    let fork = home.windlass(["runs", "fork", "--server", url, run, "--at", "1", "--with", "brief"]);
    assert!(fork.stderr.contains(&preview(1)), "{fork:?}");
    let switched = home.windlass(["runs", "resume", "--server", url, run, "--with", "brief"]);
    assert_eq!(switched.code, 75, "{switched:?}");
    assert!(switched.stderr.contains(&preview(version)), "{switched:?}");
    // It is the run's agent from here on: to name it again changes nothing.
    let again = home.windlass(["runs", "resume", "--server", url, run, "--with", "brief"]);
    assert!(again.code == 75 && !again.stderr.contains("another agent"), "{again:?}");
    let refused = home.windlass(["runs", "answer", "--server", url, "--with", "brief", run, "q1", "approve"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains(&format!("`windlass runs resume --server {url} {run} --with AGENT`")),
        "{refused:?}"
    );
    let answer = home.windlass(["runs", "answer", "--server", url, run, "q1", "approve"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    // The same on a log.
    drop(server);
    let local = home.windlass(["runs", "fork", run, "--at", "1", "--with", "agents/brief.yaml"]);
    assert!(local.stderr.contains(&preview(1)), "{local:?}");
}

#[test]
fn a_wrong_token_a_dead_server_and_commands_of_a_log_are_refused_with_a_hint() {
    let home = home();
    let server = Served::start(&home, "127.0.0.1:0");
    let url = server.url.clone();
    let with = |name: &str, value: &str| -> End {
        finish(home.command(["runs", "list", "--server", &url]).env(name, value).spawn().unwrap())
    };
    let wrong = with("WINDLASS_TOKEN", "wl_none");
    assert_eq!(wrong.code, 1, "{wrong:?}");
    assert!(wrong.stderr.contains("hint: set WINDLASS_TOKEN"), "{wrong:?}");
    let by_environment = finish(home.command(["runs", "list"]).env("WINDLASS_SERVER", &url).spawn().unwrap());
    assert_eq!(by_environment.code, 0, "{by_environment:?}");
    for words in [["runs", "prune"], ["runs", "backup"], ["sessions", "delete"]] {
        let extra = if words == ["runs", "backup"] { vec!["copy.db"] } else { vec!["--older-than", "1d"] };
        let refused =
            finish(home.command(words.iter().chain(&extra).chain(&["--server", &url])).spawn().unwrap());
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("works on a log"), "{refused:?}");
    }
    let both = home.windlass(["runs", "list", "--server", &url, "--log", "x.db"]);
    assert_eq!(both.code, 2, "{both:?}");
    let file = home.windlass(["run", "--server", &url, "agents/guide.yaml", "hi"]);
    assert_eq!(file.code, 1, "{file:?}");
    assert!(file.stderr.contains("the server has: asking, guide"), "{file:?}");
    let model = home.windlass(["run", "--server", &url, "-m", "tour", "guide", "hi"]);
    assert_eq!(model.code, 2, "{model:?}");
    drop(server);
    let dead = home.windlass(["runs", "list", "--server", &url]);
    assert_eq!(dead.code, 69, "{dead:?}");
    assert!(dead.stderr.contains("hint: `windlass serve FOLDER` starts a server"), "{dead:?}");
}

/// The end of the README's tour: a chat through a server that is killed while the tool works.
#[test]
fn e51_a_chat_goes_on_through_the_kill_of_its_server_to_the_same_answer() {
    let home = home();
    let slow = include_str!("../../../../examples/slow.yaml").replace("sleep 20", "sleep 1");
    home.write("agents/slow.yaml", &slow);
    let server = Served::start(&home, "127.0.0.1:0");
    let url = server.url.clone();
    let undisturbed = home.windlass(["run", "--server", &url, "slow", "Which files are here?"]);
    assert_eq!(undisturbed.code, 0, "{undisturbed:?}");
    let mut chat = home.command(["chat", "--server", &url, "slow"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut typed = chat.stdin.take().unwrap();
    typed.write_all(b"Which files are here?\n").unwrap();
    let mut shown = BufReader::new(chat.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("-> list_files") {
        line.clear();
        assert_ne!(shown.read_line(&mut line).unwrap(), 0, "the tool is called");
    }
    let server = server.killed(&home);
    drop(typed);
    let chat = finish(chat);
    assert_eq!((chat.code, &chat.stdout), (0, &undisturbed.stdout), "{chat:?}");
    drop(server);
}

#[test]
fn e17_a_server_that_is_killed_while_a_run_is_shown_is_waited_for_and_nothing_is_shown_twice() {
    let home = home();
    let model =
        Server::start(vec![Reply::Pieces(vec!["Hello ", "lost"]), Reply::Pieces(vec!["Hello world"])]);
    home.write("agents/x.yaml", &model.agent());
    let server = Served::start(&home, "127.0.0.1:0");
    let url = server.url.clone();
    let run = home.command(["run", "--server", &url, "x", "hi", "--json"]).spawn().unwrap();
    model.requests.recv().unwrap();
    until("the run is listed", || {
        home.windlass(["runs", "list", "--server", &url]).stdout.contains("running")
    });
    let mut watch = home.command(["runs", "watch", "--server", &url, "last"]).spawn().unwrap();
    let mut first = [0; 4];
    watch.stderr.as_mut().unwrap().read_exact(&mut first).unwrap();
    let server = server.killed(&home);
    // The model that was asked before the death is let go of: the next one answers.
    model.go.send(()).unwrap();
    let run = finish(run);
    assert_eq!(run.code, 0, "{run:?}");
    let all = lines(&run.stdout);
    let seqs: Vec<u64> =
        all.iter().filter(|line| line["type"] == "event").map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "{run:?}");
    let mut text = String::new();
    for line in &all {
        match line["type"].as_str() {
            Some("text") => text.push_str(line["text"].as_str().unwrap()),
            Some("void") => text.clear(),
            _ => {}
        }
    }
    assert_eq!(text, "Hello world", "{run:?}");
    let watch = finish(watch);
    assert_eq!((watch.code, watch.stdout.as_str()), (0, "Hello world\n"), "{watch:?}");
    let local = home.windlass(["runs", "list", "--json"]);
    let remote = home.windlass(["runs", "list", "--json", "--server", &server.url]);
    assert_eq!(remote.stdout, local.stdout);
}

#[test]
fn a_signal_leaves_the_run_to_the_server_and_ctrl_c_cancels_it() {
    let home = home();
    let model =
        Server::start(vec![Reply::Pieces(vec!["Hello ", "world"]), Reply::Pieces(vec!["Hello ", "never"])]);
    home.write("agents/x.yaml", &model.agent());
    let server = Served::start(&home, "127.0.0.1:0");
    let url = &*server.url;
    let signalled = |signal: rustix::process::Signal| {
        let mut child = home.command(["run", "--server", url, "x", "hi"]).spawn().unwrap();
        model.requests.recv().unwrap();
        let mut begun = [0; 4];
        child.stderr.as_mut().unwrap().read_exact(&mut begun).unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        finish(child)
    };
    let left = signalled(rustix::process::Signal::TERM);
    assert_eq!(left.code, 143, "{left:?}");
    assert!(left.stderr.contains("goes on at the server"), "{left:?}");
    model.go.send(()).unwrap();
    let watched = home.windlass(["runs", "watch", "--server", url, "last"]);
    assert_eq!(watched.stdout, "Hello world\n", "{watched:?}");
    let cancelled = signalled(rustix::process::Signal::INT);
    assert_eq!(cancelled.code, 130, "{cancelled:?}");
    assert!(cancelled.stderr.contains("was cancelled"), "{cancelled:?}");
}

#[test]
fn stdin_and_attachments_go_to_the_server() {
    let home = home();
    let model = Server::start(vec![Reply::Pieces(vec!["Read."])]);
    home.write("agents/x.yaml", &model.agent());
    home.write("notes.txt", "seven");
    let server = Served::start(&home, "127.0.0.1:0");
    let mut child = home
        .command(["run", "--server", &server.url, "x", "-a", "notes.txt", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"What is in it?").unwrap();
    let end = finish(child);
    assert_eq!((end.code, end.stdout.as_str()), (0, "Read.\n"), "{end:?}");
    let asked = model.requests.recv().unwrap().to_string();
    assert!(asked.contains("What is in it?") && asked.contains("seven"), "{asked}");
}
