//! Owns how token counts are read: OpenAI's names, those of other servers, and what is billed beside the listed numbers.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use windlass_core::model::Usage;

use crate::wires::loose::nested;
use crate::wires::money::Reported;

/// Counts as servers send them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    prompt_tokens: Tokens,
    completion_tokens: Tokens,
    total_tokens: Tokens,
    #[serde(deserialize_with = "nested")]
    prompt_tokens_details: Option<InputDetails>,
    #[serde(deserialize_with = "nested")]
    completion_tokens_details: Option<OutputDetails>,
    /// DeepSeek's name for cached tokens.
    prompt_cache_hit_tokens: Tokens,
    /// Mistral's name for cached tokens.
    num_cached_tokens: Tokens,
    /// Moonshot's name for cached tokens.
    cached_tokens: Tokens,
    /// LiteLLM's names, which are Anthropic's.
    cache_read_input_tokens: Tokens,
    cache_creation_input_tokens: Tokens,
    /// The cost of the call, in the terms of OpenRouter, Perplexity and xAI.
    cost: Option<Box<RawValue>>,
    cost_details: Option<Box<RawValue>>,
    is_byok: Option<Box<RawValue>>,
    cost_in_usd_ticks: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of the API")]
struct InputDetails {
    cached_tokens: Tokens,
    /// OpenRouter's name for tokens that were written to the cache.
    cache_write_tokens: Tokens,
    /// LiteLLM's and Alibaba's names for the same.
    cache_creation_tokens: Tokens,
    cache_creation_input_tokens: Tokens,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Tokens,
}

/// Reads counts. `None` where nothing was counted: some servers send an empty object in each chunk.
///
/// Counts come late, twice and in parts: a part that is missing is as it was `before`, and a count of nothing at all changes nothing.
/// `thoughts_beside`: thoughts are in no total.
pub(super) fn usage_of(usage: WireUsage, before: Option<Usage>, thoughts_beside: bool) -> Option<Usage> {
    let (prompt, completion) = (usage.prompt_tokens.0, usage.completion_tokens.0);
    if prompt.is_none() && completion.is_none() {
        return None;
    }
    let known = before.unwrap_or_default();
    let inputs = usage.prompt_tokens_details.unwrap_or_default();
    // One after the other and not as an array: of one, the compiler makes two thousand instructions.
    let cached = inputs
        .cached_tokens
        .max(usage.prompt_cache_hit_tokens)
        .max(usage.num_cached_tokens)
        .max(usage.cached_tokens)
        .max(usage.cache_read_input_tokens);
    let cache_write = inputs
        .cache_write_tokens
        .max(inputs.cache_creation_tokens)
        .max(inputs.cache_creation_input_tokens)
        .max(usage.cache_creation_input_tokens);
    let reasoning = usage.completion_tokens_details.and_then(|details| details.reasoning_tokens.0);
    let input = prompt.unwrap_or(known.input);
    let listed = completion.unwrap_or(known.output);
    let output = match usage.total_tokens.0 {
        // xAI, Gemini and Mistral bill reasoning and audio that their completion tokens do not list.
        Some(total) if total > input.saturating_add(listed) => total - input,
        Some(_) if thoughts_beside => listed.saturating_add(reasoning.unwrap_or(0)),
        // More reasoning than output can only stand beside it.
        Some(_) | None if reasoning > Some(listed) => listed.saturating_add(reasoning.unwrap_or(0)),
        Some(_) | None => listed,
    };
    let reported = Reported {
        cost: usage.cost.as_deref(),
        details: usage.cost_details.as_deref(),
        is_byok: usage.is_byok.as_deref(),
        ticks: usage.cost_in_usd_ticks.as_deref(),
    };
    let reported = reported.pico();
    let counted = Usage {
        input,
        output,
        cached: if prompt.is_some() { cached.0.unwrap_or(0) } else { known.cached },
        cache_write: if prompt.is_some() { cache_write.0.unwrap_or(0) } else { known.cache_write },
        reasoning: reasoning.unwrap_or(if completion.is_some() { 0 } else { known.reasoning }).min(output),
        estimated: false,
        reported: if reported > 0 { reported.into() } else { known.reported },
    };
    Some(if counted.total() == 0 && known.total() > 0 { known } else { counted })
}

/// A count; anything that is none counts as absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Tokens(Option<u64>);

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Tokens;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count")
            }
            fn visit_u64<E>(self, count: u64) -> Result<Tokens, E> {
                Ok(Tokens(Some(count)))
            }
            fn visit_i64<E>(self, count: i64) -> Result<Tokens, E> {
                Ok(Tokens(u64::try_from(count).ok()))
            }
            fn visit_f64<E>(self, count: f64) -> Result<Tokens, E> {
                Ok(Tokens((count >= 0.0).then_some(count as u64)))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Tokens, E> {
                Ok(Tokens(None))
            }
            fn visit_str<E>(self, count: &str) -> Result<Tokens, E> {
                Ok(Tokens(count.trim().parse().ok()))
            }
            fn visit_unit<E>(self) -> Result<Tokens, E> {
                Ok(Tokens(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tokens, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Tokens(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tokens, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Tokens(None))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests;
