//! Runs on their way from one log to another: JSON lines with payloads, hashed, checked on arrival.
//!
//! [`Export`] gives lines one at a time, [`Importer`] takes them one at a time. `docs/log-format.md` has the format.
//!
//! ```
//! use windlass_read::exchange::{Export, Importer};
//! # use windlass_core::RunId;
//! # use windlass_read::Error;
//! # use windlass_store::{Store, Holder};
//!
//! async fn copy(from: &dyn Store, to: &dyn Store, run: RunId) -> Result<(), Error> {
//!     let mut export = Export::of(from, run).await?;
//!     let mut importer = Importer::new(to, Holder("copy".into()));
//!     while let Some(line) = export.next_line().await? {
//!         importer.line(&line).await?;
//!     }
//!     importer.finish().await.map(drop)
//! }
//! ```

mod export;
mod hashes;
mod import;
mod importer;
mod run_log;

/// The log format of exported runs. Exports from before format 1 name none.
const FORMAT: u32 = 1;

pub use export::Export;
pub use import::{Imported, at_home, import_run};
pub use importer::{Importer, LINE_BYTES};
pub use run_log::RunLog;
