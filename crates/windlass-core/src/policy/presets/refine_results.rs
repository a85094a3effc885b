//! PromptChain's words for results and failures, for the preset `refine`.

use crate::policy::results::Results;
use crate::policy::texts::Texts;

/// The form of results: as they are, and failures in PromptChain's words.
pub(crate) fn results() -> Results {
    let failed = "Error executing tool: {error}";
    Results {
        timed_out: "Error: Tool {tool} timed out after {seconds}s".into(),
        unknown: "{\"error\": \"Tool function '{tool}' is not available.\"}{nearest}".into(),
        unnamed: "{\"error\": \"Could not determine function name for tool execution\"}".into(),
        ..Results::failing(failed.into())
    }
}

/// The text of a run whose model failed, took too long or neither called nor answered, and of one that was cancelled.
pub(crate) fn say_failures(texts: &mut Texts) {
    let no_call = "Error: LLM did not call a tool or provide an answer after multiple attempts.";
    (texts.no_call, texts.no_call_text) = (no_call.into(), no_call.into());
    texts.cancelled = "[Execution interrupted by user. Partial results may be available.]".into();
    texts.model_failed = "Error during agentic step processing: {error}".into();
    texts.model_timed_out = "[Error: LLM call timed out after {seconds} seconds. \
                             Please try again or simplify your request.]"
        .into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::texts::filled;

    #[test]
    fn p13_failures_are_told_in_promptchain_s_words() {
        let (results, mut texts) = (results(), Texts::default());
        say_failures(&mut texts);
        let places = [("tool", "look"), ("error", "no disk"), ("seconds", "120"), ("nearest", "")];
        let told = |template: &str| filled(template, &places);
        assert_eq!(told(&results.failed), "Error executing tool: no disk");
        assert_eq!(told(&results.misfit), "Error executing tool: no disk");
        assert_eq!(told(&results.timed_out), "Error: Tool look timed out after 120s");
        assert_eq!(told(&results.unknown), r#"{"error": "Tool function 'look' is not available."}"#);
        let unnamed = r#"{"error": "Could not determine function name for tool execution"}"#;
        assert_eq!(told(&results.unnamed), unnamed);
        assert_eq!(told(&texts.model_failed), "Error during agentic step processing: no disk");
        let late =
            "[Error: LLM call timed out after 120 seconds. Please try again or simplify your request.]";
        assert_eq!(told(&texts.model_timed_out), late);
    }
}
