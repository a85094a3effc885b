//! Another process is faster by one step: it takes a run over after somebody has seen that nobody drives it.

use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_core::{RunId, SessionId, Status};
use windlass_runtime::control::{Cancelled, cancel};
use windlass_runtime::{Admitted, Agent, DriveOptions, Run, Turn};
use windlass_store::{
    Answer, Claim, Fence, Holder, Inbox as _, Leases, MemoryLog, Store, StoreError, forward_store,
};
use windlass_testing::{FnModel, text_reply};

/// What the other process does with the run.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// It takes it over and drives it.
    Takes,
    /// It brings it to its end.
    Ends,
}

/// A store whose next lease another process takes first.
#[derive(Debug)]
struct Rival {
    inner: Arc<MemoryLog>,
    next: Mutex<Option<Move>>,
}

impl Rival {
    fn of(inner: &Arc<MemoryLog>, next: Move) -> Arc<dyn Store> {
        Arc::new(Self { inner: inner.clone(), next: Mutex::new(Some(next)) })
    }
}

impl Leases for Rival {
    fn acquire(&self, run: RunId, holder: &Holder, claim: Claim) -> Answer<'_, Fence> {
        let (next, holder) = (self.next.lock().unwrap().take(), holder.clone());
        Box::pin(async move {
            match next {
                Some(Move::Takes) => {
                    let taken = self.inner.acquire(run, &Holder("rival".into()), Claim::fresh()).await;
                    taken.map(drop)?;
                }
                Some(Move::Ends) => {
                    let ended = agent(self.inner.clone(), "queue").resume(run).await;
                    ended.map(drop).map_err(|error| StoreError::Failed(Box::new(error)))?;
                }
                None => {}
            }
            self.inner.acquire(run, &holder, claim).await
        })
    }

    forward_store!(inner: acquire_due, renew, probe, release, park);
}

forward_store!(Log, Inbox, Payloads, Index for Rival => inner);

fn agent(log: Arc<dyn Store>, policy: &str) -> Agent {
    let settings = json!({ "while_running": policy });
    let model = FnModel::new(|_| text_reply("done"));
    Agent::builder("speaker").model(("m1", Arc::new(model))).settings(&settings).log(log).build().unwrap()
}

fn in_session() -> DriveOptions {
    DriveOptions { session: Some(SessionId::from("s")), ..DriveOptions::default() }
}

/// A run whose process has died.
async fn left(log: &Arc<MemoryLog>) -> RunId {
    let begun = agent(log.clone(), "queue").begin_first("Speak.", in_session()).await.unwrap();
    begun.unwrap().id()
}

#[tokio::test]
async fn e19_e32_who_takes_a_run_over_first_is_asked_to_cancel_it() {
    for by_its_agent in [true, false] {
        let log = Arc::new(MemoryLog::new());
        let run = left(&log).await;
        let rival = Rival::of(&log, Move::Takes);
        let asked = if by_its_agent {
            agent(rival, "queue").cancel(run, "enough").await
        } else {
            cancel(&rival, run, 1, "enough".into()).await
        };
        let Ok(Cancelled::Asked(holder)) = asked else { panic!("{asked:?}") };
        assert_eq!(&*holder.0, "rival");
        assert_eq!(log.inbox(run, None).await.unwrap().len(), 1, "it reads that in its inbox");
    }
}

#[tokio::test]
async fn e61_who_waits_for_a_run_that_another_process_ends_first_goes_on() {
    let log = Arc::new(MemoryLog::new());
    let first = left(&log).await;
    let sender = agent(Rival::of(&log, Move::Ends), "queue");
    let admitted = sender.admit("And then?", in_session()).await.unwrap();
    let Admitted::Queued { behind, run } = admitted else { panic!("{admitted:?}") };
    assert_eq!(behind, first);
    let turn = sender.await_turn(&SessionId::from("s"), behind, run, &in_session()).await;
    let Ok(Turn::Ours(prepared)) = turn else { panic!("{turn:?}") };
    assert_eq!(prepared.drive().await.unwrap().text(), Some("done"));
    assert_eq!(Run::load(&*log, first).await.unwrap().status(), Some(Status::Answered));
}
