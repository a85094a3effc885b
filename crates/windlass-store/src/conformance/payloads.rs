//! Promises of payloads.

use std::sync::Arc;

use windlass_core::event::CallFinished;
use windlass_core::message::Part;
use windlass_core::message::{Content, Ref};
use windlass_core::{CallOutcome, Event, RunId};

use super::sample::{BEGAN, append, begin};
use super::{Verdict, holds, refused, same, works};
use crate::Store;

/// Bytes that repeat nowhere near: more than any store keeps in one piece.
fn many() -> Arc<[u8]> {
    (0..700_000_u32).flat_map(u32::to_le_bytes).collect()
}

fn naming(sha256: &str) -> Arc<[Event]> {
    let content = Content::Parts(vec![Part::Stored(Ref::to_data(sha256.into(), 1))]);
    let outcome = CallOutcome::Ok { content };
    let fact = CallFinished { call: "c".into(), outcome, note: None, limit: None };
    Arc::new([Event { at: BEGAN, fact: fact.into() }])
}

/// Bytes are kept under their SHA-256, the same ones once, and come back by ranges.
pub async fn a_payload_is_kept_once_and_read_by_ranges(log: Arc<dyn Store>) -> Verdict {
    let abc = works("a payload", log.put(Arc::from(*b"abc")).await)?;
    // FIPS 180-2, appendix B.1.
    same("a digest", &&*abc, &"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")?;
    same("the bytes", &works("reading", log.get(&abc, 0, 100).await)?, &b"abc".to_vec())?;
    let empty = works("an empty payload", log.put(Arc::from([])).await)?;
    same("no bytes", &works("reading", log.get(&empty, 0, 100).await)?, &Vec::new())?;
    let bytes = many();
    let large = works("a large payload", log.put(bytes.clone()).await)?;
    same("the digest of the same bytes", &works("the same payload", log.put(bytes.clone()).await)?, &large)?;
    let len = bytes.len();
    let ranges = [
        (0, 1),
        (0, len),
        (len - 1, 10),
        (len, 10),
        (len + 10, 10),
        (262_143, 2),
        (262_144, 262_144),
        (1_000_001, 900_000),
        (17, 0),
    ];
    for (from, max) in ranges {
        let found = works("a range", log.get(&large, from as u64, max).await)?;
        let promised = bytes.get(from.min(len)..from.saturating_add(max).min(len)).unwrap_or_default();
        holds(&format!("the bytes from {from}, at most {max}, are others"), found == promised)?;
    }
    let missing = "0".repeat(64);
    refused("reading what is not there", log.get(&missing, 0, 1).await, "store.unknown_payload")?;
    refused("reading by no digest", log.get("no digest", 0, 1).await, "store.unknown_payload").map(drop)
}

/// An append whose events refer to a payload that is not there is refused.
pub async fn an_append_needs_the_payloads_that_it_names(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    let missing = naming(&"0".repeat(64));
    refused(
        "naming a payload that is not there",
        log.append(append(run, 1, missing)).await,
        "store.unknown_payload",
    )?;
    same("the number of events", &works("a summary", log.summary(run).await)?.version, &1)?;
    let there = works("a payload", log.put(Arc::from(*b"there")).await)?;
    works("naming a payload that is there", log.append(append(run, 1, naming(&there))).await)?;
    works("naming it again", log.append(append(run, 2, naming(&there))).await)
}

/// A payload belongs to each run whose events name it, and to no other.
pub async fn a_payload_has_its_size_in_the_runs_that_name_it(log: Arc<dyn Store>) -> Verdict {
    let (one, other) = (begin(&*log, 1).await?, begin(&*log, 2).await?);
    let there = works("a payload", log.put(Arc::from(*b"there")).await)?;
    let missing = "0".repeat(64);
    let size = async |run, sha256: &str| works("a size", log.size_in(run, sha256).await);
    same("the size before an event names it", &size(one, &there).await?, &None)?;
    works("naming it", log.append(append(one, 1, naming(&there))).await)?;
    same("the size where an event names it", &size(one, &there).await?, &Some(5))?;
    same("the size in another run", &size(other, &there).await?, &None)?;
    same("the size in no run", &size(RunId::from_number(9), &there).await?, &None)?;
    same("the size of what is not there", &size(one, &missing).await?, &None)?;
    same("the size by no digest", &size(one, "no digest").await?, &None)?;
    works("naming it in the other run", log.append(append(other, 1, naming(&there))).await)?;
    same("the size in both", &(size(one, &there).await?, size(other, &there).await?), &(Some(5), Some(5)))
}
