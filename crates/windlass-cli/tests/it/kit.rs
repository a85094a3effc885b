//! A home of its own for each test, the binary with nothing else in its environment, and waiting for conditions.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long a condition may take to come true: far more than it needs.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A home with a folder for agent files.
pub(crate) struct Home {
    folder: tempfile::TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The number of cases that passed and failed in `windlass test`'s last line, without that of the passes.
pub(crate) fn sums(end: &End) -> Option<&str> {
    end.stdout.lines().last()?.split_once(" (").map(|(sums, _)| sums)
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// One whose folder for logs is there, and empty.
    pub(crate) fn without_log() -> Self {
        let home = Self::new();
        std::fs::create_dir(home.path("home")).unwrap();
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes a program in another process: one that this process has open for writing would be busy (ETXTBSY) if a
    /// test beside this one forks meanwhile.
    pub(crate) fn program(&self, name: &str, text: &str) {
        let mut install = Command::new("install")
            .args(["-m", "755", "/dev/stdin"])
            .arg(self.path(name))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        install.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(install.wait().unwrap().success());
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The binary, in the home's folder, without keys, with local servers looked for where there are none, and
    /// offline: only servers on loopback addresses are asked.
    pub(crate) fn command<I: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder.path())
            .env("WINDLASS_HOME", self.path("home"))
            .env("OLLAMA_HOST", "http://127.0.0.1:9")
            .env("LLAMA_BASE_URL", "http://127.0.0.1:9/v1")
            .env("VLLM_BASE_URL", "http://127.0.0.1:9/v1")
            .env("WINDLASS_OFFLINE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(crate) fn windlass<const N: usize>(&self, args: [&str; N]) -> End {
        end(self.command(args).output().unwrap())
    }

    /// Runs it to its end with that on stdin.
    pub(crate) fn windlass_with<const N: usize>(&self, args: [&str; N], stdin: &str) -> End {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A command that does not want its input may be gone already.
        let _unread = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        finish(child)
    }

    /// Types a line in a shell in that folder, where `windlass` is the binary. Both streams are one, as at a terminal.
    pub(crate) fn typed(&self, folder: &Path, line: &str) -> End {
        let binary = self.command([] as [&str; 0]);
        let own = Path::new(binary.get_program()).parent().unwrap().to_owned();
        let others = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&others))).unwrap();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("{{ {line}\n}} 2>&1")).current_dir(folder).env_clear();
        shell.envs(binary.get_envs().filter_map(|(key, value)| Some((key, value?))));
        end(shell.env("PATH", path).stdin(Stdio::null()).output().unwrap())
    }

    /// Starts it.
    pub(crate) fn start<const N: usize>(&self, args: [&str; N]) -> Child {
        self.command(args).spawn().unwrap()
    }

    /// The newest run as JSON.
    pub(crate) fn last(&self) -> serde_json::Value {
        let shown = self.windlass(["runs", "show", "last", "--json", "--events"]);
        serde_json::from_str(&shown.stdout).unwrap_or_default()
    }

    /// The newest run's id.
    pub(crate) fn id(&self) -> String {
        self.last()["run"].as_str().unwrap().to_owned()
    }

    /// How many events of that kind the newest run has.
    pub(crate) fn events(&self, kind: &str) -> usize {
        let last = self.last();
        let events = last["events"].as_array().cloned().unwrap_or_default();
        events.iter().filter(|event| event["event"] == kind).count()
    }
}

/// Waits until a command has ended.
pub(crate) fn finish(child: Child) -> End {
    end(child.wait_with_output().unwrap())
}

pub(crate) fn end(output: Output) -> End {
    End {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Gives the first command that a hint names, in a shell; `file` stands for FILE.
pub(crate) fn hinted(home: &Home, said: &End, file: &str) -> End {
    let hints = said.stderr.lines().filter(|line| line.starts_with("hint: "));
    let words = hints.filter_map(|line| line.split_once("windlass ")).map(|(_, words)| words).next();
    let words = words.unwrap_or_else(|| panic!("no hint with a command: {said:?}"));
    let words = words.split('`').next().unwrap_or_default();
    let words = words.replace("=FILE", &format!("={file}")).replace("--with FILE", &format!("--with {file}"));
    let windlass = home.command([""; 0]);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("\"$WINDLASS\" {words}")).current_dir(home.path("")).env_clear();
    command.envs(windlass.get_envs().filter_map(|(name, value)| Some((name, value?))));
    end(command.env("WINDLASS", windlass.get_program()).stdin(Stdio::null()).output().unwrap())
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The whole end of a command, with what differs from one run to the next made equal.
pub(crate) fn shown(home: &Home, end: &End) -> String {
    let folder = home.path("").display().to_string();
    let text = format!(
        "exit code {}\n--- stdout\n{}--- stderr\n{}",
        end.code,
        closed(&end.stdout),
        closed(&end.stderr)
    );
    text.replace(folder.trim_end_matches('/'), "FOLDER")
}

fn closed(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}(no line end)\n") }
}

/// Compares with a snapshot; ids and times are the same in each.
macro_rules! assert_end {
    ($home:expr, $end:expr) => {{
        let mut settings = insta::Settings::clone_current();
        settings.add_filter("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "RUN");
        settings.add_filter("[0-9a-f]{32}", "SESSION");
        settings.add_filter("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}", "DATE");
        settings.add_filter("\\b[0-9a-f]{8}( +DATE|\\)| at event|: What)", "SHORT$1");
        settings.add_filter("\\brun [0-9a-f]{8}, ", "run SHORT, ");
        settings.add_filter("pid [0-9]+ RUN", "HOLDER");
        settings.add_filter("DATE +(over )?[0-9.]+ (ms|s) +", "DATE  ${1}TIME  ");
        settings.add_filter("TOOK +", "TOOK  ");
        settings.add_filter("[0-9.]+ (ms|s)\\b", "TIME");
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(crate::kit::shown(&$home, &$end)));
    }};
}
pub(crate) use assert_end;

/// An agent whose sums a person must allow.
pub(crate) const ASKING: &str = "\
name: asking
model: tour
tools: [ { builtin: [calculate] } ]
loop: { approve: [calculate] }
";

/// An agent that does sums and lists files with the built-in tools.
pub(crate) const PLAIN: &str = "\
name: plain
model: tour
tools: [ { builtin: [calculate, list_files, ask] } ]
";

/// A slow sum and a quick list: both leave a line where they ran; the sum waits for the file `go`.
pub(crate) const SLOW: &str = r#"
name: slow
model: tour
tools:
  - command:
      name: calculate
      run: [sh, -c, "echo sum >> sums; while [ -e sums ] && [ ! -e go ]; do sleep 0.02; done; echo 7"]
      description: Works out a sum.
      parameters: { type: object, properties: { expression: { type: string } }, required: [expression] }
      effect: read_only
  - command:
      name: list_files
      run: [sh, -c, "echo list >> lists; echo notes.txt"]
      description: Lists the files of a folder.
      parameters: { type: object, properties: { path: { type: string } } }
      effect: read_only
"#;

/// What makes the tour call both tools of [`SLOW`].
pub(crate) const BOTH: &str = "What is 2 + 5, and which files are here?";

/// How often a tool of [`SLOW`] has run.
pub(crate) fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap_or_default().lines().count()
}
