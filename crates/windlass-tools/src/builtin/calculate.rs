//! The built-in `calculate`: arithmetic, exact where decimals are.

mod number;
mod parse;

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::ToolSpec;

use super::{Builtin, Takes};
use crate::function::{Args, Properties};
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

pub(crate) use parse::evaluate;

/// Maximum length of an expression, in bytes.
pub const MAX_EXPRESSION: usize = 1_000;

/// Maximum nesting depth of parentheses, functions, signs and powers.
pub const MAX_DEPTH: usize = 64;

/// `calculate`: evaluates an expression.
///
/// It knows `+ - * / % ^`, parentheses, the functions `sqrt abs min max round floor ceil ln log log2 exp sin cos tan`
/// (angles in radians, `log(x)` to base 10, `log(x, base)`, `round(x, digits)` with halves away from zero), `pi` and
/// `e`. `17% of 2350` is 399.5; `a % b` is the remainder, with the sign of `a`.
///
/// Sums, differences, products, whole powers and quotients that end are exact up to 38 digits (`0.1 + 0.2` is `0.3`);
/// anything else is computed in binary floating point and shown with 15 digits.
///
/// Limits: [`MAX_EXPRESSION`], [`MAX_DEPTH`]; results up to about 1.8e308.
#[derive(Debug)]
pub struct Calculate {
    spec: ToolSpec,
}

impl Default for Calculate {
    fn default() -> Self {
        Self::new()
    }
}

impl Calculate {
    /// The tool by its name.
    pub const BUILTIN: Builtin =
        Builtin { name: "calculate", takes: Takes::Nothing, make: |_| Ok(Arc::new(Calculate::new())) };

    /// The tool.
    pub fn new() -> Self {
        let mut properties = Properties::new();
        properties.required::<String>(
            "expression",
            "For example: (2 + 3) * 4, 17% of 2350, sqrt(2) ^ 2, round(2/3, 4)",
        );
        let description = "Evaluates an arithmetic expression and gives the number. Operators: + - * / % (remainder) ^; \
             parentheses; p% of x; functions: sqrt, abs, min, max, round(x, digits), floor, ceil, ln, log(x, base), \
             log2, exp, sin, cos, tan (radians); constants: pi, e.";
        Self { spec: super::spec("calculate", description, properties) }
    }
}

impl Tool for Calculate {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, _context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let expression: String = Args::new(args)?.required("expression")?;
            let number = evaluate(&expression).map_err(|error| ToolError::of_kind("BadExpression", error))?;
            Ok(number.to_string().into())
        })
    }
}

#[cfg(test)]
mod tests;
