//! Long work that is killed again and again: a run over files within a small context, code with many calls, and a batch.
//!
//! The sizes are small, so that the tests take seconds. `WINDLASS_FULL_SIZE=1` makes them whole: 300 turns, 200 calls, 50 queries.
//! `WINDLASS_NPM_PEERS` names a folder into which npm's file server was installed; without it the run over files has tools of its own.

use std::collections::BTreeMap;
use std::process::Child;

use serde_json::{Value, json};

use crate::brain::{Brain, Thought, latest, tokens};
use crate::kit::{Home, end, lines, until};

/// The context budget of the run over files, in tokens.
const BUDGET: usize = 8_000;
/// The rule that every request must hold.
const RULE: &str = "RULE 7: never guess what a file says.";
/// The run's input.
const TASK: &str = "Read the files one after the other, beginning with 000.txt.";

fn size(small: usize, full: usize) -> usize {
    if std::env::var_os("WINDLASS_FULL_SIZE").is_some() { full } else { small }
}

/// Kills a process as soon as something is so; `false`: it ended before.
fn kill_when(mut child: Child, what: &str, mut so: impl FnMut() -> bool) -> bool {
    let mut over = false;
    until(what, || {
        over = child.try_wait().unwrap().is_some();
        over || so()
    });
    if over {
        return false;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    true
}

/// Events of one kind, with their data.
fn events<'r>(run: &'r Value, kind: &str) -> Vec<&'r Value> {
    let events = run["events"].as_array().unwrap();
    events.iter().filter(|event| event["event"] == kind).map(|event| &event["data"]).collect()
}

/// How often each call has such an event.
fn by_call(run: &Value, kind: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for data in events(run, kind) {
        *counts.entry(data["call"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// Each call that was started has one result.
fn each_call_has_one_result(run: &Value) {
    let finished = by_call(run, "CallFinished");
    assert!(finished.values().all(|count| *count == 1), "{finished:?}");
    let started = by_call(run, "CallStarted");
    assert!(started.keys().all(|call| finished.contains_key(call)), "{started:?}\n{finished:?}");
}

/// The log is whole, and every decision of the run is made the same way again.
fn holds_together(home: &Home) {
    let replay = home.windlass(["runs", "replay", "last"]);
    assert_eq!(replay.code, 0, "{replay:?}");
}

/// The folder with the files, and the part of the agent file with their tools.
struct Files {
    tools: String,
    read: &'static str,
    journal: &'static str,
    npm: bool,
}

impl Files {
    fn make(home: &Home, turns: usize) -> Self {
        for number in 0..turns {
            let words = format!("word{number} ").repeat(1_200 / 8);
            home.write(
                &format!("files/{number:03}.txt"),
                &format!("file {number}\n{words}\nnext: {}\n", number + 1),
            );
        }
        home.write("files/journal.txt", "(end)\n");
        match std::env::var_os("WINDLASS_NPM_PEERS") {
            Some(folder) => Self::npm(&std::fs::canonicalize(folder).unwrap()),
            None => Self::own(home),
        }
    }

    /// npm's server, whose requests are copied into a file on their way.
    fn npm(folder: &std::path::Path) -> Self {
        let script = folder.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
        let command = format!("tee -a asked | exec node '{}' files", script.display());
        let tools = format!("  - mcp: {{ name: files, command: [sh, -c, \"{command}\"], trust: true }}\n");
        Self { tools, read: "files__read_text_file", journal: "files__edit_file", npm: true }
    }

    fn own(home: &Home) -> Self {
        home.program("note", "#!/bin/sh\nsed -i \"s/(end)/$1\\n(end)/\" files/journal.txt\necho written\n");
        let tools = "  - builtin: { read_file: { folders: [./files] } }\n  \
                     - command: { name: journal, run: [./note, \"{line}\"], effect: once }\n";
        Self { tools: tools.to_owned(), read: "read_file", journal: "journal", npm: false }
    }

    fn read_call(&self, number: usize) -> (String, Value) {
        (self.read.to_owned(), json!({ "path": format!("{number:03}.txt") }))
    }

    fn journal_call(&self, line: &str) -> (String, Value) {
        let edit = json!({ "oldText": "(end)", "newText": format!("{line}\n(end)") });
        let args = if self.npm {
            json!({ "path": "journal.txt", "edits": [edit] })
        } else {
            json!({ "line": line })
        };
        (self.journal.to_owned(), args)
    }

    /// A model that acts on what it sees: the next file is named in the last one, and every sixth file gets a line in the journal.
    fn brain(self, turns: usize) -> Brain {
        Brain::start(move |request| {
            if request.get("tools").is_none() {
                return Thought::Says(
                    "Files were read in order; the journal has a line for every sixth.".to_owned(),
                );
            }
            let results = latest(request);
            let next =
                results.iter().find_map(|text| text.rsplit_once("next: ")?.1.lines().next()?.parse().ok());
            let asked =
                request["messages"].as_array().unwrap().iter().any(|message| message["role"] == "assistant");
            match next {
                None if asked => Thought::Says(format!("I am lost: {results:?}")),
                None => Thought::Calls(vec![self.read_call(0)]),
                Some(next) if next >= turns => Thought::Says(format!("All {turns} files are read.")),
                Some(next) if next % 6 == 0 => {
                    Thought::Calls(vec![self.journal_call(&format!("line{next}")), self.read_call(next)])
                }
                Some(next) => Thought::Calls(vec![self.read_call(next)]),
            }
        })
    }
}

/// Answers a question about a call whose process died, by a look at the journal.
fn settle_doubt(home: &Home, run: &Value) {
    let question = &run["questions"][0];
    let id = question["id"].as_str().unwrap_or_else(|| panic!("no question: {run}"));
    let call = &question["call"];
    let started = events(run, "TurnCompleted").into_iter().filter_map(|turn| turn["calls"].as_array());
    let args = started.flatten().find(|open| open["id"] == *call).unwrap()["args"].to_string();
    let digits: String = args
        .split("line")
        .skip(1)
        .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect())
        .find(|digits: &String| !digits.is_empty())
        .unwrap();
    let written = home.read("files/journal.txt").lines().any(|line| line == format!("line{digits}"));
    let words: &[&str] = if written { &["result", "written"] } else { &["run_again"] };
    let mut command = home.command(["runs", "answer", "--leave", "last", id]);
    let answered = end(command.args(words).output().unwrap());
    assert_eq!(answered.code, 0, "{answered:?}");
}

fn files_agent(url: &str, tools: &str, compact: &str) -> String {
    format!(
        "name: reader\nmodel: {{ use: openai/m, base_url: \"{url}\" }}\ninstructions: \"{RULE}\"\ntools:\n{tools}\
         loop:\n  limits: {{ model_calls: 5000, tool_calls: 5000 }}\n  repetition: off\n  \
         context: {{ max_tokens: {BUDGET}, compact: {compact} }}\n"
    )
}

/// What every request of the run over files must hold.
fn requests_are_sound(requests: &[Value]) -> usize {
    let mut breaks = 0;
    let acts: Vec<&Value> = requests.iter().filter(|request| request.get("tools").is_some()).collect();
    let mut before: &[Value] = &[];
    for request in acts {
        let messages = request["messages"].as_array().unwrap();
        assert!(tokens(request) <= BUDGET, "{} tokens", tokens(request));
        assert!(messages[0]["role"] == "system" && messages[0]["content"].as_str().unwrap().contains(RULE));
        let told =
            messages.iter().filter(|message| message["role"] == "user" && message["content"] == TASK).count();
        assert_eq!(told, 1, "the task is there once");
        let calls: Vec<&Value> = messages
            .iter()
            .filter_map(|message| message["tool_calls"].as_array())
            .flatten()
            .map(|call| &call["id"])
            .collect();
        let results: Vec<&Value> = messages
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| &message["tool_call_id"])
            .collect();
        assert_eq!(calls, results, "each call has one result, in order");
        breaks += usize::from(!messages.starts_with(before));
        before = messages;
    }
    breaks
}

fn reads_files_through_kills(compact: &str, turns: usize) {
    let home = Home::new();
    let files = Files::make(&home, turns);
    let tools = files.tools.clone();
    let brain = files.brain(turns);
    home.write("agent.yaml", &files_agent(&brain.url, &tools, compact));
    let journal = home.path("files/journal.txt");
    let mut kills = 0;
    let mut child = home.start(["run", "agent.yaml", TASK]);
    loop {
        let (asked, written) = (brain.requests(), lines(&journal));
        // Between two turns, or in the middle of a call with an effect.
        let killed = match kills % 3 {
            0 => kill_when(child, "three turns", || brain.requests() >= asked + 3),
            1 => kill_when(child, "a line of the journal", || lines(&journal) > written),
            _ => kill_when(child, "five turns", || brain.requests() >= asked + 5),
        };
        kills += usize::from(killed);
        let run = home.last();
        match run["status"].as_str() {
            Some("suspended") => settle_doubt(&home, &run),
            _ if killed => {}
            _ => break,
        }
        child = home.start(["runs", "resume", "last"]);
    }
    let run = home.last();
    assert_eq!(
        (&run["status"], &run["text"]),
        (&"answered".into(), &format!("All {turns} files are read.").into())
    );
    assert!(kills >= turns / 10, "{kills} kills");
    let written: Vec<String> = home.read("files/journal.txt").lines().map(str::to_owned).collect();
    let mut expected: Vec<String> =
        (1..turns).filter(|number| number % 6 == 0).map(|number| format!("line{number}")).collect();
    expected.push("(end)".to_owned());
    assert_eq!(written, expected, "every line once");
    each_call_has_one_result(&run);
    let compacted = events(&run, "Compacted").len();
    assert!(compacted > 0, "nothing was compacted");
    assert_eq!(requests_are_sound(&brain.seen()), compacted, "only a compaction begins a new prefix");
    holds_together(&home);
}

#[test]
fn e30_a_run_over_files_keeps_its_budget_through_kills_when_results_are_dropped() {
    // Calls and notes stay: a run of some fifty such turns outgrows the budget all the same.
    reads_files_through_kills("drop_results", size(26, 40));
}

#[test]
fn e30_a_run_over_files_keeps_its_budget_through_kills_when_it_is_summed_up() {
    reads_files_through_kills("summarise", size(26, 300));
}

/// Half of the calls one after another, a payment that a person allows, and the other half ten at once.
fn code(calls: usize) -> String {
    let half = calls / 2;
    format!(
        "total = 0\nfor n in range({half}):\n    total += int(reading(n))\n\
         receipt = pay(total)\n\
         for first in range({half}, {calls}, 10):\n    \
         numbers = range(first, min(first + 10, {calls}))\n    \
         total += sum([int(value) for value in parallel(*[(\"reading\", n) for n in numbers])])\n\
         return {{\"total\": total, \"receipt\": receipt}}"
    )
}

fn code_agent(url: &str, calls: usize) -> String {
    let integer = "{ type: object, properties: { n: { type: integer } }, required: [n] }";
    format!(
        "name: coder\nmodel: {{ use: openai/m, base_url: \"{url}\" }}\ntools:\n  \
         - command: {{ name: reading, run: [./reading, \"{{n}}\"], effect: read_only, parameters: {integer} }}\n  \
         - command: {{ name: pay, run: [./pay, \"{{n}}\"], effect: once, parameters: {integer} }}\n\
         code: {{ enabled: true, calls: {} }}\nloop: {{ approve: [pay], limits: {{ tool_calls: 1000 }} }}\n",
        calls + 1
    )
}

#[test]
fn e30_e36_code_with_many_calls_goes_on_through_kills_and_an_approval() {
    let calls = size(60, 200);
    let home = Home::new();
    let leave = "#!/bin/sh\necho \"$WINDLASS_CALL $1\" >> ";
    home.program("reading", &format!("{leave} readings\necho $1\n"));
    home.program("pay", &format!("{leave} payments\necho paid $1\n"));
    let source = code(calls);
    let brain = Brain::start(move |request| match latest(request).first() {
        None => Thought::Calls(vec![("run_code".to_owned(), json!({ "code": source }))]),
        Some(result) => Thought::Says(result.clone()),
    });
    home.write("agent.yaml", &code_agent(&brain.url, calls));
    let readings = home.path("readings");
    let (half, input) = (calls / 2, "Add the readings.");
    let child = home.start(["run", "agent.yaml", input]);
    assert!(kill_when(child, "calls one after another", || lines(&readings) >= half / 2));
    let waits = home.windlass(["runs", "resume", "last"]);
    assert_eq!(waits.code, 75, "{waits:?}");
    assert_eq!(lines(&home.path("payments")), 0, "nothing is paid unasked");
    let child = home.start(["runs", "answer", "last", "q1", "approve"]);
    assert!(kill_when(child, "calls at once", || lines(&readings) >= half + half / 2));
    let done = home.windlass(["runs", "resume", "last"]);
    assert_eq!(done.code, 0, "{done:?}");
    let sum = |to: usize| (0..to).sum::<usize>();
    let result: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(result, json!({ "total": sum(calls), "receipt": format!("paid {}", sum(half)) }));
    assert_eq!(lines(&home.path("payments")), 1);
    let run = home.last();
    each_call_has_one_result(&run);
    let started = by_call(&run, "CallStarted");
    assert_eq!(started.len(), calls + 1);
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    for line in home.read("readings").lines() {
        *ran.entry(line.split(' ').next().unwrap().to_owned()).or_default() += 1;
    }
    assert_eq!(ran.len(), calls);
    let again = |call: &String| started[call];
    assert!(ran.iter().all(|(call, times)| *times <= again(call)), "{ran:?}\n{started:?}");
    let twice = ran.values().filter(|times| **times > 1).count();
    assert!(twice <= 11, "only calls that a kill cut ran again: {twice}");
    holds_together(&home);
}

#[test]
fn s25_a_batch_that_is_killed_again_and_again_answers_each_query_once() {
    let queries = size(10, 50);
    let home = Home::new();
    home.program("sum", "#!/bin/sh\necho $WINDLASS_IDEMPOTENCY_KEY >> keys\necho $(($1))\n");
    let tool = "{ name: calculate, run: [./sum, \"{expression}\"], description: Sums., effect: idempotent, \
                parameters: { type: object, properties: { expression: { type: string } }, required: [expression] } }";
    home.write("agent.yaml", &format!("name: adder\nmodel: tour\ntools:\n  - command: {tool}\n"));
    let text: Vec<String> = (1..=queries).map(|number| format!("What is {number} + 1?")).collect();
    home.write("queries.txt", &text.join("\n"));
    let keys = home.path("keys");
    let args = ["run", "agent.yaml", "--batch", "queries.txt", "--json"];
    let mut kills = 0;
    for part in 1..5 {
        let child = home.start(args);
        kills +=
            usize::from(kill_when(child, "a part of the queries", || lines(&keys) >= part * queries / 5));
    }
    assert!(kills >= 3, "{kills} kills");
    let done = home.windlass(args);
    assert_eq!(done.code, 0, "{done:?}");
    let values: Vec<Value> = done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ended: Vec<&Value> = values.iter().filter(|value| value["type"] == "query").collect();
    assert_eq!(ended.len(), queries, "each query once");
    for (number, query) in (1..).zip(&ended) {
        // One that had ended before is not told again.
        let (before, text) = (query["before"] == true, format!("{number} + 1 is {}.", number + 1));
        let status = if before { "answered (before)" } else { "answered" };
        assert_eq!((&query["query"], &query["status"]), (&number.to_string().into(), &status.into()));
        assert!(before || query["text"] == text.as_str(), "{query}");
    }
    let list = home.windlass(["runs", "list", "--limit", "1000", "--json"]).stdout;
    assert_eq!(list.lines().count(), queries, "a query that was cut goes on in its own run");
    let mut found: Vec<String> = home.read("keys").lines().map(str::to_owned).collect();
    let tries = found.len();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), queries, "a second try has the key of the first");
    assert!(tries - found.len() <= kills, "only a call that a kill cut ran again");
}
