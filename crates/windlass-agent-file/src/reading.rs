//! Context for all parts of the reader: the base folder of paths, and the environment.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::secret::{Secret, looks_like_a_key, mask_url_parts};
use windlass_models::resolve::{Env, mask_default_keys};

use super::address::Address;
use super::kinds::{AddressText, Pairs, SecretText};
use crate::files::Files;
use crate::yaml::{At, Node, YamlError};

/// Model names that a file may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelNames {
    /// `provider/model`, `auto` or `tour`.
    Full,
    /// Any name: in scripted conversations.
    Plain,
}

/// Where a file that is read takes variables and other files from.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'e> {
    pub(super) env: Env<'e>,
    pub(super) files: &'e dyn Files,
}

pub(super) struct Reading<'e> {
    pub(super) file: String,
    /// Absolute, so that it does not depend on the current directory.
    pub(super) folder: PathBuf,
    pub(super) model_names: ModelNames,
    /// The whole document.
    pub(super) root: &'e Node,
    /// Warnings about secrets that are too short to be masked.
    pub(super) unmasked: Vec<String>,
    /// Warnings about patterns that are not checked.
    pub(super) unchecked: Vec<String>,
    /// Secrets that stand in the file as they are.
    pub(super) literal_secrets: Vec<String>,
    /// The texts of the files that were read.
    pub(super) texts: RefCell<Vec<(PathBuf, Arc<str>)>>,
    pub(super) files: &'e dyn Files,
    /// Warnings about files that the file names.
    pub(super) remarks: RefCell<Vec<String>>,
    /// The folder in which people work, where the agent depends on it.
    pub(super) working_folder: RefCell<Option<PathBuf>>,
    parent: PathBuf,
    stem: Option<String>,
    env: Env<'e>,
}

impl<'e> Reading<'e> {
    pub(super) fn new(
        root: &'e Node,
        file: &Path,
        surroundings: Surroundings<'e>,
        model_names: ModelNames,
    ) -> Self {
        let Surroundings { env, files } = surroundings;
        // Tools may find them, whichever model this file names.
        mask_default_keys(env);
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self {
            file: file.display().to_string(),
            // It fails only where there is no working folder.
            folder: std::path::absolute(parent).unwrap_or_else(|_| parent.to_owned()),
            parent: parent.to_owned(),
            model_names,
            root,
            unmasked: Vec::new(),
            unchecked: Vec::new(),
            literal_secrets: Vec::new(),
            texts: RefCell::default(),
            files,
            remarks: RefCell::default(),
            working_folder: RefCell::default(),
            stem: file.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
            env,
        }
    }

    /// The name of an agent whose file gives none.
    pub(super) fn default_name(&self) -> String {
        match (&self.stem, self.model_names) {
            (Some(stem), ModelNames::Full) => stem.clone(),
            _ => "agent".to_owned(),
        }
    }

    /// Takes note of a file's text, which is a part of the agent from here on.
    pub(super) fn note(&self, path: &Path, text: &str) {
        self.texts.borrow_mut().push((path.to_owned(), text.into()));
    }

    /// Adds a warning about a file that the file names.
    pub(super) fn remark(&self, remark: String) {
        self.remarks.borrow_mut().push(remark);
    }

    /// The folder in which people work with the agent, on which it depends from here on.
    pub(super) fn working_folder(&self) -> Option<PathBuf> {
        let folder = self.files.working_folder()?;
        *self.working_folder.borrow_mut() = Some(folder.clone());
        Some(folder)
    }

    /// A path of the file as messages show it: as near to what is written as it can be.
    pub(super) fn rendered_path(&self, written: &str) -> String {
        if self.parent == Path::new(".") {
            written.to_owned()
        } else {
            self.parent.join(written).display().to_string()
        }
    }

    /// A path of the file, from the file's folder.
    pub(super) fn path(&self, written: &str) -> PathBuf {
        self.folder.join(written)
    }

    /// Where a secret comes from: its place, and the variables that it is made of.
    pub(super) fn source_of(&self, written: &At<SecretText>) -> String {
        let parts = written.value.as_str().split("${").skip(1);
        let names: Vec<&str> = parts.filter_map(|part| Some(part.split_once('}')?.0)).collect();
        let place = format!("{}:{}:{}", self.file, written.place.line, written.place.column);
        if names.is_empty() { place } else { format!("{} ({place})", names.join(" and ")) }
    }

    /// A field that holds a secret: `${NAME}` is read from the environment.
    pub(super) fn secret(&mut self, written: &At<SecretText>) -> Result<Secret, YamlError> {
        let (text, values) = self.expand(written.value.as_str(), written)?;
        Ok(self.masked(text, values, &written.path))
    }

    /// Reads a map of names to values that may be secrets: values that come from the environment, and values whose name or form
    /// suggests a secret. Others, such as `LEVEL: debug`, are settings and stay readable.
    pub(super) fn secrets(
        &mut self,
        written: &Pairs<At<SecretText>>,
    ) -> Result<Vec<(String, Secret)>, YamlError> {
        let mut secrets = Vec::new();
        for (name, value) in &written.0 {
            let (text, values) = self.expand(value.value.as_str(), value)?;
            let is_secret = !values.is_empty() || names_a_secret(name) || looks_like_a_key(&text);
            let secret =
                if is_secret { self.masked(text, values, &value.path) } else { Secret::unmasked(text) };
            secrets.push((name.clone(), secret));
        }
        Ok(secrets)
    }

    fn masked(&mut self, text: String, values: Vec<String>, path: &str) -> Secret {
        let literal = values.is_empty();
        // Also where they are only a part of the whole.
        for value in values {
            drop(Secret::from(value));
        }
        let secret = Secret::from(text);
        let (bytes, least) = (secret.expose().trim().len(), Secret::MIN_MASKED_BYTES);
        // `none` and the like are no secrets: local servers take any key.
        let placeholder = ["none", "-", "no", "null"].contains(&secret.expose().trim());
        if literal && bytes > 0 && !placeholder {
            self.literal_secrets.push(secret.expose().to_owned());
        }
        if bytes > 0 && !secret.is_masked() && !placeholder {
            self.unmasked.push(format!(
                "secrets: `{path}` has {bytes} bytes; secrets shorter than {least} bytes are not masked in output"
            ));
        }
        secret
    }

    /// A field that holds an address: `${NAME}` is read from the environment.
    pub(super) fn address(&mut self, written: &At<AddressText>) -> Result<Address, YamlError> {
        let (text, values) = self.expand(&written.value.0, written)?;
        mask_url_parts(&text);
        values
            .into_iter()
            .filter(|value| !is_public(value, &text))
            .for_each(|value| drop(Secret::from(value)));
        Ok(Address::new(text, written.value.0.as_str()))
    }

    /// The text with each `${NAME}` replaced, and what stood for the names.
    fn expand<T>(&self, text: &str, written: &At<T>) -> Result<(String, Vec<String>), YamlError> {
        let mut out = String::with_capacity(text.len());
        let mut values = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let name = after.split_once('}').map(|(name, _)| name).filter(|name| is_variable(name));
            let Some(name) = name else {
                let message = format!("`{}` has a `${{` without a `NAME}}`", written.path);
                return Err(written.error("agent.placeholder", message).with_help(
                    "write ${NAME} with letters, digits and underscores; defaults as in ${NAME:-x} are not supported",
                ));
            };
            let Some(value) = (self.env)(name) else {
                let message =
                    format!("`{}` needs the environment variable {name}, which is not set", written.path);
                return Err(written
                    .error("agent.missing_env", message)
                    .with_help(format!("export {name}=...")));
            };
            out.push_str(&value);
            rest = after.get(name.len() + 1..).unwrap_or_default();
            values.push(value);
        }
        out.push_str(rest);
        Ok((out, values))
    }
}

fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// Whether a variable or header is named like one that holds a secret.
fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "cookie", "credential", "key", "pass", "secret", "token"].iter().any(|word| name.contains(word))
}

/// Whether a part of an address is no secret: a port, its host, or an address without credentials and query.
fn is_public(value: &str, address: &str) -> bool {
    let own_address = value.starts_with("http://") || value.starts_with("https://");
    let authority = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    value.bytes().all(|byte| byte.is_ascii_digit())
        || (own_address && !value.contains(['@', '?']))
        || (host.contains(value) && !looks_like_a_key(value))
}
