//! E34: a log of every earlier format opens and goes on. `formats/vN.db` are real logs, made by the last version that
//! wrote that format, with runs of several kinds; they are copied and never changed.

use std::path::Path;

use futures_util::StreamExt;
use windlass_core::{RunId, RunState, State, evolve};
use windlass_store::{Append, Holder, Inbox, Index, Leases, Log, Payloads, RunFilter, SqliteLog, StoreError};

use crate::sample::said;

fn copy_of(format: u32) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/formats/v{format}.db"));
    std::fs::copy(kept, &path).unwrap();
    (folder, path)
}

async fn folded(log: &SqliteLog, run: RunId, base: Option<&State>) -> State {
    let state = base.map_or_else(|| State::new(run), |base| State::on_base(run, base));
    let batches = log.read(run, 1, usize::MAX).await.unwrap();
    batches.iter().flat_map(|batch| batch.events.iter()).fold(state, evolve)
}

fn format_of(path: &Path) -> u32 {
    let file = rusqlite::Connection::open(path).unwrap();
    file.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn e34_a_log_of_format_1_opens_folds_and_goes_on() {
    let (_folder, path) = copy_of(1);
    assert_eq!(format_of(&path), 1);
    let log = SqliteLog::open(&path).unwrap();
    assert_eq!(format_of(&path), 3, "it is brought to this format");
    let runs = log.list(RunFilter::default()).await.unwrap();
    let standings: Vec<_> = runs.iter().map(|run| run.standing.name()).collect();
    assert_eq!(
        standings,
        ["running", "limit", "answered", "suspended", "suspended", "answered", "answered"],
        "newest first"
    );
    for summary in &runs {
        let state = folded(&log, summary.run, None).await;
        assert_eq!(state.version(), summary.version);
        let fits = match summary.standing {
            RunState::Running => state.standing() == RunState::Running,
            RunState::Suspended => state.standing() == RunState::Suspended && state.questions().len() == 1,
            RunState::Ended(status) => state.standing() == RunState::Ended(status),
        };
        assert!(fits, "{summary:?}");
    }
    let [interrupted, .., second, first] = runs.as_slice() else { panic!("{runs:?}") };
    let base = folded(&log, first.run, None).await;
    let later = folded(&log, second.run, Some(&base)).await;
    assert_eq!(later.history().len(), 4, "the second run of the session stands on the first");
    let inbox = log.inbox(interrupted.run, None).await.unwrap();
    assert_eq!(inbox.len(), 1, "what was posted still waits");
    let fence = log.acquire(interrupted.run, &Holder("now".into())).await.unwrap();
    let uses = Some(inbox[0].id);
    let events = said("goes on");
    let standing = RunState::Running;
    let append =
        Append { run: interrupted.run, expected: interrupted.version, events, fence, uses, standing };
    log.append(append).await.unwrap();
    let suspended = RunFilter { status: Some("suspended".into()), ..RunFilter::default() };
    assert_eq!(log.list(suspended).await.unwrap().len(), 2, "the new indexes cover what was there");
    let sha256 = log.put(std::sync::Arc::from(*b"payload")).await.unwrap();
    assert_eq!(log.get(&sha256, 0, 10).await.unwrap(), b"payload");
    let mut live = log.follow(second.run, 1);
    assert!(live.next().await.unwrap().is_ok());
}

#[tokio::test]
async fn e34_a_log_of_format_2_opens_and_goes_on_with_hashes_from_there() {
    let (_folder, path) = copy_of(2);
    assert_eq!(format_of(&path), 2);
    let log = SqliteLog::open(&path).unwrap();
    assert_eq!(format_of(&path), 3, "it is brought to this format");
    let checked = log.check().await.unwrap();
    assert_eq!((checked.runs, checked.appends, checked.unhashed, checked.payloads), (5, 16, 16, 1));
    assert_eq!(checked.faults, Vec::<String>::new(), "what has no hash is no fault");
    let runs = log.list(RunFilter::default()).await.unwrap();
    let standings: Vec<_> = runs.iter().map(|run| run.standing.name()).collect();
    assert_eq!(standings, ["running", "suspended", "answered", "answered", "answered"], "newest first");
    let interrupted = &runs[0];
    assert_eq!(folded(&log, interrupted.run, None).await.version(), interrupted.version);
    let fence = log.acquire(interrupted.run, &Holder("now".into())).await.unwrap();
    for more in 0..2 {
        let (run, expected) = (interrupted.run, interrupted.version + more);
        let (events, fence, standing) = (said("goes on"), fence.clone(), RunState::Running);
        log.append(Append { run, expected, events, fence, uses: None, standing }).await.unwrap();
    }
    let file = rusqlite::Connection::open(&path).unwrap();
    let change = |from: u64| {
        let sql = "UPDATE appends SET body = replace(body, 'on', 'up') WHERE id = (SELECT min(id) FROM appends \
                   WHERE last >= ?1 AND run = (SELECT no FROM runs WHERE standing = 'running'))";
        assert_eq!(file.execute(sql, [i64::try_from(from).unwrap()]).unwrap(), 1);
    };
    assert_eq!(log.changed(interrupted.run).await.unwrap(), None);
    change(1);
    assert_eq!(log.changed(interrupted.run).await.unwrap(), None, "what was there has no hash");
    change(interrupted.version + 1);
    assert_eq!(log.changed(interrupted.run).await.unwrap(), Some(interrupted.version + 1));
    assert_eq!(log.check().await.unwrap().unhashed, 16);
}

#[test]
fn e34_several_processes_may_bring_a_log_to_this_format_at_once() {
    let (_folder, path) = copy_of(1);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| SqliteLog::open(&path).map(drop).unwrap());
        }
    });
    assert_eq!(format_of(&path), 3);
}

#[test]
fn e34_a_newer_log_is_refused_and_left_alone() {
    let (_folder, path) = copy_of(1);
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 4).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = SqliteLog::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 4, known: 3, .. }), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("format 4") && said.contains("up to 3"), "{said}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
