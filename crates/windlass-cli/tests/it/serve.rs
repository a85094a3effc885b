//! `windlass serve`: the signal that has it read its folder again.

use rustix::process::Signal;

use crate::kit::{Home, finish, until};
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
