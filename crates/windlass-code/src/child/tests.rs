use proptest::prelude::*;
use serde_json::json;

use super::{converse, read};
use crate::protocol::{self, Reply, Request, VERSION};
use crate::{HostResult, Limits, Program};

/// The replies of a child to these bytes, and its exit code.
fn told(mut bytes: &[u8]) -> (Vec<Reply>, i32) {
    let mut out = Vec::new();
    let exit = converse(&mut bytes, &mut out, |_| Ok(()));
    let (mut replies, mut rest) = (Vec::new(), out.as_slice());
    while let Some(reply) = read(&mut rest).unwrap() {
        replies.push(reply);
    }
    (replies, exit)
}

fn start(source: &str) -> Vec<u8> {
    let program = Program::new(source).function(crate::Function::new("add", ["a", "b"]));
    let limits = Limits { seconds: 1.0, ..Limits::default() };
    protocol::frame(&Request::Start { version: VERSION, limits, program }).unwrap()
}

fn refused(replies: &[Reply]) -> &str {
    match replies.last() {
        Some(Reply::Refused { reason }) => reason,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_step_is_served_to_its_end() {
    let mut bytes = start("print(1)\nreturn add(1, 2)");
    bytes.extend(protocol::frame(&Request::Results(vec![HostResult::Value(json!(3))])).unwrap());
    let (replies, exit) = told(&bytes);
    assert_eq!(exit, 0);
    assert_eq!(replies.len(), 3);
    assert!(matches!(&replies[2], Reply::Done { value, .. } if *value == json!(3)));
}

#[test]
fn requests_out_of_turn_are_refused() {
    let results = protocol::frame(&Request::Results(Vec::new())).unwrap();
    assert_eq!(refused(&told(&results).0), "results before a start");
    assert_eq!(refused(&told(&[start("add(1, 2)"), results].concat()).0), "0 results, expected 1");
    assert_eq!(refused(&told(&[start("add(1, 2)"), start("1")].concat()).0), "a second start");
    let old = Request::Start { version: 0, limits: Limits::default(), program: Program::new("1") };
    assert_eq!(refused(&told(&protocol::frame(&old).unwrap()).0), "protocol version 0, expected 1");
    let huge = u32::MAX.to_be_bytes();
    assert!(refused(&told(&huge).0).starts_with("a frame of 4294967295 bytes"));
}

#[test]
fn frames_that_are_cut_anywhere_are_refused() {
    let whole = start("return 1");
    for end in 1..whole.len() {
        let (replies, exit) = told(&whole[..end]);
        assert_eq!(exit, 2, "{end}");
        assert!(refused(&replies).starts_with("the stream ended within a frame"), "{end}");
    }
    assert_eq!(told(&[]), (vec![Reply::Hello { version: VERSION }], 3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bytes_that_are_no_request_are_refused(bytes in prop::collection::vec(any::<u8>(), 1..200), framed: bool) {
        let mut frame = Vec::new();
        if framed {
            frame.extend((bytes.len() as u32).to_be_bytes());
        }
        frame.extend(bytes);
        let (replies, exit) = told(&frame);
        prop_assert_eq!(exit, 2);
        refused(&replies);
    }
}
