//! Owns the first difference of two JSON values, in words.

use serde_json::Value;

/// The most characters of a rendered value.
const MAX_RENDERED: usize = 120;
/// Characters before the first difference of two texts that are rendered.
const BEFORE: usize = 24;

/// The first difference in the order of the recorded value: `AT: recorded …, now …`. `None`: they are equal.
pub(super) fn difference(recorded: &Value, asked: &Value) -> Option<String> {
    let (at, recorded, asked) = find(String::new(), Some(recorded), Some(asked))?;
    let (recorded, asked) = rendered(recorded, asked);
    let at = if at.is_empty() { "the request".to_owned() } else { at };
    Some(format!("{at}: recorded {recorded}, now {asked}"))
}

type Found<'v> = (String, Option<&'v Value>, Option<&'v Value>);

fn find<'v>(at: String, recorded: Option<&'v Value>, asked: Option<&'v Value>) -> Option<Found<'v>> {
    if recorded == asked {
        return None;
    }
    let deeper = match (recorded, asked) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let added = new.keys().filter(|name| !old.contains_key(*name));
            let dot = if at.is_empty() { "" } else { "." };
            old.keys()
                .chain(added)
                .find_map(|name| find(format!("{at}{dot}{name}"), old.get(name), new.get(name)))
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => (0..old.len().max(new.len()))
            .find_map(|place| find(format!("{at}[{place}]"), old.get(place), new.get(place))),
        _ => None,
    };
    deeper.or(Some((at, recorded, asked)))
}

/// Both values, shortened. Texts begin a little before the place where they part.
fn rendered(recorded: Option<&Value>, asked: Option<&Value>) -> (String, String) {
    if let (Some(Value::String(old)), Some(Value::String(new))) = (recorded, asked) {
        let common = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
        let from = common.saturating_sub(BEFORE);
        let text = |text: &str| {
            let rest: String = text.chars().skip(from).collect();
            let lead = if from > 0 { "…" } else { "" };
            short(&Value::from(format!("{lead}{rest}")).to_string())
        };
        return (text(old), text(new));
    }
    let value = |value: Option<&Value>| value.map_or("nothing".to_owned(), |value| short(&value.to_string()));
    (value(recorded), value(asked))
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_RENDERED) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
