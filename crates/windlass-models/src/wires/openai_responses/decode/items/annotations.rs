//! Owns what items say of tools that the provider runs, and parts of text of their sources (API reference, "The response object").

use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::message::{Citation, HostedStep, HostedTool, Source, Span, TokenLogprob};

use super::super::super::shapes::Fields;
use crate::Cited;
use crate::model::annotation::in_bytes;
use crate::wires::annotations::{WireToken, input, json, lines, list, number, page, text};

/// Fields that are large, and say nothing that is told of a step.
const DATA: [&str; 1] = ["result"];

/// The step that an item is a part of; `None`: it is none.
pub(super) fn step(item: &Fields<'_>) -> Option<HostedStep> {
    let kind = item.text("type")?;
    let tool = match &*kind {
        "web_search_call" => HostedTool::WebSearch,
        "file_search_call" => HostedTool::FileSearch,
        "code_interpreter_call" | "shell_call" | "shell_call_output" => HostedTool::Code,
        "image_generation_call" => HostedTool::Image,
        "mcp_call" => HostedTool::Mcp,
        "tool_search_call" | "tool_search_output" => HostedTool::ToolSearch,
        "computer_call" => HostedTool::Computer,
        other if other.ends_with("_call") => HostedTool::Other,
        _ => return None,
    };
    let whole: Value = serde_json::from_str(item.without(&DATA)?.get()).ok()?;
    let mut step = HostedStep {
        id: text(&whole, "call_id").or_else(|| text(&whole, "id")),
        tool,
        failed: text(&whole, "status").is_some_and(|status| &*status == "failed"),
        ..HostedStep::default()
    };
    match tool {
        HostedTool::WebSearch => searched(&mut step, whole.get("action").unwrap_or(&Value::Null)),
        HostedTool::FileSearch => {
            step.input = lines(list(&whole, "queries").iter().map(json));
            step.output = lines(list(&whole, "results").iter().map(|found| text(found, "text")));
            step.sources = list(&whole, "results").iter().map(file).collect();
        }
        HostedTool::Code => ran(&mut step, &whole),
        HostedTool::Image => step.input = text(&whole, "revised_prompt"),
        HostedTool::Mcp => {
            let name = [text(&whole, "server_label"), text(&whole, "name")];
            step.name = Some(name.into_iter().flatten().collect::<Vec<_>>().join(".").into());
            step.input = text(&whole, "arguments").filter(|args| &**args != "{}");
            let error = whole.get("error").and_then(json);
            step.failed |= error.is_some();
            step.output = error.or_else(|| text(&whole, "output"));
        }
        HostedTool::ToolSearch => {
            step.input = whole.get("arguments").and_then(|args| input(tool, args));
            step.output = lines(list(&whole, "tools").iter().map(|found| text(found, "name")));
        }
        HostedTool::Computer => step.input = whole.get("action").or(whole.get("actions")).and_then(json),
        HostedTool::Url | HostedTool::Other => step.name = Some(kind.trim_end_matches("_call").into()),
    }
    Some(step)
}

/// A search, or a page that was opened or looked through ("Web search", "Output and citations").
fn searched(step: &mut HostedStep, action: &Value) {
    let queries = || lines(list(action, "queries").iter().map(json));
    step.input = text(action, "query").or_else(queries);
    step.sources = list(action, "sources").iter().map(page).filter(|page| page.url.is_some()).collect();
    if let Some(url) = text(action, "url") {
        step.tool = HostedTool::Url;
        match text(action, "pattern") {
            Some(pattern) => {
                step.sources.push(Source { url: Some(url), ..Source::default() });
                step.input = Some(pattern);
            }
            None => step.input = Some(url),
        }
    }
}

/// Code in a container, or commands in a shell.
fn ran(step: &mut HostedStep, whole: &Value) {
    let commands = whole.get("action").map_or(&[][..], |action| list(action, "commands"));
    step.input = text(whole, "code").or_else(|| lines(commands.iter().map(json)));
    let results = list(whole, "outputs").iter().chain(list(whole, "output"));
    let outputs = results.clone().flat_map(|one| ["logs", "stdout", "stderr"].map(|name| text(one, name)));
    step.output = lines(outputs);
    step.failed |= results.filter_map(|one| one.get("outcome")).any(|outcome| {
        outcome.get("type").is_some_and(|kind| kind == "timeout")
            || outcome.get("exit_code").is_some_and(|code| *code != 0)
    });
}

fn file(of: &Value) -> Source {
    Source { title: text(of, "filename"), url: None, file: text(of, "file_id") }
}

/// The citations of a part of text that begins at that byte of its item. The API counts characters.
pub(super) fn citations(annotations: &str, part: &str, begin: usize) -> Vec<Cited> {
    let all: Vec<Value> = serde_json::from_str(annotations).unwrap_or_default();
    let span = |one: &Value| Some(Span(number(one, "start_index")?, number(one, "end_index")?));
    let cited = all.iter().map(|one| {
        let source = if one.get("url").is_some() { page(one) } else { file(one) };
        Cited { citation: Citation { span: span(one), source, ..Citation::default() }, ..Cited::default() }
    });
    let mut cited: Vec<Cited> = cited.filter(|cited| !cited.citation.source.is_empty()).collect();
    in_bytes(cited.iter_mut().map(|cited| &mut cited.citation.span), part);
    cited.into_iter().map(|cited| moved(cited, begin)).collect()
}

/// The same with its place in the whole text, in which its item begins at that byte.
pub(super) fn moved(mut cited: Cited, begin: usize) -> Cited {
    let span = cited.citation.span.as_mut();
    if let Some(Span(from, to)) = span {
        (*from, *to) = (*from + begin, *to + begin);
    }
    cited
}

/// The tokens of a part of text.
pub(super) fn tokens(list: &RawValue) -> Vec<TokenLogprob> {
    let tokens: Vec<WireToken> = serde_json::from_str(list.get()).unwrap_or_default();
    tokens.into_iter().filter_map(WireToken::read).collect()
}
