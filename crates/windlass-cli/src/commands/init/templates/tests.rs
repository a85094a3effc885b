use windlass_runtime::yaml;

use super::*;

#[test]
fn what_fills_a_place_is_not_looked_at_again() {
    let places = [("{name}", "{model}"), ("{model}", "{name}")];
    assert_eq!(filled("a {name} b {model} c {other}", &places), "a {model} b {name} c {other}");
    assert_eq!(filled("{name}", &[]), "{name}");
}

#[test]
fn any_name_is_one_text_in_yaml() {
    for name in [
        "shop",
        "a b",
        "no",
        "12",
        "1e3",
        "~",
        "x: y",
        "# x",
        "\"}; rm -rf",
        "'",
        "ключ",
        "- a",
        "{model}",
        "\\",
    ] {
        let node = yaml::parse(&format!("name: {}\n", super::yaml(name))).unwrap();
        let value = serde_json::to_value(node.to_json()).unwrap();
        assert_eq!(value["name"], name);
    }
}

#[test]
fn every_template_says_what_it_does_and_has_the_same_kinds_of_files() {
    for template in Template::ALL {
        assert!(!template.does().is_empty(), "{template:?}");
        let paths: Vec<_> = template.parts().iter().map(|(path, ..)| *path).collect();
        for path in ["agent.yaml", "tests/agent.yaml", "README.md"] {
            assert!(paths.contains(&path), "{template:?} lacks {path}");
        }
        let page = template.parts().iter().find(|(path, ..)| *path == "README.md").unwrap().2;
        assert!((8..=12).contains(&page.lines().count()), "{template:?}: {page}");
        assert!(page.ends_with("\n{answers}\n"), "{template:?}: {page}");
        assert!(template == Template::Extract || page.contains(template.first_run()), "{template:?}: {page}");
    }
}
