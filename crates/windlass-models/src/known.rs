//! Knowledge of a model and its server before it is asked.

use windlass_core::policy::Wire;

/// Knowledge of a model and its server before it is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Its API, address and name, for what is learnt of it; `None`: nothing of it is remembered beyond its agent.
    pub id: Option<String>,
    /// Whether its server holds replies to a schema; `None`: nobody says so.
    pub structured: Option<bool>,
    /// How its calls go where the agent leaves that open; `None`: natively.
    pub wire: Option<Wire>,
    /// Whether it takes sampling settings such as a temperature; `None`: nobody says so.
    pub sampling: Option<bool>,
}
