//! Tool discovery: the model sees only a search tool (acorn's `tool_discovery`). Its result describes the tools found; every
//! tool can be called at any time.

use std::sync::Arc;

use crate::policy::Policy;
use crate::policy::code::CodeMode;
use crate::policy::own_tools::blackboard::update_blackboard;
use crate::policy::own_tools::read_result::read_result;
use crate::policy::own_tools::search::search_tools;
use crate::policy::values::Discovery;
use crate::policy::views::View;
use crate::state::State;
use crate::state::output::without_finish;
use crate::vocabulary::ids::RunId;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::tool::{Offer, ToolKind, ToolSpec};

impl State {
    /// The tools that the next request shows. Others than these can be called too where tools are to be searched for.
    pub fn visible_tools(&self) -> &Arc<Vec<ToolSpec>> {
        self.toolbox.visible()
    }

    /// Whether no call can be let run: 0 is a limit like any other. Then only a finish is offered.
    pub(crate) fn none_may_run(&self) -> bool {
        [LimitKind::ToolRounds, LimitKind::ToolCalls]
            .iter()
            .any(|kind| self.setup.policy().limit(*kind) == Some(0))
    }

    /// Takes the agent's tools over, and offers those of Windlass that this conversation needs.
    pub(crate) fn offer_tools(&mut self, mut own: Arc<Vec<ToolSpec>>) {
        // A hook that was shown ours may hand them back with the others.
        let ours = |tool: &ToolSpec| {
            matches!(tool.kind, ToolKind::Read | ToolKind::Search | ToolKind::Blackboard | ToolKind::Code)
        };
        if own.iter().any(ours) {
            Arc::make_mut(&mut own).retain(|tool| !ours(tool));
        }
        let given = self.without_denied(&own);
        let code = self.setup.policy().calls.code;
        let functions = matches!(code, CodeMode::Tool(_));
        let search = self.setup.policy().request.discovery == Discovery::Search && !functions;
        let reads = self.conversation.has_more_to_read().then(read_result);
        let searches = search.then(search_tools);
        let codes = code.limits().map(|_| ToolSpec::run_code(&given, code));
        let blackboard = (self.setup.policy().request.view == View::Blackboard).then(update_blackboard);
        let all = if reads.is_none() && searches.is_none() && codes.is_none() && blackboard.is_none() {
            given
        } else {
            Arc::new(
                given.iter().chain(reads).chain(searches).chain(blackboard).chain(&codes).cloned().collect(),
            )
        };
        let visible = match (self.none_may_run(), search) {
            (true, _) => {
                let finish = |tool: &&ToolSpec| matches!(tool.kind, ToolKind::Finish(_));
                Arc::new(all.iter().filter(finish).cloned().collect())
            }
            (false, _) if functions => {
                let plain = |tool: &&ToolSpec| !tool.is_function();
                Arc::new(all.iter().filter(plain).cloned().collect())
            }
            (false, true) => Arc::new(discovery(&all)),
            (false, false) => all.clone(),
        };
        self.toolbox.hide_finish(self.hides_finish().then(|| without_finish(&visible)));
        self.toolbox.offer(own, all, visible);
    }
}

impl State {
    /// The tools, of which those that the policy denies, or a provider refuses, are not offered. A tool that ends the run is needed whatever it denies.
    pub(crate) fn without_denied(&self, tools: &Arc<Vec<ToolSpec>>) -> Arc<Vec<ToolSpec>> {
        let policy = self.setup.policy();
        let changes = |tool: &ToolSpec| {
            let refused = self.toolbox.refused().contains(&tool.name);
            let denied = policy.denied(&tool.name).is_some() && !matches!(tool.kind, ToolKind::Finish(_));
            match tool.offer {
                Offer::Offered | Offer::Hosted if refused => Some(Offer::Withheld),
                Offer::Offered | Offer::Unreachable | Offer::Hosted if denied => Some(Offer::Denied),
                // A hook may hand back what another policy has denied.
                Offer::Denied if !denied && tool.hosted.is_some() => Some(Offer::Hosted),
                Offer::Denied if !denied => Some(Offer::Offered),
                Offer::Offered | Offer::Unreachable | Offer::Withheld | Offer::Denied | Offer::Hosted => None,
            }
        };
        if tools.iter().all(|tool| changes(tool).is_none()) {
            return tools.clone();
        }
        let each = tools.iter().map(|tool| {
            let mut tool = tool.clone();
            tool.offer = changes(&tool).unwrap_or(tool.offer);
            tool
        });
        Arc::new(each.collect())
    }
}

/// The tools that the first request of a run with this policy shows, of those that it is given: for prompts that name them.
pub fn offered(policy: &Arc<Policy>, tools: &Arc<Vec<ToolSpec>>) -> Vec<ToolSpec> {
    // Which run it is says nothing about its tools.
    let mut state = State::new(RunId::from_number(0));
    state.setup.governed_by(policy.clone());
    state.offer_tools(tools.clone());
    state.toolbox.visible().iter().filter(|tool| tool.is_offered()).cloned().collect()
}

/// Tools in the request when discovery is on, in acorn's order: the search tool, the finish tool, then the tools that discovery
/// does not cover.
fn discovery(tools: &[ToolSpec]) -> Vec<ToolSpec> {
    let rank = |tool: &ToolSpec| match tool.kind {
        _ if tool.hosted().is_some() => Some(2),
        ToolKind::Search => Some(0),
        ToolKind::Finish(_) => Some(1),
        ToolKind::Run | ToolKind::Ask => None,
        ToolKind::Code
        | ToolKind::Read
        | ToolKind::Blackboard
        | ToolKind::Delegate
        | ToolKind::Branch
        | ToolKind::Parent => Some(2),
    };
    let mut visible: Vec<(u8, &ToolSpec)> =
        tools.iter().filter_map(|tool| Some((rank(tool)?, tool))).collect();
    visible.sort_by_key(|(rank, _)| *rank);
    visible.into_iter().map(|(_, tool)| tool.clone()).collect()
}
