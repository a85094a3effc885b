//! Owns the user's file of providers: the shape of the built-in one, read with places.

use std::path::Path;

use windlass_models::providers::{self, ProviderFile};

use crate::AgentFileError;
use crate::files::read_text;
use crate::yaml::{Field, MAX_BYTES, YamlError, parse};

/// Reads a file of providers. `file` is its name for errors.
///
/// ```
/// use windlass_agent_file::read_providers;
///
/// let file = "providers:\n  mine:\n    base_url: https://llm.example/v1\n    key: MY_KEY\n";
/// assert_eq!(read_providers(file, "providers.yaml").unwrap().providers.0.len(), 1);
/// let error = read_providers("providers:\n  mine:\n    base_ulr: x\n", "providers.yaml").unwrap_err();
/// assert!(error.to_string().starts_with("providers.yaml:3:5: unknown key `providers.mine.base_ulr`"), "{error}");
/// ```
///
/// # Errors
/// It is no YAML, or something in it does not fit, with its place.
pub fn read_providers(text: &str, file: &str) -> Result<ProviderFile, YamlError> {
    let read = parse(text).and_then(|node| {
        if node.is_null() { Ok(ProviderFile::default()) } else { Field::root(&node).decode() }
    });
    read.map_err(|error| error.in_file(file))
}

/// Reads a user's file of providers and adds it to the built-in ones. Call it before the first model is named.
///
/// # Errors
/// The file cannot be read or does not fit, or models were named already.
pub fn add_providers(path: &Path) -> Result<(), AgentFileError> {
    let unread = |source| AgentFileError::Read { path: path.to_owned(), source };
    let text = read_text(path, MAX_BYTES as u64).map_err(|why| unread(std::io::Error::other(why)))?;
    let file = read_providers(&text, &path.display().to_string())?;
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

    #[test]
    fn errors_have_a_place_and_say_what_was_meant() {
        for text in [
            "providers:\n  x:\n    wires: gemini\n",
            "providers:\n  x:\n    wire: openai_chta\n",
            "providers:\n  x:\n    quirks: [cache_controll]\n",
            "providers:\n  x:\n    prices:\n      - { model: m, input: 1, output: -2 }\n",
            "providers:\n  x:\n    key: [A, B C]\n",
            "providers:\n  Big Name: {}\n",
            "provider:\n  x: {}\n",
            "providers:\n  x: {}\n  x: {}\n",
        ] {
            println!("{}", error(text));
        }
        panic!();
        assert!(read_providers("", "p.yaml").is_ok_and(|file| file.providers.0.is_empty()));
    }
}
