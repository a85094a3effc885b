//! Owns `--record` and `--replay`: the cassette of a command.

use std::path::PathBuf;

use clap::Args;
use windlass_models::cassette::{Cassette, CassetteError, Player, Recorder};

use crate::failure::hints::Hinted as _;
use crate::failure::{Exit, Failure};

/// Where the exchanges with models are kept, or come from.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CassetteArgs {
    /// Keep all requests to models and their replies, without secrets, in a new file, which `--replay` plays back
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Take the replies of models from a file that `--record` wrote: no model is asked, tools run as usual, and the first request
    /// that differs from the recorded one fails the run
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    replay: Option<PathBuf>,
}

impl CassetteArgs {
    /// Whether one is named.
    pub(crate) fn is_given(&self) -> bool {
        self.record.is_some() || self.replay.is_some()
    }

    /// The cassette, if there is one.
    pub(crate) fn open(&self) -> Result<Option<Cassette>, Failure> {
        let record = self.record.as_ref().map(|path| Recorder::create(path).map(Cassette::Record));
        let replay = self.replay.as_ref().map(|path| Player::open(path).map(Cassette::Replay));
        Ok(record.or(replay).transpose()?)
    }
}

/// The end of a command with a cassette: a difference is its failure, whatever became of the run, and a command that would end
/// well must have played the cassette to its end.
pub(crate) fn played(cassette: Option<&Cassette>, end: Result<Exit, Failure>) -> Result<Exit, Failure> {
    let Some(Cassette::Replay(player)) = cassette else { return end };
    match player.check_end() {
        Err(differs @ CassetteError::Differs { .. }) => Err(differs.into()),
        Err(left) if matches!(end, Ok(Exit::Good)) => Err(left.into()),
        Ok(()) | Err(_) => end,
    }
}

impl From<CassetteError> for Failure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
    fn from(error: CassetteError) -> Self {
        let exit = match error {
            CassetteError::Differs { .. } | CassetteError::Left { .. } => Exit::Failed,
            _ => Exit::BadFile,
        };
        Self::of(exit, &error).maybe_hint(error.hint())
    }
}
