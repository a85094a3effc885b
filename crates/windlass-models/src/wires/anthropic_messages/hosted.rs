//! Owns the forms of Anthropic's own tools.
//!
//! Sources: Claude docs, "Web search tool", "Web fetch tool", "Code execution tool" and "Tool search tool".

use windlass_core::tool::HostedTool;

use crate::wires::HostedForm;

pub(super) const HOSTED: &[HostedForm] = &[
    HostedForm::plain(HostedTool::WebSearch, r#"{"type":"web_search_20250305","name":"web_search"}"#),
    HostedForm::plain(HostedTool::Url, r#"{"type":"web_fetch_20250910","name":"web_fetch"}"#)
        .beta("web-fetch-2025-09-10"),
    HostedForm::plain(HostedTool::Code, r#"{"type":"code_execution_20250825","name":"code_execution"}"#)
        .beta("code-execution-2025-08-25"),
    HostedForm::plain(
        HostedTool::ToolSearch,
        r#"{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}"#,
    )
    .beta("advanced-tool-use-2025-11-20"),
];
