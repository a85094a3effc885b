//! Starting runs.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::{Host, Url};
use windlass_api::{AttachmentSource, Fate, Input, InputPart, StartRun, Started};
use windlass_core::message::{Content, Media, MediaSource, Part};
use windlass_core::{Message, RunId, RunState, State};
use windlass_http::Reach;
use windlass_read::{json, load};
use windlass_runtime::host::{LiveRun, Start};
use windlass_runtime::{Admitted, DriveOptions, RunMessages};
use windlass_store::StoreError;

use super::agents::named;
use super::forms::href;
use crate::error::Error;
use crate::http::reply::Made;
use crate::http::route::{Call, Nothing};

/// The longest time for which a reply is held back, in milliseconds (E64).
const LONGEST_WAIT_MS: u64 = 10_000;
/// The most bytes of a session's name.
const SESSION_BYTES: usize = 256;

/// The parts of a message, as the client's words: nothing else that a client sends has authority (E66).
pub(super) fn input(input: Input) -> Result<RunMessages, Error> {
    let empty = || Error::Value { what: "input", fault: "it is empty".to_owned() };
    match input {
        Input::Text(text) if text.is_empty() => Err(empty()),
        Input::Text(text) => Ok(text.into()),
        Input::Object(object) => Ok(object.into()),
        Input::Parts(parts) if parts.is_empty() => Err(empty()),
        Input::Parts(parts) => {
            let parts = parts.into_iter().map(part).collect::<Result<Vec<_>, _>>()?;
            Ok(vec![Message::User { content: Content::Parts(parts), pinned: false }].into())
        }
    }
}

pub(super) fn part(part: InputPart) -> Result<Part, Error> {
    Ok(match part {
        InputPart::Text { text } => Part::Text { text: text.into() },
        InputPart::Image { media_type, name, source } => Part::Image(media(media_type, name, source)?),
        InputPart::File { media_type, name, source } => Part::File(media(media_type, name, source)?),
    })
}

fn media(media_type: String, name: Option<String>, source: AttachmentSource) -> Result<Media, Error> {
    let source = match source {
        AttachmentSource::Base64(data) => {
            STANDARD
                .decode(&data)
                .map_err(|error| Error::Value { what: "base64", fault: error.to_string() })?;
            MediaSource::Base64(data.into())
        }
        AttachmentSource::Url(url) => {
            check_url(&url)?;
            MediaSource::Url(url.into())
        }
        AttachmentSource::ProviderFile(id) => MediaSource::ProviderFile(id.into()),
    };
    Ok(Media { media_type: media_type.into(), name: name.map(Into::into), source })
}

/// Refuses an address that may not be of the public internet: the provider asks it, which may stand inside.
fn check_url(text: &str) -> Result<(), Error> {
    let refused = |fault: &str| Err(Error::Value { what: "url", fault: fault.to_owned() });
    let Ok(url) = Url::parse(text) else { return refused("it is no URL") };
    if url.scheme() != "https" || !url.username().is_empty() || url.password().is_some() {
        return refused("expected https, without a login");
    }
    let is_public = match url.host() {
        Some(Host::Ipv4(address)) => Reach::Public.admits(IpAddr::from(address)),
        Some(Host::Ipv6(address)) => Reach::Public.admits(IpAddr::from(address)),
        Some(Host::Domain(name)) => is_public_name(name),
        None => false,
    };
    if is_public { Ok(()) } else { refused("its host is not of the public internet") }
}

/// Whether a name may be one of the public internet: others are those of RFC 6761, 6762 and 8375, and names without a dot.
fn is_public_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let inside = ["localhost", "local", "internal", "test", "example", "invalid", "home.arpa", "onion"];
    name.contains('.') && !inside.iter().any(|end| name.ends_with(&format!(".{end}")))
}

pub(super) async fn start(call: Call<Nothing, Nothing, StartRun>) -> Result<Made<Started>, Error> {
    let key = call.key()?;
    let StartRun { agent, input: given, session, only_tools, wait_ms } = call.body.clone();
    check_wait(wait_ms)?;
    if let Some(fault) = session.as_deref().and_then(session_fault) {
        return Err(Error::Value { what: "session", fault });
    }
    let agent = named(&call, &agent)?;
    let options = DriveOptions {
        owner: call.caller.owner().clone(),
        key,
        session: session.map(Into::into),
        only_tools: only_tools.map(|tools| tools.into_iter().map(Into::into).collect()),
        ..DriveOptions::default()
    };
    // Who waits for the answer reads no pieces.
    let start = Start::new(&agent, input(given)?).options(options).whole_replies(wait_ms > 0);
    let host = call.caller.host(&call.server);
    let limits = call.server.limits_on(call.caller.owner(), agent.name());
    match host.start_within(start, limits).await? {
        Admitted::Started(live) => begun(&call, live, wait_ms).await,
        Admitted::Steered { run } => answered(&call, run, Fate::Steered, None).await,
        Admitted::Queued { behind, run } => answered(&call, run, Fate::Queued, Some(behind)).await,
        Admitted::Repeated { run } => answered(&call, run, Fate::Repeated, None).await,
    }
}

pub(super) fn check_wait(wait_ms: u64) -> Result<(), Error> {
    if wait_ms > LONGEST_WAIT_MS {
        return Err(Error::Value {
            what: "wait_ms",
            fault: format!("it is {wait_ms}, at most {LONGEST_WAIT_MS}"),
        });
    }
    Ok(())
}

pub(super) fn session_fault(name: &str) -> Option<String> {
    match name.len() {
        0 => Some("it is empty".to_owned()),
        1..=SESSION_BYTES => {
            name.chars().any(char::is_control).then(|| "it has control characters".to_owned())
        }
        bytes => Some(format!("it has {bytes} bytes, at most {SESSION_BYTES}")),
    }
}

/// The reply for a run that is driven here, held back for its end.
async fn begun<P, Q, B>(call: &Call<P, Q, B>, live: LiveRun, wait_ms: u64) -> Result<Made<Started>, Error> {
    let mut live = live;
    let run = live.id();
    if wait_ms > 0 {
        let wait = Duration::from_millis(wait_ms);
        // A run that is lost here, or that waits, is read from its log.
        if let Ok(Ok(driven)) = tokio::time::timeout(wait, live.ended()).await
            && matches!(driven.run_state(), RunState::Ended(_))
        {
            return Ok(reply(driven.state(), Fate::Started, None, driven.run_state().to_string()));
        }
    }
    answered(call, run, Fate::Started, None).await
}

/// The reply for a run that has ended.
fn reply(ended: &State, fate: Fate, behind: Option<RunId>, status: String) -> Made<Started> {
    let (run, end) = (ended.run(), ended.ended());
    let href = href(run);
    let value = Started {
        run,
        fate,
        behind,
        status: Some(status),
        text: end.and_then(|end| end.text.as_deref().map(str::to_owned)),
        output: end.and_then(|end| end.output.clone()),
        href: href.clone(),
    };
    Made { value, href, later: false }
}

/// The reply for a run, as its log has it now.
pub(super) async fn answered<P, Q, B>(
    call: &Call<P, Q, B>,
    run: RunId,
    fate: Fate,
    behind: Option<RunId>,
) -> Result<Made<Started>, Error> {
    let log = &**call.server.host().log();
    let status = match log.summary(run).await {
        Ok(line) if matches!(line.run_state, RunState::Ended(_)) => {
            return Ok(reply(&load(log, run).await?, fate, behind, json::listed_state(&line)));
        }
        Ok(line) => Some(json::listed_state(&line)),
        // A message that waits has begun no run yet.
        Err(StoreError::UnknownRun { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let href = href(run);
    let value = Started { run, fate, behind, status, text: None, output: None, href: href.clone() };
    Ok(Made { value, href, later: true })
}
