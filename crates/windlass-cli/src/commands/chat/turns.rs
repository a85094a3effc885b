//! A turn of a conversation: the message, the run that answers it, and what is left of it.

use std::path::Path;
use std::sync::Arc;

use windlass_core::event::ResumedBy;
use windlass_core::policy::WhileRunning;
use windlass_core::{Owner, RunId, RunState};
use windlass_read::load;
use windlass_runtime::{Agent, DriveOptions, Error, ForkOptions, People, Prepared, Run};

use super::{Chat, Reports, Speaker, commands};
use crate::agents::{self, Again, changed};
use crate::drive::{Driven, Listening, drive_and_show, typed_as, verdict};
use crate::failure::{Exit, Failure};
use crate::input::Input;
use crate::out;
use crate::view::View;

impl Chat {
    fn options(&self) -> DriveOptions {
        let people = self.terminal.clone().map(|terminal| terminal as Arc<dyn People>);
        DriveOptions {
            hold_for_quota: people.is_some(),
            people,
            session: Some(self.session.clone()),
            ..DriveOptions::default()
        }
    }

    /// The message and the files that go with it.
    fn message(&mut self, text: &str) -> Result<Input, Failure> {
        let mut files = self.so_far.attached.clone();
        // What another program pipes in names no files.
        if self.terminal.is_some() {
            let mentioned = commands::mentioned(text);
            files.extend(mentioned.files);
            mentioned.notes.iter().for_each(out::note);
        }
        files.dedup();
        Input::typed(text, files)
    }

    /// The files are on their way.
    fn sent(&mut self) {
        self.so_far.is_sent = true;
        self.so_far.attached.clear();
        if let Some(face) = &self.face {
            face.status(|status| status.attached = 0);
        }
    }

    pub(super) async fn turn(&mut self, text: &str) -> Result<(), Failure> {
        self.so_far.is_sent = false;
        let done = match self.message(text) {
            Ok(input) => Box::pin(self.send(input)).await,
            Err(failure) => Err(failure),
        };
        // A message that nobody took is there to be sent again.
        if let (Err(_), false, Some(face)) = (&done, self.so_far.is_sent, &self.face) {
            face.put(&typed_as(text));
        }
        done
    }

    /// Sends a message, and shows what the agent does about it.
    pub(super) async fn send(&mut self, input: Input) -> Result<(), Failure> {
        let (text, names) = (input.text().to_owned(), input.names().to_vec());
        let agent = match &self.speaker {
            Speaker::Here(agent) => agent.clone(),
            Speaker::There(talk) => {
                let input = input.for_server()?;
                self.echo(&text, &names);
                let face = self.face.as_ref();
                let reports = Reports { speaker: &self.speaker, so_far: &self.so_far, face };
                let done = Box::pin(talk.turn(input, &reports, &mut self.interrupts)).await;
                return self.done(done).await;
            }
        };
        let messages = input.messages();
        if let (Some(from), Some(_)) = (&self.so_far.state, &self.so_far.left) {
            let how = ForkOptions { at: from.version(), changed: true, say: Some(messages) };
            let fork = agent.fork(from.run(), how, self.options()).await?;
            self.so_far.left = None;
            self.echo(&text, &names);
            self.sent();
            return Box::pin(self.drive(&agent, fork.prepared, None)).await;
        }
        let prepared = match agent.prepare(messages.clone(), self.options()).await {
            // A question that was left for later is put again first.
            Err(Error::SessionBusy { .. }) if self.terminal.is_some() => {
                Box::pin(self.unfinished()).await?;
                if self.quits() {
                    return Ok(());
                }
                if self.open_run(&agent).await?.is_some() {
                    self.kept(&text);
                    return Ok(());
                }
                agent.prepare(messages, self.options()).await?
            }
            prepared => prepared?,
        };
        self.echo(&text, &names);
        self.sent();
        Box::pin(self.drive(&agent, prepared, None)).await
    }

    /// The message stands above its answer, below the question that came first.
    fn echo(&self, text: &str, files: &[String]) {
        if let Some(face) = &self.face {
            face.echo(text, files);
        }
    }

    /// A message that cannot be sent yet is there to be sent again.
    fn kept(&self, text: &str) {
        out::note("your message was not sent: the run before it has not ended");
        match &self.face {
            Some(face) => face.put(&typed_as(text)),
            None => out::note(format_args!("it was: {text}")),
        }
    }

    async fn drive(
        &mut self,
        agent: &Agent,
        prepared: Prepared,
        earlier: Option<&windlass_core::State>,
    ) -> Result<(), Failure> {
        let host = agents::hosted(agent.log().clone());
        let mut view = View::new(self.view).logged(&self.words.log).brief();
        if let Some(state) = earlier {
            view.recall(state);
        }
        let live = host.drive(agent, prepared);
        let face = self.face.as_ref();
        let reports = Reports { speaker: &self.speaker, so_far: &self.so_far, face };
        let listening = self.terminal.as_deref().map(|terminal| {
            terminal.come_back();
            let queues = agent.policy().past.while_running == WhileRunning::Queue;
            Listening { terminal, face, queues, commands: &reports }
        });
        let driven = Driven { agent, host: &host, words: &self.words };
        let driving = drive_and_show(live, view, &mut self.interrupts, driven, listening);
        let (run, view) = Box::pin(driving).await?;
        self.ended(&run, view).await
    }

    /// A turn on a server is over here.
    async fn done(&mut self, done: Result<Option<(Run, View)>, Failure>) -> Result<(), Failure> {
        if let Some(face) = &self.face {
            face.rest();
        }
        let done = done?;
        self.sent();
        match done {
            Some((run, view)) => self.ended(&run, view).await,
            None => Ok(()),
        }
    }

    /// A turn has ended, or waits.
    async fn ended(&mut self, run: &Run, mut view: View) -> Result<(), Failure> {
        self.so_far.total.add(run);
        let verdict = verdict(run, &self.words);
        let log = self.store();
        self.so_far.stands(run.state().clone());
        let cost = self.so_far.total.cost_usd;
        if let Some(face) = &self.face {
            face.rest();
            face.status(|status| status.cost_usd = cost);
        }
        view.left(&*log, run, verdict.as_ref().err()).await?;
        view.close()?;
        match verdict {
            Err(failure) if failure.exit == Exit::Cancelled && self.terminal.is_some() && !self.quits() => {
                self.give_back_queued();
                // A face has the line above with the turn's end, and its prompt below.
                if self.face.is_none() {
                    out::note("cancelled; the conversation continues");
                }
                Ok(())
            }
            Err(failure)
                if failure.exit == Exit::Suspended
                    && self.face.is_some()
                    && !self.quits()
                    && !run.state().questions().is_empty() =>
            {
                out::note(
                    "the run waits for an answer: your next message puts the question again first, and /stop ends the run",
                );
                Ok(())
            }
            Err(failure) if failure.exit == Exit::Suspended && self.terminal.is_some() && !self.quits() => {
                Err(failure.hint("here your next message puts the question again first; /stop ends its run"))
            }
            verdict => verdict.map(drop),
        }
    }

    /// Messages that waited for the end of a turn that was stopped are there to be sent: nobody wants the next turn at once.
    fn give_back_queued(&self) {
        let waiting: Vec<String> = std::iter::from_fn(|| self.queued()).map(|text| typed_as(&text)).collect();
        match &self.face {
            Some(face) => face.give_back(&waiting),
            None => waiting.iter().for_each(|text| out::note(format_args!("not sent: {text}"))),
        }
    }

    /// The session's last run, if it has not ended.
    pub(super) async fn open_run(&self, agent: &Agent) -> Result<Option<RunId>, Failure> {
        let log = agent.log();
        let Some(head) = log.head(&Owner::default(), &self.session).await? else { return Ok(None) };
        let ended = matches!(log.summary(head).await?.run_state, RunState::Ended(_));
        Ok((!ended).then_some(head))
    }

    /// Continues the last run of a conversation first if it is suspended or was interrupted.
    pub(super) async fn unfinished(&mut self) -> Result<(), Failure> {
        let agent = match &self.speaker {
            Speaker::Here(agent) => agent.clone(),
            Speaker::There(talk) => {
                let face = self.face.as_ref();
                let reports = Reports { speaker: &self.speaker, so_far: &self.so_far, face };
                let done = Box::pin(talk.unfinished(&reports, &mut self.interrupts)).await;
                let done = self.done(done).await;
                return self.unless_reported(done);
            }
        };
        let Some(run) = self.open_run(&agent).await? else { return Ok(()) };
        let state = load(&**agent.log(), run).await?;
        // An interactive user wants to continue.
        let options = DriveOptions { resumed_by: ResumedBy::Person, ..self.options() };
        let prepared = agent.resume(run).options(options).prepare().await;
        let prepared = prepared.map_err(|error| {
            let again = Again::new(format!("windlass runs resume{} {}", self.words.log, run));
            changed(error, Path::new(self.words.file.as_deref().unwrap_or("FILE")), &again)
        })?;
        self.going_on(run);
        let done = Box::pin(self.drive(&agent, prepared, Some(&state))).await;
        self.unless_reported(done)
    }

    /// At a terminal the user sees the error of an earlier run, and the chat begins.
    fn unless_reported(&self, done: Result<(), Failure>) -> Result<(), Failure> {
        match done {
            Err(failure)
                if self.terminal.is_some() && failure.exit != Exit::Internal && !failure.exit.is_left() =>
            {
                failure.show();
                Ok(())
            }
            done => done,
        }
    }

    fn going_on(&self, run: RunId) {
        if !self.view.quiet {
            out::note(format_args!("continuing run {run}, which had not ended"));
        }
    }
}
