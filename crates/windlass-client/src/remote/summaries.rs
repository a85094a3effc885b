//! Lines of listings of the API as the store has them.

use serde_json::{Value, json};
use windlass_core::{RunState, SessionId, Text};
use windlass_store::{Headline, Holder, RunSummary, SessionSummary, Spend, StoreError};

/// A line of a listing.
pub(super) fn summary(line: windlass_api::RunSummary) -> Result<RunSummary, StoreError> {
    // A picodollar is far above the error of a sum that a `f64` holds, up to some thousand US dollars.
    let cost = line.cost_usd.map(|dollars| (dollars * 1e12).round() as u64);
    Ok(RunSummary {
        run: line.run,
        agent: line.agent.into(),
        owner: line.owner.as_str().into(),
        session: line.session.map(SessionId::from),
        parent: line.parent,
        run_state: run_state(&line.status)?,
        version: line.events,
        started_at: line.started_at,
        updated_at: line.updated_at,
        ended_at: line.ended_at,
        headline: Headline {
            cost,
            question: line.question.map(Text::from),
            queued: line.queued,
            spend: line.spend.map(spend),
        },
        title: line.title.into(),
        wake_at: line.wakes_at,
        holder: line.holder.map(|holder| Holder(holder.into())),
    })
}

fn spend(spend: windlass_api::Spend) -> Spend {
    let windlass_api::Spend { input, output, cached, cache_write, reasoning, known_cost_usd, unpriced } =
        spend;
    let cost = (known_cost_usd * 1e12).round() as u64;
    Spend { input, output, cached, cache_write, reasoning, cost, unpriced }
}

pub(super) fn session(line: windlass_api::Session) -> Result<SessionSummary, StoreError> {
    let head = summary(line.head)?;
    Ok(SessionSummary { session: line.session.into(), head, runs: line.runs, started_at: line.started_at })
}

/// A state in words. An interrupted run is one that runs and has no holder.
fn run_state(words: &str) -> Result<RunState, StoreError> {
    let status: Value = match words {
        "running" | "interrupted" => return Ok(RunState::Running),
        "suspended" => return Ok(RunState::Suspended),
        _ => match words.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
            Some((name, detail)) => json!({ name: detail }),
            None => words.into(),
        },
    };
    serde_json::from_value(status).map(RunState::Ended).map_err(|error| StoreError::Failed(error.into()))
}

#[cfg(test)]
mod tests {
    use windlass_core::Status;
    use windlass_core::event::FailKind;
    use windlass_core::policy::LimitKind;

    use super::*;

    #[test]
    fn every_state_is_read_from_its_words() {
        let limits = LimitKind::SETTABLE.into_iter().map(Status::Limit);
        let failures = FailKind::ALL.into_iter().map(Status::Failed);
        let others = [Status::Answered, Status::Concluded, Status::Clarification, Status::Cancelled];
        let ended = limits.chain(failures).chain(others).map(RunState::Ended);
        for state in ended.chain([RunState::Running, RunState::Suspended]) {
            assert_eq!(run_state(&state.to_string()).unwrap(), state);
        }
        assert_eq!(run_state("interrupted").unwrap(), RunState::Running);
        assert!(run_state("elsewhere").is_err());
    }
}
