//! The matrix: which fault, where, and what came of it; as a page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::error::HarnessError;

/// Results: by fault and place, the outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    rows: BTreeMap<(String, String), Outcome>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outcome {
    then: BTreeSet<String>,
    afterwards: BTreeSet<String>,
}

const HEAD: &str = "\
# Faults

What Windlass makes of each fault at each place, and of attackers (below). This page is written by
`windlass-harness matrix --write`, which drives the real binary through all of it; `.ci/run` plays it again and compares.
If a fault has just hit you, read [operating.md](../operating.md#when-the-log-fails): it says what to do. In short: mend the cause, then
`windlass runs resume RUN`.

*The same end* means that the run ended as an undisturbed one, with each time: no event lost, none half-written, no finished effect
repeated, no doubt unasked. *It goes on* means that no process had to be started again. *Asked* means that the fault came while a call
with an effect was on its way that has no `check`: a person is asked what became of it.
*One chain* means that the head of the session is its last run, and that each run continues the whole of the one before.

By hand, once, in a release build beside other work (2026-11-27, `windlass-harness kills --count 20000 --seed 2311`, twelve lives
in the scenes): 20,011 kills of 27,540 processes in 1,002 s; 2,909 runs, all with the same end, 1,727 of them with a doubt that was
asked. Nothing was doubled. `windlass-harness senders --seed 2311`, 64 processes with 50 messages each to 8 sessions, under each of
`refuse`, `queue`, `steer` and `interrupt`, 3,927 kills: each sender that lived had one answer, the log agreed with it, a refused
message was in no log, and each session was one chain.

";

/// Text after the table. The harness does not play these rows; they name the tests that cover them.
const ATTACKERS: &str = include_str!("attackers.md");

impl Matrix {
    /// Notes what came of a fault: what the process did, and how the run went on.
    pub fn note(&mut self, fault: &str, place: &str, then: &str, afterwards: &str) {
        let outcome = self.rows.entry((fault.to_owned(), place.to_owned())).or_default();
        outcome.then.insert(then.to_owned());
        outcome.afterwards.insert(afterwards.to_owned());
    }

    /// Adds what another one has.
    pub fn merge(&mut self, other: Self) {
        for (key, outcome) in other.rows {
            let ours = self.rows.entry(key).or_default();
            ours.then.extend(outcome.then);
            ours.afterwards.extend(outcome.afterwards);
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn lines(&self) -> Vec<String> {
        let cell = |texts: &BTreeSet<String>| texts.iter().cloned().collect::<Vec<_>>().join("; or: ");
        let line = |((fault, place), outcome): (&(String, String), &Outcome)| {
            format!("| {fault} | {place} | {} | {} |", cell(&outcome.then), cell(&outcome.afterwards))
        };
        self.rows.iter().map(line).collect()
    }

    /// The page.
    pub fn page(&self) -> String {
        let mut page = HEAD.to_owned();
        page.push_str("| fault | place | what happens | afterwards |\n|---|---|---|---|\n");
        for line in self.lines() {
            // Writing to a text cannot fail.
            let _written = writeln!(page, "{line}");
        }
        page.push('\n');
        page.push_str(ATTACKERS);
        page
    }

    /// Whether a page has these rows and no others, and ends with what is written of attackers; rows of faults that were
    /// left out are not looked at.
    ///
    /// # Errors
    /// [`HarnessError::Stale`] with the difference; the page cannot be read.
    pub fn check(&self, path: &Path, left_out: &[&str]) -> Result<(), HarnessError> {
        let text = std::fs::read_to_string(path).map_err(HarnessError::file("read", path))?;
        let seen = self.lines();
        let played = |line: &&str| !left_out.iter().any(|fault| line.starts_with(&format!("| {fault} |")));
        let (text, attackers) = text.split_at(text.find("## Attackers").unwrap_or(text.len()));
        let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| fault |"));
        let there: Vec<&str> = rows.filter(played).collect();
        let mut difference = String::new();
        for line in there.iter().filter(|line| !seen.iter().any(|other| other == **line)) {
            let _written = writeln!(difference, "- {line}");
        }
        for line in seen.iter().filter(|line| !there.contains(&line.as_str())) {
            let _written = writeln!(difference, "+ {line}");
        }
        if attackers != ATTACKERS {
            difference
                .push_str("the part on attackers is not that of crates/windlass-harness/src/attackers.md\n");
        }
        HarnessError::unless_same("matrix", path, difference)
    }
}

#[cfg(test)]
mod tests {
    use super::Matrix;

    #[test]
    fn a_page_is_checked_row_by_row_in_both_directions() {
        let mut matrix = Matrix::default();
        matrix.note("killed", "write", "dies", "same end");
        matrix.note("killed", "write", "dies", "asked, same end");
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("faults.md");
        std::fs::write(&page, matrix.page()).unwrap();
        matrix.check(&page, &[]).unwrap();
        assert!(matrix.page().contains("| killed | write | dies | asked, same end; or: same end |"));
        matrix.note("EIO", "fsync", "error", "same end");
        let more = matrix.check(&page, &[]).unwrap_err().to_string();
        assert!(more.contains("+ | EIO | fsync |") && !more.contains("- |"), "{more}");
        let fewer = Matrix::default().check(&page, &[]).unwrap_err().to_string();
        assert!(fewer.contains("- | killed | write |"), "{fewer}");
        Matrix::default().check(&page, &["killed"]).unwrap();
        let written = std::fs::read_to_string(&page).unwrap();
        std::fs::write(&page, written.split_once("## Attackers").unwrap().0).unwrap();
        let without = Matrix::default().check(&page, &["killed"]).unwrap_err().to_string();
        assert!(without.contains("the part on attackers"), "{without}");
    }
}
