//! Owns the user's file of providers: the shape of the built-in one, read with places.

use std::collections::HashMap;
use std::path::Path;

use windlass_models::providers::{self, ProviderFile};

use crate::AgentFileError;
use crate::files::{Disk, read_text};
use crate::yaml::{Field, Key, MAX_BYTES, Node, NodeValue, Place, Problem, YamlError, parse};

/// Reads a file of providers. `file` is its name for errors.
///
/// ```
/// use windlass_agent_file::read_providers;
///
/// let file = "providers:\n  mine:\n    base_url: https://llm.example/v1\n    key: MY_KEY\n";
/// assert_eq!(read_providers(file, "providers.yaml").unwrap().providers.0.len(), 1);
/// let error = read_providers("providers:\n  mine:\n    base_ulr: x\n", "providers.yaml").unwrap_err();
/// assert!(error.to_string().starts_with("providers.yaml:3:5: Unknown key `base_ulr` in `providers.mine`"), "{error}");
/// ```
///
/// # Errors
/// It is no YAML, or something in it does not fit, with its place.
pub fn read_providers(text: &str, file: &str) -> Result<ProviderFile, YamlError> {
    let read = parse(text).and_then(|node| {
        if node.is_null() {
            return Ok(ProviderFile::default());
        }
        let read = Field::root(&node).decode()?;
        check_aliases(&node, file)?;
        Ok(read)
    });
    read.map_err(|error| error.in_file(file))
}

/// A provider as a file names it: its aliases, if the file gives any.
struct Named<'n> {
    name: &'n str,
    place: Place,
    aliases: Option<Vec<(&'n str, Place)>>,
}

fn named(node: &Node) -> Vec<Named<'_>> {
    let Some(NodeValue::Map(entries)) = node.get("providers").map(|providers| &providers.value) else {
        return Vec::new();
    };
    let named = entries.iter().map(|(key, node): &(Key, Node)| Named {
        name: &key.name,
        place: key.place(),
        aliases: node.get("aliases").map(texts),
    });
    named.collect()
}

/// A text, or those of a list, with their places.
fn texts(node: &Node) -> Vec<(&str, Place)> {
    let items =
        if let NodeValue::List(items) = &node.value { items.as_slice() } else { std::slice::from_ref(node) };
    items.iter().filter_map(|item| Some((item.as_str()?, item.place()))).collect()
}

/// Refuses an alias that is another provider's name or alias: which of the two is meant would depend on their order.
fn check_aliases(node: &Node, file: &str) -> Result<(), YamlError> {
    let own = named(node);
    if own.iter().all(|provider| provider.aliases.is_none()) {
        // A name wins over an alias: only an alias of its own can be taken already.
        return Ok(());
    }
    let built_in = parse(providers::YAML)?;
    let built_in = named(&built_in);
    let mut taken: HashMap<&str, (&str, String)> = HashMap::new();
    let here = |place: Place| format!("{file}:{}:{}", place.line, place.column);
    let there = |place: Place| format!("the built-in providers.yaml:{}:{}", place.line, place.column);
    for provider in &built_in {
        // Where the file gives aliases, those built in do not count; a name of its own takes an alias over.
        let changed = own.iter().any(|own| own.name == provider.name && own.aliases.is_some());
        for (alias, place) in provider.aliases.iter().flatten().filter(|_| !changed) {
            taken.insert(alias, (provider.name, there(*place)));
        }
    }
    for provider in &built_in {
        taken.insert(provider.name, (provider.name, there(provider.place)));
    }
    for provider in &own {
        taken.insert(provider.name, (provider.name, here(provider.place)));
    }
    for provider in &own {
        for (alias, place) in provider.aliases.iter().flatten() {
            if let Some((owner, first)) = taken.get(alias).filter(|(owner, _)| *owner != provider.name) {
                let what = if alias == owner {
                    "the name of a provider".to_owned()
                } else {
                    format!("an alias of `{owner}`")
                };
                let message = format!("`{alias}` is {what} already, in {first}");
                let path = format!("providers.{}.aliases", provider.name);
                let help = Some("choose another alias, or give the other provider other aliases".to_owned());
                return Err(YamlError::new(
                    *place,
                    path,
                    Problem::Other { code: "providers.alias", message, help },
                ));
            }
            taken.insert(alias, (provider.name, here(*place)));
        }
    }
    Ok(())
}

/// Reads a user's file of providers and adds it to the built-in ones. Call it before the first model is named.
///
/// # Errors
/// The file cannot be read or does not fit, or models were named already.
pub fn add_providers(path: &Path) -> Result<(), AgentFileError> {
    let unread = |source| AgentFileError::Read { path: path.to_owned(), source };
    let text = read_text(&Disk, path, MAX_BYTES as u64).map_err(|why| unread(std::io::Error::other(why)))?;
    let file = read_providers(&text, &path.display().to_string()).map_err(AgentFileError::Providers)?;
    providers::add(file).map_err(|error| unread(std::io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use windlass_models::providers::{YAML, providers};

    use super::read_providers;

    fn error(text: &str) -> String {
        read_providers(text, "p.yaml").expect_err("it is refused").to_string()
    }

    /// The built-in file with this reader gives what the build made of it.
    #[test]
    fn the_built_in_file_fits_its_own_shape() {
        let read = read_providers(YAML, "providers.yaml").expect("the built-in file");
        let names: Vec<_> = read.providers.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, providers().iter().map(|provider| provider.name.as_str()).collect::<Vec<_>>());
        for ((name, entry), built) in read.providers.0.iter().zip(providers()) {
            assert_eq!(entry.prices, built.prices, "{name}");
            assert_eq!(entry.key.clone().unwrap_or_default().0, built.keys, "{name}");
            assert_eq!(entry.base_url.as_ref().map(|url| &url.0), built.base_url.as_ref(), "{name}");
            assert_eq!(entry.local.unwrap_or(false), built.local, "{name}");
        }
    }

    /// The files of providers in the guide, and its table of keys.
    #[test]
    fn the_guide_s_files_can_be_read_and_its_tables_name_all() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
        let page = std::fs::read_to_string(page).expect("the guide");
        let blocks =
            page.split("```yaml providers\n").skip(1).map(|rest| rest.split("\n```").next().expect("an end"));
        let files: Vec<_> =
            blocks.map(|block| read_providers(block, "docs/models.md").expect("a file")).collect();
        assert_eq!(files.len(), 1);
        for provider in providers() {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", provider.name)));
            let row = row.unwrap_or_else(|| panic!("docs/models.md lacks `{}`", provider.name));
            let words = provider.aliases.iter().chain(&provider.keys).chain(&provider.address_variable);
            let missing: Vec<_> = words.filter(|word| !row.contains(&format!("`{word}`"))).collect();
            assert!(missing.is_empty(), "docs/models.md: `{}` lacks {missing:?}", provider.name);
        }
        let known = read_providers("providers: { x: { zzz: 1 } }", "").expect_err("an unknown key");
        if let crate::yaml::Problem::UnknownKey { known, .. } = &*known.problem {
            assert!(known.len() > 10);
            for key in known {
                assert!(page.contains(&format!("\n| `{key}` |")), "docs/models.md lacks the key `{key}`");
            }
        } else {
            panic!("{known:?}");
        }
    }

    #[test]
    fn errors_have_a_place_and_say_what_was_meant() {
        for (text, expected) in [
            (
                "providers:\n  x:\n    wires: gemini\n",
                "p.yaml:3:5: Unknown key `wires` in `providers.x`; did you mean wire?",
            ),
            (
                "providers:\n  x:\n    wire: openai_chta\n",
                "p.yaml:3:11: unknown wire `openai_chta`; did you mean openai_chat?",
            ),
            (
                "providers:\n  x:\n    quirks: [cache_controll]\n",
                "p.yaml:3:14: `providers.x.quirks.0` is \"cache_controll\", expected completion_tokens, cache_control, no_files, return_reasoning, short_ids, stored_replies, thoughts_beside, no_top_k, random_seed, reasoning_object, allowed_tools, search_options or search_plugin",
            ),
            (
                "providers:\n  x:\n    prices:\n      - { model: m, input: 1, output: -2 }\n",
                "p.yaml:4:39: a price is a number from 0, found -2",
            ),
            ("providers:\n  x:\n    key: [A, B C]\n", "p.yaml:3:10: `B C` is no name of a variable"),
            (
                "providers:\n  Big Name: {}\n",
                "p.yaml:2:3: `Big Name` is no name: use lower-case letters, digits and dashes",
            ),
            (
                "providers:\n  x:\n    rate: { per: key }\n",
                "p.yaml:3:11: `rate` sets neither requests_per_minute nor tokens_per_minute",
            ),
            (
                "providers:\n  x:\n    rate: { request_per_minute: 3 }\n",
                "p.yaml:3:13: Unknown key `request_per_minute` in `providers.x.rate`; did you mean requests_per_minute or per?",
            ),
            ("provider:\n  x: {}\n", "p.yaml:1:1: Unknown key `provider`; did you mean providers?"),
            ("providers:\n  x: {}\n  x: {}\n", "p.yaml:3:3: Duplicate key `x`, first used in line 2"),
            (
                "providers:\n  x: { aliases: [y] }\n  z: { aliases: [w, y] }\n",
                "p.yaml:3:21: `y` is an alias of `x` already, in p.yaml:2:18",
            ),
            (
                "providers:\n  x: { aliases: [z] }\n  z: {}\n",
                "p.yaml:2:18: `z` is the name of a provider already, in p.yaml:3:3",
            ),
        ] {
            assert_eq!(error(text), expected);
        }
        let built_in = |alias: &str| error(&format!("providers:\n  x: {{ aliases: [{alias}] }}\n"));
        let claude = built_in("claude");
        assert!(
            claude.starts_with(
                "p.yaml:2:18: `claude` is an alias of `anthropic` already, in the built-in providers.yaml:"
            ),
            "{claude}"
        );
        assert!(built_in("openai").contains("`openai` is the name of a provider already, in the built-in"));
        for fine in [
            "providers: { anthropic: { aliases: [claude, sonnet] } }",
            "providers: { x: { aliases: [claude] }, anthropic: { aliases: [] } }",
            "providers: { claude: { wire: openai_chat } }",
            "providers: { x: { aliases: [x1, x1, x] } }",
        ] {
            assert!(read_providers(fine, "p.yaml").is_ok(), "{fine}");
        }
        assert!(read_providers("", "p.yaml").is_ok_and(|file| file.providers.0.is_empty()));
    }
}
