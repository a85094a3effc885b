//! `windlass models list`: the providers, those first that can be used.

use futures_util::future::join;
use serde_json::json;
use windlass_models::choose_auto;

use crate::commands::doctor::{Finding, Lack, providers};
use crate::failure::{Exit, Failure};
use crate::home;
use crate::out;
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
    out::pairs(&usable.iter().map(|finding| finding.row()).collect::<Vec<_>>(), INDENT)?;
    out::item(&format!("`auto` is {} ({})", auto.name, auto.reason), INDENT)?;
    show_others(&others)?;
    Ok(Exit::Good)
}

/// The models that cannot be used, with the thing that each lacks.
fn show_others(findings: &[&Finding]) -> std::io::Result<()> {
    let (lacking, broken): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().copied().partition(|finding| finding.lack().is_some());
    if !broken.is_empty() {
        out::line("set up, and not usable")?;
        let indent = " ".repeat(INDENT);
        let mut faults = broken.iter().map(|finding| format!("{indent}{}", finding.fault()));
        faults.try_for_each(|fault| out::item(&fault, 2 * INDENT))?;
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
    headed("usable once its server runs here", &servers)?;
    let keys = pick(|lack| match lack {
        Lack::Variable(names) => Some(names),
        Lack::Server(_) | Lack::Model => None,
    });
    headed("usable once a variable is set", &keys)
}

/// Rows under a heading, if there are any.
fn headed(heading: &str, rows: &[[String; 2]]) -> std::io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    out::line(heading)?;
    out::pairs(rows, INDENT)
}
