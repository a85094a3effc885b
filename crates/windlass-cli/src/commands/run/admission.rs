//! A message to a session whose last run has not ended.

use windlass_core::{RunId, RunState, SessionId};
use windlass_runtime::host::{Host, LiveRun, Start};
use windlass_runtime::{Admitted, Agent, DriveOptions, RunMessages, Turn};
use windlass_store::Store;

use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::view::View;

/// A message to a session, and what its run needs.
pub(super) struct Admission<'a> {
    pub(super) host: &'a Host,
    pub(super) agent: &'a Agent,
    pub(super) session: &'a SessionId,
    pub(super) options: DriveOptions,
    /// The options of the log for the commands in hints.
    pub(super) log_words: &'a str,
}

impl Admission<'_> {
    /// The run that answers the message; `None`: another run does.
    pub(super) async fn admitted(
        self,
        input: RunMessages,
        view: &mut View,
        interrupts: &mut Interrupts,
    ) -> Result<Option<LiveRun>, Failure> {
        let Self { host, agent, session, log_words, .. } = self;
        match host.start(Start::new(agent, input).options(self.options.clone())).await? {
            Admitted::Started(live) => Ok(Some(live)),
            Admitted::Steered { run } => {
                let summary = agent.log().summary(run).await?;
                let open = matches!(summary.run_state, RunState::Running | RunState::Suspended);
                if open && summary.holder.is_none() {
                    view.warn(&format!(
                        "session `{session}` is busy: run {run} has no driver now; the message enters after \
                         `windlass runs resume{log_words} {run}`"
                    ));
                } else {
                    view.remark(&format!("session `{session}` is busy: the message steers run {run}"));
                }
                Ok(None)
            }
            Admitted::Repeated { run } => elsewhere(&**agent.log(), run).await,
            Admitted::Queued { behind, run } => {
                view.remark(&format!(
                    "session `{session}` is busy: the message waits for the end of run {behind}"
                ));
                tokio::select! {
                    turn = self.turn(behind, run) => turn,
                    interrupt = interrupts.next() => {
                        let words =
                            "the message waits in the log: the next message to the session runs it first";
                        Err(Failure::note(interrupt.exit(), words))
                    }
                }
            }
        }
    }

    /// Waits until it is the turn of the message, which is queued as `run` behind another run.
    async fn turn(&self, behind: RunId, run: RunId) -> Result<Option<LiveRun>, Failure> {
        match self.agent.await_turn(self.session, behind, run, &self.options).await? {
            Turn::Ours(prepared) => Ok(Some(self.host.drive(self.agent, prepared))),
            Turn::Elsewhere => elsewhere(&**self.agent.log(), run).await,
        }
    }
}

/// Another process has run the message.
async fn elsewhere(log: &dyn Store, run: RunId) -> Result<Option<LiveRun>, Failure> {
    log.summary(run).await?;
    Err(Failure::note(Exit::Good, format!("another process runs the message as run {run}"))
        .hint(format!("`windlass runs watch {run}` shows it")))
}
