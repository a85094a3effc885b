//! The `loop` section: the keys of the core's policy table, the limits' names of the preset's own system, and what comes
//! later.

use serde_json::Value;
use windlass_core::Policy;
use windlass_core::policy::LoopKeys;
use windlass_core::policy::{Alias, DefaultLoop, LATER, LimitKey, LimitKeys, Named, Preset};

use crate::yaml::{Field, Node, Place, Problem, YamlError};

/// The key of the calls that turns must make.
const CHOICE: &str = "tool_choice";

/// A `loop` section that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopSection {
    /// Its settings.
    pub keys: LoopKeys,
    /// The first thing that it asks for and this version cannot do yet.
    pub later: Option<LaterKey>,
}

/// A key or value that this version cannot do yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaterKey {
    /// Position of the section.
    pub place: Place,
    /// The key, as a dotted path.
    pub path: String,
    /// Its value.
    pub value: String,
}

impl LoopSection {
    /// Reads a section. `usual` is the loop of an agent that names no preset.
    ///
    /// # Errors
    /// Something in it does not fit.
    pub fn read(field: &Field<'_>, default_loop: DefaultLoop) -> Result<Self, YamlError> {
        field.entries()?;
        let mut rest = field.node.clone();
        let later = take_later(&mut rest, field);
        if later.as_ref().is_some_and(|later| later.path.ends_with(".preset")) {
            // What else it may say depends on the preset.
            return Ok(Self { keys: LoopKeys::default(), later });
        }
        let preset = rest.get("preset").and_then(Node::as_str).and_then(Preset::named);
        let preset = preset.unwrap_or_else(|| default_loop.preset());
        let (limits, retries) = take_aliases(&mut rest, preset, &field.path)?;
        let mut keys: LoopKeys = Field::new(&rest, field.path.as_str()).decode()?;
        if !limits.0.is_empty() {
            keys.limits.get_or_insert_default().0.extend(limits.0);
        }
        keys.retries = retries.or(keys.retries);
        if keys.tool_choice.is_some()
            && let Some((message, help)) = keys.clone().policy(default_loop).choice_fault()
        {
            let place = field.node.locate(CHOICE);
            let problem = Problem::Other {
                code: "agent.tool_choice",
                message: format!("`{}.{CHOICE}`: {message}", field.path),
                help: Some(help.into()),
            };
            return Err(YamlError::new(place, format!("{}.{CHOICE}", field.path), problem));
        }
        Ok(Self { keys, later })
    }

    /// The same in JSON: `{"preset": "chat", "limits": {"model_calls": 5}}`.
    ///
    /// # Errors
    /// Something in it does not fit.
    pub fn from_json(section: &Value, default_loop: DefaultLoop) -> Result<Self, YamlError> {
        Self::read(&Field::new(&Node::from_json(section), "loop"), default_loop)
    }

    /// The policy: the preset's values with this section over them.
    ///
    /// # Errors
    /// A key or value that this version cannot do yet.
    pub fn policy(&self, default_loop: DefaultLoop) -> Result<Policy, LaterKey> {
        match &self.later {
            Some(later) => Err(later.clone()),
            None => Ok(self.keys.clone().policy(default_loop)),
        }
    }
}

/// Removes the keys of the core's table: values without effect, and values that a later version supports.
fn take_later(section: &mut Node, field: &Field<'_>) -> Option<LaterKey> {
    let mut found: Option<LaterKey> = None;
    for entry in LATER {
        let Some(value) = section.at(entry.path).map(Node::to_json) else { continue };
        let named = entry.named(&value);
        if named == Named::Else {
            continue;
        }
        section.take(entry.path);
        if named == Named::Later {
            let later = LaterKey {
                place: field.node.locate(entry.path),
                path: format!("{}.{}", field.path, entry.path),
                value: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            };
            // The table begins with the preset, on which the others depend.
            found.get_or_insert(later);
        }
    }
    found
}

/// Takes out the numbers that go by the names of the preset's own system, beside `limits` and in it: limits, and `retries`.
fn take_aliases(
    section: &mut Node,
    preset: Preset,
    path: &str,
) -> Result<(LimitKeys, Option<u32>), YamlError> {
    let (mut limits, mut retries) = (LimitKeys::default(), None);
    for (alias, named) in preset.aliases {
        for place in [(*alias).to_owned(), format!("limits.{alias}")] {
            let Some(value) = section.take(&place) else { continue };
            let field = Field::new(&value, format!("{path}.{place}"));
            match named {
                Alias::Limit(kind) => {
                    limits.0.insert(*kind, field.decode_with(LimitKey(*kind))?);
                }
                Alias::Retries => retries = Some(field.decode()?),
            }
        }
    }
    Ok((limits, retries))
}
