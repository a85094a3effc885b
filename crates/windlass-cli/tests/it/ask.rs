//! `windlass "question"`: no command and no agent file.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::kit::{End, Home, PLAIN, assert_end, end, finish, hinted};
use crate::server::{Reply, Server};

/// The smallest bytes that are known as a PNG image.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";

/// A server that answers once, and the question's command with its model.
fn at(server: &Server, home: &Home, args: &[&str]) -> Command {
    let mut command = home.command(["-m", "openai/m"].iter().chain(args));
    command.env("OPENAI_API_KEY", "sk-no-real-key").env("OPENAI_BASE_URL", &server.url);
    command
}

/// What the model was sent as the user's message.
fn sent(server: &Server) -> Value {
    let request = server.requests.recv().unwrap();
    request["messages"].as_array().unwrap().last().unwrap().clone()
}

fn hello() -> Server {
    Server::start(vec![Reply::Pieces(vec!["Hello."])])
}

#[test]
fn a_question_goes_to_the_built_in_assistant() {
    let home = Home::new();
    assert_end!(home, home.windlass(["What is 2 + 3?"]));
    let last = home.last();
    assert_eq!((&last["summary"]["agent"], &last["status"]), (&json!("assistant"), &json!("answered")));
}

#[test]
fn a_model_and_a_session_are_options_of_a_question() {
    let (home, server) = (Home::new(), hello());
    let said = end(at(&server, &home, &["-q", "--session", "trip", "Say hello, please."]).output().unwrap());
    assert_eq!((said.code, said.stdout.as_str()), (0, "Hello.\n"), "{said:?}");
    assert_eq!(server.requests.recv().unwrap()["model"], "m");
    let next = home.windlass(["-q", "--session", "trip", "What is 2 + 3?"]);
    assert_eq!((next.code, next.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{next:?}");
    assert_eq!(home.last()["messages"].as_array().unwrap().len(), 6);
}

#[test]
fn words_after_dashes_are_a_question() {
    let home = Home::new();
    for (args, question) in
        [(&["--", "why"][..], "why"), (&["-q", "--", "runs"], "runs"), (&["--", "why", "so"], "why so")]
    {
        let end = end(home.command(args).output().unwrap());
        assert_eq!(end.code, 0, "{end:?}");
        assert_eq!(home.last()["messages"][0]["content"], question);
    }
}

#[test]
fn what_is_piped_in_comes_after_the_question_or_is_the_question() {
    let home = Home::new();
    let both = home.windlass_with(["-q", "What is 2 + 3?"], "some notes\nmore\n");
    assert_eq!((both.code, both.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{both:?}");
    assert_eq!(home.last()["messages"][0]["content"], "What is 2 + 3?\n\nsome notes\nmore");
    for alone in
        [home.windlass_with(["-q"], "What is 2 + 3?\n"), home.windlass_with(["-q", "-"], "What is 2 + 3?")]
    {
        assert_eq!((alone.code, alone.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{alone:?}");
    }
    let nothing = home.windlass_with(["-q", "What is 2 + 3?"], "");
    assert_eq!(nothing.code, 0, "{nothing:?}");
    assert_eq!(home.last()["messages"][0]["content"], "What is 2 + 3?");
    home.write("question.txt", "What is 3 + 3?");
    let file = std::fs::File::open(home.path("question.txt")).unwrap();
    let from_file = end(home.command(["-q"]).stdin(Stdio::from(file)).output().unwrap());
    assert_eq!(from_file.stdout, "3 + 3 is 6.\n");
}

#[test]
fn text_files_are_sent_with_the_question() {
    let (home, server) = (Home::new(), hello());
    home.write("notes/a.txt", "first\n");
    home.write("b.md", "second\n");
    let args = ["-q", "-a", "notes/a.txt", "--attach", "b.md", "What is in these?"];
    let said = end(at(&server, &home, &args).output().unwrap());
    assert_eq!((said.code, said.stdout.as_str()), (0, "Hello.\n"), "{said:?}");
    assert_eq!(
        sent(&server)["content"],
        "What is in these?\n<attachment name=\"a.txt\">\nfirst\n</attachment>\n\
         <attachment name=\"b.md\">\nsecond\n</attachment>"
    );
}

#[test]
fn images_are_sent_with_the_question_and_named_in_the_transcript() {
    let (home, server) = (Home::new(), hello());
    std::fs::write(home.path("cat.png"), PNG).unwrap();
    let said = end(at(&server, &home, &["-q", "-a", "cat.png", "What is this?"]).output().unwrap());
    assert_eq!(said.code, 0, "{said:?}");
    let image =
        json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgouLi4u" } });
    assert_eq!(sent(&server)["content"], json!([{ "type": "text", "text": "What is this?" }, image]));
    let shown = home.windlass(["runs", "show", "last"]).stdout;
    assert!(shown.contains("user: What is this?\n  [cat.png: image/png]\n"), "{shown}");
}

#[test]
fn documents_sound_addresses_and_ids_are_sent_as_the_api_says_them() {
    let home = Home::new();
    std::fs::write(home.path("paper.pdf"), b"%PDF-1.7").unwrap();
    std::fs::write(home.path("call.wav"), b"RIFF\x04\0\0\0WAVEfmt ").unwrap();
    let image = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    for (given, part) in [
        (
            "paper.pdf",
            json!({ "type": "file", "file": { "filename": "paper.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc=" } }),
        ),
        (
            "call.wav",
            json!({ "type": "input_audio", "input_audio": { "data": "UklGRgQAAABXQVZFZm10IA==", "format": "wav" } }),
        ),
        ("https://example.org/a/cat.PNG?w=9", image("https://example.org/a/cat.PNG?w=9")),
        ("image/webp=https://example.org/cat", image("https://example.org/cat")),
        ("application/pdf=id:file-7", json!({ "type": "file", "file": { "file_id": "file-7" } })),
    ] {
        let server = hello();
        let said = end(at(&server, &home, &["-q", "-a", given, "What is this?"]).output().unwrap());
        assert_eq!(said.code, 0, "{given}: {said:?}");
        assert_eq!(sent(&server)["content"][1], part, "{given}");
    }
}

#[test]
fn what_a_model_cannot_be_sent_is_refused_with_its_name() {
    let (home, server) = (Home::new(), hello());
    std::fs::write(home.path("clip.mp4"), b"\0\0\0\x18ftypisom....").unwrap();
    let film = end(at(&server, &home, &["-a", "clip.mp4", "What is this?"]).output().unwrap());
    assert!(
        film.code == 1 && film.stderr.contains("the file `clip.mp4` (video/mp4) cannot be sent to"),
        "{film:?}"
    );
    let pdf =
        end(at(&server, &home, &["-a", "https://example.org/a.pdf", "What is this?"]).output().unwrap());
    assert!(
        pdf.code == 1 && pdf.stderr.contains("(application/pdf) at an address cannot be sent"),
        "{pdf:?}"
    );
    assert!(server.requests.try_recv().is_err(), "nothing is sent");
    assert!(home.windlass(["runs", "list"]).stdout.trim().is_empty(), "no run begins");
    assert_end!(home, home.windlass(["-a", "https://example.org/cat", "What is this?"]));
}

/// A PDF of one page without a table of its objects.
const PDF: &str = "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n\
    2 0 obj << /Type /Pages /Count 1 /Kids [3 0 R] >> endobj\n\
    3 0 obj << /Type /Page /Parent 2 0 R /Resources << /Font << /F 4 0 R >> >> /Contents 5 0 R >> endobj\n\
    4 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj\n\
    5 0 obj << /Length 35 >> stream\nBT /F 12 Tf (Sales rose by 3.) Tj ET\nendstream endobj\n\
    trailer << /Root 1 0 R >>\n";

#[test]
fn a_pdf_is_sent_as_its_text_where_the_api_takes_none_and_a_line_says_so() {
    let (home, server) = (Home::new(), Server::start(vec![Reply::Refuses(400, "not today")]));
    let url = server.url.trim_end_matches("/v1");
    home.write("agent.yaml", &format!("name: a\nmodel: {{ use: ollama/qwen3, base_url: {url} }}\n"));
    home.write("report.pdf", PDF);
    home.write("locked.pdf", &format!("{PDF}trailer << /Root 1 0 R /Encrypt << /V 1 >> >>\n"));
    let locked = home.windlass(["run", "agent.yaml", "-a", "locked.pdf", "Sum it up."]);
    assert!(server.requests.try_recv().is_err(), "nothing is sent: {locked:?}");
    assert_end!(home, locked);
    let run = home.windlass(["run", "agent.yaml", "-a", "report.pdf", "Sum it up."]);
    let line = "report.pdf: sent as the text of its 1 page, since ollama/qwen3 takes no PDF";
    assert!(run.stderr.contains(line), "{run:?}");
    let content = sent(&server)["content"].to_string();
    assert!(content.contains("[page 1 of 1]\\nSales rose by 3."), "{content}");
    let shown = home.windlass(["runs", "show", "last"]).stdout;
    assert!(shown.contains("[report.pdf: application/pdf]"), "{shown}");
}

#[test]
fn what_is_piped_in_can_be_attached() {
    let (home, server) =
        (Home::new(), Server::start((0..2).map(|_| Reply::Pieces(vec!["Hello."])).collect()));
    home.write("agent.yaml", &server.agent());
    let run = ["run", "agent.yaml", "-q", "-a", "-", "What is this?"];
    assert_eq!(home.windlass_with(run, "some notes\n").code, 0);
    assert_eq!(
        sent(&server)["content"],
        "What is this?\n<attachment name=\"stdin\">\nsome notes\n</attachment>"
    );
    std::fs::write(home.path("cat.png"), PNG).unwrap();
    let piped = std::fs::File::open(home.path("cat.png")).unwrap();
    let question =
        end(at(&server, &home, &["-q", "-a", "-", "What is this?"]).stdin(piped).output().unwrap());
    assert_eq!(question.code, 0, "{question:?}");
    let content = sent(&server)["content"].clone();
    assert_eq!((&content[0]["text"], &content[1]["type"]), (&json!("What is this?"), &json!("image_url")));
    let image = std::fs::File::open(home.path("cat.png")).unwrap();
    assert_end!(home, end(home.command(["-q", "What is this?"]).stdin(image).output().unwrap()));
    assert_end!(home, home.windlass_with(["-a", "-"], "some notes\n"));
}

#[test]
fn an_agent_file_takes_attachments_too() {
    let (home, server) = (Home::new(), hello());
    home.write("agent.yaml", &server.agent());
    home.write("a.txt", "first\n");
    assert_eq!(home.windlass(["run", "agent.yaml", "-q", "-a", "a.txt", "What is this?"]).code, 0);
    assert_eq!(sent(&server)["content"], "What is this?\n<attachment name=\"a.txt\">\nfirst\n</attachment>");
}

#[test]
fn typed_input_has_no_attachments() {
    let home = Home::new();
    home.write("agent.yaml", "model: tour\ninput: { schema: { type: object } }\n");
    home.write("a.txt", "first\n");
    assert_end!(home, home.windlass(["run", "agent.yaml", "-a", "a.txt", "{}"]));
}

/// Tries to attach a file of that content.
fn attached(home: &Home, name: &str, content: &[u8]) -> End {
    std::fs::write(home.path(name), content).unwrap();
    home.windlass(["-a", name, "What is this?"])
}

#[test]
fn a_file_of_no_known_kind_is_refused() {
    let home = Home::new();
    assert_end!(home, attached(&home, "a.bin", b"\x00\x01\xff"));
    assert_end!(home, attached(&home, "none.txt", b""));
}

#[test]
fn an_attachment_that_cannot_be_read_is_an_error() {
    let home = Home::new();
    assert_end!(home, home.windlass(["-a", "nowhere.txt", "What is this?"]));
    std::fs::create_dir(home.path("notes")).unwrap();
    assert_end!(home, home.windlass(["-a", "notes", "What is this?"]));
}

#[test]
fn attachments_have_a_limit_together() {
    let home = Home::new();
    let mib = 1024 * 1024;
    home.write("half.txt", &"a".repeat(9 * mib));
    let end = home.windlass(["-a", "half.txt", "-a", "half.txt", "What is this?"]);
    assert_end!(home, end);
    let mut many = home.command(["What is this?"]);
    many.args(["-a", "small.txt"].repeat(33));
    let end = end_of(many);
    assert!(end.code == 2 && end.stderr.contains("33 attachments were given; the limit is 32"), "{end:?}");
}

fn end_of(mut command: Command) -> End {
    end(command.output().unwrap())
}

#[test]
fn a_word_that_is_no_command_is_refused() {
    let home = Home::new();
    assert_end!(home, home.windlass(["rusn"]));
    assert_end!(home, home.windlass(["why"]));
    assert_end!(home, home.windlass(["session", "list"]));
    assert_end!(home, home.windlass(["What", "is", "this?"]));
    assert_end!(home, home.windlass(["agent.yaml", "What is this?"]));
    assert_end!(home, home.windlass(["-m", "tour", "runs", "list"]));
    assert_end!(home, home.windlass([""]));
    assert_end!(home, home.windlass(["run", "What is this?"]));
    assert_eq!(home.windlass(["runs", "list"]).stdout, "", "nothing was asked");
}

/// The words behind one that is no command tell the command that is meant.
#[test]
fn a_mistyped_command_with_a_file_is_one_that_takes_a_file() {
    let home = Home::new();
    let said = home.windlass(["rnu", "agent.yaml", "hi"]);
    assert!(
        said.code == 2 && said.stderr.contains("hint: did you mean `windlass run agent.yaml hi`?\n"),
        "{said:?}"
    );
    let said = home.windlass(["rnus", "list"]);
    assert!(said.stderr.contains("hint: did you mean `windlass runs list`?\n"), "{said:?}");
}

#[test]
fn the_default_agent_is_set_shown_and_unset() {
    let home = Home::new();
    home.write("agents/helper.yaml", &PLAIN.replace("name: plain", "name: helper"));
    let shown = |args: &[&str]| end(home.command(["agents", "default"].iter().chain(args)).output().unwrap());
    assert_eq!(shown(&[]).stdout, "default agent: the built-in assistant\n");
    assert_end!(home, shown(&["agents/helper.yaml"]));
    assert_eq!(home.windlass(["-q", "What is 2 + 3?"]).stdout, "2 + 3 is 5.\n");
    assert_eq!(home.last()["summary"]["agent"], "helper");
    let value: Value = serde_json::from_str(&shown(&["--json"]).stdout).unwrap();
    assert_eq!(value["file"], home.path("agents/helper.yaml").display().to_string());
    assert!(home.windlass(["doctor", "--all"]).stdout.contains("agents/helper.yaml"));
    assert_eq!(shown(&["--unset"]).stdout, "default agent: the built-in assistant\n");
    assert!(home.windlass(["doctor", "--all"]).stdout.contains("default agent the built-in assistant"));
    let again = shown(&["--unset"]);
    assert!(again.code == 0 && again.stderr.contains("no default agent was set"), "{again:?}");
    assert_eq!(home.windlass(["What is 2 + 3?"]).code, 0);
    assert_eq!(home.last()["summary"]["agent"], "assistant");
}

#[test]
fn a_default_agent_that_cannot_be_used_is_said() {
    let home = Home::new();
    assert_end!(home, home.windlass(["agents", "default", "nowhere.yaml"]));
    home.write("helper.yaml", PLAIN);
    assert_eq!(home.windlass(["agents", "default", "helper.yaml"]).code, 0);
    std::fs::remove_file(home.path("helper.yaml")).unwrap();
    assert_end!(home, home.windlass(["What is 2 + 3?"]));
    let doctor = home.windlass(["doctor"]);
    assert!(doctor.code == 1 && doctor.stdout.contains("\ndefault agent: "), "{doctor:?}");
    home.write("home/settings.json", "{");
    assert_end!(home, home.windlass(["What is 2 + 3?"]));
}

#[test]
fn settings_of_a_later_version_stay() {
    let home = Home::new();
    home.write("home/settings.json", r#"{ "theme": "dark" }"#);
    home.write("helper.yaml", PLAIN);
    assert_eq!(home.windlass(["agents", "default", "helper.yaml"]).code, 0);
    assert_eq!(home.windlass(["agents", "default", "--unset"]).code, 0);
    let kept: Value = serde_json::from_str(&home.read("home/settings.json")).unwrap();
    assert_eq!(kept, json!({ "theme": "dark" }));
}

#[test]
fn a_question_is_resumed_without_a_file() {
    let home = Home::new();
    let cut = home.windlass(["--limit", "model_calls=1", "What is 2 + 3?"]);
    assert_eq!(cut.code, 124, "{cut:?}");
    let end = home.windlass(["runs", "resume", "last", "--limit", "model_calls=2"]);
    assert_eq!((end.code, end.stdout.as_str()), (0, "2 + 3 is 5.\n"), "{end:?}");
}

#[test]
fn a_question_that_is_cancelled_says_how_its_conversation_goes_on() {
    let (home, server) = (Home::new(), Server::start(vec![Reply::Pieces(vec!["Hel", "lo."])]));
    let child = at(&server, &home, &["Say hello, please."]).spawn().unwrap();
    sent(&server);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let cancelled = finish(child);
    assert_end!(home, cancelled);
    let end = hinted(&home, &cancelled, "");
    assert_eq!((end.code, home.last()["messages"][0]["content"].as_str()), (0, Some("Say hello, please.")));
}

#[test]
fn completions_know_the_options_of_a_question() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.windlass(["completions", shell]).stdout;
        assert!(script.contains("attach") && script.contains("sessions"), "{shell}");
    }
}

#[test]
fn an_open_silent_stdin_is_waited_for_with_a_word() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    for (args, begun) in [
        (&["What is 2 + 3?"][..], ""),
        (&["run", "agent.yaml"], "What is "),
        (&["-q", "What is 2 + 3?"], "so "),
    ] {
        let mut child = home.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(begun.as_bytes()).unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        stderr.read_line(&mut said).unwrap();
        assert!(said.contains("waiting for the end of the input on stdin"), "{said}");
        assert!(said.contains("</dev/null"), "{said}");
        stdin.write_all(b"2 + 3?").unwrap();
        drop(stdin);
        assert_eq!(finish(child).code, 0, "{args:?}");
    }
}
