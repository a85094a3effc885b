//! The table of views becomes their modules, the policy's names for them, and the way from a name to its view.

/// `Name => module, "What is sent.";` for each view: its file is `view/module.rs` and has a constant `MAKER`; policies name
/// it in snake case, and the text stands in the page of keys.
macro_rules! views {
    ($($name:ident => $module:ident, $about:literal;)+) => {
        $(pub(crate) mod $module;)+

        pub(crate) mod named {
            use schemars::JsonSchema;
            use serde::{Deserialize, Serialize};

            /// Part of the history that a request holds.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
            #[serde(rename_all = "snake_case")]
            #[schemars(inline)]
            pub enum View {
                $(#[doc = $about] $name,)+
            }
        }

        /// The view that the policy names.
        pub(crate) fn of_policy(state: &State) -> &'static Maker {
            match state.setup.policy.request.view {
                $(named::View::$name => &$module::MAKER,)+
            }
        }
    };
}

pub(crate) use views;
