//! Replay: the same source with the same results makes the same calls, and recorded calls are not made again.

use serde_json::json;
use windlass_code::{Answer, CodeError, HostResult, Limits, Recorded, Step};
use windlass_error::Diagnostic as _;

use crate::support::{Ran, answer, code, drive, program};

/// Calls one by one, in loops, caught errors, together and from coroutines; order of sets and hashes in arguments.
const MIXED: &str = "
import asyncio
total = 0
for i in range(5):
    total += add(total, i)
try:
    broken('once')
except ToolError as error:
    print(error)
words = {w for w in ('owl', 'mouse', 'fox', 'hare', 'bee')}
found = parallel(*[('search', w) for w in words], ('add', hash('owl') % 97, id(total) % 97))
async def weather(city):
    first = await get_weather(city)
    second = await get_weather(first)
    return second
cities = await asyncio.gather(*[weather(c) for c in ('Oslo', 'Rome', 'Bern')], add(1, b=2))
print(total, len(found))
return [total, cities, list({'b': 1, 'a': 2}), str({1: {2, 3}})]
";

async fn mixed(recorded: Vec<Recorded>) -> Ran {
    let mut session = code().start(&Limits::default(), program(MIXED)).await.unwrap();
    session.feed(recorded);
    drive(session).await
}

#[tokio::test]
async fn the_same_results_lead_to_the_same_calls_in_every_process() {
    let first = mixed(Vec::new()).await;
    assert_eq!(first.batches.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 1, 6, 4, 3]);
    for _ in 0..20 {
        let again = mixed(Vec::new()).await;
        assert_eq!((again.batches, again.output), (first.batches.clone(), first.output.clone()));
        assert_eq!(again.ended, first.ended);
    }
}

#[tokio::test]
async fn recorded_results_are_not_asked_for_again_whatever_is_missing() {
    let first = mixed(Vec::new()).await;
    for known in 0..=first.recorded.len() {
        let again = mixed(first.recorded[..known].to_vec()).await;
        let asked: Vec<u32> = again.batches.iter().flatten().map(|call| call.place).collect();
        assert_eq!(asked, (known as u32..first.recorded.len() as u32).collect::<Vec<_>>());
        assert_eq!((&again.ended, &again.output), (&first.ended, &first.output), "{known} known");
    }
    // The last of a batch had ended, the others had not.
    let mut some = first.recorded[..6].to_vec();
    some.push(first.recorded[10].clone());
    let again = mixed(some).await;
    assert_eq!(again.batches[0].iter().map(|call| call.place).collect::<Vec<_>>(), [6, 7, 8, 9, 11]);
    assert_eq!(again.ended, first.ended);
}

#[tokio::test]
async fn code_that_asks_for_something_else_is_a_divergence() {
    let first = mixed(Vec::new()).await;
    let mut other = first.recorded.clone();
    other[3].call.args.insert("a".to_owned(), json!(99));
    let mut session = code().start(&Limits::default(), program(MIXED)).await.unwrap();
    session.feed(other);
    let error = session.next(Vec::new()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"the code's call at place 3 is add({"a":4,"b":3}), and add({"a":99,"b":3}) is recorded"#
    );
    assert_eq!(error.code(), "code.diverged");
    assert!(matches!(session.next(Vec::new()).await, Err(CodeError::Ended)));
}

#[tokio::test]
async fn code_that_asks_for_less_is_a_divergence() {
    let first = mixed(Vec::new()).await;
    let mut session = code().start(&Limits::default(), program("return add(0, 0)")).await.unwrap();
    session.feed(first.recorded[..2].to_vec());
    let error = session.next(Vec::new()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"the code's call at place 1 is missing: it came to its end, and add({"a":0,"b":1}) is recorded"#
    );
}

#[tokio::test]
async fn results_that_are_not_those_of_the_open_calls_are_refused() {
    let source = "return parallel(add(1, 2), add(3, 4))";
    let mut session = code().start(&Limits::default(), program(source)).await.unwrap();
    let Step::Calls(calls) = session.next(Vec::new()).await.unwrap() else { panic!("no calls") };
    let given = |place| Answer { place, result: HostResult::Value(json!(place)) };
    for wrong in [vec![], vec![given(0)], vec![given(0), given(2)], vec![given(0), given(0), given(1)]] {
        let error = session.next(wrong).await.unwrap_err();
        assert!(error.to_string().ends_with("expected [0, 1]"), "{error}");
    }
    let mut all: Vec<_> =
        calls.iter().map(|call| Answer { place: call.place, result: answer(call) }).collect();
    all.reverse();
    let Step::Done { value, .. } = session.next(all).await.unwrap() else { panic!("not done") };
    assert_eq!(value, json!([3, 7]));
}
