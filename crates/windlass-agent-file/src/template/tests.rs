use serde_json::{Value, json};

use windlass_core::text::steps::taken;
use windlass_core::text::{Shape, doubling};

use super::{MAX_TEXT_BYTES, Template, TemplateError, check, check_reading};

fn render(text: &str, input: &Value) -> Result<String, String> {
    let words = |TemplateError(error)| error.detail().unwrap_or("no detail").to_owned();
    Template::new(text).map_err(words)?.render(input).map_err(|error| {
        let out_of_fuel = error.0.kind() == minijinja::ErrorKind::OutOfFuel;
        if out_of_fuel { "out of fuel".to_owned() } else { words(error) }
    })
}

#[test]
fn what_instructions_need_is_there() {
    let input = json!({ "name": "Ann", "tags": ["b", "a"], "n": 3, "who": { "age": 7 } });
    for (text, expected) in [
        ("Hello {{ input.name }}.", "Hello Ann."),
        ("{% for tag in input.tags|sort %}{{ loop.index + 1 }}{{ tag }}{% endfor %}", "2a3b"),
        ("{% if input.name in [\"Ann\", \"Bob\"] %}yes{% elif input.n > 2 %}no{% endif %}", "yes"),
        ("{% set first = input.tags|first %}{{ first|upper }}", "B"),
        ("{{ input.tags|join(\", \") }}", "b, a"),
        ("{{ input.name|replace(\"n\", \"m\") }} {{ \"a\\nb\"|indent(2) }}", "Amm a\n  b"),
        ("{% for i in range(3) %}{{ i }}{% endfor %}", "012"),
        ("{% for k, v in input.who|items %}{{ k }}={{ v }}{% endfor %}", "age=7"),
        ("{{ input.tags|map(\"upper\")|join }}{{ input.none|default(\"-\") }}", "BA-"),
        ("{% with x = input.n %}{{ x - 1 }}{% endwith %}{# a comment #}{% raw %}{{ }}{% endraw %}", "2{{ }}"),
        ("{% set xs = [1, 2] %}{{ xs|sum }}{% if input.n is divisibleby(3) %}!{% endif %}", "3!"),
        ("{{ input.name if input.n == 3 else \"nobody\" }}", "Ann"),
        ("{{ input.tags|select(\"in\", [\"a\"])|list|length }}", "1"),
        (
            "{{ input.name[1:] }}{{ input.name[::-1] }}{{ input.tags[:1] }}{{ range(9)[2:8:3]|list }}",
            "nnnnA['b'][2, 5]",
        ),
        (
            "{{ input.name[0] }}{{ input.name[-1] }}{{ input[\"n\"] }}{{ input.tags[1] }}{{ range(5)[3] }}",
            "An3a3",
        ),
        (
            "{{ 1 < input.n < 4 }} {{ 4 > input.n >= 9 }} {{ \"a\" in input.tags not in [true] }}",
            "True False True",
        ),
        (
            "{{ input.name == \"Ann\" }}{{ input.tags != [1] }}{{ \"z\" not in input.tags }}{{ \"n\" in input }}",
            "TrueTrueTrueTrue",
        ),
        (
            "{% for t in input.tags if t > \"a\" %}{{ t }}{{ loop.cycle(\"x\", \"y\") }}{% else %}none{% endfor %}",
            "bx",
        ),
        ("{% for t in [1, 1, 2] %}{% if loop.changed(t) %}{{ t }}{% endif %}{% endfor %}", "12"),
        ("{{ {input.name: 1, \"b\": 2}[input.name] }}{{ {\"a\": input.n}.a }}", "13"),
        ("a{% if input.n == 4 %}b{% elif input.n == 3 and not input.who %}c{% else %}d{% endif %}e", "ade"),
        ("{{ \"no\" if input.n > 5 }}{% for a, b in [[1, 2]] %}{{ a }}{{ b }}{% endfor %}", "12"),
    ] {
        assert_eq!(render(text, &input).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn the_names_that_a_template_reads_are_known() {
    let parts = |text: &str| check_reading(text, &["input"]).map_err(|fault| (fault.line, fault.reason));
    for (text, needed) in [
        ("{{ input.a }}{{ input.b.c|upper }}{{ input.a }}", &["a", "b"][..]),
        ("{{ input.a|default('x') }}{% if input.b is not defined %}{{ input }}{% endif %}", &[]),
        ("{% set input = {'a': 1} %}{{ input.a }}", &[]),
        ("{% with (a, b) = input.c, d = 1 %}{{ a }}{{ b }}{{ d }}{% endwith %}", &["c"]),
        (
            "{% for k, (a, b) in input.d if a is divisibleby 2 %}{{ loop.index }}{{ k }}{{ b }}{% endfor %}",
            &["d"],
        ),
        ("{{ 'user'|indent(width=input.w) }}{# {{ user }} #}{% raw %}{{ user }}{% endraw %}user", &["w"]),
        ("{{ none if not input.in else true }}", &["in"]),
    ] {
        assert_eq!(parts(text), Ok(needed.iter().map(|part| (*part).to_owned()).collect()), "{text}");
    }
    for text in [
        "\n{{ user }}",
        "\n{{ user.input|d(1) }}",
        "{{ input }}\n{% if\tuser %}{% endif %}",
        "{{\nuser is ge 2 }}",
    ] {
        assert_eq!(parts(text), Err((2, "there is no value `user`, only `input`".to_owned())), "{text}");
    }
}

/// Templates whose cost grows with the input: a text, a list and a map with long names.
const WORK: [&str; 24] = [
    "{% set t = input.text[1:] %}",
    "{% set t = input.text[:-1] %}",
    "{% set t = (input.text[::2])[::-2] %}",
    "{% set t = input.xs[1:] %}",
    "{% set t = input.xs[::-1] %}",
    "{% set t = input.text[input.last] %}",
    "{% set t = input.text[-1] %}",
    "{% set t = input.names[input.text] %}",
    "{% if {input.text: 1, input.text2: 2} %}{% endif %}",
    "{% if input.text == input.text2 %}{% endif %}",
    "{% if input.text != input.text2 %}{% endif %}",
    "{% if input.text < input.text2 %}{% endif %}",
    "{% if input.xs >= input.xs2 %}{% endif %}",
    "{% if input.text < input.text2 < 3 %}{% endif %}",
    "{% if \"b\" in input.text %}{% endif %}",
    "{% if \"b\" not in input.xs %}{% endif %}",
    "{% if input.text in input.names %}{% endif %}",
    "{% if input.text is in(input.text) %}{% endif %}",
    "{% if input.text is startingwith(input.text2) %}{% endif %}",
    "{% set t = input.text|length %}",
    "{% set t = input.xs|first %}",
    "{% set t = input.text|default(input.text) %}",
    "{% if loop.changed(input.text) %}{% endif %}",
    "{% set t = loop.cycle(input.text, input.xs) %}",
];

/// An input of that length.
fn grown(n: usize) -> Value {
    let (text, xs) = ("a".repeat(n), vec![1; n / 8]);
    json!({ "text": text, "text2": text, "last": n - 1, "xs": xs, "xs2": xs, "names": { text.clone(): 1 } })
}

#[test]
fn twice_the_input_costs_at_most_two_and_a_half_times_the_steps() {
    let once = WORK.iter().map(|work| format!("{{% for i in range(3) %}}{work}{{% endfor %}}"));
    let others = [
        "{{ input.text }}",
        "{{ input.xs }}",
        "{{ [input.text, input.xs] }}",
        "{% for c in input.text[:9] %}{{ c }}{% endfor %}",
        "{{ input.text|list|length }}",
        "{{ input.xs|sort|unique|join(\",\") }}",
        "{{ input.text|split(\"a\")|length }}",
        "{{ input.text|replace(\"a\", \"b\") }}",
        "{{ input.text|upper|indent(2) }}",
        "{{ input.xs|map(\"string\")|join }}",
        "{{ input.xs|select(\"in\", [1])|list|length }}",
        "{{ input.text|batch(7)|list|length }}",
        "{{ input.xs|zip(input.xs2)|length }}",
    ];
    for text in once.chain(others.map(str::to_owned)) {
        let template = Template::new(&text).unwrap();
        doubling(|n| template.counted(&grown(n)).unwrap().1)
            .unwrap_or_else(|fault| panic!("{text}: {fault}"));
    }
}

#[test]
fn no_template_goes_on_for_ever_or_grows_without_a_bound() {
    let big = "x".repeat(1024 * 1024);
    let input = json!({ "text": big, "xs": vec![1; 2000], "lines": "\n".repeat(20_000) });
    for (text, fault) in [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "out of fuel"),
        ("{% for a in range(9999) %}{{ input.text }}{% endfor %}", "the text is longer than"),
        ("{{ input.text|replace(\"x\", input.text) }}", "more than 33554432 bytes"),
        ("{{ input.text|replace(\"\", input.text) }}", "more than 33554432 bytes"),
        ("{{ input.xs|join(input.text) }}", "more than 33554432 bytes"),
        ("{{ input.text|join(input.text) }}", "more than 33554432 bytes"),
        ("{{ \"a\"|indent(999999999) }}", "999999999 is too large: at most 10000"),
        ("{{ \"a\"|indent(width=999999999) }}", "999999999 is too large: at most 10000"),
        ("{{ input.lines|indent(10000, true, true) }}", "more than 33554432 bytes"),
        ("{{ input.xs|slice(999999999) }}", "too large"),
        ("{{ input.xs|batch(999999999, 0) }}", "too large"),
        ("{{ input.xs|map(\"replace\", \"1\", input.text)|list }}", "more than 33554432 bytes"),
        ("{{ input.xs|map(attribute=\"q\", default=input.text)|join }}", "more than 33554432 bytes"),
        ("{{ input.xs|select(\"in\", input.text|list)|list }}", "more than 33554432 bytes"),
        ("{% for a in range(9999) %}{{ input.text|length }}{% endfor %}", "more than 33554432 bytes"),
        ("{{ \"%999999999d\"|format(1) }}", "filter format is unknown"),
        ("{% for a in range(9999) %}{{ loop.cycle() }}{% endfor %}", "need a value"),
        (
            "{{ [input.text, input.text, input.text, input.text, input.text, input.text, input.text, input.text, input.text] }}",
            "the text is longer than",
        ),
        ("{{ input.text|list|list|list }}", "more than 33554432 bytes"),
    ] {
        let found = render(text, &input).unwrap_err();
        assert!(found.contains(fault), "{text}: {found}");
    }
    let doubled = "{% set x = x|zip(x)|list %}".repeat(40);
    let found = render(&format!("{{% set x = input.xs %}}{doubled}{{{{ x }}}}"), &input).unwrap_err();
    assert!(found.contains("33554432 bytes") || found.contains("nest deeper"), "{found}");
}

#[test]
fn values_that_hold_themselves_twice_or_ever_deeper_are_refused() {
    let input = json!({ "xs": [1, 2] });
    for set in [
        "{% set x = [x, x] %}",
        "{% set x = ([x, x]|list) %}",
        "{% set x = (x, x) %}",
        "{% set x = [x, x][:] %}",
        "{% set x = {\"a\": x, \"b\": x} %}",
        "{% set x = [x] %}",
        "{% set x = {\"a\": x} %}",
        "{% set x = [[[x]]][0] %}",
        "{% set y, x = [1, [x]] %}",
        "{% set x, y = [x], [1] %}",
        "{% set x = [x] if x else x %}",
        "{% set x = none or [x] %}",
        "{% set x = x|list|batch(1)|list %}",
    ] {
        let text = format!("{{% set x = input.xs %}}\n{}", format!("{set}\n").repeat(10_000));
        let found = render(&text, &input).unwrap_err();
        assert!(found.contains("33554432 bytes") || found.contains("nest deeper"), "{set}: {found}");
        assert!(render(&format!("{{% set x = input.xs %}}{set}{{{{ x }}}}"), &input).is_ok(), "{set}");
    }
    for (begin, end) in
        [("{% with x = (x, x) %}", "{% endwith %}"), ("{% for x in [[x, x], x] %}", "{% endfor %}")]
    {
        let inner = format!("{}{}", begin.repeat(100), end.repeat(100));
        let found = render(&format!("{{% set x = input.xs %}}{inner}"), &input).unwrap_err();
        assert!(found.contains("33554432 bytes") || found.contains("nest deeper"), "{begin}: {found}");
    }
}

#[test]
fn a_number_beside_plus_does_not_join_other_values() {
    for text in ["{{ input.0 + input }}", "{{ (input|list).0 + (input|list) }}", "{{ input + 0|string }}"] {
        let found = render(text, &json!("ab"));
        assert!(found.as_ref().is_err_and(|fault| fault.contains("takes a number")), "{text}: {found:?}");
    }
}

#[test]
fn the_beginning_of_a_long_text_costs_no_more_than_that() {
    let each = "{% for i in range(2000) %}{{ input.text[:9] }}{{ input.text[3] }}{% endfor %}";
    let done = render(each, &grown(1024 * 1024)).map(|text| text.len());
    assert_eq!(done, Ok(20_000));
}

#[test]
fn what_depends_on_the_length_of_a_value_is_counted() {
    let n = 64 * 1024;
    let long = grown(n);
    for work in WORK {
        let once = Template::new(&format!("{{% for i in [1] %}}{work}{{% endfor %}}")).unwrap();
        let (_, steps) = once.counted(&long).unwrap();
        assert!(steps >= n as u64, "{work}: {steps}");
    }
    for slice in ["input.text[1:]", "input.text[::-1]", "input.xs[1:]"] {
        let text = format!("{{% for i in range(10000) %}}{{% set t = {slice} %}}{{% endfor %}}");
        let found = render(&text, &long).unwrap_err();
        assert!(found.contains("more than 33554432 bytes"), "{slice}: {found}");
    }
}

#[test]
fn what_lets_values_grow_is_refused_with_its_line() {
    let deep = |begin: &str, end: &str| format!("{{{{ {}1{} }}}}", begin.repeat(10_000), end.repeat(10_000));
    for (text, line, reason) in [
        ("{{ a ~ b }}".to_owned(), 1, "`~`"),
        ("\n\n{{ \"x\" * 999999999 }}".to_owned(), 3, "`*`"),
        ("{{ \"x\" * 99999999 ~ \"x\" * 99999999 }}".to_owned(), 1, "templates do not support"),
        ("{{ input + input }}".to_owned(), 1, "`+` takes a number"),
        ("{% set x %}{{ input }}{{ input }}{% endset %}".to_owned(), 1, "block `set`"),
        ("{% filter upper %}a{% endfilter %}".to_owned(), 1, "block `filter`"),
        ("{% for a in b recursive %}{{ loop(a) }}{% endfor %}".to_owned(), 1, "`recursive`"),
        ("{% set ns = namespace() %}".to_owned(), 1, "only the functions `range`"),
        ("{{ range(*input) }}".to_owned(), 1, "`*` and `**` before arguments"),
        ("{{ input|default(*input) }}".to_owned(), 1, "`*` and `**` before arguments"),
        ("{% if input is in(**input) %}{% endif %}".to_owned(), 1, "`*` and `**` before arguments"),
        (format!("{{{{ {} }}}}", "x".repeat(5000)), 1, "more than 4096 bytes"),
        (deep("(", ")"), 1, "more than 500 words and signs"),
        (deep("not ", ""), 1, "more than 500 words and signs"),
        (deep("1+", ""), 1, "more than 500 words and signs"),
        (format!("{{{{ input{} }}}}", ".a".repeat(30_000)), 1, "more than 500 words and signs"),
        (format!("{{{{ input{} }}}}", "|e".repeat(30_000)), 1, "more than 500 words and signs"),
        ("{% if a %}".repeat(6_000), 1, "recursion"),
        (format!("{{% if a %}}{}", "{% elif a %}".repeat(5_000)), 1, "more than 100 `elif`"),
        (format!("{{{{ \"{}\" }}}}", "x".repeat(5000)), 1, "more than 4096 bytes"),
        ("x".repeat(1024 * 1024 + 1), 1, "at most 1048576"),
    ] {
        let fault = check(&text).unwrap_err();
        let shown = text.get(..60).unwrap_or(&text);
        assert!(fault.reason.contains(reason), "{shown}: {fault:?}");
        assert_eq!(fault.line, line, "{shown}: {fault:?}");
    }
}

#[test]
fn a_long_input_may_stand_in_the_text() {
    let input = Value::String("x".repeat(2 * MAX_TEXT_BYTES));
    assert_eq!(render("{{ input }}", &input).map(|text| text.len()), Ok(2 * MAX_TEXT_BYTES));
}

#[test]
fn a_tag_far_out_in_a_long_line_is_an_error() {
    let far = format!("Fine.\n{}{{{{ input }}}}", "x".repeat(65_001));
    let fault = check(&far).unwrap_err();
    assert_eq!((fault.line, &*fault.reason), (2, "a line with tags has more than 65000 bytes"));
    assert!(check(&"x".repeat(65_001)).is_ok(), "a long line without tags is fine");
}

/// Checks and reads a template, and renders it for an input: the steps of all of it.
fn cost(text: &str, input: &Value) -> u64 {
    let mut rendered = 0;
    let read = taken(|| {
        if check(text).is_ok() {
            let template = Template::new(text).unwrap();
            rendered = template.counted(input).map_or(0, |(_, done)| done);
        }
    });
    read + rendered
}

#[test]
fn reading_a_template_costs_its_length() {
    let input = json!({ "name": "Ann", "tags": ["a", "b"] });
    let shapes: [Shape; 13] = [
        ("text", |n| "x".repeat(n)),
        ("braces", |n| "{".repeat(n)),
        ("comments", |n| "{# x #}".repeat(n)),
        ("an open comment", |n| format!("{{#{}", "{#".repeat(n))),
        ("an open tag", |n| format!("{{{{ {}", " ".repeat(n))),
        ("an open text", |n| format!("{{{{ \"{}", "\\\"".repeat(n))),
        ("raw", |n| "{% raw %}{{ x }}{% endraw %}".repeat(n)),
        ("values", |n| "{{ input.name }}".repeat(n)),
        ("filters", |n| "{{ input.name|upper|length }}".repeat(n)),
        ("conditions", |n| "{% if input.name == 'Ann' %}x{% else %}y{% endif %}".repeat(n)),
        ("nested conditions", |n| format!("{}{}", "{% if input %}".repeat(n), "{% endif %}".repeat(n))),
        ("loops one after another", |n| "{% for tag in input.tags %}{{ tag }}{% endfor %}".repeat(n)),
        ("names", |n| "{% set x = [1, [2, [3, [4]]]]|list %}".repeat(n)),
    ];
    for (what, shape) in shapes {
        // Lines with tags have a bound of their own.
        let lines = |n: usize| (0..n / 128).map(|_| shape(16)).collect::<Vec<_>>().join("\n");
        doubling(|n| cost(&lines(n), &input)).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    }
    // The longest tag that is taken.
    let nested = |n: usize| format!("{{% set x = {}1{}|list %}}", "[".repeat(n / 110), "]".repeat(n / 110));
    doubling(|n| cost(&nested(n), &input)).unwrap_or_else(|fault| panic!("{fault}"));
}
