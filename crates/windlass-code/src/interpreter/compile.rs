//! Source becomes a program of the interpreter.

use std::collections::BTreeSet;

use monty::MontyRun;
use monty_types::{CompileOptions, MontyObject, ResourceLimits};

use super::rewrite::{LATER, PARALLEL, calls_in, rewrite};
use super::values::from_json;
use super::{Interpreter, Turn, errors, limited, memory};
use crate::{Failure, FailureKind, Limit};

impl Interpreter {
    /// Compiles the source, with the values of its global variables.
    ///
    /// # Errors
    /// The failure of a source that cannot be run.
    pub(super) fn compile(
        &self,
        inputs: serde_json::Map<String, serde_json::Value>,
    ) -> Result<(MontyRun, Vec<MontyObject>), Turn> {
        if self.source.len() > self.limits.source_bytes {
            let message = format!(
                "the code has {} bytes, and at most {} are allowed\nhint: keep data out of the code: take it from tools",
                self.source.len(),
                self.limits.source_bytes
            );
            return Err(limited(Limit::Source, message));
        }
        if self.source.contains('\0') {
            let message = "SyntaxError: source code cannot contain null bytes".to_owned();
            return Err(Turn::Failed(Failure { kind: FailureKind::Syntax, message, line: None }));
        }
        if let Some(most) = self.limits.written_calls {
            let written = calls_in(&self.source);
            if written > most {
                return Err(limited(Limit::WrittenCalls, format!("Too many functions ({written} > {most})")));
            }
        }
        let names: BTreeSet<&str> = self.functions.names().collect();
        let text = rewrite(&self.source, &names);
        let (mut globals, mut values) = (Vec::new(), Vec::new());
        for name in names.iter().copied().chain([PARALLEL]).filter(|name| !inputs.contains_key(*name)) {
            for name in [name.to_owned(), format!("{LATER}{name}")] {
                globals.push(name.clone());
                values.push(MontyObject::Function { name, docstring: None });
            }
        }
        for (name, value) in inputs {
            globals.push(name);
            values.push(from_json(value));
        }
        match MontyRun::new(text, errors::FILE, globals, CompileOptions::default()) {
            Ok(run) => Ok((run, values)),
            // The original is compiled for its error: columns and text of the changed one are not the model's.
            Err(error) => {
                let original =
                    MontyRun::new(self.source.clone(), errors::FILE, Vec::new(), CompileOptions::default());
                Err(Turn::Failed(errors::compiling(&original.err().unwrap_or(error))))
            }
        }
    }

    /// The limits of the interpreter itself.
    pub(super) fn resources(&self) -> ResourceLimits {
        ResourceLimits::default()
            .max_duration(self.limits.running())
            .max_memory(usize::try_from(memory(&self.limits)).unwrap_or(usize::MAX))
            .max_recursion_depth(self.limits.recursion as usize)
    }
}
