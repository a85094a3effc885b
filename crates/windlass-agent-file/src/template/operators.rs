//! The operators of templates, each charged for what it reads and makes.
//!
//! `minijinja` has no place to count what an operator does. So the instructions that it compiles a template into are gone
//! through: what always costs the same stays, a filter that charges stands before what costs more with longer values, and
//! anything else is refused.

use minijinja::machinery::{CodeGenerator, Instruction, Instructions, parse};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State, Value};

use super::NAME;
use super::filters::{FILTERS, TESTS, exists};
use super::tags::Fault;
use super::work::{VALUE, charge, holds_others, length, made, refused, weigh};

/// Why `+` is refused.
pub(super) const PLUS: &str = "`+` takes a number on one side, as in {{ loop.index + 1 }}: write one value after the other, {{ a }}{{ b }}";

/// The filters that charge. No template can name them: these are no words.
const SLICE: &str = "[:]";
const ITEM: &str = "[]";
const MAP: &str = "{}";
const COMPARE: &str = "<=>";
const CONTAINS: &str = "<in>";
const METHOD: &str = "()";
const SUM: &str = "+";
/// The filter that makes a list of what would be made anew with each look.
const MADE: &str = "[*]";
/// The filter that charges for a value of lists and maps that gets a name, and so bounds how deep values nest.
const BUILT: &str = "[..]";
/// The flag of a loop that calls itself.
const RECURSIVE: u8 = 2;
/// Has a filter looked up by its name.
const BY_NAME: u8 = u8::MAX;

/// Compiles a template whose work is counted.
///
/// # Errors
/// It is no template, or has an instruction whose work cannot be counted.
pub(super) fn compile(text: &str) -> Result<Instructions<'_>, Fault> {
    use Instruction as I;
    let template = parse(text, NAME, SyntaxConfig::default())?;
    let mut generator = CodeGenerator::new(NAME, text);
    generator.compile_stmt(&template);
    let (plain, _) = generator.finish();
    let mut counted = Instructions::new(NAME, text);
    let (mut places, mut end, mut builds) = (Vec::new(), 0, false);
    while let Some(instruction) = plain.get(places.len() as u32) {
        let line = plain.get_line(places.len() as u32).unwrap_or_default();
        places.push(end);
        let mut all = with_its_charge(instruction).map_err(|reason| Fault { line, reason })?;
        let names = matches!(instruction, I::StoreLocal(_) | I::UnpackList(_) | I::PushLoop(_));
        if names && builds {
            // What gets a name may come to hold itself twice, or ever deeper.
            all.insert(0, I::ApplyFilter(BUILT, Some(1), BY_NAME));
        }
        builds = match instruction {
            I::BuildList(Some(_)) | I::BuildTuple(_) | I::BuildMap(_) => true,
            _ => builds && !names && !matches!(instruction, I::Emit),
        };
        for one in all {
            end = counted.add_with_line(one, u16::try_from(line).unwrap_or(u16::MAX)) + 1;
        }
    }
    places.push(end);
    for place in 0..end {
        let Some(
            I::Jump(to)
            | I::JumpIfFalse(to)
            | I::JumpIfFalseOrPop(to)
            | I::JumpIfTrueOrPop(to)
            | I::Iterate(to),
        ) = counted.get_mut(place)
        else {
            continue;
        };
        *to = places.get(*to as usize).copied().unwrap_or(end);
    }
    Ok(counted)
}

/// An instruction with what charges for it.
///
/// # Errors
/// Why it is refused: it names what does not exist, or its work cannot be counted.
#[expect(clippy::wildcard_enum_match_arm, reason = "an instruction that nobody here knows is refused")]
fn with_its_charge<'t>(instruction: &Instruction<'t>) -> Result<Vec<Instruction<'t>>, String> {
    use Instruction as I;
    let (charges, values) = match instruction {
        I::EmitRaw(text) => return Ok(vec![I::LoadConst(Value::from(*text)), I::Emit]),
        I::Slice => (SLICE, 4),
        I::GetItem => (ITEM, 2),
        I::BuildMap(pairs) => (MAP, 2 * pairs),
        I::Add => (SUM, 2),
        I::Eq | I::Ne | I::Gt | I::Gte | I::Lt | I::Lte => (COMPARE, 2),
        // Of `a < b < c` the first part, which may be `in` too.
        I::In | I::CompareAndPreserve(_) => (CONTAINS, 2),
        I::CallMethod("cycle" | "changed", Some(values)) => (METHOD, usize::from(*values)),
        other => return costs_the_same(other).map(|()| vec![other.clone()]),
    };
    let count = u16::try_from(values).map_err(|_| "a map is too large".to_owned())?;
    let mut counted =
        vec![I::ApplyFilter(charges, Some(count), BY_NAME), I::UnpackList(values), instruction.clone()];
    if matches!(instruction, I::Slice) {
        counted.push(I::ApplyFilter(MADE, Some(1), BY_NAME));
    }
    Ok(counted)
}

/// Refuses an instruction unless it always costs the same, or charges for itself, or a step for each value that it takes.
#[expect(clippy::match_same_arms, reason = "a line holds what belongs together")]
#[expect(clippy::wildcard_enum_match_arm, reason = "an instruction that nobody here knows is refused")]
fn costs_the_same(instruction: &Instruction<'_>) -> Result<(), String> {
    use Instruction as I;
    let reason = match instruction {
        I::Sub | I::Div | I::IntDiv | I::Rem | I::Neg | I::Not => return Ok(()),
        I::StoreLocal(_) | I::Lookup(_) | I::GetAttr(_) | I::LoadConst(_) | I::Emit => return Ok(()),
        I::BuildKwargs(_) | I::BuildList(_) | I::BuildTuple(_) | I::UnpackList(_) => return Ok(()),
        I::Jump(_) | I::JumpIfFalse(_) | I::JumpIfFalseOrPop(_) | I::JumpIfTrueOrPop(_) => return Ok(()),
        I::DupTop | I::DiscardTop | I::Swap => return Ok(()),
        I::PushWith | I::Iterate(_) | I::PushDidNotIterate | I::PopFrame | I::PopLoopFrame => return Ok(()),
        I::PushLoop(flags) if flags & RECURSIVE == 0 => return Ok(()),
        I::CallFunction("range", Some(_)) => return Ok(()),
        I::ApplyFilter(name, Some(_), _) => return exists("filter", name, FILTERS),
        I::PerformTest(name, Some(_), _) => return exists("test", name, TESTS),
        I::PushLoop(_) => "no `recursive` loop",
        I::BeginCapture(_) => {
            "no block `set` and no block `filter`: write {% set name = value %} and {{ value | filter }}"
        }
        I::CallFunction(..) | I::CallMethod(..) | I::CallObject(_) => {
            "only the functions `range`, `loop.cycle` and `loop.changed`"
        }
        _ => "no such tag",
    };
    Err(format!("templates support {reason}"))
}

/// Adds the filters that charge.
pub(super) fn add(environment: &mut Environment<'static>) {
    charging(environment, SLICE, |state, values| match values {
        [value, start, stop, step] => slice(state, value, [start, stop, step]),
        _ => Ok(()),
    });
    charging(environment, ITEM, |state, values| match values {
        [value, key] => item(state, value, key),
        _ => Ok(()),
    });
    charging(environment, MAP, |state, values| {
        values.iter().step_by(2).try_for_each(|key| named(state, key))
    });
    charging(environment, SUM, |_, values| {
        if values.iter().any(Value::is_number) { Ok(()) } else { Err(refused(PLUS.to_owned())) }
    });
    charging(environment, COMPARE, |state, values| match values {
        [left, right] => compared(state, left, right),
        _ => Ok(()),
    });
    charging(environment, CONTAINS, |state, values| match values {
        [key, map] if map.kind() == ValueKind::Map => named(state, key),
        _ => values.iter().try_for_each(|value| weigh(state, value)),
    });
    charging(environment, METHOD, |state, values| match values {
        [_] => Err(refused("`loop.cycle` and `loop.changed` need a value".to_owned())),
        [_, given @ ..] => given.iter().try_for_each(|value| weigh(state, value)),
        [] => Ok(()),
    });
    environment.add_filter(MADE, made);
    environment.add_filter(BUILT, |state: &mut State<'_, '_>, value: Value| {
        weigh(state, &value)?;
        Ok::<_, Error>(value)
    });
}

/// Adds a filter that charges for an operator and gives its values back, for [`Instruction::UnpackList`] in the order in
/// which they go onto the stack.
fn charging(
    environment: &mut Environment<'static>,
    name: &'static str,
    charge: fn(&mut State<'_, '_>, &[Value]) -> Result<(), Error>,
) {
    environment.add_filter(name, move |state: &mut State<'_, '_>, values: Rest<ValueOrKwargs>| {
        let mut values = values.into_values();
        charge(state, &values)?;
        values.reverse();
        Ok(Value::from(values))
    });
}

/// Weight of a list's items without their content.
fn items(value: &Value) -> u64 {
    if matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        value.len().unwrap_or_default() as u64 * VALUE
    } else {
        0
    }
}

/// A text is read up to the end of the slice, or whole where its length must be known.
fn slice(state: &mut State<'_, '_>, value: &Value, [start, stop, step]: [&Value; 3]) -> Result<(), Error> {
    let forward = |number: &Value| number.is_none() || number.as_i64().is_some_and(|number| number >= 0);
    let stop = if forward(start) && forward(step) { stop } else { &Value::UNDEFINED };
    charge(state, VALUE + read_up_to(value, stop) + items(value))
}

/// The bytes of a text that are read to find so many characters; without a number, or with one from the end, all.
fn read_up_to(value: &Value, characters: &Value) -> u64 {
    let (length, number) = (length(value), characters.as_i64().and_then(|number| u64::try_from(number).ok()));
    number.map_or(length, |number| length.min(number.saturating_mul(4)))
}

/// To find a character is to count those before it. A list knows its places.
fn item(state: &mut State<'_, '_>, value: &Value, key: &Value) -> Result<(), Error> {
    if matches!(value.kind(), ValueKind::Map | ValueKind::Plain) {
        return named(state, key);
    }
    let walked = if value.kind() == ValueKind::Iterable { items(value) } else { 0 };
    charge(state, VALUE + read_up_to(value, key) + walked)
}

/// The name of a field is compared with a few others.
fn named(state: &mut State<'_, '_>, key: &Value) -> Result<(), Error> {
    charge(state, VALUE + length(key).saturating_mul(VALUE))?;
    if holds_others(key) { weigh(state, key) } else { Ok(()) }
}

/// Two texts are compared up to the end of the shorter one; what holds nothing else is compared at once.
fn compared(state: &mut State<'_, '_>, left: &Value, right: &Value) -> Result<(), Error> {
    if holds_others(left) && holds_others(right) {
        weigh(state, left)?;
        return weigh(state, right);
    }
    charge(state, VALUE + length(left).min(length(right)))
}
