//! Scripted people: they answer in the order asked.

use futures_core::future::BoxFuture;
use windlass_core::{Answer, OpenQuestion, QuestionKind, State, What};
use windlass_runtime::{People, World};

use crate::fixture::{Asked, HumanAnswer, HumanReply};
use crate::script::{Script, Timed};
use crate::sim::SimWorld;

/// The people of a case: they answer in the order asked.
#[derive(Debug)]
pub(crate) struct ScriptedPeople {
    pub(crate) script: Script,
    pub(crate) world: SimWorld,
}

/// While a person thinks: if that is lost in a crash, the answer is given again.
struct Thinking {
    script: Script,
    place: usize,
    done: bool,
}

impl Drop for Thinking {
    fn drop(&mut self) {
        if !self.done
            && let Some(entry) = self.script.lock().human.get_mut(self.place)
        {
            entry.1 = false;
        }
    }
}

fn asked_kind(kind: QuestionKind) -> Asked {
    match kind {
        QuestionKind::Approval => Asked::Approval,
        QuestionKind::Clarify => Asked::Clarify,
        QuestionKind::Outcome => Asked::Outcome,
        QuestionKind::Limit(_) => Asked::Limit,
    }
}

impl ScriptedPeople {
    fn entry(&self, state: &State, question: &OpenQuestion) -> Option<usize> {
        let call = question.call.as_ref().and_then(|id| state.open_call(id)).map(|open| &open.call);
        let meant = |answer: &HumanAnswer| {
            answer.asked == asked_kind(question.kind)
                && answer.call.as_ref().is_none_or(|wanted| {
                    call.is_some_and(|call| {
                        *wanted == *call.id.0 || call.provider_id.as_deref() == Some(wanted.as_str())
                    })
                })
        };
        let script = self.script.lock();
        let place = script.human.iter().position(|(answer, used)| !used && meant(answer))?;
        // An answer for this very call goes before one for any.
        let any = script.human.get(place).is_some_and(|(answer, _)| answer.call.is_none() && !answer.wrong);
        let own = |(answer, used): &(HumanAnswer, bool)| !used && answer.call.is_some() && meant(answer);
        Some(script.human.iter().position(own).filter(|_| any).unwrap_or(place))
    }

    fn knows(&self, question: &OpenQuestion) -> bool {
        question.kind == QuestionKind::Outcome && self.script.lock().oracle
    }

    /// What somebody would find out who looked: whether the call came to its end before the crash.
    fn find_out(&self, question: &OpenQuestion) -> Answer {
        let mut script = self.script.lock();
        script.by_oracle.push(question.id.clone());
        match question.call.as_ref().and_then(|call| script.happened.get(call)) {
            Some(result) => Answer::Result(result.as_str().into()),
            None => Answer::RunAgain,
        }
    }

    /// Wrong answers that are meant for no open call are given to a question that nobody asked: they must be refused.
    fn answer_nobody(&self, state: &State, before: usize) {
        let mut script = self.script.lock();
        let strays: Vec<Answer> = script
            .human
            .iter_mut()
            .take(before)
            .filter(|(answer, used)| {
                let open = |id: &String| state.open_call(&id.as_str().into()).is_some();
                !used && answer.wrong && answer.call.as_ref().is_some_and(|id| !open(id))
            })
            .map(|entry| {
                entry.1 = true;
                answer_of(&entry.0.answer)
            })
            .collect();
        for answer in strays {
            script.send_wrong(What::Answered { question: "nobody-asked".into(), answer });
        }
    }

    async fn think(&self, state: &State, question: &OpenQuestion) -> Answer {
        self.script.lock().wrong_given.retain(|given| *given != question.id);
        let Some(place) = self.entry(state, question) else {
            if self.knows(question) {
                return self.find_out(question);
            }
            return std::future::pending().await;
        };
        self.answer_nobody(state, place);
        let mut thinking = Thinking { script: self.script.clone(), place, done: false };
        let entry = {
            let mut script = self.script.lock();
            script.human.get_mut(place).map(|entry| {
                entry.1 = true;
                entry.0.clone()
            })
        };
        let Some(entry) = entry else { return std::future::pending().await };
        if entry.after_ms > 0 {
            let due = self.script.lock().due(Timed::Person(place), self.world.now(), entry.after_ms);
            self.world.sleep_until(due).await;
        }
        self.script.turns.rest().await;
        thinking.done = true;
        match self.say(&entry, place, question) {
            Some(answer) => answer,
            // The answer comes by post; whoever asked waits until the question is gone.
            None => std::future::pending().await,
        }
    }

    /// Gives an answer: by post, or to whoever asked.
    fn say(&self, entry: &HumanAnswer, place: usize, question: &OpenQuestion) -> Option<Answer> {
        let mut script = self.script.lock();
        if entry.wrong {
            script.wrong_given.push(question.id.clone());
        }
        // A wrong answer that comes after the right one is late or the second: it must be refused too.
        let after: Vec<HumanAnswer> = script
            .human
            .iter_mut()
            .skip(place + 1)
            .take_while(|(next, used)| {
                !entry.wrong && !used && next.wrong && next.asked == entry.asked && next.call == entry.call
            })
            .map(|entry| {
                entry.1 = true;
                entry.0.clone()
            })
            .collect();
        let what =
            |answer: &HumanReply| What::Answered { question: question.id.clone(), answer: answer_of(answer) };
        if script.post.is_some() && !entry.wrong && after.is_empty() {
            script.send(what(&entry.answer));
            return None;
        }
        for late in &after {
            script.send_wrong(what(&late.answer));
        }
        script.answered.insert(question.id.clone(), place);
        Some(answer_of(&entry.answer))
    }
}

fn answer_of(reply: &HumanReply) -> Answer {
    match reply {
        HumanReply::Answer(answer) => answer.clone(),
        HumanReply::StandIn(text) => Answer::Result(text.as_str().into()),
        HumanReply::Other(value) => Answer::Text(value.to_string().into()),
        HumanReply::AcceptPlan | HumanReply::ReplacePlan { .. } => Answer::Text("plan".into()),
    }
}

impl People for ScriptedPeople {
    fn answers(&self, state: &State, question: &OpenQuestion) -> bool {
        self.entry(state, question).is_some() || self.knows(question)
    }

    fn ask<'p>(&'p self, state: &'p State, question: &'p OpenQuestion) -> BoxFuture<'p, Answer> {
        Box::pin(self.think(state, question))
    }
}
