//! Owns what an item of the API is for a reply.

use super::super::super::own::CLIENT_CALLS;
use super::super::super::shapes::Fields;

/// The kind of an item in the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Message,
    Reasoning,
    /// A function call.
    Call,
    /// A call of another kind: its place in [`CLIENT_CALLS`].
    Client(usize),
    /// An image that the provider made.
    Image,
    /// Something that only the provider understands.
    Own,
}

/// The two texts of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    Text,
    Reasoning,
}

impl Kind {
    pub(in super::super) fn of(item: &Fields<'_>) -> Self {
        let name = item.text("type").unwrap_or_default();
        match &*name {
            "message" => Self::Message,
            "reasoning" => Self::Reasoning,
            "function_call" => Self::Call,
            "image_generation_call" => Self::Image,
            // A shell in a container of the provider is run there.
            "shell_call" if in_container(item) => Self::Own,
            other => {
                CLIENT_CALLS.iter().position(|(kind, ..)| *kind == other).map_or(Self::Own, Self::Client)
            }
        }
    }

    pub(super) fn voice(self) -> Option<Voice> {
        match self {
            Self::Message => Some(Voice::Text),
            Self::Reasoning => Some(Voice::Reasoning),
            Self::Call | Self::Client(_) | Self::Image | Self::Own => None,
        }
    }
}

fn in_container(item: &Fields<'_>) -> bool {
    let environment = item
        .object("environment")
        .and_then(|environment| environment.text("type").map(|kind| kind.starts_with("container")));
    environment == Some(true)
}
