//! Verification of calls: between `deny` and a person's approval, a model judges the call and may change its arguments.

use serde_json::Value;

use crate::codec::args::check_args_within;
use crate::machine::decision::Decision;
use crate::policy::verify::Verification;
use crate::protocol::fact::turns::TurnStarted;
use crate::protocol::fact::verdict::{CallVerified, Verdict};
use crate::state::model_calls::ModelCall;
use crate::state::open_call::{OpenCall, Stage};
use crate::vocabulary::ids::Text;
use crate::vocabulary::outcome::{CallOutcome, DeniedBy};
use crate::vocabulary::purpose::{Purpose, ToolChoice};
use crate::vocabulary::tool::ToolKind;

impl Decision {
    /// Begins the verification of a call that the policy wants verified. Says whether it does.
    pub(crate) fn is_to_be_verified(&mut self, open: &OpenCall) -> bool {
        let asks = self.state.target(open).is_some_and(|tool| {
            matches!(tool.kind, ToolKind::Ask | ToolKind::Finish(_) | ToolKind::Read | ToolKind::Search)
        });
        if asks || open.verified() || self.verification(open).is_none() {
            return false;
        }
        let next = TurnStarted {
            about: Some(open.call.id.clone()),
            ..TurnStarted::first(self.state.turn.number(), Purpose::Verify, ToolChoice::None)
        };
        if self.is_admitted(&next) {
            self.record(next);
            return true;
        }
        let verdict = Verdict::broken("the limits of the run leave too little for a verification");
        !self.judged_fit(open, verdict)
    }

    fn verification(&self, open: &OpenCall) -> Option<Verification> {
        let verify = &self.state.setup.policy().tools.verify;
        verify.of(open.target_name()).or_else(|| verify.of(&open.call.name)).cloned()
    }

    /// A verdict has come: the call is refused, or goes on through the gate.
    pub(crate) fn verified(&mut self, model_call: &ModelCall, verdict: Verdict) {
        let waiting = |open: &&OpenCall| matches!(open.stage(), Stage::Verifying);
        let open = model_call.about().and_then(|call| self.state.open_call(call)).filter(waiting).cloned();
        let Some(open) = open else { return };
        if self.judged_fit(&open, verdict)
            && let Some(open) = self.state.open_call(&open.call.id).cloned()
        {
            self.approve(&open);
        }
        self.go_on();
    }

    /// Records a verdict. A call that it refuses gets its result. Says whether the call goes on.
    fn judged_fit(&mut self, open: &OpenCall, verdict: Verdict) -> bool {
        let (args, refused) = self.judgement(open, &verdict);
        let call = open.call.id.clone();
        self.record(CallVerified { call: call.clone(), verdict, args, refused: refused.clone() });
        let goes_on = refused.is_none();
        if let Some(reason) = refused {
            self.finish_call(call, CallOutcome::Denied { reason: Some(reason), by: DeniedBy::Verifier });
        }
        goes_on
    }

    /// The arguments that a verdict puts in place of the model's, and why the call does not run, if it does not.
    fn judgement(&self, open: &OpenCall, verdict: &Verdict) -> (Option<Text>, Option<Text>) {
        let threshold = self.verification(open).map_or(0.0, |verification| verification.threshold);
        let why = verdict.reasoning.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        if !verdict.should_execute {
            return (None, Some(format!("the verifier advises against it{why}").into()));
        }
        if verdict.confidence < threshold {
            let why = format!("the verifier's confidence is {}, below {threshold}{why}", verdict.confidence);
            return (None, Some(why.into()));
        }
        let changed = verdict.suggested_modifications.as_ref().filter(|changed| !changed.is_empty());
        let Some(changed) = changed else { return (None, None) };
        let args: Text = Value::Object(changed.clone()).to_string().into();
        let fits = self.state.target(open).map(|tool| check_args_within(tool, &args, &self.checks));
        match fits {
            Some(Err(fault)) => (None, Some(format!("the verifier's arguments do not fit: {fault}").into())),
            Some(Ok(_)) | None => (Some(args), None),
        }
    }
}
