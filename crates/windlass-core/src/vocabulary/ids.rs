//! Names of things: runs, calls, actions, sessions, and the core's notion of time.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Milliseconds since the Unix epoch. The core never reads a clock: every [`Input`](crate::Input) brings its time.
pub type Millis = u64;

/// By how much a clock must lie behind the latest time of a run to count as set back, in milliseconds: machines that share a
/// log differ by less.
pub const CLOCK_JUMP_MS: Millis = 1_000;

/// A shared, immutable text.
pub type Text = Arc<str>;

/// The identity of a run: a UUID that is given from outside. No order and no time is read from it: it is random (version 7), or
/// a digest of the request that started the run (version 8; RFC 9562, 5.7 and 5.8).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub uuid::Uuid);

crate::schema_as!(inline [] RunId, "run_id", |_| schemars::json_schema!({ "type": "string", "format": "uuid" }));

impl RunId {
    /// Makes an id of a number: for tests and scripted conversations, where ids must not be random.
    pub fn from_number(number: u128) -> Self {
        Self(uuid::Uuid::from_u128(number))
    }

    /// The id of a run that follows from this one: always the same.
    #[must_use]
    pub fn derived(&self, what: &str) -> Self {
        Self::of_parts([self.0.as_bytes().as_slice(), what.as_bytes()])
    }

    /// The id of the run that a request begins: always the same for an owner, a verb and the owner's key, so that a request that is
    /// sent twice begins one run on every store.
    #[must_use]
    pub fn of_request(owner: &Owner, verb: &str, key: &str) -> Self {
        Self::of_parts([owner.as_str(), verb, key].map(str::as_bytes))
    }

    /// A UUIDv8 of the SHA-256 of the parts, each with its length (RFC 9562, 5.8).
    fn of_parts<const N: usize>(parts: [&[u8]; N]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let mut bytes = [0_u8; 16];
        bytes.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunId({})", self.0)
    }
}

impl std::str::FromStr for RunId {
    type Err = uuid::Error;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        uuid::Uuid::try_parse(text).map(Self)
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Text);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }
    };
}

text_id! {
    /// The identity of a tool call, unique within a run and everything that it is based on.
    CallId
}
text_id! {
    /// The identity of a session: the runs that share one conversation. Callers may choose it.
    SessionId
}
/// The owner of a run and of its session: the one who started it. Sessions of two owners never meet, even under one name.
///
/// `local` is the owner of whatever is started without another one: at the command line, and in a program of one user. It is
/// stored as a run's owner by being left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Text", into = "Text")]
pub struct Owner(Option<Text>);

impl Owner {
    /// The name of the owner that stands for no other one.
    pub const LOCAL: &'static str = "local";

    /// The owner as text.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or(Self::LOCAL)
    }

    /// Whether this is [`LOCAL`](Self::LOCAL).
    pub fn is_local(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Text> for Owner {
    fn from(text: Text) -> Self {
        Self((*text != *Self::LOCAL).then_some(text))
    }
}

impl From<&str> for Owner {
    fn from(text: &str) -> Self {
        Self((text != Self::LOCAL).then(|| text.into()))
    }
}

impl From<Owner> for Text {
    fn from(owner: Owner) -> Self {
        owner.0.unwrap_or_else(|| Owner::LOCAL.into())
    }
}

text_id! {
    /// The identity of a question put to a person; unique within its run.
    QuestionId
}

/// The identity of an action: the run and the number of the event that made it pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ActionId {
    /// The run that wants the work done.
    pub run: RunId,
    /// The sequence number of the event that freed the action; 0: the deadline that a fork has from its base.
    pub seq: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e65_a_request_has_one_id_for_each_owner_verb_and_key() {
        let of = |owner: &str, verb, key| RunId::of_request(&Owner::from(owner), verb, key);
        let id = of("ada", "start", "k1");
        assert_eq!(id, of("ada", "start", "k1"));
        assert_eq!((id.0.get_version_num(), id.0.get_variant()), (8, uuid::Variant::RFC4122));
        let others = [
            of("bob", "start", "k1"),
            of("ada", "fork", "k1"),
            of("ada", "start", "k2"),
            of("adas", "tart", "k1"),
        ];
        assert!(others.iter().all(|other| *other != id));
        assert_ne!(id.derived("a"), id.derived("b"));
    }
}
