//! The one trait of a model: a request in, a stream of pieces out.

use std::any::Any;
use std::borrow::Cow;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use futures_core::Stream;
use windlass_core::{
    History, Message, ModelChoice, ModelFailure, Purpose, Reply, Results, SealedReasoning, StopReason,
    ToolChoice, ToolSpec, Usage, fenced_message,
};

/// What a model is asked. Cheap to clone: everything large is shared with the run's state.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The model's name and settings; the name is `provider/model` or plain.
    pub model: ModelChoice,
    /// What the call is for.
    pub purpose: Purpose,
    /// The messages before the conversation: instructions and worked examples.
    pub prompt: Arc<Vec<Arc<Message>>>,
    /// The conversation.
    pub history: History,
    /// All tools; those that are not `offered` are left out, and with [`ToolChoice::None`] all of them.
    pub tools: Arc<Vec<ToolSpec>>,
    /// Which calls the model may make.
    pub choice: ToolChoice,
    /// A JSON Schema that the whole reply must fit, with its name (OpenAI's `response_format: json_schema`).
    pub response_schema: Option<(Arc<str>, Arc<serde_json::Value>)>,
    /// How results are worded, where the conversation goes out as text (`wire: fenced`): calls become fenced blocks,
    /// results user messages. The prompt describes the tools then, and `tools` is empty.
    pub fenced: Option<Results>,
    /// Whether anybody looks at the pieces: without, an adapter may ask for the whole reply at once.
    pub stream: bool,
    /// A place where the adapter keeps the encoded conversation from turn to turn: one per run.
    pub prefix: PrefixCell,
}

impl ModelRequest {
    /// A message as it goes out.
    pub fn outgoing<'m>(&self, message: &'m Message) -> Cow<'m, Message> {
        match self.fenced {
            Some(results) => fenced_message(message, results),
            None => Cow::Borrowed(message),
        }
    }

    /// All messages as they go out: the prompt, then the conversation.
    pub fn messages(&self) -> impl Iterator<Item = Cow<'_, Message>> {
        let prompt = self.prompt.iter().map(|message| Cow::Borrowed(&**message));
        prompt.chain(self.history.iter().map(|message| self.outgoing(message)))
    }
}

/// A place per run where an adapter keeps what it encoded, so that a turn costs only its new messages.
#[derive(Clone, Default)]
pub struct PrefixCell(pub Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl std::fmt::Debug for PrefixCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrefixCell")
    }
}

/// A piece of a reply. Pieces never enter the log; their assembly does.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// More reasoning that can be read.
    Reasoning(String),
    /// Reasoning that must go back unchanged.
    Sealed(SealedReasoning),
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
    /// What the provider counted so far; the last one counts.
    Usage(Usage),
    /// Why the model stopped.
    Stop(StopReason),
    /// A whole reply at once; nothing else comes before or after it.
    Whole(Box<Reply>),
}

/// The pieces of a reply, or its failure. The stream ends after either.
pub type Deltas = Pin<Box<dyn Stream<Item = Result<Delta, ModelFailure>> + Send>>;

/// A model. One method: a blocking call is a fold over its stream ([`Assembler`](crate::Assembler)).
pub trait Model: Send + Sync + std::fmt::Debug {
    /// The provider's name: sealed reasoning goes back only to the provider that made it.
    fn provider(&self) -> &str;

    /// Asks the model. Dropping the stream stops the call.
    fn call(&self, request: ModelRequest) -> Deltas;
}
