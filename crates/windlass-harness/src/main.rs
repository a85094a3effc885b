//! `windlass-harness`: see the library.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use windlass_harness::{
    Ground, HarnessError, KillPlan, Lengths, Scene, calls, disks, kills, played, prefixes, scripted,
};

#[derive(Debug, Parser)]
#[command(
    name = "windlass-harness",
    about = "Drives the real windlass through kills, failing calls, cut files and full disks"
)]
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
    /// Where homes are made [default: /dev/shm, else the temporary folder]
    #[arg(long, value_name = "FOLDER", global = true)]
    folder: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Kill -9 at random times
    Kills(KillArgs),
    /// strace kills it before, or fails, each call on a file of the log
    Calls(CallArgs),
    /// Its write-ahead file is cut at every byte, and that of scripted conversations at the edges of frames
    Prefixes(PrefixArgs),
    /// Its disk is full, read-only or locked
    Disks,
}

#[derive(Debug, Args)]
struct KillArgs {
    /// Stop after so many kills
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// Stop after so many seconds
    #[arg(long)]
    seconds: Option<u64>,
    /// What the moments are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
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

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                eprintln!("  caused by: {cause}");
                source = cause.source();
            }
            if let Some(help) = error.help() {
                eprintln!("hint: {help}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), HarnessError> {
    let windlass = cli.common.windlass.clone().unwrap_or_else(Ground::beside);
    let mut ground = Ground::new(&windlass, cli.common.folder.as_deref())?;
    let done = part(cli, &ground);
    if matches!(done, Err(HarnessError::Broken { .. })) {
        ground.keep();
    }
    done
}

fn part(cli: &Cli, ground: &Ground) -> Result<(), HarnessError> {
    match &cli.part {
        Part::Kills(args) => {
            let time = args.seconds.map(Duration::from_secs);
            let report = kills(ground, KillPlan { count: args.count, time, seed: args.seed })?;
            print!("{report}");
            Ok(())
        }
        Part::Prefixes(args) => {
            let lengths = if args.edges { Lengths::Edges } else { Lengths::Every };
            for scene in [Scene::Short, Scene::Approval, Scene::Tools] {
                let begun = Instant::now();
                let files = played(ground, scene)?;
                let tried = prefixes(ground, &files, lengths)?;
                println!(
                    "{}: {tried} lengths of {} bytes, {:.1} s",
                    files.name,
                    files.ahead.len(),
                    begun.elapsed().as_secs_f64()
                );
            }
            let all = scripted(ground, &args.fixtures)?;
            let mut tried = 0;
            for files in &all {
                tried += prefixes(ground, files, Lengths::Edges)?;
            }
            println!("{} scripted conversations: {tried} lengths", all.len());
            Ok(())
        }
        Part::Disks => {
            println!("{}", disks(ground)?.page());
            Ok(())
        }
        Part::Calls(args) => {
            let (matrix, hits) = calls(ground, args.every)?;
            println!("{}\n{hits} faults at system calls, each run came to the same end", matrix.page());
            Ok(())
        }
    }
}
