//! Arguments, taken one by one out of the object that the model wrote.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::tool::ToolError;

/// The kind of the errors of arguments that do not fit; the core's check against the schema finds nearly all before.
const KIND: &str = "InvalidArguments";

/// The arguments of a call.
#[derive(Debug)]
pub struct Args(Map<String, Value>);

impl Args {
    /// Wraps the arguments object; null means no arguments.
    ///
    /// # Errors
    /// It is something else.
    pub fn new(args: Value) -> Result<Self, ToolError> {
        match args {
            Value::Object(map) => Ok(Self(map)),
            Value::Null => Ok(Self(Map::new())),
            other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                Err(ToolError::of_kind(KIND, format!("expected an object of arguments, found {other}")))
            }
        }
    }

    /// An argument that must be there.
    ///
    /// # Errors
    /// It is not there, or is no `T`.
    pub fn required<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, ToolError> {
        match self.0.remove(name) {
            Some(value) => read(name, value),
            // A type that takes null, such as an alias of an `Option`, may be left out.
            None => serde_json::from_value(Value::Null)
                .map_err(|_| ToolError::of_kind(KIND, format!("the argument `{name}` is missing"))),
        }
    }

    /// An argument that may be missing or null.
    ///
    /// # Errors
    /// It is there and is no `T`.
    pub fn optional<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, ToolError> {
        read(name, self.0.remove(name).unwrap_or(Value::Null))
    }

    /// An argument that has a default.
    ///
    /// # Errors
    /// It is there and is no `T`.
    pub fn or_else<T: DeserializeOwned>(
        &mut self,
        name: &str,
        default: impl FnOnce() -> T,
    ) -> Result<T, ToolError> {
        self.0.remove(name).map_or_else(|| Ok(default()), |value| read(name, value))
    }
}

fn read<T: DeserializeOwned>(name: &str, value: Value) -> Result<T, ToolError> {
    serde_json::from_value(value)
        .map_err(|error| ToolError::of_kind(KIND, format!("invalid argument `{name}`: {error}")))
}
