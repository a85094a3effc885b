//! `windlass chat`: a conversation, turn after turn.

mod prompt;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use windlass_core::event::ResumedBy;
use windlass_core::model::Usage;
use windlass_core::{Owner, RunId, RunState, SessionId};
use windlass_read::load;
use windlass_read::words::{LINE_CHARS, count, cut, usage};
use windlass_runtime::{Agent, DriveOptions, Error, People, Prepared, Run};

use crate::agents::{self, Again, changed};
use crate::asking::{Place, Roots, Terminal};
use crate::assistant;
use crate::cassettes::{CassetteArgs, played};
use crate::commands::run::new_session;
use crate::drive::{Words, drive, drive_and_listen, verdict};
use crate::failure::{Exit, Failure};
use crate::home::{LogArgs, quoted};
use crate::interrupts::Interrupts;
use crate::out;
use crate::overrides::Overrides;
use crate::remote::{Server, Talk, not_on_a_server};
use crate::session::SessionArgs;
use crate::view::{View, ViewArgs};
use prompt::{Line, Prompt};

const HELP: &str = "\
In the conversation:
  /usage         tokens and cost so far
  /steer TEXT    say something to the agent while it works (any line typed meanwhile does)
  /pause         let the agent pause once its calls have ended
  /quit          leave; so does Ctrl-D
  Ctrl-C         stops the agent's turn; the conversation goes on. At a question it leaves the question for later

Without a terminal each line of stdin is a turn.

Examples:
  windlass chat
  windlass chat agent.yaml
  windlass chat agent.yaml --session trip
  windlass chat agent.yaml --record trip.cassette
  printf '%s\\n' 'What is 2 + 5?' 'And times 3?' | windlass chat agent.yaml --quiet";

const COMMANDS: &str = "\
/usage         tokens and cost so far
/steer TEXT    say something to the agent while it works
/pause         let the agent pause once its calls have ended
/quit          leave";

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

/// Who answers.
enum Speaker {
    /// An agent of this process.
    Here(Agent),
    /// An agent of a server.
    There(Talk),
}

/// A conversation.
struct Chat {
    speaker: Speaker,
    session: SessionId,
    view: ViewArgs,
    words: Words,
    terminal: Option<Arc<Terminal>>,
    interrupts: Interrupts,
    total: Total,
}

/// Usage of the conversation so far.
#[derive(Debug, Default)]
struct Total {
    turns: u64,
    usage: Usage,
    /// The cost of the turns whose prices are known.
    cost_usd: f64,
    /// Whether some price is unknown.
    unpriced: bool,
}

/// Talks until there is no more to say.
pub(crate) async fn run(args: ChatArgs) -> Result<Exit, Failure> {
    if let Some(server) = Server::of(&args.log)? {
        return Box::pin(on_a_server(server, args)).await;
    }
    let mut interrupts = Interrupts::listen()?;
    let path = args.file.map_or_else(assistant::path, Ok)?;
    let file = agents::read(&path, &args.overrides)?;
    let log = args.log.open()?;
    let words = Words { log: args.log.words(), file: Some(path.display().to_string()), ..Words::default() };
    let mut view = View::new(args.view);
    args.session.check(&file, &*log, &mut view, &words).await?;
    let place = Place { log: log.clone(), roots: Roots::of(&file), chat: true };
    let cassette = args.cassette.open()?;
    let assembly = agents::start(&file, &args.overrides, &log, cassette.clone(), &mut interrupts).await?;
    assembly.chosen.iter().for_each(|line| view.remark(line));
    view.warnings(&assembly.warnings);
    view.unmatched(&assembly.unmatched);
    let named = args.session.name.is_some();
    let session = args.session.name.map_or_else(new_session, SessionId::from);
    let terminal = if args.view.json { None } else { Terminal::open(place) };
    if terminal.is_some() {
        view.remark(&format!("session: {session} (/help lists the commands)"));
    }
    let total = Total::default();
    let mut chat = Chat {
        speaker: Speaker::Here(assembly.agent),
        session,
        view: args.view,
        words,
        terminal,
        interrupts,
        total,
    };
    if named {
        Box::pin(chat.unfinished()).await?;
        if chat.quits() {
            chat.goodbye();
            return Ok(Exit::Suspended);
        }
    }
    played(cassette.as_ref(), Box::pin(chat.talk(Prompt::open())).await)
}

/// Talks with an agent of a server.
async fn on_a_server(server: Server, args: ChatArgs) -> Result<Exit, Failure> {
    let interrupts = Interrupts::listen()?;
    let Some(agent) = args.file else {
        return Err(Failure::new(Exit::Usage, "no agent given")
            .hint("`windlass chat --server URL AGENT` talks with an agent of the server"));
    };
    if args.overrides != Overrides::default() || args.cassette.is_given() || args.session.hands_over() {
        return Err(not_on_a_server());
    }
    // One that is not there is said before the first word.
    server.client.agent(&agent.display().to_string()).await?;
    let named = args.session.name.is_some();
    let session = args.session.name.map_or_else(new_session, SessionId::from);
    let talk = Talk::new(server, agent.display().to_string(), session.clone(), args.view);
    let (words, terminal) = (talk.words().clone(), talk.terminal().cloned());
    if terminal.is_some() {
        View::new(args.view).remark(&format!("session: {session} (/help lists the commands)"));
    }
    let (speaker, total) = (Speaker::There(talk), Total::default());
    let mut chat = Chat { speaker, session, view: args.view, words, terminal, interrupts, total };
    if named {
        Box::pin(chat.unfinished()).await?;
        if chat.quits() {
            chat.goodbye();
            return Ok(Exit::Suspended);
        }
    }
    Box::pin(chat.talk(Prompt::open())).await
}

impl Chat {
    async fn talk(&mut self, mut prompt: Prompt) -> Result<Exit, Failure> {
        let mut last = Ok(Exit::Good);
        loop {
            match prompt.line(&mut self.interrupts).await? {
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
        if self.total.turns > 0 && !self.view.quiet {
            let session = quoted(self.session.as_str());
            out::note(format_args!(
                "`{} --session {session}` continues this conversation",
                self.words.chat()
            ));
        }
    }

    /// One line. `false`: the conversation is over.
    async fn line(&mut self, text: &str) -> Result<bool, Failure> {
        match text.split_once(char::is_whitespace).map_or(text, |(word, _)| word) {
            "" => {}
            "/quit" | "/exit" => {
                self.goodbye();
                return Ok(false);
            }
            "/help" => out::note(COMMANDS),
            "/usage" => self.say_usage(),
            "/pause" => out::note("the agent is not running"),
            "/steer" => out::note("the agent is not running; type the message without /steer"),
            command if command.starts_with('/') && !command.trim_start_matches('/').contains('/') => {
                out::note(format_args!("unknown command {}\n{COMMANDS}", cut(command, LINE_CHARS)));
            }
            _ => Box::pin(self.turn(text)).await?,
        }
        Ok(true)
    }

    fn say_usage(&self) {
        let Total { turns, usage: tokens, cost_usd, unpriced } = &self.total;
        let rest = match (unpriced, *cost_usd > 0.0) {
            (false, _) => "",
            (true, true) => " and turns whose price is unknown",
            (true, false) => ", cost unknown",
        };
        out::note(format_args!("{}, {}{rest}", count(*turns, "turn"), usage(tokens, Some(*cost_usd))));
    }

    fn options(&self) -> DriveOptions {
        let people = self.terminal.clone().map(|terminal| terminal as Arc<dyn People>);
        DriveOptions {
            hold_for_quota: people.is_some(),
            people,
            session: Some(self.session.clone()),
            ..DriveOptions::default()
        }
    }

    async fn turn(&mut self, text: &str) -> Result<(), Failure> {
        let agent = match &self.speaker {
            Speaker::Here(agent) => agent.clone(),
            Speaker::There(talk) => {
                return match Box::pin(talk.turn(text, &mut self.interrupts)).await? {
                    Some((run, view)) => self.ended(&run, view).await,
                    None => Ok(()),
                };
            }
        };
        let prepared = match agent.prepare(text, self.options()).await {
            // A question that was left for later is put again first.
            Err(Error::SessionBusy { .. }) if self.terminal.is_some() => {
                Box::pin(self.unfinished()).await?;
                if self.quits() {
                    return Ok(());
                }
                agent.prepare(text, self.options()).await?
            }
            prepared => prepared?,
        };
        Box::pin(self.drive(&agent, prepared, None)).await
    }

    async fn drive(
        &mut self,
        agent: &Agent,
        prepared: Prepared,
        earlier: Option<&windlass_core::State>,
    ) -> Result<(), Failure> {
        let mut view = View::new(self.view).logged(&self.words.log).brief();
        if let Some(state) = earlier {
            view.recall(state);
        }
        let live = agents::hosted(agent.log().clone()).drive(agent, prepared);
        let run = match self.terminal.clone() {
            Some(terminal) => {
                terminal.come_back();
                Box::pin(drive_and_listen(live, &mut view, &mut self.interrupts, &self.words, &terminal))
                    .await?
            }
            None => drive(live, &mut view, &mut self.interrupts, &self.words).await?,
        };
        self.ended(&run, view).await
    }

    /// A turn has ended, or waits.
    async fn ended(&mut self, run: &Run, mut view: View) -> Result<(), Failure> {
        self.total.turns += 1;
        self.total.usage.add(run.usage());
        self.total.cost_usd += run.cost_usd().unwrap_or_default();
        self.total.unpriced |= run.cost_usd().is_none();
        let verdict = verdict(run, &self.words);
        let log = match &self.speaker {
            Speaker::Here(agent) => agent.log().clone(),
            Speaker::There(talk) => talk.store(),
        };
        view.left(&*log, run, verdict.as_ref().err()).await?;
        view.close()?;
        match verdict {
            Err(failure) if failure.exit == Exit::Cancelled && self.terminal.is_some() => {
                out::note("cancelled; the conversation continues");
                Ok(())
            }
            verdict => verdict.map(drop),
        }
    }

    /// Continues the last run of a conversation first if it is suspended or was interrupted.
    async fn unfinished(&mut self) -> Result<(), Failure> {
        let agent = match &self.speaker {
            Speaker::Here(agent) => agent.clone(),
            Speaker::There(talk) => {
                let done = match Box::pin(talk.unfinished(&mut self.interrupts)).await? {
                    Some((run, view)) => self.ended(&run, view).await,
                    None => Ok(()),
                };
                return self.unless_reported(done);
            }
        };
        let log = agent.log();
        let Some(head) = log.head(&Owner::default(), &self.session).await? else { return Ok(()) };
        let last = log.summary(head).await?;
        if matches!(last.run_state, RunState::Ended(_)) {
            return Ok(());
        }
        let state = load(&**log, last.run).await?;
        // An interactive user wants to continue.
        let options = DriveOptions { resumed_by: ResumedBy::Person, ..self.options() };
        let prepared = agent.resume(last.run).options(options).prepare().await;
        let prepared = prepared.map_err(|error| {
            let again = Again::new(format!("windlass runs resume{} {}", self.words.log, last.run));
            changed(error, Path::new(self.words.file.as_deref().unwrap_or("FILE")), &again)
        })?;
        self.going_on(last.run);
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
