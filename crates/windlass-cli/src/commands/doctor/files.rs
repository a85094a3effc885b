//! The data folder, and the files in it that people set.

use std::path::Path;

use windlass_models::{ModelError, ModelSettings, resolve};

use super::{Finding, Level};
use crate::commands::agents::look::looked;
use crate::home::{self, export, quoted};
use crate::settings;

/// The data folder.
pub(super) fn home() -> Vec<Finding> {
    let what = "data folder";
    let folder = match home::folder() {
        Ok(folder) => folder,
        Err(failure) => {
            return vec![
                Finding::new(Level::Problem, what, failure.message()).todo("`export WINDLASS_HOME=FOLDER`"),
            ];
        }
    };
    let display_path = folder.display().to_string();
    let todo = format!("`chmod u+rwx {}`, or `export WINDLASS_HOME=FOLDER`", quoted(&display_path));
    vec![match writable(&folder) {
        Ok(true) => Finding::new(Level::Ok, what, display_path),
        Ok(false) => Finding::new(Level::Ok, what, format!("{display_path} (created when needed)")),
        Err(error) => Finding::new(Level::Problem, what, format!("{display_path}: {error}")).todo(todo),
    }]
}

/// The agent that answers questions without an agent file.
pub(super) fn default_agent() -> Finding {
    let what = "default agent";
    let todo = "`windlass agents default FILE` sets another one, `windlass agents default --unset` none";
    match settings::default_agent() {
        Ok(None) => Finding::new(
            Level::Ok,
            what,
            "the built-in assistant (`windlass agents default FILE` sets another one)",
        ),
        Ok(Some(file)) => match lacks(&file) {
            Ok(None) => Finding::new(Level::Ok, what, file.display().to_string()),
            Ok(Some(lacks)) => {
                let set = lacks.variable.map(|variable| format!("{}; or ", export(&variable)));
                Finding::new(Level::Problem, what, format!("{}: {}", file.display(), lacks.text))
                    .todo(format!("{}{todo}", set.unwrap_or_default()))
            }
            Err(failure) => Finding::new(Level::Problem, what, failure).todo(todo),
        },
        Err(failure) => {
            Finding::new(Level::Problem, what, failure.message()).todo(settings::path().map_or_else(
                |_| "repair the file, or remove it".to_owned(),
                |file| format!("repair the file, or remove it: `rm {}`", quoted(&file.display().to_string())),
            ))
        }
    }
}

/// A thing that an agent lacks in this environment.
struct Lacking {
    text: String,
    /// The variable of its model that is not set.
    variable: Option<String>,
}

/// The thing that keeps an agent from running in this environment, such as a key; `Err`: why its file cannot be used.
fn lacks(file: &Path) -> Result<Option<Lacking>, String> {
    match looked(file) {
        Ok(sound) => Ok(sound.missing.into_iter().next().map(|text| {
            let variables = sound.models.iter().filter_map(|model| missing_variable(model));
            let variable = variables.into_iter().find(|variable| text.contains(variable.as_str()));
            Lacking { text, variable }
        })),
        Err(failures) => Err(failures.first().map_or_else(
            || format!("{} cannot be used", file.display()),
            |failure| failure.message().to_owned(),
        )),
    }
}

/// The variable that a model needs and that is not set.
fn missing_variable(model: &str) -> Option<String> {
    match resolve(&ModelSettings::named(model), &home::env) {
        Err(ModelError::MissingKey { variable, .. } | ModelError::MissingVariable { variable, .. }) => {
            Some(variable)
        }
        Ok(_) | Err(_) => None,
    }
}

/// Whether files can be made in the folder, or it can be made: `false`.
fn writable(folder: &Path) -> std::io::Result<bool> {
    if !folder.exists() {
        let parent = folder.ancestors().skip(1).find(|ancestor| ancestor.exists());
        return match parent {
            Some(parent) => rustix::fs::access(parent, rustix::fs::Access::WRITE_OK)
                .map(|()| false)
                .map_err(std::io::Error::from),
            None => Ok(false),
        };
    }
    let probe = folder.join(format!(".probe.{}", std::process::id()));
    std::fs::write(&probe, b"")?;
    std::fs::remove_file(probe)?;
    Ok(true)
}
