//! Attacks of a hostile server on HTTP, independent of the wire above it.

use super::json;
use super::sample::Sample;

/// Behaviour of a [`HostileServer`](super::HostileServer) on each request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum Attack {
    /// Sends the sample as it is: what is hostile about it stands in it.
    Plain,
    /// Accepts and never says a word.
    Silence,
    /// Closes the connection at once.
    Close,
    /// One byte of a head that never ends, then a wait of so many milliseconds, and again.
    SlowHead(u64),
    /// Header lines without an end.
    EndlessHead,
    /// A head of so many headers before the sample.
    ManyHeaders(usize),
    /// One header of so many bytes before the sample.
    HugeHeader(usize),
    /// The sample's bytes one by one, with so many milliseconds between them.
    SlowBody(u64),
    /// Bytes without a line end, for ever: an event that never ends.
    EndlessLine,
    /// Comments of an event stream that keep the connection alive, for ever.
    EndlessComments,
    /// Empty lines, for ever.
    EndlessBlanks,
    /// The sample's first event again and again, for ever.
    EndlessEvents,
    /// One event of so many bytes.
    GiantEvent(usize),
    /// A redirect with this status to the same path of another port, which must not learn any secret.
    RedirectAway(u16),
    /// A redirect to itself.
    RedirectLoop,
    /// A redirect to a file.
    RedirectToFile,
    /// So many bytes of noise in place of HTTP.
    NoHttp(usize),
    /// So many bytes of noise in place of the sample.
    Noise(usize),
    /// Everything up to this byte, then the end of the connection.
    Cut(usize),
    /// A length that is not the sample's.
    Length(LengthLie),
    /// Chunks whose sizes are no numbers, or too large.
    BadChunks,
    /// A body that says it is compressed and grows to so many bytes.
    GzipBomb(u64),
    /// JSON of so many levels in place of the sample.
    DeepJson(usize),
    /// The sample with its nth JSON value replaced by one of another type.
    WrongType {
        /// Index of the value, in text order.
        nth: usize,
        /// Its replacement: JSON.
        with: &'static str,
    },
    /// A refusal with this status whose body and headers repeat all headers of the request: its key among them.
    Echo(u16),
    /// A refusal that asks for a wait of 300 years.
    EndlessRetryAfter,
}

/// An invalid `content-length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LengthLie {
    /// More than is sent before the connection ends.
    TooLong,
    /// Less than is sent.
    TooShort,
    /// More than fits any memory.
    Absurd,
    /// Two different ones.
    Two,
    /// No number.
    Word,
}

impl Attack {
    /// All attacks, with sizes that a client must stand and some that it may refuse: for clients whose time limits are a
    /// fraction of a second. The sample is cut at 40 places at most, and all of its values change their types.
    pub(crate) fn all(sample: &Sample) -> Vec<Self> {
        let mut all = vec![
            Self::Plain,
            Self::Silence,
            Self::Close,
            Self::SlowHead(20),
            Self::EndlessHead,
            Self::ManyHeaders(10_000),
            Self::HugeHeader(4 << 20),
            Self::SlowBody(20),
            Self::EndlessLine,
            Self::EndlessComments,
            Self::EndlessBlanks,
            Self::EndlessEvents,
            Self::GiantEvent(20 << 20),
            Self::RedirectLoop,
            Self::RedirectToFile,
            Self::NoHttp(1 << 20),
            Self::Noise(1 << 20),
            Self::BadChunks,
            Self::GzipBomb(4 << 30),
            Self::DeepJson(100_000),
            Self::EndlessRetryAfter,
        ];
        all.extend([301, 302, 303, 307, 308].map(Self::RedirectAway));
        all.extend([200, 400, 401, 404, 429, 500].map(Self::Echo));
        let lies =
            [LengthLie::TooLong, LengthLie::TooShort, LengthLie::Absurd, LengthLie::Two, LengthLie::Word];
        all.extend(lies.map(Self::Length));
        let whole = sample.response().len();
        all.extend((1..whole).step_by(whole.div_ceil(40).max(1)).map(Self::Cut));
        for nth in 0..json::values(&sample.text) {
            all.extend(json::OTHERS.map(|with| Self::WrongType { nth, with }));
        }
        all
    }
}
