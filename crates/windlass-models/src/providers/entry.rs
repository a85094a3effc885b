//! Owns the shape of a file of providers: what one entry may say.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use windlass_core::policy::Wire as CallWire;
use windlass_core::tool::HostedTool;

use super::expand::placeholders;
use crate::Rate;
use crate::wires::{Quirk, wire, wire_names};

/// A file of providers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderFile {
    /// The providers by name, in order.
    #[serde(default)]
    pub providers: Entries,
    /// More variables whose values are masked.
    #[serde(default)]
    pub secrets: Vec<String>,
}

/// Entries by name, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Entries(pub Vec<(String, Entry)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Entries;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of providers by name")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !is_name(&name) {
                        let why = format!("`{name}` is no name: use lower-case letters, digits and dashes");
                        return Err(A::Error::custom(why));
                    }
                    entries.push((name, map.next_value()?));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// A file's entry for one provider. A field that it leaves out is as it was, or as usual.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Other names.
    #[serde(default)]
    pub aliases: Option<Names>,
    /// The wires that it speaks, the preferred one first.
    #[serde(default)]
    pub wire: Option<Wires>,
    /// Its base URL, with `${VARIABLE}` for parts that variables name.
    #[serde(default)]
    pub base_url: Option<BaseUrl>,
    /// Other base URLs by the names of wires.
    #[serde(default)]
    pub base_urls: Option<BTreeMap<String, BaseUrl>>,
    /// The variable that holds another base URL.
    #[serde(default)]
    pub base_url_variable: Option<Variable>,
    /// The port that is meant where the variable names a host alone.
    #[serde(default)]
    pub port: Option<u16>,
    /// The variables that may hold its key, in order.
    #[serde(default)]
    pub key: Option<Variables>,
    /// A command that prints a key, for where no variable holds one.
    #[serde(default)]
    pub key_command: Option<Words>,
    /// Its differences from others of its wire.
    #[serde(default)]
    pub quirks: Option<Vec<Quirk>>,
    /// Hosts where these differences count under any provider's name.
    #[serde(default)]
    pub hosts: Option<Vec<String>>,
    /// The quirks count at these hosts alone, whatever the provider's name.
    #[serde(default)]
    pub hosts_only: Option<bool>,
    /// Its servers hold replies to a schema. Default: yes.
    #[serde(default)]
    pub structured_output: Option<bool>,
    /// How its models take calls, where they know no tools.
    #[serde(default)]
    pub calls: Vec<CallsEntry>,
    /// Knowledge of its models.
    #[serde(default)]
    pub models: Vec<ModelEntry>,
    /// Its server runs on this machine, and needs no key.
    #[serde(default)]
    pub local: Option<bool>,
    /// How to start it.
    #[serde(default)]
    pub start: Option<String>,
    /// When `auto` takes it.
    #[serde(default)]
    pub auto: Option<AutoEntry>,
    /// The most requests and tokens a minute with one key.
    #[serde(default, deserialize_with = "limits")]
    pub rate: Option<Rate>,
    /// List prices.
    #[serde(default)]
    pub prices: Vec<ListPrice>,
}

/// How some models take calls, where agents leave that open (`wire: auto`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallsEntry {
    /// A pattern of their names, without the provider; `*` stands for any text.
    pub model: String,
    /// As the agent file's `wire`.
    pub by: CallWire,
}

/// Knowledge of some models. The first entry that fits a name and says a thing counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// A pattern of their names, without the provider; `*` stands for any text.
    pub model: String,
    /// They take sampling settings, such as a temperature. Default: nobody knows.
    #[serde(default)]
    pub sampling: Option<bool>,
    /// They reason before they answer, though nobody asks for it: `timeouts.thinking_ms` holds for their silence. Default: nobody
    /// knows.
    #[serde(default)]
    pub reasoning: Option<bool>,
    /// At the provider's own address they hold an answer to a schema in requests that offer tools, too. Default: nobody knows.
    #[serde(default)]
    pub native_output: Option<bool>,
}

/// When `auto` takes a provider.
#[derive(Clone, Debug)]
pub enum AutoEntry {
    /// Never.
    Never,
    /// If its key is set: this model.
    Model(String),
    /// If its server runs on this machine.
    Server(Probe),
}

/// How to identify a server on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// The server's name, for people.
    pub program: String,
    /// A path, and words that the answer holds.
    #[serde(default)]
    pub greeting: Option<(String, String)>,
    /// The path of its list of models.
    pub list: String,
    /// The key of the list in the answer.
    pub items: String,
    /// The key of a model's name.
    pub name: String,
    /// A key of a model and its value, where the server tells itself by it.
    #[serde(default)]
    pub owner: Option<(String, String)>,
    /// Models are named by their files: the last part of a path is the name.
    #[serde(default)]
    pub files: bool,
}

/// A model's list price in USD per million tokens.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ListPrice {
    /// The model, without the provider.
    pub model: String,
    /// Input.
    #[serde(deserialize_with = "usd")]
    pub input: f64,
    /// Output.
    #[serde(deserialize_with = "usd")]
    pub output: f64,
    /// Input from the provider's cache. Default: as `input`.
    #[serde(default, deserialize_with = "maybe_usd", skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Input that is written to the provider's cache. Default: as `input`.
    #[serde(default, deserialize_with = "maybe_usd", skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Tools that the provider runs, in USD per 1,000 uses. Default: unknown.
    #[serde(default, deserialize_with = "all_usd", skip_serializing_if = "BTreeMap::is_empty")]
    pub hosted: BTreeMap<HostedTool, f64>,
    /// The day on which it was read, as YYYY-MM-DD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Day>,
    /// The page where it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

pub(super) fn is_name(name: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(letters) && !matches!(name, "auto" | "tour" | "windlass")
}

fn is_variable(name: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(letters) && !name.starts_with(|first: char| first.is_ascii_digit())
}

fn usd<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let price = f64::deserialize(deserializer)?;
    let good = price.is_finite() && price >= 0.0;
    good.then_some(price)
        .ok_or_else(|| D::Error::custom(format!("a price is a number from 0, found {price}")))
}

fn maybe_usd<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    usd(deserializer).map(Some)
}

fn all_usd<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<HostedTool, f64>, D::Error> {
    #[derive(Deserialize)]
    struct Usd(#[serde(deserialize_with = "usd")] f64);
    let prices: BTreeMap<HostedTool, Usd> = BTreeMap::deserialize(deserializer)?;
    Ok(prices.into_iter().map(|(tool, price)| (tool, price.0)).collect())
}

/// A rate that limits something.
fn limits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rate>, D::Error> {
    let rate = Rate::deserialize(deserializer)?;
    rate.limits().then_some(Some(rate)).ok_or_else(|| D::Error::custom(NO_LIMIT))
}

/// The error of a rate that limits nothing.
const NO_LIMIT: &str = "`rate` sets neither requests_per_minute nor tokens_per_minute";

/// A text, or a list of texts, each of which `check` has nothing against.
fn texts<'de, D: Deserializer<'de>>(
    deserializer: D,
    check: fn(&str) -> Result<(), String>,
) -> Result<Vec<String>, D::Error> {
    struct Reader(fn(&str) -> Result<(), String>);
    impl<'de> Visitor<'de> for Reader {
        type Value = Vec<String>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a list of texts")
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<String>, E> {
            (self.0)(text).map_err(E::custom)?;
            Ok(vec![text.to_owned()])
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<String>, A::Error> {
            let mut all = Vec::new();
            while let Some(text) = items.next_element::<String>()? {
                (self.0)(&text).map_err(A::Error::custom)?;
                all.push(text);
            }
            Ok(all)
        }
    }
    deserializer.deserialize_any(Reader(check))
}

/// Types that are texts, or lists of texts, with a check.
macro_rules! text_lists {
    ($($(#[$doc:meta])* $name:ident: $check:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub Vec<String>);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                texts(deserializer, $check).map(Self)
            }
        }
    )*};
}

text_lists! {
    /// Names of providers.
    Names: |name| if is_name(name) { Ok(()) } else { Err(format!("`{name}` is no name of a provider")) };
    /// Names of wires.
    Wires: known_wire;
    /// Names of environment variables.
    Variables: |name| if is_variable(name) { Ok(()) } else { Err(format!("`{name}` is no name of a variable")) };
    /// A command: a line for the shell, or a program with its arguments.
    Words: |word| if word.is_empty() { Err("an empty command".to_owned()) } else { Ok(()) };
}

fn known_wire(name: &str) -> Result<(), String> {
    if wire(name).is_some() {
        return Ok(());
    }
    let near = windlass_core::text::nearest(name, wire_names());
    let near = if near.is_empty() { wire_names().collect::<Vec<_>>().join(", ") } else { near.join(" or ") };
    Err(format!("unknown wire `{name}`; did you mean {near}?"))
}

/// Types that are texts with a check.
macro_rules! checked_texts {
    ($($(#[$doc:meta])* $name:ident: $check:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                let check: fn(&str) -> Result<(), String> = $check;
                check(&text).map_err(D::Error::custom)?;
                Ok(Self(text))
            }
        }
    )*};
}

checked_texts! {
    /// The name of an environment variable.
    Variable: |name| if is_variable(name) { Ok(()) } else { Err(format!("`{name}` is no name of a variable")) };
    /// A base URL with placeholders.
    BaseUrl: |url| check_url(url);
    /// A day, as YYYY-MM-DD.
    Day: |day| check_day(day);
}

fn check_url(url: &str) -> Result<(), String> {
    let filled = placeholders(url, |_| Ok("x".to_owned())).map_err(|why| format!("`{url}`: {why}"))?;
    let parsed = url::Url::parse(&filled).map_err(|error| format!("`{url}` is no URL: {error}"))?;
    if matches!(parsed.scheme(), "http" | "https") && parsed.host().is_some() {
        return Ok(());
    }
    Err(format!("`{url}` is no base URL: it must begin with http:// or https://"))
}

fn check_day(day: &str) -> Result<(), String> {
    let parts: Vec<_> = day.split('-').collect();
    let digits = parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let lengths: Vec<_> = parts.iter().map(|part| part.len()).collect();
    if digits && lengths == [4, 2, 2] { Ok(()) } else { Err(format!("`{day}` is no day: write YYYY-MM-DD")) }
}

impl<'de> Deserialize<'de> for AutoEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = AutoEntry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("false, a model's name, or a map that identifies a server")
            }
            fn visit_bool<E: serde::de::Error>(self, auto: bool) -> Result<AutoEntry, E> {
                if auto { Err(E::custom("name the model that `auto` takes")) } else { Ok(AutoEntry::Never) }
            }
            fn visit_str<E>(self, model: &str) -> Result<AutoEntry, E> {
                Ok(AutoEntry::Model(model.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<AutoEntry, A::Error> {
                Probe::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(AutoEntry::Server)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
