//! The work that a supervisor has taken up, and its reports of it.

use std::collections::BTreeMap;

use windlass_core::RunId;
use windlass_core::event::Millis;
use windlass_error::{Diagnostic as _, Kind};

use crate::driver::lost::Lost;
use crate::driver::run::Run;
use crate::platform::error::Error;

/// The rest between two looks for due runs, in milliseconds. A look at a log without any is one query of an index.
pub(super) const REST_MS: Millis = 1_000;
/// The most runs that are taken up in one look.
pub(super) const MOST: usize = 256;

/// A report on a run that was due.
#[derive(Debug)]
pub struct Report {
    /// The run. One that has ended: the message that waits behind it could not be answered.
    pub run: RunId,
    /// The outcome.
    pub outcome: Outcome,
}

/// A run that was taken up is no longer driven here.
#[derive(Debug)]
pub(super) struct Done {
    /// The run that was due, or behind which a message waited.
    pub(super) taken: RunId,
    /// Whether it is left alone as it is.
    pub(super) remains: bool,
    /// The report; `None`: nothing was driven.
    pub(super) report: Option<Report>,
}

/// The outcome for a due run.
#[derive(Debug)]
pub enum Outcome {
    /// It was driven: to its end, until it waits again, or until the host closed.
    Driven(Box<Run>),
    /// Its model call was lost with its process too often: only a person resumes it ([`Resume::by_hand`](crate::Resume::by_hand)).
    GivenUp(Lost),
    /// It could not be resumed, and is not tried again as long as it stays as it is, unless the log failed.
    Failed(Error),
}

impl Outcome {
    /// Whether the run is left alone as long as it stays as it is.
    pub(super) fn remains(&self) -> bool {
        match self {
            Self::Driven(_) => false,
            // A log that failed may work again: a full disk, for instance.
            Self::Failed(Error::Log(error)) => !matches!(error.kind(), Kind::Unavailable | Kind::Exhausted),
            Self::GivenUp(_) | Self::Failed(_) => true,
        }
    }
}

/// The runs that are left alone, each at the version at which it was taken up: it is under way, or nothing came of it.
pub(super) type LeftAlone = BTreeMap<RunId, u64>;

/// Reports what is done, and leaves it alone no longer where something came of it.
pub(super) fn report_done<E>(
    done: Done,
    left_alone: &mut LeftAlone,
    report: &mut impl FnMut(Report) -> Result<(), E>,
) -> Result<(), E> {
    if !done.remains {
        left_alone.remove(&done.taken);
    }
    done.report.map_or(Ok(()), report)
}
