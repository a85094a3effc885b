//! A server: whether it is reached, can work, and lets this command in.

use windlass_client::ClientError;
use windlass_runtime::in_full;

use super::{Finding, Level};
use crate::failure::hints::advice;
use crate::remote::Server;

/// Whether the server answers, each of its own checks, and what the token shows.
pub(super) async fn look(server: &Server) -> Vec<Finding> {
    let client = &server.client;
    let health = match client.health().await {
        Ok(health) => health,
        Err(error) => return vec![failed("server", &error)],
    };
    let there = format!("{}: Windlass {}", client.address(), health.version);
    let mut findings = vec![Finding::new(Level::Ok, "server", there)];
    match client.ready().await {
        Ok(ready) => findings.extend(ready.checks.into_iter().map(|check| {
            let level = if check.ok { Level::Ok } else { Level::Problem };
            Finding::new(level, check.name, check.message.unwrap_or_else(|| "it works".to_owned()))
        })),
        Err(error) => findings.push(failed("ready", &error)),
    }
    findings.push(match client.agents().await {
        Ok(agents) => {
            let names: Vec<_> = agents.items.iter().map(|agent| agent.name.as_str()).collect();
            Finding::new(Level::Ok, "access", format!("agents: {}", names.join(", ")))
        }
        Err(error) => failed("access", &error),
    });
    findings
}

fn failed(what: &str, error: &ClientError) -> Finding {
    let finding = Finding::new(Level::Problem, what, in_full(error));
    match advice(error) {
        Some(todo) => finding.todo(todo),
        None => finding,
    }
}
