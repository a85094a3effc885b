//! `windlass run --repeat N`: a bounded loop around an agent.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use windlass_core::text::covers;
use windlass_read::words::count;
use windlass_runtime::{Agent, DriveOptions, Environment as _, Repeat, RunMessages, SystemEnvironment};
use windlass_store::SqliteLog;

use crate::agents::hosted;
use crate::drive::{Words, drive, verdict};
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::out;
use crate::view::{View, ViewArgs};

/// Options of repetition.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RepeatArgs {
    /// Run the agent up to N times with the same input, in one conversation, as long as its runs are answered
    #[arg(long, value_name = "N", conflicts_with = "batch")]
    pub(super) repeat: Option<NonZeroU32>,
    /// Begin no further run after so many seconds
    #[arg(long, value_name = "S", requires = "repeat")]
    repeat_seconds: Option<u64>,
    /// End once an answer matches the pattern, where `*` is any text: `*DONE*`
    #[arg(long, value_name = "PATTERN", requires = "repeat")]
    until: Option<String>,
}

impl RepeatArgs {
    /// The loop, where one is wanted.
    pub(super) fn guard(&self) -> Option<Repeat> {
        let mut repeat = Repeat::at_most(self.repeat?);
        if let Some(seconds) = self.repeat_seconds {
            repeat = repeat.within(Duration::from_secs(seconds));
        }
        if let Some(pattern) = self.until.clone() {
            repeat = repeat.until(move |_, run| {
                run.text().is_some_and(|text| covers(&pattern, text)).then(|| "until".to_owned())
            });
        }
        Some(repeat)
    }
}

/// A repetition that is going on.
pub(super) struct Again<'a> {
    pub(super) agent: &'a Agent,
    pub(super) log: &'a SqliteLog,
    pub(super) options: DriveOptions,
    pub(super) view: ViewArgs,
    pub(super) words: &'a Words,
}

impl Again<'_> {
    /// Runs the agent until the guard stops it. The exit code is that of the last run.
    pub(super) async fn run(
        &self,
        guard: Repeat,
        input: RunMessages,
        interrupts: &mut Interrupts,
    ) -> Result<Exit, Failure> {
        let began = SystemEnvironment.now();
        let mut iterations = 0;
        let host = hosted(self.agent.log().clone());
        loop {
            iterations += 1;
            let mut view = View::new(self.view).logged(&self.words.log);
            let prepared = self.agent.prepare(input.clone(), self.options.clone()).await?;
            let run = drive(host.drive(self.agent, prepared), &mut view, interrupts, self.words).await?;
            let verdict = verdict(&run, self.words);
            view.left(self.log, &run, verdict.as_ref().err()).await?;
            view.close()?;
            let elapsed = SystemEnvironment.now().saturating_sub(began);
            let Some(stopped) = guard.stops(iterations, &run, elapsed) else { continue };
            if self.view.json {
                out::json(&json!({ "type": "repeat", "_stopped": stopped, "_iterations": iterations }))?;
            } else if !self.view.quiet {
                out::note(format_args!("stopped after {}: {stopped}", count(iterations.into(), "run")));
            }
            return verdict;
        }
    }
}
