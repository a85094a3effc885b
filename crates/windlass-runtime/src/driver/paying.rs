//! Accounts for model calls of runs that share a limit.

use std::sync::Arc;

use windlass_core::policy::Share;

use super::Driver;
use super::work::Work;
use crate::platform::account::{SharedAccount, account_of};
use crate::platform::error::Error;

impl<W: Work> Driver<W> {
    /// Makes the run use its parent's account.
    pub(crate) fn draw_on(&mut self, account: Option<Arc<SharedAccount>>) {
        self.account = account;
    }

    /// Opens the account for the model calls of a run that shares its limits or uses another run's account.
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
