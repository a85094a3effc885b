//! Clients of every kind at the server's doors: the real binary serves a folder of agents, and clients are cut, repeat themselves,
//! never read, attack, and see it killed.

mod agents;
mod cut;
mod history;
mod http;
mod ledger;
mod malformed;
mod names;
mod probes;
mod proxy;
mod reader;
mod restart;
mod routes;
mod service;
mod slow;
mod strangers;
mod twice;

use std::time::Duration;

use windlass_macros::Named;

pub use self::agents::stage;
use self::cut::CutPlan;
use self::restart::RestartPlan;
use self::twice::TwicePlan;
use crate::error::HarnessError;
use crate::ground::Ground;

/// How long the campaigns are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
#[named(all)]
pub enum Scale {
    /// A tenth of the counts: some minutes.
    Tenth,
    /// The counts of the page: hours.
    Full,
}

impl Scale {
    /// The count of this scale.
    fn of<T>(self, tenth: T, full: T) -> T {
        match self {
            Self::Tenth => tenth,
            Self::Full => full,
        }
    }
}

/// A campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
#[named(all)]
pub enum Campaign {
    /// Malformed requests.
    Malformed,
    /// Strangers.
    Strangers,
    /// Requests that are sent twice.
    Twice,
    /// Cut connections.
    Cut,
    /// Restarts.
    Restart,
    /// Readers that never read.
    Slow,
}

/// Which campaigns are played.
#[derive(Clone, Debug)]
pub struct DoorsPlan {
    /// Seed of all that is random.
    pub seed: u64,
    /// How long they are.
    pub scale: Scale,
    /// The campaigns; none: all.
    pub only: Vec<Campaign>,
}

/// The outcome of the campaigns.
#[derive(Clone, Debug)]
pub struct DoorsReport {
    seed: u64,
    scale: Scale,
    /// The figures of each campaign that was played.
    figures: Vec<(Campaign, String)>,
}

/// Plays the campaigns. Each shows its figures once it is over.
///
/// # Errors
/// A promise was broken.
pub fn doors(
    ground: &Ground,
    plan: &DoorsPlan,
    show: &mut dyn FnMut(Campaign, &str),
) -> Result<DoorsReport, HarnessError> {
    let mut report = DoorsReport { seed: plan.seed, scale: plan.scale, figures: Vec::new() };
    for campaign in Campaign::ALL.into_iter().filter(|one| plan.only.is_empty() || plan.only.contains(one)) {
        let figures = campaign.play(ground, plan.seed, plan.scale)?;
        show(campaign, &figures);
        report.figures.push((campaign, figures));
    }
    Ok(report)
}

impl Campaign {
    fn play(self, ground: &Ground, seed: u64, scale: Scale) -> Result<String, HarnessError> {
        Ok(match self {
            Self::Malformed => malformed::play(ground, seed, scale.of(20, 200))?.to_string(),
            Self::Strangers => strangers::play(ground)?.to_string(),
            Self::Twice => {
                let (rounds, kills) = scale.of((5, 100), (50, 1_000));
                twice::play(ground, TwicePlan { rounds, kills, seed })?.to_string()
            }
            Self::Cut => {
                let (every, cuts) = scale.of((10, 1_000), (1, 10_000));
                cut::play(ground, CutPlan { every, cuts, seed })?.to_string()
            }
            Self::Restart => {
                let (runs, kills, terms) = scale.of((40, 50, 4), (200, 500, 20));
                restart::play(ground, RestartPlan { runs, kills, terms, seed })?.to_string()
            }
            Self::Slow => slow::play(ground, Duration::from_mins(scale.of(2, 20)))?.to_string(),
        })
    }
}
