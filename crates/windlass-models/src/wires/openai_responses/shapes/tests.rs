use super::*;

fn fields(json: &str) -> Fields<'_> {
    Fields::read(json).expect("an object")
}

#[test]
fn fields_are_read_where_they_have_the_right_type() {
    let object =
        fields(r#"{"a":"x\n\"ü\u00fc","b":null,"c":5,"d":{"e":1},"f":[{"g":2},3,null],"h":"plain"}"#);
    assert_eq!(object.text("a").as_deref(), Some("x\n\"üü"));
    assert!(matches!(object.text("h"), Some(Cow::Borrowed("plain"))), "a text without escapes is not copied");
    assert_eq!((object.text("b"), object.text("c"), object.text("z")), (None, None, None));
    assert_eq!((object.number("c"), object.number("a"), object.number("z")), (Some(5), None, None));
    assert_eq!(object.object("d").and_then(|inner| inner.number("e")), Some(1));
    let list: Vec<_> = object.objects("f").expect("short").iter().map(|one| one.number("g")).collect();
    assert_eq!(list, [Some(2)], "what is no object is passed over");
    assert!(object.objects("c").expect("none").is_empty());
    assert!(Fields::read("[1]").is_err() && Fields::read("").is_err());
}

#[test]
fn what_is_kept_of_an_object_is_unchanged_but_for_space() {
    let object = fields(
        "{ \"type\" : \"x\", \"n\": 1.50, \"t\": \"a \\\\\\\" b\",\n \"l\": [ 1 , {\"b\" : \"c d\"} ] }",
    );
    let kept = object.without(&["type"]).expect("there is more");
    assert_eq!(kept.get(), r#"{"n":1.50,"t":"a \\\" b","l":[1,{"b":"c d"}]}"#);
    assert!(object.without(&["type", "n", "t", "l"]).is_none());
}

#[test]
fn lists_and_objects_have_a_bound() {
    let long = format!("{{\"output\":[{}{{}}]}}", "{},".repeat(MAX_ITEMS));
    assert!(fields(&long).objects("output").is_err());
    let many: Vec<String> = (0..=MAX_ITEMS).map(|at| format!("\"{at}\":0")).collect();
    assert!(Fields::read(&format!("{{{}}}", many.join(","))).is_err());
}

#[test]
fn usage_in_all_its_parts() {
    let of = |usage: &str| usage_of(&fields(&format!("{{\"usage\":{usage}}}")));
    assert_eq!(of("null"), None);
    assert_eq!(of("{}"), None);
    let openai = r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},
        "output_tokens":50,"output_tokens_details":{"reasoning_tokens":40},"total_tokens":150}"#;
    let all = Usage {
        input: 100,
        output: 50,
        cached: 60,
        cache_write: 30,
        reasoning: 40,
        estimated: false,
        reported: 0.into(),
    };
    assert_eq!(of(openai), Some(all));
    let xai = r#"{"input_tokens":100,"output_tokens":5,"output_tokens_details":{"reasoning_tokens":20},
        "total_tokens":125,"cost_in_usd_ticks":37756000}"#;
    let reported = 3_775_600_000.into();
    assert_eq!(of(xai), Some(Usage { input: 100, output: 25, reasoning: 20, reported, ..Usage::default() }));
    let less = r#"{"input_tokens":100,"output_tokens":5,"total_tokens":100}"#;
    assert_eq!(of(less), Some(Usage { input: 100, output: 5, ..Usage::default() }));
}
