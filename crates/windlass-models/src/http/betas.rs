//! Owns the header by which a request asks for parts of an API that only answer to their names.

use http::{HeaderMap, HeaderName, HeaderValue};
use windlass_core::ToolSpec;

use crate::wires::{WireFacts, hosted};

/// Adds the names that the provider's tools want, behind those of a user's own header.
pub(super) fn ask_for(headers: &mut HeaderMap, facts: &WireFacts, tools: &[ToolSpec]) {
    let Some(name) = facts.betas else { return };
    let values = hosted::betas(facts.hosted, tools);
    if values.is_empty() {
        return;
    }
    let name = HeaderName::from_static(name);
    let own = headers.get(&name).and_then(|own| own.to_str().ok()).map(str::to_owned);
    let known = |value: &&str| own.as_ref().is_some_and(|own| own.split(',').any(|one| one.trim() == *value));
    let more = values.into_iter().filter(|value| !known(value));
    let all: Vec<&str> = own.iter().map(String::as_str).chain(more).collect();
    if let Ok(value) = HeaderValue::try_from(all.join(",")) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use windlass_core::tool::HostedTool;

    use super::*;
    use crate::wires::wire;

    #[test]
    fn each_name_is_asked_for_once_beside_a_users_own() {
        let tools = [HostedTool::Code, HostedTool::WebSearch, HostedTool::Url, HostedTool::Code]
            .map(|tool| ToolSpec::hosted_by_provider(tool, Map::new()));
        let asked = |own: Option<&'static str>, tools: &[ToolSpec], of: &str| {
            let mut headers = HeaderMap::new();
            headers.extend(
                own.map(|own| (HeaderName::from_static("anthropic-beta"), HeaderValue::from_static(own))),
            );
            ask_for(&mut headers, wire(of).expect("a wire").facts(), tools);
            headers.get("anthropic-beta").map(|value| value.to_str().expect("text").to_owned())
        };
        let (code, url) = ("code-execution-2025-08-25", "web-fetch-2025-09-10");
        let both = format!("{code},{url}");
        assert_eq!(asked(None, &tools, "anthropic_messages").as_deref(), Some(&*both));
        let own = asked(Some("files-api-2025-04-14, web-fetch-2025-09-10"), &tools, "anthropic_messages");
        assert_eq!(own, Some(format!("files-api-2025-04-14, {url},{code}")));
        assert_eq!(asked(None, &tools[1..2], "anthropic_messages"), None);
        assert_eq!(asked(None, &tools, "openai_responses"), None);
    }
}
