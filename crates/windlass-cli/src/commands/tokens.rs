//! `windlass tokens`: who may use a server, and for what.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use windlass_core::Text;
use windlass_server::{NewToken, Token, Verb};

use super::serve::tokens;
use crate::agents::now;
use crate::commands::runs::since::age;
use crate::failure::{Exit, Failure};
use crate::out;
use crate::view::table::aligned;

const HELP: &str = "\
A token's text is shown once: a file (tokens.json in WINDLASS_HOME) holds its hash alone. A server sees every change at once.

Examples:
  windlass tokens create --owner ada --name laptop
  windlass tokens create --owner shop --agent clerk --verb start --verb read --expires 30d
  windlass tokens rotate 3f2a91bc --grace 1d
  windlass tokens revoke 3f2a91bc";

/// The arguments of `windlass tokens`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TokensArgs {
    #[command(subcommand)]
    command: TokensCommand,
}

#[derive(Debug, Subcommand)]
enum TokensCommand {
    /// List tokens: ids, rights, times
    List {
        /// One JSON object a token
        #[arg(long)]
        json: bool,
    },
    /// Make a token, and show it once
    Create(CreateArgs),
    /// Make a new token with the rights of another one, which ends
    Rotate {
        /// The token's id
        #[arg(value_name = "ID")]
        id: String,
        /// How long the old one is still good, such as 1d or 10m [default: not at all]
        #[arg(long, value_name = "TIME", value_parser = age)]
        grace: Option<u64>,
        /// How long the new one is good, such as 30d [default: as long as the old one was made for]
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<u64>,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Take a token back
    Revoke {
        /// The token's id
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// Whose runs it starts and sees
    #[arg(long, value_name = "OWNER", default_value = "local", value_parser = NonEmptyStringValueParser::new())]
    owner: String,
    /// It sees the runs of all owners. That of the owner `local` does
    #[arg(long)]
    all: bool,
    /// An agent that it is for (may be repeated) [default: all]
    #[arg(long = "agent", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    agents: Vec<String>,
    /// What it allows (may be repeated) [default: all]
    #[arg(long = "verb", value_name = "VERB", value_parser = verb)]
    verbs: Vec<Verb>,
    /// A name for people
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How long it is good, such as 30d or 12h [default: until it is revoked]
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    expires: Option<u64>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

fn verb(name: &str) -> Result<Verb, String> {
    let all = || Verb::ALL.iter().map(|verb| verb.name()).collect::<Vec<_>>().join(", ");
    Verb::from_name(name).ok_or_else(|| format!("expected one of {}", all()))
}

/// The time for which a token is good: one that has ended before anybody used it is a slip.
fn lifetime(text: &str) -> Result<u64, String> {
    match age(text)? {
        0 => Err("a token needs a time in which it is good, such as 30d".to_owned()),
        ms => Ok(ms),
    }
}

/// Carries out one of the commands.
pub(crate) fn run(args: TokensArgs) -> Result<Exit, Failure> {
    let tokens = tokens()?;
    match args.command {
        TokensCommand::List { json } => list(tokens.all()?.values(), json)?,
        TokensCommand::Create(args) => {
            let CreateArgs { owner, all, agents, verbs, name, expires, json } = args;
            let new = NewToken {
                owner: owner.as_str().into(),
                sees_all: all,
                agents: agents.into_iter().map(Text::from).collect(),
                verbs,
                name: name.map(Into::into),
                expires_at: expires.map(from_now),
            };
            let (token, text) = tokens.make(new)?;
            show(&token, &text, json)?;
        }
        TokensCommand::Rotate { id, grace, expires, json } => {
            let (old_until, expires_at) = (from_now(grace.unwrap_or_default()), expires.map(from_now));
            let rotated = tokens.rotate(&id, old_until, expires_at)?;
            let Some((token, text)) = rotated else { return Err(unknown(&id)) };
            show(&token, &text, json)?;
        }
        TokensCommand::Revoke { id } => {
            if !tokens.revoke(&id)? {
                return Err(unknown(&id));
            }
            out::note(format_args!("token {id} is revoked"));
        }
    }
    Ok(Exit::Good)
}

fn from_now(ms: u64) -> u64 {
    now().saturating_add(ms)
}

fn unknown(id: &str) -> Failure {
    Failure::new(Exit::Failed, format!("there is no token {id}")).hint("`windlass tokens list` lists them")
}

fn show(token: &Token, text: &str, as_json: bool) -> std::io::Result<()> {
    if as_json {
        let mut value = form(token);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("token".to_owned(), text.into());
        }
        return out::json(&value);
    }
    out::note(format_args!("token {}, shown this once:", token.id));
    out::line(text)
}

fn form(token: &Token) -> Value {
    json!({
        "type": "token",
        "id": token.id,
        "owner": token.owner,
        "sees_all": token.sees_all || token.owner.is_local(),
        "agents": token.agents,
        "verbs": token.verbs,
        "name": token.name,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
    })
}

fn list<'t>(tokens: impl Iterator<Item = &'t Token>, as_json: bool) -> std::io::Result<()> {
    if as_json {
        return tokens.map(form).try_for_each(|value| out::json(&value));
    }
    let mut tokens = tokens.peekable();
    if tokens.peek().is_none() {
        out::empty("no tokens; `windlass tokens create` makes one, and so does the first `windlass serve`");
        return Ok(());
    }
    let head = ["ID", "OWNER", "AGENTS", "VERBS", "MADE", "ENDS", "NAME"].map(str::to_owned);
    let names = |all: Vec<String>| if all.is_empty() { "all".to_owned() } else { all.join(",") };
    let row = |token: &Token| {
        let owner =
            if token.sees_all { format!("{} (sees all)", token.owner) } else { token.owner.to_string() };
        [
            token.id.to_string(),
            owner,
            names(token.agents.iter().map(ToString::to_string).collect()),
            names(token.verbs.iter().map(|verb| verb.0.name().to_owned()).collect()),
            windlass_read::words::time(token.created_at),
            token.expires_at.map_or_else(|| "-".to_owned(), windlass_read::words::time),
            token.name.as_deref().unwrap_or("-").to_owned(),
        ]
    };
    let rows: Vec<_> = [head].into_iter().chain(tokens.map(row)).collect();
    out::rows(&aligned(&rows))
}
