//! The face of a conversation at a terminal: finished text goes to the terminal's scrollback, and below it stands a tail with what
//! is going on, the person's message and a line of status.
//!
//! A thread of its own waits for keys and draws. Whatever changes the state draws, too, at most once in [`FRAME`].

mod delegates;
mod draw;
mod live;
mod modes;
mod question;
mod reader;
mod status;
mod stops;

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use windlass_core::CallOutcome;
use windlass_read::words::outcome;
use windlass_runtime::Agent;
use windlass_terminal::crossterm::event::KeyEvent;
use windlass_terminal::input::{Completer, Editor, History};
use windlass_terminal::markdown::Stream;

use crate::out::{self, frames};
pub(crate) use delegates::Delegates;
pub(crate) use draw::is_unicode;
use live::Live;
pub(crate) use live::artifacts;
use modes::Modes;
use question::Asking;
pub(crate) use question::{Asked, Key, Then};
pub(crate) use status::Status;

/// The least time between two frames that no key asked for.
const FRAME: Duration = Duration::from_millis(33);
/// Bytes of text that are rendered at once, whatever comes between two frames: rows take eighteen times their room. 32 KiB.
const AT_ONCE: usize = 32 * 1024;
/// The line that says that a second Ctrl-C leaves.
const AGAIN: &str = "Ctrl-C again, /quit or Ctrl-D leaves the conversation";
/// Texts in the history.
const HISTORY: usize = 1_000;

/// An act of the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// A message or a command was sent.
    Sent(String),
    /// A key, where a panel stands in the place of the message.
    Key(KeyEvent),
    /// The end of the input.
    End,
}

/// Knows the words that can be typed.
pub(crate) type Completing = Arc<dyn Completer + Send + Sync>;

/// A conversation at a terminal.
#[derive(Clone)]
pub(crate) struct Face(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Acts of the person that nobody has looked at.
    acts: Mutex<VecDeque<Act>>,
    acted: Notify,
    /// A line was typed at a question.
    answered: Notify,
    modes: Modes,
    completer: Mutex<Completing>,
    history: Option<std::path::PathBuf>,
}

impl std::fmt::Debug for Face {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Face").finish_non_exhaustive()
    }
}

/// Everything that is shown below the finished text.
struct State {
    editor: Editor,
    stream: Stream,
    live: Live,
    status: Status,
    asking: Option<Asking>,
    /// Lines in the place of the message and the line of status, as long as they are.
    panel: Option<Vec<(out::Style, String)>>,
    /// The part that was finished last.
    part: draw::Part,
    /// A line that stands until the next key.
    hint: Option<String>,
    /// Messages that the agent has not heard yet.
    unheard: Vec<String>,
    /// Messages that the run has taken, and that no model has read yet.
    entered: Vec<String>,
    drawn: Instant,
    /// Whether the last change was not drawn.
    stale: bool,
    /// How many have the terminal in place of the conversation: another program, a shell, nobody after the end.
    away: usize,
    /// Keys that were read meanwhile are dropped.
    flushes: bool,
    /// Whether a run goes on.
    works: bool,
}

impl State {
    fn give_back(&mut self, messages: &[String]) {
        let messages = messages.join("\n");
        if !messages.is_empty() {
            let draft = self.editor.text();
            let line = if draft.is_empty() { "" } else { "\n" };
            self.editor.set(&format!("{messages}{line}{draft}"));
        }
    }
}

/// No words are known.
struct Nothing;

impl Completer for Nothing {
    fn offers(&self, _before: &str) -> Option<(usize, Vec<windlass_terminal::input::Offer>)> {
        None
    }
}

impl Face {
    /// Takes the terminal. `None`: it cannot show a tail, or its keys cannot be read one by one.
    pub(crate) fn open(history: Option<std::path::PathBuf>, completer: Option<Completing>) -> Option<Self> {
        if !frames::can_draw() {
            return None;
        }
        let modes = Modes::take()?;
        let kept = history.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let state = State {
            editor: Editor::new(History::read(&kept, HISTORY)),
            stream: Stream::default(),
            live: Live::default(),
            status: Status::default(),
            asking: None,
            panel: None,
            part: draw::Part::default(),
            hint: None,
            unheard: Vec::new(),
            entered: Vec::new(),
            drawn: Instant::now(),
            stale: false,
            away: 0,
            flushes: false,
            works: false,
        };
        let shared = Shared {
            state: Mutex::new(state),
            acts: Mutex::default(),
            acted: Notify::new(),
            answered: Notify::new(),
            modes,
            // They are known from the first key on.
            completer: Mutex::new(completer.unwrap_or_else(|| Arc::new(Nothing))),
            history,
        };
        let face = Self(Arc::new(shared));
        face.change_now(|_| {});
        reader::start(&face);
        stops::listen(&face);
        Some(face)
    }

    /// Gives the terminal back as it was.
    pub(crate) fn close(&self) {
        self.lock().away += 1;
        out::amid_block(false);
        frames::leave();
        self.0.modes.give_back();
    }

    /// Lets another program have the terminal until the guard is dropped.
    pub(crate) async fn away(&self) -> Away {
        self.lock().away += 1;
        frames::leave();
        out::drained().await;
        self.0.modes.give_back();
        Away(self.clone())
    }

    /// Whether somebody else has the terminal.
    fn is_away(&self) -> bool {
        self.lock().away > 0
    }

    /// Takes the terminal once more.
    fn back(&self) {
        self.0.modes.take_again();
        let mut state = self.lock();
        state.away = state.away.saturating_sub(1);
        // The tail is drawn once keys count again.
        state.flushes = true;
        if let Some(asking) = &mut state.asking {
            asking.is_seen_anew();
        }
    }

    /// The words that are offered.
    pub(crate) fn completes(&self, completer: Completing) {
        *self.0.completer.lock().unwrap_or_else(PoisonError::into_inner) = completer;
    }

    fn completer(&self) -> Completing {
        self.0.completer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and shows it in its time.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let done = change(&mut state);
        if state.drawn.elapsed() >= FRAME {
            draw::draw(&mut state);
        } else {
            state.stale = true;
        }
        done
    }

    /// Changes the state, and shows it at once.
    fn change_now<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let done = change(&mut state);
        draw::draw(&mut state);
        done
    }

    /// The next thing that the person does. Cancel-safe.
    pub(crate) async fn next(&self) -> Act {
        loop {
            let acted = self.0.acted.notified();
            if let Some(act) = self.0.acts.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
                return act;
            }
            acted.await;
        }
    }

    fn act(&self, act: Act) {
        if let (Act::Sent(_), Some(path)) = (&act, &self.0.history) {
            let file = self.lock().editor.history().file();
            keep(path, &file);
        }
        self.0.acts.lock().unwrap_or_else(PoisonError::into_inner).push_back(act);
        self.0.acted.notify_one();
    }

    /// Ctrl-C where nothing runs: what is typed is dropped, and without it a line says how to leave. Whether that line stood there, and
    /// the person leaves.
    pub(crate) fn interrupted(&self) -> bool {
        let mut kept = None;
        let leaves = self.change_now(|state| {
            let is_empty = state.editor.text().trim().is_empty();
            let leaves = is_empty && state.hint.as_deref() == Some(AGAIN);
            if is_empty {
                state.hint = Some(AGAIN.to_owned());
            } else {
                state.editor.keep();
                kept = self.0.history.as_deref().map(|path| (path, state.editor.history().file()));
                state.hint = Some("Up brings it back".to_owned());
            }
            state.editor.set("");
            leaves
        });
        if let Some((path, file)) = kept {
            keep(path, &file);
        }
        leaves
    }

    /// Shows these lines in the place of the message, each in a row, as many as the terminal has room for. Keys are acts of their own
    /// then.
    pub(crate) fn panel(&self, lines: Vec<(out::Style, String)>) {
        self.change_now(|state| state.panel = Some(lines));
    }

    /// Puts a text where the person types.
    pub(crate) fn put(&self, text: &str) {
        self.change_now(|state| state.editor.set(text));
    }

    /// The person's message with the names of its files, above the answer to come.
    pub(crate) fn echo(&self, text: &str, files: &[String]) {
        self.change_now(|state| draw::echo(state, text, files));
    }

    /// Puts messages that were not sent above a draft: they are there to be sent again.
    pub(crate) fn give_back(&self, messages: &[String]) {
        self.change_now(|state| state.give_back(messages));
    }

    /// A piece of an answer.
    pub(crate) fn text(&self, piece: &str) {
        let mut rest = piece;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.floor_char_boundary(AT_ONCE));
            self.change(|state| {
                state.stream.push(part);
                if state.stream.waiting() > AT_ONCE && state.away == 0 {
                    draw::closed(state, draw::look());
                }
            });
            rest = after;
        }
    }

    /// The answer, or the part of it before a call, is whole.
    pub(crate) fn end_text(&self) {
        self.change(|state| {
            let rows = state.stream.finish(draw::look());
            draw::finish(state, draw::Part::Text, &rows);
            if state.part == draw::Part::Text {
                state.part = draw::Part::WholeText;
            }
        });
    }

    /// The piece that came is no part of the answer. Whether some of it went to the scrollback.
    pub(crate) fn drop_text(&self) -> bool {
        self.change(|state| std::mem::take(&mut state.stream).has_begun())
    }

    /// A call goes on from now on.
    pub(crate) fn begin(&self, call: &str, name: &str, args: &str) {
        self.change(|state| state.live.begin(call, name, args));
    }

    /// Whether a run goes on.
    fn works(&self) -> bool {
        self.lock().works
    }

    /// A call ends that never began: it was denied, or its arguments were refused.
    pub(crate) fn never_began(&self, call: &str, name: &str, args: &str) {
        self.lock().live.never_began(call, name, args);
    }

    /// Whether a call has begun and not ended.
    pub(crate) fn has_begun(&self, call: &str) -> bool {
        self.lock().live.has(call)
    }

    /// A call that has begun has ended: its line goes to the scrollback, and all of it is kept under that title for those who want to see it.
    /// `artifacts` is the command that lists the long texts of its run.
    pub(crate) fn end(&self, call: &str, title: &str, ended: &CallOutcome, artifacts: &str) {
        let result = outcome(ended);
        let failed = !matches!(ended, CallOutcome::Ok { .. });
        self.change(|state| {
            state.live.detail(title, &live::whole(ended, artifacts));
            if let Some(row) = state.live.end(call, &result, failed, draw::look()) {
                draw::finish(state, draw::Part::Call, &[row]);
            }
        });
    }

    /// The wait of the run, if it waits: a run goes on.
    pub(crate) fn waits(&self, wait: Option<(String, u64)>) {
        self.change(|state| {
            state.works = true;
            state.live.wait = wait;
        });
    }

    /// Nothing goes on any more.
    pub(crate) fn rest(&self) {
        self.change_now(|state| {
            let rows = state.stream.finish(draw::look());
            draw::finish(state, draw::Part::Text, &rows);
            state.live.rest();
            // What the agent did not hear is there to be sent.
            let unheard: Vec<String> = state.entered.drain(..).chain(state.unheard.drain(..)).collect();
            state.give_back(&unheard);
            state.works = false;
        });
    }

    /// A message was sent to the agent while it works.
    pub(crate) fn unheard(&self, text: &str) {
        self.change_now(|state| state.unheard.push(text.to_owned()));
    }

    /// The agent has heard it.
    pub(crate) fn heard(&self, text: &str) {
        self.change(|state| {
            if let Some(at) = state.unheard.iter().position(|message| message.trim() == text.trim()) {
                let message = state.unheard.remove(at);
                state.entered.push(message);
            }
        });
    }

    /// A model reads what was said so far.
    pub(crate) fn read(&self) {
        self.lock().entered.clear();
    }

    /// How much of the context is used, in words.
    pub(crate) fn context(&self) -> String {
        self.lock().status.of_context().unwrap_or_else(|| "nothing is known of the context yet".to_owned())
    }

    /// Shows the model that answers, and the size of its context.
    pub(crate) fn answers(&self, agent: &Agent) {
        let model = agent.models().first().map(|model| model.name.to_string()).unwrap_or_default();
        let window = agent.policy().past.context.max_tokens;
        self.status(|status| {
            status.model = model;
            status.window = window;
        });
    }

    /// Changes the line of status.
    pub(crate) fn status(&self, change: impl FnOnce(&mut Status)) {
        self.change(|state| change(&mut state.status));
    }
}

/// The terminal of a command, with a face where it can show one. It goes back as it was however the command ends.
#[derive(Debug)]
pub(crate) struct FaceGuard(Option<Face>);

impl FaceGuard {
    /// Takes the terminal, if that is wanted and somebody sits there.
    pub(crate) fn open(
        wanted: bool,
        history: Option<std::path::PathBuf>,
        completer: Option<Completing>,
    ) -> Self {
        Self(if wanted && std::io::stdin().is_terminal() { Face::open(history, completer) } else { None })
    }

    pub(crate) fn face(&self) -> Option<&Face> {
        self.0.as_ref()
    }
}

impl Drop for FaceGuard {
    fn drop(&mut self) {
        if let Some(face) = &self.0 {
            face.close();
        }
    }
}

/// Another program has the terminal.
pub(crate) struct Away(Face);

impl Drop for Away {
    fn drop(&mut self) {
        self.0.back();
    }
}

/// Keeps the history where only the user can read it. Should that fail, only the arrow keys know less next time.
fn keep(path: &std::path::Path, file: &str) {
    use std::io::Write as _;
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let opened = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    if let Ok(mut opened) = opened {
        let _open = opened.set_permissions(std::fs::Permissions::from_mode(0o600));
        let _kept = opened.write_all(file.as_bytes());
    }
}
