//! Two supervisors on one log: either may be killed, and the other one goes on with what it left.

use std::io;
use std::thread;
use std::time::Duration;

use windlass_testing::{Moment, ProcessEnd, run_and_kill};

use super::moments::Moments;
use crate::error::HarnessError;
use crate::home::{Home, Step};
use crate::life::{Ending, Life, Lived, PATIENCE, Story};

/// Time within which a supervisor looks for due runs anew.
const REST: Duration = Duration::from_secs(1);
/// In how many rounds a person resumes the run once. Supervisors leave a run alone whose model call was lost too often.
const BY_HAND: u64 = 4;
/// The word of a supervisor for a run that it could not take up.
const FAILED: &str = "not resumed";

/// Plays a run whose processes are pairs of supervisors.
///
/// # Errors
/// A promise was broken.
pub(super) fn play(home: &Home, ending: &Ending, mut moments: Moments) -> Result<Story, HarnessError> {
    let (mut extra_processes, mut complaint) = (0, None);
    let mut fate = |home: &Home, step: &Step| match step {
        Step::Resume(_) if moments.below(BY_HAND) > 0 => {
            let (first, second) = pair(home, &mut moments)?;
            extra_processes += 1;
            complaint = [&first, &second].iter().find_map(|end| complaint_of(end)).or(complaint.take());
            // They never end by themselves: one that did is judged.
            Ok(Lived::ended(if first.killed { second } else { first }))
        }
        Step::Answer(run, question, words) => {
            let leave = Step::Leave(run.clone(), question.clone(), words.clone());
            let lived = moments.live(home, &leave)?;
            Ok(Lived { leaves: true, ..lived })
        }
        Step::Run | Step::Resume(_) | Step::Leave(..) | Step::Supervise | Step::Message(_) => {
            moments.live(home, step)
        }
    };
    let played = Life::of(home).play_to(ending, &mut fate);
    if let Some(complaint) = complaint {
        return Err(home.broken("two supervisors", complaint));
    }
    let story = played?;
    Ok(Story { processes: story.processes + extra_processes, kills: story.kills + extra_processes, ..story })
}

/// Two supervisors that begin at the same moment. In half of the rounds the second one lives long enough to look again.
fn pair(home: &Home, moments: &mut Moments) -> io::Result<(ProcessEnd, ProcessEnd)> {
    let first = moments.next(1);
    let again = if moments.below(2) == 0 { REST } else { Duration::ZERO };
    let second = again + moments.next(1);
    let live = |after| run_and_kill(&mut home.command(&Step::Supervise, &[]), Moment::After(after), PATIENCE);
    let (first, second) = thread::scope(|scope| {
        let alongside = scope.spawn(|| live(second));
        (live(first), alongside.join())
    });
    let second = second.map_err(|_| io::Error::other("the thread of the second supervisor panicked"))?;
    Ok((first?, second?))
}

fn complaint_of(end: &ProcessEnd) -> Option<String> {
    end.stdout.contains(FAILED).then(|| format!("{}{}", end.stdout, end.stderr))
}
