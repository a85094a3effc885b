//! What people are told when something is wrong: one snapshot for each mistake.

use crate::kit::{Home, PLAIN, assert_end, until};
use crate::seat::Seat;

#[test]
fn no_command_gets_a_short_first_page() {
    let home = Home::new();
    let page = home.windlass([]);
    assert_end!(home, page);
    assert!(page.stdout.lines().all(|line| line.chars().count() <= 100), "{page:?}");
    assert_eq!(home.windlass(["--quiet"]).code, 2, "options without a question are a mistake");
    assert_eq!(home.windlass(["runs"]).code, 2);
    assert!(home.windlass(["help"]).stdout.contains("Exit codes:"));
    let asked = home.windlass_with([], "What is 2 + 3?");
    assert_eq!((asked.code, asked.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{asked:?}");
}

/// Each command of the first page can be typed, and no row is wider than the terminal.
#[test]
fn the_first_page_fits_a_narrow_terminal() {
    let home = Home::new();
    for columns in [40, 80] {
        let seat = Seat::sized(&home, &[], (columns, 30));
        seat.shows("windlass help");
        let page = seat.seen();
        assert!(page.lines().all(|line| line.chars().count() <= usize::from(columns)), "{page}");
        assert!(page.contains("windlass \"What is 17% of 2350?\""), "{page}");
        assert_eq!(seat.code(), 0);
    }
}

/// A narrow terminal shows no word of an error in two lines, and a command that fits a line in one. A pipe gets whole lines.
#[test]
fn errors_break_between_words_at_a_narrow_terminal() {
    let home = Home::new();
    let piped = |args: &[&str]| crate::kit::end(home.command(args).output().unwrap()).stderr;
    for args in [
        &["run", "an-agent/of-somebody.yaml", "hi"][..],
        &["models", "list", "zebra"],
        &["runs", "show", "nothing-of-that-name"],
        &["runs", "lisst"],
        &["chat", "--conntinue"],
    ] {
        let whole = piped(args);
        let seat = Seat::sized(&home, args, (40, 30));
        let seen = || seat.seen().replace('\r', "");
        until("all words are shown", || seen().split_whitespace().eq(whole.split_whitespace()));
        let seen = seen();
        // A command that is longer than a line stands alone, and is copied as one.
        let is_command = |line: &str| line.trim().starts_with('`') && line.ends_with('`');
        assert!(seen.lines().all(|line| line.chars().count() <= 40 || is_command(line)), "{seen}");
        let mut commands = whole.split('`').skip(1).step_by(2);
        assert!(commands.all(|command| seen.contains(command)), "{seen}");
    }
    assert!(piped(&["models", "list", "zebra"]).lines().any(|line| line.len() > 100), "a line is whole");
}

#[test]
fn an_unknown_option() {
    let home = Home::new();
    assert_end!(home, home.windlass(["run", "agent.yaml", "--modle", "tour", "hi"]));
}

/// A command that was given no file names one that is there, else an example.
#[test]
fn a_command_without_its_files_says_what_to_give_it() {
    let home = Home::new();
    for (args, example, path, hint) in [
        (
            &["test"][..],
            "such as `windlass test my-agent.test.yaml`",
            "tests/a.test.yaml",
            "hint: `windlass test tests` runs the cases in that folder\n",
        ),
        (
            &["agents", "check"],
            "such as `windlass agents check agents/*.yaml`",
            "agent.yaml",
            "hint: `windlass agents check agent.yaml` checks that file\n",
        ),
    ] {
        let typed = || crate::kit::end(home.command(args).output().unwrap());
        let said = typed();
        assert!(said.code == 2 && said.stderr.contains(example), "{said:?}");
        home.write(path, PLAIN);
        let said = typed();
        assert!(said.code == 2 && said.stderr.ends_with(hint), "{said:?}");
    }
    let said = home.windlass(["test", "--output", "a.yaml"]);
    assert!(said.code == 2 && !said.stderr.contains("hint:"), "another argument is missing: {said:?}");
}

#[test]
fn a_missing_file() {
    let home = Home::new();
    assert_end!(home, home.windlass(["run", "nowhere.yaml", "hi"]));
}

/// The nearest YAML file is named, else the one agent of the folder; what is near nothing names nothing.
#[test]
fn a_missing_file_beside_another_one() {
    let home = Home::new();
    home.write("shop/agent.yaml", "name: shop\nmodel: tour\ninstructions: ${NOT_SET_HERE}\n");
    home.write("kiosk/bot.yaml", "name: bot\nmodel: tour\n");
    home.write("shop/cases.yaml", "agent: agent.yaml\ncases: []\n");
    assert_end!(home, home.windlass(["run", "shop/shop.yaml", "hi"]));
    for (typed, meant) in [
        ("shop/agent.yml", "shop/agent.yaml"),
        ("shop/case.yaml", "shop/cases.yaml"),
        ("kiosk", "kiosk/bot.yaml"),
    ] {
        for command in [["chat", typed], ["run", typed], ["agents", "check"]] {
            let command =
                if command[0] == "agents" { vec!["agents", "check", typed] } else { command.to_vec() };
            let end = crate::kit::end(home.command(&command).output().unwrap());
            assert!(end.stderr.contains(&format!("hint: did you mean `{meant}`?")), "{command:?} {end:?}");
        }
    }
    home.write("shop/other.yaml", "name: other\nmodel: tour\n");
    let end = home.windlass(["run", "shop/zzz.yaml", "hi"]);
    assert!(!end.stderr.contains("did you mean") && end.stderr.contains("agents init"), "{end:?}");
}

/// A word that names a command falsely gets those that take the next word; a suggestion that is not near is left out.
#[test]
fn a_suggestion_is_near() {
    let home = Home::new();
    let hints = |line: &[&str]| crate::kit::end(home.command(line).output().unwrap()).stderr;
    assert!(hints(&["runn"]).contains("did you mean `windlass run` or `windlass runs`?"));
    assert!(hints(&["runn", "list"]).contains("did you mean `windlass runs list`?"));
    assert!(hints(&["runn", "a.yaml"]).contains("`windlass run a.yaml`"));
    let check = hints(&["agents", "chek"]);
    assert!(check.contains("'check'") && !check.contains("'schema'"), "{check}");
    let colour = hints(&["chat", "--color", "never"]);
    assert!(colour.contains("'--color'") && !colour.contains("tip:"), "{colour}");
    assert!(hints(&["chat", "--conntinue"]).contains("'--continue'"));
    let provider = hints(&["models", "list", "xyz"]);
    assert!(
        provider.contains("hint: the providers are openai,") && !provider.contains("did you mean"),
        "{provider}"
    );
    assert!(hints(&["models", "list", "opnai"]).contains("did you mean openai"));
}

#[test]
fn bad_yaml_with_its_line_and_column() {
    let home = Home::new();
    home.write("agent.yaml", "name: x\nmodel: [tour\n");
    assert_end!(home, home.windlass(["run", "agent.yaml", "hi"]));
}

#[test]
fn an_unknown_key_with_the_nearest_one() {
    let home = Home::new();
    home.write("agent.yaml", "name: x\ninstrutions: hi\n");
    assert_end!(home, home.windlass(["run", "agent.yaml", "hi"]));
}

#[test]
fn an_unknown_preset() {
    let home = Home::new();
    home.write("agent.yaml", "name: x\nloop: { preset: chta }\n");
    assert_end!(home, home.windlass(["run", "agent.yaml", "hi"]));
}

#[test]
fn a_missing_key() {
    let home = Home::new();
    home.write("agent.yaml", "name: x\nmodel: openai/gpt-5-mini\n");
    assert_end!(home, home.windlass(["run", "agent.yaml", "hi"]));
}

#[test]
fn an_unknown_provider() {
    let home = Home::new();
    home.write("agent.yaml", "name: x\nmodel: opnai/gpt-5-mini\n");
    assert_end!(home, home.windlass(["run", "agent.yaml", "hi"]));
}

#[test]
fn a_provider_without_its_key() {
    let home = Home::new();
    home.write("agent.yaml", "name: x\nmodel: anthropic/claude-sonnet-4-5\n");
    assert_end!(home, home.windlass(["run", "agent.yaml", "hi"]));
    let check = home.windlass(["agents", "check", "agent.yaml"]);
    assert_eq!(check.code, 0, "the file itself is good: {check:?}");
    let azure = home.windlass(["models", "check", "azure/m"]);
    assert!(azure.stderr.contains("AZURE_OPENAI_API_KEY or AZURE_API_KEY is not set"), "{azure:?}");
    let vertex = home.windlass(["models", "list", "vertex"]);
    assert!(vertex.stderr.contains("needs GOOGLE_CLOUD_PROJECT, which is not set"), "{vertex:?}");
}

#[test]
fn a_tool_server_that_is_too_slow_for_its_start_ms() {
    let home = Home::new();
    let server = "mcp: { name: files, start_ms: 60, command: [sh, -c, \"while :; do sleep 0.02; done\"] }";
    home.write("agent.yaml", &format!("name: x\nmodel: tour\ntools: [ {{ {server} }} ]\n"));
    assert_end!(home, home.windlass(["run", "agent.yaml", "hi"]));
}

#[test]
fn an_unreachable_model() {
    let home = Home::new();
    home.write(
        "agent.yaml",
        "name: x\nmodel: { use: openai/m, base_url: \"http://127.0.0.1:9/v1\" }\nretry: { retries: 0 }\n",
    );
    assert_end!(home, home.windlass(["run", "agent.yaml", "hi"]));
}

const NO_PYTHON: &str = "\
name: x
model: tour
tools: [ { service: { sandbox: { python: no-such-python, tools: [reset] } } } ]
";

#[test]
fn a37_a_service_that_cannot_be_set_up() {
    let home = Home::new();
    home.write("agent.yaml", NO_PYTHON);
    assert_end!(home, home.windlass(["run", "agent.yaml", "hi"]));
}

#[test]
fn a37_a_service_that_cannot_be_used() {
    let home = Home::new();
    home.write("agent.yaml", NO_PYTHON);
    assert_end!(home, home.windlass(["tools", "list", "agent.yaml"]));
}

#[test]
fn a37_a_call_of_a_service_that_cannot_be_set_up() {
    let home = Home::new();
    home.write("agent.yaml", NO_PYTHON);
    assert_end!(home, home.windlass(["tools", "call", "agent.yaml", "reset"]));
}

#[test]
fn a37_a_service_has_no_such_tool() {
    let home = Home::new();
    home.write("agent.yaml", "model: tour\ntools: [ { service: { memory: { tools: [serch] } } } ]\n");
    assert_end!(home, home.windlass(["run", "agent.yaml", "hi"]));
}

#[test]
fn a_tool_server_that_is_not_installed() {
    let home = Home::new();
    home.write(
        "agent.yaml",
        "name: x\nmodel: tour\ntools: [ { mcp: { name: files, command: [no-such-program] } } ]\n",
    );
    let end = home.windlass(["run", "agent.yaml", "hi"]);
    assert_eq!(end.code, 69, "{end:?}");
    assert!(end.stderr.starts_with("error: cannot use tool server `files`\n  caused by: "), "{end:?}");
}

#[test]
fn a_limit_that_does_not_exist() {
    let home = Home::new();
    assert_end!(home, home.windlass(["run", "agent.yaml", "--limit", "model_call=3", "hi"]));
}

#[test]
fn a_limit_that_is_no_number() {
    let home = Home::new();
    for limit in ["model_calls=many", "model_calls=-1", "model_calls=1.5", "model_calls"] {
        let end = home.windlass(["run", "agent.yaml", "--limit", limit, "hi"]);
        assert_eq!(end.code, 2, "{limit}: {end:?}");
    }
}

#[test]
fn runs_that_do_not_exist() {
    let home = Home::without_log();
    home.write("agent.yaml", PLAIN);
    assert_end!(home, home.windlass(["runs", "show", "last"]));
    assert_eq!(home.windlass(["run", "agent.yaml", "hi"]).code, 0);
    for (word, code) in [("12", 2), ("hello", 2), ("abcdef", 1), ("01234567-89ab-7cde-8f01-23456789abcd", 1)]
    {
        let end = home.windlass(["runs", "show", word]);
        assert_eq!(end.code, code, "{word}: {end:?}");
        assert!(end.stderr.starts_with("error: ") && end.stderr.contains("hint: "), "{end:?}");
    }
}

#[test]
fn a_log_that_is_none() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    home.write(
        "bad.db",
        "this is no database, but it is long enough to look like a file that somebody wrote",
    );
    let end = home.windlass(["run", "agent.yaml", "--log", "bad.db", "hi"]);
    assert_eq!(end.code, 70, "{end:?}");
    assert!(end.stderr.contains("error: ") && end.stderr.contains("hint: "), "{end:?}");
}

#[test]
fn e53_secrets_are_never_shown() {
    let home = Home::new();
    let secret = "sk-very-secret-4711";
    home.write(
        "agent.yaml",
        "name: x\nmodel: { use: openai/m, base_url: \"http://127.0.0.1:9/v1\", key: \"${KEY}\" }\nretry: { retries: 0 }\n\
         tools: [ { command: { name: leak, run: [sh, -c, \"echo $KEY; echo $KEY >&2; exit 1\"], env: { KEY: \"${KEY}\" }, effect: read_only } } ]\n",
    );
    let run = |args: &[&str]| {
        let out = home.command(args).env("KEY", secret).output().unwrap();
        format!("{}{}", String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap())
    };
    let mut all = run(&["run", "agent.yaml", "-v", "hi"]);
    all += &run(&["run", "agent.yaml", "--json", "hi"]);
    all += &run(&["runs", "show", "last", "-e"]);
    all += &run(&["runs", "export", "last"]);
    all += &run(&["tools", "call", "agent.yaml", "leak"]);
    all += &run(&["tools", "list", "agent.yaml", "--json"]);
    all += &run(&["agents", "check", "agent.yaml", "--json"]);
    all += &run(&["doctor"]);
    all += &run(&["doctor", "--all"]);
    assert!(all.contains("***"), "the tool said it, and it was masked: {all}");
    assert!(!all.contains(secret), "{all}");
    for file in ["home/log.db", "home/log.db-wal"] {
        let bytes = std::fs::read(home.path(file)).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{file}");
    }
}

#[test]
fn an_empty_input_is_refused_before_a_model_is_asked() {
    let home = Home::new();
    home.write("agent.yaml", crate::kit::PLAIN);
    let end = home.windlass(["run", "agent.yaml", ""]);
    assert_eq!((end.code, end.stdout.as_str()), (2, ""), "{end:?}");
    assert!(end.stderr.starts_with("error: the input is empty\nhint: give it after the file"), "{end:?}");
    assert!(!home.path("home/log.db").exists(), "a run was begun");
}

#[test]
fn a_provider_without_a_model_is_told_the_form_of_a_name() {
    let home = Home::new();
    let end = home.windlass(["-m", "ollama/", "Is it late?"]);
    assert_ne!(end.code, 0, "{end:?}");
    assert!(end.stderr.contains("write ollama/MODEL;"), "{end:?}");
}
