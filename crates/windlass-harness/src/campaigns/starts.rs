//! Simultaneous starts in one session: several processes with a message each, all of them killed sooner or later.

use std::collections::BTreeMap;
use std::io;
use std::thread;

use windlass_core::RunState;
use windlass_testing::{Moment, ProcessEnd, run_and_kill};

use super::chain::{Known, Link, Session, one_chain};
use super::moments::Moments;
use crate::error::HarnessError;
use crate::home::{Home, Step};
use crate::life::{PATIENCE, Story, answer, undisturbed};
use crate::look::Look;
use crate::mock::bracketed;
use crate::scene::{Kind, WhileRunning};
use crate::sound::{all_kept, not_again, receipts_of};

/// Number of processes at once.
const AT_ONCE: u32 = 4;
/// How often so many come.
const WAVES: u32 = 2;
/// The processes work on two cores, and wait for each other.
const LONGER: u64 = 4;
/// Maximum number of processes between two waves.
const MOST_STEPS: u32 = 100;
/// The number of the last message, which nothing disturbs.
const LAST: u32 = WAVES * AT_ONCE + 1;

/// Plays a session until all of its messages have been answered.
///
/// # Errors
/// A promise was broken.
pub(super) fn play(home: &Home, policy: WhileRunning, moments: Moments) -> Result<Story, HarnessError> {
    let mut crew = Crew {
        home,
        policy,
        moments,
        story: Story::default(),
        before: Vec::new(),
        finished: BTreeMap::new(),
        messages: Vec::new(),
    };
    for wave in 0..WAVES {
        crew.wave(wave * AT_ONCE)?;
        crew.bring_to_an_end()?;
    }
    crew.last_word()
}

fn message(number: u32) -> String {
    format!("Do part {number}")
}

/// A session, its messages, and all that was seen so far.
struct Crew<'h> {
    home: &'h Home,
    policy: WhileRunning,
    moments: Moments,
    story: Story,
    before: Vec<Look>,
    finished: BTreeMap<(String, u32), usize>,
    messages: Vec<(String, Known)>,
}

impl Crew<'_> {
    fn broken(&self, place: &str, breach: String) -> HarnessError {
        self.home.broken(&format!("starts, {place}"), breach)
    }

    /// Several messages at the same moment.
    fn wave(&mut self, done: u32) -> Result<(), HarnessError> {
        let numbers = done + 1..=done + AT_ONCE;
        let plan: Vec<_> = numbers.map(|number| (message(number), self.moments.next(LONGER))).collect();
        let home = self.home;
        let ends: Vec<io::Result<ProcessEnd>> = thread::scope(|scope| {
            let live = |(text, after): &(String, _)| {
                let mut command = home.command(&Step::Message(text.clone()), &[]);
                let after = *after;
                scope.spawn(move || run_and_kill(&mut command, Moment::After(after), PATIENCE))
            };
            let processes: Vec<_> = plan.iter().map(live).collect();
            let end = |process: thread::ScopedJoinHandle<'_, _>| {
                process.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
            };
            processes.into_iter().map(end).collect()
        });
        let mut kills = 0;
        for ((text, _), end) in plan.into_iter().zip(ends) {
            let end = end.map_err(HarnessError::system("let a message live"))?;
            self.story.processes += 1;
            kills += u32::from(end.killed);
            let known = self.judge(&text, &end)?;
            self.messages.push((text, known));
        }
        self.check(kills)
    }

    /// The knowledge that a sender has of its message once its process has ended.
    fn judge(&self, text: &str, end: &ProcessEnd) -> Result<Known, HarnessError> {
        let refused = self.policy == WhileRunning::Refuse && end.stderr.contains("is busy");
        let cancelled = self.policy == WhileRunning::Interrupt && end.code == Some(130);
        // Steering that comes late leads to another answer, which is printed then.
        let answers = end.stdout.contains(&bracketed(text)) || self.policy == WhileRunning::Steer;
        match end.code {
            None => Ok(Known::Unknown),
            Some(0) if answers || end.stdout.is_empty() => Ok(Known::Accepted),
            Some(_) if cancelled => Ok(Known::Accepted),
            Some(_) if refused => Ok(Known::Refused),
            Some(code) => {
                Err(self.broken("a message", format!("exit code {code}\n{}{}", end.stdout, end.stderr)))
            }
        }
    }

    /// One process after the other, until each run of the session has ended.
    fn bring_to_an_end(&mut self) -> Result<(), HarnessError> {
        for _ in 0..MOST_STEPS {
            let Some(step) = self.step()? else { return Ok(()) };
            let name = step.name();
            let lived = self.moments.live(self.home, &step);
            let end = lived.map_err(HarnessError::system(format!("let `{name}` live")))?.end;
            self.story.processes += 1;
            let cancelled = self.policy == WhileRunning::Interrupt && end.code == Some(130);
            if !(end.killed || cancelled || matches!(end.code, Some(0 | 75))) {
                let code = end.code;
                return Err(self.broken(name, format!("exit code {code:?}\n{}{}", end.stdout, end.stderr)));
            }
            self.check(u32::from(end.killed))?;
        }
        Err(self.broken("going on", format!("no end after {MOST_STEPS} processes")))
    }

    /// The next step for the run of the session that has not ended.
    fn step(&mut self) -> Result<Option<Step>, HarnessError> {
        let is_open = |look: &&Look| !matches!(look.state.run_state(), RunState::Ended(_));
        let Some(open) = self.before.iter().find(is_open) else { return Ok(None) };
        let run = open.run.to_string();
        let Some(question) = open.state.questions().first().filter(|_| open.posts == 0) else {
            return Ok(Some(Step::Resume(run)));
        };
        self.story.asked.insert(question.kind.name());
        let known: Vec<&Look> = self.before.iter().collect();
        let words = answer(self.home, &known, open, question)?;
        Ok(Some(Step::Answer(run, question.id.to_string(), words)))
    }

    /// No event is lost, each run continues the last one, and no effect was repeated.
    fn check(&mut self, kills: u32) -> Result<(), HarnessError> {
        let after = self.home.looks()?;
        all_kept(&self.before, &after).map_err(|breach| self.broken("the log", breach))?;
        if !after.is_empty() {
            let head = self.home.head()?;
            let links = links(&after).and_then(|links| one_chain(&links, head));
            links.map_err(|breach| self.broken("the session", breach))?;
        }
        self.effects(&after).map_err(|breach| self.broken("effects", breach))?;
        let last = after.first().map_or("nothing", Look::last);
        if kills > 0 {
            self.story.kills += kills;
            *self.story.killed_after.entry(last).or_insert(0) += u64::from(kills);
        }
        self.before = after;
        Ok(())
    }

    fn effects(&mut self, after: &[Look]) -> Result<(), String> {
        let receipts = self.home.receipts().map_err(|error| error.to_string())?;
        if self.policy == WhileRunning::Interrupt {
            // The calls of a cancelled run may end in doubt that nobody is asked about; none is made twice.
            let effects = self.home.effects().map_err(|error| error.to_string())?;
            let must_be_once = |tool: &str| matches!(Kind::of(tool), Some(Kind::Checked | Kind::Once));
            let twice = effects.iter().find(|((tool, _), count)| must_be_once(tool) && **count > 1);
            return twice.map_or(Ok(()), |(effect, count)| Err(format!("{effect:?} happened {count} times")));
        }
        let finished = receipts_of(after.iter(), &receipts)?;
        not_again(&self.finished, &finished)?;
        self.finished = finished;
        Ok(())
    }

    /// A last message is answered, and so are those that wait; then each message has one fate.
    fn last_word(mut self) -> Result<Story, HarnessError> {
        let text = message(LAST);
        let lived = undisturbed(self.home, &Step::Message(text.clone()));
        let end = lived.map_err(HarnessError::system("let the last message live"))?.end;
        self.story.processes += 1;
        if end.code != Some(0) || !end.stdout.contains(&bracketed(&text)) {
            return Err(self.broken("the last message", format!("{end:?}")));
        }
        self.messages.push((text, Known::Accepted));
        self.check(0)?;
        self.each_has_one_fate().map_err(|breach| self.broken("the messages", breach))?;
        Ok(self.story)
    }

    fn each_has_one_fate(&self) -> Result<(), String> {
        let head = self.home.head().map_err(|error| error.to_string())?;
        let head = self.before.iter().find(|look| Some(look.run) == head);
        let session = Session::of(self.policy, links(&self.before)?, head.map(|look| &look.state))?;
        self.messages.iter().try_for_each(|(text, known)| session.holds(text, *known).map(drop))
    }
}

fn links(looks: &[Look]) -> Result<Vec<Link>, String> {
    looks.iter().map(|look| Link::of(look.run, look.events())).collect()
}
