use super::*;
use crate::agent::prompt::plain::Plain;

fn appendix(prompt: Option<Arc<dyn PromptBuilder>>, texts: &[&str]) -> Appendix {
    Appendix { prompt, texts: texts.iter().map(|text| (*text).to_owned()).collect() }
}

fn made(appendix: &Appendix, objective: &str) -> String {
    appendix.generate(objective, &[], &PromptContext::default()).unwrap()
}

#[test]
fn texts_stand_behind_the_objective_or_the_prompt_as_they_are() {
    let alone = appendix(None, &["{{ one }}", "two"]);
    assert_eq!(made(&alone, "Help.\n"), "Help.\n\n{{ one }}\n\ntwo");
    assert_eq!(made(&alone, ""), "{{ one }}\n\ntwo");
    let plain: Arc<dyn PromptBuilder> = Arc::new(Plain(vec!["Be {{ input.how }}.".to_owned()]));
    let behind = appendix(Some(plain), &["{{ one }}"]);
    let context = PromptContext { input: serde_json::json!({ "how": "brief" }), ..PromptContext::default() };
    assert_eq!(behind.generate("Help.", &[], &context).unwrap(), "Help.\n\n- Be brief.\n\n{{ one }}");
}

#[test]
fn they_count_and_make_another_agent() {
    let (one, two) = (appendix(None, &["one"]), appendix(None, &["two"]));
    assert_ne!(one.identity(), two.identity());
    let plain = || -> Option<Arc<dyn PromptBuilder>> { Some(Arc::new(Plain(vec!["Be brief.".to_owned()]))) };
    assert_ne!(one.identity(), appendix(plain(), &["one"]).identity());
    let long = appendix(None, &["x".repeat(400).as_str()]);
    assert_eq!(long.token_estimate("y".repeat(40).as_str(), &[]), Ok(110));
    assert!(
        appendix(plain(), &["one"]).token_estimate("", &[]).unwrap() > one.token_estimate("", &[]).unwrap()
    );
}

#[test]
fn a_prompt_that_cannot_be_made_is_refused_as_without_them() {
    let broken: Arc<dyn PromptBuilder> = Arc::new(Plain(vec!["{{ input".to_owned()]));
    assert!(appendix(Some(broken), &["one"]).check().is_err());
    assert!(appendix(None, &["{{ input"]).check().is_ok());
}
