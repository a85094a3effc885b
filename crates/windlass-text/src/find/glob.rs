//! Patterns of `*` (any run of characters) and `?` (one character), which cover names.
//!
//! Patterns come from agent files and from models, names from models, tool servers and folders. To match takes at most
//! as many steps as the product of their lengths.

use crate::steps;

/// Whether a pattern of `*` (any run of characters) and `?` (one character) covers a whole name.
///
/// ```
/// use windlass_text::find::glob::covers;
///
/// assert!(covers("files__*", "files__read") && covers("v?", "v2"));
/// assert!(!covers("files", "files__read"));
/// ```
pub fn covers(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // What follows the last star, and what of the name stands from where the star may end.
    let mut star = None;
    loop {
        steps::add(1);
        let (mut wanted, mut found) = (pattern.clone(), name.clone());
        match (wanted.next(), found.next()) {
            (Some('*'), _) => {
                star = Some((wanted.clone(), name.clone()));
                pattern = wanted;
            }
            (Some('?'), Some(_)) => (pattern, name) = (wanted, found),
            (Some(one), Some(other)) if one == other => (pattern, name) = (wanted, found),
            (None, None) => return true,
            // The star takes one character more. An earlier one need not: what it could take, this one can.
            _ => {
                let Some((after, rest)) = &mut star else { return false };
                if rest.next().is_none() {
                    return false;
                }
                (pattern, name) = (after.clone(), rest.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::steps::{Shape, doubling, taken};

    /// Naive matching without a step limit.
    fn plainly(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            (['*', more @ ..], _) => (0..=name.len()).any(|at| plainly(more, name.get(at..).unwrap())),
            (['?', more @ ..], [_, rest @ ..]) => plainly(more, rest),
            ([one, more @ ..], [other, rest @ ..]) => one == other && plainly(more, rest),
            _ => false,
        }
    }

    #[test]
    fn a_pattern_covers_whole_names() {
        for (pattern, name, fits) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "files__read", true),
            ("?", "", false),
            ("?", "ö", true),
            ("files__*", "files__read", true),
            ("files__*", "files", false),
            ("*a*b", "xaxbxb", true),
            ("*a*b", "xaxbx", false),
            ("pay", "repay", false),
            ("**?", "a", true),
            ("a*", "*", false),
            ("*", "*?", true),
        ] {
            assert_eq!(covers(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn matching_a_name_costs_its_length() {
        let names: [Shape; 4] = [
            ("equal letters", |n| "a".repeat(n)),
            ("almost", |n| "aaab".repeat(n)),
            ("long letters", |n| "ö".repeat(n)),
            ("stars", |n| "*".repeat(n)),
        ];
        let many = "*a".repeat(100);
        for pattern in ["files__*", "*", "*a*a*a*b", "*aaaaaaaaab", "?*?*?x", &many] {
            for (what, name) in names {
                let cost = |n| {
                    let name = name(n);
                    let steps = taken(|| covers(pattern, &name));
                    let most = (pattern.len() + 2) as u64 * (name.len() + 2) as u64;
                    assert!(steps <= most, "{pattern}, {what}: {steps} steps");
                    steps
                };
                doubling(cost).unwrap_or_else(|fault| panic!("{pattern}, {what}: {fault}"));
            }
        }
    }

    #[test]
    fn reading_a_pattern_costs_its_length() {
        let patterns: [Shape; 3] =
            [("stars", |n| "*".repeat(n)), ("letters", |n| "a".repeat(n)), ("marks", |n| "?".repeat(n))];
        for (what, pattern) in patterns {
            let cost = |n| taken(|| covers(&pattern(n), "aaaaaaaa"));
            doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
        }
    }

    proptest! {
        #[test]
        fn it_means_what_the_words_say(pattern in "[ab*?]{0,8}", name in "[abö*]{0,8}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(covers(&pattern, &name), plainly(&chars(&pattern), &chars(&name)));
        }
    }
}
