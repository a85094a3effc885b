//! Reports of a conversation on itself: its costs, context, tools and models.

use windlass_read::words::{count, cut, name, usage};

use super::commands;
use super::so_far::{SoFar, Total};
use super::{NO_ANSWER, SHORT, Speaker};
use crate::drive::Commands;
use crate::face::Face;

/// A conversation, to be told of.
#[derive(Clone, Copy)]
pub(super) struct Reports<'r> {
    pub(super) speaker: &'r Speaker,
    pub(super) so_far: &'r SoFar,
    pub(super) face: Option<&'r Face>,
}

impl Commands for Reports<'_> {
    fn named(&self, word: &str) -> Option<&'static str> {
        commands::found(word).map(|command| command.name)
    }

    fn unknown(&self, word: &str) -> String {
        commands::unknown(word)
    }

    fn text(&self, command: &str) -> Option<String> {
        Some(match command {
            "/help" => commands::help(self.face.is_some()),
            "/cost" => self.costs(),
            "/context" => self.context(),
            "/tools" => self.tools(),
            "/model" => self.models(),
            "/raw" => self.so_far.answer.clone().unwrap_or_else(|| NO_ANSWER.to_owned()),
            _ => return None,
        })
    }

    fn notes(&self, message: &str) -> Vec<String> {
        let mentioned = commands::mentioned(message);
        let file = |path: std::path::PathBuf| {
            format!(
                "{} goes as text: what is typed while the agent works takes no files (/queue sends it after the turn)",
                path.display()
            )
        };
        mentioned.files.into_iter().map(file).chain(mentioned.notes).collect()
    }
}

impl Reports<'_> {
    /// Tokens and cost so far.
    fn costs(self) -> String {
        let Total { turns, usage: tokens, cost_usd, unpriced } = &self.so_far.total;
        let rest = match (unpriced, *cost_usd > 0.0) {
            (false, _) => "",
            (true, true) => " and turns whose price is unknown",
            (true, false) => ", cost unknown",
        };
        format!("{}, {}{rest}", count(*turns, "turn"), usage(tokens, Some(*cost_usd)))
    }

    /// How much of the context is used.
    fn context(self) -> String {
        match (&self.so_far.state, self.face) {
            (_, Some(face)) => face.context(),
            (None, None) => "nothing was sent yet".to_owned(),
            (Some(state), None) => {
                let messages = state.history().iter().count() as u64;
                format!("the conversation has {}", count(messages, "message"))
            }
        }
    }

    /// The tools, a line each.
    fn tools(self) -> String {
        let Speaker::Here(agent) = self.speaker else {
            return "the tools are the server's: `windlass agents` there lists them".to_owned();
        };
        let tools = agent.tools();
        if tools.is_empty() {
            return "the agent has no tools".to_owned();
        }
        let lines = tools.iter().map(|tool| {
            let about = tool.description.lines().next().unwrap_or_default();
            let allowed = if self.so_far.allows(&tool.name) {
                " (allowed in this session; /fork asks about it again)"
            } else {
                ""
            };
            format!("{}  {}{allowed}", name(&tool.name), cut(about, SHORT * 2))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The models, in a line.
    pub(super) fn models(self) -> String {
        match self.speaker {
            Speaker::Here(agent) => {
                let models: Vec<_> = agent.models().iter().map(|model| name(&model.name)).collect();
                format!("{} (/model NAME goes on with another one)", models.join(", then "))
            }
            Speaker::There(_) => "the model is the server's".to_owned(),
        }
    }
}
