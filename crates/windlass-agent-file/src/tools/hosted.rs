//! Tools that the model's provider runs: their names in agent files, and the provider's options of them.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::VariantAccess;
use serde_json::{Map, Value};
use windlass_core::tool::{Hosted, HostedTool};

use crate::catalogue::Catalogue;
use crate::kinds::OrNothing;
use crate::overrides::Overrides;
use crate::yaml::{At, Place, YamlError};

/// A tool that the model's provider runs.
#[derive(Clone, Debug)]
pub struct HostedEntry {
    /// The tool, with the provider's options of it.
    pub hosted: Hosted,
    /// Position of the entry.
    pub place: Place,
}

/// A tool of the provider with its options.
#[derive(Clone, Debug)]
pub(crate) struct HostedChoice(Hosted);

impl Catalogue for HostedChoice {
    const WHAT: &'static str = "hosted tool";
    const UNKNOWN: &'static str = "agent.unknown_hosted";
    const DEFINITIONS: [&'static str; 2] = ["hosted", "hostedOptions"];

    type Entry = HostedTool;
    const NAMES: &'static [(&'static str, HostedTool)] = &[
        ("web_search", HostedTool::WebSearch),
        ("url", HostedTool::Url),
        ("code", HostedTool::Code),
        ("file_search", HostedTool::FileSearch),
        ("image", HostedTool::Image),
        ("tool_search", HostedTool::ToolSearch),
    ];

    fn options(_: HostedTool, _: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["object", "null"], "description": "The provider's own options, as its API names them." })
    }

    fn read<'de, A: VariantAccess<'de>>(tool: HostedTool, options: A) -> Result<Self, A::Error> {
        let OrNothing(options) = options.newtype_variant::<OrNothing<Map<String, Value>>>()?;
        Ok(Self(Hosted { tool, options }))
    }
}

/// The entry of a choice. `outer`: the settings beside it, of which there may be none.
pub(super) fn entry(choice: &At<HostedChoice>, outer: &Overrides) -> Result<HostedEntry, YamlError> {
    if outer.is_empty() {
        return Ok(HostedEntry { hosted: choice.value.0.clone(), place: choice.place });
    }
    let message =
        format!("`{}` is run by the provider: it takes none of our settings for tools", choice.path);
    Err(choice.error("agent.hosted", message).with_help(
        "the provider's own options stand below the tool's name: `hosted: { web_search: { max_uses: 3 } }`",
    ))
}

#[cfg(test)]
mod tests {
    use windlass_core::tool::HostedTool;

    use super::*;

    #[test]
    fn agent_files_name_tools_as_runs_do() {
        // No API is asked for the others yet.
        let others = [HostedTool::Computer, HostedTool::Mcp, HostedTool::Other];
        let offered = HostedTool::ALL.iter().filter(|tool| !others.contains(tool));
        let named: Vec<_> = offered.map(|tool| (tool.name(), *tool)).collect();
        assert_eq!(HostedChoice::NAMES, named);
    }
}
