//! Credentials of a process, in front of models and tools that repeat them (E53).

use std::process::Command;

use crate::kit::Home;
use crate::server::{Reply, Server};

const KEY: &str = "sk-usual-0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdef";
const PATH_TOKEN: &str = "path-token/0123456789";
const TOOL_TOKEN: &str = "tool-token-0123456789";

/// What must be nowhere: a piece of each, in the forms in which it was said.
const LEAKS: [&str; 7] = [
    "usual-0123456789abcdef",
    // The middle of the key in base64, and in hexadecimal.
    "aWprbG1ub3BxcnN0dXZ3eHl6",
    "Z2hpamtsbW5vcHFyc3R1dnd4",
    "6a6b6c6d6e6f707172737475767778",
    "0123456789abcdefghijklm",
    "token/0123456789",
    "tool-token-0123",
];

fn clean(what: &str, text: &str) {
    for leak in LEAKS {
        assert!(!text.contains(leak), "{what} has {leak}: {text}");
    }
}

/// A tool that says all it can find out about its parent, a model server that repeats the key in pieces.
#[test]
fn e53_the_usual_key_is_masked_wherever_a_tool_or_model_says_it() {
    let home = Home::new();
    let (one, two) = KEY.split_at(20);
    let server = Server::start(vec![
        Reply::Call("leak".to_owned(), format!("{{\"text\": \"{KEY}\"}}")),
        Reply::Pieces(vec!["your key is ", one, two, "."]),
        Reply::Refuses(401, Box::leak(format!("Incorrect API key provided: {KEY}").into_boxed_str())),
    ]);
    home.write(
        "agent.yaml",
        r#"
name: x
model: openai/m
retry: { retries: 0 }
tools:
  - command:
      name: leak
      run: [sh, -c, 'tr "\\0" "\\n" < /proc/$PPID/environ; k=$(tr "\\0" "\\n" < /proc/$PPID/environ | sed -n s/^OPENAI_API_KEY=//p); printf %s "$k" | base64; printf "user:$k" | base64 -w 0; printf %s "$k" | od -An -v -tx1 | tr -d " \\n"; echo $T']
      env: { T: "${TOOL_TOKEN}" }
      parameters: { type: object, properties: { text: { type: string } } }
      effect: read_only
"#,
    );
    let with_keys = |command: &mut Command| {
        command
            .env("OPENAI_API_KEY", KEY)
            .env("OPENAI_BASE_URL", &server.url)
            .env("TOOL_TOKEN", TOOL_TOKEN)
            .env("WINDLASS_LOG", "trace");
        let out = command.output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
    };
    // Each piece but the first waits for a word.
    for _ in 0..3 {
        server.go.send(()).unwrap();
    }
    let ran = with_keys(&mut home.command(["run", "agent.yaml", "-v", "hi"]));
    assert!(ran.contains("your key is ***."), "{ran}");
    clean("the run", &ran);
    // The provider was sent the key, in its header and nowhere else.
    for body in server.requests.try_iter() {
        clean("a request", &body.to_string());
    }
    for head in server.heads.try_iter() {
        assert!(head.contains(&format!("authorization: bearer {KEY}")), "{head}");
    }
    clean("a failure", &with_keys(&mut home.command(["run", "agent.yaml", "--json", "again"])));
    let called = with_keys(&mut home.command(["tools", "call", "agent.yaml", "leak"]));
    assert!(called.contains("OPENAI_API_KEY=***"), "{called}");
    clean("a call by hand", &called);
    for args in [&["runs", "export", "last"][..], &["runs", "show", "last", "-e"], &["runs", "list"]] {
        let out = home.command(args).output().unwrap();
        clean("the log", &String::from_utf8_lossy(&out.stdout));
    }
    for file in ["home/log.db", "home/log.db-wal"] {
        clean(file, &String::from_utf8_lossy(&std::fs::read(home.path(file)).unwrap_or_default()));
    }
}

#[test]
fn e53_a_token_in_the_path_of_an_address_is_in_no_error() {
    let home = Home::new();
    home.write(
        "agent.yaml",
        "name: x\nmodel: { use: openai/m, base_url: \"http://127.0.0.1:9/${PATH_TOKEN}/v1?key=${TOOL_TOKEN}\" }\n\
         retry: { retries: 0 }\n",
    );
    for args in [
        &["run", "agent.yaml", "-v", "hi"][..],
        &["run", "agent.yaml", "--json", "hi"],
        &["runs", "export", "last"],
        &["agents", "check", "agent.yaml"],
        &["models", "list"],
        &["doctor"],
        &["doctor", "--all"],
    ] {
        let mut command = home.command(args);
        command.env("PATH_TOKEN", PATH_TOKEN).env("TOOL_TOKEN", TOOL_TOKEN).env("WINDLASS_LOG", "trace");
        let base = format!("http://me:{KEY}@127.0.0.1:9/k3y4b5c6d7e8f9a0b1/v1");
        command.env("OPENAI_BASE_URL", &base).env("HTTPS_PROXY", &base).env("OPENAI_API_KEY", KEY);
        let out = command.output().unwrap();
        let said =
            format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        clean(&args.join(" "), &said);
        assert!(!said.contains("k3y4b5c6d7e8f9a0b1"), "{said}");
    }
}

/// Half a secret at a cut is not known any more, so it is masked before.
#[test]
fn e53_a_secret_at_the_cut_of_a_long_stderr_is_masked() {
    let home = Home::new();
    home.write(
        "agent.yaml",
        r#"
name: x
model: openai/m
tools: [ { command: { name: leak, run: [sh, -c, 'printf %s "$T" >&2; head -c 1990 /dev/zero | tr "\\0" x >&2; exit 1'], env: { T: "${TOOL_TOKEN}" }, effect: read_only } } ]
"#,
    );
    let mut command = home.command(["tools", "call", "agent.yaml", "leak"]);
    let out = command.env("TOOL_TOKEN", TOOL_TOKEN).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("***xxxx") && !said.contains("3456789"), "{said}");
}
