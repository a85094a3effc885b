//! Where the runs are: a log, which may not have been made yet, or a server.

use std::sync::{Arc, OnceLock};

use windlass_store::{SqliteLog, Store};

use crate::failure::Failure;
use crate::home::LogArgs;
use crate::remote::Server;

/// Where the runs are.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) args: LogArgs,
    pub(super) server: Option<Server>,
    log: Arc<OnceLock<Arc<SqliteLog>>>,
}

impl Source {
    pub(super) fn of(args: &LogArgs) -> Result<Self, Failure> {
        Ok(Self { args: args.clone(), server: Server::of(args)?, log: Arc::default() })
    }

    /// The log; `None`: nobody has made it yet.
    pub(super) fn log(&self) -> Result<Option<Arc<SqliteLog>>, Failure> {
        if let Some(log) = self.log.get() {
            return Ok(Some(log.clone()));
        }
        let Some(log) = self.args.open_existing()? else { return Ok(None) };
        Ok(Some(self.log.get_or_init(|| log).clone()))
    }

    /// The store to read from; `None`: nobody has made the log yet.
    pub(super) fn store(&self) -> Result<Option<Arc<dyn Store>>, Failure> {
        if let Some(server) = &self.server {
            return Ok(Some(server.store.clone()));
        }
        Ok(self.log()?.map(|log| log as Arc<dyn Store>))
    }
}
