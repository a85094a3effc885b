//! The commands of a conversation at work.

use std::fmt::Write as _;
use std::sync::Arc;

use data_encoding::BASE64;
use windlass_core::event::{RunFact, RunInput};
use windlass_core::{Fact, Message, Owner, SessionId};
use windlass_read::reports::sessions;
use windlass_read::words::{count, cut, name, time, usage};
use windlass_read::{RunPages, load, numbered};

use super::commands::{self, Words, expanded, tell};
use super::{Chat, Speaker, Total, Turn};
use crate::agents;
use crate::attachments::AttachArgs;
use crate::commands::run::new_session;
use crate::drive::typed_as;
use crate::failure::{Exit, Failure};
use crate::input::Input;
use crate::out;
use crate::session::{is_unnamed, unknown};

/// Sessions that are listed.
const SESSIONS: usize = 20;
/// The most bytes that a terminal takes for its clipboard: 74,994, so that the sequence has 100,000 (xterm, OSC 52).
const CLIPBOARD: usize = 74_994;
/// Characters of a message in a line.
const SHORT: usize = 60;
/// What is told of an answer that has not come.
pub(super) const NO_ANSWER: &str = "there is no answer yet";

impl Chat {
    /// Carries out a command. `false`: the conversation is over.
    pub(super) async fn command(&mut self, word: &str, rest: &str) -> Result<bool, Failure> {
        let Some(command) = commands::found(word) else {
            out::note(commands::unknown(&cut(word, SHORT)));
            return Ok(true);
        };
        match command.name {
            "/quit" => {
                self.goodbye();
                return Ok(false);
            }
            "/help" => tell(&commands::help(self.face.is_some())),
            "/cost" => tell(&self.costs()),
            "/context" => tell(&self.context()),
            "/tools" => tell(&self.listed_tools()),
            "/model" => Box::pin(self.model(rest)).await?,
            "/attach" => self.attach(rest)?,
            "/raw" => self.raw(),
            "/copy" => self.copy(),
            "/save" => self.save(rest).await?,
            "/new" => {
                self.is_free(rest).await?;
                self.begin(rest);
            }
            "/sessions" => Box::pin(self.sessions(rest)).await?,
            "/fork" => self.fork(rest).await?,
            "/undo" => drop(self.undo().await?),
            "/edit" => {
                if let Some(input) = self.undo().await? {
                    if input.files() > 0 {
                        out::note("the message had files: attach them again");
                    }
                    match &self.face {
                        Some(face) => face.put(&typed_as(input.text())),
                        None => tell(&format!("the message was:\n{}", input.text())),
                    }
                }
            }
            "/retry" => {
                if let Some(input) = self.undo().await? {
                    Box::pin(self.send(input)).await?;
                }
            }
            "/stop" => self.stop().await?,
            "/queue" if !rest.is_empty() => Box::pin(self.turn(rest)).await?,
            _ => out::note("the agent is not working; type the message alone"),
        }
        Ok(true)
    }

    /// Ends a run of the session that waits for an answer.
    async fn stop(&self) -> Result<(), Failure> {
        let open = match &self.speaker {
            Speaker::Here(agent) => self.open_run(agent).await?.map(|run| (agent, run)),
            Speaker::There(_) => None,
        };
        let Some((agent, run)) = open else {
            out::note("the agent is not working");
            return Ok(());
        };
        agent.cancel(run, "/stop").await?;
        out::note("the run that waited is cancelled; the conversation continues");
        Ok(())
    }

    /// Tokens and cost so far.
    pub(super) fn costs(&self) -> String {
        let Total { turns, usage: tokens, cost_usd, unpriced } = &self.so_far.total;
        let rest = match (unpriced, *cost_usd > 0.0) {
            (false, _) => "",
            (true, true) => " and turns whose price is unknown",
            (true, false) => ", cost unknown",
        };
        format!("{}, {}{rest}", count(*turns, "turn"), usage(tokens, Some(*cost_usd)))
    }

    /// How much of the context is used.
    pub(super) fn context(&self) -> String {
        match (&self.so_far.last, &self.face) {
            (None, _) => "nothing was sent yet".to_owned(),
            (Some(_), Some(face)) => face.context(),
            (Some(run), None) => {
                let messages = run.messages().count() as u64;
                format!("the conversation has {}", count(messages, "message"))
            }
        }
    }

    /// The tools, a line each.
    pub(super) fn listed_tools(&self) -> String {
        let Speaker::Here(agent) = &self.speaker else {
            return "the tools are the server's: `windlass agents` there lists them".to_owned();
        };
        let tools = agent.tools();
        if tools.is_empty() {
            return "the agent has no tools".to_owned();
        }
        let lines = tools.iter().map(|tool| {
            let about = tool.description.lines().next().unwrap_or_default();
            let allowed = self.so_far.allowed.iter().any(|allowed| **allowed == *tool.name);
            let allowed = if allowed { " (allowed in this session; /fork asks about it again)" } else { "" };
            format!("{}  {}{allowed}", name(&tool.name), cut(about, SHORT * 2))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The models, in a line.
    pub(super) fn models(&self) -> String {
        match &self.speaker {
            Speaker::Here(agent) => {
                let models: Vec<_> = agent.models().iter().map(|model| name(&model.name)).collect();
                format!("{} (/model NAME goes on with another one)", models.join(", then "))
            }
            Speaker::There(_) => "the model is the server's".to_owned(),
        }
    }

    /// Names the model, or goes on with another one.
    async fn model(&mut self, wanted: &str) -> Result<(), Failure> {
        let Some(local) = self.local.as_mut().filter(|_| !wanted.is_empty()) else {
            out::note(self.models());
            return Ok(());
        };
        let overrides =
            crate::overrides::Overrides { model: Some(wanted.to_owned()), ..local.overrides.clone() };
        let file = agents::read(&local.path, &overrides)?;
        let (log, cassette) = (local.log.clone(), local.cassette.clone());
        let assembly = agents::start(&file, &overrides, &log, cassette, &mut self.interrupts).await?;
        assembly.chosen.iter().for_each(out::note);
        local.overrides = overrides;
        self.speaker = Speaker::Here(assembly.agent);
        self.show_model();
        Ok(())
    }

    fn attach(&mut self, path: &str) -> Result<(), Failure> {
        if path.is_empty() {
            match self.so_far.attached.as_slice() {
                [] => out::note("no file is attached; /attach FILE sends one with the next message"),
                files => files.iter().for_each(|file| out::note(file.display())),
            }
            return Ok(());
        }
        if path == "-" {
            out::note("what is typed is the conversation: name a file");
            return Ok(());
        }
        let file = expanded(path.trim_matches(['\'', '"']));
        // One that cannot be sent is said now.
        AttachArgs::of(vec![file.clone()]).read()?;
        self.so_far.attached.push(file);
        let files = self.so_far.attached.len();
        match &self.face {
            Some(face) => face.status(|status| status.attached = files),
            None => out::note("it goes with the next message"),
        }
        Ok(())
    }

    fn raw(&self) {
        match self.so_far.answer.as_deref() {
            Some(text) => tell(text),
            None => out::note(NO_ANSWER),
        }
    }

    fn copy(&self) {
        match self.so_far.answer.as_deref() {
            None => out::note(NO_ANSWER),
            Some(_) if self.face.is_none() => {
                out::note("only a terminal has a clipboard; /save FILE writes a file");
            }
            Some(text) if text.len() > CLIPBOARD => {
                out::note("the answer is too long for the terminal's clipboard; /save FILE writes a file");
            }
            Some(text) => {
                out::clipboard(&BASE64.encode(text.as_bytes()));
                out::note("copied, if the terminal lets programs do so");
            }
        }
    }

    /// Writes the conversation as Markdown.
    async fn save(&self, path: &str) -> Result<(), Failure> {
        if path.is_empty() {
            out::note("/save FILE names the file");
            return Ok(());
        }
        let Some(run) = &self.so_far.last else {
            out::note("nothing was said yet");
            return Ok(());
        };
        let path = expanded(path);
        let mut text = String::new();
        let state = load(&*self.store(), run.id()).await?;
        for message in state.history().iter() {
            let (who, content) = match &**message {
                Message::User { content, .. } | Message::TaskDelegation { content } => {
                    ("You", content.text().into_owned())
                }
                Message::Assistant(reply) => {
                    ("Agent", reply.text_without_calls().unwrap_or_default().to_string())
                }
                Message::System { .. } | Message::Tool(_) => continue,
            };
            if !content.trim().is_empty() {
                let _infallible = write!(text, "## {who}\n\n{}\n\n", content.trim());
            }
        }
        let mut options = std::fs::OpenOptions::new();
        let opened = options.write(true).create_new(true).open(&path);
        let written = opened.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        match written {
            Ok(()) => out::note(format_args!("written to {}", path.display())),
            Err(error) => {
                let failure = Failure::new(Exit::Failed, format!("cannot write {}", path.display()));
                let exists = error.kind() == std::io::ErrorKind::AlreadyExists;
                let failure = failure.cause(error.to_string());
                return Err(if exists {
                    failure.hint("name another file: nothing is replaced")
                } else {
                    failure
                });
            }
        }
        Ok(())
    }

    /// Refuses the name of a session that is there: another one is to begin.
    async fn is_free(&self, wanted: &str) -> Result<(), Failure> {
        let taken = !wanted.is_empty()
            && self.store().head(&Owner::default(), &SessionId::from(wanted)).await?.is_some();
        if !taken {
            return Ok(());
        }
        let failure = Failure::new(Exit::Usage, format!("session `{}` has begun already", name(wanted)));
        Err(failure.hint(format!("/sessions {wanted} goes on with it")))
    }

    /// Begins another session.
    fn begin(&mut self, wanted: &str) {
        let session = if wanted.is_empty() { new_session() } else { SessionId::from(wanted) };
        self.change_session(session);
        self.so_far.head = None;
        self.so_far.last = None;
        self.so_far.answer = None;
    }

    /// A name that follows the session's, for another way from an earlier place.
    async fn next_name(&self) -> Result<SessionId, Failure> {
        if is_unnamed(&self.session) {
            return Ok(new_session());
        }
        let name = self.session.as_str();
        let (stem, number) = match name.rsplit_once('-') {
            Some((stem, number)) => number.parse().map_or((name, 1), |number: u32| (stem, number)),
            None => (name, 1),
        };
        let store = self.store();
        let mut next = number.saturating_add(1);
        loop {
            let name = SessionId::from(format!("{stem}-{next}"));
            if store.head(&Owner::default(), &name).await?.is_none() {
                return Ok(name);
            }
            next = next.saturating_add(1);
        }
    }

    fn change_session(&mut self, session: SessionId) {
        if !is_unnamed(&self.session) {
            let (old, new) = (name(self.session.as_str()), name(session.as_str()));
            out::note(format_args!("now in session `{new}`; `{old}` stays as it was"));
        }
        self.session = session;
        self.so_far.base = None;
        self.so_far.allowed.clear();
        if let Some(face) = &self.face {
            face.status(|status| status.context = 0);
        }
        if let Speaker::There(talk) = &mut self.speaker {
            talk.change_session(self.session.clone());
        }
        self.show_session();
    }

    /// Shows the session's name, if it has one.
    pub(super) fn show_session(&self) {
        let words = if is_unnamed(&self.session) { String::new() } else { self.session.as_str().to_owned() };
        if let Some(face) = &self.face {
            face.status(|status| status.session = words);
        } else {
            out::note(format_args!("session: {}", self.session));
        }
    }

    async fn sessions(&mut self, wanted: &str) -> Result<(), Failure> {
        let store = self.store();
        if !wanted.is_empty() {
            let known = store.head(&Owner::default(), &SessionId::from(wanted)).await?;
            if known.is_none() && self.local.is_some() {
                return Err(unknown(Some(&*store), wanted).await?);
            }
            self.begin(wanted);
            return Box::pin(self.join()).await;
        }
        let mut listed = sessions(&*store).await?;
        listed.retain(|session| session.held && !is_unnamed(&session.id));
        listed.truncate(SESSIONS);
        if listed.is_empty() {
            out::note("no session has a name yet; /new NAME begins one");
        }
        for session in &listed {
            let (id, runs) = (name(session.id.as_str()), count(session.runs as u64, "run"));
            let first = cut(&session.first.title, SHORT);
            out::note(format_args!("{id}  {}  {runs}  {first}", time(session.newest.updated_at)));
        }
        self.offer(listed.iter().map(|session| session.id.as_str().to_owned()).collect());
        Ok(())
    }

    /// Offers these sessions as one types.
    pub(super) fn offer(&self, sessions: Vec<String>) {
        if let Some(face) = &self.face {
            face.completes(Arc::new(Words { sessions }));
        }
    }

    /// Goes on in another session from here.
    async fn fork(&mut self, wanted: &str) -> Result<(), Failure> {
        self.only_here("/fork")?;
        let Some(base) = self.so_far.base.or(self.so_far.head) else {
            out::note("nothing was said that could be forked");
            return Ok(());
        };
        self.is_free(wanted).await?;
        let session = if wanted.is_empty() { self.next_name().await? } else { SessionId::from(wanted) };
        let left = self.stands_in();
        self.change_session(session);
        self.so_far.base = Some(base);
        self.so_far.left = Some(left);
        out::note("the next message goes on from here");
        Ok(())
    }

    /// Goes back to before the last message, which it returns.
    async fn undo(&mut self) -> Result<Option<Input>, Failure> {
        self.only_here("/undo")?;
        let Some(Turn { run, .. }) = self.so_far.base.or(self.so_far.head) else {
            out::note("there is no message to take back");
            return Ok(None);
        };
        let store = self.store();
        let batches = RunPages::new(&*store, run).next().await?.unwrap_or_default();
        let start = batches.iter().flat_map(numbered).find_map(|(_, event)| match &event.fact {
            Fact::Run(RunFact::Started(start)) => Some(start.clone()),
            _ => None,
        });
        let Some(start) = start else { return Ok(None) };
        let content = match &start.input {
            RunInput::Messages(messages) => messages.iter().find_map(|message| match &**message {
                Message::User { content, .. } => Some(content.clone()),
                Message::System { .. }
                | Message::TaskDelegation { .. }
                | Message::Assistant(_)
                | Message::Tool(_) => None,
            }),
            RunInput::Continue(_) | RunInput::Fork(_) => None,
        };
        let input = content.map(|content| Input::again(&content)).unwrap_or_default();
        let base = start.base.as_ref().map(|base| Turn { run: base.run, version: base.version });
        let session = self.next_name().await?;
        let left = self.stands_in();
        self.change_session(session);
        self.so_far.base = base;
        self.so_far.left = Some(left);
        self.so_far.head = None;
        self.so_far.last = None;
        let short = cut(input.text(), SHORT);
        out::note(format_args!("back to before: {short} (run {run} stays in the log)"));
        Ok(Some(input))
    }

    /// The session that has the messages so far.
    fn stands_in(&self) -> SessionId {
        let left = self.so_far.left.clone().filter(|_| self.so_far.base.is_some());
        left.unwrap_or_else(|| self.session.clone())
    }

    fn only_here(&self, command: &str) -> Result<(), Failure> {
        match &self.speaker {
            Speaker::Here(_) => Ok(()),
            Speaker::There(_) => {
                Err(Failure::new(Exit::Usage, format!("{command} works on a log, and not on a server")))
            }
        }
    }
}
