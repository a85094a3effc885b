//! The table of policy slots becomes types here: the parts of the [`Policy`](super::Policy), and the keys of the `loop`
//! section of agent files.

/// `part: Part { keys } internal { others }`, each slot as `name: Type = default value`. A slot in the first braces is a key of
/// agent files; `as Written` names the type that it is read as, where that is not its own.
macro_rules! policy {
    ($(
        $(#[$about:meta])*
        $part:ident: $Part:ident {
            $($(#[$doc:meta])* $key:ident: $Type:ty $(as $Written:ty)? = $default:expr,)*
        } internal {
            $($(#[$other_doc:meta])* $other:ident: $Other:ty = $other_default:expr,)*
        }
    )*) => {
        /// The values of all slots of a run's loop.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct Policy {
            /// The preset's name, for people; nothing depends on it.
            pub preset: Text,
            /// Retries of the transport: they use up no model calls.
            pub transport: Transport,
            $($(#[$about])* pub $part: $Part,)*
        }

        impl Default for Policy {
            fn default() -> Self {
                Self { preset: "".into(), transport: Transport::default(), $($part: $Part::default(),)* }
            }
        }

        $(
            $(#[$about])*
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
            #[serde(default)]
            pub struct $Part {
                $($(#[$doc])* pub $key: $Type,)*
                $($(#[$other_doc])* pub $other: $Other,)*
            }

            impl Default for $Part {
                fn default() -> Self {
                    Self { $($key: $default,)* $($other: $other_default,)* }
                }
            }
        )*

        /// The `loop` section of an agent file: a preset, and what differs from it.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schemars(rename = "loop")]
        pub struct LoopKeys {
            /// The values that the others differ from. Default: `chat`. For an agent with an output schema it is
            /// `typed`, with ten model calls if the agent has tools or agents.
            pub preset: Option<Preset>,
            $($($(#[$doc])* pub $key: Option<policy!(@written $Type $(, $Written)?)>,)*)*
        }

        impl LoopKeys {
            fn put_into(self, policy: &mut Policy) {
                $($(if let Some(value) = self.$key {
                    Put::put(value, &mut policy.$part.$key);
                })*)*
            }
        }

        impl Policy {
            fn stored_keys(&self) -> Vec<(&'static str, serde_json::Value)> {
                vec![$($((stringify!($key), serde_json::json!(self.$part.$key)),)*)*]
            }
        }
    };
    (@written $Type:ty) => { $Type };
    (@written $Type:ty, $Written:ty) => { $Written };
}
pub(crate) use policy;
