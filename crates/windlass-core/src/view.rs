//! Views: what is sent to a model, made from the state when a call starts.
//!
//! Everything that words a request stands here, so that wires encode views and know no preset. A view that shares the
//! conversation is appended to from turn to turn; one that is built is made anew each time. To add a view that policies
//! can name: its file in `view/`, and its line in the table of `policy/views.rs`.

pub(crate) mod contract;
pub(crate) mod judge;
pub(crate) mod result;
pub(crate) mod summary;
pub(crate) mod transcript;
pub(crate) mod verification;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::codec::by_schema::object_message;
use crate::codec::fenced::fenced_message;
use crate::policy::cache::CachePoint;
use crate::policy::results::Results;
use crate::policy::views::table_of_views;
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::history::History;
use crate::vocabulary::ids::{ActionId, CallId, Text};
use crate::vocabulary::message::Message;
use crate::vocabulary::model::Wire;
use crate::vocabulary::purpose::{Purpose, ToolChoice};
use crate::vocabulary::reply::AnswerForm;
use crate::vocabulary::tool::ToolSpec;

/// Declares the modules of the views, and the way from a name to its view.
macro_rules! views {
    ($($name:ident => $module:ident, $about:literal;)+) => {
        $(pub(crate) mod $module;)+

        /// The view that the policy names.
        pub(crate) fn of_policy(state: &State) -> &'static Maker {
            match state.setup.policy().request.view {
                $(crate::policy::views::View::$name => &$module::MAKER,)+
            }
        }
    };
}

table_of_views!(views);

impl Purpose {
    /// The view that makes the request of such a call.
    fn maker(self, state: &State) -> &'static Maker {
        match self {
            Self::Act => of_policy(state),
            Self::Perceive | Self::Decide => &plan::MAKER,
            Self::Merge => &transcript::MAKER,
            Self::Summarise => &summary::MAKER,
            Self::Verify => &verification::MAKER,
            Self::Judge => &judge::MAKER,
        }
    }
}

/// The functions of a view.
pub(crate) struct Maker {
    /// Builds the request.
    pub(crate) view: fn(&State, &ModelCall) -> View,
    /// [`View::bytes`] of a request over that wire now, without building it.
    pub(crate) bytes: fn(&State, Wire) -> u64,
    /// How its messages change from one call to the next.
    pub(crate) growth: Growth,
}

/// A request to a model. Cheap to clone: everything large is shared with the run's state.
#[derive(Clone, Debug)]
pub struct View {
    /// The messages before the conversation: instructions and worked examples.
    pub prompt: Arc<Vec<Arc<Message>>>,
    /// The conversation as it goes out.
    pub messages: Messages,
    /// All tools. A request leaves out tools that are not `offered`, and every tool under [`ToolChoice::None`].
    pub tools: Arc<Vec<ToolSpec>>,
    /// Calls that the model may make.
    pub choice: ToolChoice,
    /// The JSON Schema that a reply in text must fit.
    pub output_form: Option<Arc<Value>>,
    /// Messages that carry a marker for the provider's cache, if its wire supports markers.
    pub cache_points: Vec<CachePoint>,
    /// The most tokens that the reply may have, where the purpose bounds it below the model's own setting.
    pub max_tokens: Option<u64>,
    /// Bytes of text in prompt and messages: the base of token estimates.
    pub bytes: u64,
}

impl View {
    /// A request beside the conversation, without tools.
    fn alone(prompt: Vec<Arc<Message>>, messages: Vec<Arc<Message>>) -> Self {
        let bytes = prompt.iter().chain(&messages).map(|message| message.bytes()).sum();
        Self {
            prompt: Arc::new(prompt),
            messages: messages.into_iter().collect(),
            tools: Arc::default(),
            choice: ToolChoice::None,
            output_form: None,
            cache_points: Vec::new(),
            max_tokens: None,
            bytes,
        }
    }

    /// An instruction, and the text that it is about.
    fn about(instruction: impl Into<Text>, text: impl Into<Text>) -> Self {
        let (system, user) = (Message::system(instruction), Message::user(text));
        Self::alone(vec![Arc::new(system)], vec![Arc::new(user)])
    }
}

/// The messages of a view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages {
    history: History,
    wording: Option<Wording>,
}

/// How messages are worded for models that know no calls.
#[derive(Clone, Debug, PartialEq)]
enum Wording {
    /// Calls as fenced blocks.
    Blocks(Arc<Results>),
    /// Replies as objects by schema.
    Objects(Arc<Results>, AnswerForm),
}

/// How a run's views change from one call to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The next view begins with the messages of this one, unless [`History::edits`] has grown.
    Appended,
    /// Each view is made anew.
    Built,
}

impl Messages {
    /// The conversation as it is kept.
    fn shared(history: &History, wording: Option<Wording>) -> Self {
        Self { history: history.clone(), wording }
    }

    /// The same messages as text for a model that knows no calls, in those words.
    #[must_use]
    pub fn worded(self, results: Arc<Results>) -> Self {
        Self { wording: Some(Wording::Blocks(results)), ..self }
    }

    /// The same messages, worded as others are.
    #[must_use]
    fn worded_like(self, other: &Self) -> Self {
        Self { wording: other.wording.clone(), ..self }
    }

    /// Whether others are worded in the same way: then what was made of them can be gone on with.
    pub fn is_worded_as(&self, other: &Self) -> bool {
        self.wording == other.wording
    }

    /// None of the messages, worded in the same way.
    pub fn emptied(&self) -> Self {
        Self { history: History::default(), ..self.clone() }
    }

    /// Number of edits: an edit replaces earlier messages.
    pub fn edits(&self) -> u64 {
        self.history.edits()
    }

    /// Bytes of text in them, before they are worded.
    pub fn bytes(&self) -> u64 {
        self.history.bytes()
    }

    /// The messages before they are worded.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.history.iter()
    }

    /// Adds a message.
    pub fn push(&mut self, message: Arc<Message>) {
        self.history.push(message);
    }

    /// The message at a place, before it is worded.
    pub fn at(&self, place: usize) -> Option<&Arc<Message>> {
        self.history.since(place).next()
    }

    /// The last of them, before it is worded.
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.history.last()
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.history.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.history.is_empty()
    }

    /// The messages from that place on, as they go out.
    pub fn since(&self, start: usize) -> impl Iterator<Item = Cow<'_, Message>> {
        self.history.since(start).map(|message| match &self.wording {
            Some(Wording::Blocks(results)) => fenced_message(message, results),
            Some(Wording::Objects(results, form)) => object_message(message, results, *form),
            None => Cow::Borrowed(&**message),
        })
    }
}

impl From<History> for Messages {
    /// The conversation as it is.
    fn from(history: History) -> Self {
        Self { history, ..Self::default() }
    }
}

impl FromIterator<Arc<Message>> for Messages {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        messages.into_iter().collect::<History>().into()
    }
}

impl State {
    /// The request of the model call with this action; `None`: no such call is in progress.
    pub fn view(&self, action: ActionId) -> Option<View> {
        let model_call = self.model_call(action)?;
        Some((self.maker(model_call.purpose()).view)(&self.as_asked(model_call), model_call))
    }

    /// How the request of this action's model call changes from one call to the next; `None`: no such call is in progress.
    pub fn growth(&self, action: ActionId) -> Option<Growth> {
        let model_call = self.model_call(action)?;
        // What is kept of earlier requests begins no request without some of their items.
        Some(if model_call.without().is_empty() {
            self.growth_of(model_call.purpose())
        } else {
            Growth::Built
        })
    }

    /// How requests of a purpose change from one to the next.
    pub(crate) fn growth_of(&self, purpose: Purpose) -> Growth {
        self.maker(purpose).growth
    }

    /// Bytes of text in what a call of that purpose would send now: as [`View::bytes`], without making the view.
    pub(crate) fn view_bytes(&self, purpose: Purpose, about: Option<&CallId>, wire: Wire) -> u64 {
        if let (Purpose::Summarise, Some(call)) = (purpose, about) {
            return result::bytes(self, call);
        }
        (self.maker(purpose).bytes)(self, wire)
    }

    fn maker(&self, purpose: Purpose) -> &'static Maker {
        purpose.maker(self)
    }
}
