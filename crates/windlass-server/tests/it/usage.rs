//! E50, E53: what runs have used, whom it is told, and what it forbids.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_core::future::BoxFuture;
use serde_json::{Value, json};
use windlass_core::event::Millis;
use windlass_core::model::{ModelChoice, Prices};
use windlass_core::{Message, RunId, Text};
use windlass_runtime::{Agent, AgentBuilder, AgentDelegate, Environment, SystemEnvironment};
use windlass_server::{NewToken, Settings};
use windlass_store::{MemoryLog, SqliteLog};
use windlass_testing::{FnModel, called, text_reply};

use crate::client::Client;
use crate::ground::{Ground, settings, until};

/// What a model call of these tests costs in dollars: 20 tokens in, 10 out.
const CALL_USD: f64 = 0.014;
/// 2026-11-28T12:00:00Z, in milliseconds since the Unix epoch.
const NOON: Millis = 1_795_867_200_000;
const MIDNIGHT: Millis = NOON + 12 * 3_600_000;

/// An agent whose calls have a price: it calls `tool` once, if there is one, and answers.
fn priced(ground: &Ground, name: &str, tool: Option<&'static str>) -> AgentBuilder {
    let model =
        FnModel::new(move |request| match (tool, request.messages.iter().last().map(|last| &**last)) {
            (Some(tool), Some(Message::User { .. })) => called(&[(tool, r#"{"task": "go"}"#)]),
            _ => text_reply("done"),
        });
    let prices = Some(Prices::per_million(200.0, 1_000.0, None));
    let choice = ModelChoice { name: "m".into(), prices, ..ModelChoice::default() };
    let (log, clock) = (ground.server.host().log().clone(), ground.server.host().environment().clone());
    let builder = Agent::builder(name).description("Works.").model_with(choice, Arc::new(model));
    builder.log(log).environment(clock)
}

/// A clock that stands still until a test sets it. Waits take the time that they take.
#[derive(Debug)]
struct Clock(AtomicU64);

impl Clock {
    fn at(now: Millis) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(now)))
    }

    fn set(&self, now: Millis) {
        self.0.store(now, Ordering::SeqCst);
    }
}

impl Environment for Clock {
    fn now(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        SystemEnvironment.sleep_until(SystemEnvironment.now() + at.saturating_sub(self.now()))
    }

    fn new_run(&self) -> RunId {
        SystemEnvironment.new_run()
    }

    fn salt(&self) -> Text {
        SystemEnvironment.salt()
    }

    fn chance(&self) -> u16 {
        SystemEnvironment.chance()
    }
}

/// A server with `worker`, and with `boss`, who hands tasks to it. Its clock stands at noon.
async fn family(settings: Settings) -> Ground {
    family_at(settings, Clock::at(NOON)).await
}

async fn family_at(settings: Settings, clock: Arc<Clock>) -> Ground {
    let ground = Ground::at(settings, Arc::new(MemoryLog::new()), clock).await;
    let registry = ground.server.host().registry();
    let worker = priced(&ground, "worker", None).build().unwrap();
    registry.add(worker.clone());
    let delegate = Arc::new(AgentDelegate::new(worker));
    registry.add(priced(&ground, "boss", Some("worker")).delegate(delegate).build().unwrap());
    ground
}

/// Starts a run, and waits for its end.
async fn works(client: &Client, agent: &str) {
    let reply = client.post("/v1/runs", &json!({ "agent": agent, "input": "Go." })).await.good().json();
    until(client, reply["run"].as_str().unwrap(), "answered").await;
}

async fn refusal(client: &Client, agent: &str) -> (Value, String) {
    let reply = client.post("/v1/runs", &json!({ "agent": agent, "input": "Go." })).await;
    assert_eq!(reply.refusal(), (429, "limit.reached".to_owned()));
    (reply.json()["error"]["details"].clone(), reply.headers["retry-after"].to_str().unwrap().to_owned())
}

fn dollars(line: &Value) -> f64 {
    line["known_cost_usd"].as_f64().unwrap()
}

async fn lines(client: &Client, query: &str) -> Vec<Value> {
    client.get(&format!("/v1/usage{query}")).await.good().json()["items"].as_array().unwrap().clone()
}

/// The same of a metric that counts.
async fn count(client: &Client, name: &str, label: &str) -> u64 {
    metric(client, name, label).await as u64
}

/// The lines of a metric with a text in their labels, summed up.
async fn metric(client: &Client, name: &str, label: &str) -> f64 {
    let text = String::from_utf8(client.get("/metrics").await.good().body.to_vec()).unwrap();
    let found = text.lines().filter(|line| line.starts_with(name) && line.contains(label));
    found.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

#[tokio::test]
async fn e50_an_owner_whose_dollars_of_the_day_are_used_up_begins_nothing_more() {
    let mut settings = settings();
    settings.limits.owner.usd_cents_per_day = Some(2);
    let ground = family(settings).await;
    let (ada, bob) = (ground.owner("ada"), ground.owner("bob"));
    works(&ada, "worker").await;
    let under = json!({ "agent": "worker", "input": "Go.", "wait_ms": 10_000 });
    let first = ada.post_under("k", "/v1/runs", &under).await.good().json();
    let (details, retry_after) = refusal(&ada, "worker").await;
    let limit = ("US dollars a day of owner ada", "0.03", "0.02");
    let told = |key: &str| details[key].as_str().unwrap();
    assert_eq!((told("limit"), told("used"), told("max")), limit);
    assert_eq!(
        (&*retry_after, &details["retry_after_s"]),
        ("43200", &json!(43_200)),
        "until the day is over"
    );
    // A repeat begins nothing, and another owner has dollars of its own.
    let again = ada.post_under("k", "/v1/runs", &under).await.good().json();
    assert_eq!((&again["run"], again["fate"].as_str()), (&first["run"], Some("repeated")));
    works(&bob, "worker").await;
    assert_eq!(count(&ground.client, "windlass_refused_total", "usd_per_day").await, 1);
}

/// A count that is absent until it has happened once cannot be told from one that is not kept.
#[tokio::test]
async fn e53_metrics_of_limits_and_agents_are_there_before_anything_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("guide.yaml"), "name: guide\nmodel: tour\n").unwrap();
    let ground = Ground::new().await;
    ground.server.load(folder.path()).await.unwrap();
    let text = String::from_utf8(ground.client.get("/metrics").await.good().body.to_vec()).unwrap();
    for line in [
        r#"windlass_refused_total{limit="requests_per_minute"} 0"#,
        r#"windlass_refused_total{limit="usd_per_day"} 0"#,
        r#"windlass_refused_total{limit="waiting"} 0"#,
        r#"windlass_tokens_total{agent="guide",kind="Input"} 0"#,
        r#"windlass_cost_usd_total{agent="guide"} 0.0"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn e50_the_dollars_of_a_day_are_there_again_from_midnight_on() {
    let mut settings = settings();
    settings.limits.owner.usd_cents_per_day = Some(2);
    let clock = Clock::at(MIDNIGHT - 1_500);
    let ground = family_at(settings, clock.clone()).await;
    let ada = ground.owner("ada");
    works(&ada, "worker").await;
    works(&ada, "worker").await;
    let (_, retry_after) = refusal(&ada, "worker").await;
    assert_eq!(retry_after, "2");
    clock.set(MIDNIGHT - 1);
    assert_eq!(refusal(&ada, "worker").await.1, "1");
    clock.set(MIDNIGHT);
    works(&ada, "worker").await;
    works(&ada, "worker").await;
    let (details, retry_after) = refusal(&ada, "worker").await;
    assert_eq!((details["used"].as_str(), &*retry_after), (Some("0.03"), "86400"), "of this day alone");
    let days = lines(&ada, "").await;
    let told: Vec<_> = days.iter().map(|line| (line["day"].as_str().unwrap(), &line["runs"])).collect();
    assert_eq!(told, [("2026-11-29", &json!(2)), ("2026-11-28", &json!(2))]);
}

/// What a delegate used counts for the delegate's agent.
#[tokio::test]
async fn e50_an_agent_whose_dollars_of_the_day_are_used_up_begins_nothing_more() {
    let mut settings = settings();
    settings.limits.agent.usd_cents_per_day = Some(3);
    let ground = family(settings).await;
    works(&ground.client, "boss").await;
    works(&ground.client, "boss").await;
    // Two calls each of the boss, and one of its worker.
    let (details, _) = refusal(&ground.owner("ada"), "boss").await;
    let told = (details["limit"].as_str().unwrap(), details["used"].as_str().unwrap());
    assert_eq!(told, ("US dollars a day of agent boss", "0.06"));
    works(&ground.client, "worker").await;
    let (details, _) = refusal(&ground.client, "worker").await;
    assert_eq!(details["used"].as_str(), Some("0.04"));
}

#[tokio::test]
async fn e50_runs_of_unknown_cost_count_as_nothing_and_are_named() {
    let mut settings = settings();
    settings.limits.owner.usd_cents_per_day = Some(0);
    let ground = family(settings.clone()).await;
    let (details, _) = refusal(&ground.client, "clerk").await;
    assert_eq!(details["used"].as_str(), Some("0.00"), "no dollar admits nothing");
    settings.limits.owner.usd_cents_per_day = Some(1);
    let ground = family(settings).await;
    works(&ground.client, "clerk").await;
    works(&ground.client, "clerk").await;
    works(&ground.client, "worker").await;
    let (details, _) = refusal(&ground.client, "clerk").await;
    assert_eq!(details["used"].as_str(), Some("0.01 (and 2 runs of unknown cost)"));
}

#[tokio::test]
async fn e53_use_is_told_by_day_and_owner_to_those_who_see_the_owner() {
    let ground = family(settings()).await;
    let (ada, bob) = (ground.owner("ada"), ground.owner("bob"));
    works(&ada, "boss").await;
    works(&ada, "worker").await;
    works(&bob, "clerk").await;
    let own = lines(&ada, "").await;
    let [line] = own.as_slice() else { panic!("{own:?}") };
    // Two runs that somebody began, and one of a delegate: four model calls.
    assert_eq!((line["owner"].as_str(), line["runs"].as_u64()), (Some("ada"), Some(3)));
    assert_eq!(line["usage"], json!({ "input": 80, "output": 40 }));
    assert!(
        (dollars(line) - 4.0 * CALL_USD).abs() < 1e-9 && line["cost_usd"] == line["known_cost_usd"],
        "{line}"
    );
    assert_eq!((&line["day"], &line["unpriced_runs"]), (&json!("2026-11-28"), &json!(0)));
    let [theirs] = lines(&bob, "").await.try_into().unwrap();
    assert_eq!(
        (theirs["cost_usd"].is_null(), dollars(&theirs), &theirs["unpriced_runs"]),
        (true, 0.0, &json!(1))
    );
    assert_eq!(lines(&bob, "?owner=ada").await, Vec::<Value>::new());
    // Those who see all: the owners of a day stand side by side.
    let all = lines(&ground.client, "").await;
    let owners: Vec<_> = all.iter().map(|line| line["owner"].as_str().unwrap()).collect();
    assert_eq!(owners, ["ada", "bob"]);
    let worker = lines(&ground.client, "?owner=ada&agent=worker").await;
    assert_eq!((worker.len(), worker[0]["runs"].as_u64()), (1, Some(2)));
    assert_eq!(lines(&ground.client, "?until=1").await, Vec::<Value>::new());
    assert_eq!(lines(&ground.client, &format!("?since={}", NOON + 1)).await, Vec::<Value>::new());
    // A token for one agent is told of that alone.
    let agents = vec!["worker".into()];
    let some = ground.token(NewToken { owner: "eve".into(), sees_all: true, agents, ..NewToken::default() });
    let told = lines(&some, "").await;
    assert_eq!((told.len(), told[0]["runs"].as_u64()), (1, Some(2)), "{told:?}");
    assert_eq!(ground.client.get("/v1/usage?since=soon").await.refusal().0, 400);
}

/// Each token once: the use of a delegate is not counted with its parent's as well, and what a run used before the server began is not
/// counted at all.
#[tokio::test]
async fn e53_metrics_count_what_runs_use_here_once_and_the_time_of_appends() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Arc::new(SqliteLog::open(folder.path().join("log.db")).unwrap());
    let ground = Ground::with(settings(), open()).await;
    let registry = ground.server.host().registry();
    let worker = priced(&ground, "worker", None).build().unwrap();
    let delegate = Arc::new(AgentDelegate::new(worker));
    registry.add(priced(&ground, "boss", Some("worker")).delegate(delegate).build().unwrap());
    works(&ground.client, "boss").await;
    let waits = ground.run("pay").await;
    until(&ground.client, &waits, "suspended").await;
    let mut tokens = BTreeMap::new();
    for agent in ["boss", "worker", "clerk"] {
        let label = format!("agent=\"{agent}\",kind=\"Input\"");
        tokens.insert(agent, count(&ground.client, "windlass_tokens_total", &label).await);
    }
    assert_eq!(tokens, BTreeMap::from([("boss", 40), ("worker", 20), ("clerk", 20)]));
    let cost = metric(&ground.client, "windlass_cost_usd_total", "").await;
    assert!((cost - 3.0 * CALL_USD).abs() < 1e-9, "{cost}");
    let unpriced = count(&ground.client, "windlass_tokens_total", "agent=\"clerk\",kind=\"Unpriced\"").await;
    assert_eq!(unpriced, 30);
    let appends = count(&ground.client, "windlass_append_seconds_count", "").await;
    assert!(appends >= 8, "{appends}");
    // A run of its own and a delegate's have ended, and one waits for a person.
    for (state, runs) in [("Ended", 2), ("Suspended", 1), ("Running", 0), ("Due", 0)] {
        assert_eq!(count(&ground.client, "windlass_runs", state).await, runs, "{state}");
    }
    assert_eq!(count(&ground.client, "windlass_oldest_due_run_seconds", "").await, 0);
    ground.end().await;
    // Another server takes the run up: its first call was not made here.
    let ground = Ground::with(settings(), open()).await;
    let question = crate::ground::question(&until(&ground.client, &waits, "suspended").await);
    let answer = json!({ "question": question, "answer": "approve" });
    ground.client.post(&format!("/v1/runs/{waits}/answer"), &answer).await.good();
    until(&ground.client, &waits, "answered").await;
    assert_eq!(count(&ground.client, "windlass_tokens_total", "kind=\"Input\"").await, 20);
}
