//! The filters and tests of templates, each charged for what it reads and makes.

use minijinja::value::{Rest, ValueOrKwargs};
use minijinja::{Environment, Error, State, Value, filters, functions, tests};
use windlass_core::text::{did_you_mean, nearest};

use super::work::{VALUE, charge, length, made, refused, weigh};

/// The filters that make a value of each letter of a text (`chain` and `zip`: of all texts).
const TAKE_LETTERS: [&str; 14] = [
    "batch",
    "groupby",
    "list",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "select",
    "selectattr",
    "slice",
    "sort",
    "sum",
    "unique",
];
/// The filters that compare each item with several others.
const SORT: [&str; 4] = ["dictsort", "groupby", "sort", "unique"];
/// Cost factor for comparisons.
const COMPARISONS: usize = 4;
/// The largest number that says how wide or how often.
const MAX_COUNT: i64 = 10_000;

/// Growth of a filter's output beyond its input.
fn growth(name: &str, args: &[Value]) -> Result<u64, Error> {
    let text = |at: usize| args.get(at).and_then(Value::as_str).unwrap_or_default();
    let first = text(0);
    let own = match name {
        "replace" => (first.matches(text(1)).count() as u64).saturating_mul(text(2).len() as u64),
        "join" => {
            let items = args.first().and_then(Value::len).unwrap_or(first.len());
            (items as u64).saturating_mul(text(1).len() as u64 + VALUE)
        }
        "indent" => (first.lines().count() as u64 + 1).saturating_mul(count(args)?),
        "batch" | "slice" => count(args)?.saturating_mul(VALUE),
        "split" => match args.get(1).and_then(Value::as_str) {
            Some(between) => first.matches(between).count() as u64 * VALUE,
            None => first.split_whitespace().count() as u64 * VALUE,
        },
        "lines" => first.lines().count() as u64 * VALUE,
        _ => 0,
    };
    let taken = match name {
        "chain" | "zip" => args.len(),
        _ => usize::from(TAKE_LETTERS.contains(&name)),
    };
    let letters: u64 = args.iter().take(taken).map(length).sum();
    Ok(own.saturating_add(letters.saturating_mul(VALUE)))
}

/// The largest whole number among arguments.
fn count(args: &[Value]) -> Result<u64, Error> {
    let mut most = 0;
    for value in args.iter().skip(1) {
        let inner = if value.is_kwargs() { value.try_iter()?.collect() } else { Vec::new() };
        for key in inner {
            most = most.max(i64::try_from(value.get_item(&key)?).unwrap_or(0));
        }
        most = most.max(i64::try_from(value.clone()).unwrap_or(0));
    }
    if most > MAX_COUNT {
        let words = format!("{most} is too large: at most {MAX_COUNT}");
        return Err(refused(words));
    }
    Ok(most.unsigned_abs())
}

/// Adds a filter that is charged.
fn filter(environment: &mut Environment<'static>, name: &'static str, own: Value) {
    environment.add_filter(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
        let args = args.into_values();
        for value in &args {
            weigh(state, value)?;
        }
        let compared = args.first().filter(|_| SORT.contains(&name));
        compared.into_iter().cycle().take(COMPARISONS - 1).try_for_each(|value| weigh(state, value))?;
        charge(state, growth(name, &args)?)?;
        let made = made(own.call(state, &args)?)?;
        weigh(state, &made)?;
        Ok(made)
    });
}

/// Adds a test that is charged.
fn test(environment: &mut Environment<'static>, name: &'static str, own: Value) {
    environment.add_test(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
        let args = args.into_values();
        for value in &args {
            weigh(state, value)?;
        }
        own.call(state, &args).map(|value| value.is_true())
    });
}

/// Adds all that instructions know.
pub(super) fn add(environment: &mut Environment<'static>) {
    add_filters(environment);
    add_tests(environment);
    environment.add_function("range", functions::range);
}

/// A table of filters or tests: their names, and how they are added.
macro_rules! table {
    ($names:ident, $all:ident, $add:ident: $($name:literal => $from:path),+ $(,)?) => {
        /// Their names.
        pub(super) const $names: &[&str] = &[$($name),+];

        fn $all(environment: &mut Environment<'static>) {
            $($add(environment, $name, Value::from_function($from));)+
        }
    };
}

table!(FILTERS, add_filters, filter:
    "abs" => filters::abs, "attr" => filters::attr, "batch" => filters::batch, "bool" => filters::bool,
    "capitalize" => filters::capitalize, "chain" => filters::chain, "count" => filters::length,
    "d" => filters::default, "default" => filters::default, "dictsort" => filters::dictsort,
    "e" => filters::escape, "escape" => filters::escape, "first" => filters::first, "float" => filters::float,
    "groupby" => filters::groupby, "indent" => filters::indent, "int" => filters::int,
    "items" => filters::items, "join" => filters::join, "last" => filters::last, "length" => filters::length,
    "lines" => filters::lines, "list" => filters::list, "lower" => filters::lower, "map" => filters::map,
    "max" => filters::max, "min" => filters::min, "reject" => filters::reject,
    "rejectattr" => filters::rejectattr, "replace" => filters::replace, "reverse" => filters::reverse,
    "round" => filters::round, "safe" => filters::safe, "select" => filters::select,
    "selectattr" => filters::selectattr, "slice" => filters::slice, "sort" => filters::sort,
    "split" => filters::split, "string" => filters::string, "sum" => filters::sum, "title" => filters::title,
    "trim" => filters::trim, "unique" => filters::unique, "upper" => filters::upper, "zip" => filters::zip,
);

table!(TESTS, add_tests, test:
    "!=" => tests::is_ne, "<" => tests::is_lt, "<=" => tests::is_le, "==" => tests::is_eq,
    ">" => tests::is_gt, ">=" => tests::is_ge, "boolean" => tests::is_boolean,
    "defined" => tests::is_defined, "divisibleby" => tests::is_divisibleby,
    "endingwith" => tests::is_endingwith, "eq" => tests::is_eq, "equalto" => tests::is_eq,
    "even" => tests::is_even, "false" => tests::is_false, "float" => tests::is_float, "ge" => tests::is_ge,
    "greaterthan" => tests::is_gt, "gt" => tests::is_gt, "in" => tests::is_in, "int" => tests::is_integer,
    "integer" => tests::is_integer, "iterable" => tests::is_iterable, "le" => tests::is_le,
    "lessthan" => tests::is_lt, "lower" => tests::is_lower, "lt" => tests::is_lt,
    "mapping" => tests::is_mapping, "ne" => tests::is_ne, "none" => tests::is_none,
    "number" => tests::is_number, "odd" => tests::is_odd, "safe" => tests::is_safe,
    "sameas" => tests::is_sameas, "sequence" => tests::is_sequence,
    "startingwith" => tests::is_startingwith, "string" => tests::is_string, "true" => tests::is_true,
    "undefined" => tests::is_undefined, "upper" => tests::is_upper,
);

/// Refuses a filter or test that does not exist: rendering would only find out where it is reached.
pub(super) fn exists(kind: &str, name: &str, all: &[&str]) -> Result<(), String> {
    if all.contains(&name) {
        return Ok(());
    }
    Err(format!("{kind} {name} is unknown{}", did_you_mean(&nearest(name, all.iter().copied()))))
}
