//! The routes of a server, from its own document.

use serde_json::Value;
use windlass_server::Verb;

use super::agents;
use super::http::Request;
use super::service::Place;

/// A run that is nowhere.
pub(super) const NOWHERE: &str = "00000000-0000-7000-8000-000000000000";

/// A route of the server's own document.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) method: String,
    /// The path with its parameters in braces.
    pub(super) template: String,
    /// Whether it has a body.
    pub(super) takes_body: bool,
}

impl Route {
    /// The path for a run.
    pub(super) fn path(&self, run: &str) -> String {
        let path = self.template.replace("{run}", run).replace("{agent}", agents::CLERK);
        path.replace("{session}", "talk").replace("{sha256}", &"0".repeat(64))
    }

    pub(super) fn request(&self, run: &str, token: &str) -> Request {
        Request::new(&self.method, self.path(run)).token(token)
    }
}

/// The routes of a server, from its document.
pub(super) fn routes(place: &Place) -> Result<Vec<Route>, String> {
    let document = place.ask(Request::get("/openapi.json"))?.expect(&[200])?;
    let paths = document.get("paths").and_then(Value::as_object).ok_or("a document without paths")?;
    let mut routes = Vec::new();
    for (template, methods) in paths {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            routes.push(Route {
                method: method.to_uppercase(),
                template: template.clone(),
                takes_body: operation.get("requestBody").is_some(),
            });
        }
    }
    Ok(routes)
}

/// The verb that a route needs, as the issue has it.
pub(super) fn needed(route: &Route) -> Verb {
    match route.template.rsplit('/').next().unwrap_or_default() {
        "metrics" => Verb::Metrics,
        "reload" => Verb::Admin,
        "runs" if route.method == "POST" => Verb::Start,
        "answer" => Verb::Answer,
        "steer" | "pause" => Verb::Steer,
        "cancel" => Verb::Cancel,
        "resume" => Verb::Resume,
        "fork" => Verb::Fork,
        _ => Verb::Read,
    }
}
