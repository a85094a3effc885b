//! Calls that come more than once in one reply: gateways send a call again, whole or as far as it had come.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_text::json::read;

use crate::codec::forms::ReadCall;
use crate::vocabulary::ids::Text;

/// Up to so many calls are compared each with each, which needs no room.
const FEW: usize = 32;

/// A call that has an id, with its arguments once they were read.
struct SeenCall {
    place: usize,
    args: Args,
}

enum Args {
    Unread,
    Broken,
    Read(Value),
}

impl Args {
    /// Reads the text, unless it was read before.
    fn read(&mut self, text: &str) -> &Self {
        if matches!(self, Self::Unread) {
            *self = read(text).map_or(Self::Broken, Self::Read);
        }
        self
    }
}

/// Makes one call of those that have one id, one name and equal arguments, or a broken beginning of them. It stands where the
/// first of them stood. Other arguments under the same id are another call, and so are equal arguments under another id.
pub(crate) fn merge_repeats(calls: Vec<ReadCall>) -> Vec<ReadCall> {
    if !may_repeat(&calls) {
        return calls;
    }
    let mut merged: Vec<ReadCall> = Vec::with_capacity(calls.len());
    let mut seen: BTreeMap<(Text, Text), Vec<SeenCall>> = BTreeMap::new();
    for call in calls {
        let Some(id) = given(&call).cloned() else {
            merged.push(call);
            continue;
        };
        let same = seen.entry((id, call.name.clone())).or_default();
        let mut own = SeenCall { place: merged.len(), args: Args::Unread };
        let found = same.iter_mut().find_map(|earlier| {
            let kept = merged.get(earlier.place)?;
            one_of(kept, earlier, &call, &mut own).map(|whole| (whole, earlier))
        });
        match found {
            Some((Kept::Earlier, _)) => {}
            Some((Kept::Later, earlier)) => {
                earlier.args = own.args;
                if let Some(kept) = merged.get_mut(earlier.place) {
                    *kept = call;
                }
            }
            None => {
                same.push(own);
                merged.push(call);
            }
        }
    }
    merged
}

fn given(call: &ReadCall) -> Option<&Text> {
    call.id.as_ref().filter(|id| !id.trim().is_empty())
}

/// Whether two calls have one id. Hardly any reply gets past this.
fn may_repeat(calls: &[ReadCall]) -> bool {
    if calls.len() > FEW {
        return true;
    }
    calls.iter().enumerate().any(|(place, call)| {
        let earlier = calls.iter().take(place);
        given(call).is_some_and(|id| earlier.into_iter().any(|other| other.id.as_ref() == Some(id)))
    })
}

/// Which of two calls that are one is whole.
enum Kept {
    Earlier,
    Later,
}

/// `None`: they are two calls.
fn one_of(earlier: &ReadCall, first: &mut SeenCall, later: &ReadCall, second: &mut SeenCall) -> Option<Kept> {
    let (before, after) = (earlier.args.trim(), later.args.trim());
    if before == after {
        return Some(Kept::Earlier);
    }
    match (first.args.read(before), second.args.read(after)) {
        (Args::Read(before), Args::Read(after)) => (before == after).then_some(Kept::Earlier),
        (_, Args::Broken) if before.starts_with(after) => Some(Kept::Earlier),
        (Args::Broken, _) if after.starts_with(before) => Some(Kept::Later),
        (Args::Unread | Args::Broken | Args::Read(_), Args::Unread | Args::Broken | Args::Read(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, name: &str, args: &str) -> ReadCall {
        let id = (id != "-").then(|| id.into());
        ReadCall { id, name: name.into(), args: args.into(), ..ReadCall::default() }
    }

    fn merged(calls: &[(&str, &str, &str)]) -> Vec<String> {
        let calls = calls.iter().map(|(id, name, args)| call(id, name, args)).collect();
        let told =
            |call: ReadCall| format!("{} {} {}", call.id.as_deref().unwrap_or("-"), call.name, call.args);
        merge_repeats(calls).into_iter().map(told).collect()
    }

    #[test]
    fn e7_one_call_that_comes_twice_is_one() {
        for (calls, expected) in [
            (vec![("a", "pay", r#"{"n":1}"#), ("a", "pay", r#"{"n":1}"#)], vec![r#"a pay {"n":1}"#]),
            (
                vec![("a", "pay", r#"{"n":1,"to":"x"}"#), ("a", "pay", "{ \"to\": \"x\", \"n\": 1 }\n")],
                vec![r#"a pay {"n":1,"to":"x"}"#],
            ),
            (vec![("a", "pay", r#"{"n":"#), ("a", "pay", r#"{"n":1}"#)], vec![r#"a pay {"n":1}"#]),
            (vec![("a", "pay", r#"{"n":1}"#), ("a", "pay", r#"{"n":"#)], vec![r#"a pay {"n":1}"#]),
            (vec![("a", "pay", ""), ("a", "pay", r#"{"n":1}"#)], vec![r#"a pay {"n":1}"#]),
            (
                vec![
                    ("a", "pay", r#"{"n""#),
                    ("b", "look", "{}"),
                    ("a", "pay", r#"{"n":1}"#),
                    ("a", "pay", r#"{"n":1}"#),
                ],
                vec![r#"a pay {"n":1}"#, "b look {}"],
            ),
        ] {
            assert_eq!(merged(&calls), expected, "{calls:?}");
        }
    }

    #[test]
    fn e7_other_arguments_names_or_ids_are_other_calls() {
        for calls in [
            vec![("a", "pay", r#"{"n":1}"#), ("a", "pay", r#"{"n":2}"#)],
            vec![("a", "pay", r#"{"n":1}"#), ("a", "pay", r#"{"n":12}"#)],
            vec![("a", "pay", "{}"), ("a", "pay", r#"{"n":1}"#)],
            vec![("a", "pay", r#"{"n":1}"#), ("a", "refund", r#"{"n":1}"#)],
            vec![("a", "pay", r#"{"n":1}"#), ("b", "pay", r#"{"n":1}"#)],
            vec![("", "pay", r#"{"n":1}"#), ("", "pay", r#"{"n":1}"#)],
            vec![(" ", "pay", "{}"), (" ", "pay", "{}")],
            vec![("-", "pay", "{}"), ("-", "pay", "{}")],
            vec![("a", "pay", r#"{"n":"#), ("a", "pay", r#"{"m":"#)],
        ] {
            assert_eq!(merged(&calls).len(), calls.len(), "{calls:?}");
        }
        let many: Vec<String> = (0..100).map(|n| format!("c{}", n / 2)).collect();
        let many: Vec<_> = many.iter().map(|id| (id.as_str(), "pay", "{}")).collect();
        assert_eq!(merged(&many).len(), 50, "however many there are");
    }
}
