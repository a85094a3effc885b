//! Admission: each request goes through host and origin, token, scope and body, in this order, and each has a line in the log.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use bytes::Bytes;
use futures_util::FutureExt as _;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use opentelemetry::context::FutureExt as _;
use windlass_error::in_full;

use super::caller::Caller;
use super::lines::Line;
use super::peer::Peer;
use super::refusal::not_allowed;
use super::reply::JSON;
use super::route::{Access, Arrived, Route};
use super::server::Server;
use super::{hosts, trace};
use crate::error::Error;

/// The routes of all doors as one service.
pub(crate) fn app(server: &Server, routes: Vec<Route>) -> Router {
    let mut paths: Vec<(&'static str, Vec<Route>)> = Vec::new();
    for route in routes {
        match paths.iter_mut().find(|(path, _)| *path == route.path) {
            Some((_, known)) => known.push(route),
            None => paths.push((route.path, vec![route])),
        }
    }
    let mut app = Router::new();
    for (path, routes) in paths {
        let allowed = routes.iter().map(|route| route.method.as_str()).collect::<Vec<_>>().join(", ");
        let mut methods = MethodRouter::new();
        for route in routes {
            let filter = MethodFilter::try_from(route.method.clone()).unwrap_or(MethodFilter::GET);
            let server = server.clone();
            methods = methods
                .merge(on(filter, move |request: Request| served(server.clone(), route.clone(), request)));
        }
        let refused = move |request: Request| {
            let (path, method) = (request.uri().path().to_owned(), request.method().to_string());
            std::future::ready(not_allowed(&path, &method, &allowed))
        };
        app = app.route(path, methods.fallback(refused));
    }
    app.fallback(|request: Request| {
        let path = request.uri().path().to_owned();
        std::future::ready(Error::NoPath { path }.into_response())
    })
}

/// Serves a request, with a line in the log. Work that panics is a reply, too.
async fn served(server: Server, route: Route, request: Request) -> Response {
    let began = Instant::now();
    let peer = request.extensions().get::<Peer>().copied().unwrap_or(Peer::Socket { is_ours: false });
    let (parts, body) = request.into_parts();
    let line = Line::of(&server, &route, &parts, peer);
    let (reply, caller) = match admitted(&server, &route, peer, &parts, body).await {
        Ok((caller, body)) => {
            let named = caller.clone();
            let context = trace::parent(&parts.headers);
            let arrived = Arrived { server: server.clone(), caller, parts, body };
            let work = AssertUnwindSafe((route.handler)(arrived)).catch_unwind().with_context(context);
            (work.await.unwrap_or_else(|_| Error::Panic.into_response()), Some(named))
        }
        Err(error) => (error.into_response(), None),
    };
    let time = began.elapsed();
    server.metrics().request(route.method.as_str(), route.path, reply.status().as_u16(), time);
    line.write(caller.as_ref(), &reply, time);
    reply
}

async fn admitted(
    server: &Server,
    route: &Route,
    peer: Peer,
    parts: &Parts,
    body: Body,
) -> Result<(Caller, Bytes), Error> {
    let settings = server.settings();
    hosts::check(settings, parts, matches!(peer, Peer::Socket { .. }))?;
    let caller = match (route.access, peer) {
        (Access::Open, _) => Caller::anybody(),
        (Access::Needs(_), Peer::Socket { is_ours: true }) => Caller::local(),
        (Access::Needs(_), _) => Caller::with_token(server.tokens(), &parts.headers, server.now())?,
    };
    if let Access::Needs(verb) = route.access {
        caller.may(verb)?;
    }
    let body = if route.takes_body { read_body(server, &parts.headers, body).await? } else { Bytes::new() };
    Ok((caller, body))
}

/// Reads a body within its bounds. An empty one needs no type.
async fn read_body(server: &Server, headers: &HeaderMap, body: Body) -> Result<Bytes, Error> {
    let bounds = &server.settings().requests;
    let too_large = || Error::TooLarge { max: bounds.body_bytes };
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > bounds.body_bytes as u64) {
        return Err(too_large());
    }
    let read = tokio::time::timeout(
        Duration::from_millis(bounds.body_ms),
        Limited::new(body, bounds.body_bytes).collect(),
    );
    let Ok(read) = read.await else { return Err(Error::Slow { seconds: bounds.body_ms / 1_000 }) };
    let body = match read {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => return Err(too_large()),
        Err(error) => return Err(Error::Cut { fault: in_full(&*error) }),
    };
    if !body.is_empty() {
        check_type(headers)?;
    }
    Ok(body)
}

/// Refuses a body that is not JSON. A page of another origin can send text and forms without asking, but no JSON.
fn check_type(headers: &HeaderMap) -> Result<(), Error> {
    let found = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("\u{fffd}"));
    let essence = found.map(|found| found.split(';').next().unwrap_or_default().trim());
    match essence {
        Some(essence) if essence.eq_ignore_ascii_case(JSON) => Ok(()),
        _ => Err(Error::MediaType { found: found.unwrap_or("of no type").to_owned() }),
    }
}
