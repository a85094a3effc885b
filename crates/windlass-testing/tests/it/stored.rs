//! The bytes that runs write: a log of yesterday and one of today are the same where nothing was meant to change.
//!
//! `stored.tsv` has one line for each file of conversations: its runs, facts, bytes, and SHA-256 of everything that a store keeps of
//! their appends (place, time, cause, kind, body). `stored_facts.txt` has the first body of each kind of fact as it stands there,
//! so that a difference in one line of `stored.tsv` can be looked at. After a change of the format that is meant:
//! `WINDLASS_UPDATE=1 cargo nextest run -p windlass-testing --test it -E 'test(stored)'`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use windlass_core::Fact;
use windlass_testing::appends_of_case;

use crate::{FILES, cases_of, with_code};

/// Kinds that no conversation brings, because the format has no key for what causes them.
const NOT_IN_CONVERSATIONS: &[(&str, &str)] = &[
    (
        "MessageQueued",
        r#"{"run":"00000000-0000-7000-8000-000000000002","messages":[{"role":"user","content":"Hi"}]}"#,
    ),
    ("RunResumed", r#"{"holder":"h","epoch":2}"#),
];

fn committed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(name)
}

/// Compares with the committed text, or writes it anew where that was asked for.
fn hold(name: &str, now: &str) {
    let path = committed(name);
    if std::env::var_os("WINDLASS_UPDATE").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = before.lines().zip(now.lines()).filter(|(before, now)| before != now);
    let changed: Vec<String> = lines.map(|(before, now)| format!("- {before}\n+ {now}")).collect();
    assert!(before == now, "{name}: the stored form has changed\n{}", changed.join("\n"));
}

#[test]
fn e34_stored_bytes_of_all_conversations_are_as_before() {
    with_code();
    let mut files = String::new();
    let mut bodies: BTreeMap<&'static str, String> = BTreeMap::new();
    for file in FILES {
        let (mut runs, mut facts, mut bytes, mut digest) = (0, 0, 0, Sha256::new());
        let mut keep = |part: &str| {
            bytes += part.len();
            digest.update(part);
            digest.update([0]);
        };
        for case in cases_of(file).into_iter().map(Result::unwrap) {
            // A case that is refused stores nothing.
            for (_, batches) in appends_of_case(&case).unwrap_or_default() {
                runs += 1;
                for batch in batches {
                    keep(&batch.first.to_string());
                    keep(&serde_json::to_string(&batch.cause).unwrap());
                    for event in batch.events.iter() {
                        let body = event.fact.body().unwrap();
                        facts += 1;
                        keep(&event.at.to_string());
                        keep(event.fact.kind());
                        keep(&body);
                        bodies.entry(event.fact.kind()).or_insert(body);
                    }
                }
            }
        }
        let digest = digest.finalize().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        writeln!(files, "{file}\t{runs}\t{facts}\t{bytes}\t{digest}").unwrap();
    }
    hold("stored.tsv", &files);
    let mut all = String::new();
    for kind in Fact::KINDS {
        let by_hand = NOT_IN_CONVERSATIONS.iter().find(|(name, _)| name == kind).map(|(_, body)| *body);
        let body = bodies.get(kind).map(String::as_str).or(by_hand);
        let body = body.unwrap_or_else(|| panic!("no conversation brings `{kind}`: give it a body by hand"));
        // What was read is written as it stood.
        assert_eq!(Fact::from_body(kind, body).unwrap().body().unwrap(), body, "{kind}");
        writeln!(all, "{kind}\t{body}").unwrap();
    }
    hold("stored_facts.txt", &all);
}
