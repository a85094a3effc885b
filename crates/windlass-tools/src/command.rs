//! Tools that are programs: a command line with places for arguments, run without a shell.

pub(crate) mod child;
#[cfg(target_os = "linux")]
mod environ;
mod gate;
mod left_behind;
pub(crate) mod program;
mod words;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::process::Command;
use windlass_core::secret::mask_and_cut;
use windlass_core::tool::Effect;
use windlass_core::{CallOutcome, Text, ToolSpec};

use crate::binding::Bound;
use crate::error::ToolSetError;
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};
use crate::trace;

use child::{Finished, Limits, STDERR_TAIL, Unfinished};
use gate::Gate;
use words::Word;

pub use program::find as find_program;

/// Inherited environment variables; a command gets no others.
pub const INHERITED: [&str; 2] = ["PATH", "HOME"];

/// The variable that tells a command its idempotency key, and by which what a dead process left running is found.
const KEY_VARIABLE: &str = "WINDLASS_IDEMPOTENCY_KEY";

/// Default maximum size of a command's stdout, in bytes.
pub const MAX_STDOUT: usize = 50 * 1000 * 1000;

/// Default grace period between SIGTERM and SIGKILL for a command's process group.
pub const GRACE: Duration = Duration::from_secs(2);

/// The largest exit code that is a command's own word; shells give those above for signals.
const MAX_OWN_CODE: i32 = 128;

/// A command as an agent file describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSettings {
    /// The tool's name.
    pub name: String,
    /// The program and its arguments. `{param}` is the place of an argument within a word (`{{` is a brace); a word with
    /// a place whose argument is not given is left out. The program itself has no places.
    pub run: Vec<String>,
    /// Description for the model.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the arguments, an object; if there is none: a required text for each place in `run`.
    #[serde(default)]
    pub parameters: Option<Value>,
    /// Effect of running it twice; default `once`, because it is unknown.
    #[serde(default)]
    pub effect: Option<Effect>,
    /// A command line that says whether a call in doubt happened: exit code 0 for yes, with the result on stdout,
    /// 1 for no. Anything else means that it cannot be said.
    #[serde(default)]
    pub check: Option<Vec<String>>,
    /// Whether arguments may begin with `-`, and so be options.
    #[serde(default)]
    pub dashes: bool,
    /// Maximum size of stdout, in bytes. Default: [`MAX_STDOUT`].
    #[serde(default)]
    pub max_stdout: Option<usize>,
    /// Grace period after a cancel, in milliseconds. Default: [`GRACE`].
    #[serde(default)]
    pub grace_ms: Option<u64>,
}

impl CommandSettings {
    /// The command line of a call with these arguments: the program as the settings name it, and its words. `None`: an argument has no
    /// place in a word.
    pub fn line(&self, args: &Value) -> Option<Vec<String>> {
        let (program, words) = self.run.split_first()?;
        let args = args.as_object()?;
        let words = words.iter().filter_map(|word| Word::parse(word).filled(args, self.dashes).transpose());
        let words: Vec<String> = words.collect::<Result<_, _>>().ok()?;
        Some(std::iter::once(program.clone()).chain(words).collect())
    }
}

/// A tool that runs a program.
///
/// - Each argument takes its place as one word, whatever is in it: there is no shell. One that begins with `-` is
///   refused unless `dashes` are allowed; numbers and other values are written as JSON.
/// - All arguments come as one JSON object on stdin, too.
/// - Stdout is the result (a line end at its end is cut off, invalid UTF-8 is replaced); any exit code but 0 is an error
///   with the last 2,000 bytes of stderr.
/// - The environment is `PATH`, `HOME`, `WINDLASS_IDEMPOTENCY_KEY`, `WINDLASS_RUN` and `WINDLASS_CALL` (`TRACEPARENT` where
///   the call is told of), and nothing else but
///   what [`env`](Self::env) adds.
/// - It runs in its folder, and leads a process group. A cancel sends SIGTERM to the group, and SIGKILL after the grace
///   or as soon as the call is dropped. When the program ends, what it left running in its group is killed.
/// - In a run, a command with an effect waits behind a shell (`/bin/sh`) until the run's lease is confirmed, so that it never
///   starts once its process has died or has lost the run.
/// - A program that a dead process left running is stopped in the same way before its call is settled (Linux).
///
/// Process groups are those of Unix; elsewhere only the program itself is killed.
pub struct CommandTool {
    spec: ToolSpec,
    run: Line,
    check: Option<Line>,
    dashes: bool,
    folder: PathBuf,
    limits: Limits,
    env: Vec<(OsString, OsString)>,
}

/// Without the values of the environment, which may be secrets.
impl fmt::Debug for CommandTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        let (run, folder) = (&self.run, &self.folder);
        f.debug_struct("CommandTool")
            .field("run", run)
            .field("folder", folder)
            .field("env", &names)
            .finish_non_exhaustive()
    }
}

/// A command line.
#[derive(Debug)]
struct Line {
    program: PathBuf,
    words: Vec<Word>,
    /// The line as JSON, as it was given.
    json: String,
}

impl CommandTool {
    /// The tool that runs a command in a folder.
    ///
    /// # Errors
    /// `run` or `check` are empty, have a place in the program's name, or one for a parameter that the schema does not
    /// have; there is a `check` without the effect `once`.
    pub fn new(settings: &CommandSettings, folder: &Path) -> Result<Self, ToolSetError> {
        let bad = |what: String| ToolSetError::BadSettings { name: settings.name.clone(), what };
        let run = Line::parse("run", &settings.run, folder).map_err(bad)?;
        let check = settings.check.as_deref().map(|check| Line::parse("check", check, folder));
        let check = check.transpose().map_err(bad)?;
        let parameters = settings.parameters.clone().unwrap_or_else(|| places(&run));
        for line in std::iter::once(&run).chain(&check) {
            line.fits(&parameters).map_err(bad)?;
        }
        let mut spec = ToolSpec::new(settings.name.as_str(), settings.description.as_str(), parameters);
        spec.effect = match (settings.effect, &check) {
            (Some(Effect::ReadOnly | Effect::Idempotent), Some(_)) => {
                return Err(bad(
                    "a `check` is asked only for tools with `effect: once`: others just run again".to_owned(),
                ));
            }
            // An undeclared effect is unknown: a crash must not repeat it.
            (effect, _) => effect.unwrap_or(Effect::Once),
        };
        spec.has_check = check.is_some();
        spec.origin = "command".into();
        let limits = Limits {
            stdout: settings.max_stdout.unwrap_or(MAX_STDOUT),
            grace: settings.grace_ms.map_or(GRACE, Duration::from_millis),
        };
        Ok(Self {
            spec,
            run,
            check,
            dashes: settings.dashes,
            folder: folder.to_owned(),
            limits,
            env: Vec::new(),
        })
    }

    /// Adds a variable to the command's environment, such as a key that it needs. Windlass' own cannot be changed.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Runs a command line; one with a gate begins once that has opened.
    async fn execute(
        &self,
        line: &Line,
        context: &ToolContext,
        args: Value,
        gate: Option<Gate<'_>>,
    ) -> Result<Finished, ToolError> {
        let Value::Object(args) = args else {
            let message = format!("expected an object of arguments, found {args}");
            return Err(ToolError::of_kind("InvalidArguments", message));
        };
        let failed = |error: io::Error| {
            let program = line.program.display();
            ToolError::of_kind(format!("{:?}", error.kind()), format!("cannot run `{program}`: {error}"))
        };
        let words = line.filled(&args, self.dashes)?;
        let env = self.environment(context);
        let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
        let mut command = match gate {
            Some(_) => self.waiting(line, path)?.map_err(failed)?,
            None => program::command(&line.program, path, &self.folder),
        };
        command.args(words).current_dir(&self.folder).env_clear().envs(env);
        let input = Value::Object(args).to_string();
        let finished = child::run(command, input.as_bytes(), gate, &self.limits, &context.cancelled).await;
        let finished = finished.map_err(|Unfinished { error, started }| failed(error).doubted_if(started))?;
        if finished.cancelled {
            let open = finished.refused.is_none();
            return Err(ToolError::of_kind("Cancelled", "the run was cancelled").doubted_if(open));
        }
        if let Some(refused) = finished.refused {
            return Err(refused);
        }
        if finished.overflow {
            let message = format!("the command wrote more than {} bytes", self.limits.stdout);
            return Err(ToolError::of_kind("TooLarge", message).doubted_if(true));
        }
        Ok(finished)
    }

    /// The shell that waits, and then becomes the program of that line.
    fn waiting(&self, line: &Line, path: Option<&OsStr>) -> Result<io::Result<Command>, ToolError> {
        let names = self.env.iter().map(|(name, _)| name.to_string_lossy());
        if let Some(name) = names.into_iter().find(|name| !passes_gate(name)) {
            let message =
                format!("the variable `{name}` cannot be set for a command with an effect: shells keep it");
            return Err(ToolError::of_kind("InvalidEnvironment", message));
        }
        Ok(gate::find(&line.program, path, &self.folder).map(|program| gate::waiting(&program)))
    }

    fn environment(&self, context: &ToolContext) -> Vec<(OsString, OsString)> {
        let inherited = INHERITED.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
        let ours = [
            (KEY_VARIABLE, context.idempotency_key.to_string()),
            ("WINDLASS_RUN", context.run.to_string()),
            ("WINDLASS_CALL", context.call.as_str().to_owned()),
        ];
        // The names that OpenTelemetry has for them in an environment.
        let traced =
            trace::fields().into_iter().map(|(name, value)| (name.to_uppercase().into(), value.into()));
        inherited
            .chain(self.env.iter().cloned())
            .chain(ours.map(|(name, value)| (name.into(), value.into())))
            .chain(traced)
            .collect()
    }
}

impl Tool for CommandTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn binding(&self) -> Vec<Bound> {
        let mut all = vec![Bound::open("command", &self.run.json)];
        all.extend(self.check.as_ref().map(|check| Bound::open("check", &check.json)));
        all.push(Bound::folder(&self.folder));
        if self.dashes {
            all.push(Bound::open("dashes", true));
        }
        let text = |text: &OsString| text.to_string_lossy().into_owned();
        let variable = |(name, value)| Bound::hidden(format!("variable {}", text(name)), text(value));
        all.extend(self.env.iter().map(|(name, value)| variable((name, value))));
        all
    }

    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let key = &context.idempotency_key;
            let gate = Gate { key, lease: &context.lease };
            let gate = context.lease.is_needed().then_some(gate);
            let finished = self.execute(&self.run, &context, args, gate).await?;
            if finished.status.success() {
                Ok(result(finished.stdout).into())
            } else {
                Err(failure(&finished))
            }
        })
    }

    fn check(
        &self,
        context: ToolContext,
        args: Value,
    ) -> BoxFuture<'_, Result<Option<CallOutcome>, ToolError>> {
        Box::pin(async move {
            let Some(check) = &self.check else { return Err(ToolError::new("this command has no check")) };
            let finished = self.execute(check, &context, args, None).await?;
            match finished.status.code() {
                Some(0) => Ok(Some(CallOutcome::Ok { content: result(finished.stdout).into() })),
                Some(1) => Ok(None),
                _ => Err(failure(&finished)),
            }
        })
    }

    fn stop_left_behind(&self, context: ToolContext) -> BoxFuture<'_, ()> {
        Box::pin(async move { left_behind::stop(&context.idempotency_key, self.limits.grace).await })
    }
}

/// Whether a variable of that name can be given to a command with an effect. Others are changed or dropped by the shell
/// that such a command waits behind.
pub fn passes_gate(name: &str) -> bool {
    gate::lets_through(name)
}

impl Line {
    fn parse(key: &str, line: &[String], folder: &Path) -> Result<Self, String> {
        let Some((program, words)) = line.split_first().filter(|(program, _)| !program.is_empty()) else {
            return Err(format!("`{key}` does not name a program"));
        };
        if Word::parse(program).params().next().is_some() {
            return Err(format!(
                "the program in `{key}` is `{program}`: an argument cannot choose the program"
            ));
        }
        // Whether a relative path starts from the parent's or the child's folder is left open by the system.
        let program = Path::new(program);
        let relative = program.is_relative() && program.components().count() > 1;
        let program = if relative { folder.join(program) } else { program.to_owned() };
        let json = json!(line).to_string();
        Ok(Self { program, words: words.iter().map(|word| Word::parse(word)).collect(), json })
    }

    /// The words with arguments in their places.
    fn filled(&self, args: &Map<String, Value>, dashes: bool) -> Result<Vec<String>, ToolError> {
        self.words.iter().filter_map(|word| word.filled(args, dashes).transpose()).collect()
    }

    fn params(&self) -> impl Iterator<Item = &str> {
        self.words.iter().flat_map(Word::params)
    }

    /// Checks that its places and the schema of the arguments agree.
    fn fits(&self, parameters: &Value) -> Result<(), String> {
        let known = parameters.get("properties").and_then(Value::as_object);
        let required = parameters.get("required").and_then(Value::as_array).into_iter().flatten();
        let missing = |name: &&str| !known.is_some_and(|known| known.contains_key(*name));
        if let Some(name) = required.filter_map(Value::as_str).find(missing) {
            return Err(format!("its parameters require `{name}`, which is none of their `properties`"));
        }
        let unknown = self.params().find(|name| !known.is_some_and(|known| known.contains_key(*name)));
        unknown.map_or(Ok(()), |name| {
            Err(format!(
                "there is no parameter for the placeholder `{{{name}}}`; `{{{{{name}}}}}` writes the braces"
            ))
        })
    }
}

/// The schema of a command that names none.
fn places(line: &Line) -> Value {
    let mut properties = Map::new();
    for name in line.params() {
        properties.insert(name.to_owned(), json!({ "type": "string" }));
    }
    let required: Vec<_> = properties.keys().cloned().collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn result(stdout: Vec<u8>) -> String {
    let mut text = String::from_utf8(stdout)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

/// Error of a failed command, with the end of its output.
fn failure(finished: &Finished) -> ToolError {
    let stderr = String::from_utf8_lossy(&finished.stderr);
    let stderr = mask_and_cut(&stderr, STDERR_TAIL);
    // The tail may begin within a character.
    let stderr = stderr.trim_start_matches('\u{fffd}').trim();
    let how = how(finished.status);
    let message: Text = if stderr.is_empty() { how.into() } else { format!("{how}: {stderr}").into() };
    ToolError::of_kind("CommandFailed", message).doubted_if(!is_own_status(finished.status))
}

/// Whether the command itself chose its exit status.
fn is_own_status(status: ExitStatus) -> bool {
    status.code().is_some_and(|code| code <= MAX_OWN_CODE)
}

fn how(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("the command was killed by signal {signal}");
    }
    status.code().map_or_else(
        || "the command exited without an exit code".to_owned(),
        |code| format!("the command exited with exit code {code}"),
    )
}
