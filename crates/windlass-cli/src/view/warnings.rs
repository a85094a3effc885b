//! Tools of tool servers that cannot be used as the servers say, and patterns that match no tool.

use serde_json::{Value, json};
use windlass_runtime::agent_file::UnmatchedPattern;
use windlass_tools::ToolWarning;

use windlass_read::words::{count, cut};

/// Maximum number of warnings shown; a server may have a thousand tools.
const SHOWN: usize = 10;

/// Maximum number of characters of a warning.
const LINE_CHARS: usize = 600;

/// The lines for people: the first ones, and how many more there are.
pub(crate) fn lines(warnings: &[ToolWarning]) -> Vec<String> {
    let mut lines: Vec<_> = warnings.iter().take(SHOWN).map(|warning| line(&warning.to_string())).collect();
    if let Some(more @ 1..) = warnings.len().checked_sub(SHOWN) {
        let more = count(more as u64, "more warning");
        lines.push(format!("warning: {more} of this kind: `windlass tools list FILE --json` has all"));
    }
    lines
}

/// Servers choose the names in it: it stays on its line.
fn line(warning: &str) -> String {
    format!("warning: {}", cut(warning, LINE_CHARS))
}

/// One of them for programs.
pub(crate) fn value(warning: &ToolWarning) -> Value {
    let ToolWarning { server, tool, place, left_out, reason } = warning;
    json!({ "type": "warning", "server": server, "tool": tool, "place": place, "left_out": left_out, "reason": reason })
}

/// The line about a pattern for people.
pub(crate) fn pattern_line(pattern: &UnmatchedPattern) -> String {
    line(&pattern.to_string())
}

/// A pattern for programs.
pub(crate) fn pattern_value(unmatched: &UnmatchedPattern) -> Value {
    let UnmatchedPattern { agent, file, place, list, pattern, nearest, tools: _ } = unmatched;
    json!({
        "type": "warning", "agent": agent, "file": file, "line": place.map(|place| place.line),
        "column": place.map(|place| place.column), "key": list.path(), "pattern": pattern, "nearest": nearest,
        "reason": unmatched.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_many_such_tools_takes_a_few_lines() {
        let warning = |n: usize| ToolWarning {
            server: "s".to_owned(),
            tool: format!("s__{n}"),
            place: None,
            left_out: true,
            reason: "so".to_owned(),
        };
        let warnings: Vec<_> = (0..1000).map(warning).collect();
        assert_eq!(lines(&warnings).len(), SHOWN + 1);
        let last = lines(&warnings).pop().unwrap();
        assert_eq!(
            last,
            "warning: 990 more warnings of this kind: `windlass tools list FILE --json` has all"
        );
        let named = ToolWarning { tool: "bad\nwarning: \u{1b}[2Jline".to_owned(), ..warning(1) };
        let line = lines(&[named]).pop().unwrap();
        assert!(line.contains("bad warning: ") && !line.contains(['\n', '\u{1b}']), "{line}");
        assert_eq!(lines(warnings.get(..SHOWN).unwrap()).len(), SHOWN);
        assert!(lines(&[]).is_empty());
    }
}
