//! E71: a run keeps the agent that it began with, whatever happens to its files.

use std::path::Path;
use std::sync::Arc;

use windlass_core::{Answer, Message, RunId, Status, Text};
use windlass_error::Diagnostic as _;
use windlass_read::load;
use windlass_runtime::host::{Answering, Host, Scope, Start, Taking};
use windlass_runtime::{Run, kept_files};
use windlass_store::{MemoryLog, Store};

use super::started;

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

fn names(names: &[Text]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}

/// An agent that does sums, asks before each, and has its instructions in a file beside it.
fn sums(words: &str) -> String {
    format!(
        "model: tour\ndescription: {words}\ninstructions: {{ file: words.md }}\ntools: [{{ builtin: [calculate] }}]\nloop: {{ approve: ['*'] }}\n"
    )
}

fn host(log: &Arc<dyn Store>) -> Host {
    Host::builder(log.clone()).variables(|_| None).build()
}

/// A run that waits for an approval.
async fn waiting(host: &Host, agent: &str) -> Run {
    let agent = host.registry().get(agent).unwrap();
    let run = started(host, Start::new(&agent, "What is 17% of 2350?")).await.end().await.unwrap();
    assert_eq!(run.questions().len(), 1, "{:?}", run.state().run_state());
    run
}

async fn approved(host: &Host, run: RunId) -> Run {
    let client = host.within(Scope::default());
    client.answer(Answering::new(run, "q1".parse().unwrap(), Answer::Approve)).await.unwrap();
    client.resume(Taking::new(run)).await.unwrap().end().await.unwrap()
}

fn system_of(run: &Run) -> Text {
    match &**run.state().prompt().first().unwrap() {
        Message::System { text } => text.clone(),
        other => panic!("no system message: {other:?}"),
    }
}

#[tokio::test]
async fn e71_a_waiting_run_goes_on_with_the_agent_that_it_began_with_and_new_runs_have_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "sums.yaml", &sums("old"));
    write(folder.path(), "words.md", "You do sums, the old way.");
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let first = host(&log);
    let loaded = first.registry().load(folder.path()).await.unwrap();
    assert_eq!((names(&loaded.added), loaded.failed.len()), (vec!["sums"], 0));
    let old = waiting(&first, "sums").await;
    let (also, third) = (waiting(&first, "sums").await, waiting(&first, "sums").await);

    // Only a file that the agent's file names has changed.
    write(folder.path(), "words.md", "You do sums, the new way.");
    let reloaded = first.registry().reload().await.unwrap();
    assert_eq!(names(&reloaded.changed), ["sums"]);
    assert_eq!(first.registry().reload().await.unwrap().changed, Vec::<Text>::new());
    let done = approved(&first, old.id()).await;
    assert_eq!(done.status(), Some(Status::Answered));
    assert_eq!(&*system_of(&done), "You do sums, the old way.");
    assert_eq!(done.state().agent(), old.state().agent());
    assert_eq!(&*system_of(&waiting(&first, "sums").await), "You do sums, the new way.");

    // After a restart, with the files broken, and then gone.
    write(folder.path(), "sums.yaml", "model: [");
    let second = host(&log);
    let failed = second.registry().load(folder.path()).await.unwrap();
    assert_eq!(failed.failed.len(), 1);
    assert_eq!(approved(&second, also.id()).await.status(), Some(Status::Answered));
    drop(folder);
    let done = approved(&host(&log), third.id()).await;
    assert_eq!(done.status(), Some(Status::Answered));
    assert!(done.text().unwrap().contains("399.5"), "{:?}", done.text());
}

#[tokio::test]
async fn e71_another_agent_is_given_to_a_run_by_an_act_of_its_own_and_stays_with_it() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "sums.yaml", &sums("old"));
    write(folder.path(), "words.md", "You do sums.");
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let host = host(&log);
    host.registry().load(folder.path()).await.unwrap();
    let run = waiting(&host, "sums").await;
    write(folder.path(), "sums.yaml", &sums("old").replace("loop: {", "loop: { limits: { model_calls: 7 },"));
    host.registry().reload().await.unwrap();
    let fresh = host.registry().get("sums").unwrap();
    assert_ne!(Some(fresh.agent_ref()), run.state().agent());
    let preview = fresh.changes_since(run.state());
    assert_eq!(preview, ["loop settings"]);
    let seen = Some(run.state().version());
    let switched = host
        .within(Scope::default())
        .resume(Taking::new(run.id()).with(fresh.clone(), seen))
        .await
        .unwrap()
        .end()
        .await
        .unwrap();
    assert_eq!(switched.state().agent(), Some(fresh.agent_ref()));
    // It is the run's agent from here on: nobody has to name it again.
    let done = approved(&host, run.id()).await;
    assert_eq!(done.status(), Some(Status::Answered));
    let files = done.state().agent_files().unwrap();
    let kept = kept_files(&*log, files).await.unwrap();
    assert!(kept.texts.values().any(|text| text.contains("model_calls: 7")), "{kept:?}");
}

#[tokio::test]
async fn e71_files_with_a_secret_in_them_are_kept_masked_and_only_those_on_the_disk_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let text = "model: tour\ntools: [{ builtin: [calculate] }, { command: { name: echo, run: [cat], description: d, effect: read_only, env: { API_TOKEN: sk-literal-secret-1 } } }]\nloop: { approve: ['*'] }\n";
    write(folder.path(), "keeper.yaml", text);
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let host = host(&log);
    let loaded = host.registry().load(folder.path()).await.unwrap();
    assert!(loaded.failed.is_empty(), "{loaded:?}");
    let (first, second) = (waiting(&host, "keeper").await, waiting(&host, "keeper").await);
    let kept = kept_files(&*log, first.state().agent_files().unwrap()).await.unwrap();
    assert!(kept.masked && !format!("{kept:?}").contains("sk-literal"), "{kept:?}");
    // After a restart the file on the disk is the agent.
    let restarted = self::host(&log);
    assert_eq!(approved(&restarted, first.id()).await.status(), Some(Status::Answered));
    // Where that has changed, the run is not gone on with by another one in silence.
    write(folder.path(), "keeper.yaml", &text.replace("secret-1", "secret-2"));
    let refused =
        self::host(&log).within(Scope::default()).resume(Taking::new(second.id())).await.unwrap_err();
    assert_eq!(refused.code(), "run.agent_changed", "{refused}");
    drop(folder);
    let refused =
        self::host(&log).within(Scope::default()).resume(Taking::new(second.id())).await.unwrap_err();
    assert_eq!(refused.code(), "run.agent_unusable", "{refused}");
    assert_eq!(load(&*log, second.id()).await.unwrap().version(), second.state().version());
}

#[tokio::test]
async fn e71_the_delegates_files_are_kept_with_their_lead() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "helper.yaml",
        "model: tour\ninstructions: { file: words.md }\ntools: [{ builtin: [calculate] }]\n",
    );
    write(folder.path(), "words.md", "Help.");
    write(
        folder.path(),
        "sums.yaml",
        "model: tour\ntools: [{ builtin: [calculate] }]\nagents: [{ file: helper.yaml }]\nloop: { approve: ['*'] }\n",
    );
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let first = host(&log);
    first.registry().load(folder.path()).await.unwrap();
    let run = waiting(&first, "sums").await;
    let kept = kept_files(&*log, run.state().agent_files().unwrap()).await.unwrap();
    let names: Vec<_> = kept.texts.keys().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["helper.yaml", "sums.yaml", "words.md"]);
    // A delegate's file counts as the lead's: the lead is another agent where it changes.
    write(folder.path(), "helper.yaml", "model: tour\ninstructions: { file: words.md }\n");
    assert_eq!(first.registry().reload().await.unwrap().changed.len(), 2);
    drop(folder);
    assert_eq!(approved(&host(&log), run.id()).await.status(), Some(Status::Answered));
}

#[tokio::test]
async fn a_reload_says_what_it_changed_and_keeps_what_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.yaml", "model: tour\n");
    write(folder.path(), "b.yaml", "model: tour\n");
    write(folder.path(), ".hidden.yaml", "model: [");
    write(folder.path(), "notes.txt", "no agent");
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let host = host(&log);
    assert_eq!(names(&host.registry().load(folder.path()).await.unwrap().added), ["a", "b"]);
    let before = host.registry().get("a").unwrap();
    write(folder.path(), "a.yaml", "modell: tour\n");
    std::fs::remove_file(folder.path().join("b.yaml")).unwrap();
    write(folder.path(), "c.yaml", "name: third\nmodel: tour\n");
    let reloaded = host.registry().reload().await.unwrap();
    assert_eq!((names(&reloaded.added), names(&reloaded.removed)), (vec!["third"], vec!["b"]));
    assert_eq!(reloaded.failed.len(), 1);
    assert_eq!(host.registry().get("a").unwrap().agent_ref(), before.agent_ref());
    assert_eq!(names(&host.registry().names()), ["a", "third"]);
}

#[tokio::test]
async fn e71_a_new_file_takes_no_name_from_one_that_is_offered() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "pay.yaml", "name: pay\nmodel: tour\n");
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let host = host(&log);
    host.registry().load(folder.path()).await.unwrap();
    let before = host.registry().get("pay").unwrap();
    // Its name comes first in the folder.
    write(folder.path(), "copy-of-pay.yaml", "name: pay\nmodel: tour\ninstructions: Pay everybody.\n");
    for fault in ["", "modell: tour\n"] {
        if !fault.is_empty() {
            write(folder.path(), "pay.yaml", fault);
        }
        let reloaded = host.registry().reload().await.unwrap();
        let refused = reloaded.failed.iter().filter(|(_, error)| error.code() == "agent.same_file_name");
        let refused: Vec<_> = refused.map(|(path, _)| path.file_name().unwrap()).collect();
        assert_eq!(refused, ["copy-of-pay.yaml"]);
        assert!(reloaded.changed.is_empty() && reloaded.removed.is_empty());
        assert_eq!(host.registry().get("pay").unwrap().agent_ref(), before.agent_ref());
    }
    // Nor does one whose agent is renamed, wherever it stands in the folder.
    write(folder.path(), "copy-of-pay.yaml", "name: copy\nmodel: tour\n");
    assert_eq!(names(&host.registry().reload().await.unwrap().added), ["copy"]);
    write(folder.path(), "copy-of-pay.yaml", "name: pay\nmodel: tour\ninstructions: Pay everybody.\n");
    let reloaded = host.registry().reload().await.unwrap();
    assert_eq!((reloaded.failed.len(), reloaded.changed.len()), (2, 0));
    assert_eq!(host.registry().get("pay").unwrap().agent_ref(), before.agent_ref());
    // Nobody has the name any more.
    std::fs::remove_file(folder.path().join("pay.yaml")).unwrap();
    assert_eq!(host.registry().reload().await.unwrap().failed.len(), 0);
    assert_ne!(host.registry().get("pay").unwrap().agent_ref(), before.agent_ref());
}
