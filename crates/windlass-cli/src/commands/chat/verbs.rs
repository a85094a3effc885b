//! The commands of a conversation at work.

use std::fmt::Write as _;
use std::sync::Arc;

use data_encoding::BASE64;
use windlass_core::event::{PeopleFact, RunInput};
use windlass_core::{Fact, Message, Owner, RunId, SessionId};
use windlass_read::reports::{Session, sessions};
use windlass_read::words::{count, cut, name, time};
use windlass_read::{RunPages, load_until, start_of};
use windlass_store::Log;

use super::commands::{self, Words, expanded, tell};
use super::{Chat, NO_ANSWER, SHORT, Speaker};
use crate::agents;
use crate::asking::Roots;
use crate::attachments::AttachArgs;
use crate::commands::run::new_session;
use crate::drive::{Commands as _, typed_as};
use crate::failure::{Exit, Failure};
use crate::input::Input;
use crate::out;
use crate::session::{check_leader, is_unnamed, unknown};
use crate::view::table::aligned;

/// Sessions that are listed.
const SESSIONS: usize = 20;
/// The most bytes that a terminal takes for its clipboard: 74,994, so that the sequence has 100,000 (xterm, OSC 52).
const CLIPBOARD: usize = 74_994;

impl Chat {
    /// Carries out a command. `false`: the conversation is over.
    pub(super) async fn command(&mut self, word: &str, rest: &str) -> Result<bool, Failure> {
        let Some(command) = commands::found(word) else {
            out::note(commands::unknown(&cut(word, SHORT)));
            return Ok(true);
        };
        if command.takes_nothing() && !rest.is_empty() {
            out::note(format_args!("{} takes no words", command.name));
            return Ok(true);
        }
        match command.name {
            "/quit" => {
                self.goodbye();
                return Ok(false);
            }
            "/model" if !rest.is_empty() => Box::pin(self.model(rest)).await?,
            "/attach" => self.attach(rest)?,
            "/copy" => self.copy(),
            "/save" => self.save(rest)?,
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
            "/queue" => {
                out::note("/queue TEXT sends a message once the agent has finished: it is not working now");
            }
            name => match self.reports().text(name) {
                Some(text) => tell(&text),
                None => out::note("the agent is not working; type the message alone"),
            },
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

    /// Goes on with another model.
    async fn model(&mut self, wanted: &str) -> Result<(), Failure> {
        if let Speaker::Here(agent) = &self.speaker
            && self.open_run(agent).await?.is_some()
        {
            let failure =
                Failure::new(Exit::Usage, "the turn that waits goes on with the model that began it");
            return Err(failure.hint(
                "your next message puts its question again, and /stop ends it; then /model takes another model",
            ));
        }
        let Some(local) = self.local.as_mut() else {
            out::note(self.reports().models());
            return Ok(());
        };
        let overrides =
            crate::overrides::Overrides { model: Some(wanted.to_owned()), ..local.overrides.clone() };
        let file = agents::read(&local.path, &overrides)?;
        let (log, cassette) = (local.log.clone(), local.cassette.clone());
        let assembly = agents::start(&file, &overrides, &log, cassette, &mut self.interrupts).await?;
        assembly.chosen.iter().for_each(out::note);
        local.overrides = overrides;
        // The file may have changed since: questions show the calls of the tools that it has now.
        if let Some(terminal) = &self.terminal {
            terminal.asks_within(Roots::of(&file));
        }
        self.speaker = Speaker::Here(assembly.agent);
        self.show_model();
        out::note(format_args!("the next message goes to {}", name(wanted)));
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
    fn save(&self, path: &str) -> Result<(), Failure> {
        if path.is_empty() {
            out::note("/save FILE names the file");
            return Ok(());
        }
        let Some(state) = &self.so_far.state else {
            out::note("nothing was said yet");
            return Ok(());
        };
        let path = expanded(path);
        let mut text = String::new();
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
        self.so_far.begins();
        self.change_session(session);
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
        if !is_unnamed(&self.session) && session != self.session {
            let (old, new) = (name(self.session.as_str()), name(session.as_str()));
            out::note(format_args!("now in session `{new}`; `{old}` stays as it was"));
        }
        self.session = session;
        self.show_context();
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
            let head = store.head(&Owner::default(), &SessionId::from(wanted)).await?;
            let known = head.is_some();
            if let (Speaker::Here(agent), Some(head)) = (&self.speaker, head) {
                let last = store.summary(head).await?;
                check_leader(wanted, &last, agent.name(), &*store, &self.words).await?;
            }
            let place =
                wanted.parse::<usize>().ok().filter(|_| !known).and_then(|place| place.checked_sub(1));
            let listed = place.and_then(|place| self.so_far.listed.get(place).cloned());
            if !known && listed.is_none() && self.local.is_some() {
                return Err(unknown(Some(&*store), wanted).await?);
            }
            self.begin(listed.as_ref().map_or(wanted, SessionId::as_str));
            return Box::pin(self.join()).await;
        }
        let mut listed = sessions(&*store).await?;
        // Another agent's conversation is not to be taken over by a number.
        let is_own = |session: &Session| match &self.speaker {
            Speaker::Here(agent) => *session.newest.agent == **agent.name(),
            Speaker::There(_) => true,
        };
        listed.retain(|session| session.held && is_own(session));
        listed.truncate(SESSIONS);
        if listed.is_empty() {
            out::note("the agent has no session yet");
            return Ok(());
        }
        let cells = |(session, place): (&Session, usize)| {
            let named = Some(&session.id).filter(|id| !is_unnamed(id)).map(|id| name(id.as_str()));
            let this = if session.id == self.session { "this one: " } else { "" };
            [
                format!("{place:>2}"),
                named.unwrap_or_default(),
                time(session.newest.updated_at),
                count(session.runs as u64, "run"),
                format!("{this}{}", cut(&session.first.title, SHORT)),
            ]
        };
        let rows: Vec<_> = listed.iter().zip(1..).map(cells).collect();
        aligned(&rows).iter().for_each(out::note);
        out::note("/sessions NUMBER or /sessions NAME goes on with one");
        let ids: Vec<SessionId> = listed.into_iter().map(|session| session.id).collect();
        let named = ids.iter().filter(|id| !is_unnamed(id));
        self.offer(named.map(|id| id.as_str().to_owned()).collect());
        self.so_far.listed = ids;
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
        let Some(state) = self.so_far.state.clone() else {
            out::note("nothing was said that could be forked");
            return Ok(());
        };
        self.is_free(wanted).await?;
        let session = if wanted.is_empty() { self.next_name().await? } else { SessionId::from(wanted) };
        self.so_far.branches(Some(state), self.stands_in());
        self.change_session(session);
        out::note("the next message goes on from here");
        Ok(())
    }

    /// Goes back to before the last message, which it returns.
    async fn undo(&mut self) -> Result<Option<Input>, Failure> {
        self.only_here("/undo")?;
        let Some(run) = self.so_far.state.as_ref().map(|state| state.run()) else {
            out::note("there is no message to take back");
            return Ok(None);
        };
        let store = self.store();
        let start = start_of(&*store, run).await?;
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
        let from = match &start.base {
            Some(base) => Some(Arc::new(load_until(&*store, base.run, base.version).await?)),
            None => None,
        };
        let steering = match steering(&*store, run).await? {
            0 => String::new(),
            messages => format!(" and {} that steered its turn", count(messages, "message")),
        };
        // A session that no message has begun stays the one that the next message begins.
        let session = if self.so_far.left.is_some() { None } else { Some(self.next_name().await?) };
        self.so_far.branches(from, self.stands_in());
        self.change_session(session.unwrap_or_else(|| self.session.clone()));
        let short = cut(input.text(), SHORT);
        out::note(format_args!("back to before: {short}{steering} (run {run} stays in the log)"));
        Ok(Some(input))
    }

    /// The session that has the messages so far.
    fn stands_in(&self) -> SessionId {
        self.so_far.left.clone().unwrap_or_else(|| self.session.clone())
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

/// How many messages steered a run.
async fn steering(log: &dyn Log, run: RunId) -> Result<u64, Failure> {
    let (mut pages, mut messages) = (RunPages::new(log, run), 0);
    while let Some(batches) = pages.next().await? {
        let events = batches.iter().flat_map(|batch| batch.events.iter());
        let steered = events.filter(|event| matches!(event.fact, Fact::People(PeopleFact::Steered(_))));
        messages += steered.count() as u64;
    }
    Ok(messages)
}
