//! `windlass chat` on a server: a conversation with one of its agents, turn after turn.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_api::{CancelRun, Input, PauseRun, SessionOf, StartRun, SteerRun};
use windlass_core::{RunId, SessionId};
use windlass_read::load;
use windlass_runtime::Run;
use windlass_store::Store;

use super::Server;
use super::following::{Foreground, left};
use super::run::started;
use crate::asking::{Place, Roots, Terminal};
use crate::drive::{Commands, Listening, Verbs, Words};
use crate::face::Face;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::out;
use crate::view::{View, ViewArgs};

/// A conversation with an agent of a server.
pub(crate) struct Talk {
    server: Server,
    agent: String,
    session: SessionId,
    args: ViewArgs,
    words: Words,
    terminal: Option<Arc<Terminal>>,
    face: Option<Face>,
}

impl Talk {
    /// A conversation of that name. Questions are put to the person at the terminal, if there is one.
    pub(crate) fn new(
        server: Server,
        agent: String,
        session: SessionId,
        args: ViewArgs,
        face: Option<Face>,
    ) -> Self {
        let words = Words { log: server.words.clone(), file: Some(agent.clone()), ..Words::default() };
        let place = Place { log: server.store.clone(), roots: Roots::default(), chat: true };
        let terminal = if args.json { None } else { Terminal::within(place, face.clone()) };
        Self { server, agent, session, args, words, terminal, face }
    }

    /// The next turns belong to this session.
    pub(crate) fn change_session(&mut self, session: SessionId) {
        self.session = session;
    }

    /// The words of commands that are suggested.
    pub(crate) fn words(&self) -> &Words {
        &self.words
    }

    /// The person at the terminal.
    pub(crate) fn terminal(&self) -> Option<&Arc<Terminal>> {
        self.terminal.as_ref()
    }

    /// The log of the server.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.server.store.clone()
    }

    /// One turn: the message, and what the agent does about it. `None`: the message has entered a run that goes on.
    pub(crate) async fn turn(
        &self,
        input: Input,
        commands: &dyn Commands,
        interrupts: &mut Interrupts,
    ) -> Result<Option<(Run, View)>, Failure> {
        let mut view = self.view();
        let start = StartRun {
            agent: self.agent.clone(),
            input,
            session: Some(self.session.as_str().to_owned()),
            only_tools: None,
            wait_ms: 0,
        };
        let Some(run) = started(&self.server, &start, &mut view, interrupts).await? else {
            view.close()?;
            return Ok(None);
        };
        Box::pin(self.render(Rendering { run, from_event: None, view }, commands, interrupts)).await.map(Some)
    }

    /// The last run of the conversation, where it has not ended: it is gone on with first.
    pub(crate) async fn unfinished(
        &self,
        commands: &dyn Commands,
        interrupts: &mut Interrupts,
    ) -> Result<Option<(Run, View)>, Failure> {
        let found = self.server.client.session(self.session.as_str(), &SessionOf::default()).await;
        let head = match found {
            Ok(found) => found.head,
            Err(error) if error.reason() == "session.unknown" => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let state = load(&*self.server.store, head).await?;
        if state.ended().is_some() {
            return Ok(None);
        }
        if !self.args.quiet {
            out::note(format_args!("continuing run {head}, which had not ended"));
        }
        let mut view = self.view();
        view.recall(&state);
        let from_event = Some(state.version() + 1);
        Box::pin(self.render(Rendering { run: head, from_event, view }, commands, interrupts)).await.map(Some)
    }

    fn view(&self) -> View {
        View::new(self.args).logged(&self.words.log).brief().within(self.face.as_ref(), None)
    }

    async fn render(
        &self,
        rendering: Rendering,
        commands: &dyn Commands,
        interrupts: &mut Interrupts,
    ) -> Result<(Run, View), Failure> {
        let Rendering { run, from_event, mut view } = rendering;
        let terminal = self.terminal.clone();
        let foreground =
            Foreground { server: &self.server, run, from_event, goes_on: false, terminal: terminal.clone() };
        let driving = Box::pin(foreground.drive(&mut view, interrupts, &self.words));
        let ended = match terminal {
            Some(terminal) => {
                terminal.come_back();
                let face = self.face.as_ref();
                // What becomes of a message is the server's to say.
                let listening = Listening { terminal: &terminal, face, queues: false, commands };
                let there = There { server: &self.server, run };
                tokio::select! {
                    done = driving => done?,
                    () = listening.listen(&there) => return Err(left(run, &self.words, Exit::Suspended)),
                }
            }
            None => driving.await?,
        };
        Ok((ended, view))
    }
}

/// A run that is shown from an event on.
struct Rendering {
    run: RunId,
    from_event: Option<u64>,
    view: View,
}

/// A run of a server that goes on.
struct There<'t> {
    server: &'t Server,
    run: RunId,
}

#[async_trait]
impl Verbs for There<'_> {
    async fn steer(&self, text: &str) -> Result<(), Failure> {
        let steer = SteerRun { message: text.to_owned(), ..SteerRun::default() };
        self.server.client.steer(self.run, &steer, None).await?;
        Ok(())
    }

    async fn pause(&self, reason: Option<&str>) -> Result<(), Failure> {
        let pause = PauseRun { reason: reason.map(str::to_owned), ..PauseRun::default() };
        self.server.client.pause(self.run, &pause, None).await?;
        Ok(())
    }

    async fn stop(&self) -> Result<(), Failure> {
        let cancel = CancelRun { reason: Some("/stop".to_owned()), ..CancelRun::default() };
        self.server.client.cancel(self.run, &cancel, None).await?;
        Ok(())
    }

    fn leave(&self) -> bool {
        true
    }
}
