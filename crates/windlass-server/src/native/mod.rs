//! The native door: everything that the log knows, and every verb of the host.

mod agents;
mod following;
mod forms;
mod health;
mod listings;
mod reports;
mod runs;
mod starting;
mod usage;
mod verbs;

use crate::http::route::{Access, Route, get, post};
use crate::http::verb::Verb;

const fn needs(verb: Verb) -> Access {
    Access::Needs(verb)
}

/// The routes of this door.
pub(crate) fn routes() -> Vec<Route> {
    let read = needs(Verb::Read);
    vec![
        get("/health", Access::Open, "Says that the server lives", health::health),
        get("/ready", Access::Open, "Says whether the server can work", health::ready),
        get("/metrics", needs(Verb::Metrics), "Gives metrics for Prometheus", health::metrics),
        get("/openapi.json", Access::Open, "Gives this document", health::document),
        get("/v1/agents", read, "Lists agents", agents::list),
        get("/v1/agents/{agent}", read, "Reads an agent", agents::read),
        post("/v1/reload", needs(Verb::Admin), "Reads the agent files again", agents::reload),
        post(
            "/v1/runs",
            needs(Verb::Start),
            "Starts a run, or gives a message to a session",
            starting::start,
        ),
        get("/v1/runs", read, "Lists runs, newest first", listings::runs),
        get("/v1/runs/{run}", read, "Reads a run", runs::read),
        get("/v1/runs/{run}/summary", read, "Reads a run's line in listings", runs::line),
        get("/v1/runs/{run}/events", read, "Lists the events of a run", runs::events),
        get("/v1/runs/{run}/stream", read, "Follows a run as an event stream", following::stream),
        get("/v1/runs/{run}/updates", read, "Follows a run by long polls", following::poll),
        get("/v1/runs/{run}/effects", read, "Lists what the calls of a run did", reports::effects),
        get("/v1/runs/{run}/costs", read, "Lists what the model calls of a run cost", reports::costs),
        get("/v1/runs/{run}/compare", read, "Compares a run with another one", reports::compare),
        get("/v1/runs/{run}/replay", read, "Replays a run's decisions from its log", reports::replay),
        get("/v1/runs/{run}/export", read, "Exports a run as JSON lines", reports::export),
        get("/v1/runs/{run}/artifacts", read, "Lists the long texts and files of a run", runs::artifacts),
        get("/v1/runs/{run}/artifacts/{sha256}", read, "Reads a long text or file of a run", runs::artifact),
        get("/v1/runs/{run}/switch", read, "Previews a switch to another agent", verbs::preview),
        post("/v1/runs/{run}/answer", needs(Verb::Answer), "Answers a question of a run", verbs::answer),
        post("/v1/runs/{run}/steer", needs(Verb::Steer), "Says something to a run", verbs::steer),
        post("/v1/runs/{run}/pause", needs(Verb::Steer), "Pauses a run", verbs::pause),
        post("/v1/runs/{run}/cancel", needs(Verb::Cancel), "Stops a run for good", verbs::cancel),
        post("/v1/runs/{run}/resume", needs(Verb::Resume), "Takes a run up", verbs::resume),
        post(
            "/v1/runs/{run}/fork",
            needs(Verb::Fork),
            "Starts a run that continues from an event",
            verbs::fork,
        ),
        get(
            "/v1/sessions",
            read,
            "Lists sessions, the one whose last run began last first",
            listings::sessions,
        ),
        get("/v1/sessions/{session}", read, "Reads a session", listings::session),
        get("/v1/questions", read, "Lists open questions of all runs", listings::questions),
        get("/v1/usage", read, "Sums up what runs have used, by day and owner", usage::usage),
    ]
}
