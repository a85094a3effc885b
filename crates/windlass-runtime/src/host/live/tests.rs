use std::sync::Arc;

use windlass_core::RunId;
use windlass_store::{MemoryLog, Store};
use windlass_testing::{FnModel, text_reply};

use super::{QUEUED, SWEPT};
use crate::agent::Agent;
use crate::host::admission::Admitted;
use crate::host::{Host, Position, Start};

fn ground(keeps_pieces: bool) -> (Agent, Host) {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let model = FnModel::new(|_| text_reply("Done."));
    let agent = Agent::builder("hosted").model(("m", Arc::new(model))).log(log.clone()).build().unwrap();
    let builder = Host::builder(log);
    (agent, if keeps_pieces { builder.keeps_pieces() } else { builder }.build())
}

#[tokio::test]
async fn e69_runs_that_have_ended_and_their_followers_leave_no_hub_behind() {
    for keeps_pieces in [true, false] {
        let (agent, host) = ground(keeps_pieces);
        for place in 0..3 * SWEPT {
            let Admitted::Started(run) = host.start(Start::new(&agent, "Go.")).await.unwrap() else {
                panic!("run {place} was not begun")
            };
            if place % 2 == 1 {
                let mut follower = host.follow(run.id(), Position::default()).await.unwrap();
                while follower.next().await.unwrap().is_some() {}
            }
            run.end().await.unwrap();
        }
        let runs = host.inner.live.lock();
        assert_eq!(runs.driven.len(), 0);
        assert!(runs.followed.len() <= SWEPT, "{} hubs are left", runs.followed.len());
    }
}

#[tokio::test]
async fn a_hub_that_has_followers_is_never_forgotten() {
    let (agent, host) = ground(true);
    let mut followers = Vec::new();
    for _ in 0..3 * SWEPT {
        let Admitted::Started(run) = host.start(Start::new(&agent, "Go.")).await.unwrap() else { panic!() };
        followers.push((run.id(), host.follow(run.id(), Position::default()).await.unwrap()));
        run.end().await.unwrap();
    }
    let runs = host.inner.live.lock();
    assert!(followers.iter().all(|(run, _)| runs.hub(*run).is_some()));
}

#[test]
fn e69_messages_that_were_queued_here_and_are_answered_elsewhere_are_forgotten_in_time() {
    let (_, host) = ground(false);
    let live = &host.inner.live;
    let run = |place: usize| RunId::from_number(place as u128 + 1);
    (0..3 * QUEUED).for_each(|place| live.queues(run(place)));
    assert_eq!(live.lock().queued.len(), QUEUED);
    assert!(live.queued_here(run(3 * QUEUED - 1)) && !live.queued_here(run(0)));
}
