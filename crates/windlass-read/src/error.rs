//! Errors of reading, exporting and importing runs.

use thiserror::Error;
use windlass_core::RunId;
use windlass_error::Diagnostic;
use windlass_store::StoreError;

/// Errors of reading, exporting and importing runs.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum Error {
    /// The log failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Log(#[from] StoreError),
    /// The run continues from a run that is not in the log.
    #[error("run {run} cannot be read: its base {base} is missing")]
    #[diagnostic(kind = Internal, code = "run.missing_base")]
    MissingBase {
        /// The run.
        run: RunId,
        /// The run that it is based on.
        base: RunId,
    },
    /// A run from elsewhere is not sound.
    #[error("run {run} cannot be imported: at event {seq}: {what}")]
    #[diagnostic(kind = Invalid, code = "import.unsound", help = "export it again, with the runs that it is based on")]
    BadImport {
        /// The run.
        run: RunId,
        /// The event.
        seq: u64,
        /// The error.
        what: String,
    },
    /// A line of an export cannot be read, or does not follow the lines before it.
    #[error("line {line}: {what}")]
    #[diagnostic(kind = Invalid, code = "import.line")]
    BadExport {
        /// The number of the line.
        line: u64,
        /// The error.
        what: String,
    },
    /// An export was written before format 1.
    #[error("line {line}: the export was written before log format 1, and this version cannot read it")]
    #[diagnostic(kind = Invalid, code = "import.old", help = "only the build that wrote it reads it")]
    OldExport {
        /// The number of the line.
        line: u64,
    },
    /// An export was written by a newer version.
    #[error("line {line}: events of {part} {found}, but this version knows {known}")]
    #[diagnostic(kind = Invalid, code = "import.newer", help = "import it with a newer Windlass")]
    NewerExport {
        /// The number of the line.
        line: u64,
        /// The newer part: `format` or `schema`.
        part: &'static str,
        /// The number of the export's.
        found: u32,
        /// The newest one that this version reads.
        known: u32,
    },
    /// An export holds no run.
    #[error("the export contains no run")]
    #[diagnostic(kind = Invalid, code = "import.empty")]
    EmptyExport,
    /// A different run has this id.
    #[error("run {run} is already in this log and differs from event {seq} on")]
    #[diagnostic(kind = Conflict, code = "import.differs", help = "import it into another log, or fork the existing run")]
    ImportDiffers {
        /// The run.
        run: RunId,
        /// The first event that differs.
        seq: u64,
    },
}
