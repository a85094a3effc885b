//! The project's own scripted conversations, run as users run theirs: blocking, streaming, and once more with a restart
//! after every event; then with a cancel (E19), with a steering message (E21) and with a pause (P21) after every event. There is one test per file under `fixtures/`, so that a failure names the file.
//!
//! The event log of each case is a committed snapshot beside its file (`fixtures/**/snapshots/FILE.snap`), reviewed like
//! code: an event that moves shows in the diff. After a change that is meant, look at it and accept it:
//! `INSTA_UPDATE=always cargo nextest run -p windlass-testing --test it`, then `git diff fixtures`.

#![expect(clippy::unwrap_used, reason = "functions that only tests call may fail like tests")]

mod coverage;
mod edges;
mod features;
mod kit;
mod plans;
mod requests;
mod runner;
mod stored;
mod unscripted;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use windlass_testing::fixture::{Case, CaseError, FixtureFile};
use windlass_testing::{
    CaseReport, RunnerOptions, cancel_everywhere, pause_everywhere, run_case, steer_everywhere,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Under how many seeded schedules each case is run: `WINDLASS_SEEDS=10000 cargo nextest run -p windlass-testing --test it`
/// makes more.
fn seeds() -> u64 {
    std::env::var("WINDLASS_SEEDS").map_or(20, |count| count.parse().unwrap())
}

/// The program that runs the code of cases, beside this test binary.
fn with_code() {
    windlass_testing::code_program(env!("CARGO_BIN_EXE_windlass-testing-code"));
}

fn path_of(file: &str) -> PathBuf {
    root().join(file).with_extension("yaml")
}

/// The cases of a file; the error of one that cannot be read stands in its place.
fn cases_of(file: &str) -> Vec<Result<Case, CaseError>> {
    FixtureFile::read(&path_of(file)).unwrap().cases
}

/// The cases of a file with a cancel, with a steering message and with a pause after every event: one report each. They are run once
/// in a process, and the test of the file and the table of coverage share the reports.
fn disturbed(file: &str) -> &'static [CaseReport] {
    static DONE: [OnceLock<Vec<CaseReport>>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];
    let (_, done) = FILES.iter().zip(&DONE).find(|(known, _)| **known == file).unwrap();
    done.get_or_init(|| {
        // A case that cannot be read has failed with its file already.
        let cases = cases_of(file).into_iter().flatten();
        cases
            .flat_map(|case| [cancel_everywhere(&case), steer_everywhere(&case), pause_everywhere(&case)])
            .collect()
    })
}

/// The failures of a report, under the names of file and case.
fn failures<'r>(file: &'r str, report: &'r CaseReport) -> impl Iterator<Item = String> + 'r {
    report.failures.iter().map(move |failure| format!("{file}: {}\n{failure}", report.name))
}

/// Runs all cases of a file, then holds their logs against the snapshot.
fn hold(file: &str) {
    with_code();
    let path = path_of(file);
    let mut failed = Vec::new();
    let mut logs = String::new();
    for case in cases_of(file) {
        match case {
            Err(error) => failed.push(format!("{file}: {error}")),
            Ok(case) => {
                let report =
                    run_case(&case, RunnerOptions { crash: true, seeds: seeds(), ..Default::default() });
                failed.extend(failures(file, &report));
                writeln!(logs, "# {}", report.name).unwrap();
                let lines = if report.log.is_empty() { vec!["(refused)".to_owned()] } else { report.log };
                logs.push_str(&lines.join("\n"));
                logs.push_str("\n\n");
            }
        }
    }
    failed.extend(disturbed(file).iter().flat_map(|report| failures(file, report)));
    assert!(failed.is_empty(), "{} fell short\n{}", failed.len(), failed.join("\n"));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(path.parent().unwrap().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
    settings.bind(|| insta::assert_snapshot!(name, logs));
}

macro_rules! files {
    ($($name:ident => $file:literal),+ $(,)?) => {
        const FILES: &[&str] = &[$($file),+];

        $(#[test]
        fn $name() {
            hold($file);
        })+
    };
}

files! {
    edges_code => "edges/code",
    edges_history => "edges/history",
    plan_edges => "plan/edges",
    plan_conclusions => "plan/conclusions",
    plan_limits => "plan/limits",
    plan_loop => "plan/loop",
    plan_scenarios => "plan/scenarios",
    chat_agents => "chat/agents",
    chat_annotations => "chat/annotations",
    chat_basics => "chat/basics",
    chat_batches => "chat/batches",
    chat_choices => "chat/choices",
    chat_hosted => "chat/hosted",
    chat_inputs => "chat/inputs",
    chat_endings => "chat/endings",
    chat_reasoning => "chat/reasoning",
    chat_sessions => "chat/sessions",
    chat_settings => "chat/settings",
    chat_skills => "chat/skills",
    chat_by_schema => "chat/by_schema",
    chat_text_forms => "chat/text_forms",
    edges_always => "edges/always",
    edges_at_limit => "edges/at_limit",
    edges_delegation => "edges/delegation",
    edges_doubts => "edges/doubts",
    edges_bad_calls => "edges/bad_calls",
    edges_budgets => "edges/budgets",
    edges_context => "edges/context",
    edges_unscripted => "edges/unscripted",
    edges_crashes => "edges/crashes",
    edges_hedges => "edges/hedges",
    edges_fallbacks => "edges/fallbacks",
    edges_limits => "edges/limits",
    edges_mixed => "edges/mixed",
    edges_money => "edges/money",
    edges_payloads => "edges/payloads",
    edges_people => "edges/people",
    edges_receipts => "edges/receipts",
    edges_refused => "edges/refused",
    edges_routing => "edges/routing",
    edges_stalls => "edges/stalls",
    edges_stopping => "edges/stopping",
    edges_streams => "edges/streams",
    edges_summaries => "edges/summaries",
    edges_transport => "edges/transport",
    edges_waiting => "edges/waiting",
    refine_blackboard => "refine/blackboard",
    refine_edges => "refine/edges",
    refine_interrupts => "refine/interrupts",
    refine_iterations => "refine/iterations",
    refine_limits => "refine/limits",
    refine_loop => "refine/loop",
    refine_prompts => "refine/prompts",
    refine_views => "refine/views",
    edges_verify => "edges/verify",
    edges_wordings => "edges/wordings",
    text_delegation => "text/delegation",
    text_edges => "text/edges",
    text_loop => "text/loop",
    text_two_phases => "text/two_phases",
    typed_branches => "typed/branches",
    typed_by_schema => "typed/by_schema",
    typed_edges => "typed/edges",
    typed_caching => "typed/caching",
    typed_discovery => "typed/discovery",
    typed_loop => "typed/loop",
    typed_native => "typed/native",
    typed_services => "typed/services",
    typed_streaming => "typed/streaming",
    typed_usual => "typed/usual",
}

/// A file that nobody listed above would never be run.
#[test]
fn every_file_is_listed() {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "yaml") {
                let relative = path.strip_prefix(root()).unwrap().with_extension("");
                found.push(relative.to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    let mut listed: Vec<String> = FILES.iter().map(|file| (*file).to_owned()).collect();
    listed.sort();
    assert_eq!(found, listed);
}
