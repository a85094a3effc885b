use std::num::NonZeroU64;
use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::{Duration, Instant};

use super::table::Table;
use super::{Account, Limiters, Rate, RateScope, tokens};

fn limiters(host: &str, key: &str, more: &[(&'static str, &'static str)], rate: Option<Rate>) -> Limiters {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::from_str(key).expect("a key"));
    for (name, value) in more {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    Limiters::new(rate, &Account { host, query: "", headers: &headers, command: &[] })
}

fn shared(one: &Limiters, other: &Limiters, models: [&str; 2]) -> bool {
    let [a, b] = models.map(Into::into);
    one.with_limiter(&a, |one| other.with_limiter(&b, |other| Arc::ptr_eq(one, other)))
}

#[test]
fn e55_a_limiter_is_for_a_host_a_key_and_a_model() {
    let own = limiters("one.example:443", "Bearer a", &[], None);
    let again = limiters("one.example:443", "Bearer a", &[("x-title", "two")], None);
    assert!(shared(&own, &again, ["m", "m"]), "another adapter with the key");
    assert!(!shared(&own, &again, ["m", "n"]), "most providers limit each model for itself");
    assert!(!shared(&own, &limiters("one.example:443", "Bearer b", &[], None), ["m", "m"]));
    assert!(!shared(&own, &limiters("two.example:443", "Bearer a", &[], None), ["m", "m"]));
    assert!(!shared(&own, &limiters("one.example:443", "Bearer a", &[("x-api-key", "k")], None), ["m", "m"]));
    let key = Some(Rate { requests_per_minute: NonZeroU64::new(3), per: RateScope::Key, ..Rate::default() });
    let (one, other) = (limiters("h:1", "Bearer a", &[], key), limiters("h:1", "Bearer a", &[], key));
    assert!(shared(&one, &other, ["m", "n"]), "one limit for all models of the key");
}

#[test]
fn e62_a_command_s_words_stand_for_its_keys() {
    let headers = HeaderMap::new();
    let account = |words: &[String]| {
        Limiters::new(None, &Account { host: "h:1", query: "", headers: &headers, command: words })
    };
    let (one, other) = (account(&["print-key".to_owned()]), account(&["print-another".to_owned()]));
    assert!(shared(&one, &account(&["print-key".to_owned()]), ["m", "m"]));
    assert!(!shared(&one, &other, ["m", "m"]));
}

#[tokio::test(start_paused = true)]
async fn e55_limiters_that_are_idle_are_dropped_and_others_stay() {
    let table = Table::new();
    let held = table.limiter(0);
    let waits = table.limiter(1);
    waits.refused(60_000);
    drop(waits);
    for hash in 2..10_000 {
        drop(table.limiter(hash));
    }
    assert!(table.len() <= 128, "{}", table.len());
    assert!(Arc::ptr_eq(&held, &table.limiter(0)), "an adapter has it");
    assert!(table.limiter(1).is_busy(), "it knows something");
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(table.limiter(1).is_idle(Instant::now()));
    let kept: Vec<_> = (0..5_000).map(|hash| table.limiter(hash)).collect();
    assert!(table.len() <= 4_096, "{} of {}", table.len(), kept.len());
}

#[test]
fn an_estimate_of_tokens_has_the_reply_in_it() {
    assert_eq!((tokens(400, Some(50)), tokens(401, Some(50)), tokens(0, None)), (150, 151, 1_024));
}
