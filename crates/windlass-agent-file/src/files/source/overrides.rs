//! Settings that a caller, such as a command line, puts over an agent's file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use windlass_core::policy::{LimitKind, Preset};
use windlass_models::resolve::Env;

use crate::AgentFile;
use crate::address::Address;
use crate::delegates::DelegateEntry;
use crate::models::ModelEntry;
use crate::yaml::Place;

/// Settings over an agent's file. They are part of the agent of a run, and kept with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileOverrides {
    /// The model in place of the file's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The address of the models that have a name of their own. A login in it is no setting: it belongs in the file, by variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Limits, in the unit that people write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<(LimitKind, f64)>,
    /// Patterns of tools whose calls need an approval, beside the file's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approve: Vec<String>,
    /// Further delegates: name and file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<(String, PathBuf)>,
    /// The variables that loops read, as they were when the run began; `None`: as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variables: Option<BTreeMap<String, String>>,
}

/// Whether a loop reads this variable of the environment.
fn is_of_a_loop(name: &str) -> bool {
    Preset::ALL.iter().flat_map(Preset::variables).any(|(own, _)| *own == name)
}

impl FileOverrides {
    /// Whether the file stands as it is.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a model's name has no server of its own to be asked elsewhere.
    pub fn is_chosen(name: &str) -> bool {
        matches!(name, "auto" | "tour" | "windlass/tour")
    }

    /// A variable of the environment. Those that loops read keep the values that they had for a run.
    pub fn variable(&self, name: &str, env: Env<'_>) -> Option<String> {
        match &self.variables {
            Some(kept) if is_of_a_loop(name) => kept.get(name).cloned(),
            _ => env(name),
        }
    }

    /// The same, with the variables that loops read as they are now.
    #[must_use]
    pub fn with_variables(&self, env: Env<'_>) -> Self {
        let names = Preset::ALL.iter().flat_map(Preset::variables).map(|(name, _)| *name);
        let set: BTreeMap<_, _> =
            names.filter_map(|name| Some((name.to_owned(), self.variable(name, env)?))).collect();
        Self { variables: Some(set), ..self.clone() }
    }

    /// Puts the settings into a file. `models` are the ones that a run has used: they stand in for `auto`, which might find another
    /// one today.
    pub fn apply(&self, file: &mut AgentFile, models: &[String]) {
        for (name, path) in &self.agents {
            file.agents.push(DelegateEntry::File {
                path: path.clone(),
                name: Some(name.clone()),
                description: None,
                place: Place::default(),
            });
        }
        if let Some(model) = &self.model {
            // A bare name is one of the server whose address the file has.
            let same =
                file.models.first().filter(|first| first.base_url.is_some() && !Self::is_chosen(model));
            let entry = same.filter(|_| !model.contains('/')).cloned();
            let provider =
                entry.as_ref().and_then(|entry| entry.use_.split_once('/')).map(|(provider, _)| provider);
            let use_ = provider.map_or_else(|| model.clone(), |provider| format!("{provider}/{model}"));
            let entry = entry.map(|entry| ModelEntry { prices: None, ..entry }).unwrap_or_default();
            file.models = vec![ModelEntry { use_, ..entry }];
        }
        if let Some(url) = &self.base_url {
            for entry in file.models.iter_mut().filter(|entry| !Self::is_chosen(&entry.use_)) {
                entry.base_url = Some(Address::given(url));
            }
        }
        if file.models.is_empty() {
            file.models = vec![ModelEntry { use_: "auto".to_owned(), ..ModelEntry::default() }];
        }
        for (entry, name) in file.models.iter_mut().zip(models) {
            if entry.use_ == "auto" {
                entry.use_.clone_from(name);
            }
        }
        let keys = &mut file.loop_section.keys;
        for (kind, number) in &self.limits {
            if let Some(max) = kind.keep(*number) {
                keys.limits.get_or_insert_default().set(*kind, max);
            }
        }
        if !self.approve.is_empty() {
            let patterns = self.approve.iter().map(|pattern| pattern.as_str().into());
            keys.approve.get_or_insert_default().0.extend(patterns);
        }
    }
}
