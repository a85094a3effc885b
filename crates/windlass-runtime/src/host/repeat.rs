//! Repetition: a bounded, deterministic loop around an agent.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::Serialize;
use windlass_core::Status;

use crate::agent::Agent;
use crate::agent::input::RunMessages;
use crate::driver::options::DriveOptions;
use crate::driver::run::Run;
use crate::platform::error::Error;

/// A function that ends a repetition after an iteration: it gives the reason.
type Breaker = Box<dyn Fn(u32, &Run) -> Option<String> + Send + Sync>;

/// Runs an agent again and again, at most so many times. The bound cannot be turned off.
///
/// ```
/// use std::num::NonZeroU32;
/// use windlass_runtime::{Agent, DriveOptions, Repeat};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), windlass_runtime::Error> {
/// # let agent = Agent::builder("adder").model(("tour", windlass_models::Tour)).build()?;
/// let repeated = Repeat::at_most(NonZeroU32::new(3).unwrap())
///     .until(|_, run| run.text().is_some_and(|text| text.contains("DONE")).then(|| "DONE".to_owned()))
///     .run(&agent, "Work on the list; say DONE once it is empty.", DriveOptions::default())
///     .await?;
/// assert_eq!((repeated.stopped.as_str(), repeated.iterations), ("max_iters", 3));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing runs until `run` is awaited"]
pub struct Repeat {
    max_iters: NonZeroU32,
    max_ms: Option<u64>,
    breakers: Vec<Breaker>,
}

impl std::fmt::Debug for Repeat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { max_iters, max_ms, breakers } = self;
        let breakers = breakers.len();
        f.debug_struct("Repeat")
            .field("max_iters", max_iters)
            .field("max_ms", max_ms)
            .field("breakers", &breakers)
            .finish()
    }
}

/// How a repetition ended.
#[derive(Clone, Debug, Serialize)]
pub struct Repeated {
    /// Why: `max_iters`, `max_seconds`, a breaker's reason, or the status of a run that was not answered.
    #[serde(rename = "_stopped")]
    pub stopped: String,
    /// Number of runs.
    #[serde(rename = "_iterations")]
    pub iterations: u32,
    /// The last run.
    #[serde(skip)]
    pub run: Run,
}

impl Repeat {
    /// At most so many runs.
    pub fn at_most(max_iters: NonZeroU32) -> Self {
        Self { max_iters, max_ms: None, breakers: Vec::new() }
    }

    /// No run begins once this time has passed. A run that has begun is not cut: `loop.limits.seconds` does that.
    pub fn within(mut self, time: Duration) -> Self {
        self.max_ms = Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Ends the repetition after the iteration for which this gives a reason. Iterations count from 1.
    pub fn until(mut self, breaker: impl Fn(u32, &Run) -> Option<String> + Send + Sync + 'static) -> Self {
        self.breakers.push(Box::new(breaker));
        self
    }

    /// Runs the agent with the same input each time; with a session in the options, in one conversation.
    ///
    /// # Errors
    /// A run could not be prepared, or the log failed.
    pub async fn run(
        self,
        agent: &Agent,
        input: impl Into<RunMessages>,
        options: DriveOptions,
    ) -> Result<Repeated, Error> {
        let input = input.into();
        let began = agent.environment().now();
        let mut iterations = 0;
        loop {
            iterations += 1;
            let run = agent.run_with(input.clone(), options.clone()).await?;
            let elapsed = agent.environment().now().saturating_sub(began);
            if let Some(stopped) = self.stops(iterations, &run, elapsed) {
                return Ok(Repeated { stopped, iterations, run });
            }
        }
    }

    /// Why nothing follows this iteration, `elapsed` milliseconds after the first one began.
    pub fn stops(&self, iterations: u32, run: &Run, elapsed: u64) -> Option<String> {
        if run.status() != Some(Status::Answered) {
            return Some(run.run_state().to_string());
        }
        if let Some(reason) = self.breakers.iter().find_map(|breaker| breaker(iterations, run)) {
            return Some(reason);
        }
        if iterations >= self.max_iters.get() {
            return Some("max_iters".to_owned());
        }
        self.max_ms.is_some_and(|most| elapsed >= most).then(|| "max_seconds".to_owned())
    }
}
