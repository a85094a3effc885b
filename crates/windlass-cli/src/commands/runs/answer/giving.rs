//! The way of an answer: it is checked, and goes to the process that holds its run, or is kept with a run that can go on.

use windlass_core::event::AnsweredBy;
use windlass_core::{Answer, InputKind, QuestionId, RunId, State};
use windlass_read::words::time;
use windlass_runtime::control::{self, Checked, Given};
use windlass_runtime::host::{QuestionSeen, check_question};
use windlass_store::{Log, Store};

use crate::agents::{Again, Found, changed, now};
use crate::failure::{Exit, Failure};

/// Why an answer is not given: nothing has come of it.
pub(crate) const NOT_POSTED: &str = "the answer was not posted";

/// An answer that its run takes as it was read.
#[derive(Debug)]
pub(crate) struct Giving {
    run: RunId,
    question: QuestionId,
    pub(crate) answer: Answer,
    checked: Checked,
}

/// Where an answer has gone.
#[derive(Debug)]
pub(crate) enum Handed {
    /// To its run, which that process holds; `None`: nobody does.
    Over(Option<String>),
    /// Nowhere yet: nobody holds the run of this root, which can be gone on with here.
    Free(RunId, Box<Giving>),
}

impl Giving {
    /// Checks an answer to a question as its sender saw it. A refusal says who answered the question before.
    pub(crate) async fn of(
        log: &dyn Log,
        asking: &State,
        seen: QuestionSeen,
        answer: Result<Answer, Failure>,
        by: AnsweredBy,
    ) -> Result<Self, Failure> {
        let QuestionSeen { question, digest } = seen;
        check_question(asking, &question, digest.as_ref())?;
        let run = asking.run();
        let answer = match answer {
            Ok(answer) => answer,
            Err(refused) => return Err(with_answer(log, run, &question, refused).await?),
        };
        let what = InputKind::Answered { question: question.clone(), answer: answer.clone(), by: Some(by) };
        match control::check(asking, now(), what).await {
            Ok(checked) => Ok(Self { run, question, answer, checked }),
            Err(refused) => Err(with_answer(log, run, &question, refused.into()).await?),
        }
    }

    /// Hands it to the process that holds the run, and waits until it is taken. `leaves`: it is left there even if nobody holds the
    /// run. `resume`: the command that goes on with the run.
    pub(crate) async fn hand_over(
        self,
        log: &dyn Store,
        leaves: bool,
        resume: &str,
    ) -> Result<Handed, Failure> {
        self.refuse_second(log, resume).await?;
        let root = control::resumed_at(log, self.run).await?;
        let holder = log.summary(root).await?.holder;
        if holder.is_none() && !leaves {
            return Ok(Handed::Free(root, Box::new(self)));
        }
        match self.checked.deliver(log).await {
            Ok(_) => Ok(Handed::Over(holder.map(|holder| holder.0.to_string()))),
            // Somebody else was faster.
            Err(refused) => Err(with_answer(log, self.run, &self.question, refused.into()).await?),
        }
    }

    /// Keeps it with its run, which nobody holds.
    pub(crate) async fn post(self, log: &dyn Store) -> Result<(), Failure> {
        self.checked.post(log).await?;
        Ok(())
    }

    /// Refuses it where the question's first answer waits for the run: only that one would be taken.
    async fn refuse_second(&self, log: &dyn Store, resume: &str) -> Result<(), Failure> {
        let question = &self.question;
        let Some(given) = control::answer_waits(log, self.run, question).await? else { return Ok(()) };
        let waits =
            format!("question {question} has an answer that waits for the run: {}", described(&given));
        Err(Failure::new(Exit::Failed, waits).hint(resume))
    }
}

/// Refuses an agent that cannot go on with a run: that is reported before an answer is given.
pub(crate) async fn check_agent(found: &Found, state: State, again: &Again) -> Result<(), Failure> {
    let checked = found.resume(state.run()).seen(state).check().await;
    checked.map_err(|error| changed(error, &found.path, again))
}

/// The refusal, with who answered the question before.
async fn with_answer(
    log: &dyn Log,
    run: RunId,
    question: &QuestionId,
    refused: Failure,
) -> Result<Failure, Failure> {
    let Some(given) = control::given(log, run, question).await? else { return Ok(refused) };
    Ok(refused.detail(format!("{question} was answered before: {}", described(&given))))
}

/// The answer, who gave it, and when.
pub(crate) fn described(given: &Given) -> String {
    let by = given.received.by.as_ref().map(|by| format!("{by}, ")).unwrap_or_default();
    format!("{} ({by}{})", given.received.answer.name(), time(given.at))
}
