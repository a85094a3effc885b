//! The one trait of a model: a request in, a stream of pieces out.

pub(crate) mod annotation;
pub(crate) mod prefix;
mod written;

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use windlass_core::message::{Media, Part, ProviderMetadata};
use windlass_core::model::{
    Messages, ModelChoice, ModelFailure, OutputBy, Purpose, Reply, StopReason, ToolChoice, Usage,
    is_any_object,
};
use windlass_core::policy::CachePoint;
use windlass_core::secret::Secret;
use windlass_core::tool::{Hosted, HostedTool};
use windlass_core::{Message, ToolSpec};

use crate::Known;

pub use annotation::{Annotation, Cited};
pub use prefix::PrefixCell;
pub use written::WrittenRequest;

/// A request to a model. Cheap to clone: everything large is shared with the run's state.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The model's name and settings; the name is `provider/model` or plain.
    pub model: ModelChoice,
    /// The purpose of the call.
    pub purpose: Purpose,
    /// The messages before the conversation: instructions and worked examples.
    pub prompt: Arc<Vec<Arc<Message>>>,
    /// The conversation as it goes out.
    pub messages: Messages,
    /// All tools. A request leaves out tools that are not `offered`, and every tool under [`ToolChoice::None`].
    pub tools: Arc<Vec<ToolSpec>>,
    /// Calls that the model may make.
    pub choice: ToolChoice,
    /// A JSON Schema that the whole reply must fit, with its name (OpenAI's `response_format: json_schema`).
    pub response_schema: Option<(Arc<str>, Arc<serde_json::Value>)>,
    /// Messages that carry a marker for the provider's cache ([`marked`](Self::marked)), for wires that support markers.
    pub cache: Vec<CachePoint>,
    /// Whether anybody looks at the pieces: without, an adapter may ask for the whole reply at once.
    pub stream: bool,
    /// A place where the adapter keeps the encoded conversation from turn to turn: one per run.
    pub prefix: PrefixCell,
}

/// The most messages of a request that are marked for the cache (Anthropic, "Prompt caching": four breakpoints).
pub const MAX_MARKED: usize = 4;

impl ModelRequest {
    /// A request of these messages alone: without instructions and tools, and for the whole reply at once.
    pub fn new(model: ModelChoice, messages: impl IntoIterator<Item = Message>) -> Self {
        Self {
            model,
            purpose: Purpose::Act,
            prompt: Arc::default(),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: Arc::default(),
            choice: ToolChoice::Auto,
            response_schema: None,
            cache: Vec::new(),
            stream: false,
            prefix: PrefixCell::default(),
        }
    }

    /// The places of the messages that are marked for the provider's cache, in order, at most [`MAX_MARKED`]: of more, the
    /// first and the last ones.
    pub fn marked(&self) -> Vec<usize> {
        if self.cache.is_empty() {
            return Vec::new();
        }
        let count = self.prompt.len() + self.messages.len();
        let mut places: Vec<usize> = Vec::new();
        for point in &self.cache {
            match (point.index, &point.role) {
                (Some(index), _) => {
                    let from_end = index < 0;
                    let distance = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
                    let place = if from_end { count.checked_sub(distance) } else { Some(distance) };
                    places.extend(place.filter(|place| *place < count));
                }
                (None, Some(role)) => {
                    let messages = self.whole().enumerate();
                    places.extend(
                        messages.filter(|(_, message)| role_of(message) == &**role).map(|(place, _)| place),
                    );
                }
                (None, None) => {}
            }
        }
        places.sort_unstable();
        places.dedup();
        if places.len() > MAX_MARKED {
            places.drain(1..places.len() + 1 - MAX_MARKED);
        }
        places
    }

    /// Whether the provider is to hold calls of that tool to its schema.
    pub fn is_strict(&self, tool: &ToolSpec) -> bool {
        tool.strict.unwrap_or(self.model.strict)
    }

    /// Whether the provider is to hold the reply to the output's schema, in whatever form its API wants that.
    pub fn is_output_strict(&self) -> bool {
        self.model.strict || self.model.output == Some(OutputBy::Native)
    }

    /// The output's schema, unless any object will do ([`is_json`](Self::is_json)).
    pub fn output_schema(&self) -> Option<(&Arc<str>, &Arc<serde_json::Value>)> {
        self.response_schema
            .as_ref()
            .filter(|(_, schema)| !is_any_object(schema))
            .map(|(name, schema)| (name, schema))
    }

    /// Whether the reply is to be an object of any form.
    pub fn is_json(&self) -> bool {
        self.response_schema.as_ref().is_some_and(|(_, schema)| is_any_object(schema))
    }

    /// Whether the provider is to hold calls of any tool to their schema.
    pub fn is_strict_for_some(&self) -> bool {
        self.tools.iter().any(|tool| tool.is_offered() && self.is_strict(tool))
    }

    /// Whether the provider shows that tool only once its tool search has found it.
    pub fn is_deferred(&self, tool: &ToolSpec) -> bool {
        tool.defer && self.hosted().any(|(_, hosted)| hosted.tool == HostedTool::ToolSearch)
    }

    /// The tools of the provider that the request offers, each by its name in the conversation.
    pub fn hosted(&self) -> impl Iterator<Item = (&ToolSpec, &Hosted)> {
        self.tools.iter().filter_map(|tool| Some((tool, tool.hosted()?)))
    }

    /// The message at a place, as it goes out.
    pub fn message(&self, place: usize) -> Option<Cow<'_, Message>> {
        match place.checked_sub(self.prompt.len()) {
            None => self.prompt.get(place).map(|message| Cow::Borrowed(&**message)),
            Some(place) => self.messages.since(place).next(),
        }
    }

    /// All messages as they go out: the prompt, then the conversation.
    pub fn whole(&self) -> impl Iterator<Item = Cow<'_, Message>> {
        let prompt = self.prompt.iter().map(|message| Cow::Borrowed(&**message));
        prompt.chain(self.messages.since(0))
    }
}

/// A message's role as providers see it.
fn role_of(message: &Message) -> &'static str {
    match message {
        Message::System { .. } => "system",
        Message::User { .. } | Message::TaskDelegation { .. } => "user",
        Message::Assistant(_) => "assistant",
        Message::Tool(_) => "tool",
    }
}

/// A piece of a reply. Pieces never enter the log; their assembly does.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// More reasoning that can be read.
    Reasoning(String),
    /// Metadata that must go back unchanged, and only to its provider; the last one applies.
    Sealed(ProviderMetadata),
    /// An image or a file that the model made, whole.
    Media(Media),
    /// More of a tool call. Without an index it belongs to the call of that id, else a new id or name opens a call,
    /// else it belongs to the last one.
    Call {
        /// The call's place, if the provider says it.
        index: Option<u32>,
        /// Its id, once.
        id: Option<String>,
        /// Its name, once.
        name: Option<String>,
        /// More of its arguments.
        args: String,
    },
    /// A step of a tool of the provider, a source of the text, or probabilities of its tokens.
    Annotation(Box<Annotation>),
    /// Usage as counted by the provider so far; the last count applies.
    Usage(Usage),
    /// Why the model stopped.
    Stop(StopReason),
    /// A whole reply at once; nothing else comes before or after it.
    Whole(Box<Reply>),
    /// The text so far was reasoning: its end tag came without a beginning ([`Thoughts`](crate::Thoughts)).
    Thought,
}

impl Delta {
    /// About how many bytes of text it brings.
    pub fn text_bytes(&self) -> u64 {
        let bytes = match self {
            Self::Text(text) | Self::Reasoning(text) => text.len(),
            Self::Sealed(sealed) => sealed.data.len(),
            Self::Media(media) => return media.bytes(),
            Self::Call { id, name, args, .. } => {
                args.len() + id.as_ref().map_or(0, String::len) + name.as_ref().map_or(0, String::len)
            }
            Self::Annotation(annotation) => return annotation.bytes(),
            Self::Usage(_) | Self::Stop(_) | Self::Thought => 0,
            Self::Whole(reply) => return reply.text_bytes(),
        };
        bytes as u64
    }
}

/// The pieces of a reply, or its failure. The stream ends after either.
pub type Deltas = Pin<Box<dyn Stream<Item = Result<Delta, ModelFailure>> + Send>>;

/// A model. One method: a blocking call is a fold over its stream ([`Assembler`](crate::Assembler)).
pub trait Model: Send + Sync + std::fmt::Debug {
    /// The provider's name: sealed reasoning goes back only to the provider that made it.
    fn provider(&self) -> &str;

    /// Destination of its calls: names with values, without credentials. An approval to delegate a task is bound to it.
    /// Default: nothing.
    fn binding(&self) -> Vec<(String, Secret)> {
        Vec::new()
    }

    /// The program whose output is the model's key: a person can renew a key that is refused. Default: the key is fixed, or there
    /// is none.
    fn key_from(&self) -> Option<&str> {
        None
    }

    /// Knowledge of it by that name before it is asked. Default: nothing.
    fn known(&self, _name: &str) -> Known {
        Known::default()
    }

    /// Whether it is known, by that name, to hold an answer to this schema in requests that offer tools, too. Default: no.
    fn holds_output(&self, _name: &str, _schema: &Arc<serde_json::Value>) -> bool {
        false
    }

    /// The settings of a choice that its API does not take, or not so: a line each. Default: nothing.
    fn unsent(&self, _choice: &ModelChoice) -> Vec<String> {
        Vec::new()
    }

    /// Why its API cannot be sent this request without another meaning; a call of it would fail with these words. Default:
    /// every request can be sent.
    fn refuses(&self, _request: &ModelRequest) -> Option<String> {
        None
    }

    /// The setting of a choice, by its key in agent files, that a failure refuses the request for. Default: none.
    fn refused_setting(&self, _choice: &ModelChoice, _failure: &ModelFailure) -> Option<&'static str> {
        None
    }

    /// Whether its API can be sent this part of a person's message. Default: every part.
    fn takes(&self, _part: &Part) -> bool {
        true
    }

    /// The HTTP request that [`call`](Self::call) sends, byte for byte. Default: it sends none.
    fn written(&self, _request: ModelRequest) -> Option<WrittenRequest> {
        None
    }

    /// Asks the model. Dropping the stream stops the call.
    fn call(&self, request: ModelRequest) -> Deltas;
}

/// A shared model is a model.
impl<M: Model + ?Sized> Model for Arc<M> {
    fn provider(&self) -> &str {
        (**self).provider()
    }

    fn binding(&self) -> Vec<(String, Secret)> {
        (**self).binding()
    }

    fn key_from(&self) -> Option<&str> {
        (**self).key_from()
    }

    fn known(&self, name: &str) -> Known {
        (**self).known(name)
    }

    fn holds_output(&self, name: &str, schema: &Arc<serde_json::Value>) -> bool {
        (**self).holds_output(name, schema)
    }

    fn unsent(&self, choice: &ModelChoice) -> Vec<String> {
        (**self).unsent(choice)
    }

    fn refuses(&self, request: &ModelRequest) -> Option<String> {
        (**self).refuses(request)
    }

    fn refused_setting(&self, choice: &ModelChoice, failure: &ModelFailure) -> Option<&'static str> {
        (**self).refused_setting(choice, failure)
    }

    fn takes(&self, part: &Part) -> bool {
        (**self).takes(part)
    }

    fn written(&self, request: ModelRequest) -> Option<WrittenRequest> {
        (**self).written(request)
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        (**self).call(request)
    }
}
