//! Owns the differences between servers of one wire: a table with a row each.

use serde::Deserialize;

/// The differences as they are looked at, as a file of providers names them, and the way from these to those.
macro_rules! quirks {
    ($($(#[$doc:meta])+ $field:ident = $name:ident;)+) => {
        /// Differences between servers of one wire.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Quirks {
            $($(#[$doc])+ pub $field: bool,)+
        }

        /// A difference between servers of one wire, as a file of providers names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Quirk {
            $($(#[$doc])+ $name,)+
        }

        impl Quirks {
            /// No quirks.
            pub const NONE: Self = Self { $($field: false,)+ };

            /// These quirks.
            pub fn of(quirks: &[Quirk]) -> Self {
                Self { $($field: quirks.contains(&Quirk::$name),)+ }
            }

            /// The quirks of both.
            #[must_use]
            pub fn and(self, other: Self) -> Self {
                Self { $($field: self.$field || other.$field,)+ }
            }
        }
    };
}

quirks! {
    /// The output limit is written as `max_completion_tokens`, not `max_tokens`.
    completion_tokens = CompletionTokens;
    /// Messages that are marked for the provider's cache carry `cache_control`. Strict servers refuse it.
    cache_control = CacheControl;
    /// The server takes no parts of the type `file` (OpenAI Chat: PDFs, and files by their ids).
    no_files = NoFiles;
    /// The provider wants its reasoning back with the calls that followed it.
    return_reasoning = ReturnReasoning;
    /// Ids of calls must be nine letters and digits.
    short_ids = ShortIds;
    /// The provider keeps replies, and a turn sends only what follows the last one (OpenAI Responses: `store` and
    /// `previous_response_id`). A run then depends on the provider's memory.
    stored_replies = StoredReplies;
    /// Thoughts of Gemini models are in neither the counted output nor the total.
    thoughts_beside = ThoughtsBeside;
    /// The server knows no `top_k`.
    no_top_k = NoTopK;
    /// A seed is written as `random_seed`, not `seed`.
    random_seed = RandomSeed;
    /// How the model reasons is an object of the request: `reasoning`, not `reasoning_effort`.
    reasoning_object = ReasoningObject;
    /// A call of one of several tools can be forced (`allowed_tools`).
    allowed_tools = AllowedTools;
    /// The server searches the web for its search models, asked by `web_search_options`.
    search_options = SearchOptions;
    /// The server searches the web for every model, asked by an entry of `plugins`.
    search_plugin = SearchPlugin;
}
