use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use serde_json::json;

use super::values::{duration, epoch_ms, instant, until, until_pacific_midnight};
use super::{
    MAX_RETRY_AFTER_MS, RetryAdvice, headers as limits, reset, retry_advice, retry_after, spent, words,
};

/// 21 October 2015, 07:27:50 UTC.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_470)
}

fn headers(headers: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        (name, HeaderValue::from_str(value).expect("a value"))
    };
    headers.iter().map(pair).collect()
}

fn at(text: &str) -> u64 {
    instant(text).expect("a point in time")
}

#[test]
fn e42_retry_after_in_seconds_milliseconds_or_as_a_date() {
    let wait = |all: &[(&str, &str)]| retry_after(&headers(all), now());
    assert_eq!(wait(&[("retry-after", "2")]), Some(2000));
    assert_eq!(wait(&[("retry-after", "0.5")]), Some(500));
    assert_eq!(wait(&[("retry-after", "0")]), Some(0));
    assert_eq!(wait(&[("retry-after", "2"), ("retry-after-ms", "150")]), Some(150));
    assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]), Some(10_000));
    assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT")]), Some(0), "it has passed");
    assert_eq!(wait(&[("retry-after", "1m30s")]), Some(90_000), "Go's way");
    assert_eq!(wait(&[("retry-after", "soon")]), None);
    assert_eq!(wait(&[("retry-after", "-1")]), None);
    assert_eq!(wait(&[("retry-after", "NaN")]), None);
    assert_eq!(wait(&[]), None);
    assert_eq!(wait(&[("retry-after", "99999999999")]), Some(MAX_RETRY_AFTER_MS), "at most 35 days");
}

#[test]
fn e55_durations_and_points_in_time() {
    for (text, ms) in [
        ("6m0s", 360_000),
        ("17ms", 17),
        ("2m59.56s", 179_560),
        ("1h2m3s", 3_723_000),
        ("7.66s", 7_660),
        ("120us", 1),
        ("1 minute and 5 seconds", 65_000),
        ("2 days 17 hours 14 minutes", 234_840_000),
        ("1 hour, 2 minutes", 3_720_000),
        ("33011.382867097855", 33_011_383),
        ("0", 0),
        ("1445412480", 10_000),
        ("1445412480000", 10_000),
        ("2015-10-21T07:28:00Z", 10_000),
        ("2015-10-21T09:28:00.5+02:00", 10_500),
        ("2015-10-20T23:28:00-0800", 10_000),
        ("2015-10-21 07:00:00 UTC", 0),
    ] {
        assert_eq!(until(text, epoch_ms(now())), Some(ms), "{text}");
    }
    for text in ["", "s", "5 sessions", "-3", "-3s", "inf", "soon", "2015-13-01T00:00:00Z", "ü"] {
        assert_eq!(until(text, 0), None, "{text}");
    }
    assert_eq!(at("2026-04-01 at 00:00 UTC"), 1_775_001_600_000);
    assert_eq!(at("2026-04-01"), at("2026-04-01T00:00:00Z"));
    assert_eq!(duration("20ms. visit"), Some((20, ". visit")));
}

#[test]
fn e55_words_of_every_provider_that_name_a_wait() {
    let now = at("2026-03-24T00:00:00Z");
    for (words, ms) in [
        (
            "Rate limit reached for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000, Used 29500, Requested 1000. Please try again in 1.2s. Visit https://x",
            Some(1_200),
        ),
        (
            "Rate limit reached for model `m` on tokens per day (TPD): Limit 500000, Used 499900, Requested 3000. Please try again in 7m12s.",
            Some(432_000),
        ),
        ("Rate limit reached ... on requests per min. Limit: 3 / min. Please try again in 20ms.", Some(20)),
        (
            "Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded token rate limit. Please retry after 37 seconds. Please contact Azure",
            Some(37_000),
        ),
        ("Quota exceeded for metric: x, limit: 20, model: m\nPlease retry in 34.07s.", Some(34_070)),
        (
            "Your account org-x request reached organization max RPM: 3, please try again after 1 seconds",
            Some(1_000),
        ),
        (
            "You have reached your specified API usage limits. You will regain access on 2026-04-01 at 00:00 UTC.",
            Some(691_200_000),
        ),
        (
            "Rate limit exceeded for api_key: x. Limit type: requests. Remaining: 0. Limit resets at: 2026-03-24 00:01:00 UTC",
            Some(60_000),
        ),
        (
            "No deployments available for selected model, Try again in 60 seconds. Passed model=x",
            Some(60_000),
        ),
        (
            "usage limit exceeded, 5-hour usage limit reached, resets at 2026-03-24T15:00:00Z (2056)",
            Some(54_000_000),
        ),
        (
            "You've hit your usage limit. Upgrade to Pro (https://x) or try again in 5 days 22 hours 11\nminutes.",
            Some(511_860_000),
        ),
        ("Rate limit of 10 per 60s exceeded. Please wait 12 seconds before retrying.", Some(12_000)),
        ("Too many tokens per day, please wait before trying again.", None),
        ("Requests rate limit exceeded, please try again later.", None),
        ("The engine is currently overloaded, please try again later", None),
        ("Rate limit exceeded", None),
        ("", None),
    ] {
        assert_eq!(words::wait(words, now), ms, "{words}");
    }
}

#[test]
fn e42_e55_a_wait_within_the_details_of_an_error() {
    let advice = |message: &str, details| {
        retry_advice(&json!({ "code": 429, "message": message, "details": details }), "", message, now())
    };
    let info = |delay: &str| {
        json!([{ "@type": "type.googleapis.com/google.rpc.Help" },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay }])
    };
    assert_eq!(advice("", info("34.5s")), Some(RetryAdvice::Wait(34_500)));
    assert_eq!(advice("", info("9999999s")), Some(RetryAdvice::Wait(MAX_RETRY_AFTER_MS)));
    assert_eq!(
        (advice("", info("soon")), advice("", json!([])), advice("", info("-1s"))),
        (None, None, None)
    );
    let quota = |id: &str, value: &str| json!([{ "violations": [{ "quotaId": id, "quotaValue": value }] }, { "retryDelay": "5s" }]);
    let minute = quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "10");
    assert_eq!(advice("", minute), Some(RetryAdvice::Wait(5_000)));
    let day = quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "20");
    let midnight = at("2015-10-22T07:00:00Z") - epoch_ms(now());
    assert_eq!(advice("", day), Some(RetryAdvice::Wait(midnight)), "whatever the delay says");
    let nothing = quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "0");
    assert_eq!(advice("", nothing), Some(RetryAdvice::Never));
    let words = "exceeded, limit: 0, model: m\n* exceeded, limit: 0, model: m\nPlease retry in 45s.";
    assert_eq!(advice(words, quota("PerDay", "")), Some(RetryAdvice::Never), "nothing was granted");
}

#[test]
fn e55_a_day_s_quota_of_google_ends_at_midnight_in_pacific_time() {
    for (now, midnight) in [
        ("2026-01-15T12:00:00Z", "2026-01-16T08:00:00Z"),
        ("2026-07-15T12:00:00Z", "2026-07-16T07:00:00Z"),
        ("2026-03-08T06:00:00Z", "2026-03-08T08:00:00Z"),
        ("2026-03-08T09:00:00Z", "2026-03-09T07:00:00Z"),
        ("2026-11-01T06:30:00Z", "2026-11-01T07:00:00Z"),
        ("2026-11-01T08:00:00Z", "2026-11-02T08:00:00Z"),
        ("2026-12-31T23:59:59Z", "2027-01-01T08:00:00Z"),
        ("2027-01-01T08:00:00Z", "2027-01-02T08:00:00Z"),
    ] {
        assert_eq!(until_pacific_midnight(at(now)), at(midnight) - at(now), "{now}");
    }
}

#[test]
fn e55_fields_and_repeated_headers_of_an_error() {
    let advice = |error: serde_json::Value| retry_advice(&error, "", "", now());
    assert_eq!(
        advice(json!({ "resets_in_seconds": 13872, "resets_at": 1_445_412_471 })),
        Some(RetryAdvice::Wait(13_872_000))
    );
    assert_eq!(advice(json!({ "resets_at": "2015-10-21T07:28:00Z" })), Some(RetryAdvice::Wait(10_000)));
    let headers = json!({ "X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1445412500000" });
    assert_eq!(
        advice(json!({ "metadata": { "headers": headers } })),
        Some(RetryAdvice::Wait(30_000)),
        "OpenRouter"
    );
    assert_eq!(
        advice(json!({ "metadata": { "headers": { "Retry-After": "3" } } })),
        Some(RetryAdvice::Wait(3_000))
    );
    let never = retry_advice(&json!({ "resets_at": 1_445_412_471 }), "insufficient_quota", "", now());
    assert_eq!(never, Some(RetryAdvice::Never), "money ends it, not time");
}

#[test]
fn e55_of_several_resets_the_one_counts_that_was_broken() {
    let wait = |words: &str, all: &[(&str, &str)]| reset(&headers(all), words, now());
    let openai = |requests: &'static str, tokens: &'static str| {
        [
            ("x-ratelimit-remaining-requests", requests),
            ("x-ratelimit-reset-requests", "6m0s"),
            ("x-ratelimit-remaining-tokens", tokens),
            ("x-ratelimit-reset-tokens", "1.5s"),
        ]
    };
    assert_eq!(wait("", &openai("0", "100")), Some(360_000), "nothing remains of the requests");
    assert_eq!(wait("", &openai("7", "0")), Some(1_500));
    assert_eq!(wait("", &openai("0", "0")), Some(360_000), "all must have room");
    assert_eq!(wait("on tokens per min", &openai("7", "100")), Some(1_500), "the words name it");
    assert_eq!(wait("", &openai("7", "100")), Some(1_500), "only of tokens many are needed at a time");
    let cerebras = [
        ("x-ratelimit-remaining-requests-day", "12"),
        ("x-ratelimit-reset-requests-day", "33011.4"),
        ("x-ratelimit-remaining-tokens-minute", "0"),
        ("x-ratelimit-reset-tokens-minute", "11.38"),
    ];
    assert_eq!(wait("requests per day", &cerebras), Some(11_380));
    assert_eq!(wait("daily requests", &cerebras[..2]), Some(33_011_400));
    assert_eq!(wait("too many requests", &cerebras[..2]), None, "no day is named, and twelve remain");
    let anthropic = [
        ("anthropic-ratelimit-requests-remaining", "49"),
        ("anthropic-ratelimit-requests-reset", "2015-10-21T07:27:51Z"),
        ("anthropic-ratelimit-input-tokens-remaining", "0"),
        ("anthropic-ratelimit-input-tokens-reset", "2015-10-21T07:28:30Z"),
    ];
    assert_eq!(wait("", &anthropic), Some(40_000));
    assert_eq!(wait("", &[("x-ratelimit-reset", "60")]), Some(60_000), "what remains is unknown");
    let azure = [("x-ratelimit-remaining-tokens", "-1"), ("x-ratelimit-reset-tokens", "0")];
    assert_eq!(wait("tokens", &azure), None, "no such limit");
    assert_eq!(
        wait("tokens", &[("x-ratelimit-remaining-tokens", "-1"), ("x-ratelimit-reset-tokens", "9")]),
        None
    );
    assert_eq!(wait("", &[("x-request-id", "0"), ("content-length", "0")]), None);
}

#[test]
fn e55_a_good_reply_tells_of_limits_that_are_used_up() {
    assert_eq!(
        spent(&headers(&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "2s")])),
        Some(2_000)
    );
    assert_eq!(
        spent(&headers(&[("x-ratelimit-remaining-requests", "1"), ("x-ratelimit-reset-requests", "2s")])),
        None
    );
    assert_eq!(
        spent(&headers(&[("ratelimitbysize-remaining", "0"), ("ratelimitbysize-reset", "55")])),
        Some(55_000)
    );
    assert_eq!(
        spent(&headers(&[("x-ratelimit-remaining-req-minute", "0")])),
        None,
        "Mistral does not say when"
    );
    assert_eq!(spent(&headers(&[("content-type", "text/plain"), ("content-length", "0")])), None);
}

proptest! {
    #[test]
    fn e55_no_text_breaks_a_reader_or_gives_more_than_the_bound(
        name in "(x-ratelimit|anthropic-ratelimit|ratelimit)-(reset|remaining)(-(requests|tokens|day))?",
        value in "([0-9:.TZ+ -]{0,24})|([0-9]{1,30}(ms|s|m|h|d)?){1,4}|.{0,20}",
        lead in "(try again in|resets at|wait|retry after|regain access on)",
        now_ms in any::<u64>(),
    ) {
        let said = format!("{lead} {value}");
        words::wait(&said, now_ms);
        until(&value, now_ms);
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now_ms / 1024);
        let pairs = [(name.as_str(), value.as_str()), ("retry-after", value.as_str())];
        limits::after(pairs.into_iter(), now_ms);
        limits::broken(pairs.into_iter(), &said, now_ms);
        let error = json!({ "message": said, "resets_at": value, "details": [{ "retryDelay": value }],
            "metadata": { "headers": { &name: value, "Retry-After": value } } });
        if let Some(RetryAdvice::Wait(ms)) = retry_advice(&error, "", &said, now) {
            prop_assert!(ms <= MAX_RETRY_AFTER_MS);
        }
        prop_assert!(until_pacific_midnight(now_ms / 2) <= 25 * 3_600_000);
    }

    #[test]
    fn e55_a_duration_is_read_as_it_was_written(hours in 0_u64..50, minutes in 0_u64..60, ms in 0_u64..60_000) {
        let text = format!("{hours}h{minutes}m{}.{:03}s", ms / 1000, ms % 1000);
        let written = (hours * 60 + minutes) * 60_000 + ms;
        let read = duration(&text).expect("a duration").0;
        // A decimal fraction is no binary one: the last millisecond may be rounded up.
        prop_assert!(read == written || read == written + 1, "{text}: {read}");
    }

    #[test]
    fn e55_a_point_in_time_is_read_as_it_was_written(seconds in 0_u64..253_402_300_000) {
        let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        prop_assert_eq!(until(&date, 0), Some(seconds * 1000), "{}", date);
        let (day, clock) = (&date[5..16], &date[17..25]);
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let month = months.iter().position(|month| *month == &day[3..6]).expect("a month") + 1;
        let rfc3339 = format!("{}-{month:02}-{}T{clock}Z", &day[7..11], &day[..2]);
        prop_assert_eq!(instant(&rfc3339), Some(seconds * 1000), "{}", rfc3339);
    }
}
