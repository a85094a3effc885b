//! The conversation that a run of the command line joins or begins.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use windlass_core::policy::Memory;
use windlass_core::text::nearest;
use windlass_core::{Message, Owner, RunState, SessionId, State};
use windlass_read::json;
use windlass_read::words::{count, cut, name, time};
use windlass_read::{ListPages, load};
use windlass_runtime::agent_file::{AgentFile, FileOverrides};
use windlass_runtime::kept_files_of;
use windlass_store::{RunFilter, RunSummary, Store};

use crate::agents;
use crate::drive::Words;
use crate::failure::{Exit, Failure};
use crate::home::quoted;
use crate::out;
use crate::view::View;

/// The most runs that are looked at to find a session's name.
const MOST_RUNS: usize = 2_000;
/// Characters of a name from which on another one may be a slip: of short names most are alike.
const SURE: usize = 4;
/// The newest runs of an agent, among which an interrupted one is of interest.
const NEWEST_RUNS: usize = 20;
/// Characters of a run's title in a note.
const TITLE: usize = 30;
/// Maximum number of characters of a message in a recap.
const RECAP_CHARS: usize = 160;

/// The session of a run.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SessionArgs {
    /// Go on with the conversation of this name, or begin it
    #[arg(long = "session", id = "session", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Go on with the newest conversation of this agent, named or not
    #[arg(short = 'c', long = "continue", conflicts_with = "session")]
    go_on: bool,
    /// Let this agent go on with a conversation that another agent led
    #[arg(long, requires = "session")]
    hand_over: bool,
}

/// Whether two names differ in their numbers alone: each is meant.
fn is_numbered_alike(one: &str, other: &str) -> bool {
    let stem = |name: &str| name.trim_end_matches(|char: char| char.is_ascii_digit()).to_owned();
    stem(one) == stem(other)
}

/// Whether it is the id of a conversation that nobody named.
pub(crate) fn is_unnamed(id: &SessionId) -> bool {
    let id = id.as_str();
    let uuid = uuid::Uuid::try_parse(id).ok().filter(|_| id.len() == 32);
    uuid.is_some_and(|uuid| uuid.get_version_num() == 7)
}

/// The failure that there is no such session, with the nearest one.
pub(crate) async fn unknown(log: Option<&dyn Store>, session: &str) -> Result<Failure, Failure> {
    let near = match log {
        Some(log) => near(log, session).await?,
        None => None,
    };
    let hint = near.map(|near| format!("did you mean `{near}`?"));
    Ok(Failure::new(Exit::Failed, format!("there is no session `{session}`"))
        .hint(hint.unwrap_or_else(|| "`windlass sessions list --all` lists all sessions".to_owned())))
}

/// The nearest name of another session, among those of the newest runs.
pub(crate) async fn near(log: &dyn Store, session: &str) -> Result<Option<String>, Failure> {
    let (mut names, mut looked_at) = (BTreeSet::new(), 0);
    let mut pages = ListPages::new(log, RunFilter::default());
    while looked_at < MOST_RUNS {
        let Some(page) = pages.next().await? else { break };
        looked_at += page.len();
        names.extend(page.into_iter().filter_map(|run| run.session).filter(|id| !is_unnamed(id)));
    }
    let others = names.iter().map(SessionId::as_str).filter(|name| *name != session);
    Ok(nearest(session, others).into_iter().next().map(|near| name(&near)))
}

/// A conversation whose process ended amid a turn.
pub(crate) struct Interrupted {
    /// Its id; `None`: it is the newest one of its agent.
    pub(crate) session: Option<SessionId>,
    /// The turn's message, in a few words.
    pub(crate) title: String,
}

/// The newest runs of an agent that no other run has started.
pub(crate) async fn newest_of_agent(agent: &str, log: &dyn Store) -> Result<Vec<RunSummary>, Failure> {
    let filter = RunFilter { agent: Some(agent.into()), limit: NEWEST_RUNS, ..RunFilter::default() };
    let mut runs = log.list(filter).await?.items;
    runs.retain(|run| run.parent.is_none());
    Ok(runs)
}

/// The newest interrupted conversation of an agent, among its newest runs.
pub(crate) async fn interrupted(agent: &str, log: &dyn Store) -> Result<Option<Interrupted>, Failure> {
    let runs = newest_of_agent(agent, log).await?;
    let newest = runs.iter().find_map(|run| run.session.as_ref());
    for run in runs.iter().filter(|run| run.is_interrupted()) {
        let Some(session) = &run.session else { continue };
        if log.head(&Owner::default(), session).await? == Some(run.run) {
            let session = (newest != Some(session)).then(|| session.clone());
            return Ok(Some(Interrupted { session, title: cut(&run.title, TITLE) }));
        }
    }
    Ok(None)
}

impl SessionArgs {
    /// Whether the agent may take over another one's conversation.
    pub(crate) fn hands_over(&self) -> bool {
        self.hand_over
    }

    /// Whether it takes a log to know the conversation.
    pub(crate) fn is_newest(&self) -> bool {
        self.go_on
    }

    /// The same, with the name of the newest conversation where that is wanted.
    pub(crate) async fn found(self, file: &AgentFile, log: &dyn Store) -> Result<Self, Failure> {
        if !self.go_on {
            return Ok(self);
        }
        let own = RunFilter { agent: Some(file.name.as_str().into()), ..RunFilter::default() };
        let (mut pages, mut looked_at) = (ListPages::new(log, own), 0);
        while looked_at < MOST_RUNS {
            let Some(page) = pages.next().await? else { break };
            looked_at += page.len();
            let newest = page.into_iter().find(|run| run.parent.is_none() && run.session.is_some());
            if let Some(session) = newest.and_then(|run| run.session) {
                return Ok(Self { name: Some(session.as_str().to_owned()), ..self });
            }
        }
        let failure =
            Failure::new(Exit::Failed, format!("agent `{}` has led no conversation yet", name(&file.name)));
        Err(failure.hint(
            "leave `--continue` out to begin one; `windlass sessions list --all` lists those of all agents",
        ))
    }

    /// The settings that the command line gave to the last run of the named session, if that run has not ended. `None`: it has, or another
    /// agent led it, or its settings are not known.
    pub(crate) async fn unfinished(
        &self,
        file: &AgentFile,
        log: &dyn Store,
    ) -> Result<Option<FileOverrides>, Failure> {
        let Some(session) = self.name.as_deref() else { return Ok(None) };
        let Some(head) = log.head(&Owner::default(), &SessionId::from(session)).await? else {
            return Ok(None);
        };
        let last = log.summary(head).await?;
        if matches!(last.run_state, RunState::Ended(_)) || *last.agent != *file.name {
            return Ok(None);
        }
        let kept = kept_files_of(log, &load(log, head).await?).await?;
        Ok(kept.map(|kept| kept.overrides))
    }

    /// Checks that this agent may join the named session, and says how the session stands.
    pub(crate) async fn check(
        &self,
        file: &AgentFile,
        log: &dyn Store,
        view: &mut View,
        words: &Words,
    ) -> Result<(), Failure> {
        let Some(session) = self.name.as_deref() else { return Ok(()) };
        if session.trim().is_empty() {
            return Err(Failure::new(Exit::Usage, "the name of the session is empty")
                .hint("give it a name, or leave `--session` out"));
        }
        if file.policy()?.past.memory == Memory::Off {
            view.remark("session: null-session (`memory` is off: nothing is remembered)");
            return Ok(());
        }
        let Some(last) = log.head(&Owner::default(), &SessionId::from(session)).await? else {
            let near = if session.chars().count() < SURE { None } else { near(log, session).await? };
            let near = near.filter(|near| !is_numbered_alike(near, session));
            let near = near.map(|near| format!("; did you mean `{near}`?"));
            view.remark(&format!("session `{}` is new{}", name(session), near.unwrap_or_default()));
            return Ok(());
        };
        let last = log.summary(last).await?;
        if !self.hand_over {
            check_leader(session, &last, &file.name, log, words).await?;
        }
        if out::stderr_is_terminal() {
            recap(session, &last, &load(log, last.run).await?, view);
        }
        Ok(())
    }
}

/// Refuses a session whose last run is another agent's.
pub(crate) async fn check_leader(
    session: &str,
    last: &RunSummary,
    agent: &str,
    log: &dyn Store,
    words: &Words,
) -> Result<(), Failure> {
    if *last.agent == *agent {
        return Ok(());
    }
    let state = load(log, last.run).await?;
    let its_own = file_of(log, &state).await?.map(|file| Words { file: Some(file), ..words.clone() });
    Err(led_by_another(session, last, agent, its_own))
}

/// The refusal to join another agent's session, with the command that goes on with its own agent.
fn led_by_another(session: &str, last: &RunSummary, agent: &str, its_own: Option<Words>) -> Failure {
    let (session, leader) = (name(session), name(&last.agent));
    let failure = Failure::new(
        Exit::Usage,
        format!("session `{session}` was led by agent `{leader}`, but this agent is `{}`", name(agent)),
    );
    let go_on = its_own.map(|words| {
        format!("`{} --session {} ...` goes on with `{leader}`", words.again(), quoted(&session))
    });
    failure.maybe_hint(go_on).hint(format!("`--hand-over` lets `{}` go on with it", name(agent)))
}

/// The file that the run's agent came from, if it is still there.
async fn file_of(log: &dyn Store, state: &State) -> Result<Option<String>, Failure> {
    let file = kept_files_of(log, state).await?.map(|kept| agents::file_of(&kept));
    let is_there = |file: &PathBuf| crate::assistant::is(file) || file.exists();
    Ok(file.filter(is_there).map(|file| file.display().to_string()))
}

/// How the conversation stands, in a few lines.
fn recap(session: &str, last: &RunSummary, state: &State, view: &mut View) {
    let line = |message: &Message| match message {
        Message::User { content, .. } | Message::TaskDelegation { content } => {
            Some(("you", content.text().into_owned()))
        }
        Message::Assistant(reply) => {
            let text = reply.text_without_calls().unwrap_or_default().to_string();
            (!text.trim().is_empty()).then_some(("agent", text))
        }
        Message::System { .. } | Message::Tool(_) => None,
    };
    let messages: Vec<_> = state.history().iter().filter_map(|message| line(message)).collect();
    view.remark(&format!(
        "session `{}`: {}, the last run {} ({})",
        name(session),
        count(messages.len() as u64, "message"),
        time(last.updated_at),
        json::listed_state(last)
    ));
    if out::frames::is_drawn() {
        // The conversation shows its last turn as it was.
        return;
    }
    let asked = messages.iter().rposition(|(who, _)| *who == "you").unwrap_or_default();
    let answer = messages.iter().skip(asked + 1).next_back();
    for (who, text) in messages.get(asked).into_iter().chain(answer) {
        view.remark(&format!("  {who}: {}", cut(text, RECAP_CHARS)));
    }
}
