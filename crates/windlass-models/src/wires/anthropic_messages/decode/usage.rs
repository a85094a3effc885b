//! Owns how Anthropic's counts of tokens become a [`Usage`].

use windlass_core::model::{Pico, Usage};

use super::shapes::{Counts, Iteration};

impl Counts {
    /// Takes over later counts. They are cumulative, so one that is 0 or absent says nothing new.
    pub(super) fn go_on(&mut self, later: Self) {
        let newer = |now: &mut Option<u64>, later: Option<u64>| {
            if later.is_some_and(|count| count > 0 || now.is_none()) {
                *now = later;
            }
        };
        newer(&mut self.input_tokens, later.input_tokens);
        newer(&mut self.output_tokens, later.output_tokens);
        newer(&mut self.cache_read_input_tokens, later.cache_read_input_tokens);
        newer(&mut self.cache_creation_input_tokens, later.cache_creation_input_tokens);
        self.cache_creation = later.cache_creation.or(self.cache_creation);
        self.output_tokens_details = later.output_tokens_details.or(self.output_tokens_details);
        if later.iterations.is_some() {
            self.iterations = later.iterations;
        }
    }

    /// All tokens. `None`: nothing was counted.
    pub(super) fn usage(&self) -> Option<Usage> {
        if self.input_tokens.is_none() && self.output_tokens.is_none() {
            return None;
        }
        let split = self.cache_creation.map(|split| {
            let [short, long] = [split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens];
            short.unwrap_or(0).saturating_add(long.unwrap_or(0))
        });
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let cache_write = self.cache_creation_input_tokens.or(split).unwrap_or(0);
        // `input_tokens` are those behind the last cache marker (Claude docs, "Prompt caching").
        let input = self.input_tokens.unwrap_or(0).saturating_add(cached).saturating_add(cache_write);
        let details = self.output_tokens_details.and_then(|details| details.thinking_tokens);
        let mut all = Usage {
            input,
            output: self.output_tokens.unwrap_or(0),
            cached,
            cache_write,
            reasoning: details.unwrap_or(0),
            estimated: false,
            reported: Pico::default(),
        };
        for extra in self.iterations.iter().flatten().filter_map(Iteration::extra_usage) {
            all.add(&extra);
        }
        Some(all)
    }
}

impl Iteration {
    /// Its tokens, if they are billed but not within the totals: compactions ("Compaction") and advisors ("Advisor tool").
    fn extra_usage(&self) -> Option<Usage> {
        if !matches!(&*self.kind, "compaction" | "advisor_message") {
            return None;
        }
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let cache_write = self.cache_creation_input_tokens.unwrap_or(0);
        let input = self.input_tokens.unwrap_or(0).saturating_add(cached).saturating_add(cache_write);
        let output = self.output_tokens.unwrap_or(0);
        Some(Usage { input, output, cached, cache_write, ..Usage::default() })
    }
}
