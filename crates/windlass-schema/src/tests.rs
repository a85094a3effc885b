//! Schemas come from tool servers: what hangs a naive reader is refused or bounded, and steps are counted, not time.

use serde_json::{Value, json};

use crate::cost::Counter;
use crate::limits::{MAX_DEPTH, MAX_EXPANDED, MAX_VALUES};
use crate::pattern::{self, MAX_PATTERN_BYTES, Refusal};
use crate::{Checker, Checks, MAX_CHECK_STEPS, Misfit, SchemaFault, plain_schema};

/// `d0` is a string; each further definition refers to the one before `fan` times.
fn tower(height: usize, fan: usize, keyword: &str) -> Value {
    let mut definitions = serde_json::Map::new();
    definitions.insert("d0".to_owned(), json!({ "type": "string" }));
    for level in 1..=height {
        let below = json!({ "$ref": format!("#/$defs/d{}", level - 1) });
        definitions.insert(format!("d{level}"), json!({ keyword: vec![below; fan] }));
    }
    let top = json!({ "$ref": format!("#/$defs/d{height}") });
    json!({ "type": "object", "properties": { "a": top }, "$defs": definitions })
}

fn fault(schema: &Value) -> SchemaFault {
    Checker::new(schema).unwrap_err()
}

#[test]
fn references_that_multiply_are_refused() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        assert_eq!(fault(&tower(40, 2, keyword)), SchemaFault::ChainTooLong, "{keyword}");
        assert_eq!(fault(&tower(20, 2, keyword)), SchemaFault::Expands, "{keyword}");
        assert_eq!(fault(&tower(6, 20, keyword)), SchemaFault::Expands, "{keyword}");
    }
    assert_eq!(fault(&tower(200, 1, "allOf")), SchemaFault::ChainTooLong);
    // A few levels are nothing unusual.
    Checker::new(&tower(8, 2, "anyOf")).unwrap();
}

#[test]
fn references_that_multiply_stay_references_for_models() {
    for schema in [tower(16, 2, "allOf"), tower(16, 10, "anyOf"), meshed(14)] {
        let plain = plain_schema(&schema);
        assert!(plain.to_string().len() <= schema.to_string().len());
        assert_eq!(plain["properties"], schema["properties"]);
    }
}

/// Types that each refer to all of them, as syntax trees do.
fn meshed(types: usize) -> Value {
    let all: Vec<Value> = (0..types).map(|to| json!({ "$ref": format!("#/$defs/t{to}") })).collect();
    let node = json!({ "type": "object", "properties": { "of": { "anyOf": all } } });
    let definitions: serde_json::Map<String, Value> =
        (0..types).map(|name| (format!("t{name}"), node.clone())).collect();
    json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/t0" } }, "$defs": definitions })
}

#[test]
fn a_circle_is_refused_and_recursion_is_not() {
    let circle =
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/a" }, true] } } });
    assert_eq!(fault(&circle), SchemaFault::Circle { place: "#/$defs/a".to_owned() });
    let tree = json!({ "type": "object", "properties": { "children": { "items": { "$ref": "#" } } } });
    let checker = Checker::new(&tree).unwrap();
    assert_eq!(checker.check(&json!({ "children": [{ "children": [] }] })), Ok(()));
    assert!(matches!(checker.check(&json!({ "children": [[]] })), Err(Misfit::Faults(_))));
}

#[test]
fn size_and_depth_have_bounds() {
    let wide: Vec<Value> = (0..MAX_VALUES).map(Value::from).collect();
    assert_eq!(fault(&json!({ "enum": wide })), SchemaFault::TooManyValues);
    assert_eq!(fault(&json!({ "description": "x".repeat(2 << 20) })), SchemaFault::TooLong);
    let deep = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "items": inner }));
    assert_eq!(fault(&deep(MAX_DEPTH + 1)), SchemaFault::TooDeep);
    // The deepest that is taken fits on a small stack, with a value as deep.
    let small = std::thread::Builder::new().stack_size(2 << 20);
    let deepest = small.spawn(move || {
        let checker = Checker::new(&deep(MAX_DEPTH - 1)).unwrap();
        checker.check(&(0..127).fold(json!([]), |inner, _| json!([inner])))
    });
    assert_eq!(deepest.unwrap().join().unwrap(), Ok(()));
}

#[test]
fn references_stay_within_the_schema() {
    for reference in ["#/$defs/no", "#no", "https://example.com/x.json", "other.json#/a", "#/properties/a/b"]
    {
        let schema = json!({ "properties": { "a": { "$ref": reference } } });
        assert_eq!(fault(&schema), SchemaFault::Reference { reference: reference.to_owned() });
    }
    let two = json!({
        "$dynamicRef": "#node",
        "$defs": { "a": { "$dynamicAnchor": "node" }, "b": { "$dynamicAnchor": "node" } }
    });
    assert_eq!(fault(&two), SchemaFault::Dynamic { reference: "#node".to_owned() });
}

#[test]
fn a_bundle_is_followed_by_its_addresses() {
    let schema = json!({
        "$id": "https://example.com/order", "type": "object",
        "properties": {
            "to": { "$ref": "address" }, "from": { "$ref": "/address#zip" },
            "no": { "$ref": "address#/$defs/never" }, "all": { "$dynamicRef": "address#any" }
        },
        "$defs": { "x": {
            "$id": "address", "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["zip"],
            "properties": { "zip": { "$anchor": "zip", "type": "string" }, "city": { "$ref": "#/$defs/city" } },
            "$defs": { "city": { "type": "string", "minLength": 2 }, "never": false, "any": { "$dynamicAnchor": "any", "type": "null" } }
        } }
    });
    let checker = Checker::new(&schema).unwrap();
    assert_eq!(
        checker.check(&json!({ "to": { "zip": "1", "city": "Ulm" }, "from": "1", "all": null })),
        Ok(())
    );
    for bad in [
        json!({ "to": {} }),
        json!({ "to": { "zip": "1", "city": "U" } }),
        json!({ "from": 1 }),
        json!({ "no": 1 }),
        json!({ "all": 1 }),
    ] {
        assert!(matches!(checker.check(&bad), Err(Misfit::Faults(_))), "{bad}");
    }
}

#[test]
fn patterns_are_matched_in_linear_time() {
    let checker = Checker::new(&json!({ "pattern": "^(a+)+$" })).unwrap();
    let long = "a".repeat(100_000);
    assert_eq!(checker.check(&Value::from(long.as_str())), Ok(()));
    assert!(matches!(checker.check(&Value::from(format!("{long}!"))), Err(Misfit::Faults(_))));
    // A pattern with many states and a long text is too much, and the error says so.
    let heavy = Checker::new(&json!({ "pattern": "([ab]{50}c?){100}" })).unwrap();
    let misfit = heavy.check(&Value::from("ab".repeat(100_000))).unwrap_err();
    assert_eq!(misfit, Misfit::TooCostly);
    let text = "checking it would take more than 500000 steps: send less at once, or nest it less deeply";
    assert_eq!(misfit.to_string(), text);
}

#[test]
fn what_the_linear_engine_refuses_goes_unchecked() {
    let refused = [
        ("(?=a)b", Refusal::NotLinear),
        (r"(a)\1", Refusal::NotLinear),
        ("(", Refusal::NotLinear),
        ("((a{100}){100}){100}", Refusal::TooLarge),
        (&"a".repeat(MAX_PATTERN_BYTES + 1), Refusal::TooLong),
    ];
    for (text, refusal) in refused {
        assert_eq!(pattern::cost(text), Err(refusal), "{text}");
        let checker =
            Checker::new(&json!({ "properties": { "a": { "type": "string", "pattern": text } } })).unwrap();
        assert_eq!(checker.unchecked().len(), 1);
        assert_eq!(checker.unchecked()[0].place, "/properties/a/pattern");
        assert_eq!(checker.check(&json!({ "a": "anything" })), Ok(()));
        assert!(checker.check(&json!({ "a": 1 })).is_err());
    }
    let many: Vec<Value> =
        (10..20).map(|n| json!({ "pattern": format!("([a-c]{{{n}}}d?){{300}}") })).collect();
    let checker = Checker::new(&json!({ "anyOf": many })).unwrap();
    let shown = checker.unchecked()[0].to_string();
    assert!(
        shown.starts_with("the pattern `([a-c]{") && shown.ends_with("large patterns in this schema"),
        "{shown}"
    );
}

#[test]
fn nothing_is_refused_because_of_an_unchecked_pattern() {
    let pattern = "(?!x)";
    for schema in [
        json!({ "patternProperties": { pattern: { "type": "null" } }, "additionalProperties": false }),
        json!({ "properties": { "a": { "not": { "pattern": pattern } } } }),
        json!({ "properties": { "a": { "oneOf": [{ "pattern": pattern }, { "type": "string" }] } } }),
        json!({ "properties": { "a": { "if": { "pattern": pattern }, "then": false } } }),
        json!({ "propertyNames": { "not": { "$ref": "#/$defs/p" } }, "$defs": { "p": { "pattern": pattern } } }),
        json!({ "allOf": [{ "patternProperties": { pattern: true } }], "unevaluatedProperties": false }),
        json!({ "properties": { "b": { "contains": { "pattern": pattern }, "maxContains": 1 } } }),
    ] {
        let checker = Checker::new(&schema).unwrap();
        assert_eq!(checker.unchecked().len(), 1, "{schema}");
        assert_eq!(checker.check(&json!({ "a": "b", "b": ["a", "b"] })), Ok(()), "{schema}");
    }
}

#[test]
fn a_check_that_costs_too_much_says_so() {
    // Each level of the value doubles what has to be looked at.
    let twice = json!({ "$ref": "#" });
    let schema = json!({ "properties": { "a": { "allOf": [twice, twice] } } });
    let checker = Checker::new(&schema).unwrap();
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert_eq!(checker.check(&nested(8)), Ok(()));
    assert_eq!(checker.check(&nested(100)), Err(Misfit::TooCostly));
    // Whether it fits is soon known, what is wrong is not.
    let choices = json!({ "anyOf": vec![json!({ "$ref": "#" }); 4] });
    let schema = json!({ "type": "object", "properties": { "a": choices }, "required": ["b"] });
    let checker = Checker::new(&schema).unwrap();
    let misfit = (1..20).map(|depth| checker.check(&nested(depth)).unwrap_err());
    let kinds: Vec<Misfit> = misfit.filter(|misfit| !matches!(misfit, Misfit::Faults(_))).collect();
    assert!(kinds.contains(&Misfit::Somewhere) && kinds.contains(&Misfit::TooCostly), "{kinds:?}");
    let text =
        "the value does not match the schema, and the mismatch has too many possible places to name one";
    assert_eq!(Misfit::Somewhere.to_string(), text);
}

#[test]
fn large_values_of_plain_schemas_are_checked() {
    let rows = json!({ "type": "object", "properties": { "rows": { "type": "array", "items": {
        "type": "object", "properties": { "id": { "type": "integer" }, "name": { "type": "string", "maxLength": 80 } },
        "required": ["id"], "additionalProperties": false } } } });
    let checker = Checker::new(&rows).unwrap();
    let row = |id: usize| json!({ "id": id, "name": "a name of some length" });
    assert_eq!(checker.check(&json!({ "rows": (0..10_000).map(row).collect::<Vec<_>>() })), Ok(()));
    let text = Checker::new(&json!({ "properties": { "text": { "type": "string" } } })).unwrap();
    assert_eq!(text.check(&json!({ "text": "x".repeat(16 << 20) })), Ok(()));
}

#[test]
fn faults_are_shown_in_part() {
    let checker = Checker::new(&json!({ "items": { "type": "integer" } })).unwrap();
    let long = checker.check(&json!(["x".repeat(1 << 20)])).unwrap_err().to_string();
    assert!(long.len() < 5_000, "{}", long.len());
    let many = checker.check(&Value::from(vec!["x"; 5_000])).unwrap_err().to_string();
    assert!(many.ends_with("; and 4995 more"), "{many}");
}

/// The steps that counting takes for values of n and 2n.
fn steps(schema: &Value, value: impl Fn(usize) -> Value) {
    let checker = Checker::new(schema).unwrap();
    let taken = |n: usize| {
        let mut counter = Counter::new(checker.graph(), u64::MAX);
        let cost = counter.count(&value(n)).unwrap();
        (u64::MAX - counter.left(), cost.fits)
    };
    for n in [50, 500, 5_000] {
        let ((once, cheap), (twice, dear)) = (taken(n), taken(2 * n));
        assert!(twice * 2 <= once * 5, "{schema}: {once} steps of counting at {n}, {twice} at twice that");
        assert!(dear * 2 <= cheap * 5, "{schema}: {cheap} steps of checking at {n}, {dear} at twice that");
    }
}

#[test]
fn steps_of_a_check_grow_with_the_value() {
    let list = |n: usize| Value::from((0..n).collect::<Vec<_>>());
    let object = |n: usize| Value::Object((0..n).map(|n| (format!("k{n}"), json!("v"))).collect());
    steps(&json!({ "items": { "type": "integer" } }), list);
    steps(
        &json!({ "items": { "anyOf": [{ "type": "string" }, { "type": "integer" }] }, "uniqueItems": true }),
        list,
    );
    steps(&json!({ "contains": { "const": -1 }, "unevaluatedItems": { "type": "integer" } }), list);
    steps(&json!({ "propertyNames": { "pattern": "^(k+[0-9]+)+$" } }), object);
    steps(
        &json!({ "patternProperties": { "^(k*)*1": true }, "allOf": [{ "properties": { "k1": true } }],
            "unevaluatedProperties": { "type": "string" } }),
        object,
    );
    steps(&json!({ "pattern": "^(a*)*b" }), |n| Value::from("a".repeat(n)));
    let tree = json!({ "anyOf": [{ "type": "null" }, { "items": { "$ref": "#" } }] });
    steps(&tree, |n| Value::from(vec![json!([[null], [[]]]); n]));
}

/// Steps of compiling: what the compiler is fed is bounded by the weight, which grows with the schema.
#[test]
fn steps_of_taking_a_schema_in_grow_with_it() {
    let fields = |n: usize| {
        let field = |n: usize| (format!("f{n}"), json!({ "type": "string", "enum": ["a", "b"] }));
        json!({ "properties": (0..n).map(field).collect::<serde_json::Map<_, _>>() })
    };
    let shared = |n: usize| {
        let field = |n: usize| (format!("f{n}"), json!({ "$ref": "#/$defs/shared" }));
        json!({ "properties": (0..n).map(field).collect::<serde_json::Map<_, _>>(),
            "$defs": { "shared": { "anyOf": [{ "type": "string" }, { "type": "null" }] } } })
    };
    let choices = |n: usize| {
        let choice = |n: usize| json!({ "properties": { "kind": { "const": n } }, "required": ["kind"] });
        json!({ "oneOf": (0..n).map(choice).collect::<Vec<_>>() })
    };
    for make in [&fields as &dyn Fn(usize) -> Value, &shared, &choices] {
        for n in [50, 500] {
            let weight = |n: usize| Checker::new(&make(n)).unwrap().weight();
            let (once, twice) = (weight(n), weight(2 * n));
            assert!(twice * 2 <= once * 5, "{once} at {n}, {twice} at twice that");
            assert!(once < MAX_EXPANDED);
        }
    }
}

#[test]
fn the_checks_of_one_reply_share_their_steps() {
    let alternatives = vec![json!({ "type": "object", "required": ["x"] }); 40];
    let checker = Checker::new(&json!({ "items": { "anyOf": alternatives } })).unwrap();
    let costly = Value::from(vec![json!({ "y": 1 }); 900]);
    let fits = Counter::new(checker.graph(), u64::MAX).count(&costly).unwrap().fits;
    assert!((100_000..MAX_CHECK_STEPS).contains(&fits), "{fits}");
    assert_eq!(checker.check(&costly), Err(Misfit::Somewhere));
    let checks = Checks::default();
    let refused =
        (0..1_024).filter(|_| checker.check_within(&costly, &checks) == Err(Misfit::UsedUp)).count();
    assert!((1_010..1_024).contains(&refused), "{refused} were refused");
}

/// A thousand ordinary calls at once stay far below the bound, even by a coarse estimate.
#[test]
fn many_ordinary_calls_of_one_reply_are_checked() {
    let field =
        |n: usize| (format!("f{n}"), json!({ "type": "string", "minLength": 1, "enum": ["some", "text"] }));
    let fields: serde_json::Map<_, _> = (0..30).map(field).collect();
    let checker =
        Checker::new(&json!({ "type": "object", "properties": fields, "required": ["f1"] })).unwrap();
    let args = Value::Object((0..30).map(|n| (format!("f{n}"), json!("text"))).collect());
    let checks = Checks::default();
    assert!((0..1_024).all(|_| checker.check_within(&args, &checks) == Ok(())));
}
