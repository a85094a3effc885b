//! Output for each case.

use serde_json::json;
use windlass_read::words::{LINE_CHARS, count, cut};
use windlass_testing::{CaseFailure, CaseReport};

use super::files::{Broken, Found};
use crate::failure::{Exit, Failure};
use crate::home::quoted;
use crate::out;

/// Maximum number of passes listed per difference.
const PASSES_NAMED: usize = 4;

/// Result of a case.
#[derive(Debug)]
pub(super) enum End {
    /// It was run.
    Ran(CaseReport),
    /// It is not written as it should be.
    Broken(Broken),
    /// The runner itself broke.
    Panicked(String),
}

/// Tells of cases, one after another.
#[derive(Debug)]
pub(super) struct Reporter {
    json: bool,
    logs: bool,
    /// The flags that stand in the command for a failing seed.
    modes: &'static str,
    passed: usize,
    failed: usize,
    /// Number of passes over all cases.
    passes: usize,
    /// Number of restarts from the log over all passes.
    restarts: usize,
}

impl Reporter {
    pub(super) fn new(json: bool, logs: bool, modes: &'static str) -> Self {
        Self { json, logs, modes, passed: 0, failed: 0, passes: 0, restarts: 0 }
    }

    /// The command that runs a seed again.
    fn command(&self, case: &Found, seed: u64) -> String {
        let (file, name) = (quoted(&case.file.display().to_string()), quoted(&case.name));
        format!("windlass test {file} --only {name}{} --seed {seed}", self.modes)
    }

    pub(super) fn case(&mut self, case: &Found, end: &End) -> Result<(), Failure> {
        let passed = end.report().is_some_and(CaseReport::passed);
        if passed {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
        if let Some(report) = end.report() {
            self.passes += report.passes;
            self.restarts += report.restarts;
        }
        if self.json {
            out::json(&self.as_json(case, end, passed))?;
        } else {
            self.as_text(case, end, passed)?;
        }
        Ok(())
    }

    /// The sums, alone on their line.
    pub(super) fn close(self) -> Result<Exit, Failure> {
        if self.json {
            out::json(&json!({
                "type": "sums", "passed": self.passed, "failed": self.failed,
                "passes": self.passes, "restarts": self.restarts,
            }))?;
        } else {
            let passes = if self.passes == 1 { "pass" } else { "passes" };
            let restarts = match self.restarts {
                0 => String::new(),
                some => format!(", {}", count(some as u64, "restart")),
            };
            out::line(format_args!(
                "{} passed, {} failed ({} {passes}{restarts})",
                self.passed, self.failed, self.passes
            ))?;
        }
        Ok(if self.failed == 0 { Exit::Good } else { Exit::Failed })
    }

    fn as_text(&self, case: &Found, end: &End, passed: bool) -> std::io::Result<()> {
        let word = if passed { "ok    " } else { "FAILED" };
        let line =
            if let End::Broken(faults) = end { faults.first().and_then(|fault| fault.line) } else { None };
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        out::line(format_args!("{word} {}{line}: {}", case.file.display(), cut(&case.name, LINE_CHARS)))?;
        match end {
            End::Ran(report) => {
                for (failure, passes) in together(&report.failures) {
                    let grouped = CaseFailure { pass: passes, ..failure.clone() };
                    out::line(grouped.to_string().trim_end())?;
                    if let Some(seed) = failure.seed {
                        out::line(format_args!("    again: {}", self.command(case, seed)))?;
                    }
                }
                if self.logs {
                    for event in &report.log {
                        out::line(format_args!("  {event}"))?;
                    }
                }
            }
            End::Broken(faults) => {
                for (place, fault) in faults.iter().enumerate() {
                    out::line(format_args!("  {}", fault.message.replace('\n', "\n  ")))?;
                    let next = faults.get(place + 1).and_then(|next| next.help.as_ref());
                    // Equal hints are shown once, after the last of their errors.
                    if let Some(help) = fault.help.as_ref().filter(|help| next != Some(help)) {
                        out::line(format_args!("  hint: {help}"))?;
                    }
                }
            }
            End::Panicked(words) => out::line(format_args!("  the runner panicked: {words}"))?,
        }
        Ok(())
    }

    fn as_json(&self, case: &Found, end: &End, passed: bool) -> serde_json::Value {
        let mut line = json!({ "type": "case", "file": case.file, "name": case.name, "passed": passed });
        let fields = match end {
            End::Ran(report) => {
                let failures: Vec<_> = report
                    .failures
                    .iter()
                    .map(|failure| {
                        let again = failure.seed.map(|seed| self.command(case, seed));
                        json!({ "pass": failure.pass, "seed": failure.seed, "again": again,
                            "difference": failure.differences.first(), "differences": failure.differences, "log": failure.log, "request": failure.request })
                    })
                    .collect();
                let log = self.logs.then_some(&report.log);
                json!({ "passes": report.passes, "restarts": report.restarts, "failures": failures, "log": log })
            }
            End::Broken(faults) => {
                let errors: Vec<_> = faults
                    .iter()
                    .map(|fault| json!({ "line": fault.line, "error": fault.message, "help": fault.help }))
                    .collect();
                // The first one also stands beside the name.
                let mut fields = errors.first().cloned().unwrap_or_default();
                if let Some(fields) = fields.as_object_mut() {
                    fields.insert("errors".to_owned(), errors.into());
                }
                fields
            }
            End::Panicked(words) => json!({ "error": format!("the runner panicked: {words}") }),
        };
        if let (Some(line), serde_json::Value::Object(fields)) = (line.as_object_mut(), fields) {
            line.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        }
        line
    }
}

/// Passes that fall short in the same way are told of once.
fn together(failures: &[CaseFailure]) -> Vec<(&CaseFailure, String)> {
    let mut groups: Vec<Vec<&CaseFailure>> = Vec::new();
    for failure in failures {
        let same = |group: &&mut Vec<&CaseFailure>| {
            group
                .first()
                .is_some_and(|first| first.differences == failure.differences && first.log == failure.log)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(failure),
            None => groups.push(vec![failure]),
        }
    }
    groups.into_iter().filter_map(named).collect()
}

fn named(group: Vec<&CaseFailure>) -> Option<(&CaseFailure, String)> {
    let mut names: Vec<_> = group.iter().take(PASSES_NAMED).map(|failure| failure.pass.clone()).collect();
    if group.len() > PASSES_NAMED {
        names.push(format!("{} more", group.len() - PASSES_NAMED));
    }
    Some((group.into_iter().next()?, names.join("; ")))
}
