//! The scenes: an agent whose tools leave receipts, and a model that follows a script.

use std::io;
use std::path::Path;

use windlass_macros::Named;

use crate::mock::{Asked, Reply, Script, ScriptedCall};

/// Input of the agent.
pub const INPUT: &str = "Do what the script says.";

/// A tool by what repeating it would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Running it again is free.
    ReadOnly,
    /// Running it again with the same key is free.
    Idempotent,
    /// It must run once, and can be asked whether it has.
    Checked,
    /// It must run once, and only a person knows whether it has.
    Once,
}

impl Kind {
    /// The kind of a tool of the scenes.
    pub fn of(tool: &str) -> Option<Self> {
        Some(match tool {
            "look" | "page" => Self::ReadOnly,
            "book" => Self::Idempotent,
            "pay" => Self::Checked,
            "send" => Self::Once,
            _ => return None,
        })
    }
}

/// The treatment of a message to a session whose last run has not ended, by the word of the agent file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Named)]
#[named(all)]
pub enum WhileRunning {
    /// It is refused.
    Refuse,
    /// It waits for a run of its own.
    Queue,
    /// It enters the run's conversation.
    Steer,
    /// The run is cancelled.
    Interrupt,
}

/// A play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scene {
    /// Eight calls of all four kinds, alone and side by side.
    Tools,
    /// Two calls that a person must allow.
    Approval,
    /// One call of an idempotent tool.
    Short,
    /// One call of a tool that can be asked whether it has run.
    Pay,
    /// One call of a tool of which only a person can know.
    Send,
    /// An agent that hands tasks to two others at once, which hand on some of theirs.
    Family,
    /// Results of 24 KB each, until 2 MB are written.
    Pages,
    /// A session that is sent several messages. One that ends with `part N` has three calls of number N, another one has one.
    Session(WhileRunning),
}

impl Scene {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Tools,
        Self::Approval,
        Self::Short,
        Self::Pay,
        Self::Send,
        Self::Family,
        Self::Pages,
        Self::Session(WhileRunning::Refuse),
        Self::Session(WhileRunning::Queue),
        Self::Session(WhileRunning::Steer),
        Self::Session(WhileRunning::Interrupt),
    ];

    /// The scene's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Approval => "approval",
            Self::Short => "short",
            Self::Pay => "pay",
            Self::Send => "send",
            Self::Family => "family",
            Self::Pages => "pages",
            Self::Session(policy) => policy.name(),
        }
    }

    /// The model's script.
    pub(crate) fn script(self) -> Script {
        match self {
            Self::Tools => tools,
            Self::Approval => approval,
            Self::Short => |asked| one(asked, "book"),
            Self::Pay => |asked| one(asked, "pay"),
            Self::Send => |asked| one(asked, "send"),
            Self::Family => family,
            Self::Pages => pages,
            Self::Session(_) => session,
        }
    }

    /// Writes the agent file and its tools into a folder.
    pub(crate) fn write(self, folder: &Path, model: &str) -> io::Result<()> {
        let settings = match self {
            Self::Approval => "approve: [pay, send], ".to_owned(),
            Self::Session(policy) => format!("while_running: {}, ", policy.name()),
            Self::Tools | Self::Short | Self::Pay | Self::Send | Self::Family | Self::Pages => String::new(),
        };
        let agent = |name: &str, agents: &str| {
            let agent = AGENT.replace("{name}", name).replace("{model}", model);
            agent.replace("{settings}", &settings).replace("{agents}", agents)
        };
        if self == Self::Family {
            std::fs::write(folder.join("agent.yaml"), agent("root", "agents: [ ./worker.yaml ]"))?;
            std::fs::write(folder.join("worker.yaml"), agent("worker", "agents: [ ./helper.yaml ]"))?;
            std::fs::write(folder.join("helper.yaml"), agent("helper", ""))?;
        } else {
            std::fs::write(folder.join("agent.yaml"), agent("harness", ""))?;
        }
        std::fs::write(folder.join("tool.sh"), TOOL)?;
        std::fs::write(folder.join("check.sh"), CHECK)
    }
}

fn calls(calls: &[ScriptedCall]) -> Reply {
    Reply::Calls(calls.to_vec())
}

fn tools(asked: &Asked<'_>) -> Reply {
    match asked.results {
        0 => calls(&[("look", 1), ("book", 1)]),
        2 => calls(&[("pay", 1)]),
        3 => calls(&[("send", 1), ("look", 2)]),
        5 => calls(&[("book", 2), ("pay", 2)]),
        7 => calls(&[("send", 2)]),
        _ => Reply::Results,
    }
}

fn approval(asked: &Asked<'_>) -> Reply {
    match asked.results {
        0 => calls(&[("pay", 1), ("look", 1)]),
        2 => calls(&[("send", 1)]),
        _ => Reply::Results,
    }
}

fn one(asked: &Asked<'_>, tool: &'static str) -> Reply {
    if asked.results == 0 { calls(&[(tool, 1)]) } else { Reply::Results }
}

/// Number of calls reserved for each part of a family's work.
const NUMBERS: u32 = 10;

fn family(asked: &Asked<'_>) -> Reply {
    let first = asked.part * NUMBERS;
    match (asked.model, asked.results) {
        ("root", 0) => calls(&[("worker", 1), ("worker", 2), ("pay", 1)]),
        ("root", 3) => calls(&[("worker", 3), ("send", 2)]),
        ("worker", 0) => calls(&[("look", first), ("pay", first + 1)]),
        ("worker", 2) => calls(&[("helper", asked.part), ("book", first + 2)]),
        ("worker", 4) => calls(&[("send", first + 3)]),
        ("helper", 0) => calls(&[("send", first + 5)]),
        ("helper", 1) => calls(&[("pay", first + 6)]),
        _ => Reply::Results,
    }
}

fn session(asked: &Asked<'_>) -> Reply {
    match (asked.last_part(), asked.results) {
        // Equal calls in a row would end a run that many messages steer.
        (0, 0) => calls(&[("look", asked.last_number())]),
        (0, _) => Reply::Messages,
        (part, 0) => calls(&[("look", part), ("pay", part)]),
        (part, 2) => calls(&[("send", part)]),
        _ => Reply::Messages,
    }
}

/// Number of results in [`Scene::Pages`].
const PAGES: usize = 84;

fn pages(asked: &Asked<'_>) -> Reply {
    if asked.results < PAGES { calls(&[("page", asked.results as u32 + 1)]) } else { Reply::Results }
}

/// The effect is one line in `receipts`, written with one write: it happens completely or not at all. To kill a run half-way, a
/// test creates `hold` there: `pay` then waits without an effect, and gives up once `killed` is there, too.
const TOOL: &str = r#"if [ "$1" = pay ]; then
  while [ -e hold ]; do : > begun; [ -e killed ] && exit 1; sleep 0.005; done
fi
case "$1" in pay|send) sleep 0.004;; esac
printf '%s %s %s %s %s\n' "$1" "$2" "$WINDLASS_RUN" "$WINDLASS_CALL" "$WINDLASS_IDEMPOTENCY_KEY" >> receipts
case "$1" in page) head -c 24000 /dev/zero | tr '\0' x;; esac
printf '%s %s done' "$1" "$2"
"#;

/// Exit code 0 with the result: it happened; 1: it did not.
const CHECK: &str = r#"[ -e receipts ] || exit 1
while read -r name n rest; do
  if [ "$name $n" = "$1 $2" ]; then printf '%s %s done' "$1" "$2"; exit 0; fi
done < receipts
exit 1
"#;

const AGENT: &str = r#"name: {name}
model: { use: openai/{name}, base_url: "{model}", key: none }
instructions: Call the tools.
{agents}
tools:
  - command:
      name: look
      run: [sh, tool.sh, look, "{n}"]
      description: Looks at something.
      parameters: { type: object, properties: { n: { type: integer } }, required: [n] }
    effect: read_only
  - command:
      name: page
      run: [sh, tool.sh, page, "{n}"]
      description: Reads a long page.
      parameters: { type: object, properties: { n: { type: integer } }, required: [n] }
    effect: read_only
  - command:
      name: book
      run: [sh, tool.sh, book, "{n}"]
      description: Books something under a key.
      parameters: { type: object, properties: { n: { type: integer } }, required: [n] }
    effect: idempotent
  - command:
      name: pay
      run: [sh, tool.sh, pay, "{n}"]
      description: Pays, and can say whether it has.
      parameters: { type: object, properties: { n: { type: integer } }, required: [n] }
      effect: once
      check: [sh, check.sh, pay, "{n}"]
  - command:
      name: send
      run: [sh, tool.sh, send, "{n}"]
      description: Sends something that cannot be taken back.
      parameters: { type: object, properties: { n: { type: integer } }, required: [n] }
    effect: once
loop: { {settings}limits: { model_calls: 200, tool_calls: 400 } }
retry: { retries: 3, wait_ms: 1, max_wait_ms: 10 }
"#;
