use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::values::{Foreign, from_json, to_json};
use super::{Interpreter, Turn};
use crate::{Function, HostResult, Limits, Program};

/// Runs a step with a host that answers each call with null; on a thread with the child's stack.
fn run(source: String) -> Turn {
    let limits = Limits { seconds: 0.2, memory_mb: 16, ..Limits::default() };
    let host = move || {
        let program = Program::new(source).function(Function::new("add", ["a", "b"]));
        let (mut interpreter, mut turn) = Interpreter::start(&limits, program);
        while let Turn::Calls(calls) = turn {
            turn = interpreter.resume(calls.iter().map(|_| HostResult::Value(Value::Null)).collect());
        }
        turn
    };
    std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(host)
        .unwrap()
        .join()
        .expect("the interpreter broke")
}

/// JSON of all kinds.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |number| number.is_finite().then(|| Value::from(number))),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((".{0,4}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Pieces of Python in any order: they parse more often than bytes do.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "add",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "1",
        "'a'",
        "x",
        "=",
        ",",
        ":",
        "\n",
        "\n    ",
        "for x in ",
        "if ",
        "def f",
        "return ",
        "await ",
        "async ",
        "parallel",
        "lambda",
        "*",
        "**",
        ".",
        "f'{x}'",
        "class A",
        "try",
        "except",
        "while ",
        "import re",
        "gather",
        "result",
        "print",
        "-",
        "//",
        "not ",
        "range(9)",
        " ",
        "\\",
        "#",
        "\"\"\"",
        "\t",
        "é",
        "\0",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_ends(source in ".{0,200}") {
        run(source);
    }

    #[test]
    fn any_pieces_of_python_end(source in pieces()) {
        run(source);
    }

    #[test]
    fn json_passes_through_python_unchanged(value in values()) {
        prop_assert_eq!(to_json(from_json(value.clone()), Foreign::Refused), Ok(value));
    }
}

#[test]
fn deep_values_are_refused_before_the_stack_ends() {
    let mut deep = json!(1);
    for _ in 0..99 {
        deep = json!([deep]);
    }
    assert_eq!(to_json(from_json(deep.clone()), Foreign::Repr), Ok(deep.clone()));
    assert!(to_json(from_json(json!([deep])), Foreign::Repr).unwrap_err().contains("100 levels"));
}
