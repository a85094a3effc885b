//! The steps of a build: branches, tools, policy, instructions.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde_json::Value;
use windlass_agent_file::LoopSection;
use windlass_agent_file::yaml::{Field, Node};
use windlass_code::Code;
use windlass_core::policy::{CodeMode, DefaultLoop, Discovery, Hooks, LimitKind, Stop, Turns, View, Wire};
use windlass_core::text::{covers, nearest};
use windlass_core::tool::{BRANCH_TOOL, PARENT_TOOL, RUN_CODE, SEARCH_TOOLS, UPDATE_BLACKBOARD};
use windlass_core::{Policy, Text, ToolSpec};
use windlass_store::Store;
use windlass_tools::{ToolSet, ToolSetError};

use super::AgentBuilder;
use super::branch::Branch;
use super::models::ModelRef;
use crate::agent::branches::{OwnBranch, reserved};
use crate::agent::models::Chosen;
use crate::agent::prompt::appendix::Appendix;
use crate::agent::prompt::plain::Plain;
use crate::agent::prompt::{PromptBuilder, Prompting};
use crate::agent::source::ToolSource;
use crate::platform::error::hosted::HostedFault;
use crate::platform::error::{Error, MAX_BRANCH_DEPTH};
use crate::platform::settings::SettingsError;

impl AgentBuilder {
    /// The branches, with what they have from this agent.
    pub(super) fn built_branches(
        &mut self,
        log: &Arc<dyn Store>,
        models: &[Chosen],
    ) -> Result<Vec<OwnBranch>, Error> {
        let mut built: Vec<OwnBranch> = Vec::new();
        for (Branch { mut agent, merge }, offered) in std::mem::take(&mut self.branches) {
            if agent.models.is_empty() {
                let given = |(choice, model): Chosen| ModelRef::given(choice, model);
                agent.models = models.iter().cloned().map(given).collect();
            }
            agent.known.extend(self.known.iter().cloned());
            agent.environment = self.environment.clone();
            agent.log = Some(log.clone());
            agent.code = agent.code.or_else(|| self.code.clone());
            let agent = agent.build()?;
            let same = |first: Text, second: Text, name: &Text| Error::SameName {
                agent: self.name.to_string(),
                name: name.clone(),
                first,
                second,
            };
            if built.iter().any(|other| other.agent.name() == agent.name()) {
                return Err(same("branches".into(), "branches".into(), agent.name()));
            }
            if agent.toolset().branch_depth() + 1 > MAX_BRANCH_DEPTH {
                return Err(Error::BranchDepth { agent: self.name.to_string() });
            }
            if let Some(origin) = reserved(&agent) {
                return Err(same(origin, "the agent above".into(), &PARENT_TOOL.into()));
            }
            built.push(OwnBranch { agent, merge, offered });
        }
        Ok(built)
    }

    /// The agent's own tools plus those that its sources offer now.
    pub(super) fn all_tools(&self) -> Result<ToolSet, ToolSetError> {
        let mut all = self.tools.clone();
        let found = self.sources.iter().flat_map(|source| source.tools());
        found.into_iter().try_for_each(|tool| all.add(tool)).map(|()| all)
    }

    /// The tool that ends a typed run, where one does.
    pub(super) fn finish_tool(&self, policy: &Policy) -> Option<ToolSpec> {
        (policy.replies.stop == Stop::FinishTool).then(|| ToolSpec::finish(self.output.as_ref()))
    }

    /// The program that runs code, where the model writes some.
    pub(super) fn program_of_code(&self, policy: &Policy) -> Result<Option<Code>, Error> {
        if policy.calls.code == CodeMode::Off {
            return Ok(None);
        }
        let named = self.code.clone().map_or_else(Code::this_program, Ok);
        named.map(Some).map_err(|source| Error::Code { agent: self.name.to_string(), source })
    }

    /// Delegates are offered by their names: those must be as good as names of tools. So are Windlass's own tools, where it offers
    /// them. A tool that a source offers later is held to the same.
    pub(super) fn reserve_names(
        &mut self,
        tools: &ToolSet,
        policy: &Policy,
        branches: bool,
    ) -> Result<(), Error> {
        let own = [
            (policy.calls.code != CodeMode::Off, RUN_CODE, "code"),
            (policy.request.discovery == Discovery::Search, SEARCH_TOOLS, "loop.discovery"),
            (policy.request.view == View::Blackboard, UPDATE_BLACKBOARD, "loop.view"),
            (branches, BRANCH_TOOL, "branches"),
        ];
        let own = own.into_iter().filter(|(is_offered, ..)| *is_offered);
        let own = own.map(|(_, name, origin)| (name.into(), origin.into()));
        let delegates = self.delegates.iter().map(|delegate| delegate.spec());
        let names: Vec<(Text, Text)> = own.chain(delegates.map(|spec| (spec.name, spec.origin))).collect();
        let mut all = tools.clone();
        let mut reserved = |(name, origin): (Text, Text)| {
            all.reserve(&name, &origin)?;
            self.tools.reserve(&name, &origin)
        };
        let done = names.into_iter().try_for_each(&mut reserved);
        done.map_err(|source| Error::Tools { agent: self.name.to_string(), source })
    }

    /// How the system message is made, and the message itself where it is the same for all runs.
    pub(super) fn prompting(&mut self, agent: &str) -> Result<(Prompting, Option<String>), Error> {
        let extra = std::mem::take(&mut self.extra);
        let builder = match (&self.prompt, extra.is_empty()) {
            (given, true) => given.clone(),
            (Some(_), false) => return Err(Error::PromptTwice { agent: agent.to_owned() }),
            (None, false) => Some(Arc::new(Plain(extra)) as Arc<dyn PromptBuilder>),
        };
        let texts = std::mem::take(&mut self.appendix);
        let builder = match builder {
            builder if texts.is_empty() => builder,
            prompt => Some(Arc::new(Appendix { prompt, texts }) as Arc<dyn PromptBuilder>),
        };
        let prompting = Prompting::new(agent, &self.instructions, self.verbatim, builder)?;
        self.prompt.clone_from(&prompting.builder);
        let fixed = !(prompting.varies() || self.instructions.is_empty());
        Ok((prompting, fixed.then(|| self.instructions.clone())))
    }

    pub(super) fn made_policy(&self) -> Result<Policy, SettingsError> {
        let has_tools = !self.tools.specs().is_empty()
            || !self.sources.is_empty()
            || !self.delegates.is_empty()
            || !self.hosted.is_empty()
            || !self.branches.is_empty();
        let default = DefaultLoop::of(self.output.is_some(), has_tools);
        let mut policy = match (&self.policy, &self.settings) {
            (Some(policy), _) => policy.clone(),
            (None, Some(settings)) => LoopSection::from_json(settings, default)?.policy(default)?,
            (None, None) => default.policy(),
        };
        for (kind, max) in &self.limits {
            let path = format!("loop.limits.{kind}");
            let written = Node::from_json(&(*max).into());
            let whole = if kind.keep(0.5).is_none() { "a whole number from 0" } else { "a number from 0" };
            let expected = if *kind == LimitKind::Seconds { "seconds from 0, or a duration" } else { whole };
            let kept = max.kept(*kind).ok_or_else(|| Field::new(&written, path).wrong(expected))?;
            policy.set_limit_value(*kind, kept);
        }
        if self.hook.is_some() {
            policy.calls.hooks = Hooks::AfterSteps;
        }
        if let Some(mode) = self.output_mode {
            policy.ask_for_output(mode);
        }
        if self.search {
            policy.request.discovery = Discovery::Search;
        }
        Ok(policy)
    }
}

/// Refuses a loop of one turn that has nothing to finish with.
pub(super) fn check_output(agent: &str, policy: &Policy, has_output: bool) -> Result<(), Error> {
    if has_output && policy.replies.stop == Stop::Judge {
        return Err(Error::OutputOfPlan { agent: agent.to_owned() });
    }
    let once = policy.replies.stop == Stop::FinishTool && policy.bounds.turns == Turns::One;
    if once && !has_output { Err(Error::NoOutput { agent: agent.to_owned() }) } else { Ok(()) }
}

/// Rejects duplicate names, whatever their source, and names that code could not tell apart.
pub(super) fn check_names(agent: &str, specs: &[ToolSpec], policy: &Policy) -> Result<(), Error> {
    for (place, spec) in specs.iter().enumerate() {
        if let Some(other) = specs.iter().take(place).find(|other| other.name == spec.name) {
            return Err(Error::SameName {
                agent: agent.to_owned(),
                name: spec.name.clone(),
                first: other.origin.clone(),
                second: spec.origin.clone(),
            });
        }
    }
    check_code_names(agent, specs, policy)
}

fn check_code_names(agent: &str, specs: &[ToolSpec], policy: &Policy) -> Result<(), Error> {
    let mut names = BTreeMap::new();
    for spec in specs.iter().filter(|spec| policy.calls.code != CodeMode::Off && spec.is_function()) {
        let name = spec.name_in_code();
        if let Some(first) = names.insert(name.clone(), spec.name.clone()) {
            return Err(Error::SameInCode {
                agent: agent.to_owned(),
                first,
                second: spec.name.clone(),
                name,
            });
        }
    }
    Ok(())
}

/// Rejects required tools that the agent does not have: such a run could only fail. The tools of a source that offers none
/// now are unknown.
pub(super) fn check_required(
    agent: &str,
    patterns: &[Text],
    specs: &[ToolSpec],
    sources: &[Arc<dyn ToolSource>],
) -> Result<(), Error> {
    if sources.iter().any(|source| source.tools().is_empty()) {
        return Ok(());
    }
    let names = || specs.iter().map(|spec| &*spec.name);
    match patterns.iter().find(|pattern| !names().any(|name| covers(pattern, name))) {
        None => Ok(()),
        Some(pattern) => Err(Error::UnknownRequired {
            agent: agent.to_owned(),
            pattern: pattern.clone(),
            nearest: nearest(&pattern.replace(['*', '?'], ""), names()),
        }),
    }
}

/// Rejects what no tool of the provider can keep to: it runs within a model call, before anybody is asked, and no reply calls it.
pub(super) fn check_hosted(agent: &str, policy: &Policy, hosted: &[ToolSpec]) -> Result<(), Error> {
    for tool in hosted {
        let refused = |key: &'static str, why: &'static str| {
            Err(HostedFault { agent: agent.to_owned(), tool: tool.name.clone(), key, why }.into())
        };
        let names = |pattern: &Text| covers(pattern, &tool.name);
        if policy.denied(&tool.name).is_some() {
            continue;
        }
        if policy.wants_approval(&tool.name) {
            return refused("approve", "nobody can be asked before it runs");
        }
        if policy.tools.require.iter().any(names) {
            return refused("require", "no call of it can succeed");
        }
        if policy.request.tool_choice.tools().any(|name| *name == tool.name) {
            return refused("tool_choice", "no reply calls it");
        }
        if matches!(policy.request.wire, Wire::Fenced | Wire::Schema) {
            return refused("wire", "only a request with tools can offer it");
        }
        if policy.replies.stop == Stop::Judge {
            return refused("preset", "a loop that plans offers models no tools");
        }
    }
    Ok(())
}

pub(super) fn schema_of<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}
