//! Advice on features that this Python does not have. Models read these texts and write the code again.

/// Parts of messages of the interpreter, and what to do instead.
const BY_MESSAGE: &[(&str, &str)] = &[
    ("yield", "build a list and return it: there are no generator functions"),
    ("the 'del' statement", "use d.pop(key), lst.pop(i), or assign None"),
    ("match", "use if and elif"),
    ("class inheritance", "use a class without bases, a dict, or a function"),
    ("type aliases", "leave the type alias out"),
    ("async for", "use for over a list of results"),
    ("async with", "leave the context manager out"),
    ("async comprehensions", "use for over a list of results"),
    ("t-string", "use an f-string"),
    ("template strings", "use an f-string"),
    ("complex constants", "there are no complex numbers: keep two floats"),
    ("Wildcard imports", "name what is imported"),
    (
        "can't be awaited",
        "a tool returns its result at once: leave await out, or write it right before the call",
    ),
    (
        "coroutine or an awaitable is required",
        "write the tool calls inside gather(...), or use parallel((\"tool\", argument), ...)",
    ),
    ("for %: 'str'", "use an f-string"),
    ("for |: 'dict'", "use {**a, **b}"),
    ("between instances of 'set'", "use a.issubset(b)"),
    ("must be integers or slices, not slice", "build a new list: a[:1] + new + a[3:]"),
    ("has no attribute 'permutations'", "use loops"),
    ("has no attribute 'combinations'", "use loops"),
    ("has no attribute 'product'", "use loops"),
    ("has no attribute 'groupby'", "collect the groups in a dict"),
    ("method decorators", "use functions and plain methods"),
    ("exception groups", "use except"),
    ("is not yet supported in this context", "call the tool in a comprehension: [tool(x) for x in items]"),
    ("Internal error in monty", "write it another way: this is a fault of the interpreter"),
    ("too deeply nested", "give parts names, and use them"),
    ("from 'asyncio'", "asyncio has only gather and run here"),
    ("module 'asyncio' has no attribute", "asyncio has only gather and run here"),
];

/// Modules that can be imported.
const MODULES: &str = "asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, \
     pathlib, re, typing, unicodedata";

/// Advice on an error with that message.
pub(super) fn of_message(kind: &str, message: &str) -> Option<String> {
    if kind == "ModuleNotFoundError" {
        let module = message.split('\'').nth(1).unwrap_or_default();
        let why = of_name(module).unwrap_or("tools are functions here already, without an import");
        return Some(format!("{why}. Modules: {MODULES}"));
    }
    BY_MESSAGE.iter().find(|(part, _)| message.contains(part)).map(|(_, hint)| (*hint).to_owned())
}

/// Advice on a name that does not exist here, though Python or a habit of models has it.
pub(super) fn of_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "eval" | "exec" | "compile" | "__import__" => "code cannot run other code: write it out",
        "input" | "breakpoint" | "help" | "exit" | "quit" | "license" | "copyright" | "credits" => {
            "nobody is at a terminal: return or print what is to be seen"
        }
        "globals" | "locals" | "vars" | "dir" | "delattr" => {
            "there is no look at the interpreter: use a dict of your own"
        }
        "super" | "property" | "classmethod" | "staticmethod" | "issubclass" => {
            "use functions and plain classes"
        }
        "memoryview" | "bytearray" | "complex" => "this type does not exist here: use bytes, list or float",
        "callable" => "use hasattr, or try the call",
        "format" => "use an f-string, or \"...\".format(...)",
        "anext" | "aiter" => "use for",
        "random" | "secrets" | "time" | "uuid" | "requests" | "urllib" | "httpx" | "subprocess"
        | "socket" | "os" | "sys" => "code reaches nothing but its tools, and has neither clock nor chance",
        _ => return None,
    })
}

/// Advice on a call of the system that the code made.
pub(super) fn of_system_call(name: &str) -> &'static str {
    match name {
        "date.today" | "datetime.now" => "code has no clock: take the time from a tool or the task",
        "os.getenv" | "os.environ" => "code sees no environment variables",
        _ => "code reaches no files: use a tool that reads or writes them",
    }
}
