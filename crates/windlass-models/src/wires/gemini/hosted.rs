//! Owns the forms of Google's own tools.
//!
//! Sources: Gemini API reference, `Tool`; the guides "Grounding with Google Search", "URL context", "Code execution" and "File Search".

use windlass_core::tool::HostedTool;

use crate::wires::HostedForm;

pub(super) const HOSTED: &[HostedForm] = &[
    HostedForm::under(HostedTool::WebSearch, r#"{"googleSearch":{}}"#, "googleSearch"),
    HostedForm::under(HostedTool::Url, r#"{"urlContext":{}}"#, "urlContext"),
    HostedForm::under(HostedTool::Code, r#"{"codeExecution":{}}"#, "codeExecution"),
    HostedForm::under(HostedTool::FileSearch, r#"{"fileSearch":{}}"#, "fileSearch"),
];
