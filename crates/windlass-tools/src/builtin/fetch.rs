//! The built-in `fetch`: one GET of a text on the web, from hosts that may be asked.

mod hosts;
mod html;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use serde_json::Value;
use url::Url;
use windlass_core::ToolSpec;
use windlass_error::causes;
use windlass_http::{Answer, HttpClient, Refused};

use super::{Builtin, Takes};
use crate::binding::Bound;
use crate::error::ToolSetError;
use crate::function::{Args, Properties};
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

use hosts::Hosts;

/// Maximum number of bytes of a body that are read.
pub const MAX_BODY: usize = 1024 * 1024;

/// Maximum number of redirects.
pub const MAX_REDIRECTS: usize = 5;

/// Timeout of a call, including redirects and the body.
pub const FETCH_LIMIT: Duration = Duration::from_secs(30);

/// Timeout for making a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Maximum number of characters quoted from an error response.
const QUOTED_CHARS: usize = 500;

/// `fetch`: gives the text at an `http` or `https` address.
///
/// Fetches pages from allowed hosts: any public one if the list is empty, else only the listed ones. An entry is a host
/// (`example.org`), its subdomains (`*.example.org`), or all (`*`), each with an optional port (`127.0.0.1:8080`).
///
/// Addresses that are private, loopback, link-local, shared (RFC 6598), multicast, of documentation or otherwise not of
/// the public internet (IANA special-purpose registries; IPv4 inside IPv6 too, and with them the metadata services of
/// clouds) are refused unless an entry names the host without `*`. Such an entry with a port opens only that port, and
/// no wildcard ever covers these addresses. A name is resolved once, and the connection goes to an address that was
/// checked; each redirect is checked anew. Proxies are not used: they would resolve names themselves.
///
/// Given are `text/*`, JSON and XML in UTF-8, ASCII or Latin-1; HTML is reduced to its text.
///
/// Limits: [`MAX_BODY`] (the rest is cut off with a note), [`MAX_REDIRECTS`], [`FETCH_LIMIT`].
#[derive(Debug)]
pub struct Fetch {
    spec: ToolSpec,
    hosts: Hosts,
    /// The list of hosts as it was given.
    listed: String,
}

impl Fetch {
    /// The tool by its name.
    pub const BUILTIN: Builtin =
        Builtin { name: "fetch", takes: Takes::Hosts, make: |given| Ok(Arc::new(Fetch::new(given.hosts)?)) };

    /// The tool for these hosts; none means any public one.
    ///
    /// # Errors
    /// An entry is no host.
    pub fn new(hosts: &[String]) -> Result<Self, ToolSetError> {
        let listed = serde_json::json!(hosts).to_string();
        let hosts =
            Hosts::new(hosts).map_err(|what| ToolSetError::BadSettings { name: "fetch".to_owned(), what })?;
        let mut properties = Properties::new();
        properties.required::<String>("url", "The address, with http:// or https://");
        let description = "Fetches a page or file of text from the web.";
        let spec = super::spec("fetch", description, properties);
        Ok(Self { spec, hosts, listed })
    }

    async fn fetch(&self, address: &str) -> Result<String, ToolError> {
        let mut url = Url::parse(address)
            .map_err(|error| ToolError::of_kind("BadUrl", format!("`{address}` is not a URL: {error}")))?;
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.get(&url).await?;
            let Some(next) = redirect(&url, &answer)? else { return given(&url, answer).await };
            url = next;
        }
        let message = format!("`{address}` redirects more than {MAX_REDIRECTS} times");
        Err(ToolError::of_kind("TooManyRedirects", message))
    }

    async fn get(&self, url: &Url) -> Result<Answer, ToolError> {
        let reach = self.hosts.check(url)?;
        let request = http::Request::get(url.as_str()).header(ACCEPT, "text/*, */*;q=0.5").body(Bytes::new());
        let request = request.map_err(|error| failed(url, &error))?;
        let answer = HttpClient::new(CONNECT_LIMIT, reach).open(request).await;
        answer.map_err(|error| failed(url, &error))
    }
}

impl Tool for Fetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn binding(&self) -> Vec<Bound> {
        vec![Bound::open("hosts", &self.listed)]
    }

    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let address: String = Args::new(args)?.required("url")?;
            tokio::select! {
                text = tokio::time::timeout(FETCH_LIMIT, self.fetch(&address)) => text.unwrap_or_else(|_| {
                    let message = format!("`{address}` did not answer within {} s", FETCH_LIMIT.as_secs());
                    Err(ToolError::of_kind("Timeout", message))
                }).map(Into::into),
                () = context.cancelled.cancelled() => Err(ToolError::of_kind("Cancelled", "the run was cancelled")),
            }
        })
    }
}

/// Target of a redirect response.
fn redirect(from: &Url, answer: &Answer) -> Result<Option<Url>, ToolError> {
    if !matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = answer.headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let next = location.and_then(|location| from.join(location).ok());
    next.map(Some).ok_or_else(|| {
        let message =
            format!("`{from}` redirects without a valid target ({})", location.unwrap_or("no location"));
        ToolError::of_kind("BadRedirect", message)
    })
}

/// The text of a response.
async fn given(url: &Url, mut answer: Answer) -> Result<String, ToolError> {
    let status = answer.status;
    let media = Media::of(&answer.headers);
    if status.is_success() && !media.is_text() {
        let message = format!("`{url}` is {}, not text", media.name);
        return Err(ToolError::of_kind("NotText", message));
    }
    let (bytes, cut) = answer.body.read(MAX_BODY).await.map_err(|error| failed(url, &error))?;
    if !status.is_success() {
        let body: String = if media.is_text() { media.read(url, bytes)? } else { String::new() };
        let body: String = body.trim().chars().take(QUOTED_CHARS).collect();
        let body = if body.is_empty() { body } else { format!(": {body}") };
        return Err(ToolError::of_kind("HttpStatus", format!("`{url}` answered {status}{body}")));
    }
    let text = media.read(url, bytes)?;
    Ok(if cut { format!("{text}\n[cut at {MAX_BODY} bytes]") } else { text })
}

/// Media type and charset from the header.
struct Media {
    /// In lower case, without parameters.
    name: String,
    charset: String,
}

impl Media {
    fn of(headers: &HeaderMap) -> Self {
        let header = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let header = header.to_ascii_lowercase();
        let mut parts = header.split(';').map(str::trim);
        let name = parts.next().unwrap_or("").to_owned();
        let charset = parts.find_map(|part| part.strip_prefix("charset="));
        Self { name, charset: charset.unwrap_or("utf-8").trim_matches('"').to_owned() }
    }

    /// Nothing said counts as text: the bytes decide.
    fn is_text(&self) -> bool {
        let name = &self.name;
        let (kind, form) = name.split_once('/').unwrap_or((name, ""));
        let form = form.rsplit_once('+').map_or(form, |(_, suffix)| suffix);
        kind.is_empty() || kind == "text" || form == "json" || form == "xml" || form.ends_with("-json")
    }

    fn read(&self, url: &Url, bytes: Vec<u8>) -> Result<String, ToolError> {
        let no = |what: &str| ToolError::of_kind("NotText", format!("`{url}` {what}"));
        if bytes.contains(&0) {
            return Err(no("is not text"));
        }
        let text = match self.charset.as_str() {
            "utf-8" | "utf8" | "us-ascii" | "ascii" => String::from_utf8_lossy(&bytes).into_owned(),
            // Each byte of Latin-1 is the character of its number.
            "iso-8859-1" | "latin1" | "windows-1252" => bytes.into_iter().map(char::from).collect(),
            other => return Err(no(&format!("is encoded in {other}, which is not supported"))),
        };
        Ok(if matches!(self.name.as_str(), "text/html" | "application/xhtml+xml") {
            html::text(&text)
        } else {
            text
        })
    }
}

/// A failure with its causes; a refused address is its own kind.
fn failed(url: &Url, error: &(dyn Error + 'static)) -> ToolError {
    if let Some(refused) = causes(error).find_map(<dyn Error>::downcast_ref::<Refused>) {
        return hosts::refused(refused);
    }
    let why = causes(error).last().map_or_else(|| error.to_string(), ToString::to_string);
    ToolError::of_kind("Unreachable", format!("cannot fetch `{url}`: {why}"))
}

#[cfg(test)]
mod tests;
