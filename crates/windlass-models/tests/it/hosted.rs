//! Tools that providers run: how each wire's requests offer them, or that it refuses them. The table of docs/models.md is made of it.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_core::model::{ModelChoice, ToolChoice};
use windlass_core::tool::HostedTool;
use windlass_core::{Message, ToolSpec};
use windlass_models::wires::{Quirks, WIRES, Wire};
use windlass_models::{HttpModel, HttpModelConfig, Model as _, ModelRequest};

use crate::page;

fn model(wire: &'static dyn Wire, quirks: Quirks) -> HttpModel {
    let config = HttpModelConfig::new(wire, "x", "http://127.0.0.1:9");
    HttpModel::new(HttpModelConfig { quirks, ..config }).expect("a model")
}

fn options(options: &Value) -> Map<String, Value> {
    options.as_object().expect("an object").clone()
}

fn request(tools: Vec<ToolSpec>) -> ModelRequest {
    let choice: ModelChoice = serde_json::from_value(json!({ "name": "x/m" })).expect("a choice");
    ModelRequest { tools: Arc::new(tools), ..ModelRequest::new(choice, [Message::user("Hi")]) }
}

fn body(model: &HttpModel, request: ModelRequest) -> Value {
    serde_json::from_slice(&model.written(request).expect("a request").body).expect("JSON")
}

/// The parts of a request that a hosted tool adds: entries of `tools`, and members of the request.
fn added(model: &HttpModel, tool: HostedTool, set: &Value) -> Vec<Value> {
    let with = body(model, request(vec![ToolSpec::hosted_by_provider(tool, options(set))]));
    let without = body(model, request(Vec::new()));
    let members = with.as_object().expect("an object").iter();
    let new = members.filter(|(key, value)| without.get(key.as_str()) != Some(*value));
    new.flat_map(|(key, value)| match (key.as_str(), value) {
        ("tools", Value::Array(all)) => all.clone(),
        _ => vec![json!({ key.as_str(): value })],
    })
    .collect()
}

/// The wires of the table, each with quirks under which it offers the most.
fn wires() -> Vec<(&'static str, &'static dyn Wire, Quirks)> {
    let search = Quirks { search_options: true, ..Quirks::NONE };
    WIRES
        .iter()
        .map(|wire| {
            (wire.facts().name, *wire, if wire.facts().name == "openai_chat" { search } else { Quirks::NONE })
        })
        .filter(|(name, ..)| *name != "gemini_vertex")
        .collect()
}

fn table() -> String {
    let mut table = page::head("hosted tool", wires().iter().map(|(name, ..)| *name));
    let offers = |tool: &HostedTool| {
        WIRES.iter().any(|wire| wire.facts().hosted.iter().any(|form| form.tool == *tool))
    };
    for tool in HostedTool::ALL.into_iter().filter(offers) {
        write!(table, "\n| `{}` |", tool.name()).expect("a text");
        for (_, wire, quirks) in wires() {
            let model = model(wire, quirks);
            let asked = request(vec![ToolSpec::hosted_by_provider(tool, Map::new())]);
            if model.refuses(&asked).is_some() {
                table.push_str(" refused |");
                continue;
            }
            let parts = added(&model, tool, &json!({}));
            let cells: Vec<_> = parts.iter().map(|part| format!("`{part}`")).collect();
            write!(table, " {} |", cells.join(", ")).expect("a text");
        }
    }
    table
}

#[test]
fn the_table_of_hosted_tools_is_what_requests_say() {
    page::has(&table(), "the_table_of_hosted");
}

#[test]
fn a_tool_without_a_form_is_refused_with_its_name() {
    for (name, wire, quirks) in wires() {
        for tool in HostedTool::ALL {
            let refused =
                model(wire, quirks).refuses(&request(vec![ToolSpec::hosted_by_provider(tool, Map::new())]));
            let offers = wire.facts().hosted.iter().any(|form| form.tool == tool);
            let words = format!("hosted tool `{}` has no place in its API", tool.name());
            assert_eq!(refused, (!offers).then_some(words), "{name} {tool:?}");
        }
    }
    // A server of Chat Completions that nobody says searches.
    let chat = model(WIRES[0], Quirks::NONE);
    let search = ToolSpec::hosted_by_provider(HostedTool::WebSearch, Map::new());
    assert!(chat.refuses(&request(vec![search])).is_some_and(|why| why.contains("`web_search`")));
}

#[test]
fn options_of_the_provider_stand_in_its_entry() {
    let deep = json!({ "max_uses": 3, "user_location": { "type": "approximate", "city": "Bern" } });
    for (name, wire, quirks) in wires() {
        for form in wire.facts().hosted {
            let parts = added(&model(wire, quirks), form.tool, &deep);
            let entry = parts.iter().find(|part| part.get("include").is_none()).expect("an entry");
            let holds = |value: &Value| value["max_uses"] == 3 && value["user_location"]["city"] == "Bern";
            let within = entry.as_object().expect("an object").values().any(holds);
            assert!(holds(entry) || within, "{name} {:?}: {entry}", form.tool);
        }
    }
    let newer = json!({ "type": "web_search_20260209" });
    let parts = added(&model(wires()[2].1, Quirks::NONE), HostedTool::WebSearch, &newer);
    assert_eq!(parts, [json!({ "type": "web_search_20260209", "name": "web_search" })]);
    let plugin = Quirks { search_plugin: true, ..Quirks::NONE };
    let parts = added(&model(WIRES[0], plugin), HostedTool::WebSearch, &json!({ "max_results": 2 }));
    assert_eq!(parts, [json!({ "plugins": [{ "id": "web", "max_results": 2 }] })]);
}

#[test]
fn tools_are_deferred_where_the_request_offers_the_search_that_finds_them() {
    for (name, wire, quirks) in wires() {
        if !wire.facts().hosted.iter().any(|form| form.tool == HostedTool::ToolSearch) {
            continue;
        }
        let tool = |name: &str, defer: bool| {
            let mut tool = ToolSpec::new(name, "", json!({ "type": "object", "properties": {} }));
            tool.defer = defer;
            tool
        };
        let search = ToolSpec::hosted_by_provider(HostedTool::ToolSearch, Map::new());
        let deferred = |tools: Vec<ToolSpec>| {
            let body = body(&model(wire, quirks), request(tools));
            let all =
                body["tools"].as_array().expect("tools").iter().filter(|tool| tool["defer_loading"] == true);
            all.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(deferred(vec![tool("late", true), tool("soon", false), search]), ["late"], "{name}");
        assert_eq!(deferred(vec![tool("late", true), tool("soon", false)]), [""; 0], "{name}");
    }
}

#[test]
fn hosted_tools_stand_behind_the_others_and_go_with_them() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    for (name, wire, quirks) in wires() {
        let Some(form) = wire.facts().hosted.first() else { continue };
        let model = model(wire, quirks);
        let hosted = ToolSpec::hosted_by_provider(form.tool, Map::new());
        let own = ToolSpec::new("own", "Does it.", schema.clone());
        let alone = body(&model, request(vec![own.clone()]));
        let both = body(&model, request(vec![hosted.clone(), own.clone()]));
        let first = |body: &Value| body["tools"][0].clone();
        assert_eq!(first(&alone), first(&both), "{name}: {both}");
        if name != "openai_chat" {
            assert_eq!(both["tools"].as_array().map(Vec::len), Some(2), "{name}: {both}");
        }
        let mixed = both["toolConfig"]["includeServerSideToolInvocations"] == true;
        assert_eq!(mixed, name == "gemini", "{name}: {both}");
        // Denied, or without tools at all, nothing of it is left.
        let none = ModelRequest { choice: ToolChoice::None, ..request(vec![hosted.clone()]) };
        let mut denied = hosted;
        denied.offer = windlass_core::tool::Offer::Denied;
        let plain = body(&model, request(Vec::new()));
        assert_eq!(body(&model, request(vec![denied])), plain, "{name}");
        assert_eq!(body(&model, none).get("tools"), None, "{name}");
    }
}
