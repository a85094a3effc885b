//! The query file of a batch: lines of text, JSON lines, JSON, or a table.

mod forms;
mod text;

use std::collections::BTreeSet;
use std::path::Path;

use crate::failure::{Exit, Failure};
use forms::Form;

/// Maximum size of a query file in bytes.
const MOST_BYTES: u64 = 16 << 20;

/// A query of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Query {
    /// Its key within the batch: its `id`, else the number of its line.
    pub(super) key: String,
    /// The input.
    pub(super) input: String,
}

/// The bytes of a query file and its queries.
pub(super) fn read(path: &Path) -> Result<(Vec<u8>, Vec<Query>), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Exit::BadFile, format!("cannot read {}", path.display())).cause(error.to_string())
    };
    let about = std::fs::metadata(path).map_err(failed)?;
    if !about.is_file() || about.len() > MOST_BYTES {
        let what = format!("{} is no file of at most {MOST_BYTES} bytes", path.display());
        return Err(Failure::new(Exit::BadFile, what));
    }
    let bad = |what: String| Failure::new(Exit::BadFile, format!("{}: {what}", path.display()));
    let form = Form::of(path).map_err(bad)?;
    let bytes = std::fs::read(path).map_err(failed)?;
    let text = text::decoded(&bytes).map_err(bad)?;
    let queries = form.queries(&text).map_err(bad)?;
    let mut keys = BTreeSet::new();
    if let Some(twice) = queries.iter().find(|query| !keys.insert(query.key.clone())) {
        return Err(bad(format!("two queries have the id `{}`", twice.key)));
    }
    if queries.is_empty() {
        return Err(bad("it holds no query".to_owned()));
    }
    Ok((bytes, queries))
}

#[cfg(test)]
mod tests;
