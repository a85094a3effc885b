//! The memory that very many ended runs leave behind in the process that drove them (E69).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use serde_json::{Value, json};
use windlass::Agent;
use windlass::runtime::host::{Host, Position, Start};
use windlass::runtime::{Admitted, DriveOptions};

use super::{Options, Outcome, agent, cpu_s, file_bytes, replay::open, status_kb};

/// How many runs share a session, one after another.
const OF_A_SESSION: u64 = 2;
/// How many owners the runs have.
const OWNERS: u64 = 1_000;
/// Every run of this many is followed to its end.
const FOLLOWED: u64 = 10;
/// How often the memory is read between two rows: it moves by a tenth with what the allocator has given back.
const PARTS: u64 = 20;

/// Short runs in one host, and the median of its process's memory between each two of 1, 2 and 5 times 10^3, 10^4 and so on of them. Half
/// of them begin a session, each has an idempotency key, and some are followed.
pub(super) async fn ended(options: &Options) -> Outcome<Value> {
    let (runs, at_once) = (options.number("--runs", 100_000), options.number("--concurrency", 64).max(1));
    let place = options.place()?;
    let log = open(&place)?;
    let agent = agent(log.clone(), options.number("--turns", 1))?;
    let mut builder = Host::builder(log.clone());
    if options.number("--pieces", 0) == 1 {
        builder = builder.keeps_pieces();
    }
    let host = builder.build();
    let (mut rows, mut done, begun) = (Vec::new(), 0, Instant::now());
    while done < runs {
        let until = mark_after(done).min(runs);
        let (cpu, from, count) = (cpu_s(), Instant::now(), until - done);
        let mut resident = Vec::new();
        for part in 0..PARTS {
            some(&host, &agent, done + count * part / PARTS..done + count * (part + 1) / PARTS, at_once)
                .await?;
            resident.push(status_kb("VmRSS:"));
        }
        let (took, cpu) = (from.elapsed().as_secs_f64(), cpu_s() - cpu);
        done = until;
        resident.sort_unstable();
        let row = json!({
            "runs": done, "rss_kb": resident.get(resident.len() / 2), "rss_kb_least": resident.first(),
            "rss_kb_most": resident.last(), "driven": host.driven().len(), "runs_a_s": count as f64 / took,
            "cpu_us_a_run": cpu * 1e6 / count as f64, "file_mb": file_bytes(&place.file("log.db")) >> 20,
        });
        // An hour is long for somebody who sees nothing.
        eprintln!("{row}");
        rows.push(row);
    }
    Ok(
        json!({ "runs": runs, "concurrency": at_once, "took_s": begun.elapsed().as_secs_f64(), "after": rows }),
    )
}

/// The next count after which the memory is told: 1, 2 and 5 of each power of ten from a thousand on.
fn mark_after(done: u64) -> u64 {
    let powers = (3..19).map(|power| 10_u64.pow(power));
    let marks = powers.flat_map(|power| [power, 2 * power, 5 * power]);
    marks.into_iter().find(|mark| *mark > done).unwrap_or(u64::MAX)
}

/// Starts these runs, so many at once, and waits for their ends.
async fn some(host: &Host, agent: &Agent, numbers: std::ops::Range<u64>, at_once: u64) -> Outcome<()> {
    let (next, until) = (Arc::new(AtomicU64::new(numbers.start / OF_A_SESSION)), numbers.end / OF_A_SESSION);
    let tasks: Vec<_> = (0..at_once)
        .map(|_| {
            let (host, agent, next) = (host.clone(), agent.clone(), next.clone());
            tokio::spawn(async move {
                loop {
                    let session = next.fetch_add(1, Relaxed);
                    if session >= until {
                        return Ok::<(), String>(());
                    }
                    for place in 0..OF_A_SESSION {
                        one(&host, &agent, session, place).await.map_err(|error| error.to_string())?;
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

async fn one(host: &Host, agent: &Agent, session: u64, place: u64) -> Outcome<()> {
    let number = session * OF_A_SESSION + place;
    let options = DriveOptions {
        owner: format!("owner{}", session % OWNERS).as_str().into(),
        session: Some(format!("session{session}").as_str().into()),
        key: Some(format!("key{number}").as_str().into()),
        ..DriveOptions::default()
    };
    let Admitted::Started(run) = host.start(Start::new(agent, "Go").options(options)).await? else {
        return Err(format!("run {number} was not begun").into());
    };
    if number.is_multiple_of(FOLLOWED) {
        let mut follower = host.follow(run.id(), Position::default()).await?;
        while follower.next().await?.is_some() {}
    }
    let run = run.end().await?;
    if run.text() == Some("done") {
        Ok(())
    } else {
        Err(format!("unexpected end: {:?} {:?}", run.status(), run.error()).into())
    }
}
