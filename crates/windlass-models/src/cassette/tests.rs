use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt, stream};
use serde_json::json;
use windlass_core::model::{FailureKind, ModelFailure, Reply, ToolChoice};
use windlass_core::secret::Secret;
use windlass_core::{Message, ToolSpec};
use windlass_error::Diagnostic as _;

use super::difference::difference;
use super::{CassetteError, Player, Recorder};
use crate::{Delta, Deltas, Model, ModelRequest, Tour, assemble, conformance};

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("windlass-cassette-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("a.cassette")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("it is there");
    }
}

fn asking(text: &str) -> ModelRequest {
    conformance::request("tour", text)
}

fn ask(model: &dyn Model, request: ModelRequest) -> Result<Reply, ModelFailure> {
    assemble(model.call(request), "tour").now_or_never().expect("it never waits")
}

fn message(failed: Result<Reply, ModelFailure>) -> String {
    let failure = failed.expect_err("it fails");
    assert_eq!(failure.kind, FailureKind::BadRequest, "{failure}");
    assert!(!failure.kind.retryable() && !failure.kind.may_fall_back());
    failure.message.to_string()
}

/// Records the tour's replies to these texts.
fn recorded(path: &Path, texts: &[&str]) -> Vec<Reply> {
    let model = Recorder::create(path).expect("it is new").model(Arc::new(Tour));
    texts.iter().map(|text| ask(&*model, asking(text)).expect("a reply")).collect()
}

#[test]
fn what_was_recorded_is_played_back_streamed_or_not() {
    let folder = Folder::new("back");
    let replies = recorded(&folder.file(), &["What is 2 + 5?", "Who are you?"]);
    let player = Player::open(&folder.file()).expect("a cassette");
    assert_eq!(player.first_model(), Some("tour"));
    let model = player.model();
    assert_eq!(ask(&*model, asking("What is 2 + 5?")).as_ref(), Ok(&replies[0]));
    assert!(matches!(player.check_end(), Err(CassetteError::Left { left: 1, count: 2, line: 3, .. })));
    let blocking = ModelRequest { stream: false, ..asking("Who are you?") };
    assert_eq!(ask(&*model, blocking).as_ref(), Ok(&replies[1]));
    assert!(player.check_end().is_ok());
    let exhausted = message(ask(&*model, asking("And now?")));
    assert!(
        exhausted.ends_with("is used up: 2 exchanges were recorded, and one more is asked for"),
        "{exhausted}"
    );
}

#[test]
fn the_first_difference_fails_with_its_place_and_so_does_all_after_it() {
    let folder = Folder::new("difference");
    recorded(&folder.file(), &["What is 2 + 5?", "Who are you?"]);
    let player = Player::open(&folder.file()).expect("a cassette");
    let model = player.model();
    let found = message(ask(&*model, asking("What is 2 + 6?")));
    let path = folder.file().display().to_string();
    assert_eq!(
        found,
        format!(
            "the request differs from the recorded one ({path}:2) at messages[0].content: \
             recorded \"What is 2 + 5?\", now \"What is 2 + 6?\""
        )
    );
    assert_eq!(message(ask(&*model, asking("What is 2 + 5?"))), found);
    assert!(matches!(player.check_end(), Err(CassetteError::Differs { .. })));
}

#[test]
fn a_request_out_of_turn_differs() {
    let folder = Folder::new("turn");
    recorded(&folder.file(), &["first", "second"]);
    let model = Player::open(&folder.file()).expect("a cassette").model();
    assert!(message(ask(&*model, asking("second"))).contains(r#"recorded "first", now "second""#));
}

#[test]
fn every_part_of_a_request_counts_and_nothing_that_is_not_sent() {
    let folder = Folder::new("parts");
    let tool = |name: &str| ToolSpec::new(name, "Does it.", json!({"type": "object"}));
    let whole = ModelRequest { tools: Arc::new(vec![tool("a")]), ..asking("x") };
    let model = Recorder::create(&folder.file()).expect("new").model(Arc::new(Tour));
    ask(&*model, whole.clone()).expect("a reply");
    let plays = |request: ModelRequest| {
        let model = Player::open(&folder.file()).expect("a cassette").model();
        ask(&*model, request).map_err(|failure| failure.message.to_string())
    };
    let choice = whole.model.clone();
    let mut other = choice.clone();
    other.temperature = Some(0.1);
    let differ = [
        ("model.temperature", ModelRequest { model: other, ..whole.clone() }),
        ("tools[0].name", ModelRequest { tools: Arc::new(vec![tool("b")]), ..whole.clone() }),
        ("choice", ModelRequest { choice: ToolChoice::Required, ..whole.clone() }),
        (
            "messages[0].role",
            ModelRequest { prompt: Arc::new(vec![Arc::new(Message::system("Be brief."))]), ..whole.clone() },
        ),
        (
            "schema",
            ModelRequest { response_schema: Some(("answer".into(), Arc::new(json!({})))), ..whole.clone() },
        ),
        ("purpose", ModelRequest { purpose: windlass_core::model::Purpose::Judge, ..whole.clone() }),
    ];
    for (place, request) in differ {
        let found = plays(request).expect_err("it differs");
        assert!(found.contains(&format!("at {place}: recorded ")), "{place}: {found}");
    }
    let mut priced = choice;
    priced.prices = Some(windlass_core::model::Prices::per_million(1.0, 2.0, None));
    priced.max_reply_bytes = Some(1_000_000);
    assert!(plays(ModelRequest { model: priced, stream: false, ..whole }).is_ok());
}

#[test]
fn secrets_are_masked_on_both_sides() {
    let folder = Folder::new("secrets");
    let _key = Secret::new("very-secret-key-of-the-cassette");
    let text = "My key is very-secret-key-of-the-cassette.";
    recorded(&folder.file(), &[text]);
    let file = std::fs::read_to_string(folder.file()).expect("a file");
    assert!(!file.contains("very-secret") && file.contains("My key is ***."), "{file}");
    let model = Player::open(&folder.file()).expect("a cassette").model();
    assert!(ask(&*model, asking(text)).is_ok());
}

/// Fails, or says something and then waits for ever.
#[derive(Debug)]
struct Broken(bool);

impl Model for Broken {
    fn provider(&self) -> &'static str {
        "broken"
    }

    fn call(&self, _request: ModelRequest) -> Deltas {
        if self.0 {
            return Box::pin(stream::iter([Ok(Delta::Text("a".to_owned()))]).chain(stream::pending()));
        }
        let failure = ModelFailure::new(FailureKind::RateLimited, "slow down", "tour");
        Box::pin(stream::iter([Err(ModelFailure { retry_after_ms: Some(7), ..failure })]))
    }
}

#[test]
fn failures_and_stopped_calls_are_recorded_too() {
    let folder = Folder::new("failures");
    let recorder = Recorder::create(&folder.file()).expect("new");
    let failure = ask(&*recorder.model(Arc::new(Broken(false))), asking("a")).expect_err("it fails");
    let mut stopped = recorder.model(Arc::new(Broken(true))).call(asking("b"));
    assert!(stopped.next().now_or_never().is_some());
    drop(stopped);
    let model = Player::open(&folder.file()).expect("a cassette").model();
    assert_eq!(ask(&*model, asking("a")), Err(failure));
    assert_eq!(ask(&*model, asking("b")).expect_err("stopped").kind, FailureKind::Cancelled);
}

#[test]
fn calls_that_ran_at_once_may_be_asked_for_in_any_order() {
    let folder = Folder::new("at-once");
    let model = Recorder::create(&folder.file()).expect("new").model(Arc::new(Tour));
    let (first, second) = (model.call(asking("first")), model.call(asking("second")));
    for deltas in [second, first] {
        assemble(deltas, "tour").now_or_never().expect("it never waits").expect("a reply");
    }
    ask(&*model, asking("third")).expect("a reply");
    for order in [["first", "second", "third"], ["second", "first", "third"]] {
        let player = Player::open(&folder.file()).expect("a cassette");
        let model = player.model();
        for text in order {
            ask(&*model, asking(text)).expect("a reply");
        }
        assert!(player.check_end().is_ok());
    }
    let model = Player::open(&folder.file()).expect("a cassette").model();
    ask(&*model, asking("second")).expect("a reply");
    assert!(message(ask(&*model, asking("third"))).contains(r#"recorded "first", now "third""#));
}

#[test]
fn a_file_is_never_overwritten_and_a_broken_one_names_its_line() {
    let folder = Folder::new("broken");
    recorded(&folder.file(), &["a"]);
    // One that holds no exchange yet is begun again.
    let empty = folder.0.join("empty.cassette");
    (0..2).for_each(|_| drop(Recorder::create(&empty).expect("no exchange")));
    recorded(&empty, &["a"]);
    assert!(Player::open(&empty).is_ok());
    let exists = Recorder::create(&folder.file()).expect_err("it is there");
    assert_eq!(exists.code(), "cassette.exists");
    let whole = std::fs::read_to_string(folder.file()).expect("a file");
    let code_and_words = |text: &str| {
        std::fs::write(folder.file(), text).expect("written");
        let error = Player::open(&folder.file()).expect_err("it is broken");
        (error.code(), error.to_string())
    };
    let (code, words) = code_and_words(&whole[..whole.len() - 9]);
    assert_eq!(code, "cassette.line");
    assert!(words.contains("a.cassette:2: not an exchange of a cassette: EOF"), "{words}");
    assert!(
        code_and_words("{}\n")
            .1
            .ends_with("a.cassette:1: expected {\"windlass_cassette\":1}, the first line of a cassette")
    );
    let newer = code_and_words("{\"windlass_cassette\":2}\n").1;
    assert!(newer.ends_with(":1: expected format 1 of a cassette, found 2"), "{newer}");
    std::fs::remove_file(folder.file()).expect("it is there");
    assert_eq!(Player::open(&folder.file()).expect_err("gone").code(), "cassette.read");
}

#[test]
fn a_difference_names_its_place_and_both_values_shortened() {
    let old = json!({"a": [1, {"b": "x"}], "c": true});
    let words = |new| difference(&old, &new);
    assert_eq!(words(old.clone()), None);
    assert_eq!(words(json!({"a": [1, {"b": "y"}], "c": true})).unwrap(), r#"a[1].b: recorded "x", now "y""#);
    assert_eq!(words(json!({"a": [1], "c": true})).unwrap(), r#"a[1]: recorded {"b":"x"}, now nothing"#);
    assert_eq!(
        words(json!({"a": [1, {"b": "x"}], "c": true, "d": 0})).unwrap(),
        "d: recorded nothing, now 0"
    );
    assert_eq!(words(json!(3)).unwrap(), r#"the request: recorded {"a":[1,{"b":"x"}],"c":true}, now 3"#);
    let long = |end: &str| json!(format!("{}{end}{}", "é".repeat(500), "z".repeat(500)));
    let far = difference(&long("1"), &long("2")).unwrap();
    assert!(
        far.contains(r#""…éééééééééééééééééééééééé1zz"#) && far.contains("é2zz") && far.len() < 500,
        "{far}"
    );
}

#[test]
fn a_cassette_is_a_regular_file_of_a_bounded_size() {
    for path in ["/dev/zero", "/dev"] {
        let error = super::text_of(std::path::Path::new(path)).expect_err("no regular file");
        assert_eq!(error.to_string(), "it is not a regular file", "{path}");
    }
    let folder = Folder::new("bound");
    let file = std::fs::File::create(folder.file()).expect("a file");
    file.set_len(super::MAX_BYTES + 1).expect("sparse");
    let error = super::text_of(&folder.file()).expect_err("too large");
    assert!(error.to_string().contains("more than 268435456 bytes"), "{error}");
}

#[test]
fn nothing_is_recorded_to_a_device_or_beyond_what_is_read() {
    for path in ["/dev/full", "/dev/null", "/dev"] {
        let error = Recorder::create(std::path::Path::new(path)).expect_err("no regular file");
        assert_eq!(error.code(), "cassette.write", "{path}");
        assert_eq!(
            std::error::Error::source(&error).map(ToString::to_string).as_deref(),
            Some("it is not a regular file")
        );
        assert_eq!(error.help(), None, "{path} is not to be deleted");
    }
    let folder = Folder::new("long");
    let recorder = Recorder::create(&folder.file()).expect("a cassette");
    let model = recorder.model(Arc::new(Tour));
    ask(&*model, asking("Who are you?")).expect("room for one exchange");
    let length = std::fs::metadata(folder.file()).expect("a file").len();
    assert_eq!(super::MAX_BYTES - recorder.tape().left, length, "each byte counts");
    recorder.tape().left = 10;
    let full = message(ask(&*model, asking("one more")));
    assert!(full.contains("cannot record to ") && full.contains("more than 268435456 bytes"), "{full}");
}
