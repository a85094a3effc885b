//! Owns the forms of the search that some servers of Chat Completions run: members of the request, not of its tools.
//!
//! Sources: OpenAI API reference, `web_search_options`; OpenRouter, "Web Search" (`plugins`).

use windlass_core::tool::HostedTool;

use crate::ModelRequest;
use crate::wires::json::json_value;
use crate::wires::{Dialect, HostedForm, hosted};

/// All that servers of the wire may run. The quirks of a server say whether it does.
pub(super) const HOSTED: &[HostedForm] = &[SEARCH];

const SEARCH: HostedForm =
    HostedForm::under(HostedTool::WebSearch, r#"{"web_search_options":{}}"#, "web_search_options");

const PLUGIN: HostedForm = HostedForm::plain(HostedTool::WebSearch, r#"{"id":"web"}"#);

/// Why a server cannot be asked for the search; `None`: it can, or need not.
pub(super) fn refusal(dialect: &Dialect, request: &ModelRequest) -> Option<String> {
    if dialect.quirks.search_options || dialect.quirks.search_plugin {
        return None;
    }
    hosted::refusal(&[], request)
}

/// The member of the request that asks for the search, with a comma in front; nothing if none is wanted.
pub(super) fn write(out: &mut Vec<u8>, dialect: &Dialect, request: &ModelRequest) {
    let Some((_, hosted)) = request.hosted().find(|(_, hosted)| hosted.tool == HostedTool::WebSearch) else {
        return;
    };
    if dialect.quirks.search_plugin {
        out.extend_from_slice(b",\"plugins\":[");
        json_value(out, &PLUGIN.written(&hosted.options));
        out.push(b']');
    } else {
        let mut member = Vec::new();
        json_value(&mut member, &SEARCH.written(&hosted.options));
        if let [b'{', member @ .., b'}'] = member.as_slice() {
            out.push(b',');
            out.extend_from_slice(member);
        }
    }
}
