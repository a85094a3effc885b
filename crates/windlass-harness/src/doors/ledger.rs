//! The campaigns at the server's doors as a page.

use std::fmt::Write as _;
use std::path::Path;

use super::{Campaign, DoorsReport, Scale};
use crate::error::HarnessError;

const HEAD: &str = "\
# The server

What clients of every kind do to `windlass serve`, and what holds. This page is written by
`windlass-harness doors --write` (`--scale full`: with full counts), which drives the real binary with a scripted model behind it;
`.ci/run` plays a tenth of it again and compares the rows. `.ci/server-peers` is the part on real peers, below.

*As undisturbed* means: the events of the run's log are those of a run that nobody disturbed, without times and ids. *An unbroken
sequence* means: over all connections of a reader, each event of the log came once and in order, positions grew, and the pieces of a reply
that were not void are the reply. *One effect* means: the tool of a run, which must run once, left one receipt.

";

/// Text after the figures: what other programs have tried, and what is left out.
const REST: &str = include_str!("ledger.md");

impl Campaign {
    /// The work that is done, and the promises that hold.
    fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::Malformed => (
                "on every route of the server's document: bad JSON, wrong types, 100,000 levels, bodies over the limit (by length, in chunks, \
                 announced), bad chunks, half requests, wrong methods, content types, paths, queries and fields, a head and a body that come \
                 slowly, a sending side that ends, random bytes in good requests; heads that are none, 1,000 headers, headers and paths of a \
                 megabyte, garbage behind pipelined requests",
                "each has a reply with the one error body and a status below 500 (505 for another version of HTTP); the server lives",
            ),
            Self::Strangers => (
                "on every route: names that are not the server's, other origins (also before a request), no token, unknown tokens, another \
                 owner's token, a token without the verb, or for another agent; listings of other owners; forged approvals, invented results, \
                 messages of the system and fields of authority; addresses that point inside, in every writing",
                "each is refused with its own status; another owner's run cannot be told from one that is not there; no run or effect comes of it",
            ),
            Self::Twice => (
                "64 equal starts at once under one key; starts on their way when the server is killed (-9), repeated under their keys; the key \
                 with another body, and of another owner; answer, fork, steer, pause and cancel sent twice",
                "one run and one effect for each key, every reply names it; another body is a conflict",
            ),
            Self::Cut => (
                "the client is cut at every byte of the reply to a start and of a stream, by FIN, by RST and by silence; a proxy cuts at random \
                 bytes of either direction",
                "each log as undisturbed, one run for each key; who comes back with `Last-Event-ID` sees an unbroken sequence",
            ),
            Self::Restart => (
                "kill -9 at random while runs stream to readers, a quarter of them queued; SIGTERM in between",
                "each run is answered with one effect and each reader sees an unbroken sequence; two seconds after a start each run is running, \
                 queued, waiting or ended; one whose reply was lost again and again is seen to be given up, and `resume` takes it up; after SIGTERM the server ends well within its grace, and its runs go on at the next start",
            ),
            Self::Slow => (
                "500 readers that never read, of 10 runs that stream replies of 2 MB, beside good readers and clients that come and go",
                "in the mean, memory in the last third of the time is at most a tenth and 4 MiB above the second third, and never above 256 MiB; descriptors come back; good readers \
                 see everything, and are never left in silence",
            ),
        }
    }

    fn line(self) -> String {
        let (done, holds) = self.row();
        format!("| {} | {done} | {holds} |", self.name())
    }
}

impl DoorsReport {
    /// The page.
    pub fn page(&self) -> String {
        let mut page = HEAD.to_owned();
        page.push_str("| campaign | what is done | what holds |\n|---|---|---|\n");
        for campaign in Campaign::ALL {
            // Writing to a text cannot fail.
            let _written = writeln!(page, "{}", campaign.line());
        }
        let scale = match self.scale {
            Scale::Tenth => "a tenth",
            Scale::Full => "full counts",
        };
        let _written = writeln!(page, "\n## Figures\nSeed {}, {scale}:\n", self.seed);
        for (campaign, figures) in &self.figures {
            let _written = writeln!(page, "- {}: {figures}.", campaign.name());
        }
        page.push('\n');
        page.push_str(REST);
        page
    }

    /// Whether a page has the rows of these campaigns, figures of each, and what is written of real peers.
    ///
    /// # Errors
    /// [`HarnessError::Stale`] with the difference; the page cannot be read.
    pub fn check(&self, path: &Path) -> Result<(), HarnessError> {
        let text = std::fs::read_to_string(path).map_err(HarnessError::file("read", path))?;
        let mut difference = String::new();
        for campaign in Campaign::ALL {
            let line = campaign.line();
            if !text.lines().any(|found| found == line) {
                let _written = writeln!(difference, "+ {line}");
            }
            if !text.lines().any(|found| found.starts_with(&format!("- {}: ", campaign.name()))) {
                let _written = writeln!(difference, "+ figures of {}", campaign.name());
            }
        }
        if !text.starts_with(HEAD) || !text.ends_with(REST) {
            difference.push_str(
                "its beginning or end is not that of the harness (doors/ledger.rs, doors/ledger.md)\n",
            );
        }
        HarnessError::unless_same("doors", path, difference)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Campaign, DoorsReport, Scale};

    #[test]
    fn a_page_is_checked_by_its_rows_and_not_by_its_figures() {
        let report = |figures: &str| DoorsReport {
            seed: 7,
            scale: Scale::Tenth,
            figures: Campaign::ALL.map(|campaign| (campaign, figures.to_owned())).to_vec(),
        };
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("server.md");
        std::fs::write(&page, report("5 cuts").page()).unwrap();
        report("6 cuts").check(&page).unwrap();
        let text = std::fs::read_to_string(&page).unwrap();
        std::fs::write(&page, text.replace("| twice |", "| often |")).unwrap();
        let stale = report("5 cuts").check(&page).unwrap_err().to_string();
        assert!(stale.contains("+ | twice |") && !stale.contains("| cut |"), "{stale}");
        let without = text.replace("\n- slow: ", "\n- fast: ");
        std::fs::write(&page, without).unwrap();
        assert!(report("").check(&page).unwrap_err().to_string().contains("figures of slow"));
    }
}
