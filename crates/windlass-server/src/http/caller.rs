//! Callers: who asks, and what they may do and see.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use windlass_core::{Owner, Text};
use windlass_runtime::host::{Scope, Scoped};
use windlass_store::RunSummary;

use super::server::Server;
use super::tokens::{Token, Tokens};
use super::verb::Verb;
use crate::error::Error;

/// The sender of a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    token: Option<Token>,
    scope: Scope,
}

impl Caller {
    /// The user who runs the server, at its socket.
    pub(crate) fn local() -> Self {
        Self { token: None, scope: Scope::default() }
    }

    /// Somebody without a token, for what is open to all.
    pub(crate) fn anybody() -> Self {
        Self { token: None, scope: Scope::of("nobody") }
    }

    /// Whoever has the token of a request.
    pub(crate) fn with_token(tokens: &Tokens, headers: &HeaderMap, now: u64) -> Result<Self, Error> {
        let token = bearer(headers).ok_or(Error::NoToken)?;
        let token = tokens.find(token, now)?;
        let owner = token.owner.clone();
        let scope = if token.sees_all { Scope::all(owner) } else { Scope::of(Text::from(owner)) };
        Ok(Self { token: Some(token), scope })
    }

    /// The token's id, `socket`, or `-` for a caller who has shown nothing: for the log.
    pub(crate) fn name(&self) -> Text {
        match &self.token {
            Some(token) => token.id.clone(),
            None if self.owner().is_local() => "socket".into(),
            None => "-".into(),
        }
    }

    /// The owner that acts.
    pub(crate) fn owner(&self) -> &Owner {
        self.scope.owner()
    }

    /// Refuses a verb that the token does not allow.
    pub(crate) fn may(&self, verb: Verb) -> Result<(), Error> {
        match &self.token {
            Some(token) if !token.allows(verb) => {
                Err(Error::NoScope { id: token.id.clone(), verb: verb.name() })
            }
            _ => Ok(()),
        }
    }

    /// Whether an agent is there for the caller.
    pub(crate) fn has_agent(&self, agent: &str) -> bool {
        self.token.as_ref().is_none_or(|token| token.is_for(agent))
    }

    /// Whether a run is there for the caller, as far as its agent goes: its owner is the host's affair.
    pub(crate) fn sees(&self, run: &RunSummary) -> bool {
        self.has_agent(&run.agent)
    }

    /// The host as the caller sees it.
    pub(crate) fn host(&self, server: &Server) -> Scoped {
        server.host().within(self.scope.clone())
    }
}

/// The token that a request carries (RFC 6750, 2.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_tells_strangers_from_the_user_of_the_server() {
        assert_eq!((&*Caller::anybody().name(), &*Caller::local().name()), ("-", "socket"));
    }
}
