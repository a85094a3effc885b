use super::*;

#[test]
fn the_path_of_a_call() {
    assert_eq!(GEMINI.path("gemini-2.5-pro", false), "models/gemini-2.5-pro:generateContent");
    assert_eq!(GEMINI.path("gemini-2.5-pro", true), "models/gemini-2.5-pro:streamGenerateContent?alt=sse");
    assert_eq!(GEMINI.path("tunedModels/mine", false), "tunedModels/mine:generateContent");
    assert_eq!(GEMINI.path("models/gemini-3?x", false), "models/gemini-3%3Fx:generateContent");
    assert_eq!(VERTEX.path("gemini-3-flash", false), GEMINI.path("gemini-3-flash", false));
}

#[test]
fn vertex_differs_in_its_facts_only() {
    assert_eq!(
        (GEMINI.facts().key, VERTEX.facts().key),
        (KeyHeader::Named("x-goog-api-key"), KeyHeader::Bearer)
    );
    assert_eq!((GEMINI.facts().name, VERTEX.facts().name), ("gemini", "gemini_vertex"));
}

#[test]
fn models_that_generate_are_listed_without_their_collection() {
    let list = br#"{"models":[{"name":"models/gemini-3-flash","supportedGenerationMethods":["generateContent","countTokens"]},
        {"name":"models/embedding-001","supportedGenerationMethods":["embedContent"]},{"name":"models/other"}],"nextPageToken":"x"}"#;
    assert_eq!(GEMINI.model_names(list), Ok(vec!["gemini-3-flash".to_owned(), "other".to_owned()]));
    assert_eq!(GEMINI.model_names(b"{}"), Ok(Vec::new()));
    assert!(GEMINI.model_names(b"no list").is_err());
}
