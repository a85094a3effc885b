//! The calls of agents below: their lines stand further in, behind the agent's name.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use windlass_core::event::{CallFact, CallFinished, CallStarted, DelegationFact, DelegationFinished};
use windlass_core::text::display_name;
use windlass_core::{Fact, RunId};
use windlass_read::numbered;
use windlass_read::words::{Calls, Cuts};
use windlass_runtime::Update;
use windlass_runtime::host::{Host, Position};

use super::{Face, artifacts};

/// Agents that are shown below each other; what is deeper is shown by its lead's line alone.
const DEEPEST: usize = 4;

/// Follows the runs that the runs of a conversation hand tasks to.
#[derive(Clone)]
pub(crate) struct Delegates {
    host: Host,
    face: Face,
    /// The option that names the log, for commands that are suggested.
    log: String,
}

/// A run that a task was handed to.
struct Delegate<'b> {
    run: RunId,
    agent: &'b str,
    depth: usize,
    calls: &'b Calls,
}

impl std::fmt::Debug for Delegates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delegates").finish_non_exhaustive()
    }
}

impl Delegates {
    pub(crate) fn new(host: Host, face: Face) -> Self {
        Self { host, face, log: String::new() }
    }

    pub(crate) fn logged(self, words: &str) -> Self {
        Self { log: words.to_owned(), ..self }
    }

    /// Shows the calls of that run, which `agent` carries out, until it has ended.
    pub(crate) fn follow(&self, run: RunId, agent: &str) {
        let (this, agent) = (self.clone(), display_name(agent));
        // It ends with the run; a conversation that is over takes its runtime along.
        let _followed = tokio::spawn(async move { this.show(run, agent, 1).await });
    }

    fn show(self, run: RunId, agent: String, depth: usize) -> BoxFuture<'static, ()> {
        async move {
            let Ok(mut follower) = self.host.follow(run, Position::default()).await else { return };
            let mut calls = Calls::default();
            while let Ok(Some((_, update))) = follower.next().await {
                let Update::Events(batch) = &update else { continue };
                for (_, event) in numbered(batch) {
                    calls.learn(&event.fact);
                    let delegate = Delegate { run, agent: &agent, depth, calls: &calls };
                    self.event(&delegate, &event.fact);
                }
            }
        }
        .boxed()
    }

    fn event(&self, delegate: &Delegate<'_>, fact: &Fact) {
        let Delegate { run, agent, depth, calls } = *delegate;
        // A task may outlive the run that handed it out.
        if !self.face.works() {
            return;
        }
        let key = |call: &str| format!("{run} {call}");
        let name = |name: &str| format!("{}{agent} › {name}", "  ".repeat(depth));
        let cuts = Cuts::default();
        if let Fact::Call(CallFact::Started(CallStarted { call, .. })) = fact {
            let args = calls.args(call, &cuts).unwrap_or_default();
            self.face.begin(&key(call.as_str()), &name(&calls.name(call)), &args);
        } else if let Fact::Delegation(DelegationFact::Started(started)) = fact {
            let args = calls.args(&started.call, &cuts).unwrap_or_default();
            self.face.begin(&key(started.call.as_str()), &name(&calls.name(&started.call)), &args);
            if depth < DEEPEST {
                let (this, deeper) = (self.clone(), display_name(&started.agent));
                let _followed = tokio::spawn(this.show(started.run, deeper, depth + 1));
            }
        } else if let Fact::Call(CallFact::Finished(CallFinished { call, outcome: ended, .. }))
        | Fact::Delegation(DelegationFact::Finished(DelegationFinished {
            call,
            outcome: ended,
            ..
        })) = fact
        {
            let args = calls.whole_args(call).unwrap_or_default();
            let title = format!("{} {args}", name(&calls.name(call)));
            self.face.end(&key(call.as_str()), &title, ended, &artifacts(&self.log, run));
        }
    }
}
