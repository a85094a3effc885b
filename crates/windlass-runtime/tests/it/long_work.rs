//! Large input does not keep the driver's thread: other tasks have their turns while it is read, and small input is read
//! where it is. Turns are counted, not time.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread::{self, ThreadId};

use futures_util::stream;
use serde_json::json;
use windlass_core::secret::Secret;
use windlass_core::{Answer, InputKind, Status};
use windlass_models::{Delta, Deltas, Model, ModelRequest};
use windlass_runtime::{Agent, AgentBuilder};
use windlass_testing::FnTool;
use windlass_threads::LARGE_BYTES;

/// So large that each reading takes its time.
const LARGE: usize = 4 * LARGE_BYTES as usize;

/// A model whose replies are there at once, and the threads on which it was asked.
#[derive(Clone, Debug)]
struct AtOnce {
    replies: Vec<Vec<Delta>>,
    asked: Arc<Mutex<Vec<ThreadId>>>,
}

impl AtOnce {
    fn new(replies: Vec<Vec<Delta>>) -> Self {
        Self { replies, asked: Arc::default() }
    }
}

impl Model for AtOnce {
    fn provider(&self) -> &'static str {
        "test"
    }

    fn call(&self, _: ModelRequest) -> Deltas {
        let mut asked = self.asked.lock().unwrap();
        let done = vec![Delta::Text("done".to_owned())];
        let deltas = self.replies.get(asked.len()).cloned().unwrap_or(done);
        asked.push(thread::current().id());
        Box::pin(stream::iter(deltas.into_iter().map(Ok)))
    }
}

fn call(args: String) -> Vec<Delta> {
    vec![Delta::Call { index: None, id: None, name: Some("echo".to_owned()), args }]
}

/// Arguments of so many bytes.
fn args(bytes: usize) -> String {
    json!({ "text": "x".repeat(bytes) }).to_string()
}

/// An agent with a secret that is looked for in all that comes.
fn agent(model: AtOnce) -> AgentBuilder {
    drop(Secret::new("sk-long-work-0123456789"));
    let echo = FnTool::new("echo", |_, args| async move { Ok(args["text"].as_str().unwrap().into()) });
    Agent::builder("a").model(("m", Arc::new(model))).tool(echo)
}

/// Awaits a future; gives how often others had their turn meanwhile.
async fn turns<T>(future: impl Future<Output = T>) -> (T, usize) {
    let mut future = pin!(future);
    let mut turns = 0;
    let output = poll_fn(|context| {
        let polled = future.as_mut().poll(context);
        turns += usize::from(polled.is_pending());
        polled
    });
    let output = output.await;
    (output, turns)
}

/// Runs an agent to its end.
async fn run(builder: AgentBuilder) -> (windlass_runtime::Run, usize) {
    let agent = builder.build().unwrap();
    let (run, turns) = turns(agent.run("Go")).await;
    (run.unwrap(), turns)
}

#[tokio::test(flavor = "current_thread")]
async fn small_input_is_read_where_it_is_and_large_input_gives_others_their_turns() {
    let (done, small) = run(agent(AtOnce::new(vec![call(args(100))]))).await;
    assert_eq!((done.status(), small), (Some(Status::Answered), 0));
    let (done, large) = run(agent(AtOnce::new(vec![call(args(LARGE))]))).await;
    assert_eq!(done.status(), Some(Status::Answered));
    // The piece, the reply masked and decided on, the arguments, the result masked, the request with all of it.
    assert!(large >= 5, "others had {large} turns");
}

/// Without secrets there is nothing to mask; the reply, its arguments and the output are read elsewhere all the same.
#[tokio::test(flavor = "current_thread")]
async fn a_check_of_a_large_output_runs_on_another_thread() {
    let finish =
        |args| vec![Delta::Call { index: None, id: None, name: Some("__finish__".to_owned()), args }];
    for (bytes, elsewhere) in [(100, false), (LARGE, true)] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let checked = seen.clone();
        let builder = agent(AtOnce::new(vec![finish(args(bytes))]))
            .output_schema(json!({ "type": "object", "properties": { "text": { "type": "string" } } }))
            .validate(move |_| {
                checked.lock().unwrap().push(thread::current().id());
                Ok(())
            });
        let (done, _) = run(builder).await;
        assert_eq!(done.status(), Some(Status::Answered), "{bytes}");
        let seen: Vec<bool> =
            seen.lock().unwrap().iter().map(|thread| *thread != thread::current().id()).collect();
        assert_eq!(seen, [elsewhere], "{bytes}");
    }
}

/// A long conversation is put into its request elsewhere.
#[tokio::test(flavor = "current_thread")]
async fn a_long_conversation_is_written_on_another_thread() {
    let long = 8 * LARGE;
    let model = AtOnce::new(vec![call(args(100)), call(args(long))]);
    let (done, _) = run(agent(model.clone())).await;
    assert_eq!(done.status(), Some(Status::Answered));
    let own = thread::current().id();
    let asked: Vec<bool> = model.asked.lock().unwrap().iter().map(|thread| *thread != own).collect();
    assert_eq!(asked, [false, false, true]);
}

/// A reply in pieces, none of which is large: others have a turn with each 256 KiB.
#[tokio::test(flavor = "current_thread")]
async fn pieces_that_are_large_together_give_others_their_turns() {
    let pieces = |bytes: usize, count: usize| vec![vec![Delta::Text("x".repeat(bytes)); count]];
    let half = LARGE_BYTES as usize / 2;
    for (bytes, count, least) in [(half, 64, 31), (16, 640, 10), (16, 32, 0)] {
        let model = AtOnce::new(pieces(bytes, count));
        let (done, turns) = run(agent(model).settings(&json!({}))).await;
        assert_eq!(done.text().map(str::len), Some(bytes * count));
        // The reply as a whole is read elsewhere: masked, and decided on.
        let most = least + if bytes == half { 8 } else { 0 };
        assert!((least..=most).contains(&turns), "{count} pieces of {bytes} bytes: {turns}");
    }
}

/// What a person allows may be long, too: the question is made elsewhere, and the answer is looked at elsewhere.
#[tokio::test(flavor = "current_thread")]
async fn an_answer_about_a_large_call_gives_others_their_turns() {
    let mut seen = Vec::new();
    for bytes in [100, LARGE] {
        let model = AtOnce::new(vec![call(args(bytes))]);
        let agent = agent(model).settings(&json!({ "approve": ["echo"] })).build().unwrap();
        let run = agent.run("Go").await.unwrap();
        let question = run.questions()[0].id.clone();
        // Another thread may have looked at it before the first turn of others: one look of many gives them one.
        let mut given = 0;
        for _ in 0..50 {
            let answered =
                InputKind::Answered { question: question.clone(), answer: Answer::Approve, by: None };
            let (posted, turns) = turns(Box::pin(agent.post(run.id(), answered))).await;
            posted.unwrap();
            given += turns;
            if bytes < LARGE || given > 0 {
                break;
            }
        }
        let resumed = agent.resume(run.id()).prepare().await.unwrap();
        assert_eq!(resumed.drive().await.unwrap().status(), Some(Status::Answered));
        seen.push(given);
    }
    assert_eq!(seen[0], 0);
    assert!(seen[1] > 0, "the answer is looked at on the spot");
}

#[test]
fn the_turns_of_others_are_counted() {
    let mut left = 3;
    let aside = poll_fn(move |context| {
        left -= 1;
        context.waker().wake_by_ref();
        if left > 0 { Poll::Pending } else { Poll::Ready(()) }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(turns(aside)), ((), 2));
}
