//! Owns playing: a model that gives recorded replies to recorded requests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream;
use serde_json::Value;
use windlass_core::model::{FailureKind, ModelFailure};

use super::CassetteError;
use super::difference::difference;
use super::exchange::{End, Exchange, form, read};
use super::text_of;
use crate::{Delta, Deltas, Known, Model, ModelRequest};

/// A recorded cassette that stands in for models.
///
/// A request must be the next one of the recording. Exchanges that ran at the same time may be asked for in any order. The
/// first request that differs fails, and all after it.
#[derive(Debug)]
pub struct Player {
    path: PathBuf,
    count: usize,
    first_model: Option<String>,
    /// The models that were asked for calls by schema.
    called_by_schema: BTreeSet<String>,
    played: Mutex<Played>,
}

#[derive(Debug)]
struct Played {
    /// The exchanges that have not been played, in the order of their ends.
    left: Vec<(usize, Exchange)>,
    /// The first difference.
    broken: Option<String>,
}

impl Player {
    /// Reads a cassette.
    ///
    /// # Errors
    /// The file cannot be read, or a line is not what a recording writes.
    pub fn open(path: &Path) -> Result<Arc<Self>, CassetteError> {
        let left = open(path)?;
        let first = left.iter().min_by_key(|(_, exchange)| exchange.began);
        let first = first.and_then(|(_, first)| first.request.pointer("/model/name"));
        let by_schema = left.iter().filter_map(|(_, exchange)| {
            exchange.request.pointer("/schema/schema/properties/reply")?;
            exchange.request.pointer("/model/name")?.as_str().map(str::to_owned)
        });
        Ok(Arc::new(Self {
            path: path.to_owned(),
            called_by_schema: by_schema.collect(),
            count: left.len(),
            first_model: first.and_then(Value::as_str).map(str::to_owned),
            played: Mutex::new(Played { left, broken: None }),
        }))
    }

    /// The model. All models of a run share the cassette.
    pub fn model(self: &Arc<Self>) -> Arc<dyn Model> {
        Arc::new(Playing(self.clone()))
    }

    /// Name of the model that was asked first: what `auto` chose when the cassette was recorded.
    pub fn first_model(&self) -> Option<&str> {
        self.first_model.as_deref()
    }

    /// Checks that the cassette was played to its end without a difference.
    ///
    /// # Errors
    /// A request differed, or exchanges are left.
    pub fn check_end(&self) -> Result<(), CassetteError> {
        let played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(message) = &played.broken {
            return Err(CassetteError::Differs { message: message.clone() });
        }
        let Some((line, _)) = played.left.first() else { return Ok(()) };
        let (left, count) = (played.left.len(), self.count);
        Err(CassetteError::Left { path: self.path.clone(), left, count, line: *line })
    }

    /// The end of the recorded exchange with this request, or the first difference.
    fn play(&self, asked: &Value) -> Result<End, String> {
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(message) = &played.broken {
            return Err(message.clone());
        }
        let at = played.find(asked).map_err(|found| self.words(found));
        match at {
            Ok(at) => Ok(played.left.remove(at).1.end),
            Err(message) => {
                played.broken = Some(message.clone());
                Err(message)
            }
        }
    }

    fn words(&self, found: Option<(usize, String)>) -> String {
        let path = self.path.display();
        let Some((line, difference)) = found else {
            let count = self.count;
            return format!(
                "the cassette {path} is used up: {count} exchanges were recorded, and one more is asked for"
            );
        };
        format!("the request differs from the recorded one ({path}:{line}) at {difference}")
    }
}

impl Played {
    /// The place of the exchange that is asked for; else the line of the next one and the difference, or `None`: none is left.
    fn find(&self, asked: &Value) -> Result<usize, Option<(usize, String)>> {
        let first_end = self.left.iter().map(|(_, exchange)| exchange.ended).min().unwrap_or_default();
        // Nothing had ended before these began: their order was a matter of chance.
        let next = || self.left.iter().enumerate().filter(|(_, (_, next))| next.began < first_end);
        if let Some((at, _)) = next().find(|(_, (_, exchange))| exchange.request == *asked) {
            return Ok(at);
        }
        let expected = next().map(|(_, next)| next).min_by_key(|(_, exchange)| exchange.began);
        Err(expected.and_then(|(line, expected)| Some((*line, difference(&expected.request, asked)?))))
    }
}

/// One exchange of a cassette, for a model with a script of its own.
#[derive(Debug, PartialEq)]
pub struct Recorded {
    line: usize,
    exchange: Exchange,
}

impl Recorded {
    /// All exchanges of a cassette in the order in which they began.
    ///
    /// # Errors
    /// The file cannot be read, or a line is not what a recording writes.
    pub fn all(path: &Path) -> Result<Vec<Self>, CassetteError> {
        let mut all = open(path)?;
        all.sort_by_key(|(_, exchange)| exchange.began);
        Ok(all.into_iter().map(|(line, exchange)| Self { line, exchange }).collect())
    }

    /// Its line in the cassette, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Name of the model that was asked.
    pub fn model(&self) -> Option<&str> {
        self.exchange.request.pointer("/model/name").and_then(Value::as_str)
    }

    /// The recorded reply or failure, as a stream has it, if the request is the recorded one.
    ///
    /// # Errors
    /// The first difference, in words.
    pub fn answer(&self, request: &ModelRequest) -> Result<Result<Delta, ModelFailure>, String> {
        match difference(&self.exchange.request, &asked(request)) {
            Some(difference) => Err(difference),
            None => Ok(given(self.exchange.end.clone(), request)),
        }
    }
}

/// The exchanges of a file, in the order of their ends.
fn open(path: &Path) -> Result<Vec<(usize, Exchange)>, CassetteError> {
    let text = text_of(path).map_err(|source| CassetteError::Read { path: path.to_owned(), source })?;
    read(path, &text)
}

/// A request as it is compared: read as the recorded one was, because a number may change its last digit on the way through
/// text.
fn asked(request: &ModelRequest) -> Value {
    serde_json::from_str(&form(request).to_string()).unwrap_or_default()
}

/// A recorded end as a stream has it.
fn given(end: End, request: &ModelRequest) -> Result<Delta, ModelFailure> {
    match end {
        End::Reply(reply) => Ok(Delta::Whole(reply)),
        End::Failure(failure) => Err(*failure),
        End::StoppedAfter(_) => {
            let words = "the recorded call was stopped before its end";
            Err(ModelFailure::new(FailureKind::Cancelled, words, request.model.name.clone()))
        }
    }
}

/// A model that plays.
#[derive(Debug)]
struct Playing(Arc<Player>);

impl Model for Playing {
    fn provider(&self) -> &'static str {
        "cassette"
    }

    fn known(&self, name: &str) -> Known {
        Known { structured: self.0.called_by_schema.contains(name).then_some(true), ..Known::default() }
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let end = match self.0.play(&asked(&request)) {
            Ok(end) => given(end, &request),
            // Neither repeated nor asked of another model.
            Err(message) => {
                Err(ModelFailure::new(FailureKind::BadRequest, message, request.model.name.clone()))
            }
        };
        Box::pin(stream::iter([end]))
    }
}
