//! Times that a listing begins at: an age, a day, or a time of a day.

use chrono::{Local, NaiveDate, NaiveDateTime, NaiveTime, TimeZone as _};

use super::prune::age;

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
