//! The built-in `read_file`: text files, in ranges of lines.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::ToolSpec;

use super::folders::{Folders, io_error, open_file};
use super::{Builtin, Takes};
use crate::binding::Bound;
use crate::error::ToolSetError;
use crate::function::{Args, Properties, blocking};
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

/// Maximum number of bytes that one call returns.
pub const MAX_READ: usize = 256 * 1024;

/// Maximum offset of the first line that a call returns, in bytes.
pub const MAX_SKIP: u64 = 256 * 1024 * 1024;

/// `read_file`: gives a text file, or `lines` lines of it from `from_line` (counted from 1).
///
/// A relative path starts from the first folder; an absolute one must lie in one of the folders. Links are followed as
/// long as they stay beneath the folder. Only UTF-8 text in regular files is given.
///
/// Limits: [`MAX_READ`] a call, with a note how to read on; [`MAX_SKIP`].
#[derive(Debug)]
pub struct ReadFile {
    spec: ToolSpec,
    folders: Folders,
}

impl ReadFile {
    /// The tool by its name.
    pub const BUILTIN: Builtin = Builtin {
        name: "read_file",
        takes: Takes::Folders,
        make: |given| Ok(Arc::new(ReadFile::new(given.folders)?)),
    };

    /// The tool for these folders, of which there is at least one.
    ///
    /// # Errors
    /// There is none, or one of them cannot be opened.
    pub fn new(folders: &[PathBuf]) -> Result<Self, ToolSetError> {
        let folders = Folders::open("read_file", folders)?;
        let mut properties = Properties::new();
        properties.required::<String>("path", "The file, relative to the folder of files or absolute");
        properties.with_default::<std::num::NonZeroU64>(
            "from_line",
            "The first line to read, counted from 1",
            1.into(),
        );
        properties
            .optional::<std::num::NonZeroU64>("lines", "How many lines to read; all of them if not given");
        let description = "Reads a text file, whole or in part.";
        Ok(Self { spec: super::spec("read_file", description, properties), folders })
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn binding(&self) -> Vec<Bound> {
        vec![self.folders.binding()]
    }

    fn call(&self, _context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let mut args = Args::new(args)?;
            let path: String = args.required("path")?;
            let from: u64 = args.or_else("from_line", || 1)?;
            let lines: Option<u64> = args.optional("lines")?;
            let folders = self.folders.clone();
            blocking(move || {
                let file = open_file(&folders.place(&path)?, &path)?;
                read(BufReader::new(file), &path, from.max(1), lines).map(Into::into)
            })
            .await
        })
    }
}

/// The lines that are wanted, and a note where there are more.
pub(crate) fn read(
    mut file: impl BufRead,
    path: &str,
    from: u64,
    lines: Option<u64>,
) -> Result<String, ToolError> {
    if let Some(lines) = skip(&mut file, path, from)? {
        let message = format!("`{path}` ends before line {from}: its number of lines is {lines}");
        return Err(ToolError::of_kind("BeyondTheEnd", message));
    }
    let mut bytes = Vec::new();
    let mut line = from;
    let mut note = None;
    while lines.is_none_or(|lines| line - from < lines) {
        let room = MAX_READ - bytes.len();
        // One byte more than there is room for tells a line that just fits from one that does not.
        let before = bytes.len();
        file.by_ref()
            .take(room as u64 + 1)
            .read_until(b'\n', &mut bytes)
            .map_err(|error| io_error(path, &error))?;
        if bytes.len() == before {
            break;
        }
        if bytes.len() > MAX_READ {
            note = Some(cut(&mut bytes, before, line, from));
            break;
        }
        line += 1;
    }
    let text = text(bytes, path, note.is_some())?;
    match note {
        Some(note) => Ok(format!("{text}\n{note}")),
        None if text.is_empty() => Ok("[the file is empty]".to_owned()),
        None => Ok(text),
    }
}

/// Cuts off the line that does not fit, if others were read, and says how to go on.
fn cut(bytes: &mut Vec<u8>, before: usize, line: u64, from: u64) -> String {
    if line > from {
        bytes.truncate(before);
        return format!("[cut at {MAX_READ} bytes: read on with from_line {line}]");
    }
    bytes.truncate(MAX_READ);
    format!("[line {line} is longer than {MAX_READ} bytes and was cut: read on with from_line {}]", line + 1)
}

/// Goes to the beginning of a line; `Some` tells how many lines there are if the file ends before it.
fn skip(file: &mut impl BufRead, path: &str, from: u64) -> Result<Option<u64>, ToolError> {
    let mut lines = 0;
    let mut bytes: u64 = 0;
    let mut open = false;
    while lines + 1 < from {
        let buffer = file.fill_buf().map_err(|error| io_error(path, &error))?;
        if buffer.is_empty() {
            // A last line without its end is a line too.
            return Ok(Some(lines + u64::from(open)));
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        file.consume(used);
        open = end.is_none();
        lines += u64::from(end.is_some());
        bytes += used as u64;
        if bytes > MAX_SKIP {
            let message = format!("line {from} of `{path}` is more than {MAX_SKIP} bytes into the file");
            return Err(ToolError::of_kind("TooFar", message));
        }
    }
    let ended = from > 1 && file.fill_buf().map_err(|error| io_error(path, &error))?.is_empty();
    Ok(ended.then_some(lines))
}

fn text(bytes: Vec<u8>, path: &str, cut: bool) -> Result<String, ToolError> {
    let binary = || ToolError::of_kind("NotText", format!("`{path}` is not UTF-8 text"));
    if bytes.contains(&0) {
        return Err(binary());
    }
    String::from_utf8(bytes).or_else(|error| {
        let flaw = error.utf8_error();
        // Only where the cut went through a character.
        if cut && flaw.error_len().is_none() {
            let valid = flaw.valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8(bytes).map_err(|_| binary())
        } else {
            Err(binary())
        }
    })
}

#[cfg(test)]
mod tests;
