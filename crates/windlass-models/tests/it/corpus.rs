//! Recorded replies of each wire, in `tests/corpus/WIRE/`: decoded whole, cut anywhere and cut short.
//!
//! `*.sse` and `*.jsonl` are streams, `*.json` whole replies, `*.error.json` errors that come with the status 200. A stream
//! and a whole reply of one name are the same reply. In a file with `.return.` in its name the provider wants its reasoning
//! back. Each reply or failure is a snapshot beside its file; `INSTA_UPDATE=always` writes new ones.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use windlass_core::model::{FailureKind, ModelFailure, Reply, Usage};
use windlass_models::http::{Framing, replay, replay_whole};
use windlass_models::wires::{Asked, Dialect, Quirks, WIRES, Wire};

use self::remembered::Remembered;

mod foreign;
mod remembered;

type Outcome = Result<Reply, ModelFailure>;

/// The ends of files with streams, with whole replies and with errors.
const STREAMS: [&str; 2] = [".sse", ".jsonl"];
const WHOLE: &str = ".json";
const ERROR: &str = ".error.json";

/// Bodies up to this length are cut at every byte.
const SMALL_BYTES: usize = 4096;

/// The number of cuts of a longer body, beside those near the ends of its lines.
const MANY_CUTS: usize = 256;

/// The reader of one file.
#[derive(Clone)]
struct Reader {
    wire: &'static dyn Wire,
    /// The same wire, for the many ways in which one stream may come.
    remembered: Arc<Remembered>,
    dialect: Dialect,
    asked: Asked,
}

impl Reader {
    fn new(wire: &'static dyn Wire, file: &str) -> Self {
        let quirks = Quirks { return_reasoning: file.contains(".return."), ..Quirks::NONE };
        let dialect = Dialect { label: "test".into(), quirks };
        let remembered = Arc::new(Remembered::new(wire, &dialect));
        Self { wire, remembered, dialect, asked: Asked { model: "test/m".into(), content_bytes: 400 } }
    }

    fn stream<'b>(&self, pieces: impl IntoIterator<Item = &'b [u8]>) -> Outcome {
        replay(self.wire, &self.dialect, &self.asked, pieces)
    }

    /// The same, with events that came before in the same place read but once.
    fn again<'b>(&self, pieces: impl IntoIterator<Item = &'b [u8]>) -> Outcome {
        replay(&*self.remembered, &self.dialect, &self.asked, pieces)
    }

    fn whole(&self, body: &[u8]) -> Outcome {
        replay_whole(self.wire, &self.dialect, &self.asked, body)
    }
}

/// The broken promises of one file.
#[derive(Default)]
struct Broken(Vec<String>);

impl Broken {
    fn same<T: PartialEq + Debug>(&mut self, how: impl Fn() -> String, found: &T, expected: &T) {
        if found != expected {
            self.0.push(format!("{}: found {found:?}, expected {expected:?}", how()));
        }
    }
}

/// The places where a body is cut.
fn cuts(body: &[u8]) -> Vec<usize> {
    if body.len() <= SMALL_BYTES {
        return (0..=body.len()).collect();
    }
    let ends = body.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    let near = ends.flat_map(|at| at.saturating_sub(2)..=(at + 2).min(body.len()));
    let spread = (0..MANY_CUTS).map(|at| at * body.len() / MANY_CUTS);
    let mut all: Vec<_> = near.chain(spread).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A body with its lines ended otherwise.
fn with_ends(body: &[u8], end: &str) -> Vec<u8> {
    String::from_utf8_lossy(body).replace("\r\n", "\n").replace('\n', end).into_bytes()
}

/// A stream gives the same however its bytes come.
fn cut_anywhere(reader: &Reader, body: &[u8], whole: &Outcome, broken: &mut Broken) {
    // The decoder itself, without memory: what it remembers is right.
    broken.same(|| "byte by byte, decoded".to_owned(), &reader.stream(body.chunks(1)), whole);
    for cut in cuts(body) {
        let (head, tail) = body.split_at(cut);
        broken.same(|| format!("cut at {cut}"), &reader.again([head, tail]), whole);
    }
    broken.same(|| "byte by byte".to_owned(), &reader.again(body.chunks(1)), whole);
    let lines: Vec<_> = body.split_inclusive(|byte| *byte == b'\n').collect();
    broken.same(|| "line by line".to_owned(), &reader.again(lines.iter().copied()), whole);
    for joined in 2..5 {
        let pieces: Vec<_> = lines.chunks(joined).map(<[_]>::concat).collect();
        let outcome = reader.again(pieces.iter().map(Vec::as_slice));
        broken.same(|| format!("{joined} lines at once"), &outcome, whole);
    }
    let ends: &[&str] = match reader.wire.facts().framing {
        Framing::Events => &["\n", "\r\n", "\r"],
        Framing::Lines => &["\n", "\r\n"],
    };
    for end in ends {
        let body = with_ends(body, end);
        broken.same(|| format!("lines that end in {end:?}"), &reader.again([&*body]), whole);
        broken.same(|| format!("byte by byte, {end:?}"), &reader.again(body.chunks(1)), whole);
    }
}

/// A stream that ends early is no reply before its end reason came: as soon as it is one, it has all but its usage.
fn cut_short(reader: &Reader, body: &[u8], whole: &Outcome, broken: &mut Broken) {
    let but_usage = |reply: &Reply| Reply { usage: Usage::default(), ..reply.clone() };
    let mut complete_since = None;
    for end in cuts(body).into_iter().filter(|end| *end < body.len()) {
        match (reader.again([&body[..end]]), whole) {
            (Ok(short), Ok(whole)) => {
                complete_since = complete_since.or(Some(end));
                broken.same(|| format!("ended at {end}"), &but_usage(&short), &but_usage(whole));
            }
            (Ok(short), Err(_)) => broken.0.push(format!("ended at {end}, complete: {short:?}")),
            (Err(failure), _) => {
                let wrong = if complete_since.is_some() && whole.is_ok() {
                    Some("was complete before")
                } else {
                    let as_whole = whole.as_ref().is_err_and(|whole| whole.kind == failure.kind);
                    let nothing_yet = failure.message.contains("not a stream of events");
                    (failure.kind != FailureKind::Cut && !as_whole && !nothing_yet).then_some("is no cut")
                };
                broken.0.extend(wrong.map(|wrong| format!("ended at {end}, {wrong}: {failure:?}")));
            }
        }
    }
}

/// The outcome as a snapshot shows it.
fn shown(outcome: &Outcome) -> String {
    let value = match outcome {
        Ok(reply) => json!({ "reply": reply }),
        Err(failure) => json!({ "failure": failure }),
    };
    serde_json::to_string_pretty(&value).expect("it is JSON")
}

/// The files of a folder with one of these ends, by name.
fn files(folder: &Path, ends: &[&str]) -> BTreeMap<String, PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let named = paths.map(|path| (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path));
    named.filter(|(name, _)| ends.iter().any(|end| name.ends_with(end))).collect()
}

/// Decodes a file and returns what is broken.
fn decode(wire: &'static dyn Wire, name: &str, path: &Path) -> (Outcome, Broken) {
    let (reader, mut broken) = (Reader::new(wire, name), Broken::default());
    let body = std::fs::read(path).expect("a readable file");
    let (is_whole, is_error) = (name.ends_with(WHOLE), name.ends_with(ERROR));
    let outcome = if is_whole {
        reader.whole(&body)
    } else {
        let outcome = reader.stream([&*body]);
        cut_anywhere(&reader, &body, &outcome, &mut broken);
        cut_short(&reader, &body, &outcome, &mut broken);
        outcome
    };
    if is_error != (is_whole && outcome.is_err()) {
        broken.0.push(format!("a whole reply is a failure exactly if it is an error: {outcome:?}"));
    }
    (outcome, broken)
}

/// Decodes the files of a wire, side by side, and returns what is broken.
fn hold(wire: &'static dyn Wire, folder: &Path) -> Vec<String> {
    let name_of_wire = wire.facts().name;
    let mut files_of_wire = files(folder, &STREAMS);
    files_of_wire.extend(files(folder, &[WHOLE]));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let files_of_wire: Vec<_> = files_of_wire.into_iter().collect();
    let decoded = std::thread::scope(|scope| {
        let work = (0..threads).map(|thread| {
            let mine = files_of_wire.iter().skip(thread).step_by(threads);
            let decode_mine =
                move || mine.map(|(name, path)| (name.clone(), decode(wire, name, path))).collect::<Vec<_>>();
            scope.spawn(decode_mine)
        });
        let work: Vec<_> = work.collect();
        work.into_iter().flat_map(|thread| thread.join().expect("it decodes")).collect::<BTreeMap<_, _>>()
    });
    let mut outcomes = BTreeMap::new();
    let mut all = Vec::new();
    for (name, (outcome, broken)) in decoded {
        all.extend(broken.0.into_iter().take(5).map(|words| format!("{name_of_wire}/{name}: {words}")));
        outcomes.insert(name, outcome);
    }
    for (name, outcome) in &outcomes {
        let stem = STREAMS.iter().find_map(|end| name.strip_suffix(end));
        if let Some(whole) = stem.and_then(|stem| outcomes.get(&format!("{stem}{WHOLE}")))
            && whole != outcome
        {
            all.push(format!("{name_of_wire}/{name}: streamed {outcome:?}, whole {whole:?}"));
        }
    }
    all.extend(snapshots(folder, &outcomes).into_iter().map(|words| format!("{name_of_wire}/{words}")));
    all
}

/// Compares the outcomes with their snapshots, all of them before any is complained of.
fn snapshots(folder: &Path, outcomes: &BTreeMap<String, Outcome>) -> Vec<String> {
    let mut settings = insta::Settings::clone_current();
    let folder = folder.join("snapshots");
    settings.set_snapshot_path(&folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let differs = outcomes.iter().filter(|(name, outcome)| {
        let compared = || settings.bind(|| insta::assert_snapshot!(name.as_str(), shown(outcome)));
        catch_unwind(AssertUnwindSafe(compared)).is_err()
    });
    let mut all: Vec<_> = differs.map(|(name, _)| format!("{name}: differs from its snapshot")).collect();
    let kept = files(&folder, &[".snap"]);
    let stale = kept.keys().filter(|name| !outcomes.contains_key(name.trim_end_matches(".snap")));
    all.extend(stale.map(|name| format!("snapshots/{name}: its file is gone")));
    all
}

#[test]
fn e13_recorded_replies_are_the_same_however_they_come() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut broken = Vec::new();
    for wire in WIRES.iter().copied() {
        let folder = corpus.join(wire.facts().name);
        let streams = files(&folder, &STREAMS);
        assert!(!streams.is_empty(), "{} has no recorded streams", folder.display());
        broken.extend(hold(wire, &folder));
    }
    assert!(broken.is_empty(), "{} broken\n{}", broken.len(), broken.join("\n"));
}
