//! Owns recording: a model whose exchanges are written to a cassette.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use serde_json::Value;
use windlass_core::message::Part;
use windlass_core::model::{FailureKind, ModelChoice, ModelFailure};
use windlass_core::secret::Secret;

use super::exchange::{End, Exchange, form, header};
use super::{CassetteError, MAX_BYTES};
use crate::{Assembler, Delta, Deltas, Known, Model, ModelRequest, Thoughts, WrittenRequest};

/// A cassette that is being recorded. Each exchange is written as one line when it ends: a crash keeps those before it.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    tape: Mutex<Tape>,
}

#[derive(Debug)]
pub(super) struct Tape {
    file: File,
    /// Bytes that are left of the longest cassette that is read.
    pub(super) left: u64,
    /// Number of beginnings and ends so far.
    clock: u64,
}

impl Tape {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

impl Recorder {
    /// Begins a cassette. On Unix only the user can read it: it holds whole conversations.
    ///
    /// # Errors
    /// The file holds something already, or cannot be written.
    pub fn create(path: &Path) -> Result<Arc<Self>, CassetteError> {
        let failed = |source: std::io::Error| {
            let other = source.kind() == std::io::ErrorKind::AlreadyExists
                && std::fs::metadata(path).is_ok_and(|about| !about.is_file());
            let path = path.to_owned();
            // Nobody should delete a device to record anew.
            if other {
                let source = super::invalid("it is not a regular file".to_owned());
                CassetteError::Write { path, source }
            } else if source.kind() == std::io::ErrorKind::AlreadyExists {
                CassetteError::Exists { path }
            } else {
                CassetteError::Write { path, source }
            }
        };
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = match options.open(path) {
            Ok(mut file) => file.write_all(header().as_bytes()).map(|()| file),
            // A recording that ended before its first exchange is begun again.
            Err(_) if super::text_of(path).is_ok_and(|text| text == header()) => {
                OpenOptions::new().append(true).open(path)
            }
            Err(error) => Err(error),
        };
        let file = file.map_err(failed)?;
        let tape = Mutex::new(Tape { file, left: MAX_BYTES.saturating_sub(header().len() as u64), clock: 0 });
        Ok(Arc::new(Self { path: path.to_owned(), tape }))
    }

    /// The model, with its exchanges recorded. Several models share a cassette.
    pub fn model(self: &Arc<Self>, model: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(Recorded { recorder: self.clone(), model })
    }

    pub(super) fn tape(&self) -> std::sync::MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, began: u64, request: Value, end: End) -> std::io::Result<()> {
        let mut tape = self.tape();
        let ended = tape.tick();
        let line = Exchange { began, ended, request, end }.line()?;
        let left = tape.left.checked_sub(line.len() as u64);
        tape.left =
            left.ok_or_else(|| super::invalid(format!("it would have more than {MAX_BYTES} bytes")))?;
        tape.file.write_all(line.as_bytes())?;
        tape.file.flush()
    }
}

/// A model whose exchanges are recorded.
#[derive(Debug)]
struct Recorded {
    recorder: Arc<Recorder>,
    model: Arc<dyn Model>,
}

impl Model for Recorded {
    fn takes(&self, part: &Part) -> bool {
        self.model.takes(part)
    }

    fn refused_setting(&self, choice: &ModelChoice, failure: &ModelFailure) -> Option<&'static str> {
        self.model.refused_setting(choice, failure)
    }

    fn provider(&self) -> &str {
        self.model.provider()
    }

    fn binding(&self) -> Vec<(String, Secret)> {
        self.model.binding()
    }

    fn key_from(&self) -> Option<&str> {
        self.model.key_from()
    }

    /// A recording begins as if nothing had been learnt, because nothing has where it is played.
    fn known(&self, name: &str) -> Known {
        Known { structured: self.model.known(name).structured, ..Known::default() }
    }

    fn written(&self, request: ModelRequest) -> Option<WrittenRequest> {
        self.model.written(request)
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let assembler = Assembler::new(request.model.name.clone()).bounded(request.model.max_reply_bytes());
        Box::pin(Recording {
            recorder: self.recorder.clone(),
            request: form(&request),
            began: self.recorder.tape().tick(),
            name: request.model.name.to_string(),
            deltas: self.model.call(request),
            pieces: 0,
            thoughts: Thoughts::default(),
            assembler: Some(assembler),
            unfit: None,
        })
    }
}

/// The pieces of a reply on their way through.
struct Recording {
    recorder: Arc<Recorder>,
    request: Value,
    began: u64,
    name: String,
    deltas: Deltas,
    pieces: u64,
    thoughts: Thoughts,
    /// `None`: the exchange has been written.
    assembler: Option<Assembler>,
    /// The reply is beyond its bounds: the reader finds the same, and stops the call.
    unfit: Option<ModelFailure>,
}

impl Recording {
    fn keep(&mut self, delta: Delta) {
        self.pieces += 1;
        let Some(assembler) = self.assembler.as_mut().filter(|_| self.unfit.is_none()) else { return };
        self.unfit = self.thoughts.pass(delta, |delta| assembler.push(delta)).err();
    }

    /// Writes the exchange, once. A recording with a gap would be worth nothing: the call fails where it cannot be written.
    fn write(&mut self, failure: Option<ModelFailure>) -> Option<ModelFailure> {
        let mut assembler = self.assembler.take()?;
        if self.unfit.is_none() {
            self.unfit = self.thoughts.end(|delta| assembler.push(delta)).err();
        }
        let usage = assembler.usage();
        let end = match failure.or_else(|| self.unfit.take()) {
            Some(failure) => End::Failure(Box::new(failure)),
            None => End::Reply(Box::new(assembler.finish())),
        };
        self.write_end(end).map(|failure| ModelFailure { usage, ..failure })
    }

    fn write_end(&mut self, end: End) -> Option<ModelFailure> {
        let error = self.recorder.write(self.began, self.request.take(), end).err()?;
        let message = format!("cannot record to {}: {error}", self.recorder.path.display());
        Some(ModelFailure::new(FailureKind::BadRequest, message, self.name.as_str()))
    }
}

impl Stream for Recording {
    type Item = Result<Delta, ModelFailure>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.assembler.is_none() {
            return Poll::Ready(None);
        }
        let Poll::Ready(next) = this.deltas.as_mut().poll_next(context) else { return Poll::Pending };
        Poll::Ready(match next {
            Some(Ok(delta)) => {
                this.keep(delta.clone());
                Some(Ok(delta))
            }
            Some(Err(failure)) => {
                let failure = this.write(Some(failure.clone())).unwrap_or(failure);
                Some(Err(failure))
            }
            None => this.write(None).map(Err),
        })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.assembler.take().is_some() {
            let end = match self.unfit.take() {
                Some(failure) => End::Failure(Box::new(failure)),
                None => End::StoppedAfter(self.pieces),
            };
            // Nobody is left to report it to: the next exchange fails to be written, too.
            let _unreported = self.write_end(end);
        }
    }
}
