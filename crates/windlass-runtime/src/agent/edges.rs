//! The world around an agent: its log, time and chance, people, and the process that it runs in.

use std::sync::{Arc, OnceLock};

use windlass_store::{Holder, Store};

use crate::agent::people::People;
use crate::agent::recall::Remembered;
use crate::platform::environment::Environment;

/// Where an agent meets the world. Agents of one process may share it.
#[derive(Clone)]
pub(crate) struct Edges {
    /// The log that its runs are kept in.
    pub(crate) store: Arc<dyn Store>,
    pub(crate) environment: Arc<dyn Environment>,
    /// The people who answer its runs' questions at once.
    pub(crate) people: Option<Arc<dyn People>>,
    /// The holder of the leases on the runs that this process drives.
    pub(crate) holder: Holder,
    /// Earlier runs that new ones may be reminded of, as far as they were read.
    pub(crate) remembered: Arc<Remembered>,
}

impl Edges {
    /// The edges of an agent whose runs this process drives.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        environment: Arc<dyn Environment>,
        people: Option<Arc<dyn People>>,
    ) -> Self {
        Self { store, environment, people, holder: holder(), remembered: Arc::default() }
    }

    /// The same without people.
    pub(crate) fn alone(&self) -> Self {
        Self { people: None, ..self.clone() }
    }
}

/// One holder for the whole process: its runs live and die with it.
pub(crate) fn holder() -> Holder {
    static HOLDER: OnceLock<Holder> = OnceLock::new();
    HOLDER
        .get_or_init(|| Holder(format!("pid {} {}", std::process::id(), uuid::Uuid::now_v7()).into()))
        .clone()
}
