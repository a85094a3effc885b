//! The table of settings in docs/serve.md has every setting, with its default.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windlass_server::Settings;

/// The keys of a schema that are no group of others, as paths with dots.
fn keys(schema: &Value, root: &Value, before: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (name, of) in schema["properties"].as_object().unwrap() {
        let path = format!("{before}{name}");
        match of["$ref"].as_str() {
            Some(place) => {
                let group = root.pointer(place.trim_start_matches('#')).unwrap();
                found.extend(keys(group, root, &format!("{path}.")));
            }
            None => drop(found.insert(path)),
        }
    }
    found
}

/// The keys and defaults of the page's table. `…` stands for the last part of the key before it.
fn rows() -> Vec<(String, Value)> {
    let page = include_str!("../../../../docs/serve.md");
    let table = page
        .split_once("\n## Settings\n")
        .unwrap()
        .1
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .skip(2);
    let mut rows = Vec::new();
    for line in table.take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let default = match cells[2].trim_matches('`') {
            "none" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|_| panic!("{line}")),
        };
        let mut last = "";
        for key in cells[1].split('`').skip(1).step_by(2) {
            last = if key.ends_with('…') { last } else { key.rsplit('.').next().unwrap() };
            rows.push((key.replace('…', last), default.clone()));
        }
    }
    rows
}

#[test]
fn the_page_has_every_setting_with_its_default() {
    let schema = Value::from(schemars::schema_for!(Settings));
    let rows = rows();
    let named: BTreeSet<String> = rows.iter().map(|(key, _)| key.clone()).collect();
    assert_eq!((named.len(), &named), (rows.len(), &keys(&schema, &schema, "")));

    // A file of all that the table says is one that says nothing.
    let mut file = json!({});
    for (key, default) in rows {
        let takes_lists = schema["properties"][&key]["type"] == "array";
        let default = if default.is_null() && takes_lists { json!([]) } else { default };
        // Indexing makes the groups on the way.
        *key.split('.').fold(&mut file, |group, name| &mut group[name]) = default;
    }
    assert_eq!(serde_json::from_value::<Settings>(file).unwrap(), Settings::default());
}
