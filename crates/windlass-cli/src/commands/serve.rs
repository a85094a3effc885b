//! `windlass serve`: the agents of a folder as a service.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use windlass_error::in_full;
use windlass_runtime::AssembleError;
use windlass_runtime::agent_file::files;
use windlass_runtime::host::Reloaded;
use windlass_runtime::yaml;
use windlass_server::{NewToken, Server, Settings, Tokens};
use windlass_store::{MemoryLog, Store};

use crate::failure::{Exit, Failure};
use crate::home::{self, LogArgs, quoted};
use crate::interrupts::Interrupts;
use crate::limits;
use crate::out;

/// The most bytes of a file of settings.
const SETTINGS_BYTES: u64 = 1 << 20;

const HELP: &str = "\
Offers the agents whose files (*.yaml, *.yml) stand in FOLDER; `serve: false` in a file keeps it back. Runs go on whoever \
listens, and after a restart: `kill -9` loses nothing that was answered. SIGHUP reads the files again, SIGTERM and Ctrl-C \
end the service at a durable point of each run.

A token is needed, on loopback, too. The first start makes one; the command line finds it by itself.

Examples:
  windlass serve agents
  windlass serve agents --check
  windlass serve agents --listen 0.0.0.0:7400 --config server.yaml
  windlass serve agents --socket /run/windlass/api.sock";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ServeArgs {
    /// The folder of agent files
    #[arg(value_name = "FOLDER", default_value = "agents")]
    folder: PathBuf,
    /// An address to listen on (may be repeated) [default: 127.0.0.1:7400]
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<SocketAddr>,
    /// A Unix socket to listen on as well: who has your user id needs no token there
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Settings of the server, as YAML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Say what would be offered and what is missing, and listen on nothing
    #[arg(long)]
    check: bool,
    /// With `--check`: one JSON object
    #[arg(long, requires = "check")]
    json: bool,
    #[command(flatten)]
    log: LogArgs,
}

/// The file of tokens.
pub(crate) fn tokens() -> Result<Tokens, Failure> {
    Ok(Tokens::of_file(home::folder()?.join("tokens.json")))
}

pub(crate) async fn run(args: ServeArgs) -> Result<Exit, Failure> {
    let settings = settings(&args)?;
    let log = args.log.clone().local()?;
    // A check leaves no files: whoever makes it need not be the user of the service.
    let log: Arc<dyn Store> = if args.check { Arc::new(MemoryLog::new()) } else { log.open()? };
    let server = Server::new(log, tokens()?, settings);
    let loaded = server.load(&args.folder).await?;
    if args.check {
        return checked(&server, &loaded, &args);
    }
    refuse_faults(&args.folder, &loaded)?;
    limits::raise_descriptors();
    let made = first_token(server.tokens())?;
    let mut interrupts = Interrupts::listen_to_ends()?;
    let mut reloads = signal(SignalKind::hangup())
        .map_err(|error| Failure::new(Exit::Internal, "cannot listen for SIGHUP").cause(error.to_string()))?;
    let listening = server.listen().await?;
    greet(&server, &listening.addresses(), made)?;
    let stop = CancellationToken::new();
    let serving = tokio::spawn(listening.run(stop.clone()));
    loop {
        tokio::select! {
            _ = interrupts.next() => break,
            _ = reloads.recv() => reload(&server).await,
        }
    }
    out::note("ending: runs are left at a durable point");
    stop.cancel();
    serving
        .await
        .map_err(|error| Failure::new(Exit::Internal, "the server failed").cause(error.to_string()))?;
    Ok(Exit::Good)
}

/// The settings of the file, with those of the command line over them.
fn settings(args: &ServeArgs) -> Result<Settings, Failure> {
    let mut settings = match &args.config {
        Some(path) => read_settings(path)?,
        None => Settings::default(),
    };
    if !args.listen.is_empty() {
        settings.listen.clone_from(&args.listen);
    }
    if args.socket.is_some() {
        settings.socket.clone_from(&args.socket);
    }
    settings.check()?;
    Ok(settings)
}

fn read_settings(path: &Path) -> Result<Settings, Failure> {
    let unusable = |cause: String| {
        Failure::new(Exit::BadFile, format!("cannot use the settings {}", path.display())).cause(cause).hint(
            "docs/serve.md, \"Settings\", lists all keys; packaging/server.yaml is a file to begin with",
        )
    };
    let bytes = files::read(path, SETTINGS_BYTES).map_err(|error| unusable(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| unusable(error.to_string()))?;
    let node = yaml::parse(&text)
        .map_err(|error| unusable(error.in_file(&path.display().to_string()).to_string()))?;
    if node.is_null() {
        return Ok(Settings::default());
    }
    let read = yaml::Field::root(&node).decode();
    read.map_err(|error| unusable(error.in_file(&path.display().to_string()).to_string()))
}

/// Files that cannot be used keep the service from starting: later, with a reload, they only keep their agents as they are.
fn refuse_faults(folder: &Path, loaded: &Reloaded) -> Result<(), Failure> {
    refuse_nothing(folder, loaded)?;
    if loaded.failed.is_empty() {
        return Ok(());
    }
    let unusable = format!("cannot serve {}: some of its files cannot be used", folder.display());
    let failure =
        loaded.failed.iter().fold(Failure::new(Exit::BadFile, unusable), |failure, (path, error)| {
            failure.detail(fault(path, error))
        });
    Err(failure
        .hint("`windlass agents check FILE` shows every fault of a file; `serve: false` keeps one back"))
}

/// A file and its fault, which may begin with the place in the file.
fn fault(path: &Path, error: &AssembleError) -> String {
    let (file, words) = (path.display().to_string(), in_full(error));
    if words.starts_with(&file) { words } else { format!("{file}: {words}") }
}

/// A folder that offers nothing at all.
fn refuse_nothing(folder: &Path, loaded: &Reloaded) -> Result<(), Failure> {
    if !loaded.failed.is_empty() || !loaded.added.is_empty() {
        return Ok(());
    }
    let none = format!("there is no agent file in {}", folder.display());
    let file = quoted(&folder.join("agent.yaml").display().to_string());
    Err(Failure::new(Exit::BadFile, none).hint(format!("`windlass agents init {file}` writes one")))
}

/// Says what would be offered, and what is missing.
fn checked(server: &Server, loaded: &Reloaded, args: &ServeArgs) -> Result<Exit, Failure> {
    let registry = server.host().registry();
    let agents: Vec<_> = registry.names().iter().filter_map(|name| registry.get(name)).collect();
    if args.json {
        let failed =
            loaded.failed.iter().map(|(path, error)| json!({ "file": path, "message": in_full(error) }));
        let agents = agents.iter().map(|agent| {
            let models: Vec<_> = agent.models().iter().map(|model| model.name.to_string()).collect();
            json!({ "name": agent.name(), "models": models, "description": agent.description() })
        });
        out::json(&json!({
            "type": "served", "agents": agents.collect::<Vec<_>>(), "failed": failed.collect::<Vec<_>>(),
        }))?;
    } else {
        for agent in &agents {
            out::line(agent_line(agent))?;
        }
        for (path, error) in &loaded.failed {
            out::line(fault(path, error))?;
        }
    }
    refuse_nothing(&args.folder, loaded)?;
    Ok(if loaded.failed.is_empty() { Exit::Good } else { Exit::BadFile })
}

fn agent_line(agent: &windlass_runtime::Agent) -> String {
    let models: Vec<_> = agent.models().iter().map(|model| model.name.to_string()).collect();
    format!("{}  {}", agent.name(), models.join(", "))
}

/// Makes the token that the command line uses, unless there is any token. `true`: it was made now.
fn first_token(tokens: &Tokens) -> Result<bool, Failure> {
    if !tokens.all()?.is_empty() {
        return Ok(false);
    }
    let new = NewToken { sees_all: true, name: Some("first".into()), ..NewToken::default() };
    let (_, text) = tokens.make(new)?;
    let path = home::server_token()?;
    home::replace(&path, text.as_bytes()).map_err(|error| {
        Failure::new(Exit::Internal, format!("cannot write {}", path.display())).cause(error.to_string())
    })?;
    Ok(true)
}

/// Says where the service is reached, and what a client needs.
fn greet(server: &Server, addresses: &[SocketAddr], made: bool) -> Result<(), Failure> {
    for name in server.host().registry().names() {
        if let Some(agent) = server.host().registry().get(&name) {
            out::note(format_args!("agent {}", agent_line(&agent)));
        }
    }
    let path = home::server_token()?;
    if made {
        out::note(format_args!("made a token for the command line of this machine: {}", path.display()));
    }
    for address in addresses {
        let reached = reached_at(*address);
        out::note(format_args!("listening on http://{address}"));
        out::line(format_args!("export WINDLASS_SERVER=http://{reached}"))?;
        if !address.ip().is_loopback() {
            out::note(format_args!(
                "{address} is reached from other machines without TLS: put a proxy with TLS in front (docs/serve.md)"
            ));
        }
    }
    if path.exists() {
        out::line(format_args!("export WINDLASS_TOKEN=$(cat {})", quoted(&path.display().to_string())))?;
    }
    if let Some(socket) = &server.settings().socket {
        out::note(format_args!("listening on unix:{}", socket.display()));
    }
    Ok(())
}

/// The address by which this machine reaches a listener.
fn reached_at(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

async fn reload(server: &Server) {
    match server.reload().await {
        Ok(reloaded) => {
            let Reloaded { added, changed, removed, failed } = reloaded;
            let names = |names: &[windlass_core::Text]| names.join(", ");
            out::note(format_args!(
                "read the agent files again: added [{}], changed [{}], removed [{}]",
                names(&added),
                names(&changed),
                names(&removed)
            ));
            for (path, error) in failed {
                out::note(format_args!("{} stays as it was: {}", path.display(), in_full(&error)));
            }
        }
        Err(error) => out::note(format_args!("the agent files were not read again: {}", in_full(&error))),
    }
}
