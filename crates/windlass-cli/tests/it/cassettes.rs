//! `--record` and `--replay`: what was recorded is played back, and the first difference fails the run.

use serde_json::Value;

use crate::kit::{End, Home, sums};

const AGENT: &str = "\
name: helper
model: tour
instructions: Help.
tools: [{ builtin: calculate }]
";

/// Events of a run without what differs between two runs.
fn events(end: &End) -> Vec<String> {
    let lines = end.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let events = lines.filter(|line| line["type"] == "event").map(|mut line| {
        strip(&mut line);
        line.to_string()
    });
    events.collect()
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields
                .retain(|name, _| !["run", "at", "session", "took_ms", "deadline"].contains(&name.as_str()));
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

#[test]
fn a_recorded_run_is_played_back_with_the_same_events_and_a_changed_one_fails() {
    let home = Home::new();
    home.write("agent.yaml", AGENT);
    let question = "What is 17% of 2350?";
    let recorded = home.windlass(["run", "agent.yaml", "--json", "--record", "a.cassette", question]);
    assert_eq!(recorded.code, 0, "{recorded:?}");
    assert!(recorded.stdout.contains("399.5"), "{recorded:?}");
    let kept = home.read("a.cassette");
    assert_eq!(kept.lines().next(), Some(r#"{"windlass_cassette":1}"#), "{kept}");
    assert_eq!(kept.lines().count(), 3, "{kept}");

    let played = home.windlass(["run", "agent.yaml", "--json", "--replay", "a.cassette", question]);
    assert_eq!(played.code, 0, "{played:?}");
    assert!(events(&recorded).len() > 5, "{recorded:?}");
    assert_eq!(events(&played), events(&recorded));

    // Nothing is asked but the cassette: another reply in it is the run's answer.
    home.write("b.cassette", &kept.replace("399.5", "the recorded number"));
    let changed = home.windlass(["run", "agent.yaml", "--replay", "b.cassette", question]);
    assert_eq!(changed.code, 1, "{changed:?}");
    assert!(
        changed.stderr.contains("recorded \"") && changed.stderr.contains("the recorded number"),
        "{changed:?}"
    );

    let other = home.windlass(["run", "agent.yaml", "--replay", "a.cassette", "What is 18% of 2350?"]);
    assert_eq!(other.code, 1, "{other:?}");
    let words = "(a.cassette:2) at messages[1].content: recorded \"What is 17% of 2350?\", now \"What is 18% of 2350?\"";
    assert!(other.stderr.contains(words) && other.stderr.contains("hint: record anew"), "{other:?}");
}

#[test]
fn a_replay_needs_no_key_and_auto_is_what_it_was() {
    let home = Home::new();
    home.write("agent.yaml", "name: helper\ninstructions: Help.\n");
    home.write("keyed.yaml", "name: helper\nmodel: openai/gpt-5-mini\ninstructions: Help.\n");
    let recorded = home.windlass(["run", "agent.yaml", "--record", "a.cassette", "Who are you?"]);
    assert_eq!(recorded.code, 0, "{recorded:?}");
    let played = home.command(["run", "agent.yaml", "--replay", "a.cassette", "Who are you?"]);
    let played = crate::kit::end({ played }.env("OPENAI_API_KEY", "sk-nowhere").output().unwrap());
    assert_eq!((played.code, &played.stdout), (0, &recorded.stdout), "{played:?}");

    home.write(
        "b.cassette",
        &home.read("a.cassette").replace("\"name\":\"tour\"", "\"name\":\"openai/gpt-5-mini\""),
    );
    let keyed = home.windlass(["run", "keyed.yaml", "--replay", "b.cassette", "Who are you?"]);
    assert_eq!((keyed.code, &keyed.stdout), (0, &recorded.stdout), "{keyed:?}");
}

#[test]
fn a_conversation_is_recorded_turn_after_turn_and_must_be_played_to_its_end() {
    let home = Home::new();
    home.write("agent.yaml", AGENT);
    let said = "What is 2 + 5?\nWho are you?\n";
    let recorded = home.windlass_with(["chat", "agent.yaml", "--record", "a.cassette"], said);
    assert_eq!(recorded.code, 0, "{recorded:?}");
    let played = home.windlass_with(["chat", "agent.yaml", "--replay", "a.cassette"], said);
    assert_eq!((played.code, &played.stdout), (0, &recorded.stdout), "{played:?}");
    let shorter = home.windlass_with(["chat", "agent.yaml", "--replay", "a.cassette"], "What is 2 + 5?\n");
    assert_eq!(shorter.code, 1, "{shorter:?}");
    assert!(
        shorter.stderr.contains("a.cassette: 1 of 3 recorded exchanges were not asked for"),
        "{shorter:?}"
    );
}

#[test]
fn a_question_without_an_agent_file_is_recorded_and_played_back() {
    let home = Home::new();
    let recorded = home.windlass(["--record", "a.cassette", "What is 17% of 2350?"]);
    assert_eq!(recorded.code, 0, "{recorded:?}");
    let played = home.windlass(["--replay", "a.cassette", "What is 17% of 2350?"]);
    assert_eq!((played.code, &played.stdout), (0, &recorded.stdout), "{played:?}");
    let other = home.windlass(["--replay", "a.cassette", "What is 18% of 2350?"]);
    assert!(other.code == 1 && other.stderr.contains("differs from the recorded one"), "{other:?}");
}

#[test]
fn what_a_run_does_after_it_was_resumed_has_a_cassette_of_its_own() {
    let home = Home::new();
    home.write("agent.yaml", &format!("{AGENT}loop: {{ limits: {{ model_calls: 1 }}, at_limit: none }}\n"));
    let question = "What is 17% of 2350?";
    let resume = |option: &str| {
        let cut = home.windlass(["run", "agent.yaml", question]);
        assert_ne!(cut.code, 0, "{cut:?}");
        home.windlass(["runs", "resume", "last", "--limit", "model_calls=5", option, "rest.cassette"])
    };
    let recorded = resume("--record");
    assert!(recorded.code == 0 && recorded.stdout.contains("399.5"), "{recorded:?}");
    let kept = home.read("rest.cassette");
    assert_eq!(kept.lines().count(), 2, "the call that was left: {kept}");
    let played = resume("--replay");
    assert_eq!(played.code, 0, "{played:?}");
    home.write("rest.cassette", &kept.replace(question, "What is 18% of 2350?"));
    let differs = resume("--replay");
    assert!(differs.code == 1 && differs.stderr.contains("differs from the recorded one"), "{differs:?}");
    let all = home.windlass(["runs", "resume", "--all", "--replay", "rest.cassette"]);
    assert_eq!(all.code, 2, "{all:?}");
}

#[test]
fn a_batch_is_recorded_in_one_cassette() {
    let home = Home::new();
    home.write("agent.yaml", AGENT);
    home.write("queries.txt", "What is 2 + 5?\nWho are you?\n");
    let batch = |id: &str, option: &str| {
        let words = ["run", "agent.yaml", "--batch", "queries.txt", "--batch-id", id, option, "a.cassette"];
        home.windlass(words)
    };
    let recorded = batch("one", "--record");
    assert_eq!(recorded.code, 0, "{recorded:?}");
    assert_eq!(home.read("a.cassette").lines().count(), 4, "two calls for the sum, one for the question");
    let played = batch("two", "--replay");
    assert_eq!(played.code, 0, "{played:?}");
    let again = batch("two", "--replay");
    assert!(
        again.code == 1 && again.stderr.contains("were not asked for"),
        "nothing is left to ask: {again:?}"
    );
}

#[test]
fn files_that_cannot_be_used_say_why() {
    let home = Home::new();
    home.write("agent.yaml", AGENT);
    home.write("a.cassette", "{\"windlass_cassette\":1}\nhalf a li");
    let broken = home.windlass(["run", "agent.yaml", "--replay", "a.cassette", "Hi"]);
    assert_eq!(broken.code, 65, "{broken:?}");
    assert!(broken.stderr.starts_with("error: a.cassette:2: not an exchange of a cassette: "), "{broken:?}");
    let there = home.windlass(["run", "agent.yaml", "--record", "a.cassette", "Hi"]);
    assert_eq!(there.code, 65, "{there:?}");
    assert!(there.stderr.starts_with("error: cannot record to a.cassette: the file exists"), "{there:?}");
    let both = ["run", "agent.yaml", "--record", "b.cassette", "--replay", "a.cassette", "Hi"];
    assert_eq!(home.windlass(both).code, 2);
}

#[test]
fn offline_no_model_on_another_machine_is_asked() {
    let home = Home::new();
    home.write("agent.yaml", "name: helper\nmodel: openai/gpt-5-mini\ninstructions: Help.\n");
    let mut command = home.command(["run", "agent.yaml", "Who are you?"]);
    command.env("OPENAI_API_KEY", "sk-nowhere").env("WINDLASS_OFFLINE", "1");
    let refused = crate::kit::end(command.output().unwrap());
    assert_eq!(refused.code, 69, "{refused:?}");
    let words = "WINDLASS_OFFLINE forbids calls of models on other machines";
    assert!(
        refused.stderr.contains(words) && refused.stderr.contains("hint: unset WINDLASS_OFFLINE"),
        "{refused:?}"
    );
}

#[test]
fn a_scripted_conversation_plays_a_cassette_in_place_of_replies() {
    let home = Home::new();
    home.write("agent.yaml", AGENT);
    let question = "What is 17% of 2350?";
    let recorded = home.windlass(["run", "agent.yaml", "--record", "tests/a.cassette", question]);
    assert_eq!(recorded.code, 65, "there is no such folder: {recorded:?}");
    let case = |name: &str, cassette: &str, input: &str| {
        let text = format!(
            "name: {name}\nagent: ../agent.yaml\nmodel: {{ cassette: {cassette} }}\ninput: {input}\n\
             expect: {{ status: answered, text: {{ contains: '399.5' }}, model_calls: 2 }}\n"
        );
        home.write(&format!("tests/{name}.yaml"), &text);
        home.windlass_with(["test", &format!("tests/{name}.yaml"), "--crash"], "")
    };
    let missing = case("missing", "a.cassette", question);
    assert_eq!(missing.code, 1, "{missing:?}");
    assert!(missing.stdout.contains("cannot read cassette tests/a.cassette: "), "{missing:?}");
    let recorded = home.windlass(["run", "agent.yaml", "--record", "tests/a.cassette", question]);
    assert_eq!(recorded.code, 0, "{recorded:?}");
    let same = case("same", "a.cassette", question);
    assert_eq!((same.code, sums(&same)), (0, Some("1 passed, 0 failed")), "{same:?}");
    let other = case("other", "a.cassette", "What is 18% of 2350?");
    assert_eq!(other.code, 1, "{other:?}");
    let words =
        "model call 1 differs from line 2 of the cassette at messages[1].content: recorded \"What is 17%";
    assert!(other.stdout.contains(words), "{other:?}");
}
