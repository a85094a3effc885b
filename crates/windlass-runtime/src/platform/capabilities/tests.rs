use std::os::unix::fs::PermissionsExt as _;

use windlass_core::policy::Wire;

use super::{DAY_MS, Detected, EXPIRES_DAYS, MAX_ENTRIES, detected, forget, keep_in, memory};

fn wire_of(id: &str, now: u64) -> Option<Wire> {
    detected(id, now).wire
}

fn learn(id: &str, wire: Wire, now: u64) {
    super::learn(id, |known| known.wire = Some(wire), now);
}

/// A process begins anew with that file.
fn begin(file: &std::path::Path) {
    memory().entries.clear();
    keep_in(file.to_owned());
}

/// One test: the memory is the process's.
#[test]
fn what_is_learnt_is_kept_bounded_and_expires() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("home/models.json");
    begin(&file);
    assert_eq!(wire_of("a", 0), None);
    learn("a", Wire::Schema, 1_000);
    assert_eq!(wire_of("a", 1_000), Some(Wire::Schema));
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");

    // Another process knows it, until it expires; to learn it again does not prolong it.
    begin(&file);
    let day = |days: u64| 1_000 + days * DAY_MS;
    learn("a", Wire::Schema, day(EXPIRES_DAYS - 1));
    assert_eq!(wire_of("a", day(EXPIRES_DAYS) - 1), Some(Wire::Schema));
    assert_eq!(wire_of("a", day(EXPIRES_DAYS)), None);
    learn("a", Wire::Fenced, day(1));
    assert_eq!(wire_of("a", day(EXPIRES_DAYS)), Some(Wire::Fenced), "what is learnt anew is younger");

    // A second thing of the same model does not take the first one away.
    super::learn("a", |known| known.no_native_output = true, day(2));
    begin(&file);
    assert_eq!(detected("a", day(2)), Detected { wire: Some(Wire::Fenced), no_native_output: true });

    // What two processes learn at once is kept by both.
    begin(&file);
    learn("b", Wire::Schema, day(1));
    memory().entries.clear();
    learn("c", Wire::Schema, day(1));
    begin(&file);
    assert_eq!((wire_of("b", day(1)), wire_of("c", day(1))), (Some(Wire::Schema), Some(Wire::Schema)));
    assert!(forget("b", day(1)) && !forget("b", day(1)));
    begin(&file);
    assert_eq!(wire_of("b", day(1)), None);

    // The oldest entries go.
    for at in 0..MAX_ENTRIES as u64 + 5 {
        learn(&format!("m{at}"), Wire::Schema, day(2) + at);
    }
    assert_eq!(memory().entries.len(), MAX_ENTRIES);
    assert_eq!((wire_of("c", day(2)), wire_of("m5", day(2)).is_some()), (None, true));

    // A damaged file counts as empty, and is written anew.
    std::fs::write(&file, b"{\"models\": 7}").unwrap();
    begin(&file);
    assert_eq!(wire_of("m9", day(2)), None);
    learn("d", Wire::Fenced, day(2));
    begin(&file);
    assert_eq!(wire_of("d", day(2)), Some(Wire::Fenced));

    // Nobody writes into a pipe: it is not waited for.
    let pipe = folder.path().join("pipe.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (told, read) = std::sync::mpsc::channel();
    std::thread::spawn(move || told.send(super::content(&pipe).map_err(|error| error.to_string())));
    let read = read.recv_timeout(std::time::Duration::from_secs(20)).expect("it is read at once");
    assert_eq!(read.unwrap_err(), "it is not a regular file");
}
