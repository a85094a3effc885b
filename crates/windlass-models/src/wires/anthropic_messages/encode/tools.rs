//! Owns tools and the choice among them.

use windlass_core::model::ToolChoice;

use super::schema::held_to;
use crate::ModelRequest;
use crate::wires::json::{field, json_string, json_value};
use crate::wires::tools::{Brackets, DEFERRED, offered};

/// `,"tools":[…]` of the offered tools; nothing if there is none. Calls of strict ones are held to the schemas ("Strict tool use").
pub(super) fn tools(request: &ModelRequest) -> Vec<u8> {
    offered(request.tools.iter(), false, Brackets::TOOLS, |out, tool| {
        out.push(b'{');
        tool.named(out);
        field(out, "input_schema");
        if request.is_strict(tool.spec) {
            json_value(out, &held_to(tool.schema()));
            out.extend_from_slice(b",\"strict\":true");
        } else {
            json_value(out, tool.schema());
        }
        if request.is_deferred(tool.spec) {
            out.extend_from_slice(DEFERRED);
        }
        out.push(b'}');
    })
}

/// The same tools, with a cache marker on the last one.
pub(super) fn marked(tools: &[u8], marker: &[u8]) -> Vec<u8> {
    let Some(all) = tools.strip_suffix(b"}]") else { return tools.to_vec() };
    [all, marker, b"}]"].concat()
}

/// Writes the choice. Once there are calls, tools stay in a request that forbids more: the provider's cache begins with them, and
/// the calls are of them.
pub(super) fn choice(out: &mut Vec<u8>, choice: &ToolChoice, parallel: Option<bool>) {
    let one = parallel == Some(false);
    match choice {
        ToolChoice::Auto if !one => return,
        ToolChoice::Auto => out.extend_from_slice(b",\"tool_choice\":{\"type\":\"auto\""),
        ToolChoice::None => {
            out.extend_from_slice(b",\"tool_choice\":{\"type\":\"none\"}");
            return;
        }
        // The API has no choice among some: the engine holds the model to it.
        ToolChoice::Required | ToolChoice::OneOf(_) => {
            out.extend_from_slice(b",\"tool_choice\":{\"type\":\"any\"");
        }
        ToolChoice::Named(name) => {
            out.extend_from_slice(b",\"tool_choice\":{\"type\":\"tool\",\"name\":");
            json_string(out, name);
        }
    }
    if one {
        out.extend_from_slice(b",\"disable_parallel_tool_use\":true");
    }
    out.push(b'}');
}
