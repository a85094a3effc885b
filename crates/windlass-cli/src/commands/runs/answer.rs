//! `windlass runs answer`.

use std::path::PathBuf;

use clap::Args;
use windlass_core::event::{AnswerSource, AnsweredBy};
use windlass_core::{Answer, InputKind, QuestionId, RunId, State};
use windlass_read::load;
use windlass_read::words::time;
use windlass_runtime::control::{self, Checked, Given};
use windlass_runtime::host::{QuestionSeen, check_question, read_answer};
use windlass_store::{Index, Log, Store};

use super::go_on::GoOn;
use super::{find, word};
use crate::agents::{Again, Wanted, changed, now};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::out;
use crate::remote::{self, Answering, Server};
use crate::view::ViewArgs;

const HELP: &str = "\
Answers by kind of question (`windlass runs show RUN` lists the open ones):
  approval   approve | always (all calls of the tool in this session) | deny [REASON] | args JSON
  clarify    TEXT...
  outcome    result TEXT | run_again | unknown
  result     TEXT... (stands in for the result of a step that failed)
  plan       accept | plan LINE; LINE... | plan JSON ({\"plan\": [..], \"step\": {..}}) | conclude [TEXT] | json ANSWER
  auth       retry (the key was renewed)
  limit      conclude [TEXT] (without a text: with the last result) | json ANSWER | raise N
  A final answer as JSON is {\"final_answer\": \"..\", \"confidence\": 0.9, \"original_goal_achieved\": true}

The answer is kept with the run. If another process holds the run, that one goes on with it; else it goes on here. \
Options stand before RUN.

Examples:
  windlass runs answer last q1 approve
  windlass runs answer last q1 deny \"not on a Friday\"
  windlass runs answer last q1 args '{\"path\": \"notes.txt\"}'";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct AnswerArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN")]
    run: String,
    /// The question's id, such as q1, or q1@3f2a91bc: then the answer is refused where the question says something else by now
    #[arg(value_name = "QUESTION")]
    question: QuestionSeen,
    /// The answer
    #[arg(value_name = "ANSWER", required = true, trailing_var_arg = true, allow_hyphen_values = true, value_parser = word)]
    answer: Vec<String>,
    /// The agent's file, where it has moved or changed
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
    /// Who answers: kept with the answer, and shown to whoever answers later
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Only store the answer; do not resume the run
    #[arg(long)]
    leave: bool,
    #[command(flatten)]
    view: ViewArgs,
}

pub(super) async fn run(args: AnswerArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let interrupts = Interrupts::listen()?;
    let server = Server::of(log_args)?;
    let (log, run) = find::open(log_args, &args.run).await?;
    if server.is_some() {
        check_on_a_server(&args, run, &log_args.words())?;
    }
    // A child's question is answered at the root, whose agent is known here.
    let (run, question) = control::asked_at(&*log, run, args.question.question).await?;
    // The run is read once and the answer checked once, however long the run and its session are.
    let asking = load(&*log, run).await?;
    check_question(&asking, &question, args.question.digest.as_ref())?;
    let by = AnsweredBy { from: AnswerSource::Command, name: args.by.clone().map(Into::into) };
    let (checked, answer) = match read(&asking, &question, &args.answer) {
        Ok(answer) => (checked(&*log, &asking, &question, answer.clone(), by).await?, answer),
        Err(refused) => return Err(with_answer(&*log, run, &question, refused).await?),
    };
    if let Some(server) = server {
        let answering = Answering { state: asking, question, answer, leave: args.leave, view: args.view };
        return Box::pin(remote::answer(&server, answering, interrupts)).await;
    }
    let (log, _) = find::open_log(log_args, &args.run).await?;
    refuse_second(&*log, run, &question, &format!("windlass runs resume{} {}", log_args.words(), args.run))
        .await?;
    let root = control::resumed_at(&*log, run).await?;
    let state = if root == run { asking } else { load(&*log, root).await? };
    let held = log.summary(root).await?.holder;
    if let Some(holder) = held.map(|holder| holder.0.to_string()).or_else(|| args.leave.then(String::new)) {
        deliver(&*log, run, &question, checked).await?;
        left(&question, &holder);
        return Ok(Exit::Good);
    }
    let mut go_on =
        GoOn { log_args, log: log.clone(), view: args.view, interrupts, unpause: None, cassette: None };
    // What keeps us from going on is reported before the answer is given.
    let words =
        [args.run.as_str(), question.as_str()].into_iter().chain(args.answer.iter().map(String::as_str));
    let again = Again::new(format!("windlass runs answer{}", log_args.words())).then(words);
    let wanted = Wanted { with: args.with.as_deref(), agents: &[], replaces: false, again };
    let found = go_on.agent(&state, &wanted).await?;
    if let Err(error) = found.resume(root).seen(state.clone()).check().await {
        return Err(changed(error, &found.path, &wanted.again).detail("the answer was not posted"));
    }
    checked.post(&*log).await?;
    Box::pin(go_on.drive(&state, found, &[], &wanted.again)).await
}

/// Refuses what a server does not take.
fn check_on_a_server(args: &AnswerArgs, run: RunId, words: &str) -> Result<(), Failure> {
    if args.by.is_some() {
        let refused = "`--by` works on a log: a server keeps the owner of the token with the answer, and believes no other name";
        return Err(Failure::new(Exit::Usage, refused)
            .hint("`windlass tokens create --owner NAME` makes a token for whoever answers"));
    }
    if args.with.is_some() {
        return Err(Failure::new(
            Exit::Usage,
            "`--with` works on a log: a server goes on with a run as soon as it is answered",
        )
        .hint(format!(
            "`windlass runs resume{words} {run} --with AGENT` gives the run another agent first"
        )));
    }
    Ok(())
}

/// An answer that the run takes as it was read. A refusal says who answered the question before.
pub(crate) async fn checked(
    log: &dyn Log,
    asking: &State,
    question: &QuestionId,
    answer: Answer,
    by: AnsweredBy,
) -> Result<Checked, Failure> {
    let what = InputKind::Answered { question: question.clone(), answer, by: Some(by) };
    match control::check(asking, now(), what).await {
        Ok(checked) => Ok(checked),
        Err(refused) => Err(with_answer(log, asking.run(), question, refused.into()).await?),
    }
}

/// Refuses an answer to a question whose first one waits for the run: only that one would be taken.
pub(crate) async fn refuse_second(
    log: &dyn Store,
    run: RunId,
    question: &QuestionId,
    resume: &str,
) -> Result<(), Failure> {
    let Some(given) = control::answer_waits(log, run, question).await? else { return Ok(()) };
    let waits = format!("question {question} has an answer that waits for the run: {}", described(&given));
    Err(Failure::new(Exit::Failed, waits).hint(resume))
}

/// Posts an answer to a run that another process holds, and waits for it to be taken.
pub(crate) async fn deliver(
    log: &dyn Store,
    run: RunId,
    question: &QuestionId,
    checked: Checked,
) -> Result<(), Failure> {
    match checked.deliver(log).await {
        Ok(_) => Ok(()),
        // Somebody else was faster.
        Err(refused) => Err(with_answer(log, run, question, refused.into()).await?),
    }
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

fn left(question: &QuestionId, holder: &str) {
    match holder {
        "" => out::note(format_args!("the answer to {question} is stored until the run is resumed")),
        holder => {
            out::note(format_args!("the answer to {question} is stored for {holder}, which holds the run"));
        }
    }
}

/// The answer in these words.
fn read(state: &State, question: &QuestionId, words: &[String]) -> Result<Answer, Failure> {
    let Some(open) = state.questions().iter().find(|open| open.id == *question) else {
        // It is refused, whatever it says: it was answered, the run has ended, or it never was.
        return Ok(Answer::Unknown);
    };
    read_answer(open.kind, words).map_err(|expected| {
        Failure::new(
            Exit::Usage,
            format!("the answer does not match question {question} ({}): {expected}", open.kind),
        )
        .detail(&*open.text)
    })
}
