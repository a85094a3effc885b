use super::find;

fn one(text: &str) -> (String, String) {
    let found = find(text);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    found.into_iter().next().expect("one")
}

fn signs(text: &str) -> String {
    one(text).1
}

#[test]
fn signs_and_words() {
    assert_eq!(one("What is 17% of 2350?"), ("17% of 2350".into(), "17 / 100 * 2350".into()));
    assert_eq!(one("12 * (3 + 4)"), ("12 * (3 + 4)".into(), "12 * (3 + 4)".into()));
    assert_eq!(one("what is 2 plus 5"), ("2 + 5".into(), "2 + 5".into()));
    assert_eq!(signs("What is 12*(3+4)?"), "12 * (3 + 4)");
    assert_eq!(signs("17 percent of 2,350"), "17 / 100 * 2350");
    assert_eq!(signs("10 divided by 4"), "10 / 4");
    assert_eq!(signs("3 multiplied by 2.5."), "3 * 2.5");
    assert_eq!(signs("2 to the power of 10"), "2 ^ 10");
    assert_eq!(signs("3 x 4"), "3 * 4");
    assert_eq!(signs("7 squared"), "7 ^ 2");
    assert_eq!(signs("17 % 5"), "17 % 5");
    assert_eq!(signs("-3 + 4"), "-3 + 4");
    assert_eq!(signs("3 + 17% of 200"), "3 + 17 / 100 * 200");
    assert_eq!(signs("1,234,567.5 - 1"), "1234567.5 - 1");
}

#[test]
fn lists_of_numbers() {
    assert_eq!(one("the sum of 3, 4 and 5"), ("the sum of 3, 4, 5".into(), "3 + 4 + 5".into()));
    assert_eq!(signs("Give me the product of 3 and 4."), "3 * 4");
    assert_eq!(signs("What is the average of 1, 2 and 6?"), "(1 + 2 + 6) / 3");
    assert_eq!(signs("add 3 and 4"), "3 + 4");
    assert_eq!(signs("multiply 6 by 7"), "6 * 7");
}

#[test]
fn several_sums() {
    let found = find("What is 2 + 3, and what is 10% of 50?");
    let signs: Vec<_> = found.into_iter().map(|(_, signs)| signs).collect();
    assert_eq!(signs, ["2 + 3", "10 / 100 * 50"]);
}

#[test]
fn what_is_no_sum() {
    for text in [
        "What is 42?",
        "On 2026-11-21 and 21/11/2026",
        "version 1.2.3 - new",
        "gpt-5-mini or c++",
        "17%",
        "(3 + ) 4",
        "3 + (4",
        "the sum of all fears",
        "3 4 5",
        "- - -",
        "",
    ] {
        let found = find(text);
        assert!(found.is_empty(), "{text}: {found:?}");
    }
}
