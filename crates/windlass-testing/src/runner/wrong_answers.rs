//! Answers that a case marks as wrong: the run must refuse them.

use windlass_core::event::PeopleFact;
use windlass_core::{Event, Fact, QuestionId};
use windlass_store::Batch;

use crate::fixture::Mismatch;
use crate::script::Inner;

/// A wrong answer that was taken, and how that is told.
pub(super) fn accepted_wrong(script: &Inner, batches: &[Batch]) -> Option<(QuestionId, Mismatch)> {
    let (wrong, entry) = script.wrong_given.iter().find(|(wrong, _)| received(batches, wrong))?;
    let line = script.human.get(*entry).map_or(0, |(answer, _)| answer.line);
    let expected = format!("the answer in line {line} is refused, as `wrong: true` says");
    let miss = Mismatch::new(expected, format!("question {wrong} accepted it"));
    Some((wrong.clone(), miss.under(&entry.to_string()).under("human")))
}

fn received(batches: &[Batch], question: &QuestionId) -> bool {
    batches.iter().flat_map(|batch| batch.events.iter()).any(|event| takes(event, question))
}

pub(super) fn takes(event: &Event, question: &QuestionId) -> bool {
    matches!(&event.fact, Fact::People(PeopleFact::InputReceived(received)) if received.question == *question)
}
