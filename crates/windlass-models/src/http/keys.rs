//! Owns keys that a command prints: when the command runs, how long its key is kept, and what goes wrong with it.
//!
//! A key lives in memory alone, until it expires or a server refuses it. It is masked from the moment in which it was read, and
//! neither it nor the command's words stand in any message.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::lock::Mutex;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use windlass_core::model::{FailureKind, ModelFailure};
use windlass_core::secret::{Secret, mask};

use super::failure::cut;
use super::rate_limits::instant;

/// Timeout of a command, in milliseconds.
pub const KEY_COMMAND_MS: u64 = 30_000;

/// Time in which the output of a command is read to its end once the command has ended, in milliseconds.
const LEFT_OPEN_MS: u64 = 500;

/// The most bytes of a command's output that are read.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;

/// A key is made anew so long before it expires: requests take their time.
const EARLY: Duration = Duration::from_secs(30);

/// A command that prints a key: the key alone on its first line, or a JSON object with `key`, `token` or `access_token`, and maybe
/// `expires_in` (seconds) or `expires_at` (seconds since 1970, or a time as RFC 3339 writes it in UTC).
///
/// One command is one key for the whole process: it is kept in memory, and made anew when it expires or a server refuses it.
#[derive(Debug)]
pub struct KeyCommand {
    line: Line,
    kept: Mutex<Option<Kept>>,
}

/// Words of a command, and the folder that it starts in; `None`: the process's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Line {
    words: Vec<String>,
    folder: Option<PathBuf>,
}

/// A key that a command printed.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) key: Secret,
    expires: Option<SystemTime>,
}

/// All commands of the process.
static COMMANDS: StdMutex<Option<HashMap<Line, Arc<KeyCommand>>>> = StdMutex::new(None);

impl KeyCommand {
    /// The command of these words: one word is a line for `sh -c`, several are a program and its arguments.
    /// It starts in `folder`, where relative paths begin; `None`: in the process's own.
    pub fn shared(words: &[String], folder: Option<&Path>) -> Arc<Self> {
        let mut all = COMMANDS.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        let line = Line { words: words.to_vec(), folder: folder.map(Path::to_owned) };
        let new = || Arc::new(Self { line: line.clone(), kept: Mutex::new(None) });
        all.entry(line.clone()).or_insert_with(new).clone()
    }

    /// Its words.
    pub(super) fn words(&self) -> &[String] {
        &self.line.words
    }

    /// The key, and whether the command made it just now. Calls that come together run the command once.
    ///
    /// # Errors
    /// [`FailureKind::Auth`] with what the command said: it cannot be run, failed, printed no key or took too long. This is where
    /// an expired login shows.
    pub(crate) async fn key(&self) -> Result<(Kept, bool), ModelFailure> {
        let mut kept = self.kept.lock().await;
        let now = SystemTime::now();
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_fresh(now)) {
            return Ok((kept.clone(), false));
        }
        *kept = None;
        let failed = |why: String| {
            let words = format!("the key command `{}` {why}", self.program());
            ModelFailure::new(FailureKind::Auth, mask(&words), "")
        };
        let output = self.run().await.map_err(failed)?;
        let new = read(&output, now).ok_or_else(|| failed("printed no key".to_owned()))?;
        *kept = Some(new.clone());
        Ok((new, true))
    }

    /// The program that prints the key.
    pub(crate) fn program(&self) -> &str {
        self.line.words.first().and_then(|words| words.split_whitespace().next()).unwrap_or_default()
    }

    /// Forgets a key that a server refused. A newer one stays.
    pub(crate) async fn forget(&self, refused: &Kept) {
        let mut kept = self.kept.lock().await;
        if kept.as_ref().is_some_and(|kept| kept.key == refused.key) {
            *kept = None;
        }
    }

    /// The output of the command.
    async fn run(&self) -> Result<String, String> {
        let mut command = match self.line.words.as_slice() {
            [line] => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(line);
                shell
            }
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
            [] => return Err("is empty".to_owned()),
        };
        if let Some(folder) = &self.line.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // A group of its own, so that what the command started ends with it.
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn().map_err(|error| format!("cannot be run: {error}"))?;
        let group = Group::of(&child);
        let limit = Duration::from_millis(KEY_COMMAND_MS);
        let Ok(ended) = tokio::time::timeout(limit, ended(child, &group)).await else {
            return Err(format!("took longer than {KEY_COMMAND_MS} ms"));
        };
        let (status, printed, complaint) = ended.map_err(|error| format!("cannot be read: {error}"))?;
        if status.success() {
            return Ok(printed);
        }
        // Masked whole: a secret that is cut would not be known any more.
        let complaint = without(complaint.trim(), &printed);
        let complaint = mask(&complaint);
        let complaint = cut(&complaint);
        Err(if complaint.is_empty() {
            format!("failed ({status})")
        } else {
            format!("failed ({status}): {complaint}")
        })
    }
}

/// A complaint without the words that the command printed as well: one of them may be the key.
fn without(complaint: &str, printed: &str) -> String {
    let of_key = |c: char| c.is_ascii_alphanumeric() || "-_./+=~".contains(c);
    let words = printed.split(|c| !of_key(c)).filter(|word| word.len() >= Secret::MIN_MASKED_BYTES);
    let mut words: Vec<&str> = words.collect();
    // The longest first: a shorter one may be a part of it.
    words.sort_unstable_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    words.into_iter().fold(complaint.to_owned(), |text, word| text.replace(word, "***"))
}

/// The processes of a command, which end when it is left for whatever reason: its end, a time limit, or a call that is stopped.
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl Group {
    fn of(child: &Child) -> Self {
        let _ = child;
        Self {
            #[cfg(unix)]
            leader: child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?)),
        }
    }

    fn end(&self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader {
            // An error means that no process is left.
            rustix::process::kill_process_group(leader, rustix::process::Signal::KILL).ok();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// The output of a command until it ended. Whatever it leaves running in the background ends then, and keeps nobody waiting for the
/// end of its output.
async fn ended(
    mut child: Child,
    group: &Group,
) -> std::io::Result<(std::process::ExitStatus, String, String)> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (mut printed, mut complaint) = (Vec::new(), Vec::new());
    let status = {
        let mut reading = pin!(futures_util::future::try_join(
            beginning(out, &mut printed),
            beginning(err, &mut complaint)
        ));
        tokio::select! {
            read = &mut reading => {
                read?;
                child.wait().await?
            }
            status = child.wait() => {
                group.end();
                // A process that has left the group may hold the output open for longer.
                if let Ok(read) = tokio::time::timeout(Duration::from_millis(LEFT_OPEN_MS), reading).await {
                    read?;
                }
                status?
            }
        }
    };
    let text = |data: Vec<u8>| String::from_utf8_lossy(&data).into_owned();
    Ok((status, text(printed), text(complaint)))
}

/// Reads the beginning of a stream. Dropping the rest ends a program that prints without end.
async fn beginning<R: AsyncRead + Unpin>(stream: Option<R>, data: &mut Vec<u8>) -> std::io::Result<()> {
    if let Some(stream) = stream {
        stream.take(MAX_OUTPUT_BYTES).read_to_end(data).await?;
    }
    Ok(())
}

impl Kept {
    fn is_fresh(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|expires| now + EARLY < expires)
    }
}

/// Reads what a command printed.
fn read(output: &str, now: SystemTime) -> Option<Kept> {
    let output = output.trim();
    if let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(output) {
        let text = |name: &&str| fields.get(*name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let key = ["key", "token", "access_token", "accessToken"].iter().find_map(text)?;
        let lasts = fields.get("expires_in").and_then(seconds);
        let ends =
            ["expires_at", "expires_on", "expiry", "expiration"].iter().find_map(|name| fields.get(*name));
        let expires = lasts.map(|lasts| now + lasts).or_else(|| ends.and_then(time));
        return Some(Kept { key: Secret::new(key), expires });
    }
    let line = output.lines().next().map(str::trim).filter(|line| !line.is_empty())?;
    Some(Kept { key: Secret::new(line), expires: None })
}

/// A number of seconds, which may be written as a text.
fn seconds(value: &Value) -> Option<Duration> {
    let seconds = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn time(value: &Value) -> Option<SystemTime> {
    let since = seconds(value).or_else(|| instant(value.as_str()?).map(Duration::from_millis))?;
    UNIX_EPOCH.checked_add(since)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use super::{EARLY, KeyCommand, read};

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_key_is_a_line_or_a_field_of_an_object() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let key = |output: &str| read(output, now).map(|kept| (kept.key.expose().to_owned(), kept.expires));
        assert_eq!(key("ya29.token-1\nmore\n"), Some(("ya29.token-1".into(), None)));
        assert_eq!(key(" \n"), None);
        assert_eq!(key("{\"x\":1}"), None);
        let lasts = Some(now + Duration::from_hours(1));
        assert_eq!(key(r#"{"access_token":"token-2","expires_in":3600}"#), Some(("token-2".into(), lasts)));
        assert_eq!(key(r#"{"token":"token-3","expires_at":"4600"}"#), Some(("token-3".into(), lasts)));
        let date = r#"{"accessToken":"token-4","expiration":"1970-01-01T01:16:40Z"}"#;
        assert_eq!(key(date), Some(("token-4".into(), lasts)));
    }

    #[test]
    fn a_key_is_made_anew_before_it_expires() {
        let now = SystemTime::now();
        let kept = read(r#"{"key":"token-5","expires_in":3600}"#, now).expect("a key");
        assert!(kept.is_fresh(now));
        assert!(!kept.is_fresh(now + Duration::from_hours(1) - EARLY));
    }

    #[tokio::test]
    async fn e62_a_failing_command_says_why_and_hides_its_words() {
        let failing = KeyCommand::shared(&words(&["echo not logged in >&2; exit 3 # secret-argument"]), None);
        let failure = failing.key().await.expect_err("it fails");
        assert_eq!(&*failure.message, "the key command `echo` failed (exit status: 3): not logged in");
        let silent = KeyCommand::shared(&words(&["true"]), None).key().await.expect_err("no key");
        assert_eq!(&*silent.message, "the key command `true` printed no key");
        let nobody =
            KeyCommand::shared(&words(&["/nowhere/at-all", "x"]), None).key().await.expect_err("no program");
        assert!(
            nobody.message.starts_with("the key command `/nowhere/at-all` cannot be run: "),
            "{nobody:?}"
        );
    }

    #[tokio::test]
    async fn e62_a_key_that_was_printed_stands_in_no_complaint() {
        for line in [
            "echo KEYKEYKEY98765; echo rejected KEYKEYKEY98765 >&2; exit 3",
            "echo '{\"token\":\"KEYKEYKEY98765\",\"expires_in\":60}'; echo Authorization: Bearer KEYKEYKEY98765 >&2; exit 3",
            "printf 'KEYKEYKEY98765\\nKEYKEYKEY98765-long\\n'; echo '+ curl KEYKEYKEY98765-long' >&2; exit 3",
        ] {
            let failure = KeyCommand::shared(&words(&[line]), None).key().await.expect_err("it fails");
            assert!(!failure.message.contains("KEYKEY") && failure.message.contains("***"), "{failure:?}");
            assert!(!failure.message.contains("-long"), "{failure:?}");
        }
    }

    #[tokio::test]
    async fn e62_what_a_command_started_ends_with_it_and_its_words_are_masked() {
        let secret = windlass_core::secret::Secret::new("hunter2-of-the-key-command");
        let line = format!("sleep 300 >/dev/null 2>&1 & echo {} >&2; echo $! >&2; exit 1", secret.expose());
        let failure = KeyCommand::shared(&words(&[&line]), None).key().await.expect_err("it fails");
        assert!(!failure.message.contains("hunter2"), "{failure:?}");
        let pid = failure.message.lines().last().expect("a line").trim();
        gone(pid).await;
        // A call that is stopped.
        let path = std::env::temp_dir().join(format!("windlass-key-{}", std::process::id()));
        let line = format!("sleep 301 & echo $! > {}; wait", path.display());
        let stopped = KeyCommand::shared(&words(&[&line]), None);
        let begun = async {
            loop {
                match std::fs::read_to_string(&path) {
                    Ok(pid) if pid.ends_with('\n') => return pid,
                    _ => tokio::task::yield_now().await,
                }
            }
        };
        let pid = tokio::select! {
            key = stopped.key() => panic!("{key:?}"),
            pid = begun => pid,
        };
        std::fs::remove_file(&path).expect("it is there");
        gone(pid.trim()).await;
    }

    #[tokio::test]
    async fn e62_a_process_that_a_command_leaves_behind_ends_and_the_key_counts() {
        let path = std::env::temp_dir().join(format!("windlass-key-behind-{}", std::process::id()));
        for before in ["", "setsid "] {
            let line =
                format!("{before}sleep 302 & echo $! > {}; echo a-key-that-counts{before}", path.display());
            let command = KeyCommand::shared(&words(&[&line]), None);
            let key = tokio::time::timeout(Duration::from_secs(20), command.key()).await.expect("at once");
            let (kept, _) = key.expect("a key");
            assert_eq!(kept.key.expose(), format!("a-key-that-counts{before}").trim());
            let pid = std::fs::read_to_string(&path).expect("its id");
            if before.is_empty() {
                gone(pid.trim()).await;
            } else {
                std::process::Command::new("kill").arg(pid.trim()).status().expect("kill");
            }
        }
        std::fs::remove_file(&path).expect("it is there");
    }

    /// Waits until a process is no more, or a child that nobody has waited for.
    async fn gone(pid: &str) {
        let stat = format!("/proc/{pid}/stat");
        let is_there = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        let waiting = async {
            while is_there() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it ended");
    }

    #[tokio::test]
    async fn e62_output_without_end_is_read_in_part() {
        let endless = KeyCommand::shared(&words(&["yes"]), None);
        let failure = endless.key().await.expect_err("the program was ended");
        assert!(failure.message.starts_with("the key command `yes` failed"), "{failure:?}");
    }
}
