//! `windlass models list`: the providers, those first that can be used.

use futures_util::future::join;
use serde_json::json;
use windlass_models::choose_auto;

use crate::commands::doctor::{Finding, Lack, providers};
use crate::failure::{Exit, Failure};
use crate::home;
use crate::out;
use crate::view::table::aligned;
use crate::waiting::awaited;

/// Indentation of what stands below a heading.
const INDENT: usize = 2;

pub(super) async fn run(as_json: bool) -> Result<Exit, Failure> {
    let asked = join(providers(), choose_auto(&home::env));
    let (mut findings, auto) = awaited("the providers", asked).await;
    // Among the others the order stays as it is.
    findings.sort_by_key(|finding| !finding.is_usable());
    if as_json {
        for finding in &findings {
            let mut value = finding.json();
            if let Some(fields) = value.as_object_mut() {
                fields.insert("usable".to_owned(), finding.is_usable().into());
            }
            out::json(&value)?;
        }
        out::json(&json!({ "type": "auto", "name": auto.name, "reason": auto.reason }))?;
        return Ok(Exit::Good);
    }
    let (usable, others): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| finding.is_usable());
    out::line("usable")?;
    let rows: Vec<_> = usable.iter().map(|finding| finding.row()).collect();
    indented(&aligned(&rows))?;
    out::item(&format!("`auto` is {} ({})", auto.name, auto.reason), INDENT)?;
    show_others(&others)?;
    Ok(Exit::Good)
}

/// What cannot be used, with what each lacks.
fn show_others(findings: &[&Finding]) -> std::io::Result<()> {
    let (lacking, broken): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().copied().partition(|finding| finding.lack().is_some());
    if !broken.is_empty() {
        out::line("set up, and not usable")?;
        indented(&broken.iter().map(|finding| finding.fault()).collect::<Vec<_>>())?;
    }
    let pick = |of: fn(&Lack) -> Option<&str>| -> Vec<[String; 2]> {
        let row = |finding: &&Finding| Some([finding.what().to_owned(), of(finding.lack()?)?.to_owned()]);
        lacking.iter().filter_map(row).collect()
    };
    let servers = pick(|lack| match lack {
        Lack::Server(start) => Some(start),
        Lack::Model => Some("its server has no model"),
        Lack::Variable(_) => None,
    });
    if !servers.is_empty() {
        out::line("usable once its server runs here")?;
        indented(&aligned(&servers))?;
    }
    let keys = pick(|lack| match lack {
        Lack::Variable(names) => Some(names),
        Lack::Server(_) | Lack::Model => None,
    });
    if !keys.is_empty() {
        out::line("usable once a variable is set")?;
        let mut parts: Vec<_> =
            keys.iter().map(|[name, variables]| format!("{name} {variables}, ")).collect();
        if let Some(last) = parts.last_mut() {
            last.truncate(last.len() - ", ".len());
        }
        let parts = std::iter::once("  ").chain(parts.iter().map(String::as_str));
        out::items(&parts.collect::<Vec<_>>(), INDENT)?;
    }
    Ok(())
}

/// Lines under a heading.
fn indented(lines: &[String]) -> std::io::Result<()> {
    let indent = " ".repeat(INDENT);
    lines.iter().try_for_each(|line| out::item(&format!("{indent}{line}"), 2 * INDENT))
}
