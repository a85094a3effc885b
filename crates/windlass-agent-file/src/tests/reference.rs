//! Writes `docs/agent-file-reference.md` from the schema.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value};
use windlass_core::policy::{Policy, Preset};

use crate::schema::made::schema;

const HEAD: &str = "\
# Agent file: all keys

Look up a key of an agent file here; [agent-file.md](agent-file.md) is the guide. `windlass agents schema` prints the same as JSON Schema.

This page is made from the types that read an agent file. Do not edit it: `WINDLASS_UPDATE=1 cargo nextest run -p windlass-agent-file docs`
writes it anew, and a test fails while it is old.

A key without a default is optional, unless it says *needed*. Commas separate the forms that a value may have. `ms` are milliseconds, `s`
seconds. Paths start from the folder of the file. `${NAME}` is read from the environment in keys, headers, environment values and addresses
only.
";

const TOP: &str = "Top level";

/// The sections in the order of the page. Each has its name in the schema, its heading, its purpose where the schema has none, and the
/// place in the guide.
#[rustfmt::skip]
const SECTIONS: &[(&str, &str, &str, &str)] = &[
    ("", TOP, "The keys of the file itself.", "agent-file.md#write-and-check-a-first-file"),
    ("model", "model", "A model with settings: an entry of `model`.", "agent-file.md#models"),
    ("reasoning", "model.reasoning", "", "models.md#reasoning"),
    ("model.prices", "", "", "models.md#prices"),
    ("hostedPrices", "model.prices.hosted", "", "models.md#prices"),
    ("model.rate", "", "", "models.md#rate-limits"),
    ("model.timeouts", "", "", "limits.md#what-if-nothing-happens-any-more"),
    ("instructions", "", "", "agent-file.md#prompts"),
    ("prompt", "", "A prompt with settings: a scaffold, more instructions, or a template of your own.", "agent-file.md#prompts"),
    ("skills", "", "Agent Skills with settings.", "skills.md"),
    ("output", "", "A typed output: a schema, or any JSON object.", "agent-file.md#typed-output"),
    ("example", "examples", "A worked example: an entry of `examples`.", "agent-file.md#worked-examples"),
    ("examples.calls", "", "A call of a worked example, with its result.", "agent-file.md#worked-examples"),
    ("tool", "tools", "An entry of `tools`: one kind of tool, and settings for it.", "agent-file.md#tools"),
    ("mcp", "", "", "agent-file.md#tool-servers"),
    ("mcpTools", "mcp.tools", "", "agent-file.md#tool-servers"),
    ("builtinOptions", "builtin", "", "agent-file.md#built-in-tools"),
    ("builtin.read_file", "", "", "agent-file.md#built-in-tools"),
    ("builtin.fetch", "", "", "agent-file.md#built-in-tools"),
    ("command", "", "", "agent-file.md#commands"),
    ("serviceOptions", "service", "", "agent-file.md#services"),
    ("service.memory", "", "", "agent-file.md#services"),
    ("service.sandbox", "", "", "agent-file.md#services"),
    ("hostedOptions", "hosted", "The provider's own options of each tool that it runs, as its API names them.", "models.md#tools-that-the-provider-runs"),
    ("delegate", "agents", "An entry of `agents`: an agent of its own file, a remote agent that speaks A2A, or a branch of this agent.", "delegation.md"),
    ("branch", "", "", "agent-file.md#branches"),
    ("loop", "", "The loop: a preset, and what differs from it.", "agent-file.md#the-loop"),
    ("cachePoint", "loop.cache", "An entry of a list `cache`: messages that are marked for the provider's cache.", "agent-file.md#caches-of-providers"),
    ("loop.repetition", "", "", ""),
    ("loop.verify", "", "A model judges calls before they run.", "context.md#verify-calls-before-they-run"),
    ("limits", "loop.limits", "", "agent-file.md#limits-of-a-run"),
    ("limit", "", "A limit with an outcome of its own.", "agent-file.md#limits-of-a-run"),
    ("loop.context", "", "", "context.md"),
    ("loop.recall", "", "", "context.md#recall-earlier-answers"),
    ("loop.memory", "", "", ""),
    ("timeouts", "", "", "limits.md#what-if-nothing-happens-any-more"),
    ("retry", "", "", "agent-file.md#a-model-that-fails"),
    ("code", "", "", "code.md"),
];

/// The whole page.
pub(super) fn page() -> String {
    let schema = schema();
    let mut writer = Writer { schema: &schema, known: BTreeMap::new(), sections: BTreeMap::new() };
    writer.section(TOP.to_owned(), &schema, "");
    let headings = SECTIONS.iter().map(|(name, heading, ..)| if heading.is_empty() { name } else { heading });
    let listed: BTreeSet<&str> = headings.clone().copied().collect();
    let made: BTreeSet<&str> = writer.sections.keys().map(String::as_str).collect();
    assert_eq!(made, listed, "SECTIONS is not what the schema has");

    let mut page = format!("{HEAD}\n## Sections\n\n| section | for | guide |\n|---|---|---|\n");
    for (heading, (.., guide)) in headings.clone().zip(SECTIONS) {
        let (purpose, _) = &writer.sections[*heading];
        let guide = if guide.is_empty() { String::new() } else { format!("[{}]({guide})", of_page(guide)) };
        let first = purpose.split_inclusive(". ").next().unwrap().trim_end();
        writeln!(page, "| [{heading}](#{}) | {first} | {guide} |", anchor(heading)).unwrap();
    }
    for (heading, (.., guide)) in headings.zip(SECTIONS) {
        let (purpose, keys) = &writer.sections[*heading];
        let guide =
            if guide.is_empty() { String::new() } else { format!(" Guide: [{}]({guide}).", of_page(guide)) };
        write!(page, "\n## {heading}\n\n{purpose}{guide}\n\n{keys}").unwrap();
    }
    page
}

/// A link's words: the page, or its section in words.
fn of_page(link: &str) -> String {
    link.split_once('#').map_or_else(|| link.to_owned(), |(_, section)| section.replace('-', " "))
}

/// The section that describes keys which several sections have, and those keys.
type Shared = (String, Vec<String>);

struct Writer<'s> {
    schema: &'s Value,
    /// The heading under which a map is described.
    known: BTreeMap<String, String>,
    /// Purpose and keys by heading.
    sections: BTreeMap<String, (String, String)>,
}

impl Writer<'_> {
    /// Writes the section of a map, and those of the maps in it.
    fn section(&mut self, heading: String, map: &Value, of_key: &str) {
        let fixed = SECTIONS.iter().find(|(name, own, ..)| *own == heading || *name == heading);
        let purpose = fixed.map(|(_, _, purpose, _)| *purpose).filter(|purpose| !purpose.is_empty());
        let purpose = purpose.or_else(|| map["description"].as_str()).unwrap_or(of_key);
        let (purpose, _) = meaning(&one_line(purpose), "");
        let needed: Vec<&str> =
            map["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let (own, shared) = self.own_keys(&heading, map);
        let other_name = |schema: &Value| about(schema).starts_with("Another name of ");
        let (other_names, own): (Vec<_>, Vec<_>) = own.iter().partition(|(_, schema)| other_name(schema));
        let mut keys = "| key | type | unit | default | meaning |\n|---|---|---|---|---|\n".to_owned();
        let mut words = String::new();
        for (key, schema) in own {
            let path = if heading == TOP { key.clone() } else { format!("{heading}.{key}") };
            let unit = unit(&heading, key);
            let (meaning, told) = meaning(&about(schema), unit);
            let default = match schema.get("default") {
                _ if needed.contains(&key.as_str()) => "*needed*".to_owned(),
                Some(Value::String(text)) if text.is_empty() => told,
                Some(Value::Array(items)) if items.is_empty() => told,
                Some(Value::Object(map)) if map.is_empty() || heading == TOP => told,
                Some(default) => code(default),
                None => told,
            };
            let forms = self.forms(&path, schema).join(", ");
            writeln!(keys, "| `{key}` | {forms} | {unit} | {default} | {meaning} |").unwrap();
            words += &self.words(key, schema);
        }
        if let Some((of, names)) = shared {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            let (last, names) = names.split_last().unwrap();
            let names = names.join(", ");
            let link = format!("[{of}](#{})", anchor(&of));
            writeln!(keys, "\nAnd the keys {names} and {last}, as under {link}.").unwrap();
        }
        keys += &words;
        if heading == "loop" {
            keys += "\nNames of other systems, which `limits` takes as well:\n\n";
            for (key, schema) in other_names {
                writeln!(keys, "- `{key}`: {}", about(schema)).unwrap();
            }
            keys += &presets(map);
        } else if !other_names.is_empty() {
            keys += "\nNames of other systems for these limits: [loop](#loop).\n";
        }
        self.sections.insert(heading, (purpose, keys));
    }

    /// The keys that a section describes, and those that it has in common with another one.
    fn own_keys(&self, heading: &str, map: &Value) -> (Map<String, Value>, Option<Shared>) {
        let mut own = map["properties"].as_object().cloned().unwrap_or_default();
        let names = |map: &Value, but: &[&str]| -> Vec<String> {
            let keys = map["properties"].as_object().into_iter().flat_map(Map::keys);
            keys.filter(|key| !but.contains(&key.as_str())).cloned().collect()
        };
        let file = (TOP, names(self.schema, &["name", "instructions", "serve"]));
        let entry = names(&self.schema["$defs"]["tool"], &["mcp", "builtin", "command", "service", "hosted"]);
        for (of, keys) in [file, ("tools", entry)] {
            if of != heading && keys.iter().all(|key| own.contains_key(key)) {
                own.retain(|key, _| !keys.contains(key));
                return (own, Some((of.to_owned(), keys)));
            }
        }
        (own, None)
    }

    /// A link to the section of a map. `of_key` is the description of the key that it is a value of.
    fn map(&mut self, name: &str, map: &Value, of_key: &str) -> String {
        let named = SECTIONS.iter().find(|(own, heading, ..)| *own == name && !heading.is_empty());
        let heading = named.map_or(name, |(_, heading, ..)| heading).to_owned();
        if let (own, Some((of, keys))) = self.own_keys(&heading, map)
            && let (true, [first, .., last]) = (own.is_empty(), keys.as_slice())
        {
            return format!("map of the keys `{first}` to `{last}` under [{of}](#{})", anchor(&of));
        }
        let identity = map["properties"].to_string();
        let heading = if let Some(known) = self.known.get(&identity) {
            known.clone()
        } else {
            self.known.insert(identity, heading.clone());
            self.section(heading.clone(), map, of_key);
            heading
        };
        format!("[{heading}](#{})", anchor(&heading))
    }

    fn target<'v>(&'v self, schema: &'v Value) -> (Option<&'v str>, &'v Value) {
        let name = schema["$ref"].as_str().and_then(|place| place.strip_prefix("#/$defs/"));
        (name, name.map_or(schema, |name| &self.schema["$defs"][name]))
    }

    /// The forms of a value at that path.
    fn forms(&mut self, path: &str, schema: &Value) -> Vec<String> {
        if let (Some(name), target) = self.target(schema) {
            let (name, target) = (name.to_owned(), target.clone());
            let is_map = target["properties"].is_object();
            return if is_map {
                vec![self.map(&name, &target, &about(schema))]
            } else {
                self.forms(&name, &target)
            };
        }
        for several in ["oneOf", "anyOf"] {
            // Beside properties they say which go together.
            if let Some(forms) = schema[several].as_array().filter(|_| !schema["properties"].is_object()) {
                let mut all: Vec<String> = Vec::new();
                for form in forms {
                    let mut form = form.clone();
                    if let Some(map) = form.as_object_mut().filter(|map| map.contains_key("properties")) {
                        map.entry("description").or_insert_with(|| schema["description"].clone());
                    }
                    for form in self.forms(path, &form) {
                        if !all.contains(&form) {
                            all.push(form);
                        }
                    }
                }
                return all;
            }
        }
        if let Some(words) = schema["enum"].as_array() {
            return words.iter().map(code).collect();
        }
        if let Some(word) = schema.get("const") {
            return vec![code(word)];
        }
        match &schema["type"] {
            Value::String(kind) => vec![self.of_type(path, kind, schema)],
            Value::Array(kinds) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                kinds.map(|kind| self.of_type(path, kind, schema)).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => vec!["anything".to_owned()],
        }
    }

    fn of_type(&mut self, path: &str, kind: &str, schema: &Value) -> String {
        let bounds = || {
            let from = schema["minimum"].as_f64().map(|least| format!(" from {least}")).unwrap_or_default();
            let to = schema["maximum"].as_f64().filter(|most| *most < 4.0e9);
            from + &to.map(|most| format!(" to {most}")).unwrap_or_default()
        };
        match kind {
            "string" => "text".to_owned(),
            "boolean" => "`true`, `false`".to_owned(),
            "integer" => format!("whole number{}", bounds()),
            "number" => format!("number{}", bounds()),
            "array" => match self.forms(path, &schema["items"]).as_slice() {
                [form] => format!("list of {form}"),
                forms => format!("list of ({})", forms.join(", ")),
            },
            // A map of one key is its own documentation.
            "object" => match schema["properties"].as_object().map(|keys| (keys.len(), keys.iter().next())) {
                Some((1, Some((only, value)))) if schema["required"].is_array() => {
                    format!("`{{ {only}:` {} `}}`", self.forms(only, value).join(", "))
                }
                Some(_) => self.map(path, schema, &about(schema)),
                None if schema["additionalProperties"].is_object() => {
                    format!(
                        "map of names to {}",
                        self.forms(path, &schema["additionalProperties"]).join(", ")
                    )
                }
                None => "map".to_owned(),
            },
            other => other.to_owned(),
        }
    }

    /// The words that a key takes, if the schema says what they mean.
    fn words(&self, key: &str, schema: &Value) -> String {
        let (_, target) = self.target(schema);
        let forms = target["oneOf"].as_array().into_iter().flatten();
        let words = forms.filter(|form| form["description"].is_string());
        let words = words.filter_map(|form| Some((form.get("const")?, about(form))));
        let mut list = String::new();
        for (word, about) in words {
            writeln!(list, "- {}: {about}", code(word)).unwrap();
        }
        if list.is_empty() { list } else { format!("\nValues of `{key}`:\n\n{list}") }
    }
}

/// The table of differences between presets.
fn presets(section: &Value) -> String {
    let policies: Vec<Policy> = Preset::ALL.iter().map(Preset::policy).collect();
    let names: Vec<_> = Preset::ALL.iter().map(|preset| format!("`{preset}`")).collect();
    let mut table = format!("\nWhat the presets set:\n\n| key | {} |\n", names.join(" | "));
    writeln!(table, "|---|{}", "---|".repeat(names.len())).unwrap();
    let mut row = |key: &str, values: &[Value]| {
        if values.iter().any(|value| Some(value) != values.first()) {
            let values: Vec<_> = values.iter().map(code).collect();
            writeln!(table, "| `{key}` | {} |", values.join(" | ")).unwrap();
        }
    };
    for key in section["properties"].as_object().into_iter().flat_map(Map::keys) {
        let value = |policy: &Policy| policy.keys().into_iter().find(|(name, _)| name == key);
        let values: Vec<_> = policies.iter().filter_map(value).map(|(_, value)| value).collect();
        let maps: Vec<_> = values.iter().filter_map(Value::as_object).collect();
        let first = maps.first().map(|map| map.keys().collect::<Vec<_>>()).unwrap_or_default();
        let alike = maps.len() == values.len() && maps.iter().all(|map| map.keys().eq(first.iter().copied()));
        if alike && !first.is_empty() {
            for inner in first {
                let values: Vec<_> = maps.iter().map(|map| map[inner].clone()).collect();
                row(&format!("{key}.{inner}"), &values);
            }
        } else {
            row(key, &values);
        }
    }
    let total: Vec<Value> = Preset::ALL.iter().map(|preset| preset.total_ms.into()).collect();
    let tool: Vec<Value> = policies.iter().map(|policy| policy.calls.tool_ms.into()).collect();
    row("timeouts.total_ms", &total);
    row("timeouts.tool_ms", &tool);
    table
}

fn anchor(heading: &str) -> String {
    heading.to_lowercase().replace('.', "").replace(' ', "-")
}

/// The unit that a key's name says.
fn unit(heading: &str, key: &str) -> &'static str {
    match key {
        _ if heading == "model.prices.hosted" => "USD per 1,000 uses",
        _ if heading == "model.prices" && key != "hosted" => "USD per million tokens",
        _ if key.ends_with("_ms") => "ms",
        _ if key.ends_with("_mb") => "MiB",
        _ if key.ends_with("bytes") || key == "summary_above" => "bytes",
        _ if key.ends_with("seconds") => "s",
        _ if key.ends_with("tokens") => "tokens",
        "cost_usd" => "USD",
        "requests_per_minute" => "requests a minute",
        "tokens_per_minute" => "tokens a minute",
        _ => "",
    }
}

fn about(schema: &Value) -> String {
    one_line(schema["description"].as_str().unwrap_or_default())
}

/// A description without the unit and the default that have columns of their own, and that default.
fn meaning(about: &str, unit: &str) -> (String, String) {
    let (mut meaning, mut default) = (about.to_owned(), String::new());
    if let Some((before, last)) = about.rsplit_once("Default: ")
        && !last.contains(". ")
    {
        (meaning, default) = (before.trim_end().to_owned(), last.trim_end_matches('.').to_owned());
    }
    let said = match unit {
        "ms" => ", in milliseconds",
        "s" => ", in seconds",
        "MiB" => ", in MiB",
        _ => return (meaning, default),
    };
    (meaning.replace(said, ""), default)
}

/// A value as YAML in one line.
fn code(value: &Value) -> String {
    format!("`{}`", flow(value))
}

fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let keys: Vec<_> = map.iter().map(|(key, value)| format!("{key}: {}", quoted(value))).collect();
            format!("{{ {} }}", keys.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// The same within a map, where a text with signs of YAML stands in quotes.
fn quoted(value: &Value) -> String {
    match value.as_str() {
        Some(text) if text.contains([',', ':', '{', '.']) => one_line(&value.to_string()),
        _ => flow(value),
    }
}

/// A text as a cell of a table.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
