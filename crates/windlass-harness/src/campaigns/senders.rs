//! Many processes that send messages to a few sessions at once, killed and replaced, under each `while_running`.

use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use windlass_core::{Owner, RunId, SessionId, State};
use windlass_read::load;
use windlass_runtime::host::{Host, Outcome, Report};
use windlass_runtime::{Agent, DriveOptions, Error, in_full};
use windlass_store::{Index as _, Log as _, RunFilter, SqliteLog};

use super::chain::{Known, Link, Session};
use super::sender::{Fate, journal, text};
use crate::chance::Chance;
use crate::error::HarnessError;
use crate::ground::Ground;
use crate::home::{Home, Step};
use crate::look;
use crate::scene::{Scene, WhileRunning};

/// Number of supervisors, which are the real binary.
const SUPERVISORS: usize = 2;
/// Number of lines that the journals grow by, together, between two kills.
const LINES_PER_KILL: u64 = 6;
/// Latest time after that growth, in microseconds.
const LATEST_US: u64 = 20_000;
/// Interval between two looks at the processes.
const LOOK: Duration = Duration::from_millis(2);
/// Time without a new line in any journal after which the campaign stands still.
const PATIENCE: Duration = Duration::from_mins(2);
/// Maximum number of runs of a session in one listing.
const PAGE: usize = 100_000;

/// Number of senders, messages and sessions, and the seed.
#[derive(Clone, Copy, Debug)]
pub struct SendersPlan {
    /// Number of processes that send.
    pub processes: u32,
    /// Number of messages of each process.
    pub messages: u32,
    /// Number of sessions, between which the senders are divided.
    pub sessions: u32,
    /// Seed for the kills.
    pub seed: u64,
}

/// The senders under one policy.
#[derive(Clone, Copy, Debug)]
pub struct SendersLine {
    /// The policy.
    pub policy: WhileRunning,
    /// Number of messages that were taken on and have one fate in the log.
    pub accepted: u64,
    /// Of those, messages whose run another message interrupted.
    pub interrupted: u64,
    /// Number of messages that were refused and are in no log.
    pub refused: u64,
    /// Number of messages of which nobody knows, because their senders died: they are in the log.
    pub lost_in_log: u64,
    /// The others of those: they are in no log.
    pub lost: u64,
    /// Number of runs in all sessions.
    pub runs: u64,
    /// Number of processes killed.
    pub kills: u64,
    /// Duration.
    pub took: Duration,
}

/// Result of the senders.
#[derive(Clone, Debug)]
pub struct SendersReport {
    /// The plan.
    pub plan: SendersPlan,
    /// A line for each policy.
    pub lines: Vec<SendersLine>,
}

impl fmt::Display for SendersReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SendersPlan { processes, messages, sessions, seed } = self.plan;
        writeln!(
            f,
            "{processes} processes with {messages} messages each to {sessions} sessions, seed {seed}:"
        )?;
        for line in &self.lines {
            writeln!(
                f,
                "  {:<9} {} accepted ({} interrupted), {} refused, {} lost with their senders ({} in the log); \
                 {} runs, each session one chain; {} kills, {:.0} s",
                line.policy.name(),
                line.accepted,
                line.interrupted,
                line.refused,
                line.lost + line.lost_in_log,
                line.lost_in_log,
                line.runs,
                line.kills,
                line.took.as_secs_f64()
            )?;
        }
        Ok(())
    }
}

/// Lets senders send under each policy, kills half of them again and again, and compares the log with what each of them knows.
///
/// # Errors
/// A promise was broken.
pub fn senders(ground: &Ground, plan: SendersPlan) -> Result<SendersReport, HarnessError> {
    let lines = WhileRunning::ALL.into_iter().map(|policy| under(ground, plan, policy));
    Ok(SendersReport { plan, lines: lines.collect::<Result<_, _>>()? })
}

#[expect(clippy::print_stderr, reason = "minutes of senders say how far they are")]
fn under(ground: &Ground, plan: SendersPlan, policy: WhileRunning) -> Result<SendersLine, HarnessError> {
    let begun = Instant::now();
    let home = Home::new(ground, Scene::Session(policy), &format!("senders-{}", policy.name()))?;
    fs::create_dir_all(home.data()).map_err(HarnessError::file("make", home.data()))?;
    let kills = Crowd::new(&home, plan)?.play()?;
    home.settle()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(HarnessError::system("start a runtime"))?;
    let line = runtime.block_on(async {
        rest(&home, plan).await?;
        judge(&home, plan, policy).await
    });
    let line = line.map_err(|breach| home.broken("senders", breach))?;
    home.remove()?;
    let line = SendersLine { kills, took: begun.elapsed(), ..line };
    eprintln!("{}: {} kills, {:.0} s", policy.name(), kills, line.took.as_secs_f64());
    Ok(line)
}

fn name(sender: u32) -> String {
    format!("s{sender}")
}

fn session(plan: SendersPlan, sender: u32) -> SessionId {
    SessionId::from(format!("talk{}", sender % plan.sessions.max(1)))
}

/// A process of a campaign.
struct Member {
    /// `None`: a supervisor.
    sender: Option<u32>,
    process: Child,
}

/// All processes under one policy.
struct Crowd<'h> {
    home: &'h Home,
    plan: SendersPlan,
    chance: Chance,
    members: Vec<Member>,
    kills: u64,
}

impl Drop for Crowd<'_> {
    fn drop(&mut self) {
        for member in &mut self.members {
            // It may have ended.
            let _gone = member.process.kill().and_then(|()| member.process.wait());
        }
    }
}

impl<'h> Crowd<'h> {
    fn new(home: &'h Home, plan: SendersPlan) -> Result<Self, HarnessError> {
        let mut crowd = Self { home, plan, chance: Chance::new(plan.seed), members: Vec::new(), kills: 0 };
        for sender in (0..plan.processes).map(Some).chain([None; SUPERVISORS]) {
            let process = crowd.start(sender)?;
            crowd.members.push(Member { sender, process });
        }
        Ok(crowd)
    }

    fn start(&self, sender: Option<u32>) -> Result<Child, HarnessError> {
        let started = |command: &mut Command| {
            let quiet = command.stdout(Stdio::null()).stderr(Stdio::piped());
            quiet.spawn().map_err(HarnessError::system("start a process of the campaign"))
        };
        let Some(sender) = sender else { return started(&mut self.home.command(&Step::Supervise, &[])) };
        let own = std::env::current_exe().map_err(HarnessError::system("find the harness"))?;
        let mut command = Command::new(own);
        command.args(["sender", &name(sender), session(self.plan, sender).as_str()]);
        command.arg(self.plan.messages.to_string()).arg(self.home.log());
        self.home.place(&mut command);
        started(&mut command)
    }

    /// Kills and replaces until each sender has sent its last message. Gives the number of kills.
    fn play(mut self) -> Result<u64, HarnessError> {
        let (mut seen, mut next_kill) = (0, LINES_PER_KILL);
        let mut since = Instant::now();
        while self.reap()? {
            let lines = self.lines()?;
            if lines > seen {
                (seen, since) = (lines, Instant::now());
            }
            if since.elapsed() > PATIENCE {
                return Err(self.home.broken("senders", format!("nothing was sent for {PATIENCE:?}")));
            }
            if lines < next_kill {
                std::thread::sleep(LOOK);
                continue;
            }
            next_kill = lines + LINES_PER_KILL;
            std::thread::sleep(Duration::from_micros(self.chance.below(LATEST_US)));
            self.kill_one()?;
        }
        Ok(self.kills)
    }

    /// Lets go who has ended well. Gives whether senders are left.
    fn reap(&mut self) -> Result<bool, HarnessError> {
        let mut left = Vec::new();
        for mut member in std::mem::take(&mut self.members) {
            let ended = member.process.try_wait().map_err(HarnessError::system("wait for a process"))?;
            match ended {
                None => left.push(member),
                Some(status) if status.success() && member.sender.is_some() => {}
                Some(status) => {
                    let mut stderr_text = String::new();
                    // What was read before an error counts.
                    let _partly =
                        member.process.stderr.as_mut().map(|stderr| stderr.read_to_string(&mut stderr_text));
                    let who = member.sender.map_or_else(|| "a supervisor".to_owned(), name);
                    return Err(self
                        .home
                        .broken("senders", format!("{who} ended with {status}\n{stderr_text}")));
                }
            }
        }
        self.members = left;
        Ok(self.members.iter().any(|member| member.sender.is_some()))
    }

    /// Half of the senders live; the others and the supervisors are killed by turns, and replaced at once.
    fn kill_one(&mut self) -> Result<(), HarnessError> {
        let may_die = |member: &Member| member.sender.is_none_or(|sender| sender % 2 == 1);
        let places: Vec<usize> = self
            .members
            .iter()
            .enumerate()
            .filter(|(_, member)| may_die(member))
            .map(|(place, _)| place)
            .collect();
        let chosen = self.chance.below(places.len() as u64) as usize;
        let Some(place) = places.get(chosen).copied() else { return Ok(()) };
        let mut member = self.members.swap_remove(place);
        let died = member.process.kill().and_then(|()| member.process.wait());
        died.map_err(HarnessError::system("kill a process"))?;
        self.kills += 1;
        let process = self.start(member.sender)?;
        self.members.push(Member { sender: member.sender, process });
        Ok(())
    }

    /// Number of lines in all journals.
    fn lines(&self) -> Result<u64, HarnessError> {
        let mut lines = 0;
        for sender in 0..self.plan.processes {
            let path = self.home.folder().join(name(sender));
            lines += match fs::read(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                read => {
                    let read = read.map_err(HarnessError::file("read", &path))?;
                    let lines = read.split_inclusive(|byte| *byte == b'\n');
                    lines.filter(|line| line.ends_with(b"\n")).count() as u64
                }
            };
        }
        Ok(lines)
    }
}

/// Brings to its end what the last processes left: runs without a driver, and messages that wait.
async fn rest(home: &Home, plan: SendersPlan) -> Result<(), String> {
    let log = Arc::new(look::open(&home.log())?);
    let host = Host::builder(log.clone()).build();
    let failed = |report: Report| match report.outcome {
        Outcome::Driven(_) => Ok(()),
        Outcome::GivenUp(lost) => Err(Error::LostAttempts { run: lost.run, attempts: lost.attempts }),
        Outcome::Failed(error) => Err(error),
    };
    let none = CancellationToken::new();
    host.take_up_due(&none, failed).await.map_err(|error| in_full(&error))?;
    let variable = |name: &str| std::env::var(name).ok();
    let agent = Agent::from_file(home.folder().join("agent.yaml"), &variable, log.clone()).await;
    let agent = agent.map_err(|error| in_full(&error))?;
    for sender in 0..plan.sessions {
        while let Some(next) = agent
            .next_queued(&session(plan, sender), DriveOptions::default())
            .await
            .map_err(|error| in_full(&error))?
        {
            host.drive(&agent, next).end().await.map_err(|error| in_full(&error))?;
        }
    }
    host.close().await;
    Ok(())
}

/// Compares the log with what each sender knows.
async fn judge(home: &Home, plan: SendersPlan, policy: WhileRunning) -> Result<SendersLine, String> {
    let log = look::open(&home.log())?;
    let mut line = SendersLine {
        policy,
        accepted: 0,
        interrupted: 0,
        refused: 0,
        lost_in_log: 0,
        lost: 0,
        runs: 0,
        kills: 0,
        took: Duration::ZERO,
    };
    let mut listed = 0;
    for number in 0..plan.sessions {
        let session = read(&log, policy, &session(plan, number)).await?;
        line.runs += session.links().len() as u64;
        for sender in (0..plan.processes).filter(|sender| sender % plan.sessions == number) {
            let fates = journal(&home.folder().join(name(sender))).map_err(|error| error.to_string())?;
            if fates.len() != plan.messages as usize {
                return Err(format!("{} has sent {} messages", name(sender), fates.len()));
            }
            for (number, fate) in (0..).zip(&fates) {
                line.add(&session, &text(&name(sender), number), fate)?;
            }
        }
        listed += session.links().len();
    }
    let all = log.list(RunFilter { limit: PAGE, ..RunFilter::default() }).await;
    let all = all.map_err(|error| in_full(&error))?.len();
    if all == listed { Ok(line) } else { Err(format!("{all} runs are listed, {listed} are in sessions")) }
}

impl SendersLine {
    fn add(&mut self, session: &Session, message: &str, fate: &Fate) -> Result<(), String> {
        match fate {
            Fate::Sent => return Err(format!("{message:?} has no fate, though its sender lived")),
            Fate::Unanswered(run) => {
                return Err(format!("{message:?} has no answer, run {run} was to give it"));
            }
            Fate::Refused if session.policy() == WhileRunning::Refuse => {
                self.refused += 1;
                session.holds(message, Known::Refused)?;
            }
            Fate::Refused => return Err(format!("{message:?} was refused")),
            Fate::Answered(run) => {
                self.accepted += 1;
                session.holds(message, Known::Accepted)?;
                session.was_answered_by(message, *run)?;
            }
            Fate::Interrupted(run) if session.policy() == WhileRunning::Interrupt => {
                self.accepted += 1;
                self.interrupted += 1;
                session.holds(message, Known::Accepted)?;
                session.was_cancelled(*run)?;
            }
            Fate::Interrupted(run) => return Err(format!("{message:?} ended with run {run}, cancelled")),
            Fate::Lost => {
                let is_there = session.holds(message, Known::Unknown)?;
                *(if is_there { &mut self.lost_in_log } else { &mut self.lost }) += 1;
            }
        }
        Ok(())
    }
}

/// All runs of a session.
async fn read(log: &SqliteLog, policy: WhileRunning, session: &SessionId) -> Result<Session, String> {
    let owner = Owner::default();
    let filter = RunFilter {
        owner: Some(owner.clone()),
        session: Some(session.clone()),
        limit: PAGE,
        ..RunFilter::default()
    };
    let mut links = Vec::new();
    for line in log.list(filter).await.map_err(|error| in_full(&error))? {
        let batches = log.read(line.run, 1, usize::MAX).await.map_err(|error| in_full(&error))?;
        links.push(Link::of(line.run, batches.iter().flat_map(|batch| batch.events.iter()))?);
    }
    let head: Option<RunId> = log.head(&owner, session).await.map_err(|error| in_full(&error))?;
    let head: Option<State> = match head {
        Some(run) => Some(load(log, run).await.map_err(|error| in_full(&error))?),
        None => None,
    };
    Session::of(policy, links, head.as_ref())
}
