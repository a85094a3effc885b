//! How far the results of calls are like what their verifier expected (PromptChain's dry run).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::timeline::TimelineCall;

/// The most words of each text that are compared.
const WORDS: usize = 10_000;

/// The accuracy of one call; `None`: nothing was expected, or the call did not run to an end.
pub(super) fn of_call(call: &TimelineCall) -> Option<f64> {
    let expected = call.expected.as_deref().filter(|_| call.began.is_some())?;
    let real = call.result().or_else(|| call.error())?;
    Some(similarity(expected, &real))
}

/// The mean over the calls that have one.
pub(super) fn mean<'c>(calls: impl Iterator<Item = &'c TimelineCall>) -> Option<f64> {
    let all: Vec<f64> = calls.filter_map(of_call).collect();
    (!all.is_empty()).then(|| hundredths(all.iter().sum::<f64>() / all.len() as f64))
}

/// How far two texts are alike, from 0 to 1 in hundredths: 1 for equal JSON values; else twice the number of words that they
/// have in common, with their multiplicity, by the number of words of both (Dice's coefficient). Words are runs of letters and
/// digits, in lower case. Two texts without a word are alike.
pub fn similarity(expected: &str, real: &str) -> f64 {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    if value(expected).is_some_and(|one| value(real) == Some(one)) {
        return 1.0;
    }
    let (mut counts, mut all) = (BTreeMap::<String, usize>::new(), 0_usize);
    for word in words(expected) {
        *counts.entry(word).or_default() += 1;
        all += 1;
    }
    let mut common = 0_usize;
    for word in words(real) {
        all += 1;
        if let Some(left) = counts.get_mut(&word).filter(|left| **left > 0) {
            *left -= 1;
            common += 1;
        }
    }
    if all == 0 { 1.0 } else { hundredths(2.0 * common as f64 / all as f64) }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(WORDS).map(str::to_lowercase)
}

fn hundredths(share: f64) -> f64 {
    (share * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::similarity;

    #[test]
    fn p19_results_are_compared_by_value_and_then_by_words() {
        let cases = [
            ("{\"a\": 1, \"b\": 2}", "{\"b\":2,\"a\":1}", 1.0),
            ("Berlin", "berlin.", 1.0),
            ("", "", 1.0),
            ("", "something", 0.0),
            ("the file has 3 lines", "the file has 4 lines", 0.8),
            ("one one two", "one two two", 0.67),
            ("nothing", "all of it", 0.0),
        ];
        for (expected, real, share) in cases {
            assert!((similarity(expected, real) - share).abs() < 1e-9, "{expected:?} and {real:?}");
            assert!((similarity(real, expected) - share).abs() < 1e-9, "it is the same both ways");
        }
    }
}
