//! `windlass tools batch`: calls of tools by hand, one a line.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::message::Content;
use windlass_core::secret::mask_json;

use super::{Found, call, tools_of, unknown};
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::{out, stdin};

/// A line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    tool: String,
    arguments: Option<Value>,
}

/// Makes the calls one after another. A call that fails does not stop the others; then the exit code is 1.
pub(super) async fn run(file: &Path, interrupts: &mut Interrupts) -> Result<Exit, Failure> {
    out::calm(true);
    let lines = stdin::whole().map_err(|error| {
        Failure::new(Exit::BadFile, "cannot read the calls on stdin").cause(error.to_string())
    })?;
    let mut calls = Vec::new();
    for (number, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let read = serde_json::from_str::<Line>(line).map_err(|error| {
            let hint = "a line is {\"tool\": NAME, \"arguments\": {..}}";
            let what = format!("line {} on stdin is no call", number + 1);
            Failure::new(Exit::Usage, what).cause(error.to_string()).hint(hint)
        });
        calls.push(read?);
    }
    let found = interrupts.or(tools_of(file)).await??;
    let mut exit = Exit::Good;
    for Line { tool, arguments } in calls {
        let ended = one(&found, &tool, arguments, interrupts).await;
        let mut line = match ended {
            Ok(content) => json!({ "tool": tool, "result": content }),
            Err(failure) if failure.exit.is_left() || matches!(failure.exit, Exit::Cancelled) => {
                return Err(failure);
            }
            Err(failure) => {
                exit = Exit::Failed;
                json!({ "tool": tool, "error": failure.json() })
            }
        };
        mask_json(&mut line);
        out::json(&line)?;
    }
    Ok(exit)
}

async fn one(
    found: &Found,
    name: &str,
    arguments: Option<Value>,
    interrupts: &mut Interrupts,
) -> Result<Content, Failure> {
    let tool = found.tools.get(name).ok_or_else(|| unknown(name, &found.tools))?.clone();
    let used = interrupts.or(found.begin(&tool)).await??;
    let arguments = arguments.map_or_else(|| "{}".to_owned(), |arguments| arguments.to_string());
    let content = call(&found.file, &*tool, arguments, interrupts).await;
    if let Some(used) = used {
        used.end().await;
    }
    content
}
