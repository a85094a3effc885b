//! Words for a conversation that a provider refuses: the search for the items, and the placeholders.

use windlass_core::event::{
    CandidateItem, HistoryEdited, RefusalCandidate, RefusedItems, RefusedSetting, RefusedTool, TurnStarted,
};

use super::{Cuts, count};

/// The request leaves items out. `None`: it leaves out none.
pub fn probing(turn: &TurnStarted) -> Option<String> {
    (!turn.without.is_empty())
        .then(|| format!("without {}, to find what the provider refuses", kinds(&turn.without)))
}

/// The change of a conversation, by a hook or because a provider refuses items of it.
pub fn changed(edited: &HistoryEdited, cuts: &Cuts) -> Option<String> {
    let RefusedItems { items, model, message, search_exhausted } = edited.refused.as_ref()?;
    let places: Vec<String> = items.iter().map(place).collect();
    let good =
        if *search_exhausted { " (good ones may be among them: the search ran out of requests)" } else { "" };
    Some(format!(
        "{model} refuses {}, left out from here on{good}: {}",
        places.join(", "),
        cuts.line(message)
    ))
}

/// A tool is taken out because a provider refuses it.
pub fn tool_refused(refused: &RefusedTool, cuts: &Cuts) -> String {
    let RefusedTool { tool, model, message } = refused;
    format!("{model} refuses the tool {tool}, left out from here on: {}", cuts.line(message))
}

/// A setting is not sent any longer because a provider refuses it.
pub fn setting_refused(refused: &RefusedSetting, cuts: &Cuts) -> String {
    let RefusedSetting { setting, model, message } = refused;
    format!("{model} refuses the setting {setting}, left out from here on: {}", cuts.line(message))
}

fn place(item: &RefusalCandidate) -> String {
    let of = match &item.what {
        CandidateItem::CallId { call, .. } => format!("the call id {call}"),
        CandidateItem::Image { .. } => "an image".to_owned(),
        CandidateItem::File { .. } => "a file".to_owned(),
        CandidateItem::Reasoning => "the reasoning block".to_owned(),
    };
    format!("{of} of message {}", item.at.saturating_add(1))
}

/// How many there are of each kind.
fn kinds(items: &[RefusalCandidate]) -> String {
    let all = ["image", "file", "reasoning block", "call id"];
    let of = |kind: &str| items.iter().filter(|item| item.what.name() == kind).count() as u64;
    let some = all.into_iter().map(|kind| (of(kind), kind)).filter(|(number, _)| *number > 0);
    some.map(|(number, kind)| count(number, kind)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(without: &str) -> TurnStarted {
        serde_json::from_str(&format!(r#"{{"turn":1,"attempt":1,"without":{without}}}"#)).unwrap()
    }

    #[test]
    fn e58_a_request_without_items_says_which_are_left_out() {
        assert_eq!(probing(&turn("[]")), None);
        let items = r#"[{"at":0,"item":"image","part":1},{"at":2,"item":"image","part":0},{"at":3,"item":"reasoning"}]"#;
        let words = "without 2 images, 1 reasoning block, to find what the provider refuses";
        assert_eq!(probing(&turn(items)).as_deref(), Some(words));
    }

    #[test]
    fn e58_the_items_that_are_left_out_are_named_with_their_places() {
        let edited = r#"{"splices":[],"refused":{"items":[{"at":1,"item":"file","part":0},{"at":3,"item":"call_id","call":"x:0","replacement":"call00001"}],"model":"a/b","message":"bad file"}}"#;
        let words =
            "a/b refuses a file of message 2, the call id x:0 of message 4, left out from here on: bad file";
        assert_eq!(changed(&serde_json::from_str(edited).unwrap(), &Cuts::default()).as_deref(), Some(words));
        let exhausted = edited.replace(r#""model""#, r#""search_exhausted":true,"model""#);
        let words = changed(&serde_json::from_str(&exhausted).unwrap(), &Cuts::default()).unwrap();
        assert!(words.contains("left out from here on (good ones may be among them"), "{words}");
    }
}
