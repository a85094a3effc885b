//! The agents of the campaigns, and the model that they ask.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::error::HarnessError;
use crate::mock::{Asked, Mock, Reply, Speech};

/// Pays once, then says so.
pub(super) const CLERK: &str = "clerk";
/// Pays once after a person has allowed it.
pub(super) const ASKER: &str = "asker";
/// Pays once, then speaks for about a second.
pub(super) const COURIER: &str = "courier";
/// Speaks for a long time.
pub(super) const SPEAKER: &str = "speaker";
/// Looks for as many seconds as its part says.
pub(super) const WAITER: &str = "waiter";
/// Says a word.
pub(super) const PARROT: &str = "parrot";
/// All of them.
pub(super) const ALL: [&str; 6] = [CLERK, ASKER, COURIER, SPEAKER, WAITER, PARROT];

/// The last word of a courier.
pub(super) const REPORT: Speech = Speech { pieces: 40, piece_bytes: 24, pause: Duration::from_millis(25) };
/// The last word of a speaker: two megabytes in about twenty seconds, more than the kernel keeps for a reader that does not read.
const LECTURE: Speech = Speech { pieces: 2_000, piece_bytes: 1_000, pause: Duration::from_millis(10) };

/// The model's script.
fn script(asked: &Asked<'_>) -> Reply {
    let pay = || Reply::Calls(vec![("pay", asked.last_part().max(asked.part))]);
    match (asked.model, asked.results) {
        (CLERK | ASKER | COURIER, 0) => pay(),
        (WAITER, 0) => Reply::Calls(vec![("look", asked.part)]),
        (COURIER, _) => Reply::Speech(REPORT),
        (SPEAKER, _) => Reply::Speech(LECTURE),
        (PARROT, _) => Reply::Messages,
        _ => Reply::Results,
    }
}

/// Writes the agents into a folder, for servers that others start, and gives the address of their model, which ends with this process.
///
/// # Errors
/// They cannot be written, or no port can be had.
pub fn stage(folder: &Path) -> Result<String, HarnessError> {
    let served = folder.join("agents");
    fs::create_dir_all(&served).map_err(HarnessError::file("make", &served))?;
    let mock = Mock::start(script).map_err(HarnessError::system("start a model server"))?;
    for (name, text) in files(folder, mock.url()) {
        let path = folder.join(name);
        fs::write(&path, text).map_err(HarnessError::file("write", &path))?;
    }
    Ok(mock.url().to_owned())
}

/// The files of a server's folder.
fn files(folder: &Path, model: &str) -> Vec<(String, String)> {
    let agent = |name: &str| {
        let settings = if name == ASKER { "approve: [pay], " } else { "" };
        let text = AGENT.replace("{name}", name).replace("{model}", model).replace("{settings}", settings);
        (format!("agents/{name}.yaml"), text.replace("{folder}", &folder.display().to_string()))
    };
    let mut files: Vec<_> = ALL.into_iter().map(agent).collect();
    files.push(("tool.sh".to_owned(), TOOL.to_owned()));
    files.push(("check.sh".to_owned(), CHECK.to_owned()));
    files
}

/// The effect is one line in `receipts`, written with one write: it happens completely or not at all.
const TOOL: &str = r#"printf '%s %s %s %s %s\n' pay "$1" "$WINDLASS_RUN" "$WINDLASS_CALL" "$WINDLASS_IDEMPOTENCY_KEY" >> receipts
printf 'pay %s done' "$1"
"#;

/// Exit code 0 with the result: it happened; 1: it did not.
const CHECK: &str = r#"[ -e receipts ] || exit 1
grep -q "^pay $1 $WINDLASS_RUN " receipts || exit 1
printf 'pay %s done' "$1"
"#;

const AGENT: &str = r#"name: {name}
model: { use: openai/{name}, base_url: "{model}", key: none }
instructions: Call the tools.
tools:
  - command:
      name: pay
      run: [sh, "{folder}/tool.sh", "{n}"]
      description: Pays, and can say whether it has.
      parameters: { type: object, properties: { n: { type: integer } }, required: [n] }
      effect: once
      check: [sh, "{folder}/check.sh", "{n}"]
  - command:
      name: look
      run: [sleep, "{n}"]
      description: Looks for some seconds.
      parameters: { type: object, properties: { n: { type: integer } }, required: [n] }
      effect: read_only
loop: { {settings}limits: { model_calls: 200, tool_calls: 400 } }
retry: { retries: 3, wait_ms: 1, max_wait_ms: 10 }
"#;
