//! Ages and times as the command line writes them: an age, a day, or a time of a day.

use chrono::{Local, NaiveDate, NaiveDateTime, NaiveTime, TimeZone as _};

/// Units of an age, with their milliseconds.
const UNITS: [(&str, u64); 5] =
    [("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];

/// A moment in the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// So many milliseconds ago.
    Ago(u64),
    /// In milliseconds since 1970.
    At(u64),
}

impl Moment {
    /// In milliseconds since 1970.
    pub(super) fn at(self, now: u64) -> u64 {
        match self {
            Self::Ago(ms) => now.saturating_sub(ms),
            Self::At(ms) => ms,
        }
    }
}

/// Reads an age, such as `30d`, as milliseconds.
pub(crate) fn age(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not an age: expected a number with s, m, h, d or w, such as 30d");
    let (unit, ms) = UNITS.into_iter().find(|(unit, _)| text.ends_with(unit)).ok_or_else(wrong)?;
    let number: u64 = text.strip_suffix(unit).unwrap_or_default().parse().map_err(|_| wrong())?;
    number.checked_mul(ms).ok_or_else(wrong)
}

/// Reads an age, such as `12h`, or a day or time in the local time zone, such as `2026-11-26` or `2026-11-26 15:30`.
pub(super) fn moment(text: &str) -> Result<Moment, String> {
    if let Ok(ms) = age(text) {
        return Ok(Moment::Ago(ms));
    }
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").map(|day| day.and_time(NaiveTime::MIN));
    let formats = ["%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"];
    let time = day
        .ok()
        .or_else(|| formats.iter().find_map(|format| NaiveDateTime::parse_from_str(text, format).ok()));
    let at = time.and_then(|time| Local.from_local_datetime(&time).earliest());
    let at = at.and_then(|at| u64::try_from(at.timestamp_millis()).ok());
    at.map(Moment::At).ok_or_else(|| {
        format!("`{text}` is neither an age nor a time: expected one such as 12h, 2026-11-26 or \"2026-11-26 15:30\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_days_and_times_are_read() {
        assert_eq!(moment("12h").unwrap().at(50_000_000), 50_000_000 - 43_200_000);
        let (day, noon) = (moment("2026-11-26").unwrap().at(0), moment("2026-11-26 12:00").unwrap().at(0));
        assert_eq!(noon - day, 43_200_000);
        assert_eq!(moment("2026-11-26T12:00:00").unwrap().at(0), noon);
        assert!(moment("yesterday").unwrap_err().contains("expected one such as 12h"));
    }
}
