//! Owns ids and names that the API accepts: letters, digits, `_` and `-`, where other providers use more.

use std::borrow::Cow;

use windlass_core::CallId;

use crate::wires::own_ids::OwnIds;

/// The most bytes of an id or a name that is written as it is ("Define tools": names have at most 64 characters; ids of the API
/// itself are shorter).
const MAX_BYTES: usize = 64;

/// A call's id, the same for its call and its result: as the server made it, or one that fits.
pub(super) fn call_id<'i>(own: &OwnIds, id: &'i CallId) -> Cow<'i, str> {
    if own.has(id) { Cow::Borrowed(id.as_str()) } else { fitting_id(id.as_str()) }
}

/// Whether an id of another server would be replaced.
pub(in crate::wires::anthropic_messages) fn is_odd(id: &str) -> bool {
    !fits(id)
}

/// An id that does not fit is replaced, with a number that tells it from others.
fn fitting_id(id: &str) -> Cow<'_, str> {
    if fits(id) {
        return Cow::Borrowed(id);
    }
    // FNV-1a: it must be the same in every process, and nobody is kept out by it.
    let number = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |number, byte| {
        (number ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let begin: String = letters(id).take(MAX_BYTES - 17).collect();
    Cow::Owned(format!("{begin}_{number:016x}"))
}

/// A tool's name in an earlier call. A model may have made it up.
pub(super) fn fitting_name(name: &str) -> Cow<'_, str> {
    if fits(name) {
        return Cow::Borrowed(name);
    }
    let name: String = letters(name).take(MAX_BYTES).collect();
    Cow::Owned(if name.is_empty() { "unnamed".to_owned() } else { name })
}

fn fits(text: &str) -> bool {
    (1..=MAX_BYTES).contains(&text.len()) && text.chars().all(is_fit)
}

fn letters(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().map(|letter| if is_fit(letter) { letter } else { '_' })
}

fn is_fit(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::{fitting_id, fitting_name};

    #[test]
    fn e58_ids_of_other_providers_fit_and_stay_apart() {
        assert_eq!(fitting_id("toolu_01-a"), "toolu_01-a");
        let long = "x".repeat(200);
        let other = format!("{}y", "x".repeat(199));
        let odd = ["functions.echo:0", "functions_echo:0", "functions.echo.0", "", "ü", &long, &other];
        let made: Vec<_> = odd.iter().map(|id| fitting_id(id)).collect();
        for (at, id) in made.iter().enumerate() {
            assert!(super::fits(id), "{id}");
            assert_eq!(made.iter().filter(|other| *other == id).count(), 1, "{at}: {id}");
            assert_eq!(*id, fitting_id(odd[at]), "always the same");
        }
    }

    #[test]
    fn names_that_a_model_made_up_fit() {
        assert_eq!(fitting_name("get_weather"), "get_weather");
        assert_eq!(fitting_name("mcp.files/read it"), "mcp_files_read_it");
        assert_eq!(fitting_name(""), "unnamed");
        assert_eq!(fitting_name(&"n".repeat(65)).len(), 64);
    }
}
