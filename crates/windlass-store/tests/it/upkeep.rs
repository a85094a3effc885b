//! Pruning, backups and checks of a log in SQLite.

use std::sync::Arc;

use futures_util::future::join_all;
use windlass_core::event::{CallFinished, RunFact};
use windlass_core::message::Part;
use windlass_core::message::{Content, Ref};
use windlass_core::{CallOutcome, Event, RunId, RunState, Status};
use windlass_error::Diagnostic as _;
use windlass_store::{
    Append, Index, Leases, Log, Payloads, Prune, Pruned, Pruning, RunFilter, RunStatus, SqliteLog,
    StoreError, prune,
};

use crate::sample::{append, begin, end, fence, id, said, started, words};

async fn pruned(log: &SqliteLog, what: Prune) -> Result<Pruned, StoreError> {
    prune(log, what, |_, _| {}).await
}

struct Place {
    folder: tempfile::TempDir,
    log: SqliteLog,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let log = SqliteLog::open(folder.path().join("log.db")).unwrap();
    Place { folder, log }
}

impl Place {
    fn sql(&self, sql: &str) {
        rusqlite::Connection::open(self.folder.path().join("log.db")).unwrap().execute_batch(sql).unwrap();
    }

    async fn ended(&self, number: u128, base: Option<u128>) -> RunId {
        self.log.append(append(id(number), 0, started(id(number), base.map(id)))).await.unwrap();
        self.log.append(end(id(number), 1)).await.unwrap();
        id(number)
    }

    async fn runs(&self) -> Vec<u128> {
        let runs = self.log.list(RunFilter::default()).await.unwrap();
        runs.iter().map(|run| run.run.0.as_u128()).collect()
    }
}

fn naming(sha256: &str) -> Arc<[Event]> {
    let content = Content::Parts(vec![Part::Stored(Ref::to_data(sha256.into(), 1))]);
    let outcome = CallOutcome::Ok { content };
    let fact = CallFinished { call: "c".into(), outcome, note: None, limit: None };
    Arc::new([Event { at: 2, fact: fact.into() }])
}

#[tokio::test]
async fn pruning_keeps_what_runs_that_stay_are_based_on() {
    let place = place();
    for (number, base) in [(1, None), (2, Some(1)), (3, Some(2)), (4, None), (5, Some(4))] {
        place.ended(number, base).await;
    }
    place.log.append(append(id(6), 0, started(id(6), Some(id(2))))).await.unwrap();
    let would = place.log.prunable(Prune::default()).await.unwrap();
    assert_eq!((would.runs, would.kept), (vec![id(5), id(4), id(3)], 2));
    assert_eq!(place.runs().await, [6, 5, 4, 3, 2, 1], "looking changes nothing");
    let gone = pruned(&place.log, Prune::default()).await.unwrap();
    assert_eq!((gone.runs, gone.kept), (vec![id(5), id(4), id(3)], 2));
    assert_eq!(place.runs().await, [6, 2, 1]);
    let checked = place.log.check().await.unwrap();
    assert_eq!((checked.runs, checked.faults), (3, Vec::new()));
    // The last run on the bases ends: nothing keeps them any more.
    place.log.append(end(id(6), 1)).await.unwrap();
    assert_eq!(pruned(&place.log, Prune::default()).await.unwrap().runs, [id(6), id(2), id(1)]);
    place.ended(6, None).await;
    assert_eq!(place.runs().await, [6], "an id is free again");
}

#[tokio::test]
async fn pruning_by_age_and_standing() {
    let place = place();
    for number in 1..5 {
        place.ended(number, None).await;
    }
    let parked = begin(&place.log, 9).await;
    place.log.park(parked, &fence("maker", 1), None).await.unwrap();
    let running = begin(&place.log, 10).await;
    let before = |before| Prune { before: Some(before), ..Prune::default() };
    assert_eq!(pruned(&place.log, before(3)).await.unwrap().runs, [], "they ended at 3, not before");
    let by = |status| Prune { statuses: vec![status], ..Prune::default() };
    assert_eq!(pruned(&place.log, by(RunStatus::Limit)).await.unwrap().runs, []);
    assert_eq!(pruned(&place.log, by(RunStatus::Suspended)).await.unwrap().runs, [parked]);
    assert_eq!(pruned(&place.log, by(RunStatus::Running)).await.unwrap().runs, [], "somebody alive holds it");
    assert_eq!(pruned(&place.log, before(4)).await.unwrap().runs.len(), 4);
    assert_eq!(place.runs().await, [running.0.as_u128()]);
    assert_eq!(place.log.append(append(running, 1, said("on"))).await.map_err(|error| error.code()), Ok(()));
}

#[tokio::test]
async fn e35_payloads_go_with_the_last_run_that_names_them() {
    let place = place();
    let shared = place.log.put(Arc::from(*b"shared")).await.unwrap();
    let own = place.log.put(vec![7; 600_000].into()).await.unwrap();
    let fresh = place.log.put(Arc::from(*b"on its way")).await.unwrap();
    for (number, name) in [(1, &shared), (2, &shared), (3, &own)] {
        begin(&place.log, number).await;
        place.log.append(append(id(number), 1, naming(name))).await.unwrap();
    }
    for number in [1, 3] {
        place
            .log
            .append(Append {
                run_state: RunState::Ended(Status::Answered),
                ..append(id(number), 2, said("end"))
            })
            .await
            .unwrap();
    }
    let gone = pruned(&place.log, Prune::default()).await.unwrap();
    assert_eq!(
        (gone.runs.len(), gone.payloads.payloads),
        (2, 0),
        "what was stored within the hour may still be named"
    );
    place.sql("UPDATE payloads SET stored_at = 0 WHERE bytes <> 10");
    let gone = pruned(&place.log, Prune::default()).await.unwrap();
    assert_eq!((gone.payloads.payloads, gone.payloads.bytes), (1, 600_000));
    assert!(place.log.get(&own, 0, 1).await.is_err());
    assert_eq!(place.log.get(&shared, 0, 10).await.unwrap(), b"shared");
    assert_eq!(place.log.get(&fresh, 0, 10).await.unwrap(), b"on its way");
    let checked = place.log.check().await.unwrap();
    assert_eq!((checked.payloads, checked.unnamed, checked.faults), (2, 1, Vec::new()));
}

#[tokio::test]
async fn a_backup_is_the_log_as_of_one_moment_while_others_write() {
    let place = Arc::new(place());
    let payload = place.log.put(vec![1; 3_000_000].into()).await.unwrap();
    for number in 1..=64 {
        begin(&place.log, number).await;
    }
    let writer = {
        let place = Arc::clone(&place);
        tokio::spawn(async move {
            let mut written = 0;
            for step in 0..50 {
                let appends = (1..=64).map(|number| append(id(number), 1 + step, said(&"x".repeat(200))));
                let results = join_all(appends.map(|append| place.log.append(append))).await;
                written += results.into_iter().map(Result::unwrap).count();
                tokio::task::yield_now().await;
            }
            written
        })
    };
    let mut copies = Vec::new();
    for number in 0..3 {
        let to = place.folder.path().join(format!("copy{number}.db"));
        assert!(place.log.backup(&to).await.unwrap() > 3_000_000);
        copies.push(to);
    }
    assert_eq!(writer.await.unwrap(), 3_200);
    for to in &copies {
        let copy = SqliteLog::open(to).unwrap();
        let checked = copy.check().await.unwrap();
        assert_eq!((checked.runs, checked.faults), (64, Vec::new()));
        assert_eq!(copy.get(&payload, 2_999_990, 100).await.unwrap(), [1; 10]);
        copy.acquire(id(1), &fence("copy", 0).holder, windlass_store::Claim(1)).await.unwrap_err();
    }
    let again = place.log.backup(&copies[0]).await.unwrap_err();
    assert!(words(&again).contains("overwrites nothing"), "{}", words(&again));
    let nowhere = place.log.backup(place.folder.path().join("log.db/copy")).await.unwrap_err();
    assert_eq!(nowhere.code(), "store.unusable");
    let left: Vec<_> =
        std::fs::read_dir(place.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("part")), "{left:?}");
}

#[tokio::test]
async fn a_check_names_what_is_wrong() {
    let place = place();
    let payload = place.log.put(vec![1; 600_000].into()).await.unwrap();
    let other = place.log.put(vec![2; 10].into()).await.unwrap();
    for number in 1..=5 {
        begin(&place.log, number).await;
        for step in 1..4 {
            place.log.append(append(id(number), step, said("x"))).await.unwrap();
        }
    }
    place.log.append(append(id(5), 4, naming(&payload))).await.unwrap();
    assert_eq!(place.log.check().await.unwrap().faults, Vec::<String>::new());
    place.sql(
        "PRAGMA foreign_keys=OFF;
         DELETE FROM appends WHERE run = 1 AND last = 2;
         UPDATE appends SET body = '[{]' WHERE run = 2 AND last = 3;
         UPDATE appends SET count = 1, body = '[]' WHERE run = 3 AND last = 4;
         UPDATE appends SET schema = 99 WHERE run = 4 AND last = 4;
         UPDATE runs SET base = x'00000000000000000000000000000099' WHERE no = 4;
         UPDATE chunks SET data = zeroblob(length(data)) WHERE payload = 1 AND place = 1;
         DELETE FROM chunks WHERE payload = 2;
         INSERT INTO run_payloads VALUES (5, 77);
         INSERT INTO heads VALUES ('local', 's', 99, 0);
         INSERT INTO inbox(run, at, body) VALUES (88, 1, ''), (5, 1, '{Steer');",
    );
    let faults = place.log.check().await.unwrap().faults;
    let run = |number: u128| id(number).to_string();
    let expected = [
        format!("run {}: 1 events are missing before event 3", run(1)),
        format!("run {}: the append that ends with event 3 is no JSON", run(2)),
        format!("run {}: the append that ends with event 4 has 0 events, expected 1", run(3)),
        format!("run {}: event 4 has schema 99; this version reads schemas up to 1", run(4)),
        format!("run {}: the append that ends with event 3 is not what was written", run(2)),
        format!("run {}: the append that ends with event 4 is not what was written", run(3)),
        format!("run {}: the append that ends with event 4 is not what was written", run(4)),
        format!("run {}: its base is listed as another one than its first event says", run(4)),
        format!("run {}: the posted input 2 cannot be read", run(5)),
        format!("run {} is based on run {}, which is not there", run(4), id(0x99)),
        "1 posts belong to no run".to_owned(),
        "1 heads of sessions belong to no run".to_owned(),
        format!("run {} refers to a payload that is not there", run(5)),
        format!("payload {payload} holds other bytes than its digest says"),
        format!("payload {other} has 0 bytes, expected 10"),
    ];
    assert_eq!(faults, expected);
}

/// K25: a session goes with what its runs started, and what another session is based on stays.
#[tokio::test]
async fn k25_sessions_go_with_what_their_runs_started() {
    let place = place();
    let of = |session: &str, number: u128, base: Option<u128>, parent: Option<u128>| {
        let mut first = append(id(number), 0, started(id(number), base.map(id)));
        let events = first.events.iter().cloned().map(|mut event| {
            if let windlass_core::Fact::Run(RunFact::Started(start)) = &mut event.fact {
                start.session = (!session.is_empty()).then(|| session.into());
                start.parent = parent.map(id);
            }
            event
        });
        first.events = events.collect();
        first
    };
    for first in [
        of("a", 1, None, None),
        of("a", 2, Some(1), None),
        of("", 3, None, Some(2)),
        of("b", 4, Some(1), None),
        of("", 5, None, None),
    ] {
        let run = first.run;
        place.log.append(first).await.unwrap();
        place.log.append(end(run, 1)).await.unwrap();
    }
    let delete = |sessions: &[&str]| Prune {
        sessions: sessions.iter().map(|session| (*session).into()).collect(),
        ..Prune::default()
    };
    let gone = pruned(&place.log, delete(&["a"])).await.unwrap();
    assert_eq!((gone.runs, gone.kept), (vec![id(3), id(2)], 1), "`b` stands on the first run");
    assert_eq!(pruned(&place.log, delete(&["nobody"])).await.unwrap().runs, []);
    assert_eq!(pruned(&place.log, delete(&["a", "b"])).await.unwrap().runs, [id(4), id(1)]);
    assert_eq!(place.runs().await, [5]);
}

/// Any letter that is changed in a row is found, and named once; what a later append is chained to is what was stored.
#[tokio::test]
async fn a_changed_letter_anywhere_in_an_append_is_found() {
    let changes = [
        "body = replace(body, 'wrote', 'write') WHERE run = 1 AND last = 3",
        "body = replace(body, '\"type\"', '\"type\" ') WHERE run = 1 AND last = 3",
        "at = at + 1 WHERE run = 1 AND last = 3",
        "schema = 0 WHERE run = 1 AND last = 3",
        "uses = 7 WHERE run = 1 AND last = 3",
        "chain = zeroblob(32) WHERE run = 1 AND last = 3",
        "cause = replace(cause, 'steer', 'cancel') WHERE run = 1 AND last = 3",
        "chain = x'00', body = replace(body, 'wrote', 'write') WHERE run = 1 AND last >= 3",
    ];
    for change in changes {
        let place = place();
        for number in 1..=2 {
            begin(&place.log, number).await;
            for step in 1..=4 {
                place.log.append(append(id(number), step, said("what somebody wrote"))).await.unwrap();
            }
        }
        assert_eq!(place.log.check().await.unwrap().faults, Vec::<String>::new());
        place.sql(&format!("UPDATE appends SET {change}"));
        let faults = place.log.check().await.unwrap().faults;
        let named = format!("run {}: the append that ends with event 3 is not what was written", id(1));
        assert_eq!(faults[0], named, "{change}");
        assert!(faults.len() == 1 || change.starts_with("chain"), "{change}: {faults:?}");
        assert_eq!(place.log.changed(id(1)).await.unwrap(), Some(3), "{change}");
        assert_eq!(place.log.changed(id(2)).await.unwrap(), None, "{change}");
    }
    // Rows that changed places.
    let place = place();
    for number in 1..=2 {
        begin(&place.log, number).await;
        place.log.append(append(id(number), 1, said("the same"))).await.unwrap();
    }
    place.sql(
        "UPDATE appends SET last = 99 WHERE run = 1 AND last = 2; UPDATE appends SET run = 1 WHERE run = 2 AND last = 2; \
         UPDATE appends SET run = 2, last = 2 WHERE last = 99",
    );
    assert_eq!(place.log.check().await.unwrap().faults.len(), 2);
}

#[tokio::test]
async fn a_changed_entry_of_the_listings_is_found() {
    for (change, what) in [
        ("agent = 'other'", "agent"),
        ("session = 'other'", "session"),
        ("owner = 'other'", "owner"),
        ("parent = (SELECT run FROM runs WHERE no = 2)", "parent"),
        ("base = (SELECT run FROM runs WHERE no = 2)", "base"),
        ("title = 'other'", "title"),
        ("started_at = started_at + 1", "start"),
    ] {
        let place = place();
        for number in 1..=2 {
            place.ended(number, None).await;
        }
        assert_eq!(place.log.check().await.unwrap().faults, Vec::<String>::new());
        place.sql(&format!("UPDATE runs SET {change} WHERE no = 1"));
        let fault = format!("run {}: its {what} is listed as another one than its first event says", id(1));
        assert_eq!(place.log.check().await.unwrap().faults, [fault]);
    }
}

#[tokio::test]
async fn chains_go_on_over_processes_and_pruning_breaks_none() {
    let place = place();
    for number in 1..=3 {
        place.ended(number, (number == 2).then_some(1)).await;
    }
    let run = begin(&place.log, 4).await;
    place.log.release(run, &fence("maker", 1)).await.unwrap();
    let other = SqliteLog::open(place.log.path()).unwrap();
    let taken = other.acquire(run, &fence("other", 0).holder, windlass_store::Claim(1)).await.unwrap();
    other.append(Append { fence: taken.clone(), ..append(run, 1, said("elsewhere")) }).await.unwrap();
    other.release(run, &taken).await.unwrap();
    let fence = place.log.acquire(run, &fence("maker", 0).holder, windlass_store::Claim(1)).await.unwrap();
    place.log.append(Append { fence, ..append(run, 2, said("here again")) }).await.unwrap();
    assert_eq!(pruned(&place.log, Prune::default()).await.unwrap().runs.len(), 3);
    let checked = place.log.check().await.unwrap();
    assert_eq!((checked.runs, checked.faults), (1, Vec::new()));
}

/// A clock that is a day ahead, or a day behind, prunes no payload whose append is on its way.
#[tokio::test]
async fn e36_pruning_with_any_clock_leaves_what_a_living_process_has_stored() {
    for stored_at in ["0", "9e15"] {
        let place = place();
        let run = begin(&place.log, 1).await;
        let (named, unnamed) = (b"named later", b"never named");
        let name = place.log.put(Arc::from(*named)).await.unwrap();
        place.log.put(Arc::from(*unnamed)).await.unwrap();
        place.sql(&format!("UPDATE payloads SET stored_at = CAST({stored_at} AS INTEGER)"));
        let pruner = SqliteLog::open(place.log.path()).unwrap();
        assert_eq!(pruned(&pruner, Prune::default()).await.unwrap().payloads.payloads, 0, "{stored_at}");
        place.log.append(append(run, 1, naming(&name))).await.unwrap();
        assert_eq!(place.log.get(&name, 0, 100).await.unwrap(), named);
        let Place { folder, log } = place;
        drop(log);
        assert_eq!(
            pruned(&pruner, Prune::default()).await.unwrap().payloads.payloads,
            1,
            "its process is gone"
        );
        assert_eq!(pruner.get(&name, 0, 100).await.unwrap(), named, "an event names it");
        drop((pruner, folder));
    }
}
