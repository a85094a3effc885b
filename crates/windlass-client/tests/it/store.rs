//! The store over the API has what the server's store has: append for append, line for line, and in every report.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use windlass_client::RemoteStore;
use windlass_core::event::RunFact;
use windlass_core::{Fact, Owner, RunId, RunState, SessionId, State, evolve};
use windlass_error::Diagnostic as _;
use windlass_read::exchange::Export;
use windlass_read::reports::{compare_runs, effects, receipts, replay_run, run_costs};
use windlass_read::{ListPages, headline, json, load};
use windlass_runtime::{Agent, AgentDelegate, DriveOptions};
use windlass_store::{
    Append, Batch, Fence, Head, Holder, Index as _, Log as _, MemoryLog, Payloads as _, RunFilter, RunStatus,
    SessionFilter, Store, StoreError,
};
use windlass_testing::fixture::FixtureFile;
use windlass_testing::{FnModel, FnTool, appends_of_case, called, text_reply};

use crate::kit::{Serving, impatient};

/// Writes a run as it was written before.
async fn write(log: &dyn Store, run: RunId, batches: &[Batch]) {
    let mut state = State::new(run);
    let mut fence = Fence { holder: Holder("test".into()), epoch: 1 };
    let mut held = true;
    for batch in batches {
        state = batch.events.iter().fold(state, evolve);
        if !held {
            fence = log.acquire(run, &fence.holder, windlass_store::Claim::fresh()).await.unwrap();
        }
        let run_state = state.run_state();
        held = run_state == RunState::Running;
        let head = match (&batch.events[0].fact, state.session()) {
            (Fact::Run(RunFact::Started(_)), Some(session)) => {
                Head::Moves { from: log.head(state.owner(), session).await.unwrap() }
            }
            _ => Head::Stays,
        };
        let append = Append::of(run, batch.clone(), fence.clone(), run_state);
        log.append(Append { head, headline: headline(&state), ..append }).await.unwrap();
    }
}

/// Everything that the store of the server and the one over the API give.
async fn compare(log: &Arc<dyn Store>, remote: &RemoteStore) -> usize {
    let runs = compare_listings(log, remote).await;
    for run in &runs {
        let expected = log.read(*run, 1, usize::MAX).await.unwrap();
        assert_eq!(remote.read(*run, 1, usize::MAX).await.unwrap(), expected, "{run}");
        let version = expected.last().unwrap().last();
        for from in [2, version / 2 + 1, version, version + 1, version + 5] {
            assert_eq!(
                remote.read(*run, from, 3).await.unwrap(),
                log.read(*run, from, 3).await.unwrap(),
                "{run} from {from}"
            );
        }
        assert_eq!(remote.summary(*run).await.unwrap(), log.summary(*run).await.unwrap());
        if matches!(log.summary(*run).await.unwrap().run_state, RunState::Ended(_)) {
            for from in [1, version / 2 + 1] {
                let followed: Vec<Batch> = remote.follow(*run, from).try_collect().await.unwrap();
                let expected: Vec<Batch> = log.follow(*run, from).try_collect().await.unwrap();
                assert_eq!(followed, expected, "{run} from {from}");
            }
        }
        for stored in
            expected.iter().flat_map(|batch| batch.events.iter()).flat_map(|event| event.fact.refs())
        {
            for (from, max) in [(0, usize::MAX), (7, 100_000), (stored.bytes, 5)] {
                let expected = log.get(&stored.sha256, from, max).await.unwrap();
                assert_eq!(remote.get(&stored.sha256, from, max).await.unwrap(), expected);
            }
            for run in [*run, RunId::from_number(3)] {
                let expected = log.size_in(run, &stored.sha256).await.unwrap();
                assert_eq!(remote.size_in(run, &stored.sha256).await.unwrap(), expected, "{run}");
            }
        }
        assert_eq!(reports(remote, *run).await, reports(&**log, *run).await, "{run}");
    }
    if let [one, other, ..] = runs[..] {
        let expected = json::comparison(&compare_runs(&**log, one, other).await.unwrap());
        assert_eq!(json::comparison(&compare_runs(remote, one, other).await.unwrap()), expected);
    }
    runs.len()
}

/// The listings of both, page by page. Gives the runs.
async fn compare_listings(log: &Arc<dyn Store>, remote: &RemoteStore) -> Vec<RunId> {
    let filters = [
        RunFilter::default(),
        RunFilter { limit: 2, ..RunFilter::default() },
        RunFilter { status: Some(RunStatus::Answered), ..RunFilter::default() },
        RunFilter { asks: true, ..RunFilter::default() },
        RunFilter { queued: true, ..RunFilter::default() },
        RunFilter { owner: Some("nobody".into()), ..RunFilter::default() },
        RunFilter { since: Some(1), until: Some(u64::MAX / 4), ..RunFilter::default() },
    ];
    for filter in filters {
        let (mut here, mut there) = (ListPages::new(&**log, filter.clone()), ListPages::new(remote, filter));
        while let Some(expected) = here.next().await.unwrap() {
            assert_eq!(there.next().await.unwrap().unwrap(), expected);
        }
        assert_eq!(there.next().await.unwrap(), None);
    }
    let expected = log.sessions(SessionFilter::default()).await.unwrap();
    let found = remote.sessions(SessionFilter::default()).await.unwrap();
    assert_eq!(found.items, expected.items);
    for session in &expected.items {
        let (owner, name) = (&session.head.owner, &session.session);
        assert_eq!(remote.head(owner, name).await.unwrap(), log.head(owner, name).await.unwrap());
    }
    let all = log.list(RunFilter { limit: 1_000, ..RunFilter::default() }).await.unwrap();
    all.items.iter().map(|line| line.run).collect()
}

/// What the reading crate says about a run.
async fn reports(log: &dyn Store, run: RunId) -> Vec<String> {
    let state = load(log, run).await.unwrap();
    let mut said = vec![json::run(&state).to_string()];
    said.push(json::costs(&run_costs(log, run).await.unwrap()).to_string());
    let calls = effects(log, run).await.unwrap();
    said.extend(calls.iter().map(|call| json::call_effects(run, call).to_string()));
    said.push(json::receipts(&receipts(log, run).await.unwrap()).to_string());
    said.push(json::replayed(run, &replay_run(log, run, None).await.unwrap()).to_string());
    let mut export = Export::of(log, run).await.unwrap();
    while let Some(line) = export.next_line().await.unwrap() {
        said.push(line);
    }
    said
}

/// The files of conversations.
fn files(folder: &Path) -> Vec<PathBuf> {
    let folders =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files =
        folders.flat_map(|folder| std::fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "yaml")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_conversations_are_the_same_over_the_api() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut compared = 0;
    for path in files(&folder) {
        for case in FixtureFile::read(&path).unwrap().cases.into_iter().map(Result::unwrap).step_by(11) {
            let recorded = tokio::task::spawn_blocking(move || appends_of_case(&case));
            let Ok(runs) = recorded.await.unwrap() else { continue };
            let mut facts =
                runs.iter().flat_map(|(_, batches)| batches).flat_map(|batch| batch.events.iter());
            // Its payloads are not recorded.
            if facts.any(|event| !event.fact.refs().is_empty()) {
                continue;
            }
            let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
            for (run, batches) in &runs {
                write(&*log, *run, batches).await;
            }
            let serving = Serving::start(log.clone(), &[]).await;
            compared += compare(&log, &RemoteStore::new(serving.client())).await;
            serving.end().await;
        }
    }
    assert!(compared > 50, "{compared} runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_tasks_and_payloads_are_the_same_over_the_api_and_at_a_socket() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let helper =
        Agent::builder("helper").model(("m", Arc::new(FnModel::new(|_| text_reply("42"))))).log(log.clone());
    let helper = helper.build().unwrap();
    let model = FnModel::script([
        called(&[("dump", "{}"), ("helper", r#"{"task": "count"}"#)]),
        text_reply("All of it."),
        text_reply("Again."),
        text_reply("And again."),
    ]);
    let dump = FnTool::new("dump", |_, _| async { Ok("0123456789".repeat(20_000).into()) });
    let agent = Agent::builder("lead").model(("m", Arc::new(model))).log(log.clone());
    let agent = agent.tool(dump).delegate(Arc::new(AgentDelegate::new(helper))).build().unwrap();
    for text in ["one", "two", "three"] {
        let options = DriveOptions { session: Some("trip".into()), ..DriveOptions::default() };
        agent.prepare(text, options).await.unwrap().drive().await.unwrap();
    }
    let serving = Serving::start(log.clone(), &[]).await;
    let remote = RemoteStore::new(serving.client());
    assert_eq!(compare(&log, &remote).await, 4);
    let kept = remote.list(RunFilter { agent: Some("lead".into()), ..RunFilter::default() }).await.unwrap();
    assert_eq!(kept.items.len(), 3);
    let local = windlass_client::Client::new(&serving.socket()).unwrap();
    assert_eq!(compare(&log, &RemoteStore::new(local)).await, 4);
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_unknown_and_what_writes_is_refused() {
    let serving = Serving::start(Arc::new(MemoryLog::new()), &[]).await;
    let remote = RemoteStore::new(serving.client());
    let run = RunId::from_number(7);
    assert!(matches!(remote.summary(run).await, Err(StoreError::UnknownRun { run: found }) if found == run));
    assert!(matches!(remote.read(run, 1, 10).await, Err(StoreError::UnknownRun { .. })));
    assert_eq!(remote.head(&Owner::default(), &SessionId::from("none")).await.unwrap(), None);
    assert!(matches!(remote.get("00", 0, 1).await, Err(StoreError::UnknownPayload { .. })));
    let after = RunFilter { after: Some("x y".into()), ..RunFilter::default() };
    assert!(matches!(remote.list(after).await, Err(StoreError::BadCursor { .. })));
    let error = remote.put(Arc::from(&b"text"[..])).await.unwrap_err();
    assert_eq!((error.code(), error.kind().name()), ("store.read_only", "forbidden"));
    let client = impatient(serving.client());
    serving.end().await;
    let error = RemoteStore::new(client).summary(run).await.unwrap_err();
    assert_eq!((error.code(), error.kind().name()), ("client.unreachable", "unavailable"), "{error}");
}
