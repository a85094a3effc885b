//! The environment: time, fresh ids and chance, which the core must not see.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_core::future::BoxFuture;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use windlass_core::event::Millis;
use windlass_core::{RunId, Text};
use windlass_store::up_ms;

/// Time, fresh ids and chance. Programs use [`SystemEnvironment`]; tests and scripted conversations bring their own.
pub trait Environment: Send + Sync + std::fmt::Debug {
    /// The time, in milliseconds since the Unix epoch. It never goes back as long as the environment lives.
    fn now(&self) -> Millis;

    /// Ends when that time has come.
    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()>;

    /// A fresh run id.
    fn new_run(&self) -> RunId;

    /// A random salt, in hexadecimal: 256 bits.
    fn salt(&self) -> Text;

    /// A number from 0 to 1000: how much of a wait's random part to take.
    fn chance(&self) -> u16;

    /// Whether long work on large input may be done on other threads. Default: no, as in an environment whose steps are always the
    /// same.
    fn has_threads(&self) -> bool {
        false
    }
}

/// The longest sleep between two looks at the clock, in milliseconds: tokio's timers stand still while the machine sleeps.
const LONGEST_SLEEP_MS: u64 = 15_000;

/// The environment as the operating system shows it. Sleeping needs a tokio runtime with time enabled.
///
/// Time starts at the wall clock's first reading and advances with the monotonic clock (on Linux including sleep). Setting the
/// wall clock does not affect a running process.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEnvironment;

impl Environment for SystemEnvironment {
    fn now(&self) -> Millis {
        static BEGAN: OnceLock<(Millis, u64)> = OnceLock::new();
        let wall =
            || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as Millis);
        let (began, up) = *BEGAN.get_or_init(|| (wall(), up_ms()));
        began.saturating_add(up_ms().saturating_sub(up))
    }

    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        let environment = *self;
        Box::pin(async move {
            let due = Instant::now().checked_add(Duration::from_millis(at.saturating_sub(environment.now())));
            loop {
                let left = at.saturating_sub(environment.now());
                // A clock of tokio's that a test has stopped jumps, and this one does not.
                if left == 0 || due.is_some_and(|due| Instant::now() >= due) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(left.min(LONGEST_SLEEP_MS))).await;
            }
        })
    }

    fn new_run(&self) -> RunId {
        RunId(uuid::Uuid::now_v7())
    }

    fn salt(&self) -> Text {
        // A fresh UUIDv7 has at least 32 random bits of its own, and 42 with those of its millisecond (RFC 9562, 6.2).
        let mut hash = Sha256::new();
        (0..8).for_each(|_| hash.update(uuid::Uuid::now_v7().as_bytes()));
        let hash: [u8; 32] = hash.finalize().into();
        let (high, low) = hash.split_at(16);
        let number = |half: &[u8]| half.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
        format!("{:032x}{:032x}", number(high), number(low)).into()
    }

    fn chance(&self) -> u16 {
        // The random bits of a fresh UUIDv7 (RFC 9562, 5.7).
        (uuid::Uuid::now_v7().as_u128() % 1_001) as u16
    }

    fn has_threads(&self) -> bool {
        true
    }
}
