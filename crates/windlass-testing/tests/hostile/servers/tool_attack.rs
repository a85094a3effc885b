//! Attacks of a hostile tool server on JSON-RPC, independent of the transport.

use super::json::{OTHERS, values};
use super::tools::{CALLED, LISTED};

/// Behaviour of a [`HostileTools`](super::HostileTools). Everything that an attack does not change is valid: a handshake, a
/// list with one tool `echo`, results that are texts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum ToolAttack {
    /// Nothing: a server to compare with.
    None,
    /// Never answers the handshake.
    Silence,
    /// Ends at the first word.
    Close,
    /// Answers the handshake with noise.
    Noise,
    /// Answers the handshake with an error full of escapes.
    Refuses,
    /// A list of tools whose pages never end, each with a new cursor.
    EndlessPages,
    /// A list of tools whose next page is always the same.
    SamePage,
    /// So many tools on one page.
    ManyTools(usize),
    /// Tells of changes of its list for ever, and lists another tool each time.
    ChangesForEver,
    /// Tools named with escapes, with nothing, with 1 MB, and twice with the same.
    Names,
    /// A description of so many bytes, with escapes.
    Description(usize),
    /// A schema of so many definitions, of which each asks for the one before twice.
    ExplodingSchema(usize),
    /// A schema of so many levels.
    DeepSchema(usize),
    /// A schema with a pattern over which a reader that goes back takes for ever.
    SlowPattern,
    /// A schema that asks for a document of somewhere else.
    ForeignSchema,
    /// The list of tools with its nth value replaced.
    ListType {
        /// Index of the value.
        nth: usize,
        /// Its replacement: JSON.
        with: &'static str,
    },
    /// The result of a call with its nth value replaced.
    ResultType {
        /// Index of the value.
        nth: usize,
        /// Its replacement: JSON.
        with: &'static str,
    },
    /// Ends in the middle of a call, without an answer.
    DiesInCall,
    /// Ends after so many bytes of the answer to a call.
    CutInCall(usize),
    /// Never answers a call.
    HangsInCall,
    /// Answers a call with the id of another one.
    ForeignId,
    /// Answers a call twice, with different results.
    AnswersTwice,
    /// Answers the handshake twice.
    GreetsTwice,
    /// Answers calls in the opposite order, two by two.
    OutOfOrder,
    /// Answers a call with requests of its own, for ever.
    FloodsRequests,
    /// The same with one id for all of them.
    ReusesIds,
    /// Answers a call with requests of its own, for ever, each with an id of so many bytes: answers repeat it.
    FloodsLongRequests(usize),
    /// Answers a call with notifications, for ever.
    FloodsNotifications,
    /// The same, each of so many bytes.
    FloodsLongNotifications(usize),
    /// Answers a call with lines that are no messages, for ever.
    FloodsText,
    /// Answers a call with a line that never ends.
    EndlessLine,
    /// A result of so many bytes.
    HugeResult(usize),
    /// A result of so many levels.
    DeepResult(usize),
    /// A result, and its media type, with escapes.
    Escapes,
    /// Hints that a tool which has an effect has none.
    FalseHints,
}

impl ToolAttack {
    /// All attacks, with sizes that a client must stand and some that it may refuse. Every value of the list and of a
    /// result changes its type.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![
            Self::None,
            Self::Silence,
            Self::Close,
            Self::Noise,
            Self::Refuses,
            Self::EndlessPages,
            Self::SamePage,
            Self::ManyTools(5_000),
            Self::ChangesForEver,
            Self::Names,
            Self::Description(4 << 20),
            Self::ExplodingSchema(40),
            Self::DeepSchema(5_000),
            Self::SlowPattern,
            Self::ForeignSchema,
            Self::DiesInCall,
            Self::HangsInCall,
            Self::ForeignId,
            Self::AnswersTwice,
            Self::GreetsTwice,
            Self::OutOfOrder,
            Self::FloodsRequests,
            Self::ReusesIds,
            Self::FloodsLongRequests(12 << 10),
            Self::FloodsLongRequests(600 << 10),
            Self::FloodsNotifications,
            Self::FloodsLongNotifications(600 << 10),
            Self::FloodsText,
            Self::EndlessLine,
            Self::HugeResult(60 << 20),
            Self::DeepResult(100_000),
            Self::Escapes,
            Self::FalseHints,
        ];
        all.extend([0, 1, 20, 40].map(Self::CutInCall));
        for with in OTHERS {
            all.extend((0..values(LISTED)).map(|nth| Self::ListType { nth, with }));
            all.extend((0..values(CALLED)).map(|nth| Self::ResultType { nth, with }));
        }
        all
    }
}
