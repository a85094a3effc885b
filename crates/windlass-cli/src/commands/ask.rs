//! `windlass "question"`: a question without an agent file goes to the default agent.

use std::path::Path;

use clap::Args;
use windlass_core::text::nearest;

use crate::agents;
use crate::assistant;
use crate::attachments::AttachArgs;
use crate::cassettes::CassetteArgs;
use crate::commands::run::{Begin, HowArgs, begin};
use crate::failure::{Exit, Failure};
use crate::home::{self, LogArgs, quoted};
use crate::input::Input;
use crate::out;
use crate::overrides::Overrides;
use crate::session::SessionArgs;
use crate::stdin;
use crate::view::ViewArgs;

const NO_QUESTION: &str = "give it after the options, or on stdin: `windlass \"your question\"`";

/// The commands that a new user types first, and the effect of each.
const FIRST_COMMANDS: [[&str; 2]; 5] = [
    ["windlass \"What is 17% of 2350?\"", "asks a question, without a file"],
    ["windlass chat", "talks with an agent, turn after turn"],
    ["windlass init shop", "begins an agent: its file, a tool, a test"],
    ["windlass doctor", "says what is wrong, and what mends it"],
    ["windlass help", "lists all commands and options"],
];

/// Indentation of the commands on the first page.
const INDENT: usize = 2;

/// Maximum number of commands that are suggested for a word.
const MOST_SUGGESTED: usize = 2;

/// A question to the default agent.
#[derive(Debug, Args)]
#[command(mut_arg("log", |log| log.global(false)))]
#[command(mut_arg("server", |server| server.global(false).hide(true)))]
#[command(mut_arg("log_sync", |sync| sync.global(false)))]
#[command(mut_arg("log_flush_ms", |time| time.global(false)))]
pub(crate) struct AskArgs {
    /// A question to the default agent; `-`, or omitted when stdin is not a terminal: read from stdin. What is piped in comes after
    /// the question
    #[arg(value_name = "QUESTION")]
    question: Vec<String>,
    /// A question of one word
    #[arg(value_name = "WORD", last = true, hide = true)]
    words: Vec<String>,
    #[command(flatten)]
    attach: AttachArgs,
    #[command(flatten)]
    overrides: Overrides,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    cassette: CassetteArgs,
    #[command(flatten)]
    view: ViewArgs,
}

/// Puts the question to the default agent. `grammar` makes the whole command line, for its help and the names of its commands.
pub(crate) async fn run(args: AskArgs, grammar: fn() -> clap::Command) -> Result<Exit, Failure> {
    if std::env::args_os().len() <= 1 && !stdin::is_given() {
        return first_page();
    }
    // With a model before it a word is no command.
    let question = match args.question.as_slice() {
        [one] if args.overrides.model.is_some() && args.words.is_empty() => Some(filled(one)?),
        words => question(words, &args.words, grammar)?,
    };
    let path = assistant::path()?;
    let file = agents::read(&path, &args.overrides).map_err(|failure| {
        if assistant::is(&path) {
            return failure;
        }
        failure.hint("`windlass agents default FILE` sets another default agent, `--unset` none")
    })?;
    // Until it is read a signal has its usual effect.
    let input = Input::read_with_stdin(question, &args.attach, NO_QUESTION)?;
    let AskArgs { session, overrides, log, view, cassette, .. } = args;
    let log = log.local()?;
    let begun = Begin { path, file, input, session, overrides, log, view, how: HowArgs::with(cassette) };
    Box::pin(begin(begun)).await
}

/// Where to begin, for somebody who typed the program's name alone.
fn first_page() -> Result<Exit, Failure> {
    out::item("Windlass runs agents: language models with tools. Every turn is kept.", 0)?;
    out::line("")?;
    out::pairs(&FIRST_COMMANDS.map(|row| row.map(str::to_owned)), INDENT)?;
    Ok(Exit::Good)
}

/// The question, if the words are one. A word that is no command would otherwise cost a model call.
fn question(
    words: &[String],
    after_dashes: &[String],
    grammar: fn() -> clap::Command,
) -> Result<Option<String>, Failure> {
    if !after_dashes.is_empty() {
        let all: Vec<&str> = words.iter().chain(after_dashes).map(String::as_str).collect();
        return filled(&all.join(" ")).map(Some);
    }
    match words {
        [] => Ok(None),
        [one] if one == "-" || one.trim().contains(char::is_whitespace) => Ok(Some(one.clone())),
        [one] if one.trim().is_empty() => filled(one).map(Some),
        several => Err(no_question(several, grammar)),
    }
}

fn filled(text: &str) -> Result<String, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::new(Exit::Usage, "the question is empty").hint(NO_QUESTION));
    }
    Ok(text.to_owned())
}

/// Says why the words are neither a command nor a question, and what was probably meant.
fn no_question(words: &[String], grammar: fn() -> clap::Command) -> Failure {
    let first = words.first().map_or("", String::as_str);
    let cli = grammar();
    let names: Vec<&str> = cli.get_subcommands().map(clap::Command::get_name).collect();
    if names.contains(&first) {
        return Failure::new(Exit::Usage, format!("the options before `{first}` belong to a question"))
            .hint(format!("put options after the command: `windlass {first} --help` lists them"));
    }
    let failure = Failure::new(Exit::Usage, format!("`{first}` is not a command"));
    let rest: Vec<String> = words.iter().skip(1).map(|word| quoted(word)).collect();
    let all = words.join(" ");
    if home::is_yaml(Path::new(first)) {
        let rest = if rest.is_empty() { "\"your question\"".to_owned() } else { rest.join(" ") };
        return failure.hint(format!("`windlass run {} {rest}` runs the agent of that file", quoted(first)));
    }
    // A question's first word is often close to a command by chance.
    let begins = |name: &String| words.len() == 1 || name.chars().next() == first.chars().next();
    let with_rest = |name: String| {
        let all: Vec<String> = std::iter::once(name).chain(rest.iter().cloned()).collect();
        format!("`windlass {}`", all.join(" "))
    };
    // Verbs of runs, which other programs have without a word before them.
    let verbs = cli.find_subcommand("runs").into_iter().flat_map(clap::Command::get_subcommands);
    let verb = verbs.map(clap::Command::get_name).find(|name| *name == first && words.len() <= 2);
    if let Some(verb) = verb {
        return failure.hint(format!("did you mean {}?", with_rest(format!("runs {verb}"))));
    }
    let mut close: Vec<String> = nearest(first, names).into_iter().filter(begins).collect();
    // `runn list` means a command that has a `list`.
    let takes_second = |name: &String| {
        let second = words.get(1).zip(cli.find_subcommand(name));
        second.is_some_and(|(second, command)| command.find_subcommand(second).is_some())
    };
    // `rnu agent.yaml` means no command whose second word is another one.
    let takes_file = |name: &String| {
        words.len() > 1 && cli.find_subcommand(name).is_some_and(|command| !command.has_subcommands())
    };
    if close.iter().any(takes_second) {
        close.retain(takes_second);
    } else if close.iter().any(takes_file) {
        close.retain(takes_file);
    }
    let close: Vec<String> = close.into_iter().take(MOST_SUGGESTED).map(with_rest).collect();
    let near = (!close.is_empty()).then(|| format!("did you mean {}?", close.join(" or ")));
    let failure = failure.maybe_hint(near);
    if words.len() == 1 {
        failure.hint(format!("a question of one word comes after `--`: `windlass -- {}`", quoted(first)))
    } else {
        failure.hint(format!("a question stands in quotes: `windlass {}`", quoted(&all)))
    }
}
