//! Quotas of owners and agents: requests a minute, and dollars a day.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use windlass_core::{Owner, Text};
use windlass_store::{Store, UsageFilter};

use crate::error::Error;
use crate::http::metrics::{REQUESTS_PER_MINUTE, USD_PER_DAY};
use crate::settings::{Limits, Quota};

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 86_400_000;
/// Pico-dollars of a cent.
const PICO_A_CENT: u64 = 10_000_000_000;
/// How many names are kept before those that have used nothing for a minute are forgotten.
const SWEPT: usize = 4_096;

/// Whose quota it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Owner(Owner),
    Agent(Text),
}

impl std::fmt::Display for Whose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Owner(owner) => write!(f, "owner {owner}"),
            Self::Agent(agent) => write!(f, "agent {agent}"),
        }
    }
}

/// The requests of the last minute, by owner and by agent. A quota of N a minute lets N come at once, and then one each N-th of a
/// minute (the generic cell rate algorithm, ITU-T I.371).
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    /// When each name has used nothing any more.
    idle_at: Mutex<BTreeMap<Whose, u64>>,
}

impl Quotas {
    /// Counts a request of an owner to an agent, unless one of them has used up its minute.
    pub(crate) fn take(&self, limits: &Limits, owner: &Owner, agent: &Text, now: u64) -> Result<(), Error> {
        let asked =
            [(Whose::Owner(owner.clone()), &limits.owner), (Whose::Agent(agent.clone()), &limits.agent)];
        let mut idle_at = self.idle_at.lock().unwrap_or_else(PoisonError::into_inner);
        if idle_at.len() > SWEPT {
            idle_at.retain(|_, at| *at > now);
        }
        // Both are looked at before either is counted.
        let mut taken = Vec::new();
        for (whose, quota) in asked {
            let Quota { requests_per_minute: Some(most), .. } = quota else { continue };
            let (most, idle) = (u64::from(*most), idle_at.get(&whose).copied().unwrap_or(0).max(now));
            let next = idle.saturating_add(MINUTE_MS.checked_div(most).unwrap_or(MINUTE_MS));
            let early = next.saturating_sub(now).saturating_sub(MINUTE_MS);
            if early > 0 || most == 0 {
                return Err(Error::Limit {
                    name: REQUESTS_PER_MINUTE,
                    limit: format!("requests a minute of {whose}"),
                    used: most.to_string(),
                    max: most.to_string(),
                    retry_after: early.div_ceil(1_000).max(1),
                });
            }
            taken.push((whose, next));
        }
        idle_at.extend(taken);
        Ok(())
    }
}

/// Refuses a start of an owner, or of an agent, whose runs of this day have cost as much as they may.
pub(crate) async fn check_dollars(
    log: &dyn Store,
    limits: &Limits,
    owner: &Owner,
    agent: &Text,
    now: u64,
) -> Result<(), Error> {
    let day = now / DAY_MS * DAY_MS;
    let today = UsageFilter { since: Some(day), ..UsageFilter::default() };
    let own = UsageFilter { owner: Some(owner.clone()), ..today.clone() };
    let agents = UsageFilter { agent: Some(agent.clone()), ..today };
    let asked = [
        (Whose::Owner(owner.clone()), &limits.owner, own),
        (Whose::Agent(agent.clone()), &limits.agent, agents),
    ];
    for (whose, quota, filter) in asked {
        let Some(cents) = quota.usd_cents_per_day else { continue };
        let most = cents.saturating_mul(PICO_A_CENT);
        let (cost, unpriced) = log.usage(filter).await?.iter().fold((0_u64, 0), |(cost, unpriced), line| {
            (cost.saturating_add(line.spend.cost), unpriced + line.unpriced_runs)
        });
        if cost >= most {
            let dollars = |pico: u64| format!("{:.2}", pico as f64 / 1e12);
            let uncounted = match unpriced {
                0 => String::new(),
                runs => format!(" (and {runs} runs of unknown cost)"),
            };
            return Err(Error::Limit {
                name: USD_PER_DAY,
                limit: format!("US dollars a day of {whose}"),
                used: dollars(cost) + &uncounted,
                max: dollars(most),
                retry_after: (day + DAY_MS - now).div_ceil(1_000).max(1),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(owner: Option<u32>, agent: Option<u32>) -> Limits {
        let quota = |requests_per_minute| Quota { requests_per_minute, ..Quota::default() };
        Limits { owner: quota(owner), agent: quota(agent), ..Limits::default() }
    }

    fn takes(quotas: &Quotas, limits: &Limits, owner: &str, now: u64) -> Option<u64> {
        match quotas.take(limits, &owner.into(), &"a".into(), now) {
            Ok(()) => None,
            Err(Error::Limit { retry_after, .. }) => Some(retry_after),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn e50_a_minute_holds_as_many_requests_as_its_quota() {
        let (quotas, limits) = (Quotas::default(), limits(Some(3), None));
        assert!((0..3).all(|_| takes(&quotas, &limits, "ada", 1_000).is_none()));
        assert_eq!(takes(&quotas, &limits, "ada", 1_000), Some(20));
        assert_eq!(takes(&quotas, &limits, "bob", 1_000), None, "each owner has a quota of its own");
        assert_eq!(takes(&quotas, &limits, "ada", 20_999), Some(1));
        assert_eq!(takes(&quotas, &limits, "ada", 21_000), None);
        assert_eq!(takes(&quotas, &limits, "ada", 21_000), Some(20));
    }

    #[test]
    fn e50_a_quota_of_none_admits_nothing_and_no_quota_everything() {
        let quotas = Quotas::default();
        assert_eq!(takes(&quotas, &limits(Some(0), None), "ada", 5), Some(1));
        assert!((0..1_000).all(|_| takes(&quotas, &limits(None, None), "ada", 5).is_none()));
    }

    /// One that the other refuses is not counted.
    #[test]
    fn e50_a_request_that_the_agents_quota_refuses_costs_its_owner_nothing() {
        let (quotas, both) = (Quotas::default(), limits(Some(2), Some(1)));
        assert_eq!(takes(&quotas, &both, "ada", 0), None);
        assert_eq!(takes(&quotas, &both, "ada", 0), Some(60));
        assert_eq!(takes(&quotas, &limits(Some(2), None), "ada", 0), None, "one of two was left");
    }
}
