//! Owns what the documentation says of Claude models by their names: the form of thinking, sampling settings, output limits.
//!
//! A name carries its version: `claude-opus-4-5-20251101`, `claude-3-7-sonnet-latest`, `anthropic.claude-opus-4-6-v1`. A Claude
//! without a version counts as new. Other models speak the wire through servers of their own, which know the oldest forms.

/// The default output limit of models from Claude 3.7 on: all of them may write as much ("Models overview").
const MAX_TOKENS: u64 = 32_000;
/// That of Claude 3.5 and of other models.
const FEW_TOKENS: u64 = 8_192;
/// That of Claude 3.
const OLD_TOKENS: u64 = 4_096;

/// A Claude model's version: `None` for other models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Model<'n> {
    name: &'n str,
    version: Option<(u32, u32)>,
}

impl<'n> Model<'n> {
    /// The model of a plain name.
    pub(super) fn named(name: &'n str) -> Self {
        let Some((_, rest)) = name.split_once("claude") else { return Self { name, version: None } };
        let number = |part: &str| part.parse().ok().filter(|_| part.len() <= 2);
        let mut parts = rest.split(['-', '.', '@', ':']).skip_while(|part| number(part).is_none());
        let major = parts.next().and_then(number);
        let minor = parts.next().and_then(number).unwrap_or(0);
        Self { name, version: Some(major.map_or((u32::MAX, 0), |major| (major, minor))) }
    }

    fn is_from(self, major: u32, minor: u32) -> bool {
        self.version.is_some_and(|version| version >= (major, minor))
    }

    /// Whether it decides itself how much it thinks, led by an effort ("Thinking", "Effort"): models from 4.6 on.
    pub(super) fn thinks_adaptively(self) -> bool {
        self.is_from(4, 6)
    }

    /// Whether it always thinks: `disabled` is an error ("Troubleshooting thinking").
    pub(super) fn always_thinks(self) -> bool {
        self.version.is_some() && ["fable", "mythos"].iter().any(|family| self.name.contains(family))
    }

    /// Whether the least thinking is called `between_tools`, not `disabled` ("Troubleshooting thinking").
    pub(super) fn thinks_between_tools(self) -> bool {
        self.name.contains("sonnet") && self.version == Some((5, 5))
    }

    /// Whether it takes a budget of thinking: models from 4.7 on refuse one ("Adaptive thinking").
    pub(super) fn takes_budget(self) -> bool {
        !self.is_from(4, 7)
    }

    /// Whether it takes a temperature and nucleus sampling: models from 4.7 on refuse them.
    pub(super) fn takes_sampling(self) -> bool {
        !self.is_from(4, 7)
    }

    /// Whether it knows system messages amid a conversation ("Mid-conversation system messages"): Opus from 4.8 on, and all from 5 on.
    pub(super) fn knows_system_turns(self) -> bool {
        self.is_from(5, 0) || (self.is_from(4, 8) && self.name.contains("opus"))
    }

    /// Whether it takes only one of temperature and nucleus sampling: models from 4.1 on.
    pub(super) fn takes_one_sampling(self) -> bool {
        self.is_from(4, 1)
    }

    /// The output limit of a request that names none: the API demands one.
    pub(super) fn max_tokens(self) -> u64 {
        match self.version {
            Some(version) if version >= (3, 7) => MAX_TOKENS,
            Some((3, 0)) => OLD_TOKENS,
            Some(_) | None => FEW_TOKENS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Model;

    #[test]
    fn names_tell_versions() {
        for (name, version) in [
            ("claude-opus-4-5-20251101", Some((4, 5))),
            ("claude-3-7-sonnet-20250219", Some((3, 7))),
            ("claude-3-haiku-20240307", Some((3, 0))),
            ("claude-sonnet-5", Some((5, 0))),
            ("us.anthropic.claude-opus-4-6-v1:0", Some((4, 6))),
            ("claude-opus-4-1@20250805", Some((4, 1))),
            ("anthropic/claude-haiku-4.5", Some((4, 5))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("claude-mythos-preview", Some((u32::MAX, 0))),
            ("qwen3-32b", None),
        ] {
            assert_eq!(Model::named(name).version, version, "{name}");
        }
    }

    #[test]
    fn the_form_of_thinking_follows_the_version() {
        let of = |name| {
            let model = Model::named(name);
            (model.thinks_adaptively(), model.takes_sampling(), model.max_tokens())
        };
        assert_eq!(of("claude-3-opus-20240229"), (false, true, 4_096));
        assert_eq!(of("claude-3-5-sonnet-latest"), (false, true, 8_192));
        assert_eq!(of("claude-haiku-4-5"), (false, true, 32_000));
        assert_eq!(of("claude-opus-4-6"), (true, true, 32_000));
        assert_eq!(of("claude-opus-4-7"), (true, false, 32_000));
        assert_eq!(of("glm-5"), (false, true, 8_192));
        assert!(Model::named("claude-fable-5").always_thinks() && !Model::named("fable-7b").always_thinks());
        assert!(Model::named("claude-sonnet-5-5").thinks_between_tools());
        let known = ["claude-opus-4-8", "claude-sonnet-5", "claude-opus-4-7", "claude-sonnet-4-8", "glm-5"];
        let known = known.map(|name| Model::named(name).knows_system_turns());
        assert_eq!(known, [true, true, false, false, false]);
        assert!(!Model::named("claude-haiku-5-5").thinks_between_tools());
    }
}
