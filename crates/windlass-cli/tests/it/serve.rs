//! `windlass serve`: its check of a folder, and the signal that has it read the folder again.

use rustix::process::Signal;
use serde_json::Value;

use crate::kit::{Home, assert_end, finish, until};
use crate::served::Served;
use crate::server::{Reply, Server};

const GUIDE: &str = "name: guide\nmodel: tour\n";

/// An agent whose tool waits for the file `go`.
fn waiter(model: &Server, words: &str) -> String {
    format!(
        "name: waiter\nmodel: {{ use: openai/m, base_url: \"{}\" }}\ninstructions: {words}\n\
         tools:\n  - command:\n      name: wait\n      run: [sh, -c, \"touch ../begun; until [ -e ../go ]; do sleep 0.02; done; echo gone\"]\n      \
         description: Waits.\n      parameters: {{ type: object, properties: {{}} }}\n      effect: read_only\n",
        model.url
    )
}

#[test]
fn e71_sighup_offers_new_files_keeps_broken_ones_as_they_were_and_leaves_runs_their_agents() {
    let call = || Reply::Call("wait".to_owned(), "{}".to_owned());
    let done = |words| Reply::Pieces(vec![words]);
    let model = Server::start(vec![call(), done("The first."), call(), done("The second.")]);
    let home = Home::new();
    home.write("agents/guide.yaml", GUIDE);
    home.write("agents/gone.yaml", "name: gone\nmodel: tour\n");
    home.write("agents/waiter.yaml", &waiter(&model, "Old words."));
    let server = Served::start(&home, "127.0.0.1:0");
    let ask = |agent: &str| {
        home.command(["run", "--server", &server.url, agent, "What is 2 + 5?"]).spawn().unwrap()
    };
    let asked = || model.requests.recv().unwrap().to_string();
    let run = ask("waiter");
    assert!(asked().contains("Old words."));
    until("its tool has begun", || home.path("begun").exists());

    home.write("agents/new.yaml", "name: new\nmodel: tour\n");
    home.write("agents/guide.yaml", "name: guide\nmodel: [\n");
    home.write("agents/waiter.yaml", &waiter(&model, "New words."));
    std::fs::remove_file(home.path("agents/gone.yaml")).unwrap();
    server.signal(Signal::HUP);
    Served::until_said(&home, "added [new], changed [waiter], removed [gone]");
    Served::until_said(&home, "agents/guide.yaml stays as it was: ");
    for agent in ["new", "guide"] {
        let end = finish(ask(agent));
        assert_eq!(end.code, 0, "{agent}: {end:?}");
    }
    let gone = finish(ask("gone"));
    assert!(gone.code == 1 && gone.stderr.contains("the server has: guide, new, waiter"), "{gone:?}");

    home.write("go", "");
    let end = finish(run);
    assert_eq!((end.code, end.stdout.as_str()), (0, "The first.\n"), "{end:?}");
    let request = asked();
    assert!(request.contains("Old words.") && !request.contains("New words."), "{request}");
    let end = finish(ask("waiter"));
    assert_eq!((end.code, end.stdout.as_str()), (0, "The second.\n"), "{end:?}");
    let request = asked();
    assert!(request.contains("New words.") && !request.contains("Old words."), "{request}");

    // A folder that cannot be read changes nothing, either.
    std::fs::rename(home.path("agents"), home.path("elsewhere")).unwrap();
    server.signal(Signal::HUP);
    Served::until_said(&home, "the agent files were not read again: ");
    assert_eq!(finish(ask("new")).code, 0);
    assert_eq!(server.stop(&home).code, 0);
}

/// A folder in which each file has another fault, or none.
fn faulty() -> Home {
    let home = Home::new();
    home.write("agents/guide.yaml", GUIDE);
    home.write("agents/again.yml", GUIDE);
    home.write("agents/kept-back.yaml", "name: kept-back\nmodel: tour\nserve: false\n");
    home.write("agents/below/delegate.yaml", "name: delegate\nmodel: tour\n");
    home.write("agents/notes.txt", "name: notes\nmodel: tour\n");
    let local = "base_url: \"http://127.0.0.1:9/v1\"";
    home.write("agents/no-key.yaml", "name: no-key\nmodel: openai/gpt-5-mini\n");
    home.write("agents/no-model.yaml", "name: no-model\nmodel: nobody/nothing\n");
    home.write(
        "agents/no-variable.yaml",
        &format!("name: x\nmodel: {{ use: openai/m, {local}, key: \"${{SHOP_KEY}}\" }}\n"),
    );
    home.write("agents/no-yaml.yaml", "name: [\n");
    home
}

#[test]
fn a_check_says_what_would_be_offered_and_what_is_missing() {
    let home = faulty();
    assert_end!(home, home.windlass(["serve", "agents", "--check"]));
    let json = home.windlass(["serve", "agents", "--check", "--json"]);
    assert_eq!(json.code, 65, "{json:?}");
    let checked: Value = serde_json::from_str(&json.stdout).unwrap();
    let names: Vec<_> = checked["agents"].as_array().unwrap().iter().map(|agent| &agent["name"]).collect();
    assert_eq!(names, ["guide"], "{checked}");
    let failed: Vec<_> = checked["failed"].as_array().unwrap().iter().map(|file| &file["file"]).collect();
    assert_eq!(
        failed,
        [
            "agents/guide.yaml",
            "agents/no-key.yaml",
            "agents/no-model.yaml",
            "agents/no-variable.yaml",
            "agents/no-yaml.yaml"
        ],
        "{checked}"
    );
    // The same folder is not served.
    assert_end!(home, home.windlass(["serve", "agents", "--listen", "127.0.0.1:0"]));
}

#[test]
fn a_check_of_a_good_folder_ends_with_0_and_writes_and_listens_on_nothing() {
    let home = Home::new();
    home.write("agents/guide.yaml", GUIDE);
    let server = Served::start(&home, "127.0.0.1:0");
    let listen = server.url.trim_start_matches("http://");
    let mut check = home.command(["serve", "agents", "--check", "--listen", listen]);
    let end = finish(check.env("WINDLASS_HOME", home.path("nowhere")).spawn().unwrap());
    assert_eq!((end.code, end.stdout.as_str()), (0, "guide  tour\n"), "{end:?}");
    assert!(!home.path("nowhere").exists());
}

#[test]
fn a_check_says_why_nothing_would_be_offered() {
    let home = Home::new();
    std::fs::create_dir(home.path("agents")).unwrap();
    assert_end!(home, home.windlass(["serve", "agents", "--check"]));
    assert_end!(home, home.windlass(["serve", "nowhere", "--check"]));
    home.write("server.yaml", "heartbeat: 500\n");
    assert_end!(home, home.windlass(["serve", "agents", "--check", "--config", "server.yaml"]));
    home.write("server.yaml", "limits: { at_once: 0 }\n");
    assert_end!(home, home.windlass(["serve", "agents", "--check", "--config", "server.yaml"]));
}

#[test]
fn the_doctor_says_whether_a_server_works_and_lets_one_in() {
    let home = Home::new();
    home.write("agents/guide.yaml", GUIDE);
    let server = Served::start(&home, "127.0.0.1:0");
    let url = server.url.clone();
    let doctor = |token: &str, args: &[&str]| {
        let mut command = home.command(["doctor", "--server", &url].iter().chain(args));
        let output = command.env("WINDLASS_TOKEN", token).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let token = std::fs::read_to_string(home.path("home/server-token")).unwrap();
    let (code, said) = doctor(&token, &[]);
    assert_eq!((code, said.as_str()), (Some(0), "the server works, and lets you in\n"));
    let (code, said) = doctor(&token, &["--all"]);
    let first = |said: &str| -> Vec<String> {
        said.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    let all = ["ok server", "ok append", "ok read", "ok tokens", "ok supervisor", "ok access"];
    assert_eq!((code, first(&said)), (Some(0), all.map(str::to_owned).to_vec()), "{said}");
    assert!(said.ends_with("agents: guide\n"), "{said}");
    let (code, said) = doctor("wl_00000000_x", &["--all"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("problem  access") && said.contains("hint: set WINDLASS_TOKEN"), "{said}");
    let (code, said) = doctor("wl_00000000_x", &[]);
    assert_eq!((code, said.lines().count()), (Some(1), 2), "{said}");
    assert!(
        said.starts_with("1 thing is wrong\naccess: ") && said.contains(" · set WINDLASS_TOKEN"),
        "{said}"
    );
    std::fs::write(home.path("home/tokens.json"), "{").unwrap();
    // What `/ready` has said stands for half a second.
    until(
        "the tokens are found unreadable",
        || matches!(doctor(&token, &["--all"]), (Some(1), said) if said.contains("problem  tokens")),
    );
    drop(server);
    let (code, said) = doctor(&token, &["--all"]);
    assert_eq!((code, said.lines().count()), (Some(1), 2), "{said}");
    assert!(said.starts_with("problem  server"), "{said}");
}

#[test]
fn tokens_that_nobody_could_use_are_not_made() {
    let home = Home::new();
    for slip in [["--owner", ""], ["--agent", ""], ["--expires", "0s"]] {
        let refused = home.windlass(["tokens", "create", slip[0], slip[1]]);
        assert_eq!((refused.code, &*refused.stdout), (2, ""), "{slip:?}: {refused:?}");
    }
    assert_eq!(home.windlass(["tokens", "list", "--json"]).stdout, "");
    let made: Value =
        serde_json::from_str(&home.windlass(["tokens", "create", "--expires", "30d", "--json"]).stdout)
            .unwrap();
    let id = made["id"].as_str().unwrap();
    let rotated = home.windlass(["tokens", "rotate", id, "--expires", "1d", "--json"]);
    let rotated: Value = serde_json::from_str(&rotated.stdout).unwrap();
    let days = |token: &Value| {
        let ms = token["expires_at"].as_u64().unwrap() - token["created_at"].as_u64().unwrap();
        (ms as f64 / 86_400_000.0).round() as u64
    };
    assert_eq!((days(&made), days(&rotated)), (30, 1), "{made} {rotated}");
}

#[test]
fn a_chat_with_an_agent_that_the_server_does_not_have_says_so_before_the_first_word() {
    let home = Home::new();
    home.write("agents/guide.yaml", GUIDE);
    let server = Served::start(&home, "127.0.0.1:0");
    let refused = home.windlass(["chat", "--server", &server.url, "nosuch"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.stderr.contains("there is no agent `nosuch` here"), "{refused:?}");
}
