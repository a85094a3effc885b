//! The beginnings of an agent: files with places for the user's choices.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use windlass_models::choose_auto;
use windlass_models::resolve::is_offline;

use super::writing::NewFile;
use super::{AUTO, TOUR};
use crate::home;

/// The file that `windlass agents init` writes: an agent alone, named as its file.
pub(in crate::commands) const ONE_FILE: &str = include_str!("templates/agent.yaml");

/// A set of files to begin from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Template {
    /// Answers questions, and looks facts up
    #[default]
    Chat,
    /// Reads documents, and writes some if you allow it
    Files,
    /// Makes data of a text
    Extract,
    /// Hands tasks to two other agents
    Team,
}

/// The user's choices.
#[derive(Debug)]
pub(super) struct Choices {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) template: Template,
    pub(super) model: String,
}

/// A file of a template: its path, what it is, its text.
type Part = (&'static str, &'static str, &'static str);

/// Ending of the files that can be run.
const SCRIPT: &str = "sh";

const PAGE: &str = "how to go on";
const TEST: &str = "its tests";
const TOOL: &str = "its tool";

/// The text of a file in the folder of templates.
macro_rules! text {
    ($path:literal) => {
        include_str!(concat!("templates/", $path))
    };
}

const CHAT: &[Part] = &[
    ("agent.yaml", "the agent", text!("chat/agent.yaml")),
    ("look_up.sh", TOOL, text!("chat/look_up.sh")),
    ("facts.txt", "what it knows", text!("chat/facts.txt")),
    ("tests/agent.yaml", TEST, text!("chat/tests/agent.yaml")),
    ("README.md", PAGE, text!("chat/README.md")),
];

const FILES: &[Part] = &[
    ("agent.yaml", "the agent", text!("files/agent.yaml")),
    ("save_file.sh", TOOL, text!("shared/save_file.sh")),
    ("documents/owls.txt", "a document", text!("shared/documents/owls.txt")),
    ("documents/ferns.txt", "a document", text!("shared/documents/ferns.txt")),
    ("tests/agent.yaml", TEST, text!("files/tests/agent.yaml")),
    ("README.md", PAGE, text!("files/README.md")),
];

const EXTRACT: &[Part] = &[
    ("agent.yaml", "the agent", text!("extract/agent.yaml")),
    ("find_article.sh", TOOL, text!("extract/find_article.sh")),
    ("articles.csv", "what the tool looks in", text!("extract/articles.csv")),
    ("order.txt", "a text to try", text!("extract/order.txt")),
    ("tests/agent.yaml", TEST, text!("extract/tests/agent.yaml")),
    ("README.md", PAGE, text!("extract/README.md")),
];

const TEAM: &[Part] = &[
    ("agent.yaml", "the lead", text!("team/agent.yaml")),
    ("researcher.yaml", "reads documents", text!("team/researcher.yaml")),
    ("writer.yaml", "saves a text", text!("team/writer.yaml")),
    ("save_file.sh", "the writer's tool", text!("shared/save_file.sh")),
    ("documents/owls.txt", "a document", text!("shared/documents/owls.txt")),
    ("documents/ferns.txt", "a document", text!("shared/documents/ferns.txt")),
    ("tests/agent.yaml", TEST, text!("team/tests/agent.yaml")),
    ("README.md", PAGE, text!("team/README.md")),
];

impl Template {
    pub(super) const ALL: [Self; 4] = [Self::Chat, Self::Files, Self::Extract, Self::Team];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Files => "files",
            Self::Extract => "extract",
            Self::Team => "team",
        }
    }

    /// Its purpose, in a few words.
    pub(super) fn does(self) -> String {
        let value = self.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }

    /// A run that shows something, with the offline model too.
    pub(super) fn first_run(self) -> &'static str {
        match self {
            Self::Chat => "windlass run agent.yaml \"Look up what delivery costs.\"",
            Self::Files => "windlass run agent.yaml \"Which documents are here? Read owls.txt.\"",
            Self::Extract => "windlass run agent.yaml \"$(cat order.txt)\"",
            Self::Team => {
                "windlass run agent.yaml \"Which documents are here? Write about owls, into night.txt.\""
            }
        }
    }

    /// The difference while the tour answers.
    fn demo_remark(self) -> &'static str {
        match self {
            Self::Chat | Self::Files => "",
            Self::Extract => " Its data fits the schema and says nothing.",
            Self::Team => " It hands out no tasks; the tests do.",
        }
    }

    /// The files that name the model.
    fn agents(self) -> String {
        let parts = self.parts().iter();
        let named =
            parts.filter(|(path, _, text)| !path.starts_with("tests/") && text.contains("\nmodel: {model}"));
        let names: Vec<_> = named.map(|(path, ..)| format!("`{path}`")).collect();
        match names.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
            _ => names.concat(),
        }
    }

    /// The paths that are written whatever is answered: those of the template, else those that all templates have.
    pub(super) fn certain(template: Option<Self>) -> impl Iterator<Item = &'static str> {
        let is_in = |template: Self, path: &str| template.parts().iter().any(|(other, ..)| *other == path);
        let paths = template.unwrap_or_default().parts().iter().map(|(path, ..)| *path);
        paths.filter(move |path| template.is_some() || Self::ALL.into_iter().all(|other| is_in(other, path)))
    }

    fn parts(self) -> &'static [Part] {
        match self {
            Self::Chat => CHAT,
            Self::Files => FILES,
            Self::Extract => EXTRACT,
            Self::Team => TEAM,
        }
    }
}

impl Choices {
    /// The files, below the folder.
    pub(super) fn files(&self) -> Vec<NewFile> {
        let (name, model, title) = (yaml(&self.name), yaml(&self.model), markdown(&self.name));
        let answers = self.answers();
        let places =
            [("{name}", name.as_str()), ("{model}", &model), ("{title}", &title), ("{answers}", &answers)];
        let parts = self.template.parts().iter();
        let file = |(path, what, text): &Part| NewFile {
            path: in_folder(&self.folder, path),
            what,
            text: filled(text, &places),
            executable: Path::new(path).extension().is_some_and(|ending| ending == SCRIPT),
        };
        parts.map(file).collect()
    }

    /// The model that answers, and the way to change it, for the page.
    fn answers(&self) -> String {
        let (agents, scripted) =
            (self.template.agents(), "Answers come from the *tour*, a scripted model, until");
        let demo_remark = self.template.demo_remark();
        match self.model.as_str() {
            AUTO => format!(
                "{scripted} `export OPENAI_API_KEY=...` or a local server (`ollama serve`) gives `model: auto` a language model.{demo_remark}"
            ),
            TOUR => format!(
                "{scripted} `model: auto` or the name of a language model stands in {agents}.{demo_remark}"
            ),
            model => format!(
                "Answers come from `{model}`, which {agents} names as `model`; `windlass models list` lists others."
            ),
        }
    }

    /// Why no language model answers, and what changes that; `None`: one does.
    pub(super) async fn scripted(&self) -> Option<String> {
        let online = if is_offline(&home::env) { "`unset WINDLASS_OFFLINE` and " } else { "" };
        let change = format!("{online}`export OPENAI_API_KEY=...`, or `ollama serve`, changes that");
        let change = match self.model.as_str() {
            TOUR => format!("`model: auto` in {}, and {change}", self.template.agents()),
            AUTO if choose_auto(&home::env).await.name == TOUR => change,
            _ => return None,
        };
        Some(format!("answers come from the tour, a scripted model and no language model: {change}"))
    }
}

/// A path in the folder. `./agent.yaml` is `agent.yaml` to people.
pub(super) fn in_folder(folder: &Path, path: &str) -> PathBuf {
    if folder.as_os_str() == "." { PathBuf::from(path) } else { folder.join(path) }
}

/// The text with each place filled. What fills one is not looked at again.
fn filled(text: &str, places: &[(&str, &str)]) -> String {
    let (mut done, mut rest) = (String::new(), text);
    let next = |rest: &str| {
        let found = places.iter().filter_map(|(place, value)| Some((rest.find(place)?, *place, *value)));
        found.min_by_key(|(at, ..)| *at)
    };
    while let Some((at, place, value)) = next(rest) {
        done.push_str(rest.get(..at).unwrap_or_default());
        done.push_str(value);
        rest = rest.get(at + place.len()..).unwrap_or_default();
    }
    done + rest
}

/// A text as YAML has it: as it is where nothing in it could mean something else, else in quotes.
fn yaml(text: &str) -> String {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let plain = text.starts_with(|char: char| char.is_ascii_alphabetic())
        && text.chars().all(|char| char.is_ascii_alphanumeric() || "-_./".contains(char))
        && !words.contains(&text.to_lowercase().as_str());
    if plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// A text as Markdown shows it, whatever it holds.
fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if "\\`*_[]<>#&!|~".contains(char) {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

#[cfg(test)]
mod tests;
