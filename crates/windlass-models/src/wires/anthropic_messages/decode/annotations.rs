//! Owns what blocks say of server tools and of sources ("Server tools", "Citations", "MCP connector").

use serde_json::{Map, Value};
use windlass_core::message::{
    Citation, HostedStep, HostedTool, Media, MediaSource, Passage, PassageUnit, Source, Span,
};

use crate::Cited;
use crate::wires::annotations::{input, json, lines, list, number, page, text};

/// The end of the types of blocks with a result.
const RESULT: &str = "_tool_result";

/// The step that a block of the provider's own begins or ends; `None`: it is none.
pub(super) fn step(block: &Map<String, Value>) -> Option<HostedStep> {
    let kind = block.get("type")?.as_str()?;
    match kind {
        "server_tool_use" => {
            let name = text(block, "name")?;
            let tool = tool(&name);
            let args = block.get("input").unwrap_or(&Value::Null);
            let command = text(args, "command").filter(|_| &*name == "bash_code_execution");
            Some(HostedStep {
                id: text(block, "id"),
                tool,
                input: command.or_else(|| input(tool, args)),
                name: Some(name).filter(|name| !is_named_by_kind(tool, name)),
                ..HostedStep::default()
            })
        }
        "mcp_tool_use" => {
            let name = [text(block, "server_name"), text(block, "name")];
            Some(HostedStep {
                id: text(block, "id"),
                tool: HostedTool::Mcp,
                name: Some(name.into_iter().flatten().collect::<Vec<_>>().join(".").into()),
                input: block.get("input").and_then(json),
                ..HostedStep::default()
            })
        }
        _ => {
            let name = kind.strip_suffix(RESULT)?;
            let tool = tool(name);
            let mut step = HostedStep {
                id: text(block, "tool_use_id"),
                tool,
                name: Some(name).filter(|name| !is_named_by_kind(tool, name)).map(Into::into),
                failed: block.get("is_error") == Some(&Value::Bool(true)),
                ..HostedStep::default()
            };
            came_back(&mut step, block.get("content").unwrap_or(&Value::Null));
            Some(step)
        }
    }
}

/// Whether the kind of tool says as much as its name. A result of an MCP tool does not name it.
fn is_named_by_kind(tool: HostedTool, name: &str) -> bool {
    match tool {
        HostedTool::Code => name == "code_execution",
        HostedTool::Other => false,
        HostedTool::WebSearch
        | HostedTool::Url
        | HostedTool::FileSearch
        | HostedTool::Image
        | HostedTool::ToolSearch
        | HostedTool::Computer
        | HostedTool::Mcp => true,
    }
}

fn tool(name: &str) -> HostedTool {
    match name {
        "web_search" => HostedTool::WebSearch,
        "web_fetch" => HostedTool::Url,
        "mcp" => HostedTool::Mcp,
        name if name.starts_with("tool_search") => HostedTool::ToolSearch,
        name if name.ends_with("code_execution") => HostedTool::Code,
        _ => HostedTool::Other,
    }
}

/// Adds a result's content to its step: texts, output of programs, pages, names of tools, or an error.
fn came_back(step: &mut HostedStep, content: &Value) {
    if let Some(error) = text(content, "error_code") {
        (step.output, step.failed) = (Some(error), true);
        return;
    }
    step.failed |= content.get("return_code").and_then(Value::as_i64).is_some_and(|code| code != 0);
    let elements = content.as_array().map_or(&[][..], Vec::as_slice);
    let texts = elements.iter().map(|element| text(element, "text"));
    let document = content.get("content").unwrap_or(&Value::Null);
    let fetched = document.get("source").and_then(|source| text(source, "data"));
    let named = list(content, "tool_references").iter().map(|tool| text(tool, "tool_name"));
    let fields = ["text", "stdout", "stderr", "content"].map(|name| text(content, name));
    let changed = list(content, "lines").iter().map(json);
    step.output = lines(texts.chain(fields).chain([fetched]).chain(named).chain(changed));
    let pages = elements.iter().map(page).chain([Source { title: text(document, "title"), ..page(content) }]);
    step.sources.extend(pages.filter(|page| page.url.is_some()));
    step.sources.extend(files(content).map(|file| Source { file: Some(file), ..Source::default() }));
}

/// Ids of files that a program has made.
fn files(content: &Value) -> impl Iterator<Item = windlass_core::Text> {
    list(content, "content").iter().filter_map(|made| text(made, "file_id"))
}

/// The file that a block hands over from its container ("Code execution tool", `container_upload`).
pub(super) fn uploaded(block: &Map<String, Value>) -> Option<Media> {
    let is_file = block.get("type").is_some_and(|kind| kind == "container_upload");
    let id = text(block, "file_id").filter(|_| is_file)?;
    Some(Media {
        media_type: "application/octet-stream".into(),
        name: None,
        source: MediaSource::ProviderFile(id),
    })
}

/// The citations of a text block, which stands at this place in the text.
pub(super) fn citations(fields: &Map<String, Value>, span: Span) -> impl Iterator<Item = Cited> {
    let all = fields.get("citations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    all.iter().map(move |one| Cited {
        citation: Citation {
            span: Some(span),
            quote: text(one, "cited_text"),
            source: source(one),
            passage: passage(one),
        },
        ..Cited::default()
    })
}

fn source(citation: &Value) -> Source {
    let number = number(citation, "document_index").map(|index| format!("document {}", index + 1).into());
    Source {
        title: text(citation, "title").or_else(|| text(citation, "document_title")).or(number),
        url: text(citation, "url").or_else(|| text(citation, "source")),
        file: text(citation, "file_id"),
    }
}

/// Ends are exclusive ("Citations", "Citation indices").
fn passage(citation: &Value) -> Option<Passage> {
    let units = [
        (PassageUnit::Char, "start_char_index", "end_char_index"),
        (PassageUnit::Page, "start_page_number", "end_page_number"),
        (PassageUnit::Block, "start_block_index", "end_block_index"),
    ];
    units.into_iter().find_map(|(unit, from, to)| {
        let (from, to) = (number(citation, from)? as u64, number(citation, to)? as u64);
        Some(Passage { unit, from, to })
    })
}
