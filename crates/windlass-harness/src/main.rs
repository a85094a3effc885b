//! `windlass-harness`: drives the real binary through everything that can happen to it. See the library.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program says what it found")]

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use windlass_error::{Diagnostic as _, causes};
use windlass_harness::{
    Campaign, DISK_FAULTS, DoorsPlan, Ground, HarnessError, KillPlan, Lengths, Matrix, Scale, Scene,
    SenderPlan, SendersPlan, calls, disks, doors, kills, locked, may_mount, played, power, prefixes,
    scripted, send, senders, stage, windows,
};

/// Set in the process that was started anew with the right to mount.
const MAY_MOUNT: &str = "WINDLASS_HARNESS_MAY_MOUNT";

/// Number of messages of each sender, for the matrix: a tenth of the whole campaign.
const SENT: u32 = 5;
/// In how many ways the power goes at each moment, for the matrix.
const POWER_VARIANTS: u64 = 4;

#[derive(Debug, Parser)]
#[command(name = "windlass-harness", max_term_width = 100)]
/// Drives the real windlass through kills, failing system calls, cut files and full disks
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Args)]
struct Common {
    /// The binary under test [default: the one beside this]
    #[arg(long, value_name = "FILE", global = true)]
    windlass: Option<PathBuf>,
    /// Folder for homes [default: /dev/shm, else the temporary folder]
    #[arg(long, value_name = "FOLDER", global = true)]
    folder: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Kill -9 at random times
    #[command(after_help = "Example: windlass-harness kills --count 10000 --seed 7")]
    Kills(KillArgs),
    /// Many processes send messages to a few sessions under each `while_running`, and are killed
    #[command(after_help = "Example: windlass-harness senders --messages 5 --seed 7")]
    Senders(SendersArgs),
    /// One of those processes
    #[command(hide = true)]
    Sender(SenderArgs),
    /// strace kills it before, or fails, each call on a file of the log
    Calls(CallArgs),
    /// Kill -9, or SIGSTOP and a take-over, between the start of a tool and the tool
    Windows,
    /// Its write-ahead file is cut at every byte, and that of scripted conversations at the edges of frames
    Prefixes(PrefixArgs),
    /// The power goes after each write, sync and start of a tool
    Power(PowerArgs),
    /// Its disk is full, read-only or locked
    Disks(DiskArgs),
    /// Clients that are cut, repeat themselves, never read and attack, at the doors of a server that is killed
    #[command(after_help = "Example: windlass-harness doors --scale tenth --seed 7")]
    Doors(DoorsArgs),
    /// The agents of those clients, written into a folder, and their model, for servers that others start; ends with its input
    #[command(hide = true)]
    Stage {
        /// The folder
        folder: PathBuf,
    },
    /// All of it; the matrix is a page
    #[command(after_help = "Example: windlass-harness matrix --write")]
    Matrix(MatrixArgs),
}

#[derive(Debug, Args)]
struct KillArgs {
    /// Stop after so many kills
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// Stop after so many seconds
    #[arg(long)]
    seconds: Option<u64>,
    /// Seed for the moments
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct SendersArgs {
    /// Number of processes that send
    #[arg(long, default_value_t = 64)]
    processes: u32,
    /// Number of messages of each process
    #[arg(long, default_value_t = 50)]
    messages: u32,
    /// Number of sessions
    #[arg(long, default_value_t = 8)]
    sessions: u32,
    /// Seed for the kills
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct SenderArgs {
    name: String,
    session: String,
    messages: u32,
    log: PathBuf,
}

#[derive(Debug, Args)]
struct CallArgs {
    /// Play only every nth trial
    #[arg(long, default_value_t = 1)]
    every: usize,
}

#[derive(Debug, Args)]
struct PrefixArgs {
    /// Scripted conversations whose logs are cut too
    #[arg(long, default_value = "fixtures")]
    fixtures: PathBuf,
    /// Cut all files at the edges of frames only
    #[arg(long)]
    edges: bool,
}

#[derive(Debug, Args)]
struct PowerArgs {
    /// Number of ways to lose unsynced writes that are tried at each moment
    #[arg(long, default_value_t = 4)]
    variants: u64,
    /// Seed for the losses
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct DiskArgs {
    /// Leave out what needs a file system of its own, if none can be mounted here
    #[arg(long)]
    no_mount: bool,
}

#[derive(Debug, Args)]
struct DoorsArgs {
    /// Seed for all that is random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// `tenth` or `full`
    #[arg(long, default_value = "tenth", value_parser = scale)]
    scale: Scale,
    /// Only this campaign (may be repeated)
    #[arg(long, value_parser = campaign)]
    only: Vec<Campaign>,
    /// The page
    #[arg(long, value_name = "FILE", default_value = "docs/ledger/server.md")]
    page: PathBuf,
    /// Write the page instead of comparing with it
    #[arg(long, conflicts_with = "only")]
    write: bool,
}

fn scale(name: &str) -> Result<Scale, String> {
    Scale::from_name(name).ok_or_else(|| "expected `tenth` or `full`".to_owned())
}

fn campaign(name: &str) -> Result<Campaign, String> {
    let names = Campaign::ALL.map(Campaign::name).join(", ");
    Campaign::from_name(name).ok_or_else(|| format!("expected one of {names}"))
}

#[derive(Debug, Args)]
struct MatrixArgs {
    /// The page
    #[arg(long, value_name = "FILE", default_value = "docs/ledger/faults.md")]
    page: PathBuf,
    /// Write the page instead of comparing with it
    #[arg(long)]
    write: bool,
    /// Duration of random kills, in seconds
    #[arg(long, default_value_t = 120)]
    kill_seconds: u64,
    /// Seed for the moments
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    prefixes: PrefixArgs,
    #[command(flatten)]
    disks: DiskArgs,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            for cause in causes(&error) {
                eprintln!("  caused by: {cause}");
            }
            if let Some(help) = error.help() {
                eprintln!("hint: {help}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode, HarnessError> {
    if let Part::Sender(SenderArgs { name, session, messages, log }) = &cli.part {
        let plan = SenderPlan {
            name: name.clone(),
            session: session.clone(),
            messages: *messages,
            log: log.clone(),
        };
        return send(&plan).map(|()| ExitCode::SUCCESS);
    }
    if let Part::Stage { folder } = &cli.part {
        println!("{}", stage(folder)?);
        // Whoever has started it ends its input.
        let _ended = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        return Ok(ExitCode::SUCCESS);
    }
    let windlass = cli.common.windlass.clone().unwrap_or_else(Ground::sibling_binary);
    let mut ground = Ground::new(&windlass, cli.common.folder.as_deref())?;
    let wants_to_mount = match &cli.part {
        Part::Disks(args) => !args.no_mount,
        Part::Matrix(args) => !args.disks.no_mount,
        Part::Kills(_)
        | Part::Senders(_)
        | Part::Sender(_)
        | Part::Calls(_)
        | Part::Windows
        | Part::Prefixes(_)
        | Part::Doors(_)
        | Part::Stage { .. }
        | Part::Power(_) => false,
    };
    if wants_to_mount && let Err(error) = may_mount(&ground) {
        drop(ground);
        return again_as_one_who_may(error);
    }
    let done = part(cli, &ground);
    if matches!(done, Err(HarnessError::Broken { .. })) {
        ground.keep();
    }
    done.map(|()| ExitCode::SUCCESS)
}

/// Starts the same command anew in a user namespace of its own, where everybody may mount.
fn again_as_one_who_may(error: HarnessError) -> Result<ExitCode, HarnessError> {
    let own = std::env::current_exe();
    let (Ok(own), None) = (own, std::env::var_os(MAY_MOUNT)) else { return Err(error) };
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "--"]).arg(own).args(std::env::args_os().skip(1));
    // Whether that is allowed shows only by trying.
    let allowed = Command::new("unshare").args(["--map-root-user", "--mount", "true"]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        return Err(error);
    }
    let status = command
        .env(MAY_MOUNT, "1")
        .status()
        .map_err(|source| HarnessError::NoProgram { program: "unshare", source })?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn part(cli: &Cli, ground: &Ground) -> Result<(), HarnessError> {
    match &cli.part {
        Part::Kills(args) => {
            let time = args.seconds.map(Duration::from_secs);
            print!("{}", kills(ground, KillPlan { count: args.count, time, seed: args.seed })?);
        }
        Part::Senders(args) => {
            let SendersArgs { processes, messages, sessions, seed } = *args;
            print!("{}", senders(ground, SendersPlan { processes, messages, sessions, seed })?);
        }
        // They need no ground.
        Part::Sender(_) | Part::Stage { .. } => {}
        Part::Calls(args) => println!("{}", all_calls(ground, args.every)?.page()),
        Part::Windows => println!("{}", all_windows(ground)?.page()),
        Part::Prefixes(args) => {
            let lengths = if args.edges { Lengths::Edges } else { Lengths::Every };
            all_prefixes(ground, args, [lengths; 3])?;
        }
        Part::Power(args) => all_power(ground, args.variants, args.seed)?,
        Part::Disks(args) => println!("{}", all_disks(ground, args)?.page()),
        Part::Doors(args) => all_doors(ground, args)?,
        Part::Matrix(args) => matrix(ground, args)?,
    }
    Ok(())
}

fn all_calls(ground: &Ground, every: usize) -> Result<Matrix, HarnessError> {
    let begun = Instant::now();
    let (matrix, hits) = calls(ground, every)?;
    println!(
        "system calls: {hits} faults, each run came to the same end, {:.0} s",
        begun.elapsed().as_secs_f64()
    );
    Ok(matrix)
}

fn all_windows(ground: &Ground) -> Result<Matrix, HarnessError> {
    let begun = Instant::now();
    let (matrix, hits) = windows(ground)?;
    println!(
        "starts of tools: {hits} faults, nothing was started late or twice, {:.0} s",
        begun.elapsed().as_secs_f64()
    );
    Ok(matrix)
}

fn all_prefixes(ground: &Ground, args: &PrefixArgs, lengths: [Lengths; 3]) -> Result<(), HarnessError> {
    let begun = Instant::now();
    for (scene, lengths) in [Scene::Short, Scene::Approval, Scene::Tools].into_iter().zip(lengths) {
        let files = played(ground, scene)?;
        let tried = prefixes(ground, &files, lengths)?;
        println!("{}: write-ahead file of {} bytes cut at {tried} lengths", files.name, files.ahead.len());
    }
    let all = scripted(ground, &args.fixtures)?;
    let mut tried = 0;
    for files in &all {
        tried += prefixes(ground, files, Lengths::Edges)?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{} scripted conversations cut at {tried} lengths; all of this in {seconds:.0} s", all.len());
    Ok(())
}

fn all_power(ground: &Ground, variants: u64, seed: u64) -> Result<(), HarnessError> {
    let begun = Instant::now();
    let cuts = power(ground, variants, seed)?;
    println!("power: {cuts} cuts, nothing lost that was acted on, {:.0} s", begun.elapsed().as_secs_f64());
    Ok(())
}

fn all_disks(ground: &Ground, args: &DiskArgs) -> Result<Matrix, HarnessError> {
    let mut matrix = locked(ground)?;
    if args.no_mount {
        eprintln!("warning: full and read-only disks are left out (--no-mount)");
    } else {
        matrix.merge(disks(ground)?);
    }
    println!("disks: {} faults", matrix.len());
    Ok(matrix)
}

/// Kills at random times, of one process, of several at once, and of many.
fn random_kills(ground: &Ground, args: &MatrixArgs, matrix: &mut Matrix) -> Result<(), HarnessError> {
    let time = Some(Duration::from_secs(args.kill_seconds));
    print!("{}", kills(ground, KillPlan { count: u64::MAX, time, seed: args.seed })?);
    for place in ["at random times", "of either of two supervisors, at random times"] {
        for afterwards in ["the same end", "asked, then the same end"] {
            matrix.note("kill -9", place, "the process dies", afterwards);
        }
    }
    let starts = "of processes that start in one session at the same moment";
    let once = "one chain; each message once or refused; each effect once, or asked about";
    matrix.note("kill -9", starts, "the process dies", once);
    let plan = SendersPlan { processes: 64, messages: SENT, sessions: 8, seed: args.seed };
    let report = senders(ground, plan)?;
    print!("{report}");
    for line in &report.lines {
        let place = format!("of 64 senders to 8 sessions, `while_running: {}`", line.policy.name());
        let one = "one chain a session; one answer for each message; a refused one is in no log";
        matrix.note("kill -9", &place, "the process dies", one);
    }
    Ok(())
}

/// All campaigns are held against the page; a single one is only played.
fn all_doors(ground: &Ground, args: &DoorsArgs) -> Result<(), HarnessError> {
    let plan = DoorsPlan { seed: args.seed, scale: args.scale, only: args.only.clone() };
    let mut begun = Instant::now();
    let mut show = |campaign: Campaign, figures: &str| {
        println!("{}: {figures}, {:.0} s", campaign.name(), begun.elapsed().as_secs_f64());
        begun = Instant::now();
    };
    let report = doors(ground, &plan, &mut show)?;
    if args.write {
        let failed = |source| HarnessError::System { what: format!("write {}", args.page.display()), source };
        return std::fs::write(&args.page, report.page()).map_err(failed);
    }
    if args.only.is_empty() {
        report.check(&args.page)?;
        println!("{} says what was seen", args.page.display());
    }
    Ok(())
}

fn matrix(ground: &Ground, args: &MatrixArgs) -> Result<(), HarnessError> {
    let mut matrix = all_disks(ground, &args.disks)?;
    matrix.merge(all_calls(ground, 1)?);
    matrix.merge(all_windows(ground)?);
    // Every byte of the shortest one: those of the others take minutes (`windlass-harness prefixes`).
    let short = if args.prefixes.edges { Lengths::Edges } else { Lengths::Every };
    all_prefixes(ground, &args.prefixes, [short, Lengths::Edges, Lengths::Edges])?;
    let cut = "every run opens and folds to a beginning of what it was";
    matrix.note("the write-ahead file is cut off", "at any byte", cut, "nothing half-written is seen");
    all_power(ground, POWER_VARIANTS, args.seed)?;
    let kept = "no tool was started whose call is not in the log";
    matrix.note("the power goes", "after any write, sync or start of a tool", cut, kept);
    random_kills(ground, args, &mut matrix)?;
    if args.write {
        let failed = |source| HarnessError::System { what: format!("write {}", args.page.display()), source };
        return std::fs::write(&args.page, matrix.page()).map_err(failed);
    }
    let left_out: &[&str] = if args.disks.no_mount { &DISK_FAULTS } else { &[] };
    matrix.check(&args.page, left_out)?;
    println!("{} says what was seen", args.page.display());
    Ok(())
}
