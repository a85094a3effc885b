use super::*;

fn step(id: &str) -> HostedStep {
    HostedStep { id: Some(id.into()), tool: HostedTool::WebSearch, ..HostedStep::default() }
}

fn page(url: &str) -> Source {
    Source { url: Some(url.into()), ..Source::default() }
}

#[test]
fn steps_with_one_id_are_one_step() {
    let mut builder = AnnotationsBuilder::default();
    builder.add_step(HostedStep { input: Some("windlass".into()), ..step("1") });
    builder.add_step(step("2"));
    builder.add_step(HostedStep {
        tool: HostedTool::Other,
        output: Some("max_uses_exceeded".into()),
        sources: vec![page("https://a")],
        failed: true,
        ..step("1")
    });
    let all = builder.finish(None).unwrap();
    let whole = HostedStep {
        input: Some("windlass".into()),
        output: Some("max_uses_exceeded".into()),
        sources: vec![page("https://a")],
        failed: true,
        ..step("1")
    };
    assert_eq!(all.steps, [whole, step("2")]);
}

#[test]
fn a_source_that_is_cited_twice_counts_once() {
    let mut builder = AnnotationsBuilder::default();
    for url in ["https://b", "https://a", "https://b"] {
        builder.add_citation(Citation { source: page(url), ..Citation::default() });
    }
    builder.add_citation(Citation { quote: Some("of no source".into()), ..Citation::default() });
    let all = builder.finish(None).unwrap();
    assert_eq!(all.sources(), [&page("https://b"), &page("https://a")]);
}

#[test]
fn whatever_comes_annotations_are_bounded_and_say_what_is_left_out() {
    let mut builder = AnnotationsBuilder::default();
    let long: Text = "x".repeat(1_000_000).into();
    for _ in 0..3 {
        let sources = vec![page("https://a"); MAX_STEP_SOURCES - 1];
        builder.add_step(HostedStep { sources, ..step("0") });
    }
    for at in 0..MAX_STEPS + 3 {
        builder.add_step(HostedStep { output: Some(long.clone()), ..step(&at.to_string()) });
    }
    for _ in 0..MAX_CITATIONS {
        builder.add_citation(Citation { quote: Some(long.clone()), ..Citation::default() });
    }
    let token = TokenLogprob { text: "a".into(), logprob: -0.123_456_789, top: Vec::new() };
    for _ in 0..MAX_LOGPROBS + 2 {
        builder.add_logprob(token.clone());
    }
    let all = builder.finish(None).unwrap();
    assert!(all.bytes() < MAX_ANNOTATION_BYTES + 3 * KEPT_ANNOTATION_BYTES, "{}", all.bytes());
    let omitted = all.omitted;
    let steps = all.steps.len() + omitted.steps as usize;
    assert_eq!((steps, all.steps[0].sources.len()), (MAX_STEPS + 3, MAX_STEP_SOURCES));
    assert_eq!(omitted.sources as usize, 3 * (MAX_STEP_SOURCES - 1) - MAX_STEP_SOURCES);
    assert_eq!(all.citations.len() + omitted.citations as usize, MAX_CITATIONS);
    assert_eq!(all.logprobs.len() + omitted.logprobs as usize, MAX_LOGPROBS + 2);
    let kept = all.steps[0].output.as_ref().unwrap();
    assert!(kept.contains("of 1000000 bytes are left out"), "{kept}");
}

#[test]
fn a_span_that_does_not_fit_the_text_is_removed() {
    let cited = |span| Citation { span, ..Citation::default() };
    let spans = [Span(0, 2), Span(0, 1), Span(1, 1), Span(3, 2), Span(2, 40)];
    let mut all =
        Annotations { citations: spans.map(|span| cited(Some(span))).into(), ..Annotations::default() };
    all.fit(Some("üb"));
    let left: Vec<_> = all.citations.iter().filter_map(|citation| citation.span).collect();
    assert_eq!(left, [Span(0, 2)]);
    all.fit(None);
    assert!(all.citations.iter().all(|citation| citation.span.is_none()));
}

#[test]
fn logarithms_read_back_as_they_were_stored() {
    let mut builder = AnnotationsBuilder::default();
    let numbers = [-0.312_345_678_9, -1e-9, -9999.0, f64::NEG_INFINITY, 0.0, f64::NAN];
    for logprob in numbers {
        builder.add_logprob(TokenLogprob { logprob, ..TokenLogprob::default() });
    }
    let all = builder.finish(None).unwrap();
    let stored = serde_json::to_string(&all).unwrap();
    let read: Box<Annotations> = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, all);
    assert_eq!(serde_json::to_string(&read).unwrap(), stored);
    assert_eq!(read.logprobs[0].logprob.to_string(), "-0.312346");
}
