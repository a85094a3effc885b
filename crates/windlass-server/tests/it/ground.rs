//! What the tests stand on: a server with an agent, and clients with tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use windlass_core::tool::Effect;
use windlass_core::{Message, Owner};
use windlass_runtime::host::Host;
use windlass_runtime::{Agent, Environment, SystemEnvironment};
use windlass_server::{NewToken, Server, Settings, Tokens, Verb};
use windlass_store::{MemoryLog, Store};
use windlass_testing::{FnModel, FnTool, called, text_reply};

use crate::client::Client;

/// A server on loopback.
pub(crate) struct Ground {
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) log: Arc<dyn Store>,
    /// Lets one call of the tool `wait` end.
    pub(crate) go_on: Arc<Notify>,
    /// How often the tool `pay` has paid.
    pub(crate) paid: Arc<AtomicUsize>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    _folder: TempDir,
}

/// Settings of a test: a port that is free.
pub(crate) fn settings() -> Settings {
    Settings { listen: vec!["127.0.0.1:0".parse().unwrap()], grace_ms: 5_000, ..Settings::default() }
}

/// The agent `clerk`: `pay` calls a tool that a person must allow, `wait` one that takes its time, everything else is repeated.
fn clerk(host: &Host, go_on: &Arc<Notify>, paid: &Arc<AtomicUsize>) -> Agent {
    let model = FnModel::new(|request| match request.messages.iter().last().map(|message| &**message) {
        Some(Message::User { content, .. }) => match content.text().as_ref() {
            "pay" => called(&[("pay", "{}")]),
            "wait" => called(&[("wait", "{}")]),
            "long" => called(&[("long", "{}")]),
            text => text_reply(&format!("You said: {text}")),
        },
        _ => text_reply("done"),
    });
    let (go_on, paid) = (go_on.clone(), paid.clone());
    let wait = FnTool::new("wait", move |_, _| {
        let go_on = go_on.clone();
        async move {
            go_on.notified().await;
            Ok("waited".into())
        }
    });
    let pay = FnTool::new("pay", move |_, _| {
        paid.fetch_add(1, Ordering::SeqCst);
        async { Ok("paid".into()) }
    });
    let wait = wait.effect(Effect::ReadOnly);
    let long = FnTool::new("long", |_, _| async { Ok("x".repeat(200_000).as_str().into()) });
    let pay = pay.spec(|spec| spec.approve = true);
    let builder = Agent::builder("clerk").model(("m", Arc::new(model))).log(host.log().clone());
    let builder = builder.environment(host.environment().clone());
    builder.tool(pay).tool(wait).tool(long.effect(Effect::ReadOnly)).build().unwrap()
}

impl Ground {
    pub(crate) async fn new() -> Self {
        Self::with(settings(), Arc::new(MemoryLog::new())).await
    }

    pub(crate) async fn with(settings: Settings, log: Arc<dyn Store>) -> Self {
        Self::at(settings, log, Arc::new(SystemEnvironment)).await
    }

    /// A server with that clock.
    pub(crate) async fn at(settings: Settings, log: Arc<dyn Store>, clock: Arc<dyn Environment>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::of_file(folder.path().join("tokens.json"));
        let (go_on, paid) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let server = Server::in_environment(log.clone(), tokens, settings, clock);
        server.host().registry().add(clerk(server.host(), &go_on, &paid));
        let listening = server.listen().await.unwrap();
        let address = listening.addresses()[0];
        let stop = CancellationToken::new();
        let serving = tokio::spawn(listening.run(stop.clone()));
        let client = Client { address, token: None };
        let mut ground = Self { server, client, log, go_on, paid, stop, serving, _folder: folder };
        ground.client = ground.owner("local");
        ground
    }

    /// A client of that owner, who may do everything.
    pub(crate) fn owner(&self, owner: &str) -> Client {
        self.token(NewToken { owner: owner.into(), ..NewToken::default() })
    }

    /// A client with that token.
    pub(crate) fn token(&self, new: NewToken) -> Client {
        let (_, text) = self.server.tokens().make(new).unwrap();
        Client { address: self.client.address, token: Some(text) }
    }

    /// A client of `local` that may do only that.
    pub(crate) fn only(&self, verbs: &[Verb]) -> Client {
        self.token(NewToken { owner: Owner::default(), verbs: verbs.to_vec(), ..NewToken::default() })
    }

    /// Starts a run, and gives its id.
    pub(crate) async fn run(&self, input: &str) -> String {
        start(&self.client, input).await
    }

    /// Ends the server as SIGTERM does.
    pub(crate) async fn end(self) -> Arc<dyn Store> {
        self.stop.cancel();
        self.serving.await.unwrap();
        self.log
    }

    /// Asks the server to end, and does not wait.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }
}

/// Starts a run of the agent `clerk`, and gives its id.
pub(crate) async fn start(client: &Client, input: &str) -> String {
    let reply = client.post("/v1/runs", &json!({ "agent": "clerk", "input": input })).await.good();
    reply.json()["run"].as_str().unwrap().to_owned()
}

/// Reads a run until it is in that state.
pub(crate) async fn until(client: &Client, run: &str, status: &str) -> Value {
    let mut from = "0".to_owned();
    loop {
        let read = client.get(&format!("/v1/runs/{run}")).await.good().json();
        if read["status"] == status {
            return read;
        }
        // Until something new has happened.
        let updates =
            client.get(&format!("/v1/runs/{run}/updates?from={from}&wait_ms=200")).await.good().json();
        from = updates["position"].as_str().unwrap().to_owned();
    }
}

/// The first open question of a run, as `ID@DIGEST`.
pub(crate) fn question(run: &Value) -> String {
    let question = &run["questions"][0];
    format!("{}@{}", question["id"].as_str().unwrap(), question["digest"].as_str().unwrap())
}
