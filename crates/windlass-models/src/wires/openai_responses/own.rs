//! Owns what a reply's layout keeps of each item of the Responses API: decoding writes it, encoding reads it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The provider's own data of one part of a layout.
#[expect(clippy::struct_excessive_bools, reason = "independent flags, each stored only where it is set")]
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Own {
    /// The item that begins with this part, without what stands in the message; all of it where the part is no text and no
    /// function call.
    #[serde(rename = "i", skip_serializing_if = "Option::is_none")]
    pub(super) item: Option<Box<RawValue>>,
    /// The part belongs to the item of the part before it.
    #[serde(rename = "m", skip_serializing_if = "is_false")]
    pub(super) more: bool,
    /// The text begins with an empty line that is not the provider's: it parts two items for the reader.
    #[serde(rename = "g", skip_serializing_if = "is_false")]
    pub(super) gap: bool,
    /// The text is a refusal.
    #[serde(rename = "r", skip_serializing_if = "is_false")]
    pub(super) refusal: bool,
    /// The reasoning is what the model thought, not a summary of it.
    #[serde(rename = "c", skip_serializing_if = "is_false")]
    pub(super) content: bool,
    /// Annotations of the text, if there are some.
    #[serde(rename = "a", skip_serializing_if = "Option::is_none")]
    pub(super) annotations: Option<Box<RawValue>>,
    /// The id of the response, where the provider stores it. The part is no item then.
    #[serde(rename = "s", skip_serializing_if = "Option::is_none")]
    pub(super) response: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Own {
    /// The data as a layout keeps it; `None`: it says nothing.
    pub(super) fn sealed(&self) -> Option<Box<RawValue>> {
        serde_json::value::to_raw_value(self).ok().filter(|raw| raw.get() != "{}")
    }

    /// The data as it was kept; the default where there is none.
    pub(super) fn of(raw: Option<&RawValue>) -> Self {
        raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }
}

/// A JSON object of one field.
pub(super) fn wrapped(name: &str, value: &RawValue) -> String {
    format!("{{\"{name}\":{}}}", value.get())
}

/// Kinds of items that ask this side to run something, with the tool's name and the field of its arguments. They are calls
/// of the reply, whose results go back in an item of their own kind.
pub(super) const CLIENT_CALLS: [(&str, Option<&str>, &str); 4] = [
    ("custom_tool_call", None, "input"),
    ("local_shell_call", Some("local_shell"), "action"),
    ("shell_call", Some("shell"), "action"),
    ("apply_patch_call", Some("apply_patch"), "operation"),
];
