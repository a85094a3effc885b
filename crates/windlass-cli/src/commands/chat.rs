//! `windlass chat`: a conversation, turn after turn.

mod commands;
mod prompt;
mod reports;
mod so_far;
mod turns;
mod verbs;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use windlass_core::{Message, Owner, SessionId, State, Status};
use windlass_models::cassette::Cassette;
use windlass_read::load;
use windlass_read::words::{count, name};
use windlass_runtime::Agent;
use windlass_store::{SqliteLog, Store};

use crate::agents;
use crate::asking::{Place, Roots, Terminal};
use crate::assistant;
use crate::attachments;
use crate::cassettes::{CassetteArgs, played};
use crate::commands::run::new_session;
use crate::drive::{Words, is_farewell, message, names_command};
use crate::face::{Face, FaceGuard};
use crate::failure::{Exit, Failure};
use crate::home::{self, LogArgs, quoted};
use crate::interrupts::Interrupts;
use crate::out::{self, Style};
use crate::overrides::Overrides;
use crate::remote::{Server, Talk, not_on_a_server};
use crate::session::{Interrupted, SessionArgs, interrupted};
use crate::view::{View, ViewArgs, fenced};
pub(crate) use commands::OfRun;
use prompt::{Line, Prompt};
use reports::Reports;
use so_far::{SoFar, answer};

const HELP: &str = "\
In the conversation /help lists the commands and the keys. What is typed while the agent works steers it, or waits for the end \
of its turn where the agent's `while_running` is `queue`. Ctrl-C ends the agent's turn; the conversation goes on.

Without a terminal each line of stdin is a turn. `--plain` shows lines one after another, for screen readers.

Examples:
  windlass chat
  windlass chat agent.yaml
  windlass chat agent.yaml --session trip
  windlass chat agent.yaml --record trip.cassette
  printf '%s\\n' 'What is 2 + 5?' 'And times 3?' | windlass chat agent.yaml --quiet";

/// The sentence in the place of an answer that has not come.
const NO_ANSWER: &str = "there is no answer yet";
/// Messages that are shown again where a session goes on.
const RECALLED: usize = 3;
/// Characters of a message in a line.
const SHORT: usize = 60;

/// The arguments of `windlass chat`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ChatArgs {
    /// The agent file; without one, the default agent answers. With `--server`: the name of an agent of the server
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    cassette: CassetteArgs,
    #[command(flatten)]
    overrides: Overrides,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    view: ViewArgs,
}

/// The agent that answers.
enum Speaker {
    /// An agent of this process.
    Here(Agent),
    /// An agent of a server.
    There(Box<Talk>),
}

/// The surroundings of an agent of this process.
struct Local {
    path: PathBuf,
    overrides: Overrides,
    log: Arc<SqliteLog>,
    cassette: Option<Cassette>,
}

/// A conversation.
struct Chat {
    speaker: Speaker,
    local: Option<Local>,
    session: SessionId,
    view: ViewArgs,
    words: Words,
    terminal: Option<Arc<Terminal>>,
    face: Option<Face>,
    interrupts: Interrupts,
    so_far: SoFar,
}

/// Talks until there is no more to say.
pub(crate) async fn run(args: ChatArgs) -> Result<Exit, Failure> {
    let server = Server::of(&args.log)?;
    let history = home::folder().ok().map(|home| home.join("chat_history"));
    let words = commands::Words { sessions: Vec::new() };
    let guard = FaceGuard::open(args.view.draws(), history, Some(Arc::new(words)));
    match server {
        Some(server) => Box::pin(on_a_server(server, args, guard.face())).await,
        None => Box::pin(here(args, guard.face())).await,
    }
}

/// Talks with an agent of this process.
async fn here(args: ChatArgs, face: Option<&Face>) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    if args.file.is_none() && face.is_some() && Path::new("agent.yaml").is_file() {
        out::note("this folder has an agent of its own: `windlass chat .` talks with it");
    }
    let path = args.file.map_or_else(assistant::path, Ok)?;
    let mut overrides = args.overrides;
    let mut file = agents::read(&path, &overrides)?;
    let log = args.log.open()?;
    let words = Words { log: args.log.words(), file: Some(path.display().to_string()), ..Words::default() };
    let mut view = View::new(args.view);
    let given = args.session.found(&file, &*log).await?;
    given.check(&file, &*log, &mut view, &words).await?;
    // A turn that `/model` gave to another model goes on there.
    if let Some(earlier) = given.unfinished(&file, &*log).await?
        && overrides.take_model(earlier)
    {
        file = agents::read(&path, &overrides)?;
        let model = overrides.model.as_deref().unwrap_or_default();
        view.remark(&format!("goes on with {}, which its last turn began with", name(model)));
    }
    let place = Place { log: log.clone(), roots: Roots::of(&file), chat: true };
    let cassette = args.cassette.open()?;
    let assembly = agents::start(&file, &overrides, &log, cassette.clone(), &mut interrupts).await?;
    assembly.chosen.iter().for_each(|line| view.remark(line));
    view.warnings(&assembly.warnings);
    view.unmatched(&assembly.unmatched);
    let named = given.name.is_some();
    let session = given.name.map_or_else(new_session, SessionId::from);
    let terminal = if args.view.json { None } else { Terminal::within(place, face.cloned()) };
    let local = Local { path, overrides, log, cassette: cassette.clone() };
    let chat = Chat {
        speaker: Speaker::Here(assembly.agent),
        local: Some(local),
        session,
        view: args.view,
        words,
        terminal,
        face: face.cloned(),
        interrupts,
        so_far: SoFar::default(),
    };
    played(cassette.as_ref(), Box::pin(chat.converse(named)).await)
}

/// Talks with an agent of a server.
async fn on_a_server(server: Server, args: ChatArgs, face: Option<&Face>) -> Result<Exit, Failure> {
    let interrupts = Interrupts::listen()?;
    let Some(agent) = args.file else {
        return Err(Failure::new(Exit::Usage, "no agent given")
            .hint("`windlass chat --server URL AGENT` talks with an agent of the server"));
    };
    if args.overrides != Overrides::default()
        || args.cassette.is_given()
        || args.session.hands_over()
        || args.session.is_newest()
    {
        return Err(not_on_a_server());
    }
    // One that is not there is said before the first word.
    server.client.agent(&agent.display().to_string()).await?;
    let named = args.session.name.is_some();
    let session = args.session.name.map_or_else(new_session, SessionId::from);
    let talk = Talk::new(server, agent.display().to_string(), session.clone(), args.view, face.cloned());
    let (words, terminal) = (talk.words().clone(), talk.terminal().cloned());
    let chat = Chat {
        speaker: Speaker::There(Box::new(talk)),
        local: None,
        session,
        view: args.view,
        words,
        terminal,
        face: face.cloned(),
        interrupts,
        so_far: SoFar::default(),
    };
    Box::pin(chat.converse(named)).await
}

impl Chat {
    /// The conversation from its beginning, or from where the session stands.
    async fn converse(mut self, named: bool) -> Result<Exit, Failure> {
        if let (Some(_), Speaker::Here(agent)) = (&self.face, &self.speaker) {
            out::note(format_args!("agent `{}` (/help lists the commands and the keys)", name(agent.name())));
        } else if self.terminal.is_some() {
            View::new(self.view).remark(&format!("session: {} (/help lists the commands)", self.session));
        }
        self.show_model();
        if !named {
            self.tell_interrupted().await?;
        }
        if named {
            if self.face.is_some() {
                self.show_session();
            }
            Box::pin(self.join()).await?;
            if self.quits() {
                self.goodbye();
                return Ok(Exit::Suspended);
            }
        }
        let prompt = Prompt::open(self.face.as_ref());
        Box::pin(self.talk(prompt)).await
    }

    /// Tells of an earlier conversation of this agent that was interrupted: who begins one may want to go on with it.
    async fn tell_interrupted(&self) -> Result<(), Failure> {
        let Speaker::Here(agent) = &self.speaker else { return Ok(()) };
        if self.terminal.is_none() || self.view.quiet {
            return Ok(());
        }
        let chat = self.words.chat();
        match interrupted(agent.name(), &**agent.log()).await? {
            Some(Interrupted { session: None, title }) => {
                out::note(format_args!(
                    "the last conversation was interrupted ({title}): `{chat} -c` goes on with it"
                ));
            }
            Some(Interrupted { session: Some(session), title }) => {
                let session = quoted(session.as_str());
                out::note(format_args!(
                    "a conversation was interrupted ({title}): `{chat} --session {session}` goes on with it"
                ));
            }
            None => {}
        }
        Ok(())
    }

    /// Joins a session: where it stands, and what is unfinished in it.
    async fn join(&mut self) -> Result<(), Failure> {
        let store = self.store();
        if let Speaker::Here(_) = &self.speaker
            && let Some(head) = store.head(&Owner::default(), &self.session).await?
        {
            let state = load(&*store, head).await?;
            if let Some(face) = &self.face {
                recall(face, &state);
            }
            self.so_far.stands(state);
            self.show_context();
        }
        Box::pin(self.unfinished()).await
    }

    /// The texts of the conversation's commands.
    fn reports(&self) -> Reports<'_> {
        Reports { speaker: &self.speaker, so_far: &self.so_far, face: self.face.as_ref() }
    }

    /// The log that the runs are in.
    fn store(&self) -> Arc<dyn Store> {
        match &self.speaker {
            Speaker::Here(agent) => agent.log().clone(),
            Speaker::There(talk) => talk.store(),
        }
    }

    /// Shows the model that answers.
    fn show_model(&self) {
        if let (Some(face), Speaker::Here(agent)) = (&self.face, &self.speaker) {
            face.answers(agent);
        }
    }

    /// Shows how much of the context the conversation uses.
    fn show_context(&self) {
        if let Some(face) = &self.face {
            let used = self.so_far.state.as_ref().map_or(0, |state| state.context_use().tokens);
            face.status(|status| status.context = used);
        }
    }

    async fn talk(&mut self, mut prompt: Prompt) -> Result<Exit, Failure> {
        let mut last = Ok(Exit::Good);
        loop {
            // Messages that waited for the end of a turn come first.
            let next = match self.queued() {
                Some(text) => Line::Text(text),
                None => prompt.line(&mut self.interrupts).await?,
            };
            match next {
                Line::Text(text) => match Box::pin(self.line(text.trim())).await {
                    // A question was left with `/quit`.
                    done if self.quits() => return Ok(self.quit(done.err().as_ref())),
                    Ok(true) => {}
                    Ok(false) => return Ok(Exit::Good),
                    // The process is to end, not only this turn.
                    Err(failure) if failure.exit.is_left() => return Err(failure),
                    // At a terminal the user sees the error, and the chat continues.
                    Err(failure) if self.terminal.is_some() && failure.exit != Exit::Internal => {
                        failure.show();
                    }
                    Err(failure) if matches!(failure.exit, Exit::Suspended | Exit::Internal) => {
                        return Err(failure);
                    }
                    Err(failure) => {
                        failure.show();
                        last = Ok(failure.exit);
                    }
                },
                Line::Interrupted => out::note("/quit or Ctrl-D leaves the conversation"),
                Line::End => break,
            }
        }
        if self.terminal.is_some() {
            self.goodbye();
            return Ok(Exit::Good);
        }
        last
    }

    fn quits(&self) -> bool {
        self.terminal.as_ref().is_some_and(|terminal| terminal.quits())
    }

    /// The end of a conversation that was left at a question.
    fn quit(&self, failure: Option<&Failure>) -> Exit {
        let exit = failure.map_or(Exit::Suspended, |failure| failure.exit);
        if let Some(failure) = failure {
            failure.show();
        }
        self.goodbye();
        exit
    }

    fn goodbye(&self) {
        while let Some(text) = self.queued() {
            out::say(format_args!("not sent: {text}"));
        }
        if self.so_far.total.turns > 0 && self.so_far.state.is_some() && !self.view.quiet {
            // A session begins with its first message: until then only the one before it is there.
            let left = self.so_far.left.as_ref();
            let session = quoted(left.unwrap_or(&self.session).as_str());
            let whole = if left.is_some() { ", from its last message on" } else { "" };
            let chat = self.words.chat();
            out::say(format_args!("`{chat} --session {session}` continues this conversation{whole}"));
        }
    }

    /// One line. `false`: the conversation is over.
    async fn line(&mut self, text: &str) -> Result<bool, Failure> {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if text.is_empty() {
            return Ok(true);
        }
        if self.terminal.is_some() && is_farewell(text) {
            return Box::pin(self.command("/quit", "")).await;
        }
        if names_command(word) {
            if self.face.is_some() {
                out::note_styled(&[(Style::Dim, "> "), (Style::Dim, text)]);
            }
            return Box::pin(self.command(word, rest.trim())).await;
        }
        Box::pin(self.turn(message(text))).await?;
        Ok(true)
    }

    /// The next message that waited for the end of the turn.
    fn queued(&self) -> Option<String> {
        let next = self.terminal.as_ref()?.take_queued()?;
        if let Some(face) = &self.face {
            face.status(|status| status.queued = status.queued.saturating_sub(1));
        }
        Some(next)
    }
}

/// Shows the last messages of a session, and their answers.
fn recall(face: &Face, state: &State) {
    let history = || state.history().iter().enumerate();
    let is_asked = |message: &Message| matches!(message, Message::User { .. });
    let asked: Vec<usize> = history().filter(|(_, message)| is_asked(message)).map(|(at, _)| at).collect();
    let first = asked.len().saturating_sub(RECALLED);
    if first > 0 {
        out::note(format_args!("{} before these (/save FILE writes all)", count(first as u64, "message")));
    }
    let last = asked.last().copied().unwrap_or(usize::MAX);
    for (at, message) in history().skip(asked.get(first).copied().unwrap_or_default()) {
        match &**message {
            Message::User { content, .. } => {
                let (words, files) = attachments::apart(content);
                face.echo(&words, &files);
            }
            // The last answer may be a value, which stands in no message.
            Message::Assistant(reply) if at < last => {
                face.text(reply.text_without_calls().as_deref().unwrap_or_default());
                face.end_text();
            }
            _ => {}
        }
    }
    if let Some(answer) = answer(state) {
        let is_value = state.ended().is_some_and(|end| end.output.is_some());
        face.text(&if is_value { fenced(&answer) } else { answer });
        face.end_text();
    } else if state.ended().is_some_and(|end| end.status == Status::Cancelled) {
        out::note("that turn was cancelled");
    }
}
