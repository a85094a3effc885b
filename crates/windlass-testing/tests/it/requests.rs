//! The requests of all scripted conversations, and one for each setting, tool of a provider and kind of part, as they go to the providers.
//! `.ci/client-types` holds them against the request types of the providers' own clients.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use windlass_core::message::{Content, Media, MediaSource, Part};
use windlass_core::model::{ModelChoice, ModelOption, ToolChoice};
use windlass_core::policy::CachePoint;
use windlass_core::secret::Secret;
use windlass_core::tool::HostedTool;
use windlass_core::{Message, ToolSpec};
use windlass_models::{Model, ModelRequest, ModelSettings, PrefixCell, resolve};
use windlass_testing::{RunnerOptions, on_request, run_case};

use crate::{FILES, cases_of};

/// Servers and models that take different forms: the API, and the model.
const MODELS: [(&str, &str); 8] = [
    ("openai_chat", "openai/gpt-5.1"),
    ("openai_chat", "openai/gpt-4.1"),
    ("openai_responses", "openai/gpt-5.1"),
    ("anthropic_messages", "anthropic/claude-3-7-sonnet"),
    ("anthropic_messages", "anthropic/claude-opus-4-8"),
    ("gemini", "gemini/gemini-2.5-flash"),
    ("gemini", "gemini/gemini-3-pro"),
    ("ollama", "ollama/qwen3"),
];

/// A provider's model, and the file of its requests.
struct Server {
    api: &'static str,
    name: &'static str,
    model: Arc<dyn Model>,
    written: BTreeSet<String>,
}

impl Server {
    fn new((api, name): (&'static str, &'static str)) -> Self {
        let key = Some(Secret::new("sk-test"));
        let settings = ModelSettings { key, api: Some(api), ..ModelSettings::named(name) };
        let model = resolve(&settings, &|_| None).unwrap();
        Self { api, name, model, written: BTreeSet::new() }
    }

    fn write(&mut self, request: &ModelRequest) {
        let mut request = ModelRequest { prefix: PrefixCell::default(), ..request.clone() };
        request.model.name = self.name.into();
        // A provider's own options are its user's words: those that its tools cannot do without.
        for tool in Arc::make_mut(&mut request.tools).iter_mut().filter(|tool| tool.hosted().is_some()) {
            let hosted = tool.hosted().unwrap().tool;
            let options = match (self.api, hosted) {
                ("openai_responses", HostedTool::FileSearch) => json!({ "vector_store_ids": ["vs_1"] }),
                ("gemini", HostedTool::FileSearch) => {
                    json!({ "fileSearchStoreNames": ["fileSearchStores/a"] })
                }
                _ => json!({}),
            };
            *tool = ToolSpec::hosted_by_provider(hosted, options.as_object().cloned().unwrap_or_default());
        }
        if self.model.refuses(&request).is_none() {
            let written = self.model.written(request).unwrap();
            self.written.insert(String::from_utf8(written.body).unwrap());
        }
    }
}

static SERVERS: Mutex<Vec<Server>> = Mutex::new(Vec::new());

fn write(request: &ModelRequest) {
    SERVERS.lock().unwrap().iter_mut().for_each(|server| server.write(request));
}

fn asking(choice: Value) -> ModelRequest {
    let mut choice: ModelChoice = serde_json::from_value(choice).unwrap();
    choice.name = "m".into();
    let schema = json!({ "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] });
    let tools = Arc::new(vec![ToolSpec::new("look", "Looks.", schema)]);
    let messages = [Message::system("Be brief."), Message::user("Hi")];
    ModelRequest { tools, cache: vec![CachePoint::at(-1)], ..ModelRequest::new(choice, messages) }
}

/// Settings with a value that providers take. Those of one API have its values; other APIs refuse the setting, or take any.
fn settings() -> Vec<Value> {
    let mut all = vec![
        json!({ "temperature": 0.5, "top_p": 0.5, "presence_penalty": 0.5, "max_tokens": 3_000, "stop": ["END"] }),
        json!({ "parallel": false, "strict": true }),
        json!({ "metadata": { "user_id": "u1" } }),
        json!({ "reasoning": "high" }),
        json!({ "reasoning": "none" }),
    ];
    for option in ModelOption::ALL {
        let value = match option {
            ModelOption::Seed | ModelOption::TopK | ModelOption::NumCtx | ModelOption::Logprobs => json!(7),
            ModelOption::ReasoningBudget => json!(2_000),
            ModelOption::ReasoningSummary => json!("concise"),
            ModelOption::ShowReasoning | ModelOption::CacheTools | ModelOption::CacheAutomatic => json!(true),
            ModelOption::Safety => json!({ "HARM_CATEGORY_HARASSMENT": "BLOCK_NONE" }),
            ModelOption::FrequencyPenalty => json!(0.5),
            ModelOption::ServiceTier => json!("auto"),
            ModelOption::Verbosity => json!("low"),
            ModelOption::User | ModelOption::CacheKey => json!("u1"),
            ModelOption::CachedContent => json!("cachedContents/a1"),
            ModelOption::Conversation => json!("conv_1"),
            ModelOption::KeepAlive => json!("10m"),
            ModelOption::CacheLifetime => json!("1h"),
        };
        all.push(
            json!({ "options": option.key().rsplit('.').fold(value, |value, key| json!({ key: value })) }),
        );
    }
    all.push(json!({ "options": { "cache_lifetime": "24h" } }));
    all
}

fn parts() -> Vec<Part> {
    let kinds =
        ["image/png", "application/pdf", "text/plain", "audio/wav", "audio/mpeg", "audio/ogg", "video/mp4"];
    let sources = [
        MediaSource::Base64("QUJD".into()),
        MediaSource::Url("https://example.org/a".into()),
        MediaSource::ProviderFile("file-7".into()),
    ];
    let media = kinds.into_iter().flat_map(|kind| {
        sources.clone().map(|source| Media { media_type: kind.into(), name: Some("a".into()), source })
    });
    media
        .map(
            |media| {
                if media.media_type.starts_with("image/") { Part::Image(media) } else { Part::File(media) }
            },
        )
        .collect()
}

fn others() -> Vec<ModelRequest> {
    let plain = || asking(json!({ "name": "m" }));
    let hosted = HostedTool::ALL.into_iter().map(|tool| {
        let mut request = plain();
        let options =
            if tool == HostedTool::FileSearch { json!({ "vector_store_ids": ["vs_1"] }) } else { json!({}) };
        let options: Map<String, Value> = options.as_object().cloned().unwrap_or_default();
        Arc::make_mut(&mut request.tools).push(ToolSpec::hosted_by_provider(tool, options));
        request
    });
    let choices = [
        ToolChoice::None,
        ToolChoice::Required,
        ToolChoice::Named("look".into()),
        ToolChoice::OneOf(vec!["look".into()]),
    ];
    let choices = choices.into_iter().map(|choice| ModelRequest { choice, ..plain() });
    let parts = parts().into_iter().map(|part| {
        let content = Content::Parts(vec![Part::Text { text: "What?".into() }, part]);
        let message = Message::User { content, pinned: false };
        ModelRequest::new(plain().model, [message])
    });
    let closed = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"], "additionalProperties": false });
    let outputs = [closed, json!({ "type": "object" })]
        .into_iter()
        .map(|schema| ModelRequest { response_schema: Some(("output".into(), Arc::new(schema))), ..plain() });
    let streams = [ModelRequest { stream: true, ..plain() }];
    hosted.chain(choices).chain(parts).chain(outputs).chain(streams).collect()
}

#[test]
#[ignore = "writes the requests that .ci/client-types reads, into the folder WINDLASS_REQUESTS"]
fn requests_for_the_types_of_official_clients() {
    let folder = PathBuf::from(std::env::var_os("WINDLASS_REQUESTS").unwrap());
    crate::with_code();
    *SERVERS.lock().unwrap() = MODELS.map(Server::new).into();
    on_request(write);
    let options = RunnerOptions { streaming: false, ..RunnerOptions::default() };
    for case in FILES.iter().flat_map(|file| cases_of(file)) {
        run_case(&case.unwrap(), options);
    }
    settings()
        .into_iter()
        .map(|mut choice| {
            choice["name"] = json!("m");
            asking(choice)
        })
        .chain(others())
        .for_each(|request| write(&request));
    for server in &*SERVERS.lock().unwrap() {
        assert!(server.written.len() > 500, "{}: {} requests", server.name, server.written.len());
        let path = folder.join(format!("{}.jsonl", server.api));
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        for body in &server.written {
            writeln!(file, "{body}").unwrap();
        }
    }
}
