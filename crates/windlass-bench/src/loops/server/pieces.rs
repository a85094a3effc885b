//! The way of a piece from the model's socket to a reader of the server, beside a reader in the process that drives the run.

use serde_json::{Value, json};
use windlass::Update as Live;
use windlass::runtime::DriveOptions;
use windlass_api::Update;
use windlass_client::{Client, Follow};

use super::child::{Serving, keep_off};
use super::stamps::{Clock, model};
use super::start;
use crate::log::{Options, Outcome};
use crate::{Args, agent, at_share};

/// Ages of pieces in microseconds: of the first of each run, and of the others.
#[derive(Default)]
struct Ages {
    first: Vec<f64>,
    others: Vec<f64>,
}

impl Ages {
    fn see(&mut self, ages: Vec<f64>, is_first: &mut bool) {
        for age in ages {
            if std::mem::take(is_first) { self.first.push(age) } else { self.others.push(age) }
        }
    }

    fn into_json(mut self) -> Value {
        json!({
            "first_us": { "p50": at_share(&mut self.first, 0.5), "p99": at_share(&mut self.first, 0.99) },
            "others_us": { "p50": at_share(&mut self.others, 0.5), "p99": at_share(&mut self.others, 0.99) },
            "pieces": self.first.len() + self.others.len(),
        })
    }
}

pub(super) async fn pieces(options: &Options) -> Outcome<Value> {
    let (runs, pieces) = (options.number("--runs", 100), options.number("--pieces", 20));
    let place = options.place()?;
    keep_off()?;
    let clock = Clock::new();
    let url = model(clock, pieces).await?;
    let serving = Serving::start(&["--base-url", &url, "--model", "stamps"], &place.file("lines"))?;
    let client = serving.client()?;
    let (mut alone, mut served) = (Ages::default(), Ages::default());
    let mut args = Args::scripted(&url, "stamps", None);
    args.stream = true;
    let own = agent(&args)?;
    for run in 0..=runs {
        let (direct, by_server) = (in_process(&own, clock).await?, by_server(&client, clock).await?);
        // The first one opens connections.
        if run > 0 {
            alone.first.extend(direct.first);
            alone.others.extend(direct.others);
            served.first.extend(by_server.first);
            served.others.extend(by_server.others);
        }
    }
    Ok(json!({ "runs": runs, "in_process": alone.into_json(), "server": served.into_json() }))
}

async fn in_process(agent: &windlass::Agent, clock: Clock) -> Outcome<Ages> {
    let prepared = agent.prepare(crate::USER, DriveOptions::default()).await?;
    let mut updates = prepared.updates();
    let mut ages = Ages::default();
    let mut is_first = true;
    let read = async {
        while let Some(update) = updates.next().await {
            if let Live::Text { text, .. } = &update {
                ages.see(clock.ages(text), &mut is_first);
            }
        }
    };
    let (run, ()) = tokio::join!(prepared.drive(), read);
    run?;
    Ok(ages)
}

async fn by_server(client: &Client, clock: Clock) -> Outcome<Ages> {
    let started = client.start(&start("bench", crate::USER, 0), None).await?;
    let mut following = client.follow(started.run, Follow::default());
    let (mut ages, mut is_first) = (Ages::default(), true);
    while let Some(update) = following.next().await? {
        if let Update::Text { text, .. } = &update.update {
            ages.see(clock.ages(text), &mut is_first);
        }
    }
    Ok(ages)
}
