//! Arguments of host calls: by position and by name in the code, by name for the host.

use monty_types::{ExcType, MontyException, MontyObject};
use serde_json::{Map, Value};

use super::Item;
use super::values::{Foreign, to_json};
use crate::{Function, HostCall};

type Named = Vec<(MontyObject, MontyObject)>;

/// The host's functions, by their names in the code.
#[derive(Debug)]
pub(super) struct Functions(Vec<(String, Function)>);

impl Functions {
    pub(super) fn new(functions: Vec<Function>) -> Self {
        Self(functions.into_iter().map(|function| (function.in_code(), function)).collect())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// The host call of a call in the code.
    ///
    /// # Errors
    /// The exception that the call raises.
    pub(super) fn call(
        &self,
        name: &str,
        positional: Vec<MontyObject>,
        named: Named,
        most: usize,
    ) -> Result<HostCall, MontyException> {
        let known = self.0.iter().find(|(known, function)| known == name || function.name == name);
        let Some((_, function)) = known else {
            let all: Vec<&str> = self.names().collect();
            let text = format!("no tool is named {name:?}; the tools are {}", all.join(", "));
            return Err(MontyException::new(ExcType::NameError, Some(text)));
        };
        if positional.len() > function.params.len() {
            let (takes, given) = (function.params.len(), positional.len());
            let names = function.params.join(", ");
            return Err(type_error(format!(
                "{name}() takes at most {takes} positional arguments ({names}), and {given} were given"
            )));
        }
        let mut args = Map::new();
        for (param, value) in function.params.iter().zip(positional) {
            args.insert(param.clone(), sent(name, param, value)?);
        }
        for (param, value) in named {
            let MontyObject::String(param) = param else {
                return Err(type_error(format!("{name}() takes keywords that are texts")));
            };
            if args.contains_key(&param) {
                return Err(type_error(format!("{name}() got multiple values for argument '{param}'")));
            }
            let value = sent(name, &param, value)?;
            args.insert(param, value);
        }
        let call = HostCall { place: 0, name: function.name.clone(), args };
        let found = Value::Object(call.args.clone()).to_string().len();
        if found > most {
            let text =
                format!("the arguments of {name}() have {found} bytes, and at most {most} are allowed");
            return Err(MontyException::new(ExcType::ValueError, Some(text)));
        }
        Ok(call)
    }

    /// The items of a call of `parallel`: pairs of a name and arguments, deferred calls, or values.
    ///
    /// # Errors
    /// The exception that the call raises.
    pub(super) fn parallel(
        &self,
        args: Vec<MontyObject>,
        named: &Named,
        most: usize,
    ) -> Result<Vec<Item>, MontyException> {
        if !named.is_empty() {
            return Err(type_error("parallel() takes calls only, no keywords".to_owned()));
        }
        let mut items = Vec::with_capacity(args.len());
        for arg in args {
            // `parallel([..])` is `parallel(*[..])`.
            if let MontyObject::List(list) = arg {
                for item in list {
                    items.push(self.item(item, most)?);
                }
            } else {
                items.push(self.item(arg, most)?);
            }
        }
        Ok(items)
    }

    fn item(&self, arg: MontyObject, most: usize) -> Result<Item, MontyException> {
        if let MontyObject::Repr(text) = &arg {
            return match future(text) {
                Some(id) => Ok(Item::Future(id)),
                None if text.starts_with("<coroutine") => Err(type_error(
                    "parallel() takes tool calls: use asyncio.gather for coroutines".to_owned(),
                )),
                None => Err(no_item()),
            };
        }
        let MontyObject::Tuple(parts) = arg else {
            return if goes_back(&arg) { Ok(Item::Value(arg)) } else { Err(no_item()) };
        };
        let mut parts = parts.into_iter();
        let Some(MontyObject::String(name)) = parts.next() else {
            return Err(no_item());
        };
        self.call(&name, parts.collect(), Vec::new(), most).map(Item::Call)
    }
}

fn no_item() -> MontyException {
    let text =
        "parallel() takes calls such as (\"tool\", argument, ..) or tool(argument), and results of calls";
    type_error(text.to_owned())
}

/// Whether a value can leave the interpreter and come back as it was: objects of classes cannot.
fn goes_back(value: &MontyObject) -> bool {
    if let MontyObject::List(items) | MontyObject::Tuple(items) = value {
        return items.iter().all(goes_back);
    }
    if let MontyObject::Dict(pairs) = value {
        return pairs.into_iter().all(|(key, value)| goes_back(key) && goes_back(value));
    }
    to_json(value.clone(), Foreign::Refused).is_ok_and(|json| !json.is_object() && !json.is_array())
}

/// The number of a deferred call, from the text that stands for its future outside of the interpreter.
fn future(text: &str) -> Option<u32> {
    text.strip_prefix("<coroutine external_future(")?.strip_suffix(")>")?.parse().ok()
}

fn sent(name: &str, param: &str, value: MontyObject) -> Result<Value, MontyException> {
    to_json(value, Foreign::Refused).map_err(|why| type_error(format!("{name}(): argument '{param}': {why}")))
}

fn type_error(text: String) -> MontyException {
    MontyException::new(ExcType::TypeError, Some(text))
}
