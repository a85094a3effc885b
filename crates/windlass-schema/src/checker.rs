//! Checks values. What a check costs is known before it begins.

use std::cell::Cell;
use std::fmt;
use std::sync::LazyLock;

use serde_json::Value;
use windlass_error::Diagnostic;

use crate::bounds;
use crate::common::is_common;
use crate::cost::Counter;
use crate::document::{Document, place_of, pointer_to};
use crate::fault::{SchemaFault, UncheckedPattern};
use crate::graph::{self, Graph};
use crate::lenient::rewritten;
use crate::modern::modern;

/// Maximum number of steps of a check. A step is a keyword applied to a value, or some bytes of a text.
pub const MAX_CHECK_STEPS: u64 = 500_000;
/// Maximum number of steps of all checks of one reply, counting included.
const MAX_REPLY_STEPS: u64 = 4 * MAX_CHECK_STEPS;
/// Maximum number of faults in one message.
const FAULTS_SHOWN: usize = 5;
/// Maximum number of faults that are sorted to select those to show.
const MAX_FAULTS: usize = 1_000;
/// Maximum number of bytes shown of a fault's place and of its text.
const FAULT_BYTES: usize = 2_000;
/// Maximum number of unchecked patterns that are named.
const UNCHECKED_NAMED: usize = 20;
/// Maximum size of a compiled pattern, in bytes. Its number of states is bounded first.
const PATTERN_BYTES: usize = 64 << 20;

/// A JSON Schema (2020-12) that was taken in: it is bounded, its patterns are matched in linear time, and it refers to
/// nothing outside itself.
///
/// ```
/// use serde_json::json;
/// use windlass_schema::Checker;
///
/// let checker = Checker::new(&json!({ "type": "integer", "minimum": 1 }))?;
/// assert!(checker.check(&json!(7)).is_ok());
/// assert_eq!(checker.check(&json!(0)).unwrap_err().to_string(), "0 is less than the minimum of 1");
/// # Ok::<(), windlass_schema::SchemaFault>(())
/// ```
#[derive(Debug)]
pub struct Checker {
    validator: Validator,
    graph: Graph,
    /// Number of keywords, with references followed.
    weight: u64,
    unchecked: Vec<UncheckedPattern>,
}

/// Compiles a schema that is known to be valid.
type Compile = Box<dyn FnOnce() -> Result<jsonschema::Validator, String> + Send>;

#[derive(Debug)]
enum Validator {
    Compiled(jsonschema::Validator),
    /// Compiled for the first value: the schema's form alone says that it is valid.
    AtFirstUse(LazyLock<Result<jsonschema::Validator, String>, Compile>),
}

impl Validator {
    /// Of a schema in the form that is compiled.
    fn of(schema: &Value, form: Value) -> Result<Self, SchemaFault> {
        if !is_common(schema) {
            return compiled(&form).map(Self::Compiled).map_err(SchemaFault::Invalid);
        }
        Ok(Self::AtFirstUse(LazyLock::new(Box::new(move || compiled(&form)))))
    }

    /// The validator, or why the schema is refused after all.
    fn get(&self) -> Result<&jsonschema::Validator, &str> {
        match self {
            Self::Compiled(validator) => Ok(validator),
            Self::AtFirstUse(made) => LazyLock::force(made).as_ref().map_err(String::as_str),
        }
    }
}

fn compiled(schema: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(jsonschema::PatternOptions::regex().size_limit(PATTERN_BYTES))
        .should_validate_formats(false)
        .build(schema)
        .map_err(|error| cut(&error))
}

/// Why a value was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum Misfit {
    /// It does not fit: what is wrong and where, in a stable order.
    #[error("{0}")]
    #[diagnostic(kind = Invalid, code = "schema.misfit")]
    Faults(String),
    /// It does not fit, but naming what is wrong would take too many steps.
    #[error("the value does not match the schema, and the mismatch has too many possible places to name one")]
    #[diagnostic(kind = Invalid, code = "schema.misfit_somewhere")]
    Somewhere,
    /// Checking it would take too many steps.
    #[error(
        "checking it would take more than {MAX_CHECK_STEPS} steps: send less at once, or nest it less deeply"
    )]
    #[diagnostic(kind = Exhausted, code = "schema.too_costly")]
    TooCostly,
    /// It is one of many, and those before it have taken the steps that all may take.
    #[error(
        "checking it together with the other calls of the reply would take too many steps: make fewer calls at once"
    )]
    #[diagnostic(kind = Exhausted, code = "schema.used_up")]
    UsedUp,
}

/// The steps that are left for the checks of one reply: its calls are many, and each of them may be costly.
#[derive(Debug)]
pub struct Checks {
    left: Cell<u64>,
}

impl Default for Checks {
    fn default() -> Self {
        Self { left: Cell::new(MAX_REPLY_STEPS) }
    }
}

impl Checks {
    fn spend(&self, steps: u64) {
        self.left.set(self.left.get().saturating_sub(steps));
    }
}

impl Checker {
    /// Takes a schema in. Patterns that the linear engine refuses are left [`unchecked`](Self::unchecked).
    ///
    /// # Errors
    /// It is no schema, too large, or refers to something outside itself.
    pub fn new(schema: &Value) -> Result<Self, SchemaFault> {
        bounds::measure(schema)?;
        let modern = modern(schema);
        let schema = &*modern;
        let document = Document::new(schema)?;
        let (graph, found) = graph::read(&document)?;
        let weight = bounds::check(&document, &graph, &found)?;
        let validator = Validator::of(schema, rewritten(&document, &graph, &found))?;
        let named = found.refused.iter().take(UNCHECKED_NAMED).map(|(node, pattern, refusal)| {
            let place = found.values.get(*node).map(|value| place_within(schema, value, pattern));
            let pattern = (*pattern).to_owned();
            UncheckedPattern { place: place.unwrap_or_default(), pattern, refusal: *refusal }
        });
        let unchecked = named.collect();
        Ok(Self { validator, graph, weight, unchecked })
    }

    /// The patterns that are not checked; the first twenty if there are more.
    pub fn unchecked(&self) -> &[UncheckedPattern] {
        &self.unchecked
    }

    /// Whether a value fits.
    ///
    /// # Errors
    /// It does not, or it would take too long to say so.
    pub fn check(&self, value: &Value) -> Result<(), Misfit> {
        self.check_within(value, &Checks::default())
    }

    /// Whether a value fits, one of those of a reply.
    ///
    /// # Errors
    /// As for [`check`](Self::check), or the others have used the steps up.
    pub fn check_within(&self, value: &Value, checks: &Checks) -> Result<(), Misfit> {
        let most = MAX_CHECK_STEPS.min(checks.left.get());
        let mut counter = Counter::new(&self.graph, most);
        let cost = counter.count(value);
        checks.spend(most - counter.left());
        let Some(cost) = cost.filter(|cost| cost.fits <= most) else {
            return Err(if most < MAX_CHECK_STEPS { Misfit::UsedUp } else { Misfit::TooCostly });
        };
        checks.spend(cost.fits);
        let validator = self.validator.get().map_err(|fault| Misfit::Faults(fault.to_owned()))?;
        if validator.is_valid(value) {
            return Ok(());
        }
        if cost.faults > most {
            return Err(Misfit::Somewhere);
        }
        checks.spend(cost.faults);
        Err(Misfit::Faults(faults(validator, value)))
    }

    /// Number of keywords of the schema once its references are followed.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Whether its validator can be made.
    #[cfg(test)]
    pub(crate) fn is_compiled(&self) -> bool {
        self.validator.get().is_ok()
    }

    #[cfg(test)]
    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }
}

/// The faults of a value, in a stable order.
fn faults(validator: &jsonschema::Validator, value: &Value) -> String {
    let mut errors = validator.iter_errors(value);
    let mut faults: Vec<(String, String)> =
        errors.by_ref().take(MAX_FAULTS).map(|error| (cut(error.instance_path()), cut(&error))).collect();
    let left = errors.count();
    faults.sort();
    faults.dedup();
    let more = (faults.len() + left).saturating_sub(FAULTS_SHOWN);
    let mut listed: Vec<String> = faults
        .into_iter()
        .take(FAULTS_SHOWN)
        .map(|(path, fault)| if path.is_empty() { fault } else { format!("at `{path}`: {fault}") })
        .collect();
    if more > 0 {
        listed.push(format!("and {more} more"));
    }
    listed.join("; ")
}

/// The JSON Pointer of a pattern of a subschema.
fn place_within(schema: &Value, subschema: &Value, pattern: &str) -> String {
    let place = pointer_to(schema, place_of(subschema)).unwrap_or_default();
    if subschema.get("pattern").and_then(Value::as_str) == Some(pattern) {
        return format!("{place}/pattern");
    }
    format!("{place}/patternProperties/{}", pattern.replace('~', "~0").replace('/', "~1"))
}

/// Reads and checks a value that a schema describes: a run's typed input, or a reply that must be JSON (in a fence or not).
///
/// # Errors
/// The faults and their places, in a stable order.
pub fn check_value(schema: &Value, value: &Value) -> Result<(), String> {
    let checker = Checker::new(schema).map_err(|error| format!("the schema is unusable: {error}"))?;
    checker.check(value).map_err(|misfit| misfit.to_string())
}

/// The beginning of what is shown, without making the rest of it.
pub(crate) fn cut(value: &impl fmt::Display) -> String {
    let mut text = Cut(String::new());
    if fmt::write(&mut text, format_args!("{value}")).is_err() {
        text.0.push('…');
    }
    text.0
}

/// Takes so many bytes and refuses the rest.
struct Cut(String);

impl fmt::Write for Cut {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        let room = FAULT_BYTES.saturating_sub(self.0.len());
        let taken = piece.get(..piece.floor_char_boundary(room)).unwrap_or_default();
        self.0.push_str(taken);
        if taken.len() < piece.len() { Err(fmt::Error) } else { Ok(()) }
    }
}
