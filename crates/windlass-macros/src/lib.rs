//! The attribute `#[tool]`: makes a tool of a function; `#[derive(Partial)]`, for outputs that are being written;
//! `#[derive(Diagnostic)]`, for errors; and `#[derive(Named)]`, for enums whose variants have names.
//!
//! This crate only rewrites code; what the code refers to is in `windlass-tools`, `windlass-runtime` and
//! `windlass-error`, which export the macros.
mod derive;
mod expand;
mod options;
mod signature;

use proc_macro::TokenStream;

/// Makes a tool of an async or a plain function.
///
/// ```ignore
/// /// Adds two numbers.
/// #[tool]
/// async fn add(
///     /// The first number.
///     a: i64,
///     /// The second number.
///     #[default(1)]
///     b: i64,
/// ) -> i64 {
///     a + b
/// }
///
/// let agent = Agent::builder("sums").model(model).tool(add).build()?;
/// assert_eq!(add(2, 5).await, 7); // still a function
/// ```
///
/// The name now means a value of a type without fields that implements `Tool`, and can be called as before. Like the
/// name of any such type it cannot be bound again: `let sum = add(2, 5).await` is fine where `let add = ..` is not.
///
/// # What the model sees
/// - The function's doc comment is the tool's description, a parameter's doc comment is that parameter's.
/// - The schema is made of the parameters' types: each is `serde::Deserialize` and `schemars::JsonSchema` (1.x). It is
///   a JSON Schema 2020-12 object, with properties in the parameters' order and no others allowed.
/// - `Option<T>` and parameters with `#[default]` or `#[default(value)]` need not be given. A default is part of the
///   schema, so its type is `serde::Serialize` too.
/// - `&str`, `&[T]` and `&T` are taken as `String`, `Vec<T>` and `T`, and lent to the function.
/// - A parameter of the type `ToolContext` or `&ToolContext` is not shown to the model: it brings the run, the call,
///   the idempotency key and the request to stop.
///
/// # What it gives
/// - `Content`, a text, or anything that is `serde::Serialize`, which is given as JSON; `()` is given as `done`.
/// - `Result<T, E>` with such a `T` and an `E: Display`. The model is told the error's text and causes. If `E` is a
///   `std::error::Error`, its kind is the variant's name (or the type's, for a struct). A `ToolError` is passed on as
///   it is.
///
/// # How it runs
/// The future of an async function must be `Send` and must not block. A plain function runs on tokio's pool for blocking
/// work; it is not stopped by a cancel, unless it looks at `ToolContext::cancelled` itself: it is left behind.
///
/// # Arguments of the attribute
/// | argument | meaning |
/// |---|---|
/// | `name = "..."` | the name for the model; default: the function's |
/// | `effect = "read_only"`, `"idempotent"` or `"once"` | effect of running it twice; default: `once`, because it is unknown |
/// | `timeout_ms = 5000` | how long one try may take, in milliseconds; default: the agent's |
/// | `retries = 2` | how often a failed call is tried again; default: the policy's |
/// | `approve` | a person must allow each call |
/// | `poll` | equal calls in a row are legitimate |
/// | `check = path` | with `effect = "once"`: an async function that says whether a call in doubt happened |
/// | `crate = path` | where `windlass-tools` is; default: `::windlass::tools` |
///
/// A `check` function has the parameters of the tool (the context too, if the tool has one) and gives
/// `Option<T>` or `Result<Option<T>, E>`: `Some(result)` if the call happened, `None` if it did not, an error if that
/// cannot be said.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    expand::tool(options.into(), function.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes the struct of what stands so far of an output that is being written.
///
/// ```ignore
/// #[derive(Deserialize, JsonSchema, Partial)]
/// struct Report {
///     title: String,
///     #[partial]
///     author: Author, // derives `Partial` too
/// }
///
/// let so_far: Option<PartialReport> = update.partial_as::<Report>();
/// ```
///
/// `PartialReport` has the same fields, documented and named for serde alike, each as an `Option` that is `None` until
/// what is there is a value of its type: a text grows, a number comes whole. A field with `#[partial]` is seen field by
/// field itself. It is `Clone`, `Debug` and `Default`, so the fields' types are `Clone` and `Debug`.
///
/// `#[partial(crate = path)]` on the struct says where `windlass-runtime` is; default: `::windlass::runtime`.
#[proc_macro_derive(Partial, attributes(partial))]
pub fn partial(item: TokenStream) -> TokenStream {
    derive::partial::partial(item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements the trait `Diagnostic` for an error: kind, code and help stand beside each variant. `windlass-error` exports it
/// and describes its arguments.
#[proc_macro_derive(Diagnostic, attributes(diagnostic))]
pub fn diagnostic(item: TokenStream) -> TokenStream {
    derive::diagnostic::diagnostic(item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Gives an enum `name(self) -> &'static str` (`&self` where a variant has fields, unless `#[named(copy)]` says so): the name
/// of each variant in snake case, as serde's `rename_all` writes it, or the one of `#[named("text")]`.
///
/// `#[named(all)]` on the enum adds `ALL`, an array in the order of the declaration, and `from_name(&str) -> Option<Self>`. Its
/// variants have no fields then. `#[named(names)]` adds `NAMES`, an array of the names.
#[proc_macro_derive(Named, attributes(named))]
pub fn named(item: TokenStream) -> TokenStream {
    derive::named::named(item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}
