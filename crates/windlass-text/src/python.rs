//! Names of Python, in which models write code that calls tools.

/// Python's keywords, and names that have a meaning in such code.
const TAKEN: &[&str] = &[
    "False",
    "None",
    "True",
    "ToolError",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "parallel",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
];

/// The name by which code calls a tool: characters that Python's names do not have become `_`, and words that Python or such code
/// needs get a `_` behind them.
///
/// ```
/// use windlass_text::python::name_in_code;
///
/// assert_eq!(name_in_code("get-weather"), "get_weather");
/// assert_eq!(name_in_code("import"), "import_");
/// assert_eq!(name_in_code("3d"), "_3d");
/// ```
pub fn name_in_code(tool: &str) -> String {
    let mut name: String = tool.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.chars().next().is_none_or(|first| first.is_ascii_digit()) {
        name.insert(0, '_');
    }
    if TAKEN.contains(&name.as_str()) {
        name.push('_');
    }
    name
}
