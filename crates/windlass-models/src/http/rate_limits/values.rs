//! Owns the ways in which providers write a time: durations, dates, counts of seconds. Nothing here can fail or go below zero.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A number of seconds from here on is a point in time: as a duration it would be 31 years.
const EPOCH_SECONDS: f64 = 1e9;

/// A number from here on is a point in time in milliseconds: in seconds it would be in the year 5138.
const EPOCH_MS: f64 = 1e11;

/// Units of durations with their milliseconds, longer names first.
const UNITS: [(&str, f64); 28] = [
    ("milliseconds", 1.0),
    ("millisecond", 1.0),
    ("microseconds", 0.001),
    ("nanoseconds", 0.000_001),
    ("seconds", 1_000.0),
    ("second", 1_000.0),
    ("minutes", 60_000.0),
    ("minute", 60_000.0),
    ("hours", 3_600_000.0),
    ("hour", 3_600_000.0),
    ("weeks", 604_800_000.0),
    ("week", 604_800_000.0),
    ("days", 86_400_000.0),
    ("day", 86_400_000.0),
    ("secs", 1_000.0),
    ("mins", 60_000.0),
    ("sec", 1_000.0),
    ("min", 60_000.0),
    ("hrs", 3_600_000.0),
    ("hr", 3_600_000.0),
    ("ms", 1.0),
    ("us", 0.001),
    ("µs", 0.001),
    ("ns", 0.000_001),
    ("s", 1_000.0),
    ("m", 60_000.0),
    ("h", 3_600_000.0),
    ("d", 86_400_000.0),
];

/// The time of day in milliseconds since 1970.
pub(super) fn epoch_ms(now: SystemTime) -> u64 {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds as a whole number, rounded up; `None`: below zero, or no number.
fn whole(ms: f64) -> Option<u64> {
    // A cast from a number beyond the range gives its end.
    (ms >= 0.0).then(|| ms.ceil() as u64)
}

/// A plain number from zero, as headers write counts and seconds.
pub(super) fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
}

/// Milliseconds until a limit is reset, as a header or a field tells it: seconds (Cerebras, Azure), a duration (OpenAI and Groq:
/// `6m0s`, `17ms`), a point in time (Anthropic: RFC 3339; OpenRouter: milliseconds since 1970; others: seconds since 1970), or a
/// date of HTTP. A point that has passed is no time.
pub(super) fn until(text: &str, now_ms: u64) -> Option<u64> {
    let text = text.trim();
    let Ok(number) = text.parse::<f64>() else {
        if let Some((ms, "")) = duration(text) {
            return Some(ms);
        }
        let at = instant(text).or_else(|| Some(epoch_ms(httpdate::parse_http_date(text).ok()?)))?;
        return Some(at.saturating_sub(now_ms));
    };
    if !number.is_finite() {
        return None;
    }
    match number {
        ms if ms >= EPOCH_MS => whole(ms).map(|at| at.saturating_sub(now_ms)),
        seconds if seconds >= EPOCH_SECONDS => whole(seconds * 1_000.0).map(|at| at.saturating_sub(now_ms)),
        seconds => whole(seconds * 1_000.0),
    }
}

/// The duration that a text begins with, in milliseconds, and the rest: `7m12s`, `1.2 s`, `2 days 17 hours 14 minutes`,
/// `1 minute and 5 seconds`. Each number has its unit.
pub(super) fn duration(text: &str) -> Option<(u64, &str)> {
    let (mut total, mut rest, mut found) = (0.0, text, false);
    while let Some((ms, after)) = part(rest.trim_start()) {
        (total, rest, found) = (total + ms, after, true);
        let next = after.trim_start();
        let next = next.strip_prefix(',').unwrap_or(next).trim_start();
        let next = next.strip_prefix("and ").unwrap_or(next);
        if part(next.trim_start()).is_some() {
            rest = next;
        }
    }
    if found { whole(total).map(|ms| (ms, rest)) } else { None }
}

/// A number with its unit.
fn part(text: &str) -> Option<(f64, &str)> {
    let (digits, rest) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let count = number(digits.strip_suffix('.').unwrap_or(digits))?;
    let rest = rest.trim_start();
    UNITS.iter().find_map(|(unit, ms)| {
        let after = rest.strip_prefix(unit)?;
        // `5 sessions` is no number of seconds.
        let ends = !after.starts_with(|next: char| next.is_alphabetic());
        ends.then_some((count * ms, after))
    })
}

/// The point in time that a text begins with, in milliseconds since 1970: `2025-12-01T00:00:00.5Z` (RFC 3339), the same with an
/// offset, and with ` `, ` at ` or nothing behind the day. Without a zone it is UTC.
pub(in crate::http) fn instant(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let (date, rest) = text.split_at_checked(10)?;
    let mut date = date.splitn(3, '-').map(digits);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let midnight = days_since_1970(year, month, day)?.checked_mul(86_400_000)?;
    let rest = ["t", "T", " at ", " "].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or_default();
    let Some((clock, zone)) = clock(rest) else { return Some(midnight) };
    let local = i64::try_from(midnight.checked_add(clock)?).ok()?;
    u64::try_from(local.checked_sub(offset_ms(zone))?).ok()
}

fn digits(text: &str) -> Option<u64> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// The time of day that a text begins with, in milliseconds, and the rest: `HH:MM`, `HH:MM:SS`, `HH:MM:SS.fff`.
fn clock(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(text.len());
    let (clock, rest) = text.split_at(end);
    let mut parts = clock.trim_end_matches(['.', ':']).splitn(3, ':');
    let (hours, minutes) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let seconds = parts.next().map_or(Some(0.0), number)?;
    if hours > 24 || minutes > 59 || seconds > 60.0 {
        return None;
    }
    whole(hours as f64 * 3_600_000.0 + minutes as f64 * 60_000.0 + seconds * 1_000.0).map(|ms| (ms, rest))
}

/// The offset of a zone from UTC, in milliseconds: `Z`, `+02:00`, `-0700`. Any other zone is taken for UTC.
fn offset_ms(zone: &str) -> i64 {
    let zone = zone.trim_start();
    let (sign, rest) = match zone.split_at_checked(1) {
        Some(("+", rest)) => (1, rest),
        Some(("-", rest)) => (-1, rest),
        _ => return 0,
    };
    let two = |text: &str| text.get(..2).and_then(digits).and_then(|number| i64::try_from(number).ok());
    let hours = two(rest).unwrap_or(0);
    let rest = rest.get(2..).unwrap_or_default();
    let minutes = two(rest.strip_prefix(':').unwrap_or(rest)).unwrap_or(0);
    sign * (hours * 60 + minutes) * 60_000
}

/// Days from 1 January 1970 to a day of the Gregorian calendar.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    // Days since 1 March of the year 0, in which a leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    days.checked_sub(719_468)
}

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Milliseconds until the next midnight in Pacific time, where Google resets its quotas of a day. Daylight saving time lasts from the
/// second Sunday of March to the first one of November, 2 o'clock each (15 U.S.C. 260a).
pub(super) fn until_pacific_midnight(now_ms: u64) -> u64 {
    let behind = |at_ms: u64| if is_summer(at_ms) { 7 * HOUR_MS } else { 8 * HOUR_MS };
    let today = now_ms.saturating_sub(behind(now_ms)) / DAY_MS;
    let midnight = (today + 1).saturating_mul(DAY_MS);
    // The clock may change before midnight comes.
    let about = midnight.saturating_add(behind(now_ms));
    midnight.saturating_add(behind(about)).saturating_sub(now_ms)
}

/// Whether a time is within the daylight saving time of the Pacific coast.
fn is_summer(at_ms: u64) -> bool {
    let day = at_ms.saturating_sub(8 * HOUR_MS) / DAY_MS;
    let about = 1970 + day * 400 / 146_097;
    let begun = |year: &u64| days_since_1970(*year, 1, 1).is_some_and(|first| first <= day);
    let year = [about + 1, about].into_iter().find(begun).unwrap_or(about - 1);
    // 1 January 1970 was a Thursday.
    let sunday = |month: u64, nth: u64| {
        let first = days_since_1970(year, month, 1)?;
        Some(first + (10 - first % 7) % 7 + (nth - 1) * 7)
    };
    let at = |sunday: Option<u64>, hour: u64| sunday.map(|day| day.saturating_mul(DAY_MS) + hour * HOUR_MS);
    let (begin, end) = (at(sunday(3, 2), 10), at(sunday(11, 1), 9));
    begin.is_some_and(|begin| at_ms >= begin) && end.is_some_and(|end| at_ms < end)
}
