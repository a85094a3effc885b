//! The measures of a run in `windlass runs show`: which model took its turns, how large its requests are, how far
//! predictions came true.

use windlass_core::model::Role;
use windlass_read::ModelTurns;
use windlass_read::compat::promptchain::{ContextSize, RunMetadata};

use windlass_read::words::name;

/// Fields with their values, where there is something to say.
pub(super) fn lines(metadata: &RunMetadata) -> Vec<(&'static str, String)> {
    let turns = turns(&metadata.turns_by_model).map(|line| ("turns", line));
    let context = metadata.context.as_ref().map(|size| ("context", context(size)));
    let expected = metadata.prediction_accuracy.map(|share| {
        ("expected", format!("{:.0} % of the words of results, by the verifier", share * 100.0))
    });
    turns.into_iter().chain(context).chain(expected).collect()
}

/// The turns of each model, where a run has several.
fn turns(models: &[ModelTurns]) -> Option<String> {
    let one = |model: &ModelTurns| match model.role {
        Role::Main => format!("{} {}", name(&model.model), model.turns),
        Role::Simple => format!("{} (simple turns) {}", name(&model.model), model.turns),
        Role::Summarise => format!("{} (summaries) {}", name(&model.model), model.turns),
    };
    (!models.is_empty()).then(|| models.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn context(size: &ContextSize) -> String {
    let ContextSize { estimated_tokens, counted_tokens, error_percent, next_tokens, max_tokens } = size;
    // Without a budget nothing depends on the estimate, which knows of messages and not of tools.
    let Some(most) = max_tokens else { return format!("{next_tokens} tokens") };
    format!(
        "{next_tokens} tokens of {most}; of the last request {estimated_tokens} were estimated and {counted_tokens} counted \
         ({error_percent:+.1} %)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p20_turns_are_listed_by_model() {
        let model = |model: &str, role, turns| ModelTurns { model: model.to_owned(), role, turns };
        let models =
            [model("big", Role::Main, 1), model("small", Role::Simple, 4), model("tiny", Role::Summarise, 0)];
        assert_eq!(turns(&models).unwrap(), "big 1, small (simple turns) 4, tiny (summaries) 0");
        assert_eq!(turns(&[]), None);
    }

    #[test]
    fn e39_estimate_and_count_stand_side_by_side() {
        let size = ContextSize {
            estimated_tokens: 90,
            counted_tokens: 100,
            error_percent: -10.0,
            next_tokens: 120,
            max_tokens: Some(1000),
        };
        assert_eq!(
            context(&size),
            "120 tokens of 1000; of the last request 90 were estimated and 100 counted (-10.0 %)"
        );
        assert_eq!(context(&ContextSize { max_tokens: None, ..size }), "120 tokens");
    }
}
