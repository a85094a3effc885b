//! Owns the forms of OpenAI's own tools in the Responses API.
//!
//! Sources: OpenAI API reference, "Create a model response", `tools` and `include`; the guides "Web search", "Code Interpreter",
//! "File search", "Image generation" and "Tool search".

use windlass_core::tool::HostedTool;

use crate::ModelRequest;
use crate::wires::HostedForm;

pub(super) const HOSTED: &[HostedForm] = &[
    HostedForm::plain(HostedTool::WebSearch, r#"{"type":"web_search"}"#),
    HostedForm::plain(HostedTool::Code, r#"{"type":"code_interpreter","container":{"type":"auto"}}"#),
    HostedForm::plain(HostedTool::FileSearch, r#"{"type":"file_search"}"#),
    HostedForm::plain(HostedTool::Image, r#"{"type":"image_generation"}"#),
    HostedForm::plain(HostedTool::ToolSearch, r#"{"type":"tool_search"}"#),
];

/// The parts of a reply that are left out unless a request includes them: sources and results of the tools.
pub(super) fn included(request: &ModelRequest) -> impl Iterator<Item = &'static str> {
    request.hosted().filter_map(|(_, hosted)| match hosted.tool {
        HostedTool::WebSearch => Some("web_search_call.action.sources"),
        HostedTool::Code => Some("code_interpreter_call.outputs"),
        HostedTool::FileSearch => Some("file_search_call.results"),
        HostedTool::Url
        | HostedTool::Image
        | HostedTool::ToolSearch
        | HostedTool::Computer
        | HostedTool::Mcp
        | HostedTool::Other => None,
    })
}
