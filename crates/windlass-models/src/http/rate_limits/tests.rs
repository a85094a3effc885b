use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{retry_after, retry_info};

#[test]
fn e42_retry_after_in_seconds_milliseconds_or_as_a_date() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_470);
    let wait = |headers: &[(&str, &str)]| {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
                (name, HeaderValue::from_str(value).expect("a value"))
            })
            .collect();
        retry_after(&headers, now)
    };
    assert_eq!(wait(&[("retry-after", "2")]), Some(2000));
    assert_eq!(wait(&[("retry-after", "0.5")]), Some(500));
    assert_eq!(wait(&[("retry-after", "0")]), Some(0));
    assert_eq!(wait(&[("retry-after", "2"), ("retry-after-ms", "150")]), Some(150));
    assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]), Some(10_000));
    assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT")]), Some(0), "it has passed");
    assert_eq!(wait(&[("retry-after", "soon")]), None);
    assert_eq!(wait(&[("retry-after", "-1")]), None);
    assert_eq!(wait(&[("retry-after", "NaN")]), None);
    assert_eq!(wait(&[]), None);
    assert_eq!(wait(&[("retry-after", "99999999999")]), Some(86_400_000), "at most a day");
}

#[test]
fn e42_a_wait_within_the_details_of_an_error() {
    let wait = |details| retry_info(&serde_json::json!({ "code": 429, "details": details }));
    let info = |delay: &str| {
        serde_json::json!([{ "@type": "type.googleapis.com/google.rpc.Help" },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay }])
    };
    assert_eq!(wait(info("34.5s")), Some(34_500));
    assert_eq!(wait(info("9999999s")), Some(86_400_000));
    assert_eq!((wait(info("soon")), wait(serde_json::json!([])), wait(info("-1s"))), (None, None, None));
}
