//! Lines about a plan: its versions as lists, its steps with kind and result.

use windlass_core::Fact;
use windlass_core::event::{PlanFact, PlanMade};
use windlass_read::words::kind_of;

use super::{Detail, Plain};
use crate::out::{self, Style};

impl Plain {
    /// A fact of a plan loop.
    pub(super) fn planning(&mut self, fact: &Fact) {
        if let Fact::Plan(PlanFact::Made(made)) = fact {
            self.plan_made(made);
        } else if let Fact::Plan(PlanFact::Perceived(perceived)) = fact
            && self.detail == Detail::Verbose
        {
            self.remark(&format!("perceived: {}", perceived.perception.reasoning));
        }
        // A proposed plan is shown with the question about it.
    }

    fn plan_made(&mut self, made: &PlanMade) {
        if self.plan_version != made.version {
            self.plan_version = made.version;
            self.remark(&format!("plan, version {}:", made.version));
            for line in &made.text {
                let line = self.cuts.line(line);
                self.remark(&format!("  - {line}"));
            }
        }
        let Some(step) = made.step.as_ref().filter(|_| self.detail != Detail::Quiet) else { return };
        let (index, kind) = (step.index.to_string(), kind_of(&step.work));
        let about = self.cuts.line(&step.description);
        self.end_line();
        let plain = |text| (Style::Plain, text);
        out::note_styled(&[
            plain("-> "),
            (Style::Bold, "step "),
            (Style::Bold, &index),
            plain(" ("),
            plain(kind),
            plain("): "),
            (Style::Dim, &about),
        ]);
    }
}
