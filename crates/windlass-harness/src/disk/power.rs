//! The power goes: the log's files as a disk may have them then. `strace` records what the binary writes, syncs and starts,
//! in order; for each moment the files are made anew from everything that was synced by then and any part of the rest.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use windlass_core::event::CallFact;

use windlass_core::Fact;
use windlass_testing::{Moment, run_and_kill};

use crate::chance::Chance;
use crate::error::HarnessError;
use crate::ground::Ground;
use crate::home::{Home, Step};
use crate::life::{Life, Lived, PATIENCE, undisturbed};
use crate::look::{self, Look};
use crate::scene::Scene;
use crate::windows::WAITING;

/// The files that must come through. The index in shared memory is made anew after each crash.
const FILES: [&str; 2] = ["log.db", "log.db-wal"];
/// Size of an atomic disk write, in bytes: of an unsynced write, any number of sectors may have arrived.
const SECTOR: usize = 512;
/// Maximum number of bytes recorded of each write: more than a page.
const RECORDED: usize = 70_000;

/// Something that the binary did.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Deed {
    Write {
        file: String,
        at: usize,
        bytes: Vec<u8>,
    },
    Truncate {
        file: String,
        length: usize,
    },
    Remove {
        file: String,
    },
    Sync {
        file: String,
    },
    /// A tool was started: its call must be durable.
    Start,
}

/// Cuts the power at each deed of a run, in `variants` ways each. Gives how many cuts there were.
///
/// # Errors
/// After a cut the log does not open or fold, holds what never was, or lacks a call that had started.
pub fn power(ground: &Ground, variants: u64, seed: u64) -> Result<u64, HarnessError> {
    let home = Home::new(ground, Scene::Tools, "power")?;
    let mut trace = String::new();
    let mut fate = |home: &Home, step: &Step| {
        if *step != Step::Run {
            return undisturbed(home, step);
        }
        let traced = home.folder().join("traced");
        let end = run_and_kill(&mut home.command(step, &strace(&traced)), Moment::Never, PATIENCE)?;
        trace = fs::read_to_string(&traced)?;
        Ok(Lived::ended(end))
    };
    Life::of(&home).play(&mut fate)?;
    let Some(whole) = home.look()? else { return Err(home.broken("power", "there is no run".to_owned())) };
    let deeds = deeds(&trace);
    let starts = deeds.iter().filter(|deed| **deed == Deed::Start).count();
    if starts < started(&whole) || !deeds.iter().any(|deed| matches!(deed, Deed::Sync { .. })) {
        let breach = format!("the record has {starts} starts of tools in {} deeds", deeds.len());
        return Err(home.broken("reading what strace recorded", breach));
    }
    let mut chance = Chance::new(seed);
    let mut cuts = 0;
    for moment in 0..=deeds.len() {
        for _ in 0..variants {
            let before = deeds.get(..moment).unwrap_or_default();
            cut(&home, before, &whole, &mut chance)?;
            cuts += 1;
        }
    }
    home.remove()?;
    Ok(cuts)
}

/// Number of started attempts at calls of a run.
fn started(look: &Look) -> usize {
    look.events().filter(|event| matches!(event.fact, Fact::Call(CallFact::Started(_)))).count()
}

fn strace(traced: &Path) -> Vec<String> {
    let mut words: Vec<String> = ["strace", "-f", "-qq", "-y", "-xx", "-s"].map(str::to_owned).into();
    words.extend([RECORDED.to_string(), "-o".to_owned(), traced.display().to_string(), "-e".to_owned()]);
    words.push("trace=pwrite64,ftruncate,unlink,fsync,fdatasync,execve".to_owned());
    words
}

/// One cut after these deeds.
fn cut(home: &Home, deeds: &[Deed], whole: &Look, chance: &mut Chance) -> Result<(), HarnessError> {
    let folder = home.folder().join("cut");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(HarnessError::file("remove", &folder))?;
    }
    fs::create_dir_all(&folder).map_err(HarnessError::file("make", &folder))?;
    for (file, bytes) in left(deeds, chance) {
        let path = folder.join(file);
        fs::write(&path, bytes).map_err(HarnessError::file("write", &path))?;
    }
    let place = format!("the power goes after deed {}", deeds.len());
    let file = folder.join("log.db");
    let seen =
        if file.exists() { look::newest(&file).map_err(|breach| home.broken(&place, breach))? } else { None };
    let starts = deeds.iter().filter(|deed| **deed == Deed::Start).count();
    let durable = seen.as_ref().map_or(0, started);
    if let Some(seen) = &seen {
        crate::sound::kept(seen, whole).map_err(|breach| home.broken(&place, breach))?;
    }
    if durable < starts {
        return Err(home.broken(&place, format!("{starts} tools were started, the log knows of {durable}")));
    }
    Ok(())
}

/// The files that a disk may have after these deeds: of each file everything up to its last sync, and any part of what
/// came after.
fn left(deeds: &[Deed], chance: &mut Chance) -> BTreeMap<String, Vec<u8>> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut last_sync: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, deed) in deeds.iter().enumerate() {
        if let Deed::Sync { file } = deed {
            last_sync.insert(file, place);
        }
    }
    for (place, deed) in deeds.iter().enumerate() {
        match deed {
            Deed::Write { file, at, bytes } => {
                let synced = last_sync.get(file.as_str()).is_some_and(|sync| *sync > place);
                let arrived = if synced { bytes.len() } else { arrived(bytes.len(), chance) };
                let content = files.entry(file.clone()).or_default();
                if content.len() < at + arrived {
                    content.resize(at + arrived, 0);
                }
                let new = bytes.iter().take(arrived);
                content.iter_mut().skip(*at).zip(new).for_each(|(old, new)| *old = *new);
            }
            // The order of metadata is the file system's business: it comes as it was asked for.
            Deed::Truncate { file, length } => files.entry(file.clone()).or_default().resize(*length, 0),
            Deed::Remove { file } => drop(files.remove(file)),
            Deed::Sync { .. } | Deed::Start => {}
        }
    }
    files
}

/// Number of bytes of an unsynced write that have arrived: none, all, or some sectors.
fn arrived(length: usize, chance: &mut Chance) -> usize {
    match chance.below(3) {
        0 => 0,
        1 => length,
        _ => (chance.below(length as u64 + 1) as usize / SECTOR * SECTOR).min(length),
    }
}

/// Parses a trace into deeds, in order. An interrupted call takes two lines: a write counts from its first line, a sync from
/// its second one, when it has returned, and a start from its first line if its second one reports success.
fn deeds(trace: &str) -> Vec<Deed> {
    /// A thread's interrupted call: a sync that may follow, or a start that may be struck out, by its place.
    enum Open {
        Sync(Deed),
        Start(usize),
    }
    let mut open: BTreeMap<&str, Open> = BTreeMap::new();
    let mut deeds: Vec<Option<Deed>> = Vec::new();
    for line in trace.lines() {
        let Some((thread, rest)) = line.trim_start().split_once(' ') else { continue };
        let rest = rest.trim_start();
        if let Some(resumed) = rest.strip_prefix("<... ") {
            let good = resumed.ends_with("= 0");
            match open.remove(thread) {
                Some(Open::Sync(sync)) if good => deeds.push(Some(sync)),
                Some(Open::Start(place)) if !good => drop(deeds.get_mut(place).and_then(Option::take)),
                _ => {}
            }
            continue;
        }
        let Some(deed) = deed(rest) else { continue };
        let unfinished = rest.ends_with("<unfinished ...>");
        if unfinished && matches!(deed, Deed::Sync { .. }) {
            open.insert(thread, Open::Sync(deed));
            continue;
        }
        if unfinished && deed == Deed::Start {
            open.insert(thread, Open::Start(deeds.len()));
        }
        deeds.push(Some(deed));
    }
    let mut deeds: Vec<Deed> = deeds.into_iter().flatten().collect();
    // The first start is that of the binary itself.
    let own = deeds.iter().position(|deed| *deed == Deed::Start);
    if let Some(own) = own {
        deeds.remove(own);
    }
    deeds
}

fn deed(line: &str) -> Option<Deed> {
    let (call, args) = line.split_once('(')?;
    if call == "execve" {
        return started_tool(args).then_some(Deed::Start);
    }
    let text = args.split('"').nth(1).map(plain).unwrap_or_default();
    let place = if call == "unlink" { text } else { plain_path(args)? };
    let file = FILES.iter().find(|file| Path::new(&place).file_name().is_some_and(|name| name == **file))?;
    let file = (*file).to_owned();
    // `7<path>, "bytes", length, offset) = n`, `7<path>, length) = 0`
    let numbers: Vec<usize> = args
        .rsplit('"')
        .next()?
        .split(')')
        .next()?
        .split(',')
        .filter_map(|word| word.split_whitespace().next()?.parse().ok())
        .collect();
    Some(match call {
        "pwrite64" => {
            let bytes = bytes(args.split('"').nth(1)?)?;
            Deed::Write { file, at: *numbers.last()?, bytes }
        }
        "ftruncate" => Deed::Truncate { file, length: *numbers.last()? },
        "unlink" => Deed::Remove { file },
        "fsync" | "fdatasync" => Deed::Sync { file },
        _ => return None,
    })
}

/// Only the start of a tool's own shell, not what that starts, nor a check, nor the shell that waits to become the tool.
fn started_tool(args: &str) -> bool {
    let words: Vec<String> = args.split('"').skip(1).step_by(2).map(plain).collect();
    // A name that is looked for along PATH is tried in several folders: only the try that worked counts.
    let worked = !args.contains("= -1");
    let own = words.first().is_some_and(|program| PathBuf::from(program).ends_with("windlass"));
    let waits = words.iter().any(|word| word.starts_with(WAITING));
    worked && (own || !waits && words.iter().any(|word| word == "tool.sh"))
}

/// The path of a descriptor: strace escapes it as it does all texts.
fn plain_path(args: &str) -> Option<String> {
    let (_, rest) = args.split_once('<')?;
    Some(plain(rest.split_once('>')?.0))
}

/// A text in which every byte is written as `\xNN`.
fn bytes(text: &str) -> Option<Vec<u8>> {
    text.split("\\x").skip(1).map(|digits| u8::from_str_radix(digits, 16).ok()).collect()
}

fn plain(text: &str) -> String {
    if !text.contains("\\x") {
        return text.to_owned();
    }
    String::from_utf8_lossy(&bytes(text).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Deed, deeds, left};
    use crate::chance::Chance;

    /// The fourth line is a shell that waits, `sh -c "IFS= read -r _ " sh tool.sh`: not a start yet.
    const TRACE: &str = r#"10 execve("\x2f\x77\x69\x6e\x64\x6c\x61\x73\x73", ["\x78"], 0x7ff /* 5 vars */) = 0
11 pwrite64(7</x/log.db-wal>, "\x01\x02", 2, 4) = 2
12 pwrite64(5</x/log.db-shm>, "\x01\x02", 2, 4) = 2
12 execve("\x73\x68", ["\x73\x68", "\x2d\x63", "\x49\x46\x53\x3d\x20\x72\x65\x61\x64\x20\x2d\x72\x20\x5f\x20\x26\x26\x20\x65\x78\x65\x63", "\x73\x68", "\x74\x6f\x6f\x6c\x2e\x73\x68"], 0x7ff /* 5 vars */) = 0
11 fdatasync(7</x/log.db-wal> <unfinished ...>
12 execve("\x73\x68", ["\x73\x68", "\x74\x6f\x6f\x6c\x2e\x73\x68"], 0x7ff /* 5 vars */) = -1 ENOENT
13 execve("\x73\x68", ["\x73\x68", "\x74\x6f\x6f\x6c\x2e\x73\x68"], 0x7ff /* 5 vars */ <unfinished ...>
11 <... fdatasync resumed>) = 0
13 <... execve resumed>) = -1 ENOENT (No such file or directory)
12 execve("\x73\x68", ["\x73\x68", "\x74\x6f\x6f\x6c\x2e\x73\x68"], 0x7ff /* 5 vars */) = 0
11 ftruncate(7</x/log.db-wal>, 5) = 0
11 unlink("\x2f\x78\x2f\x6c\x6f\x67\x2e\x64\x62\x2d\x77\x61\x6c") = 0
"#;

    #[test]
    fn a_record_is_read_in_order_and_a_sync_counts_when_it_has_come_back() {
        let file = || "log.db-wal".to_owned();
        let expected = [
            Deed::Write { file: file(), at: 4, bytes: vec![1, 2] },
            Deed::Sync { file: file() },
            Deed::Start,
            Deed::Truncate { file: file(), length: 5 },
            Deed::Remove { file: file() },
        ];
        assert_eq!(deeds(TRACE), expected);
    }

    #[test]
    fn what_was_synced_is_there_and_of_the_rest_any_part() {
        let all = deeds(TRACE);
        let at = |count: usize, seed: u64| left(&all[..count], &mut Chance::new(seed)).remove("log.db-wal");
        let lengths: Vec<_> = (0..50).map(|seed| at(1, seed).unwrap().len()).collect();
        assert!(lengths.contains(&4) && lengths.contains(&6), "{lengths:?}");
        assert!((0..50).all(|seed| at(3, seed).unwrap() == [0, 0, 0, 0, 1, 2]));
        assert_eq!(at(4, 1).unwrap(), [0, 0, 0, 0, 1]);
        assert_eq!(at(5, 1), None);
    }
}
