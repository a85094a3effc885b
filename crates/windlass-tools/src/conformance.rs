//! The contract of every tool, as checks for a tool's own tests.
//!
//! ```
//! use serde_json::json;
//! use windlass_tools::conformance::Conformance;
//! use windlass_tools::tool;
//!
//! /// Says the words again.
//! #[tool(crate = windlass_tools)]
//! async fn echo(words: String) -> String {
//!     words
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let breaches = Conformance::of(echo).call(json!({ "words": "hello" })).check().await;
//! assert_eq!(breaches, []);
//! # }
//! ```

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use windlass_core::RunId;
use windlass_core::tool::{Effect, ToolKind};

use crate::tool::{Tool, ToolContext, ToolResult};

/// Default time for a tool to end after a cancel: the default grace period of a run.
pub const GRACE: Duration = Duration::from_secs(2);

/// Default time for a call to start, to end by itself, and to be gone after it was dropped.
pub const BOUND: Duration = Duration::from_secs(10);

/// Interval between polls of a condition.
const LOOK: Duration = Duration::from_millis(2);

/// A duty of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Duty {
    /// The name, schema and settings of its description are sound, and stay the same.
    Description,
    /// The arguments of the suite fit its schema: otherwise the other checks say nothing.
    Arguments,
    /// A call ends.
    End,
    /// A cancel ends a call within the grace.
    Cancel,
    /// Nothing of a call lives on after its future was dropped.
    Drop,
    /// The idempotency key reaches what the tool calls.
    Key,
}

/// A duty that a tool does not fulfil.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The duty.
    pub duty: Duty,
    /// The behaviour that was found instead of the promised one.
    pub what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.duty, self.what)
    }
}

type Condition = Box<dyn Fn() -> bool + Send + Sync>;
type KeySeen = Box<dyn Fn(&ToolResult) -> Option<String> + Send + Sync>;

/// The checks for one tool. Each is made only if the suite was told what it needs.
pub struct Conformance {
    tool: Arc<dyn Tool>,
    grace: Duration,
    bound: Duration,
    quick: Option<Value>,
    slow: Option<Slow>,
    key: Option<(Value, KeySeen)>,
}

struct Slow {
    args: Value,
    started: Condition,
    alive: Condition,
}

impl fmt::Debug for Conformance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conformance")
            .field("tool", &self.tool)
            .field("grace", &self.grace)
            .finish_non_exhaustive()
    }
}

impl Conformance {
    /// The suite for a tool; without more it checks the description.
    pub fn of(tool: impl Tool + 'static) -> Self {
        Self::of_shared(Arc::new(tool))
    }

    /// The suite for a tool that is shared.
    pub fn of_shared(tool: Arc<dyn Tool>) -> Self {
        Self { tool, grace: GRACE, bound: BOUND, quick: None, slow: None, key: None }
    }

    /// Sets the time for the tool to end after a cancel; default: [`GRACE`].
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets the time for a call to start, to end by itself, and to be gone after it was dropped; default: [`BOUND`].
    pub fn bound(mut self, bound: Duration) -> Self {
        self.bound = bound;
        self
    }

    /// Arguments of a call that ends by itself soon, well or badly.
    pub fn call(mut self, args: Value) -> Self {
        self.quick = Some(args);
        self
    }

    /// Arguments of a call that goes on for longer than the bound, so that it can be cancelled and dropped. `started`
    /// says whether its work has begun, `alive` whether anything of it is still there: a process, a connection, a task.
    pub fn slow_call(
        mut self,
        args: Value,
        started: impl Fn() -> bool + Send + Sync + 'static,
        alive: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        self.slow = Some(Slow { args, started: Box::new(started), alive: Box::new(alive) });
        self
    }

    /// Arguments of a call, and how to find out which idempotency key has reached what the tool calls; it is asked when
    /// the call has ended.
    pub fn key(
        mut self,
        args: Value,
        seen: impl Fn(&ToolResult) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.key = Some((args, Box::new(seen)));
        self
    }

    /// Runs the checks and returns the breaches. Uses the real clock; takes a few bounds at most.
    pub async fn check(&self) -> Vec<Breach> {
        let mut breaches = self.description();
        if let Some(args) = &self.quick {
            breaches.extend(self.ends(args).await);
            breaches.extend(self.ends_cancelled(args).await);
        }
        if let Some(slow) = &self.slow {
            breaches.extend(self.cancels(slow).await);
            breaches.extend(self.drops(slow).await);
        }
        if let Some((args, seen)) = &self.key {
            breaches.extend(self.passes_key(args, seen).await);
        }
        breaches
    }

    fn description(&self) -> Vec<Breach> {
        let spec = self.tool.spec();
        let mut found = Vec::new();
        found.extend(crate::set::check(spec).err().map(|error| error.to_string()));
        if spec != self.tool.spec() {
            found.push("it differs from one look to the next".to_owned());
        }
        if spec.has_check && spec.effect != Effect::Once {
            found.push("it has a check, which is asked only for the effect `once`".to_owned());
        }
        let mut breaches: Vec<_> =
            found.into_iter().map(|what| Breach { duty: Duty::Description, what }).collect();
        let given = self.quick.iter().chain(self.slow.as_ref().map(|slow| &slow.args));
        for args in given.chain(self.key.as_ref().map(|(args, _)| args)) {
            if !spec.checker().is_ok_and(|checker| checker.check(args).is_ok()) {
                let what = format!("{args} does not fit the schema {}", spec.parameters);
                breaches.push(Breach { duty: Duty::Arguments, what });
            }
        }
        breaches
    }

    async fn ends(&self, args: &Value) -> Option<Breach> {
        if self.tool.spec().kind == ToolKind::Ask {
            return None;
        }
        let call = self.tool.call(context("conformance"), args.clone());
        let ended = within(self.bound, call).await.is_some();
        (!ended).then(|| Breach {
            duty: Duty::End,
            what: format!("a call with {args} went on for {:?}", self.bound),
        })
    }

    /// A call whose run was cancelled before it began.
    async fn ends_cancelled(&self, args: &Value) -> Option<Breach> {
        let context = context("conformance");
        context.cancelled.cancel();
        let ended = within(self.grace, self.tool.call(context, args.clone())).await.is_some();
        let what = || format!("a call that was cancelled before it began went on for {:?}", self.grace);
        (!ended).then(|| Breach { duty: Duty::Cancel, what: what() })
    }

    async fn cancels(&self, slow: &Slow) -> Option<Breach> {
        let breach = |what: String| Some(Breach { duty: Duty::Cancel, what });
        let context = context("conformance");
        let mut call = self.tool.call(context.clone(), slow.args.clone());
        if let Err(what) = begin(&mut call, slow, self.bound).await {
            return breach(what);
        }
        context.cancelled.cancel();
        if within(self.grace, call).await.is_none() {
            return breach(format!("the call went on for {:?} after the cancel", self.grace));
        }
        let gone = until(self.bound, || !(slow.alive)()).await;
        if gone { None } else { breach("something of the call lives on after the cancel".to_owned()) }
    }

    async fn drops(&self, slow: &Slow) -> Option<Breach> {
        let breach = |what: String| Some(Breach { duty: Duty::Drop, what });
        let mut call = self.tool.call(context("conformance"), slow.args.clone());
        if let Err(what) = begin(&mut call, slow, self.bound).await {
            return breach(what);
        }
        drop(call);
        let gone = until(self.bound, || !(slow.alive)()).await;
        if gone { None } else { breach("something of the call lives on after it was dropped".to_owned()) }
    }

    async fn passes_key(&self, args: &Value, seen: &KeySeen) -> Option<Breach> {
        let key = "conformance-key-1f0c";
        let call = self.tool.call(context(key), args.clone());
        let found = within(self.bound, call).await.and_then(|result| seen(&result));
        let what = || format!("the key was `{key}`, and `{}` arrived", found.as_deref().unwrap_or("nothing"));
        (found.as_deref() != Some(key)).then(|| Breach { duty: Duty::Key, what: what() })
    }
}

/// Drives a call until its work has begun.
async fn begin(
    call: &mut (impl Future<Output = ToolResult> + Unpin),
    slow: &Slow,
    bound: Duration,
) -> Result<(), String> {
    match select(std::pin::pin!(until(bound, &slow.started)), call).await {
        Either::Left((true, _)) => Ok(()),
        Either::Left((false, _)) => Err(format!("the call did not begin within {bound:?}")),
        Either::Right((result, _)) => Err(format!("the call ended by itself: {result:?}")),
    }
}

fn context(key: &str) -> ToolContext {
    ToolContext {
        run: RunId::from_number(1),
        call: "conformance".into(),
        attempt: 1,
        idempotency_key: key.into(),
        cancelled: CancellationToken::new(),
        lease: crate::Lease::none(),
        active_skills: Vec::new(),
    }
}

/// Result of a future within the bound.
async fn within<T>(bound: Duration, future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    let mut late = std::pin::pin!(until(bound, || false));
    match select(future.as_mut(), late.as_mut()).await {
        Either::Left((value, _)) => Some(value),
        // It may have ended at the last moment.
        Either::Right(_) => future.now_or_never(),
    }
}

/// Whether a condition comes true in time. The bound is one of real time: processes do not wait for a paused clock.
async fn until(bound: Duration, condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if start.elapsed() >= bound {
            return false;
        }
        tokio::time::sleep(LOOK).await;
    }
}
