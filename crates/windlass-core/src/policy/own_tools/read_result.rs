//! The tool that reads stored payloads.

use std::sync::OnceLock;

use serde_json::json;

use crate::vocabulary::payload::READ_RESULT;
use crate::vocabulary::tool::{ToolKind, ToolSpec};

/// The most bytes that one call of [`READ_RESULT`] gives.
pub const READ_MOST: u64 = 32_768;

/// Default number of bytes that a [`READ_RESULT`] call returns.
pub const READ_USUAL: u64 = 8_192;

/// The tool that reads stored payloads, as models are told of it.
pub fn read_result() -> &'static ToolSpec {
    static SPEC: OnceLock<ToolSpec> = OnceLock::new();
    SPEC.get_or_init(|| {
        let parameters = json!({
            "type": "object",
            "properties": {
                "handle": { "type": "string", "description": "The handle that stands where the text was cut." },
                "offset": { "type": "integer", "minimum": 0, "default": 0,
                    "description": "The byte to begin with, from 0." },
                "length": { "type": "integer", "minimum": 1, "maximum": READ_MOST, "default": READ_USUAL,
                    "description": "How many bytes." },
            },
            "required": ["handle"],
            "additionalProperties": false,
        });
        let about = "Reads a part of a long result of which only the beginning and the end were shown.";
        let mut spec = ToolSpec::read_only(READ_RESULT, about, parameters);
        (spec.kind, spec.origin) = (ToolKind::Read, "windlass".into());
        spec
    })
}
