//! Names of models that are like one that does not exist, by the price lists.

use windlass_core::text::nearest;

use super::{provider, providers};

/// The most names that are given.
const MOST: usize = 3;

/// The names of a provider's priced models that are like this one.
pub fn models_near(provider_name: &str, model: &str) -> Vec<String> {
    let Some(provider) = provider(provider_name) else { return Vec::new() };
    let mut near = nearest(model, provider.prices.iter().map(|price| price.model.as_str()));
    near.retain(|name| name != model);
    near.truncate(MOST);
    near
}

/// The whole names of priced models whose own name this one is, or is like: `openai/gpt-5-mini` for `gpt-5-mini`.
pub fn named_alone(model: &str) -> Vec<String> {
    let all = || {
        providers()
            .iter()
            .flat_map(|provider| provider.prices.iter().map(move |price| (provider, price.model.as_str())))
    };
    let whole = |wanted: &str| -> Vec<String> {
        let same = all().filter(|(_, name)| *name == wanted || name.rsplit('/').next() == Some(wanted));
        same.map(|(provider, name)| format!("{}/{name}", provider.name)).take(MOST).collect()
    };
    let exact = whole(model);
    if !exact.is_empty() {
        return exact;
    }
    let near = nearest(model, all().map(|(_, name)| name));
    let mut names: Vec<String> = near.iter().flat_map(|name| whole(name)).collect();
    names.dedup();
    names.truncate(MOST);
    names
}
