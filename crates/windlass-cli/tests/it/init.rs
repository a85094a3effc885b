//! `windlass init`: each template runs and passes its tests at once, and nothing of the user's is lost.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::kit::{End, Home, end, sums};
use crate::seat::Seat;

const TEMPLATES: [&str; 4] = ["chat", "files", "extract", "team"];

/// A home with the template in the folder `made`.
fn made(template: &str) -> Home {
    let home = Home::new();
    let end = home.windlass(["init", "made", "--from", template]);
    assert_eq!(end.code, 0, "{end:?}");
    home
}

/// The files below a folder, by their paths in it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = vec![folder.to_owned()];
    while let Some(here) = next.pop() {
        for entry in std::fs::read_dir(here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                next.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// Whether a file's name ends so.
fn is(path: &str, ending: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == ending)
}

#[test]
fn each_template_is_sound_passes_its_tests_and_runs_as_it_says() {
    for template in TEMPLATES {
        let home = Home::new();
        let begun = home.windlass(["init", "a shop", "--from", template, "--json"]);
        let report: Value = serde_json::from_str(&begun.stdout).unwrap();
        let named: Vec<_> =
            report["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
        let mut listed: Vec<_> =
            named.iter().map(|path| path.strip_prefix("a shop/").unwrap().to_owned()).collect();
        listed.sort();
        assert_eq!(files(&home.path("a shop")), listed, "all files are listed");
        for path in named.iter().filter(|path| is(path, "yaml") && !path.contains("/tests/")) {
            let check = home.windlass(["agents", "check", path]);
            assert_eq!((check.code, check.stderr.as_str()), (0, ""), "no warning: {check:?}");
        }
        for path in named.iter().filter(|path| is(path, "sh")) {
            let mode = home.path(path).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o111, 0o111, "{path} can be run");
        }
        let test = home.windlass(["test", "a shop", "--crash"]);
        assert!(
            test.code == 0 && sums(&test).unwrap().ends_with(" passed, 0 failed"),
            "{template}: {test:?}"
        );
        // The page and the command say the same, and it can be typed.
        let page = home.read("a shop/README.md");
        assert!(page.starts_with("# a shop\n") && page.lines().count() <= 12, "{page}");
        let mut typed = 0;
        for line in page.lines().filter_map(|line| line.strip_prefix("    windlass ")) {
            let done = home.typed(&home.path("a shop"), &format!("windlass {line}"));
            assert_eq!(done.code, 0, "{template}: {line}: {done:?}");
            typed += 1;
        }
        assert!(typed >= 2, "{page}");
        for line in report["next"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()) {
            let done = if line.starts_with("cd ") {
                home.typed(&home.path(""), line)
            } else {
                home.typed(&home.path("a shop"), line)
            };
            assert_eq!(done.code, 0, "{template}: {line}: {done:?}");
        }
        let chat = home.windlass_with(["chat", "a shop/agent.yaml"], "Which documents are here?\n");
        assert_eq!(chat.code, 0, "{template}: {chat:?}");
    }
}

#[test]
fn what_the_tour_answers_comes_from_the_tools() {
    let home = made("chat");
    let said = home.windlass(["run", "made/agent.yaml", "-q", "Look up what delivery costs."]);
    assert!(said.stdout.starts_with("`look_up` says: Delivery: it costs 4.90 EUR"), "{said:?}");
    let home = made("files");
    let said = home.windlass(["run", "made/agent.yaml", "-q", "Which documents are here? Read owls.txt."]);
    assert!(
        said.stdout.contains("ferns.txt\nowls.txt") && said.stdout.contains("Owls hunt at night"),
        "{said:?}"
    );
    let home = made("extract");
    let said = home.windlass(["run", "made/agent.yaml", "-q", "Two desk lamps, please."]);
    let order: Value = serde_json::from_str(&said.stdout).unwrap();
    assert!(order["items"].is_array(), "{said:?}");
    let home = made("team");
    let said = home.windlass(["run", "made/agent.yaml", "-q", "Which documents are here?"]);
    assert!(said.stdout.contains("owls.txt"), "{said:?}");
}

/// A test that no mistake breaks would be none.
#[test]
fn the_tests_of_each_template_fail_where_the_agent_is_broken() {
    let broken = |template: &str, file: &str, change: &dyn Fn(&str) -> String| {
        let home = made(template);
        let before = home.read(&format!("made/{file}"));
        let after = change(&before);
        assert_ne!(before, after, "{template}/{file} is changed");
        std::fs::write(home.path(&format!("made/{file}")), after).unwrap();
        let test = home.windlass(["test", "made"]);
        assert_eq!(test.code, 1, "{template}/{file}: {test:?}");
    };
    let without = |words: &'static str| move |text: &str| text.replace(words, "");
    broken("chat", "look_up.sh", &|_| "#!/bin/sh\nexit 1\n".to_owned());
    broken("chat", "facts.txt", &without("4.90 EUR"));
    broken("chat", "agent.yaml", &without("calculate, "));
    broken("files", "agent.yaml", &without("approve: effects"));
    broken("files", "agent.yaml", &|text| text.replace("[./documents]", "[./tests]"));
    broken("extract", "find_article.sh", &|_| "#!/bin/sh\n".to_owned());
    broken("extract", "agent.yaml", &|text| {
        text.replace("quantity: { type: integer, minimum: 1 }", "quantity: {}")
    });
    broken("team", "writer.yaml", &without(", approve: effects"));
    broken("team", "researcher.yaml", &without(", read_file: { folders: [./documents] }"));
    broken("team", "agent.yaml", &without("./researcher.yaml, "));
}

#[test]
fn the_tools_keep_to_their_folder_and_say_what_they_refuse() {
    let home = made("files");
    let save = |args: &str| home.windlass(["tools", "call", "made/agent.yaml", "save_file", args]);
    assert_eq!(save(r#"{"file": "documents/a b.txt", "text": "- one\n- two"}"#).code, 0);
    assert_eq!(home.read("made/documents/a b.txt"), "- one\n- two\n");
    assert_eq!(save(r#"{"file": "owls.txt", "text": "new"}"#).code, 0);
    assert_eq!(home.read("made/documents/owls.txt"), "new\n");
    for file in ["../agent.yaml", "/etc/x", "documents/../agent.yaml", ".hidden", "", "documents/"] {
        let refused = save(&format!(r#"{{"file": "{file}", "text": "x"}}"#));
        assert!(refused.code != 0 && refused.stderr.contains("name a document"), "{file}: {refused:?}");
    }
    assert!(home.read("made/agent.yaml").starts_with("# An agent."));
    let home = made("chat");
    let look = |query: &str| {
        home.windlass(["tools", "call", "made/agent.yaml", "look_up", &format!(r#"{{"query": "{query}"}}"#)])
    };
    assert_eq!(look("RETURNS; * $(id)").stdout, "Returns: within 30 days, with the receipt.\n");
    assert_eq!(look("parking").stdout, "no fact has any of these words: parking\n");
    assert!(look("a b").stderr.contains("four letters"), "{:?}", look("a b"));
    std::fs::remove_file(home.path("made/facts.txt")).unwrap();
    assert_ne!(look("returns").code, 0, "a fault is no answer");
}

#[test]
fn nothing_is_written_over_without_force_and_all_or_nothing_is_written() {
    let home = Home::new();
    home.write("shop/README.md", "mine");
    home.write("shop/facts.txt", "mine, too");
    let refused = home.windlass(["init", "shop"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    for file in ["shop/README.md already exists", "shop/facts.txt already exists", "--force"] {
        assert!(refused.stderr.contains(file), "{file}: {refused:?}");
    }
    assert_eq!(files(&home.path("shop")), ["README.md", "facts.txt"]);
    assert_eq!(home.read("shop/README.md"), "mine");
    // A link that leads nowhere is somebody's, too.
    symlink(home.path("nowhere"), home.path("link.yaml")).unwrap();
    assert_eq!(home.windlass(["agents", "init", "link.yaml"]).code, 1);
    let forced = home.windlass(["init", "shop", "--force"]);
    assert_eq!(forced.code, 0, "{forced:?}");
    assert!(
        forced.stdout.contains("replaced shop/README.md") && forced.stdout.contains("wrote shop/agent.yaml"),
        "{forced:?}"
    );
    assert_eq!(home.windlass(["test", "shop"]).code, 0);
    let all = files(&home.path("shop"));
    assert!(all.iter().all(|file| !file.starts_with('.')), "nothing is left over: {all:?}");

    home.write("file", "");
    std::fs::create_dir_all(home.path("other/agent.yaml")).unwrap();
    for (place, words) in [
        ("file", "file is no folder"),
        ("file/below", "file is no folder"),
        ("other", "agent.yaml is a folder"),
    ] {
        for args in [&["init", place][..], &["init", place, "--force"]] {
            let refused = end(home.command(args).output().unwrap());
            assert!(refused.code == 1 && refused.stderr.matches(words).count() == 1, "{args:?}: {refused:?}");
        }
    }
    assert_eq!(files(&home.path("other")), [""; 0]);
}

/// The last folder cannot be made, whoever runs the test: its name is too long for the file system.
#[test]
fn a_failure_leaves_nothing_behind() {
    let home = Home::new();
    home.write("there/kept.txt", "kept");
    let long = format!("there/{}/{}", "a".repeat(200), "b".repeat(300));
    let failed = home.windlass(["init", &long]);
    assert!(failed.code == 1 && failed.stderr.contains("cannot be written"), "{failed:?}");
    assert_eq!(
        std::fs::read_dir(home.path("there")).unwrap().count(),
        1,
        "the folders that were made are gone"
    );
    assert_eq!(home.read("there/kept.txt"), "kept");
}

#[test]
fn any_name_that_can_be_seen_is_the_agents_name() {
    let home = Home::new();
    let begin = |args: &[&str]| end(home.command(["init"].iter().chain(args)).output().unwrap());
    for (at, name) in
        ["two words", "\"}; *rm* -rf ~", "книга 東京", "no", "12", "# x: {model}", "it's"].iter().enumerate()
    {
        let folder = format!("folder{at}");
        assert_eq!(begin(&[&folder, "--name", name]).code, 0);
        let check = home.windlass(["agents", "check", &format!("{folder}/agent.yaml"), "--json"]);
        let check: Value = serde_json::from_str(&check.stdout).unwrap();
        assert_eq!(check["name"], *name);
        assert_eq!(home.windlass(["test", &folder]).code, 0, "{name}");
        assert_eq!(
            home.windlass(["run", &format!("{folder}/agent.yaml"), "-q", "What is 2 + 3?"]).stdout,
            "2 + 3 is 5.\n"
        );
    }
    for name in ["", "  ", "a\nb", "a\tb", "a\u{1b}[31m", "a\u{202e}b", &"x".repeat(65)] {
        let refused = begin(&["refused", "--name", name]);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{name:?}: {refused:?}");
    }
    assert!(!home.path("refused").exists());
    // The folder's name, if it is one.
    let named = |folder: &str| -> Value {
        let begun = begin(&["--json", "--", folder]);
        serde_json::from_str::<Value>(&begun.stdout).unwrap_or_else(|_| panic!("{begun:?}"))["name"].clone()
    };
    assert_eq!(named("some shop"), "some shop");
    assert_eq!(named("some shop/../other/"), "other");
    assert_eq!(named("a\u{202e}b"), "assistant");
    let begun = begin(&["--", "-x"]);
    assert!(begun.stderr.contains("cd ./-x\n") && home.path("-x/agent.yaml").exists(), "{begun:?}");
    assert!(begin(&["it's"]).stderr.contains("cd 'it'\\''s'\n"));
}

#[test]
fn a_model_is_taken_if_it_can_be_one() {
    let home = Home::new();
    let begin = |folder: &str, model: &str| home.windlass(["init", folder, "--from", "team", "-m", model]);
    let without = begin("keyless", "openai/gpt-5-mini");
    assert_eq!(without.code, 0, "{without:?}");
    assert!(
        without
            .stderr
            .contains("the model needs OPENAI_API_KEY, which is not set: `export OPENAI_API_KEY=...`"),
        "{without:?}"
    );
    for file in ["agent", "researcher", "writer"] {
        assert!(
            home.read(&format!("keyless/{file}.yaml")).contains("\nmodel: openai/gpt-5-mini\n"),
            "{file}"
        );
    }
    assert_eq!(home.windlass(["test", "keyless"]).code, 0, "tests need no key");
    let wrong = begin("wrong", "opnai/gpt-5-mini");
    assert!(wrong.code == 2 && wrong.stderr.contains("did you mean openai"), "{wrong:?}");
    assert_eq!(begin("wrong", "openai/").code, 2);
    assert_eq!(begin("wrong", "").code, 2);
    assert_eq!(home.windlass(["init", "wrong", "--from", "cht"]).code, 2);
    assert!(!home.path("wrong").exists());
    assert_eq!(begin("offline", "tour").code, 0);
}

/// A new user learns that no language model answers, and what changes that: at the end of the command, and on the page.
#[test]
fn whose_answers_a_scripted_model_gives_is_told_what_changes_that() {
    for template in TEMPLATES {
        let home = Home::new();
        let begin = |folder: &str, variables: &[(&str, &str)], model: &[&str]| {
            let mut command = home.command(["init", folder, "--from", template].iter().chain(model));
            command.env_remove("WINDLASS_OFFLINE").envs(variables.iter().copied());
            let begun = end(command.output().unwrap());
            assert_eq!(begun.code, 0, "{begun:?}");
            (begun.stderr.lines().last().unwrap().to_owned(), home.read(&format!("{folder}/README.md")))
        };
        let (last, page) = begin("auto", &[], &[]);
        let change =
            "a scripted model and no language model: `export OPENAI_API_KEY=...`, or `ollama serve`, changes";
        assert!(last.contains(change), "{template}: {last}");
        let told =
            page.contains("*tour*, a scripted model, until `export OPENAI_API_KEY=...` or a local server");
        assert!(told && !page.contains("{answers}"), "{template}: {page}");
        let (last, _) = begin("offline", &[("WINDLASS_OFFLINE", "1")], &[]);
        assert!(
            last.contains("`unset WINDLASS_OFFLINE` and `export OPENAI_API_KEY=...`"),
            "{template}: {last}"
        );
        let (last, page) = begin("tour", &[], &["-m", "tour"]);
        assert!(last.contains("`model: auto` in `agent.yaml`") && last.ends_with(" changes that"), "{last}");
        assert!(page.contains("until `model: auto` or the name of a language model stands in"), "{page}");
        let team = "`agent.yaml`, `researcher.yaml` and `writer.yaml`";
        assert_eq!((last.contains(team), page.contains(team)), (template == "team", template == "team"));
        // What the page says is so: with the line changed, another model is asked.
        let agent = home.read("tour/agent.yaml").replace("\nmodel: tour\n", "\nmodel: auto\n");
        std::fs::write(home.path("tour/agent.yaml"), agent).unwrap();
        let check = home.windlass(["agents", "check", "tour/agent.yaml"]).stdout;
        assert!(check.contains("model auto, "), "{check}");
        for (folder, model) in [("key", &[][..]), ("named", &["-m", "openai/gpt-5-mini"])] {
            let (last, page) = begin(folder, &[("OPENAI_API_KEY", "sk-nothing-secret")], model);
            assert_eq!(last, "  windlass test tests", "a language model answers");
            assert_eq!(page.contains("Answers come from `openai/gpt-5-mini`"), folder == "named", "{page}");
        }
    }
    let home = Home::new();
    let report = home.windlass(["init", "shop", "--json"]).stdout;
    assert_eq!(serde_json::from_str::<Value>(&report).unwrap()["scripted"], true);
}

/// One line says which model was chosen, however many agents have it.
#[test]
fn a_team_says_once_which_model_it_has() {
    let home = made("team");
    let run = home.windlass(["run", "made/agent.yaml", "Which documents are here?"]);
    assert_eq!(run.stderr.matches("model: tour (").count(), 1, "{run:?}");
}

#[test]
fn without_a_terminal_nothing_is_asked() {
    let home = Home::new();
    let end: End = home.windlass_with(["init", "."], "never\nread\n");
    assert_eq!(end.code, 0, "{end:?}");
    assert!(home.path("agent.yaml").exists() && !end.stderr.contains('['), "{end:?}");
    assert!(end.stdout.lines().all(|line| line.starts_with("wrote ")), "{end:?}");
    let next = "next:\n  windlass run agent.yaml \"Look up what delivery costs.\"\n  windlass chat agent.yaml\n  windlass test tests\n";
    let (shown, scripted) = end.stderr.split_at(next.len());
    assert_eq!(shown, next);
    assert!(scripted.starts_with("answers come from the tour, a scripted model"), "{end:?}");
    assert!(home.read("agent.yaml").contains("\nmodel: auto\n"));
}

#[test]
fn without_a_folder_a_new_one_of_the_agents_name_is_made() {
    let home = Home::new();
    let begin = |args: &[&str]| end(home.command(["init"].iter().chain(args)).output().unwrap());
    let usual = begin(&[]);
    assert!(usual.code == 0 && usual.stderr.contains("  cd assistant\n"), "{usual:?}");
    assert!(home.read("assistant/agent.yaml").contains("\nname: assistant\n"));
    assert_eq!(begin(&["--name", "two words"]).code, 0);
    assert!(home.read("two words/agent.yaml").contains("\nname: \"two words\"\n"));
    assert_eq!(home.windlass(["test", "two words"]).code, 0);
    // A folder that is there is never written into unnamed, with or without the same files.
    home.write("mine/notes.txt", "mine");
    for name in ["assistant", "mine"] {
        let refused = begin(&["--name", name, "--force"]);
        assert!(refused.code == 1 && refused.stderr.contains("is already there"), "{refused:?}");
    }
    assert_eq!(files(&home.path("mine")), ["notes.txt"]);
    for name in ["a/b", "..", "/tmp", "./x", "x/"] {
        let refused = begin(&["--name", name]);
        assert!(
            refused.code == 2 && refused.stderr.contains("`windlass init DIR --name NAME`"),
            "{refused:?}"
        );
    }
    assert!(!home.path("agent.yaml").exists(), "the folder of the command stays as it was");
    let help = begin(&["--help"]).stdout;
    assert!(help.contains("`.` for this one") && help.contains("[default: a new one"), "{help}");

    let mut seat = Seat::start(&home, &["init", "--from", "chat", "-m", "auto"]);
    seat.expect("a new agent in a new folder of its name (`.` for this folder)");
    seat.expect("name [assistant]: ");
    seat.keys("\n");
    seat.expect("`assistant` is already there");
    seat.keys("shop\n");
    seat.expect("windlass test tests");
    assert_eq!(seat.code(), 0);
    assert!(home.read("shop/agent.yaml").contains("\nname: shop\n"));
    let mut seat = Seat::start(&home, &["init", "--from", "chat", "-m", "auto"]);
    seat.expect("name [assistant]: ");
    seat.keys(".\n");
    seat.expect("windlass test tests");
    assert_eq!(seat.code(), 0);
    assert!(home.path("agent.yaml").exists(), "this folder, as it was asked for");
}

#[test]
fn at_a_terminal_three_questions_are_asked() {
    let home = Home::new();
    let mut seat = Seat::start(&home, &["init", "shop"]);
    seat.expect("a new agent in shop; Enter takes what stands in brackets");
    seat.expect("name [shop]: ");
    seat.keys("two words\n");
    seat.expect("  extract  Makes data of a text");
    seat.expect("template [chat]: ");
    seat.keys("exract\n");
    seat.expect("did you mean extract?");
    seat.keys("extract\n");
    seat.expect("auto is tour here (no key and no local server: the offline tour)");
    seat.expect("model [auto]: ");
    seat.keys("nobody/x\n");
    seat.expect("unknown model provider `nobody`");
    seat.keys("\n");
    seat.expect("windlass test tests");
    assert_eq!(seat.code(), 0);
    let agent = home.read("shop/agent.yaml");
    assert!(agent.contains("\nname: \"two words\"\n") && agent.contains("\nmodel: auto\n"), "{agent}");
    assert!(home.path("shop/find_article.sh").exists());
}

#[test]
fn an_option_answers_its_question_and_the_end_of_input_writes_nothing() {
    let home = Home::new();
    let mut seat = Seat::start(&home, &["init", "shop", "--name", "x", "--from", "chat"]);
    seat.expect("model [auto]: ");
    assert!(!seat.seen().contains("name [") && !seat.seen().contains("template ["), "{}", seat.seen());
    seat.keys("\u{4}");
    seat.expect("nothing was written");
    assert_eq!(seat.code(), 130);
    let mut seat = Seat::start(&home, &["init", "shop"]);
    seat.expect("name [shop]: ");
    kill_process(Pid::from_child(&seat.child), Signal::INT).unwrap();
    assert_eq!(seat.ended(), 130);
    seat.expect("cancelled");
    assert!(!home.path("shop").exists(), "{}", seat.seen());
    let seat = Seat::start(&home, &["init", "shop", "--name", "x", "--from", "chat", "-m", "auto"]);
    seat.expect("windlass test tests");
    assert!(!seat.seen().contains("Enter takes"), "nothing is left to ask: {}", seat.seen());
    assert_eq!(seat.code(), 0);
}

/// Questions come only where an agent can be written.
#[test]
fn files_in_the_way_are_told_before_the_questions() {
    let home = Home::new();
    assert_eq!(home.windlass(["init", "shop"]).code, 0);
    let chat: &[&str] = &["init", "shop", "--from", "chat"];
    for (args, words) in [
        (&["init", "shop"][..], "nothing was written: 3 files are in the way"),
        (chat, "nothing was written: 5 files are in the way"),
    ] {
        let mut seat = Seat::start(&home, args);
        assert_eq!(seat.ended(), 1);
        seat.expect("overwrite files that are there with `--force`");
        let seen = seat.seen();
        assert!(seen.contains(words) && seen.contains("shop/README.md already exists"), "{seen}");
        assert!(!seen.contains("name [") && !seen.contains("template ["), "{seen}");
    }
    // Files of one template alone are told before the last question.
    home.write("other/facts.txt", "mine");
    let mut seat = Seat::start(&home, &["init", "other"]);
    seat.expect("name [other]: ");
    seat.keys("\n");
    seat.expect("template [chat]: ");
    seat.keys("\n");
    seat.expect("other/facts.txt already exists");
    assert!(!seat.seen().contains("model ["), "{}", seat.seen());
    assert_eq!(seat.code(), 1);
    // What may be replaced is in nobody's way.
    let mut seat = Seat::start(&home, &["init", "shop", "--force"]);
    seat.expect("name [shop]: ");
    seat.keys("\u{4}");
    assert_eq!(seat.code(), 130);
}
