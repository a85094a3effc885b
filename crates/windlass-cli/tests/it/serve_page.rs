//! docs/serve.md: its commands are typed as they stand there, and its tables and listings say what is so.
//!
//! Two things are put in place of those of the page: a free port for 7400, and the ids of tokens and runs that the test has made. `.ci/service`
//! types the page's section on systemd.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use windlass_error::Kind;
use windlass_server::{Settings, Verb};

use crate::kit::{ASKING, End, Home};
use crate::pages::blocks;
use crate::served::Served;

const PAGE: &str = include_str!("../../../../docs/serve.md");

/// The part of the page under a heading, up to the next one.
fn section(heading: &str) -> &'static str {
    let rest =
        PAGE.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("there is no {heading}")).1;
    let end = rest.match_indices("\n#").map(|(at, _)| at).find(|at| !in_block(&rest[..*at]));
    &rest[..end.unwrap_or(rest.len())]
}

/// Whether a text ends within a fenced block.
fn in_block(text: &str) -> bool {
    text.matches("```").count() % 2 == 1
}

/// The blocks of a language under a heading.
fn blocks_of(language: &str, heading: &str) -> Vec<&'static str> {
    blocks(section(heading))
        .into_iter()
        .filter(|(other, _)| *other == language)
        .map(|(_, block)| block)
        .collect()
}

fn shell(heading: &str) -> Vec<&'static str> {
    blocks_of("sh", heading)
}

/// The first two cells of each row of the first table under a heading.
fn rows(heading: &str) -> Vec<[&'static str; 2]> {
    let lines = section(heading).lines().map(str::trim);
    let table =
        lines.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|')).skip(2);
    table
        .map(|line| {
            let mut cells = line.trim_start_matches('|').split('|').map(str::trim);
            [cells.next().unwrap(), cells.next().unwrap()]
        })
        .collect()
}

/// The words between backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// A home as the page has it in mind: Windlass's files are in the user's data folder, and the repository's examples are here.
struct Reader {
    home: Home,
    /// The lines that a shell runs before each command.
    told: String,
}

impl Reader {
    fn new() -> Self {
        let home = Home::new();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        std::os::unix::fs::symlink(examples, home.path("examples")).unwrap();
        Self { home, told: "set -e; unset WINDLASS_HOME".to_owned() }
    }

    fn types(&self, command: &str) -> End {
        self.home.typed(&self.home.path(""), &format!("{}\n{command}", self.told))
    }

    /// Types a command that succeeds, and gives what it shows.
    fn shown(&self, command: &str) -> String {
        let done = self.types(command);
        assert_eq!(done.code, 0, "{command}: {done:?}");
        done.stdout
    }

    fn json(&self, command: &str) -> Value {
        let shown = self.shown(command);
        serde_json::from_str(&shown).unwrap_or_else(|_| panic!("{command}: {shown}"))
    }

    /// The status of a reply to `curl` with these arguments and that token.
    fn status(&self, token: &str, arguments: &str) -> String {
        self.shown(&format!(
            "curl -sS -o body -w '%{{http_code}}' -H \"Authorization: Bearer {token}\" {arguments}"
        ))
    }

    /// Starts the server by a line of the page, at a free port, and does what its two lines say.
    fn serves(&mut self, line: &str) -> Served {
        let words = line.split_once(" #").map_or(line, |(command, _)| command).split_whitespace();
        let words = words.skip(1).chain(["--listen", "127.0.0.1:0"]);
        let mut command = self.home.command(words);
        command.env_remove("WINDLASS_HOME");
        let mut served = Served::of(&self.home, &mut command).unwrap();
        let token = served.line();
        let printed = format!("export WINDLASS_SERVER={}\n{token}", served.url);
        self.told += "\n";
        self.told += &printed;
        let home = self.home.path("").display().to_string();
        let shown =
            printed.replace(&served.url, "http://127.0.0.1:7400").replace(home.trim_end_matches('/'), "~");
        assert_eq!(shown, shell("## Start it")[1], "the page shows what the server prints");
        served
    }

    /// Begins as the page does.
    fn begins(&mut self) -> Served {
        let lines: Vec<_> = shell("## Start it")[0].lines().collect();
        let [makes, checks, serves] = lines[..] else { panic!("{lines:?}") };
        self.shown(makes);
        assert_eq!(self.shown(checks), "quickstart  tour\n");
        self.serves(serves)
    }
}

#[test]
fn the_first_commands_start_a_server_and_a_run_once() {
    let mut reader = Reader::new();
    let served = reader.begins();
    let ask = shell("## Ask it")[0];
    let first = reader.json(ask);
    assert_eq!(
        (&first["status"], &first["text"]),
        (&json!("answered"), &json!("17% of 2350 is 399.5.")),
        "{first}"
    );
    assert_eq!(reader.json(ask)["run"], first["run"], "the same command again");
    let status = |command: &str| reader.shown(&command.replace("-sS", "-sS -o body -w '%{http_code}'"));
    assert_eq!(status(&ask.replace("17%", "18%")), "409", "another request under the same key");
    let at_once = ask.replace(",\"wait_ms\":10000", "").replace("first", "second");
    assert_ne!(at_once, ask);
    assert_eq!(status(&at_once), "202", "without wait_ms");
    let end = served.stop(&reader.home);
    assert_eq!((end.code, end.stdout.as_str()), (0, ""), "two lines, and no more: {end:?}");
    assert!(section("## Start it").contains("listens on 127.0.0.1:7400"));
    assert_eq!(Settings::default().listen, ["127.0.0.1:7400".parse().unwrap()]);
}

#[test]
fn the_commands_for_tokens_make_change_and_take_back_tokens() {
    let mut reader = Reader::new();
    let served = reader.begins();
    reader.home.write("agents/clerk.yaml", "name: clerk\nmodel: tour\n");
    reader.shown("curl -sSf -X POST -H \"Authorization: Bearer $WINDLASS_TOKEN\" $WINDLASS_SERVER/v1/reload");
    let lines: Vec<_> = shell("## Who may do what")[0].lines().collect();
    let [ada, shop, list, rotate, revoke] = lines[..] else { panic!("{lines:?}") };
    let token = |shown: &str| shown.lines().last().unwrap().to_owned();
    let [ada, shop] = [ada, shop].map(|line| token(&reader.shown(line)));
    let listed = reader.shown(list);
    for words in ["ada", "laptop", "shop", "clerk", "start,read"] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    let start = |agent: &str, token: &str| {
        let body = json!({ "agent": agent, "input": "Hello", "wait_ms": 10_000 });
        let arguments = format!("-H 'Content-Type: application/json' -d '{body}' $WINDLASS_SERVER/v1/runs");
        (reader.status(token, &arguments), reader.home.read("body"))
    };
    let (status, body) = start("quickstart", &ada);
    assert_eq!(status, "201", "{body}");
    let run = serde_json::from_str::<Value>(&body).unwrap()["run"].as_str().unwrap().to_owned();
    let sees = |token: &str| reader.status(token, &format!("$WINDLASS_SERVER/v1/runs/{run}"));
    assert_eq!(
        (sees(&ada), sees(&shop), sees("$WINDLASS_TOKEN")),
        ("200".into(), "404".into(), "200".into())
    );
    assert_eq!(start("clerk", &shop).0, "201");
    assert_eq!(start("quickstart", &shop).0, "404", "an agent that the token is not for");
    assert_eq!(
        reader.status(&shop, "$WINDLASS_SERVER/metrics"),
        "403",
        "a verb that the token does not allow"
    );

    let id = ada.split('_').nth(1).unwrap();
    let rotated = token(&reader.shown(&rotate.replace("3f2a91bc", id)));
    assert_ne!(rotated, ada);
    assert_eq!((sees(&rotated), sees(&ada)), ("200".into(), "200".into()), "the old one ends tomorrow");
    let listed = reader.shown(&format!("{list} --json"));
    let listed: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |token: &str| {
        let id = token.split('_').nth(1).unwrap();
        listed.iter().find(|token| token["id"] == id).unwrap_or_else(|| panic!("{id}: {listed:?}"))
    };
    let (old, new) = (of(&ada), of(&rotated));
    let (rotated_at, old_ends) = (new["created_at"].as_u64().unwrap(), old["expires_at"].as_u64().unwrap());
    assert!(old_ends.abs_diff(rotated_at + 86_400_000) < 60_000, "{old} {new}");
    reader.shown(&revoke.replace("3f2a91bc", id));
    assert_eq!(
        (sees(&rotated), sees(&ada)),
        ("200".into(), "401".into()),
        "the old one is taken back at once"
    );
    assert_eq!(reader.status("", "$WINDLASS_SERVER/v1/runs"), "401");
    for open in ["/health", "/ready", "/openapi.json"] {
        assert_eq!(
            reader.shown(&format!("curl -sS -o body -w '%{{http_code}}' $WINDLASS_SERVER{open}")),
            "200"
        );
    }
    drop(served);
}

#[test]
fn a_copy_goes_on_with_its_runs_its_questions_and_its_tokens() {
    let mut reader = Reader::new();
    let first = reader.begins();
    reader.home.write("agents/asking.yaml", ASKING);
    reader.shown("curl -sSf -X POST -H \"Authorization: Bearer $WINDLASS_TOKEN\" $WINDLASS_SERVER/v1/reload");
    reader.shown(shell("## Ask it")[0]);
    let asks = reader.types("windlass run asking 'What is 17% of 2350?'");
    assert_eq!(asks.code, 75, "{asks:?}");
    let ada = reader.shown("windlass tokens create --owner ada 2>/dev/null");
    let ada = ada.trim();
    let listed = reader.shown("windlass runs list --json");

    // The last two blocks are for the unit: `.ci/service` types them.
    let [backup, restore, ..] = shell("### Back up and restore")[..] else { panic!("four blocks") };
    reader.shown(backup);
    // What comes after the copy is not in it.
    reader.shown("windlass run quickstart 'What is 2 + 5?'");
    drop(first);
    reader.shown("mv ~/.local/share/windlass lost");
    reader.shown(restore);
    reader.told = "set -e; unset WINDLASS_HOME".to_owned();
    let again = reader.serves("windlass serve agents");
    assert_eq!(reader.shown("windlass runs list --json"), listed);
    assert_eq!(reader.status(ada, "$WINDLASS_SERVER/v1/runs"), "200");
    assert_eq!(reader.shown("windlass runs answer last q1 approve 2>/dev/null"), "17% of 2350 is 399.5.\n");
    let mode =
        reader.shown("stat -c %a ~/.local/share/windlass/tokens.json ~/.local/share/windlass/server-token");
    assert_eq!(mode, "600\n600\n", "a copy is as closed as its original");
    drop(again);
}

#[test]
fn the_settings_for_a_proxy_let_its_name_in_and_believe_its_header() {
    let settings = blocks_of("yaml", "## Behind a proxy")[0];
    assert_eq!(settings.lines().next(), Some("# server.yaml, given with --config"));
    let home = Home::new();
    home.write("agents/guide.yaml", "name: guide\nmodel: tour\n");
    home.write("server.yaml", &settings.replace("127.0.0.1:7400", "127.0.0.1:0"));
    let mut command = home.command(["serve", "agents", "--config", "server.yaml"]);
    let served =
        Served::of(&home, command.env("WINDLASS_LOG", "info").arg("--socket").arg(home.path("s"))).unwrap();
    let post = |host: &str| {
        let line = format!(
            "curl -sS -o body -w '%{{http_code}}' -H 'Host: {host}' -H 'X-Forwarded-For: 192.0.2.7' \
             -H \"Authorization: Bearer $(cat home/server-token)\" -X POST {}/v1/reload",
            served.url
        );
        home.typed(&home.path(""), &line).stdout
    };
    assert_eq!((post("agents.example.com"), post("other.example")), ("200".into(), "421".into()));
    let said = served.stop(&home).stderr;
    let acts: Vec<&str> = said.lines().filter(|line| line.contains("windlass::audit")).collect();
    assert!(acts.iter().any(|line| line.contains("192.0.2.7") && line.contains("200")), "{said}");
}

#[test]
fn the_lines_for_nginx_are_those_of_its_file() {
    let shown = blocks_of("nginx", "## Behind a proxy")[0];
    let file = include_str!("../../../../packaging/nginx.conf");
    let plain = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect()
    };
    let (shown, file) = (plain(shown), plain(file));
    assert!(
        file.windows(shown.len()).any(|lines| lines == shown),
        "{shown:?} is not in packaging/nginx.conf"
    );
}

/// Each request of the table is an operation of the API's document, with the parameters that the table names.
#[test]
fn the_requests_of_the_table_are_in_the_document() {
    let document = windlass_server::openapi();
    let mut found = 0;
    for [_, requests] in rows("## Ask it") {
        let mut method = String::new();
        for request in code(requests) {
            let request = request.replace('…', "/v1/runs/RUN");
            let path = match request.split_once(' ') {
                Some((named, path)) if path.starts_with('/') => {
                    method = named.to_lowercase();
                    path
                }
                _ if request.starts_with('/') => &request,
                _ => continue,
            };
            let (path, query) = path.split_once('?').unwrap_or((path, ""));
            let path = path.replace("RUN", "{run}").replace("SHA256", "{sha256}");
            let operation = &document["paths"][&path][&method];
            assert!(operation.is_object(), "{method} {path} is not in the document");
            for name in
                query.split('&').filter_map(|pair| pair.split('=').next()).filter(|name| !name.is_empty())
            {
                let parameters = operation["parameters"].as_array().unwrap();
                assert!(parameters.iter().any(|parameter| parameter["name"] == name), "{path}?{name}");
            }
            found += 1;
        }
    }
    assert!(found >= 20, "{found}");
}

#[test]
fn the_verbs_reasons_and_kinds_are_all_that_there_are() {
    let verbs =
        section("## Who may do what").split("- **Verbs** are").nth(1).unwrap().split('.').next().unwrap();
    let all: Vec<&str> = Verb::ALL.iter().map(|verb| verb.name()).collect();
    assert_eq!(code(verbs).collect::<Vec<_>>(), all);

    let document = windlass_server::openapi();
    let named = |schema: &str| -> BTreeSet<String> {
        let schema = &document["components"]["schemas"][schema];
        let one_of = schema["oneOf"].as_array().into_iter().flatten().map(|variant| variant["const"].clone());
        let all: Vec<Value> =
            one_of.chain(schema["enum"].as_array().cloned().into_iter().flatten()).collect();
        all.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let first = |heading: &str| -> BTreeSet<String> {
        rows(heading).iter().map(|[first, _]| first.trim_matches('`').to_owned()).collect()
    };
    assert_eq!(first("### Follow a run"), named("EndReason"));
    let kinds: BTreeSet<String> = Kind::ALL.iter().map(|kind| kind.name().to_owned()).collect();
    assert_eq!(first("### Errors"), kinds);
}

#[test]
fn the_metrics_to_look_at_are_there() {
    let home = Home::new();
    home.write("agents/guide.yaml", "name: guide\nmodel: tour\n");
    home.write("server.yaml", "limits: { owner: { requests_per_minute: 1 } }\n");
    let arguments = ["serve", "agents", "--listen", "127.0.0.1:0", "--config", "server.yaml"];
    let served = Served::of(&home, &mut home.command(arguments)).unwrap();
    let asks = || home.windlass(["run", "--server", &served.url, "guide", "Hello"]);
    assert_eq!(asks().code, 0);
    let refused = asks();
    assert!(refused.code != 0 && refused.stderr.contains("requests"), "{refused:?}");
    let token = "-H \"Authorization: Bearer $(cat home/server-token)\"";
    let metrics = home.typed(&home.path(""), &format!("curl -sSf {token} {}/metrics", served.url)).stdout;
    let samples: BTreeSet<&str> =
        metrics.lines().filter_map(|line| Some(line.split_once(' ')?.0.trim_end_matches("_count"))).collect();
    let names: BTreeSet<&str> = samples.iter().filter_map(|sample| sample.split('{').next()).collect();
    for metric in rows("## Operate it").iter().flat_map(|[names, _]| code(names)) {
        let name = metric.split('{').next().unwrap();
        // Nothing has failed here: a reply with another status than 500 is as good.
        let is_there =
            if metric.contains("state=") { samples.contains(metric) } else { names.contains(name) };
        assert!(is_there, "{metric}: {metrics}");
    }
}
