use serde_json::json;

use super::*;

fn filled(word: &str, args: &Value) -> Option<String> {
    Word::parse(word).filled(args.as_object().unwrap(), false).unwrap()
}

#[test]
fn places_are_filled_as_part_of_one_word() {
    let args = json!({ "path": "a b; rm -rf $HOME `x` \"'", "n": 5, "on": true, "list": ["x", 1], "max-n": 2.5, "none": null });
    for (word, expected) in [
        ("{path}", Some("a b; rm -rf $HOME `x` \"'")),
        ("--file={path}", Some("--file=a b; rm -rf $HOME `x` \"'")),
        ("{n}", Some("5")),
        ("{n}-{max-n}{on}", Some("5-2.5true")),
        ("{list}", Some("[\"x\",1]")),
        ("plain", Some("plain")),
        ("", Some("")),
        ("{none}", None),
        ("--x={none}", None),
        ("{n}{missing}", None),
        ("{{n}}", Some("{n}")),
        ("{print $1}", Some("{print $1}")),
        ("{}", Some("{}")),
        ("{", Some("{")),
        ("a}b{", Some("a}b{")),
        ("{{{n}}}", Some("{5}")),
        ("{1}", Some("{1}")),
    ] {
        assert_eq!(filled(word, &args).as_deref(), expected, "{word}");
    }
    assert_eq!(Word::parse("{a}-{b}x{a}").params().collect::<Vec<_>>(), ["a", "b", "a"]);
}

#[test]
fn values_are_never_read_as_places() {
    assert_eq!(filled("{a}{b}", &json!({ "a": "{b}", "b": "{a}" })).as_deref(), Some("{b}{a}"));
}

#[test]
fn values_that_would_be_options_are_refused_unless_they_are_allowed() {
    for value in [json!("-rf"), json!("--help"), json!("-"), json!(-5)] {
        let args = json!({ "x": value });
        let args = args.as_object().unwrap();
        for word in ["{x}", "--n={x}"] {
            let error = Word::parse(word).filled(args, false).unwrap_err();
            assert_eq!(
                error.message.as_ref(),
                "the argument `x` begins with `-`, which would be taken for an option"
            );
            assert!(Word::parse(word).filled(args, true).unwrap().is_some());
        }
    }
    let zero = json!({ "x": "a\0b" });
    assert!(Word::parse("{x}").filled(zero.as_object().unwrap(), true).is_err());
}
