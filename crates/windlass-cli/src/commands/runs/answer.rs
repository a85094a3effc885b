//! `windlass runs answer`.

pub(crate) mod giving;

use std::path::PathBuf;

use clap::Args;
use windlass_core::event::{AnswerSource, AnsweredBy};
use windlass_core::{Answer, QuestionId, RunId, State};
use windlass_read::load;
use windlass_runtime::control;
use windlass_runtime::host::{QuestionSeen, read_answer};

use super::go_on::GoOn;
use super::{find, word};
use crate::agents::{Again, Wanted};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::out;
use crate::remote::{self, Answering, Server};
use crate::view::ViewArgs;
use giving::{Giving, Handed, NOT_POSTED, check_agent};

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
    let seen = QuestionSeen { question: question.clone(), digest: args.question.digest };
    let by = AnsweredBy { from: AnswerSource::Command, name: args.by.clone().map(Into::into) };
    let giving = Giving::of(&*log, &asking, seen, read(&asking, &question, &args.answer), by).await?;
    if let Some(server) = server {
        let answer = giving.answer;
        let answering = Answering { state: asking, question, answer, leave: args.leave, view: args.view };
        return Box::pin(remote::answer(&server, answering, interrupts)).await;
    }
    let (log, _) = find::open_log(log_args, &args.run).await?;
    let resume = format!("windlass runs resume{} {}", log_args.words(), args.run);
    let (root, giving) = match giving.hand_over(&*log, args.leave, &resume).await? {
        Handed::Over(holder) => {
            left(&question, holder.as_deref());
            return Ok(Exit::Good);
        }
        Handed::Free(root, giving) => (root, giving),
    };
    let state = if root == run { asking } else { load(&*log, root).await? };
    let mut go_on =
        GoOn { log_args, log: log.clone(), view: args.view, interrupts, unpause: None, cassette: None };
    // What keeps us from going on is reported before the answer is given.
    let words =
        [args.run.as_str(), question.as_str()].into_iter().chain(args.answer.iter().map(String::as_str));
    let again = Again::new(format!("windlass runs answer{}", log_args.words())).then(words);
    let wanted = Wanted { with: args.with.as_deref(), agents: &[], replaces: false, again };
    let found = go_on.agent(&state, &wanted).await?;
    let checked = check_agent(&found, state.clone(), &wanted.again).await;
    checked.map_err(|failure| failure.detail(NOT_POSTED))?;
    giving.post(&*log).await?;
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

fn left(question: &QuestionId, holder: Option<&str>) {
    match holder {
        None => out::note(format_args!("the answer to {question} is stored until the run is resumed")),
        Some(holder) => {
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
