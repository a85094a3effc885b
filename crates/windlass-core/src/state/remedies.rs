//! Remedies: what may let a model call succeed that has failed with every model it may ask.

use crate::protocol::input::QuotaWait;
use crate::state::model_calls::ModelCall;
use crate::state::open_call::Stage;
use crate::state::{RunState, State};
use crate::vocabulary::ids::{Millis, Text};
use crate::vocabulary::reply::{FailureKind, ModelFailure};

/// The most waits for a quota that one model call makes.
pub const QUOTA_WAITS: u32 = 100;

/// The remedies from one model call's failures, for its next try.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Remedies {
    /// When models have a quota again, at most one entry for each.
    opens: Vec<Opening>,
    /// The last key that was refused and can be renewed.
    expired: Option<Box<Expired>>,
    /// The waits for a quota so far.
    waits: u32,
    /// The model whose request was sent and timed out: it is asked once more.
    timed_out: Option<u32>,
    /// Whether the present wait is one of them.
    waiting: bool,
}

/// When a model that had no quota left has some again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    at: Millis,
    /// Place of the model in the run's list.
    model: u32,
}

impl Opening {
    pub(crate) fn at(&self) -> Millis {
        self.at
    }

    /// Place of the model in the run's list.
    pub(crate) fn model(&self) -> u32 {
        self.model
    }
}

impl Opening {
    /// The same, but not before that time.
    pub(crate) fn not_before(self, at: Millis) -> Self {
        Self { at: self.at.max(at), ..self }
    }
}

/// A key that a person can renew.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expired {
    /// Place of the model in the run's list.
    model: u32,
    /// The program whose output is the key.
    program: Text,
    status: Option<u16>,
    /// The provider's words, or the program's.
    words: Text,
}

impl Expired {
    /// Place of the model in the run's list.
    pub(crate) fn model(&self) -> u32 {
        self.model
    }

    /// The question to the person, about the model of that name.
    pub(crate) fn question(&self, model: &str) -> String {
        let Self { program, words, .. } = self;
        let status = self.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
        format!("The key of model {model}, which `{program}` prints, has to be renewed{status}: {words}")
    }
}

impl Remedies {
    /// The last key that was refused and can be renewed.
    pub(crate) fn expired(&self) -> Option<&Expired> {
        self.expired.as_deref()
    }

    /// The waits for a quota so far.
    pub(crate) fn waits(&self) -> u32 {
        self.waits
    }

    /// The quota that opens first; of several, that of the model that is asked first.
    pub(crate) fn first_opening(&self) -> Option<Opening> {
        self.opens.iter().copied().min_by_key(|opening| (opening.at, opening.model))
    }

    /// This model is asked again.
    pub(crate) fn asked(mut self, model: u32) -> Self {
        self.opens.retain(|opening| opening.model != model);
        self.expired = self.expired.filter(|expired| expired.model != model);
        Self { waiting: false, ..self }
    }

    /// Whether a request to this model has timed out before. Each one may have been paid.
    pub(crate) fn has_timed_out(&self, model: u32) -> bool {
        self.timed_out == Some(model)
    }

    /// The call waits for its next try.
    pub(crate) fn wait(&mut self, for_quota: bool) {
        self.waits += u32::from(for_quota);
        self.waiting = for_quota;
    }

    fn note(&mut self, failure: &ModelFailure, model: u32, key_from: Option<&Text>, now: Millis) {
        match failure.kind {
            FailureKind::RateLimited | FailureKind::Overloaded => {
                let at = failure.retry_after_ms.map(|wait| now.saturating_add(wait));
                self.opens.extend(at.map(|at| Opening { at, model }));
            }
            FailureKind::Auth => {
                if let Some(program) = key_from.cloned() {
                    let (status, words) = (failure.status, failure.message.clone());
                    self.expired = Some(Box::new(Expired { model, program, status, words }));
                }
            }
            FailureKind::Timeout => self.timed_out = Some(model),
            FailureKind::Connect
            | FailureKind::Server
            | FailureKind::Cut
            | FailureKind::Protocol
            | FailureKind::TooLarge
            | FailureKind::BadRequest
            | FailureKind::NotFound
            | FailureKind::ContextLength
            | FailureKind::Unsupported
            | FailureKind::Cancelled
            | FailureKind::OverBudget(_) => {}
        }
    }
}

impl State {
    /// The remedies from a model call's failures, this one included.
    pub(crate) fn remedies_of(
        &self,
        model_call: &ModelCall,
        failure: &ModelFailure,
        now: Millis,
    ) -> Remedies {
        let key_from =
            self.setup.models().get(model_call.model() as usize).and_then(|model| model.key_command.as_ref());
        let mut remedies = model_call.remedies().clone();
        remedies.note(failure, model_call.model(), key_from, now);
        remedies
    }

    /// The failure of the last model call, if nothing was tried after it.
    pub fn model_failure(&self) -> Option<&ModelFailure> {
        self.turn.failure()
    }

    /// The quota that the run is suspended for: it goes on by itself. `None`: it goes on now, has ended, or waits for people.
    pub fn quota_wait(&self) -> Option<QuotaWait> {
        if self.run_state() != RunState::Suspended || self.questions.are_put() {
            return None;
        }
        let named = |model_call: &ModelCall| {
            let model = self.setup.models().get(model_call.model() as usize)?.name.clone();
            Some(QuotaWait { model, until: model_call.retry_at()? })
        };
        let own = self.model_calls.iter().filter(|model_call| model_call.waits_for_quota()).filter_map(named);
        let of_delegates = self.open_calls().filter_map(|open| {
            let Stage::DelegateDeferred { model, until, .. } = open.stage() else { return None };
            Some(QuotaWait { model: model.clone(), until: *until })
        });
        own.chain(of_delegates).min_by_key(|wait| wait.until)
    }

    /// Whether calls wait for a quota, here or in tasks, and no other one is going on or waits.
    pub(crate) fn only_quotas_wait(&self) -> bool {
        let mut of_delegates =
            self.open_calls().filter(|open| matches!(open.stage(), Stage::DelegateDeferred { .. }));
        let any = self.model_calls.iter().next().is_some() || of_delegates.next().is_some();
        any && self.model_calls.iter().all(ModelCall::waits_for_quota)
    }
}

impl ModelCall {
    /// Whether its next try waits for a quota.
    pub(crate) fn waits_for_quota(&self) -> bool {
        self.retry_at().is_some() && self.remedies().waiting
    }
}
