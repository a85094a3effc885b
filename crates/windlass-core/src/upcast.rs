//! Reading facts of earlier schema versions: each step brings a body from one version to the next.
//!
//! A new optional field needs no step. Anything else raises [`Fact::SCHEMA`], adds a step here, and keeps a log of the
//! version before as a fixture (`windlass-store/tests/it/formats`).

use serde_json::Value;

use crate::event::Fact;

/// Brings the body of a fact of that kind from one schema version to the next, in place.
type Step = fn(kind: &str, body: &mut Value);

/// The steps: the first one leads from version 1 to version 2, and so on.
const STEPS: &[Step] = &[];

impl Fact {
    /// Reads the body of a fact that was written with that schema version.
    ///
    /// # Errors
    /// The version is newer than [`Fact::SCHEMA`] or 0, the kind is unknown, or the body does not fit it.
    pub fn from_body_of(schema: u32, kind: &str, body: &str) -> serde_json::Result<Self> {
        through(STEPS, schema, kind, body)
    }
}

fn through(steps: &[Step], schema: u32, kind: &str, body: &str) -> serde_json::Result<Fact> {
    let newest = steps.len() as u32 + 1;
    if schema == newest {
        return Fact::from_body(kind, body);
    }
    if schema == 0 || schema > newest {
        let what =
            format!("an event of schema version {schema}; this version of Windlass reads 1 to {newest}");
        return Err(serde::de::Error::custom(what));
    }
    let mut value: Value = serde_json::from_str(body)?;
    for step in steps.iter().skip(schema as usize - 1) {
        step(kind, &mut value);
    }
    Fact::from_body(kind, &value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e34_there_is_a_step_for_each_earlier_schema() {
        assert_eq!(STEPS.len() as u32 + 1, Fact::SCHEMA);
    }

    #[test]
    fn e34_a_fact_goes_through_every_step_since_its_version() {
        let rename: Step = |kind, body| {
            if kind == "Steered"
                && let Some(said) = body.as_object_mut().and_then(|body| body.remove("said"))
            {
                body["words"] = said;
            }
        };
        let rename_again: Step = |kind, body| {
            if kind == "Steered"
                && let Some(words) = body.as_object_mut().and_then(|body| body.remove("words"))
            {
                body["text"] = words;
            }
        };
        let steps = [rename, rename_again];
        let now = Fact::from_body("Steered", r#"{"text":"hi"}"#).unwrap();
        for (schema, body) in [(1, r#"{"said":"hi"}"#), (2, r#"{"words":"hi"}"#), (3, r#"{"text":"hi"}"#)] {
            assert_eq!(through(&steps, schema, "Steered", body).unwrap(), now, "schema {schema}");
        }
        let newer = through(&steps, 4, "Steered", "{}").unwrap_err().to_string();
        assert_eq!(newer, "an event of schema version 4; this version of Windlass reads 1 to 3");
    }
}
