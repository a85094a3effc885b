//! Shows what is being waited for: the last line of a terminal, with a spinner and the elapsed time.

use std::future::Future;
use std::pin::pin;

use futures_util::future::{Either, select};
use windlass_core::event::Millis;
use windlass_runtime::{Environment, SystemEnvironment};

use crate::out;

/// A wait is shown once it has lasted this long: a second.
pub(crate) const QUIET_MS: Millis = 1_000;
/// Time between two pictures of the spinner.
const TICK_MS: Millis = 100;
/// The pictures of the spinner, one after another.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Something that is being waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Its name, in words.
    pub(crate) what: String,
    /// When the wait began.
    pub(crate) since: Millis,
}

/// Awaits the work. Meanwhile shows what `wait` says at that time, at a terminal.
pub(crate) async fn with_progress<T>(
    environment: &dyn Environment,
    wait: impl Fn() -> Option<Wait>,
    work: impl Future<Output = T>,
) -> T {
    if !out::can_wait() {
        return work.await;
    }
    ticking(environment, wait, out::waiting, work).await
}

/// Awaits the work, which waits for this.
pub(crate) async fn awaited<T>(what: impl Into<String>, work: impl Future<Output = T>) -> T {
    let (environment, _at_last) = (SystemEnvironment, Withdrawn::default());
    let wait = Wait { what: what.into(), since: environment.now() };
    with_progress(&environment, || Some(wait.clone()), work).await
}

/// Awaits the work, and draws the line at each tick.
async fn ticking<T>(
    environment: &dyn Environment,
    wait: impl Fn() -> Option<Wait>,
    draw: impl Fn(Option<&str>),
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    loop {
        let now = environment.now();
        draw(wait().and_then(|wait| line(&wait, now)).as_deref());
        match select(work.as_mut(), environment.sleep_until(now.saturating_add(TICK_MS))).await {
            Either::Left((done, _)) => return done,
            Either::Right(((), _)) => {}
        }
    }
}

/// The line at that time. `None`: the wait is too short to be worth a word.
fn line(wait: &Wait, now: Millis) -> Option<String> {
    let elapsed = now.saturating_sub(wait.since);
    if elapsed < QUIET_MS {
        return None;
    }
    let spinner = picture(now, true);
    Some(format!("{spinner} waiting for {}: {} s", wait.what, elapsed / 1_000))
}

/// The spinner's picture at that time.
pub(crate) fn picture(now: Millis, unicode: bool) -> char {
    let pictures: &[char] = if unicode { &SPINNER } else { &['|', '/', '-', '\\'] };
    let at = usize::try_from(now / TICK_MS).unwrap_or(0) % pictures.len();
    pictures.get(at).copied().unwrap_or(' ')
}

/// Takes the line back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Withdrawn(());

impl Drop for Withdrawn {
    fn drop(&mut self) {
        if out::can_wait() {
            out::waiting(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use windlass_testing::SimEnvironment;

    use super::*;

    #[test]
    fn a_wait_shows_after_a_second_with_its_time_and_no_longer_than_the_work() {
        let environment = SimEnvironment::default();
        let since = environment.now();
        let drawn = RefCell::new(Vec::new());
        let wait = || Some(Wait { what: "tool `search`".to_owned(), since });
        let draw = |line: Option<&str>| drawn.borrow_mut().push(line.map(str::to_owned));
        let work = environment.sleep_until(since + 2_350);
        assert_eq!(environment.run(ticking(&environment, wait, draw, work), || false), Some(()));
        let drawn = drawn.into_inner();
        assert_eq!(drawn.len(), 24, "once each 100 ms: {drawn:?}");
        assert!(drawn.iter().take(10).all(Option::is_none), "{drawn:?}");
        assert_eq!(drawn[10].as_deref(), Some("⠋ waiting for tool `search`: 1 s"));
        assert_eq!(drawn[11].as_deref(), Some("⠙ waiting for tool `search`: 1 s"));
        assert_eq!(drawn[23].as_deref(), Some("⠸ waiting for tool `search`: 2 s"));
    }

    #[test]
    fn what_is_not_waited_for_any_more_is_taken_back() {
        let environment = SimEnvironment::default();
        let since = environment.now();
        let wait = || {
            let over = environment.now() >= since + 1_500;
            (!over).then(|| Wait { what: "model tour".to_owned(), since })
        };
        let last = RefCell::new(None);
        let draw = |line: Option<&str>| *last.borrow_mut() = line.map(str::to_owned);
        let work = environment.sleep_until(since + 1_450);
        environment.run(ticking(&environment, wait, draw, work), || false);
        assert!(last.borrow().is_some());
        let work = environment.sleep_until(since + 1_750);
        environment.run(ticking(&environment, wait, draw, work), || false);
        assert_eq!(*last.borrow(), None);
    }
}
