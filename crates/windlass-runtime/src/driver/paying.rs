//! What a run's model calls draw on, where several runs share one limit.

use std::sync::Arc;

use windlass_core::policy::Share;

use super::Driver;
use crate::account::{SharedAccount, account_of};
use crate::error::Error;

impl Driver {
    /// The run draws on the account of the one that it does a task of.
    pub(crate) fn draw_on(&mut self, account: Option<Arc<SharedAccount>>) {
        self.account = account;
    }

    /// Where the run shares its limits, or draws on those of another one: the account for its model calls.
    pub(super) async fn open_account(&mut self) -> Result<(), Error> {
        let shares =
            self.state.policy().bounds.share == Share::Shared || self.state.budget().account.is_some();
        if shares {
            let given = self.account.take();
            self.account = Box::pin(account_of(&**self.agent.log(), &self.state, given)).await?;
        }
        Ok(())
    }
}
