//! Building blocks of settings: types that say how a value is written, and so give its reader and its JSON Schema.

pub(crate) mod whole;
pub(crate) mod written;

pub use crate::vocabulary::settings::whole::Count;
pub use crate::vocabulary::settings::whole::Whole;
pub use crate::vocabulary::settings::written::Word;
pub use crate::vocabulary::settings::written::Written;
pub use crate::vocabulary::settings::written::read;
pub use crate::vocabulary::settings::written::schema;

/// Implements `JsonSchema`: `schema_as!([T: JsonSchema] Pairs<T>, "pairs", |generator| ..)`. With `inline` in front it stands
/// where it is used, and else among the definitions, under its name.
#[macro_export]
macro_rules! schema_as {
    (inline [$($generics:tt)*] $type:ty, $name:expr, |$generator:pat_param| $schema:expr) => {
        impl<$($generics)*> ::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema($generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $schema
            }
        }
    };
    ([$($generics:tt)*] $type:ty, $name:expr, |$generator:pat_param| $schema:expr) => {
        impl<$($generics)*> ::schemars::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema($generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $schema
            }
        }
    };
}

/// The words of a value that is refused, for [`serde::de::Error::custom`]: readers that know this form tell the stable code
/// and what to do about it apart.
pub fn refusal(code: &str, message: &str, help: &str) -> String {
    format!("{message}\nhint: {help}\ncode: {code}")
}

/// The parts of such words: the code, the message, and what to do about it.
pub fn refusal_parts(words: &str) -> (Option<&str>, &str, Option<&str>) {
    let (words, code) = match words.split_once("\ncode: ") {
        Some((words, code)) => (words, Some(code)),
        None => (words, None),
    };
    match words.split_once("\nhint: ") {
        Some((message, help)) => (code, message, Some(help)),
        None => (code, words, None),
    }
}
