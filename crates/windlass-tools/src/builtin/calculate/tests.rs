use serde_json::json;

use super::*;
use crate::builtin::tests::{call, error_of};

fn value(expression: &str) -> String {
    evaluate(expression).unwrap_or_else(|error| panic!("{expression}: {error}")).to_string()
}

fn error(expression: &str) -> String {
    evaluate(expression).map(|number| number.to_string()).unwrap_err()
}

#[test]
fn arithmetic_is_exact_where_decimals_are() {
    for (expression, expected) in [
        ("2 + 5", "7"),
        ("0.1 + 0.2", "0.3"),
        ("1.10 - 0.1", "1"),
        ("1e3 * 2.5", "2500"),
        ("1 / 8", "0.125"),
        ("1 / 3", "0.333333333333333"),
        ("1 / 3 * 3", "1"),
        ("2 / 3", "0.666666666666667"),
        ("12345678901234567890 * 10 + 1", "123456789012345678901"),
        ("2 ^ 100", "1267650600228229401496703205376"),
        ("2 ^ -2", "0.25"),
        ("2 ** 3 ** 2", "512"),
        ("2 ^ 0.5 ^ 2", "1.18920711500272"),
        ("-2 ^ 2", "-4"),
        ("(-2) ^ 2", "4"),
        ("2 ^ -1 * 4", "2"),
        ("--3", "3"),
        ("7 - -3", "10"),
        ("10 - 2 - 3", "5"),
        ("100 / 10 / 2", "5"),
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("-0.5", "-0.5"),
        ("0.000001 * 0.000001", "0.000000000001"),
        ("1e40 * 3", "3e40"),
        ("1_000 + 1", "1001"),
        ("3 × 4 ÷ 2 − 1", "5"),
        ("0 * -1", "0"),
        ("99999999999999999999999999999999999999999", "1e41"),
        ("1.5e-7 / 1", "0.00000015"),
        ("sqrt(2) * 1e-10", "1.4142135623731e-10"),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn percent_and_remainder_are_told_apart_by_what_follows() {
    for (expression, expected) in [
        ("17% of 2350", "399.5"),
        ("17 % OF 2350", "399.5"),
        ("50%", "0.5"),
        ("50% * 3", "1.5"),
        ("10% + 5%", "0.15"),
        ("17 % 5", "2"),
        ("-17 % 5", "-2"),
        ("5.5 % 2", "1.5"),
        ("17 % (2 + 3)", "2"),
        ("100 * 5%", "5"),
        ("2 * 3 % 4", "2"),
        ("10 % pi", "0.575222039230621"),
        ("(20%) ^ 2", "0.04"),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
    assert_eq!(
        error("200 + 10%"),
        "at character 5: a percentage cannot be added to a number: write `p% of x`"
    );
}

#[test]
fn functions_and_constants() {
    for (expression, expected) in [
        ("sqrt(16)", "4"),
        ("sqrt(2) ^ 2", "2"),
        ("abs(-3.5)", "3.5"),
        ("min(3, 1, 2)", "1"),
        ("MAX(3, 1e2, sqrt(9))", "100"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(2/3, 4)", "0.6667"),
        ("round(1.005, 2)", "1.01"),
        ("round(1234, -2)", "1200"),
        ("round(1250, -2)", "1300"),
        ("floor(-1.5)", "-2"),
        ("ceil(-1.5)", "-1"),
        ("ceil(1.2)", "2"),
        ("ln(e)", "1"),
        ("log(1000)", "3"),
        ("log(8, 2)", "3"),
        ("log2(1024)", "10"),
        ("exp(0)", "1"),
        ("sin(0) + cos(0)", "1"),
        ("sin(pi)", "1.22464679914735e-16"),
        ("tan(pi / 4)", "1"),
        ("2 * pi", "6.28318530717959"),
        ("2 * e", "5.43656365691809"),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn what_is_no_expression_is_told_with_its_place() {
    for (expression, expected) in [
        ("", "at character 1: expected a number, found the end"),
        ("2 +", "at character 4: expected a number, found the end"),
        ("2 + * 3", "at character 5: expected a number, found `*`"),
        ("(2 + 3", "at character 1: this `(` is never closed"),
        ("2 + 3)", "at character 6: this `)` has no `(`"),
        ("2 3", "at character 3: expected an operator, found `3`"),
        ("2pi", "at character 2: expected an operator, found `p`"),
        ("1,000 + 1", "at character 2: unexpected `,`: write numbers without separators, such as 1000"),
        ("1.2.3", "at character 1: `1.2.3` is not a number"),
        ("1 / 0", "at character 3: division by zero"),
        ("1 / (2 - 2)", "at character 3: division by zero"),
        ("5 % 0", "at character 3: division by zero"),
        ("0 ^ -1", "at character 3: division by zero"),
        ("sqrt(-1)", "at character 1: the result is not a real number"),
        ("ln(0)", "at character 1: the logarithm of zero or less is undefined"),
        ("10 ^ 400", "at character 4: the result is too large"),
        ("1e999", "at character 1: this number is too large"),
        ("sqrt 4", "at character 6: expected `(` after `sqrt`"),
        ("sqrt(1, 2)", "at character 1: `sqrt` does not take 2 arguments"),
        ("min(1 2)", "at character 7: expected `,` or `)`, found `2`"),
        ("min(1", "at character 1: the `(` of `min` is never closed"),
        ("round(1.5, 0.5)", "at character 1: round takes a whole number of digits"),
        ("$5", "at character 1: expected a number, found `$`"),
    ] {
        assert_eq!(error(expression), expected, "{expression}");
    }
    assert!(error("foo(1)").contains("unknown function `foo`; the known ones are sqrt"));
    assert!(error("2 * x").contains("unknown name `x`; the known ones are pi"));
}

#[test]
fn long_and_deep_expressions_are_refused_without_harm() {
    let deep = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    assert_eq!(value(&deep(MAX_DEPTH - 1)), "1");
    assert!(error(&deep(MAX_DEPTH)).ends_with("nested more than 64 levels deep"));
    assert!(error(&format!("{}1", "-".repeat(500))).ends_with("nested more than 64 levels deep"));
    assert!(error(&format!("2{}", "^2".repeat(300))).ends_with("nested more than 64 levels deep"));
    assert!(error(&"1".repeat(MAX_EXPRESSION + 1)).starts_with("the expression has 1001 bytes"));
    assert_eq!(value(&format!("1{}", "+1".repeat(499))), "500");
}

#[tokio::test]
async fn the_tool_gives_the_number_or_says_what_is_wrong() {
    let tool = Calculate::new();
    assert_eq!(call(&tool, json!({ "expression": "17% of 2350" })).await, "399.5");
    let error = error_of(&tool, json!({ "expression": "1 / 0" })).await;
    assert_eq!(error, ToolError::of_kind("BadExpression", "at character 3: division by zero"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[0-9a-z+*/%^(),. -]{0,60}") {
        let _ = evaluate(&text);
    }

    #[test]
    fn sums_and_products_of_decimals_are_those_of_whole_numbers(a in -1_000_000_i64..1_000_000, b in -1_000_000_i64..1_000_000) {
        let (x, y) = (format!("({a}/1000)"), format!("({b}/1000)"));
        proptest::prop_assert_eq!(value(&format!("({x} + {y}) * 1000")), (a + b).to_string());
        proptest::prop_assert_eq!(value(&format!("{x} * {y} * 1000000")), (a * b).to_string());
    }
}
