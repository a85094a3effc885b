//! Scripted people: they answer in the order asked.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use windlass_core::event::QuestionKind;
use windlass_core::run::{OpenCall, OpenQuestion};
use windlass_core::{Answer, InputKind, RunId, State};
use windlass_read::load;
use windlass_runtime::{Environment, People};

use crate::crash::CrashLog;
use crate::fixture::{Asked, HumanAnswer, HumanReply};
use crate::script::{Inner, Script, Timed};
use crate::sim::SimEnvironment;

/// The people of a case: they answer in the order asked.
#[derive(Debug)]
pub(crate) struct ScriptedPeople {
    pub(crate) script: Script,
    pub(crate) environment: SimEnvironment,
    pub(crate) log: Arc<CrashLog>,
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
        QuestionKind::Plan => Asked::Plan,
        QuestionKind::Result => Asked::Result,
        QuestionKind::Pause => Asked::Pause,
        QuestionKind::Auth => Asked::Auth,
        QuestionKind::Limit(_) => Asked::Limit,
    }
}

impl ScriptedPeople {
    /// The answer to a question, by its place. From now on it is promised to that question: another one of its kind that
    /// is open at the same time finds none there.
    fn entry(&self, state: &State, question: &OpenQuestion) -> Option<usize> {
        let call = self.call(state, question).map(|(_, open)| open.call);
        let call = call.as_ref();
        let meant = |answer: &HumanAnswer| {
            answer.asked == asked_kind(question.kind)
                && answer.call.as_ref().is_none_or(|wanted| {
                    call.is_some_and(|call| {
                        *wanted == *call.id.0 || call.provider_id.as_deref() == Some(wanted.as_str())
                    })
                })
        };
        let mut script = self.script.lock();
        let others = promised_to_others(&script, state, question);
        let free =
            |place: usize| script.human.get(place).is_some_and(|(_, used)| !used && !others.contains(&place));
        if let Some(place) = script.promised.get(&question.id).copied().filter(|place| free(*place)) {
            return Some(place);
        }
        let first = |fits: &dyn Fn(&HumanAnswer) -> bool| {
            let fitting = |(place, (answer, _)): (usize, &(HumanAnswer, bool))| {
                (free(place) && meant(answer) && fits(answer)).then_some(place)
            };
            script.human.iter().enumerate().find_map(fitting)
        };
        let place = first(&|_| true)?;
        // An answer for this very call goes before one for any.
        let any = script.human.get(place).is_some_and(|(answer, _)| answer.call.is_none() && !answer.wrong);
        let place = first(&|answer| answer.call.is_some()).filter(|_| any).unwrap_or(place);
        script.promised.insert(question.id.clone(), place);
        Some(place)
    }

    /// The call that a question is about, and its run: of the agent that really asks.
    fn call(&self, state: &State, question: &OpenQuestion) -> Option<(RunId, OpenCall)> {
        let open = state.open_call(question.call.as_ref()?)?;
        let Some((run, asked)) = open.asks() else { return Some((state.run(), open.clone())) };
        // The log is in memory: it answers at once.
        let child = load(&*self.log, run).now_or_never()?.ok()?;
        let question = child.questions().iter().find(|open| open.id == *asked)?.clone();
        self.call(&child, &question)
    }

    /// Whether it is about a call that a restart has lost: such questions are no part of the case. A call that the case itself lost is
    /// the business of the case's people.
    fn knows(&self, state: &State, question: &OpenQuestion) -> bool {
        if question.kind != QuestionKind::Outcome || !self.script.lock().oracle {
            return false;
        }
        let call = self.call(state, question).map(|(run, open)| (run, open.call.id.clone(), open.attempt()));
        !call.is_some_and(|call| self.script.lock().unanswered.contains(&call))
    }

    fn resumes(&self, question: &OpenQuestion) -> bool {
        question.kind == QuestionKind::Pause && self.script.lock().resumes
    }

    /// The answer of a person who looks: whether the call had ended before the crash.
    fn find_out(&self, state: &State, question: &OpenQuestion) -> Answer {
        let call = self.call(state, question).map(|(run, open)| (run, open.call.id));
        let mut script = self.script.lock();
        script.by_oracle.push(question.id.clone());
        match call.and_then(|call| script.happened.get(&call)) {
            Some(result) => Answer::Result(result.as_str().into()),
            None => Answer::RunAgain,
        }
    }

    /// Sends wrong answers that fit no open call to an unknown question: they must be refused.
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
            script.send_wrong(InputKind::Answered { question: "nobody-asked".into(), answer, by: None });
        }
    }

    async fn think(&self, state: &State, question: &OpenQuestion) -> Answer {
        self.script.lock().wrong_given.retain(|(given, _)| *given != question.id);
        // The case's people are for the case's own questions, which a restart's must not use up.
        if self.knows(state, question) {
            return self.find_out(state, question);
        }
        let Some(place) = self.entry(state, question) else {
            if self.resumes(question) {
                return Answer::Resume { text: None };
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
            let due = self.script.lock().due(Timed::Person(place), self.environment.now(), entry.after_ms);
            self.environment.sleep_until(due).await;
        }
        self.script.turns.rest().await;
        thinking.done = true;
        match self.say(&entry, place, question) {
            Some(answer) => answer,
            // The answer comes by post; whoever asked waits until the question is gone.
            None => std::future::pending().await,
        }
    }

    /// Sends an answer, through the inbox or directly.
    fn say(&self, entry: &HumanAnswer, place: usize, question: &OpenQuestion) -> Option<Answer> {
        let mut script = self.script.lock();
        if entry.wrong {
            script.wrong_given.push((question.id.clone(), place));
        }
        let late = late_after(&script, place);
        let after: Vec<HumanAnswer> = script
            .human
            .iter_mut()
            .skip(place + 1)
            .take(late)
            .map(|entry| {
                entry.1 = true;
                entry.0.clone()
            })
            .collect();
        let what = |answer: &HumanReply| InputKind::Answered {
            question: question.id.clone(),
            answer: answer_of(answer),
            by: None,
        };
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

/// Number of wrong answers after the right one at that place: a late or second answer must be refused, too.
fn late_after(script: &Inner, place: usize) -> usize {
    let Some((entry, _)) = script.human.get(place).filter(|(entry, _)| !entry.wrong) else { return 0 };
    let late = |(next, used): &&(HumanAnswer, bool)| {
        !used && next.wrong && next.asked == entry.asked && next.call == entry.call
    };
    script.human.iter().skip(place + 1).take_while(late).count()
}

/// The places of the answers that other open questions will have.
fn promised_to_others(script: &Inner, state: &State, question: &OpenQuestion) -> BTreeSet<usize> {
    let open = state.questions().iter().filter(|open| open.id != question.id);
    let places = open.filter_map(|open| script.promised.get(&open.id).copied());
    places.flat_map(|place| place..=place + late_after(script, place)).collect()
}

fn answer_of(reply: &HumanReply) -> Answer {
    match reply {
        HumanReply::Answer(answer) => answer.clone(),
        HumanReply::StandIn(text) => Answer::Result(text.as_str().into()),
        HumanReply::Other(value) => Answer::Text(value.to_string().into()),
        HumanReply::AcceptPlan => Answer::Accept,
        HumanReply::ReplacePlan { plan, step } => {
            let line = |line: &serde_json::Value| {
                line.as_str().map_or_else(|| line.to_string(), str::to_owned).into()
            };
            Answer::Plan { plan: plan.iter().map(line).collect(), step: step.clone() }
        }
    }
}

impl People for ScriptedPeople {
    fn answers(&self, state: &State, question: &OpenQuestion) -> bool {
        self.entry(state, question).is_some() || self.knows(state, question) || self.resumes(question)
    }

    fn ask<'p>(&'p self, state: &'p State, question: &'p OpenQuestion) -> BoxFuture<'p, Answer> {
        Box::pin(self.think(state, question))
    }
}
