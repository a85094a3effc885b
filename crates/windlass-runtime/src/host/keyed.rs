//! Requests under an idempotency key (E65): what is sent twice is done once.

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use windlass_core::{Owner, RunId, Text};
use windlass_macros::Named;
use windlass_store::{Inbox, KeyedPost, PostKey, StoreError};

use crate::driver::requests::key_under;
use crate::platform::error::Error;

/// The verbs of the keys of posts. Each has keys of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub(super) enum Verb {
    Answer,
    Steer,
    Pause,
    Resume,
    Cancel,
}

/// A request under a key.
#[derive(Clone, Debug)]
pub(super) struct Keyed {
    /// The key as its sender has it.
    key: Text,
    post: PostKey,
}

/// The outcome of an earlier sending of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Earlier {
    /// There was none, or it was refused.
    None,
    /// It waits in the inbox of this run.
    Waits(RunId),
    /// This run has taken it.
    Taken(RunId),
}

impl Keyed {
    /// A request to a run under an owner's key; `None`: it has no key. `asked` is what makes it the same one.
    pub(super) fn of(
        owner: &Owner,
        verb: Verb,
        key: Option<&Text>,
        run: RunId,
        asked: &impl Serialize,
    ) -> Result<Option<Self>, Error> {
        let Some(key) = key else { return Ok(None) };
        let bytes = serde_json::to_vec(&(run, asked)).map_err(|error| StoreError::Failed(Box::new(error)))?;
        let digest = Sha256::digest(bytes).into();
        let post = PostKey { owner: owner.clone(), key: key_under(verb.name(), key), digest };
        Ok(Some(Self { key: key.clone(), post }))
    }

    /// The key of its post.
    pub(super) fn post(&self) -> PostKey {
        self.post.clone()
    }

    /// The fate of an earlier sending. A request without a key has none.
    ///
    /// # Errors
    /// Another request has the key ([`Error::KeyReused`]), or the log failed.
    pub(super) async fn earlier(keyed: Option<&Self>, log: &dyn Inbox) -> Result<Earlier, Error> {
        let Some(keyed) = keyed else { return Ok(Earlier::None) };
        let found = log.posted(&keyed.post.owner, std::slice::from_ref(&keyed.post.key)).await?;
        match found.into_iter().flatten().next() {
            Some(found) if found.digest != keyed.post.digest => Err(keyed.reused(found.run)),
            Some(KeyedPost { run, is_used: true, .. }) => Ok(Earlier::Taken(run)),
            Some(KeyedPost { run, is_used: false, .. }) => Ok(Earlier::Waits(run)),
            None => Ok(Earlier::None),
        }
    }

    /// An error of sending it, unless another sending was faster and was taken: the run that took it.
    ///
    /// # Errors
    /// This one, or the log failed.
    pub(super) async fn taken_meanwhile(&self, log: &dyn Inbox, refused: Error) -> Result<RunId, Error> {
        if let Error::Log(StoreError::KeyReused { run, .. }) = refused {
            return Err(self.reused(run));
        }
        match Self::earlier(Some(self), log).await? {
            Earlier::Taken(run) => Ok(run),
            Earlier::Waits(_) | Earlier::None => Err(refused),
        }
    }

    pub(super) fn reused(&self, run: RunId) -> Error {
        Error::KeyReused { key: self.key.clone(), run }
    }
}
