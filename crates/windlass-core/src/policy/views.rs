//! The table of views that a policy can name.

/// `Name => module, "What is sent.";` for each view: its file is `view/module.rs` and has a constant `MAKER`; policies name
/// it in snake case, and the text stands in the page of keys. The table is handed to the macro of that name.
macro_rules! table_of_views {
    ($then:ident) => {
        $then! {
            Full => full, "Everything.";
            Plan => plan, "The plan with its last step, and what failed.";
            Progressive => progressive, "Everything but reasoning and attempts that failed: replies that were cut off or said nothing.";
            Minimal => minimal, "Input, messages of people, and the last round of calls with all that follows it. Of earlier runs: pinned messages.";
            KitchenSink => kitchen_sink, "Everything, reasoning and attempts that failed included.";
            Blackboard => blackboard, "Input, the blackboard, messages of people, and the last round of calls with all that follows it. Of earlier runs: pinned messages.";
        }
    };
}
pub(crate) use table_of_views;

macro_rules! names {
    ($($name:ident => $module:ident, $about:literal;)+) => {
        /// Part of the history that a request holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[schemars(inline)]
        pub enum View {
            $(#[doc = $about] $name,)+
        }
    };
}

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

table_of_views!(names);
