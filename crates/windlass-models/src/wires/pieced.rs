//! Owns the description of a wire's texts that come in pieces: where they stand in the events of its streams, and what identifies
//! each. Halves of a character that a server cut in two find each other by it.

/// The texts of a wire that come in pieces. A path has the names of the objects' fields that lead to a place, with a slash between
/// them; lists are passed through.
#[derive(Clone, Copy, Debug)]
pub struct PiecedTexts {
    /// The paths of the pieces.
    pub(crate) pieces: &'static [&'static str],
    /// The fields of the objects on the way to a piece that identify one of the texts of a path.
    pub(crate) identified_by: &'static [IdentifiedBy],
    /// The path of an object and its field that says, if it has another value than before, that another text begins; and that
    /// text's path, where nothing of it may come with the object.
    pub(crate) begun_by: Option<(&'static str, &'static str, Option<&'static str>)>,
    /// The path of an object and its field without which the texts in it are over.
    pub(crate) open_by: Option<(&'static str, &'static str)>,
    /// The path of the field that says that all texts are over.
    pub(crate) over_by: Option<&'static str>,
    /// The types of events that say so.
    pub(crate) over: &'static [&'static str],
    /// The types of events that end the texts which their own fields name.
    pub(crate) ends: &'static [&'static str],
}

/// The mark that identifies a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdentifiedBy {
    /// The path of the object.
    pub(crate) at: &'static str,
    /// Its fields, of which the first that is there counts. Where there are several, a piece without any goes on with the last
    /// text.
    pub(crate) by: &'static [&'static str],
}

impl PiecedTexts {
    /// No text comes in pieces.
    pub(crate) const NONE: Self = Self {
        pieces: &[],
        identified_by: &[],
        begun_by: None,
        open_by: None,
        over_by: None,
        over: &[],
        ends: &[],
    };
}
