//! Servers: what a command reaches, a log on this machine or a server, and what is asked of a server.

mod chat;
mod following;
mod requests;
mod run;

use std::sync::Arc;

use windlass_client::{Address, Client, RemoteStore};
use windlass_store::{SqliteLog, Store};

use crate::failure::{Exit, Failure};
use crate::home::{self, LogArgs};

pub(crate) use chat::Talk;
pub(crate) use following::watch;
pub(crate) use requests::{Answering, Resuming, answer, cancel, fork, pause, resume, send_answer, steer};
pub(crate) use run::{Task, run};

/// The place that a command works on.
pub(crate) enum Reach {
    /// A log on this machine; `None`: it has not been made yet.
    Log(Option<Arc<SqliteLog>>),
    /// A server.
    Server(Server),
}

/// A server, as commands use it.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) client: Client,
    /// Its log, to read.
    pub(crate) store: Arc<RemoteStore>,
    /// ` --server URL`, or nothing where the environment names the server: for commands that are suggested.
    pub(crate) words: String,
}

impl Reach {
    /// The place that the arguments name. A log is opened to read it: looking at runs makes none.
    pub(crate) fn of(args: &LogArgs) -> Result<Self, Failure> {
        match Server::of(args)? {
            Some(server) => Ok(Self::Server(server)),
            None => args.open_existing().map(Self::Log),
        }
    }

    /// The log, wherever it is.
    pub(crate) fn store(self) -> Option<Arc<dyn Store>> {
        match self {
            Self::Log(log) => log.map(|log| log as Arc<dyn Store>),
            Self::Server(server) => Some(server.store),
        }
    }
}

impl Server {
    /// The server that the arguments name.
    pub(crate) fn of(args: &LogArgs) -> Result<Option<Self>, Failure> {
        let Some(address) = args.server() else { return Ok(None) };
        let address: Address = address.parse()?;
        let token = token(&address)?;
        let client = Client::of(address)?;
        let client = match token {
            Some(token) => client.with_token(&token)?,
            None => client,
        };
        let store = Arc::new(RemoteStore::new(client.clone()));
        Ok(Some(Self { client, store, words: args.words() }))
    }
}

/// The token for a server: that of the environment, else the one that the first start of a server on this machine has made. That one is
/// for no other machine.
fn token(address: &Address) -> Result<Option<String>, Failure> {
    if let Some(token) = home::env("WINDLASS_TOKEN").filter(|token| !token.trim().is_empty()) {
        return Ok(Some(token));
    }
    if !address.is_loopback() || matches!(address, Address::Socket(_)) {
        return Ok(None);
    }
    let path = home::server_token()?;
    match std::fs::read_to_string(&path) {
        Ok(token) => Ok(Some(token)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::new(Exit::Failed, format!("cannot read the token in {}", path.display()))
            .cause(error.to_string())),
    }
}

/// The refusal of a command that only works on a log.
pub(crate) fn only_on_a_log(command: &str) -> Failure {
    Failure::new(Exit::Usage, format!("`windlass {command}` works on a log, and not on a server"))
        .hint(format!("on the machine of the server: `windlass {command} --log FILE`"))
}

/// The refusal of options that change an agent, or say how this process runs one.
pub(crate) fn not_on_a_server() -> Failure {
    let options = "--model, --base-url, --limit, --approve, --agent, --record, --replay, --repeat, --batch, --from-env and --hand-over";
    Failure::new(Exit::Usage, format!("{options} work on this machine, and not on a server"))
        .hint("an agent of a server runs as its file says there")
}
