use std::convert::Infallible;

use windlass_core::model::{Reply, StopReason};

use super::Thoughts;
use crate::{Assembler, Delta};

/// Reasoning and text of a reply that comes in these pieces.
fn sorted(pieces: &[Delta]) -> (String, String) {
    let (mut thoughts, mut assembler) = (Thoughts::default(), Assembler::new("m"));
    let mut push = |delta| assembler.push(delta);
    for piece in pieces {
        thoughts.pass(piece.clone(), &mut push).unwrap();
    }
    thoughts.end(push).unwrap();
    (assembler.reasoning().to_owned(), assembler.text().to_owned())
}

fn passed(thoughts: &mut Thoughts, piece: Delta) -> Vec<Delta> {
    let mut passed = Vec::new();
    let Ok(()) = thoughts.pass(piece, |delta| {
        passed.push(delta);
        Ok::<_, Infallible>(())
    });
    passed
}

fn text(text: &str) -> Delta {
    Delta::Text(text.to_owned())
}

/// A reply, its reasoning, its text.
const REPLIES: [(&str, &str, &str); 27] = [
    // DeepSeek-R1, Qwen3.
    ("<think>\nOkay, so.\n\nTwo.\n</think>\n\nThe answer is 2.", "Okay, so.\n\nTwo.", "The answer is 2."),
    // Qwen3 that was told not to reason.
    ("<think>\n\n</think>\n\nHello", "", "Hello"),
    // Qwen3-2507, DeepSeek-R1: the template has the first tag.
    ("Okay, so.\n</think>\n\nThe answer is 2.", "Okay, so.", "The answer is 2."),
    ("</think>\n\nHello", "", "Hello"),
    ("\n</think>", "", ""),
    ("a\n</think>", "a", ""),
    // Cut off.
    ("<think>\nOkay, so", "Okay, so", ""),
    ("<think>Okay </thi", "Okay </thi", ""),
    ("<think>", "", ""),
    ("\n <thi", "", "\n <thi"),
    // Several in a row.
    ("<think>a</think>\n<think>\nb\n</think>\nc", "a\n\nb", "c"),
    ("<think>a</think><think></think><think>b</think>", "a\n\nb", ""),
    ("a\n</think>\n<think>b</think> c", "a\n\nb", "c"),
    ("<think>a</think> b <think>c</think>", "a", "b <think>c</think>"),
    ("<think>a</think>\n\n<thin", "a", "<thin"),
    ("<think>a <think>b</think> c</think>", "a <think>b", "c</think>"),
    ("<think>a</think>b\n</think>\nc", "a", "b\n</think>\nc"),
    // Text.
    ("", "", ""),
    (" \n ", "", " \n "),
    ("\nHello\n", "", "\nHello\n"),
    ("Use <think> and </think> as tags.", "", "Use <think> and </think> as tags."),
    ("So: <think>\nno\n </think> it is text", "", "So: <think>\nno\n </think> it is text"),
    ("```\n<think>\na\n</think>\n```\nb", "", "```\n<think>\na\n</think>\n```\nb"),
    ("a\n```xml\n</think>\n```\nb", "", "a\n```xml\n</think>\n```\nb"),
    ("a\n```\nb\n```\n</think>\nc", "a\n```\nb\n```", "c"),
    ("< think>a</think>", "", "< think>a</think>"),
    ("ü\r\n</think>\r\nö", "ü", "ö"),
];

#[test]
fn p23_reasoning_in_tags_becomes_reasoning() {
    for (reply, reasoning, said) in REPLIES {
        assert_eq!(sorted(&[text(reply)]), (reasoning.into(), said.into()), "{reply:?}");
    }
}

#[test]
fn p23_e13_a_reply_cut_anywhere_is_sorted_as_the_whole() {
    for (reply, reasoning, said) in REPLIES {
        let whole = (reasoning.to_owned(), said.to_owned());
        let cuts: Vec<usize> = (0..=reply.len()).filter(|at| reply.is_char_boundary(*at)).collect();
        for first in &cuts {
            for second in cuts.iter().filter(|second| *second >= first) {
                let pieces = [&reply[..*first], &reply[*first..*second], &reply[*second..]].map(text);
                assert_eq!(sorted(&pieces), whole, "{pieces:?}");
            }
        }
        let each: Vec<Delta> = reply.chars().map(|c| text(c.encode_utf8(&mut [0; 4]))).collect();
        assert_eq!(sorted(&each), whole, "{reply:?}, each character");
    }
}

#[test]
fn p23_e15_a_whole_reply_is_sorted_as_its_pieces() {
    for (reply, reasoning, said) in REPLIES {
        let mut thoughts = Thoughts::default();
        let given = Reply { text: Some(reply.into()), model: "m".into(), ..Reply::default() };
        let passed = passed(&mut thoughts, Delta::Whole(Box::new(given)));
        let [Delta::Whole(whole)] = &*passed else { panic!("it is whole") };
        assert_eq!(whole.text.as_deref().unwrap_or_default(), said);
        assert_eq!(whole.reasoning.as_ref().map_or("", |found| &found.text), reasoning);
    }
}

#[test]
fn p23_the_provider_s_own_reasoning_stays_first() {
    let pieces = [Delta::Reasoning("native".into()), text("<think>a</think>b")];
    assert_eq!(sorted(&pieces), ("native\n\na".into(), "b".into()));
    let pieces = [Delta::Reasoning("native".into()), text("a\n</think>\nb")];
    assert_eq!(sorted(&pieces), ("native\n\na".into(), "b".into()));
}

#[test]
fn p23_text_that_is_known_goes_on_at_once() {
    let mut thoughts = Thoughts::default();
    let mut said = |piece: &str| passed(&mut thoughts, text(piece));
    assert_eq!(said("<thi"), []);
    assert_eq!(said("nk>\na"), [Delta::Reasoning("a".into())]);
    assert_eq!(said("b </"), [Delta::Reasoning("b ".into())]);
    assert_eq!(said("b"), [Delta::Reasoning("</b".into())]);
    assert_eq!(said("</think>\n"), []);
    assert_eq!(said("H"), [text("H")]);
    assert_eq!(said("<think>"), [text("<think>")]);
    assert_eq!(passed(&mut thoughts, Delta::Stop(StopReason::Stop)).len(), 1);
}

#[test]
fn p23_little_is_held_back() {
    let mut thoughts = Thoughts::default();
    for piece in ["<think>a", " ", "\n", "\n</think", "x", "</think>\n", "b\n", " ", "\n"] {
        for _ in 0..500 {
            passed(&mut thoughts, text(piece));
            assert!(thoughts.held.len() <= 80, "{piece:?}: {:?}", thoughts.held);
        }
    }
}
