//! Reading facts and causes of earlier schema versions: each step brings a body from one version to the next.
//!
//! A new optional field needs no step. Anything else raises [`Fact::SCHEMA`], adds a step here, and keeps a log of the
//! version before as a fixture (`windlass-store/tests/it/formats`).

use std::borrow::Cow;

use serde_json::Value;

use crate::protocol::cause::Cause;
use crate::protocol::fact::Fact;

/// Brings the body of a fact of that kind, or a cause ([`CAUSE`]), from one schema version to the next, in place.
type Step = fn(kind: &str, body: &mut Value);

/// Name under which an upcast step receives a cause.
const CAUSE: &str = "Cause";

/// The steps: the first one leads from version 1 to version 2, and so on.
const STEPS: &[Step] = &[];

impl Fact {
    /// Reads the body of a fact that was written with that schema version.
    ///
    /// # Errors
    /// The version is newer than [`Fact::SCHEMA`] or 0, the kind is unknown, or the body does not fit it.
    pub fn from_body_of(schema: u32, kind: &str, body: &str) -> serde_json::Result<Self> {
        Self::from_body(kind, &lifted(STEPS, schema, kind, body)?)
    }
}

impl Cause {
    /// Reads the cause of an append that was written with that schema version.
    ///
    /// # Errors
    /// The version is newer than [`Fact::SCHEMA`] or 0, or the text is no cause.
    pub fn from_json_of(schema: u32, text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(&lifted(STEPS, schema, CAUSE, text)?)
    }
}

/// The body as the newest version has it.
fn lifted<'b>(steps: &[Step], schema: u32, kind: &str, body: &'b str) -> serde_json::Result<Cow<'b, str>> {
    let newest = steps.len() as u32 + 1;
    if schema == newest {
        return Ok(body.into());
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
    Ok(value.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e34_there_is_a_step_for_each_earlier_schema() {
        assert_eq!(STEPS.len() as u32 + 1, Fact::SCHEMA);
    }

    /// Renames a field of a body.
    fn rename(body: &mut Value, from: &str, to: &str) {
        if let Some(found) = body.as_object_mut().and_then(|body| body.remove(from)) {
            body[to] = found;
        }
    }

    /// Two versions that never were: what is `text` now was `said` in the first and `words` in the second, and a timer's
    /// `action` was its `timer`.
    const SYNTHETIC: [Step; 2] = [
        |kind, body| match kind {
            "Steered" => rename(body, "said", "words"),
            CAUSE => rename(body, "timer", "action"),
            _ => {}
        },
        |kind, body| {
            if kind == "Steered" {
                rename(body, "words", "text");
            }
        },
    ];

    #[test]
    fn e34_a_fact_goes_through_every_step_since_its_version() {
        let now = Fact::from_body("Steered", r#"{"text":"hi"}"#).unwrap();
        for (schema, body) in [(1, r#"{"said":"hi"}"#), (2, r#"{"words":"hi"}"#), (3, r#"{"text":"hi"}"#)] {
            let body = lifted(&SYNTHETIC, schema, "Steered", body).unwrap();
            assert_eq!(Fact::from_body("Steered", &body).unwrap(), now, "schema {schema}");
        }
        let newer = lifted(&SYNTHETIC, 4, "Steered", "{}").unwrap_err().to_string();
        assert_eq!(newer, "an event of schema version 4; this version of Windlass reads 1 to 3");
    }

    #[test]
    fn e34_a_cause_goes_through_every_step_since_its_version() {
        let now = Cause::TimerFired { action: 7 };
        let stored = [r#"{"type":"timer_fired","timer":7}"#, r#"{"type":"timer_fired","action":7}"#];
        for (schema, text) in [(1, stored[0]), (2, stored[1]), (3, stored[1])] {
            let text = lifted(&SYNTHETIC, schema, CAUSE, text).unwrap();
            assert_eq!(serde_json::from_str::<Cause>(&text).unwrap(), now, "schema {schema}");
        }
    }
}
