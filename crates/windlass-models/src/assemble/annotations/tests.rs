use windlass_core::message::{Citation, HostedStep, Source, Span};

use crate::{Annotation, Assembler, Cited, Delta};

fn cited(span: Option<Span>, in_chars: bool, words: Option<&str>) -> Delta {
    let source = Source { url: Some("https://a".into()), ..Source::default() };
    let citation = Citation { span, source, ..Citation::default() };
    Delta::Annotation(Box::new(Annotation::Citation(Cited {
        citation,
        in_chars,
        words: words.map(Into::into),
    })))
}

fn spans(text: &str, cited: Vec<Delta>) -> Vec<Option<Span>> {
    let mut assembler = Assembler::new("m");
    // A place may be told before its text.
    for delta in cited.into_iter().chain([Delta::Text(text.to_owned())]) {
        assembler.push(delta).expect("small");
    }
    let annotations = assembler.finish().annotations.expect("some");
    annotations.citations.iter().map(|citation| citation.span).collect()
}

#[test]
fn places_in_characters_become_places_in_bytes() {
    let places = [Span(0, 6), Span(7, 10), Span(6, 10), Span(9, 40), Span(6, 2), Span(0, 10)];
    let cited = places.map(|span| cited(Some(span), true, None)).into();
    let found = [Some(Span(0, 7)), Some(Span(8, 12)), Some(Span(7, 12)), None, None, Some(Span(0, 12))];
    assert_eq!(spans("Zürich ißt", cited), found);
}

#[test]
fn repeated_words_tell_where_a_place_is() {
    let text = "It is. So it is. It is so.";
    let words = |from, words: &str| cited(Some(Span(from, from + words.len())), false, Some(words));
    let found = spans(
        text,
        vec![
            words(0, "It is."),
            words(3, "So it"),
            words(2, "It is"),
            words(4, "Nowhere"),
            words(400, "so."),
        ],
    );
    let expected = [Some(Span(0, 6)), Some(Span(7, 12)), Some(Span(17, 22)), None, Some(Span(23, 26))];
    assert_eq!(found, expected);
}

#[test]
fn a_text_that_was_changed_has_no_places() {
    let unplaced = Delta::Annotation(Box::new(Annotation::Unplaced));
    assert_eq!(spans("It is.", vec![cited(Some(Span(0, 2)), false, None), unplaced]), [None]);
}

#[test]
fn annotations_count_for_no_bound_of_a_reply() {
    let step = HostedStep { output: Some("x".repeat(100_000).into()), ..HostedStep::default() };
    let mut assembler = Assembler::new("m").bounded(4);
    assembler.push(Delta::Annotation(Box::new(Annotation::Step(step)))).expect("no bound");
    assembler.push(Delta::Text("Four".into())).expect("its bound");
    let reply = assembler.finish();
    assert_eq!(
        (reply.text.as_deref(), reply.annotations.map_or(0, |all| all.steps.len())),
        (Some("Four"), 1)
    );
}
