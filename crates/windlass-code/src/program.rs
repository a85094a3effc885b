//! A step of code as it is handed in, and what passes between it and its host.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windlass_text::python::name_in_code;

/// A step of code: Python source, the functions that it may call, and the values that it starts with.
///
/// ```
/// use windlass_code::{Function, Program};
///
/// let program = Program::new("return search('owls', limit=3)")
///     .function(Function::new("search", ["query", "limit"]));
/// assert_eq!(program.functions.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The source text.
    pub source: String,
    /// The host's functions.
    pub functions: Vec<Function>,
    /// Global variables that are set before the code starts.
    pub inputs: Map<String, Value>,
}

impl Program {
    /// A program that calls nothing and is given nothing.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), ..Self::default() }
    }

    /// The same with one more function.
    #[must_use]
    pub fn function(mut self, function: Function) -> Self {
        self.functions.push(function);
        self
    }

    /// The same with one more global variable.
    #[must_use]
    pub fn input(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.inputs.insert(name.into(), value.into());
        self
    }
}

/// A function of the host: a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// The tool's name.
    pub name: String,
    /// Names of its parameters, in the order of its schema: positional arguments are given these names.
    pub params: Vec<String>,
}

impl Function {
    /// A function of that name with these parameters.
    pub fn new<P: Into<String>>(name: impl Into<String>, params: impl IntoIterator<Item = P>) -> Self {
        Self { name: name.into(), params: params.into_iter().map(Into::into).collect() }
    }

    /// The function's name in the code: characters that Python's names do not have become `_`, and words that Python
    /// or this crate needs get a `_` behind them.
    ///
    /// ```
    /// use windlass_code::Function;
    ///
    /// assert_eq!(Function::new("get-weather", ["city"]).in_code(), "get_weather");
    /// assert_eq!(Function::new("import", ["path"]).in_code(), "import_");
    /// ```
    pub fn in_code(&self) -> String {
        name_in_code(&self.name)
    }
}

/// A call that the code makes of a host's function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostCall {
    /// Its place among the step's calls, from 0, in the order in which the code makes them.
    pub place: u32,
    /// The tool's name, as in [`Function::name`].
    pub name: String,
    /// Its arguments by name.
    pub args: Map<String, Value>,
}

/// The result of a host call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostResult {
    /// The value that the function returns. A text is a string in the code; other JSON becomes dicts, lists and numbers.
    Value(Value),
    /// The exception that the function raises: a `ToolError` with this text, which the code may catch.
    Error(String),
}

/// The result of the host call at a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The call's place.
    pub place: u32,
    /// Its result.
    pub result: HostResult,
}

/// A host call and its result, as they were recorded. A step is its source and these, in order of their places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The call.
    #[serde(flatten)]
    pub call: HostCall,
    /// Its result.
    pub result: HostResult,
}

/// The next action of a piece of code.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It waits for the results of these calls, which may be made at the same time.
    Calls(Vec<HostCall>),
    /// It came to its end.
    Done {
        /// Its value.
        value: Value,
        /// All that it printed.
        output: Output,
    },
    /// It failed.
    Failed {
        /// How.
        failure: Failure,
        /// All that it printed before, as far as it is known.
        output: Output,
    },
}

/// Printed output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The text, up to [`Limits::output_bytes`](crate::Limits::output_bytes).
    pub text: String,
    /// The number of bytes that were printed beyond.
    pub cut: u64,
}

impl Output {
    /// Appends later output.
    pub(crate) fn append(&mut self, later: &Self) {
        self.text.push_str(&later.text);
        self.cut = self.cut.saturating_add(later.cut);
    }
}

/// The failure of a step of code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Its kind.
    pub kind: FailureKind,
    /// The text for the model: Python's traceback and error, and a hint.
    pub message: String,
    /// The line of the source, from 1.
    pub line: Option<u32>,
}

/// Kinds of failures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The source is not Python.
    Syntax,
    /// The source uses a part of Python that the interpreter does not have.
    Unsupported,
    /// The code raised an exception of this type and did not catch it.
    Raised(String),
    /// A limit was hit.
    Limit(crate::Limit),
    /// The child process broke: a fault of the interpreter, or a kill from outside.
    Crashed,
}
