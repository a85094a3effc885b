//! Patterns of schemas in agent files that cannot be checked.

use super::*;

#[test]
fn k60_a_pattern_with_look_around_is_kept_with_a_warning() {
    // As pydantic writes it for a `Decimal`.
    let text = "output:\n  schema:\n    type: object\n    properties:\n      price:\n        anyOf:\n          - type: number\n          \
                - type: string\n            pattern: '^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$'\n";
    let file = parse(text).expect("it can be read");
    let schema = file.output_schema.expect("a schema");
    assert!(schema.pointer("/properties/price/anyOf/1/pattern").is_some(), "{schema}");
    let [warning] = file.unchecked.as_slice() else { panic!("{:?}", file.unchecked) };
    assert!(warning.contains(":9:13: `output.schema.properties.price.anyOf.1.pattern`"), "{warning}");
    assert!(warning.ends_with("it is not checked"), "{warning}");
    for pattern in ["a{1000}{1000}", "(a", "[b"] {
        let text = format!("output:\n  schema:\n    type: string\n    pattern: '{pattern}'\n");
        assert!(parse(&text).is_err(), "{pattern}");
    }
}
