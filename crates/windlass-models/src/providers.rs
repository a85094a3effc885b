//! The providers of models: names, addresses, keys, quirks, prices. A provider that speaks a known wire is one entry of
//! `providers.yaml`; users add theirs in a file of the same shape ([`add`]).
//!
//! The file becomes JSON when the crate is built, and is read once, when the first provider is looked up.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use url::Url;
use windlass_core::model::Prices;
use windlass_core::policy::Wire as CallWire;
use windlass_core::text::{covers, nearest};
use windlass_error::Diagnostic;

use crate::Rate;
use crate::wires::{Quirks, Wire, wire};

mod entry;
mod expand;
mod near;

pub use self::entry::{
    AutoEntry, BaseUrl, CallsEntry, Day, Entries, Entry, ListPrice, ModelEntry, Names, Probe, ProviderFile,
    Variable, Variables, Wires, Words,
};
pub(crate) use self::expand::placeholders;
pub use self::near::{models_near, named_alone};

/// The built-in file.
pub const YAML: &str = include_str!("providers.yaml");

/// The same as JSON, made by the build script.
const JSON: &str = include_str!(concat!(env!("OUT_DIR"), "/providers.json"));

/// A provider of models.
#[derive(Clone, Debug, Default)]
pub struct Provider {
    /// Its name, which stands before the model's: `NAME/MODEL`.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// The names of the wires that it speaks, the preferred one first: the first one that is there counts.
    pub wires: Vec<String>,
    /// Its base URL, which may hold placeholders for variables; `None`: the settings name it.
    pub base_url: Option<String>,
    /// Other base URLs by the names of wires.
    pub base_urls: BTreeMap<String, String>,
    /// The variable that holds another base URL.
    pub address_variable: Option<String>,
    /// The port that is meant where that variable names a host alone; `None`: it holds a URL.
    pub port: Option<u16>,
    /// The variables that may hold its key, in order; none: it needs no key, or `key_command` makes one.
    pub keys: Vec<String>,
    /// A command that prints a key where no variable holds one; empty: there is none.
    pub key_command: Vec<String>,
    /// Its differences from others of its wire.
    pub quirks: Quirks,
    /// Hosts where the quirks count under any provider's name; subdomains count.
    pub hosts: Vec<String>,
    /// The quirks count at these hosts alone: many servers stand in for the provider under its name.
    pub hosts_only: bool,
    /// Its servers hold replies to a schema.
    pub structured_output: bool,
    /// How its models take calls, by patterns of their names: the first one that fits counts.
    pub calls: Vec<CallsEntry>,
    /// Knowledge of its models, by patterns of their names.
    pub models: Vec<ModelEntry>,
    /// Its server runs on this machine: a key is sent if there is one.
    pub local: bool,
    /// How to start it, for hints; empty for a remote provider.
    pub start: String,
    /// When `auto` takes it.
    pub auto: Auto,
    /// The most requests and tokens a minute with one key; `None`: any number.
    pub rate: Option<Rate>,
    /// List prices.
    pub prices: Vec<ListPrice>,
}

/// When `auto` takes a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Auto {
    /// Never.
    #[default]
    Never,
    /// If its key is set: this model.
    Key(String),
    /// If its server runs on this machine: the server's first model.
    Server(Probe),
}

/// The provider that a plain model name with a base URL means.
pub const OPENAI_COMPATIBLE: &str = "openai-compatible";

/// All providers, and variables with other keys.
#[derive(Debug, Default)]
struct Table {
    providers: Vec<Provider>,
    secrets: Vec<String>,
}

static ADDED: OnceLock<ProviderFile> = OnceLock::new();
static TABLE: OnceLock<Table> = OnceLock::new();

/// Adds a user's file to the built-in one: an entry with a known name changes what it says of that provider, and its prices stand
/// before the others. Call it once, before the first provider is looked up.
///
/// # Errors
/// [`TooLate`]: the providers were read already, or another file was added.
pub fn add(file: ProviderFile) -> Result<(), TooLate> {
    if TABLE.get().is_some() {
        return Err(TooLate);
    }
    ADDED.set(file).map_err(|_| TooLate)
}

/// The providers were read before a file was added, or one was added already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Diagnostic)]
#[error("a file of providers must be added once, before the first model is named")]
#[diagnostic(kind = Conflict, code = "providers.too_late")]
pub struct TooLate;

fn table() -> &'static Table {
    TABLE.get_or_init(|| {
        // A test holds that the built-in file can be read.
        let built_in: ProviderFile = serde_json::from_str(JSON).unwrap_or_default();
        let mut table = Table::default();
        for file in [Some(&built_in), ADDED.get()].into_iter().flatten() {
            table.take(file);
        }
        table
    })
}

impl Table {
    fn take(&mut self, file: &ProviderFile) {
        for (name, entry) in &file.providers.0 {
            if let Some(known) = self.providers.iter_mut().find(|provider| provider.name == *name) {
                known.take(entry);
                continue;
            }
            let wires = vec!["openai_chat".to_owned()];
            let mut provider =
                Provider { name: name.clone(), wires, structured_output: true, ..Provider::default() };
            provider.take(entry);
            // A name that was an alias is the new provider's.
            self.providers.iter_mut().for_each(|known| known.aliases.retain(|alias| alias != name));
            self.providers.push(provider);
        }
        self.secrets.extend(file.secrets.iter().cloned());
    }
}

impl Provider {
    /// Changes what an entry says.
    fn take(&mut self, entry: &Entry) {
        let Entry { aliases, wire, base_url, base_urls, base_url_variable, port, key, key_command, .. } =
            entry;
        set(&mut self.aliases, aliases.as_ref().map(|names| &names.0));
        set(&mut self.wires, wire.as_ref().map(|wires| &wires.0));
        if let Some(url) = base_url {
            self.base_url = Some(url.0.clone());
            self.base_urls.clear();
        }
        if let Some(urls) = base_urls {
            self.base_urls = urls.iter().map(|(wire, url)| (wire.clone(), url.0.clone())).collect();
        }
        if let Some(variable) = base_url_variable {
            self.address_variable = Some(variable.0.clone());
        }
        self.port = port.or(self.port);
        set(&mut self.keys, key.as_ref().map(|variables| &variables.0));
        set(&mut self.key_command, key_command.as_ref().map(|words| &words.0));
        let Entry { quirks, hosts, hosts_only, structured_output, calls, local, start, auto, .. } = entry;
        let Entry { rate, prices, models, .. } = entry;
        self.models.splice(0..0, models.iter().cloned());
        self.rate = rate.or(self.rate);
        self.hosts_only = hosts_only.unwrap_or(self.hosts_only);
        self.structured_output = structured_output.unwrap_or(self.structured_output);
        self.calls.splice(0..0, calls.iter().cloned());
        self.quirks = quirks.as_ref().map_or(self.quirks, |quirks| Quirks::of(quirks));
        set(&mut self.hosts, hosts.as_ref());
        self.local = local.unwrap_or(self.local);
        set(&mut self.start, start.as_ref());
        match auto {
            None => {}
            Some(AutoEntry::Never) => self.auto = Auto::Never,
            Some(AutoEntry::Model(model)) => self.auto = Auto::Key(model.clone()),
            Some(AutoEntry::Server(probe)) => self.auto = Auto::Server(probe.clone()),
        }
        self.prices.splice(0..0, prices.iter().cloned());
    }

    /// The wire of its API: the first of its wires that is there.
    pub fn wire(&self) -> Option<&'static dyn Wire> {
        self.wires.iter().find_map(|name| wire(name))
    }

    /// The quirks of its servers wherever they are.
    pub fn own_quirks(&self) -> Quirks {
        if self.hosts_only { Quirks::NONE } else { self.quirks }
    }

    /// How one of its models takes calls. `None`: natively.
    pub fn wire_of_calls(&self, model: &str) -> Option<CallWire> {
        self.calls.iter().find(|calls| covers(&calls.model, model)).map(|calls| calls.by)
    }

    /// Whether one of its models takes sampling settings. `None`: nobody says so.
    pub fn takes_sampling(&self, model: &str) -> Option<bool> {
        self.models.iter().filter(|entry| covers(&entry.model, model)).find_map(|entry| entry.sampling)
    }

    /// Whether one of its models holds an answer to a schema in requests that offer tools, as far as anybody says so: at its own address,
    /// because other servers stand in for it under its name.
    pub fn holds_output(&self, model: &str, host: &str) -> bool {
        let own = |base: &str| Url::parse(base).is_ok_and(|url| url.host_str() == Some(host));
        let bases = self.base_url.iter().chain(self.base_urls.values());
        let mut entries = self.models.iter().filter(|entry| covers(&entry.model, model));
        entries.find_map(|entry| entry.native_output) == Some(true)
            && (is_within(host, &self.hosts) || bases.map(String::as_str).any(own))
    }

    /// Whether a model reasons before it answers, though nobody asks for it.
    pub fn reasons(&self, model: &str) -> bool {
        let mut entries = self.models.iter().filter(|entry| covers(&entry.model, model));
        entries.find_map(|entry| entry.reasoning).unwrap_or(false)
    }

    /// The variable that names its address, if there is one.
    pub fn address_variable(&self) -> Option<&str> {
        self.address_variable.as_deref()
    }

    /// The variable that usually holds its key, if it needs one.
    pub fn key_variable(&self) -> Option<&str> {
        self.keys.first().map(String::as_str).filter(|_| !self.local)
    }

    /// Whether it has no address of its own: the settings name one.
    pub fn is_given(&self) -> bool {
        self.base_url.is_none() && self.base_urls.is_empty()
    }

    /// Whether it has this name.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// The list price of one of its models. `None`: unknown.
    pub fn price_of(&self, model: &str) -> Option<Prices> {
        self.prices.iter().find(|price| price.model == model).map(ListPrice::prices)
    }
}

fn set<T: Clone>(value: &mut T, new: Option<&T>) {
    if let Some(new) = new {
        value.clone_from(new);
    }
}

impl ListPrice {
    /// The price as runs count with it.
    pub fn prices(&self) -> Prices {
        let prices = Prices::per_million(self.input, self.output, self.cached);
        let prices = prices.with_hosted(self.hosted.iter().map(|(tool, usd)| (*tool, *usd)));
        match self.cache_write {
            Some(usd) => prices.with_cache_write(usd),
            None => prices,
        }
    }
}

/// All providers, in the order in which `auto` looks at them.
pub fn providers() -> &'static [Provider] {
    &table().providers
}

/// The variables that usually hold keys.
pub(crate) fn key_variables() -> impl Iterator<Item = &'static str> {
    let table = table();
    let keys = table.providers.iter().flat_map(|provider| &provider.keys);
    keys.chain(&table.secrets).map(String::as_str)
}

/// The provider of this name.
pub fn provider(name: &str) -> Option<&'static Provider> {
    let all = providers();
    all.iter()
        .find(|provider| provider.name == name)
        .or_else(|| all.iter().find(|provider| provider.is_named(name)))
}

/// The names of all providers, the offline tour included.
pub fn provider_names() -> impl Iterator<Item = &'static str> {
    providers().iter().map(|provider| provider.name.as_str()).chain(["tour"])
}

/// The names that are close to one that no provider has, else all.
pub fn names_near(name: &str) -> Vec<String> {
    let close = nearest(name, provider_names());
    if close.is_empty() { provider_names().map(str::to_owned).collect() } else { close }
}

/// The list price of a model by its whole name, `provider/model`. `None`: unknown.
pub fn list_price(name: &str) -> Option<Prices> {
    let (provider_name, model) = name.split_once('/')?;
    provider(provider_name)?.price_of(model)
}

/// The quirks of the server at a host.
pub fn quirks_of_host(host: &str) -> Quirks {
    providers()
        .iter()
        .filter(|provider| is_within(host, &provider.hosts))
        .fold(Quirks::NONE, |quirks, provider| quirks.and(provider.quirks))
}

/// Whether a host is one of these, or beneath one.
fn is_within(host: &str, domains: &[String]) -> bool {
    domains.iter().any(|domain| {
        host.strip_suffix(domain.as_str()).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}

#[cfg(test)]
mod tests;
