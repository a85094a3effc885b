//! PDFs of inputs and of tools' results that become text, page by page, where the API of a model takes none. The original is stored
//! before its text.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_core::future::BoxFuture;
use futures_util::future::{Either, select};
use windlass_core::message::{Content, Media, MediaSource, Part, Ref};
use windlass_core::{CallOutcome, InputKind, Text};
use windlass_models::Model;
use windlass_threads::LARGE_BYTES;

use crate::agent::Agent;
use crate::platform::error::Error;
use crate::platform::error::pdf::{PdfError, UnreadPdf};
use crate::platform::off_thread::off_thread;
use crate::platform::pdf::{Stop, pages};
use crate::platform::retry::again;

/// Maximum time to read one file.
const MAX_MS: u64 = 30_000;

/// The first model that a run of the agent asks, by its name.
pub(super) fn first_model(agent: &Agent) -> Option<(&Text, &Arc<dyn Model>)> {
    let choice = agent.models().first()?;
    Some((&choice.name, agent.model(&choice.name)?))
}

/// Whether a part is a PDF in place, of which text can be made.
pub(crate) fn is_pdf(part: &Part) -> bool {
    let Part::File(Media { media_type, source: MediaSource::Base64(_), .. }) = part else { return false };
    let plain = media_type.split(';').next().unwrap_or_default().trim();
    ["application/pdf", "application/x-pdf"].iter().any(|pdf| plain.eq_ignore_ascii_case(pdf))
}

/// Whether parts of an input have a PDF that the first model takes as text only ([`with_text`]).
pub(super) fn is_unread<'p>(agent: &Agent, mut parts: impl Iterator<Item = &'p Part>) -> bool {
    parts.any(|part| is_pdf(part) && first_model(agent).is_some_and(|(_, model)| !model.takes(part)))
}

/// Puts the text of each PDF after it, if the first model takes no PDF. The files themselves are stored.
///
/// # Errors
/// A file cannot be read as text, or the log failed.
pub(crate) async fn with_text(agent: &Agent, parts: &mut Vec<Part>) -> Result<(), Error> {
    let Some((model, adapter)) = first_model(agent) else { return Ok(()) };
    let mut at = 0;
    while let Some(part) = parts.get_mut(at) {
        at += 1;
        if !is_pdf(part) || adapter.takes(part) {
            continue;
        }
        let Part::File(media) = part else { continue };
        let document = readable(agent, model, media).await?;
        let (name, pages) = (named(media), counted(document.pages));
        tracing::warn!(agent = %agent.name(), "{model} takes no PDF: {name} is sent as the text of its {pages}");
        let text = format!(
            "[{name}: sent as the text of its {pages}, since {model} takes no PDF]\n\n{}",
            document.text
        );
        store_original(agent, media).await?;
        let text = text_part(agent, text.into()).await?;
        parts.insert(at, text);
        at += 1;
    }
    Ok(())
}

/// Checks that each PDF can become text, if the first model takes no PDF.
///
/// # Errors
/// A file cannot be read as text.
pub(super) async fn check(agent: &Agent, parts: &[Part]) -> Result<(), Error> {
    let Some((model, adapter)) = first_model(agent) else { return Ok(()) };
    for part in parts {
        if let Part::File(media) = part
            && is_pdf(part)
            && !adapter.takes(part)
        {
            readable(agent, model, media).await?;
        }
    }
    Ok(())
}

/// The text of a file for a model that takes no PDF.
async fn readable(agent: &Agent, model: &Text, media: &Media) -> Result<Document, UnreadPdf> {
    let what = || format!("the file{}", quoted(media));
    read(agent, media).await.map_err(|source| UnreadPdf { model: model.to_string(), what: what(), source })
}

/// The parts of a tool's result, if it has some.
fn result_parts(what: &mut InputKind) -> Option<&mut Vec<Part>> {
    match what {
        InputKind::CallEnded { outcome: CallOutcome::Ok { content: Content::Parts(parts) }, .. } => {
            Some(parts)
        }
        _ => None,
    }
}

/// Puts the text of each PDF of a tool's result after it, where models would be told of the file in a note alone: if the first one takes
/// no PDF, or if the file is longer than `most` bytes and therefore stored. A file that cannot be read is followed by the reason.
///
/// `None`: it has no such file.
pub(crate) fn with_result_text<'a>(
    agent: &'a Agent,
    what: &'a mut InputKind,
    most: u64,
) -> Option<BoxFuture<'a, ()>> {
    let parts = result_parts(what)?;
    let (_, model) = first_model(agent)?;
    let is_unread = move |part: &Part| match part {
        Part::File(media) => is_pdf(part) && (media.bytes() > most || !model.takes(part)),
        _ => false,
    };
    if !parts.iter().any(is_unread) {
        return None;
    }
    Some(Box::pin(async move {
        let mut at = 0;
        while let Some(part) = parts.get(at) {
            at += 1;
            let Part::File(media) = part else { continue };
            if !is_unread(part) {
                continue;
            }
            let name = named(media);
            let text = match read(agent, media).await {
                Ok(document) => {
                    format!("[{name}: the text of its {}]\n\n{}", counted(document.pages), document.text)
                }
                Err(error) => format!("[{name} cannot be read as text: {error}]"),
            };
            parts.insert(at, Part::Text { text: text.into() });
            at += 1;
        }
    }))
}

/// The text of a document.
struct Document {
    pages: usize,
    text: String,
}

async fn read(agent: &Agent, media: &Media) -> Result<Document, PdfError> {
    let MediaSource::Base64(data) = &media.source else { return Err(PdfError::Broken) };
    let environment = &**agent.environment();
    let (data, stop) = (data.clone(), Arc::new(Stop::default()));
    // A small file may be long work.
    let weight = (data.len() as u64).max(LARGE_BYTES);
    let its_stop = stop.clone();
    let reading = off_thread(environment, weight, move || {
        let bytes = STANDARD.decode(data.as_bytes()).map_err(|_| PdfError::Broken)?;
        let pages = pages(bytes, &its_stop)?;
        Ok(Document { pages: pages.len(), text: joined(&pages) })
    });
    let late = environment.sleep_until(environment.now().saturating_add(MAX_MS));
    match select(Box::pin(reading), late).await {
        Either::Left((read, _)) => read,
        Either::Right(_) => {
            stop.set();
            Err(PdfError::TooSlow)
        }
    }
}

/// The text of all pages, each under its number.
fn joined(pages: &[String]) -> String {
    let of = pages.len();
    let page = |(at, text): (usize, &String)| {
        let number = at + 1;
        if text.is_empty() {
            format!("[page {number} of {of}: no text]")
        } else {
            format!("[page {number} of {of}]\n{text}")
        }
    };
    pages.iter().enumerate().map(page).collect::<Vec<_>>().join("\n\n")
}

async fn store_original(agent: &Agent, media: &mut Media) -> Result<(), Error> {
    if let MediaSource::Base64(data) = &media.source {
        let bytes: Arc<[u8]> = Arc::from(data.clone());
        let sha256 = again(&**agent.environment(), || agent.log().put(bytes.clone())).await?;
        media.source = MediaSource::Stored(Ref::to_data(sha256, data.len() as u64));
    }
    Ok(())
}

/// A text, or what stands for one that is longer than results may be: the model reads the rest by ranges.
async fn text_part(agent: &Agent, text: Text) -> Result<Part, Error> {
    let most = agent.policy().spill_bytes();
    if text.len() as u64 <= most {
        return Ok(Part::Text { text });
    }
    let bytes: Arc<[u8]> = Arc::from(text.clone());
    let sha256 = again(&**agent.environment(), || agent.log().put(bytes.clone())).await?;
    Ok(Part::Stored(Ref::to_text(sha256, &text, most)))
}

/// The name of a file on one line.
fn named(media: &Media) -> String {
    let name = media.name.as_deref().filter(|name| !name.trim().is_empty()).unwrap_or("a PDF");
    name.replace(char::is_control, " ")
}

fn quoted(media: &Media) -> String {
    media.name.as_deref().map(|name| format!(" `{name}`")).unwrap_or_default()
}

fn counted(pages: usize) -> String {
    if pages == 1 { "1 page".to_owned() } else { format!("{pages} pages") }
}
