//! Owns [`PrefixCell`], the cache of encoded requests: one conversation a run, and the tools and forms of schemas that the runs of an
//! agent share.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use windlass_core::ToolSpec;

/// The encoded request of a run, kept by its adapter: a turn encodes only its new messages.
#[derive(Clone, Default)]
pub struct PrefixCell {
    /// The conversation, as the wire that was asked last encodes it.
    pub(crate) conversation: Arc<Mutex<Option<Box<dyn Any + Send>>>>,
    /// Shared by the runs of an agent.
    pub(crate) schemas: Arc<Schemas>,
}

/// Forms and encodings of the schemas of tools and outputs.
#[derive(Default)]
pub(crate) struct Schemas {
    /// The strict forms of the schemas.
    pub(crate) forms: Mutex<Forms>,
    /// The tools, as wires encode them.
    pub(crate) tools: Mutex<EncodedTools>,
}

impl PrefixCell {
    /// A cell for another run with the same tools, which shares the forms and encodings of their schemas.
    #[must_use]
    pub fn for_another_run(&self) -> Self {
        Self { schemas: self.schemas.clone(), ..Self::default() }
    }
}

impl fmt::Debug for PrefixCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrefixCell")
    }
}

/// The strict form of a schema, or the place in it that has none.
pub(crate) type Form = Result<Value, String>;

/// A schema, or a list of tools, with its form.
type Made<S, F> = Option<(Arc<S>, Arc<F>)>;

/// The forms of the request that was made last.
#[derive(Default)]
pub(crate) struct Forms {
    pub(crate) tools: Made<Vec<ToolSpec>, Vec<Form>>,
    pub(crate) output: Made<Value, Form>,
    /// The schema of the output under a property.
    pub(crate) wrapped: Made<Value, Value>,
}

/// Maximum number of encoded lists of tools: those of an agent's models on two wires, strict or not.
pub(crate) const MOST_LISTS: usize = 4;

/// Lists of tools as wires encode them, the last one used first.
#[derive(Default)]
pub(crate) struct EncodedTools(Vec<Encoded>);

/// A list of tools as a wire encodes it.
pub(crate) struct Encoded {
    /// The wire's encoding.
    pub(crate) by: TypeId,
    /// Whether strict schemas were asked for.
    pub(crate) strict: bool,
    pub(crate) tools: Arc<Vec<ToolSpec>>,
    pub(crate) bytes: Arc<[u8]>,
}

impl EncodedTools {
    /// The bytes of a list, if they are known.
    pub(crate) fn of(&mut self, by: TypeId, strict: bool, tools: &Arc<Vec<ToolSpec>>) -> Option<Arc<[u8]>> {
        let is = |kept: &Encoded| kept.by == by && kept.strict == strict && Arc::ptr_eq(&kept.tools, tools);
        let at = self.0.iter().position(is)?;
        self.0.get_mut(..=at)?.rotate_right(1);
        self.0.first().map(|kept| kept.bytes.clone())
    }

    /// Keeps a list, in place of the least recently used one if there are too many.
    pub(crate) fn put(&mut self, new: Encoded) {
        self.0.truncate(MOST_LISTS - 1);
        self.0.insert(0, new);
    }
}
