//! A tool made of a function, and people made of one.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::run::OpenQuestion;
use windlass_core::tool::Effect;
use windlass_core::{Answer, CallOutcome, State, ToolSpec};
use windlass_runtime::People;
use windlass_tools::{Tool, ToolContext, ToolError, ToolResult};

use crate::fn_model::any_object;

type Body = Arc<dyn Fn(ToolContext, Value) -> BoxFuture<'static, ToolResult> + Send + Sync>;
type Checked = Result<Option<CallOutcome>, ToolError>;
type Check = Arc<dyn Fn(ToolContext, Value) -> BoxFuture<'static, Checked> + Send + Sync>;

/// A tool that does what a function says.
///
/// ```
/// use windlass_testing::FnTool;
///
/// let double = FnTool::new("double", |_, args| async move {
///     let number = args["number"].as_i64().unwrap_or(0);
///     Ok((number * 2).to_string().into())
/// });
/// # let _ = double;
/// ```
#[derive(Clone)]
pub struct FnTool {
    spec: ToolSpec,
    body: Body,
    check: Option<Check>,
}

impl fmt::Debug for FnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl FnTool {
    /// A tool of that name that takes any object, with the effect `once` until [`FnTool::effect`] says otherwise.
    pub fn new<F, R>(name: &str, body: F) -> Self
    where
        F: Fn(ToolContext, Value) -> R + Send + Sync + 'static,
        R: Future<Output = ToolResult> + Send + 'static,
    {
        let spec = ToolSpec::new(name, "", any_object());
        Self { spec, body: Arc::new(move |context, args| Box::pin(body(context, args))), check: None }
    }

    /// With that effect.
    pub fn effect(self, effect: Effect) -> Self {
        self.spec(|spec| spec.effect = effect)
    }

    /// With another description: description, schema, effect, time limit, approval.
    pub fn spec(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        change(&mut self.spec);
        // Only a function can say whether a call happened.
        self.spec.has_check = self.check.is_some();
        self
    }

    /// With a function that says whether a call in doubt happened.
    pub fn check<F, R>(mut self, check: F) -> Self
    where
        F: Fn(ToolContext, Value) -> R + Send + Sync + 'static,
        R: Future<Output = Checked> + Send + 'static,
    {
        self.spec.has_check = true;
        self.check = Some(Arc::new(move |context, args| Box::pin(check(context, args))));
        self
    }
}

impl Tool for FnTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        (self.body)(context, args)
    }

    fn check(&self, context: ToolContext, args: Value) -> BoxFuture<'_, Checked> {
        match &self.check {
            Some(check) => check(context, args),
            None => Box::pin(async { Err(ToolError::new("no check is given")) }),
        }
    }
}

type Asked = Arc<dyn Fn(&State, &OpenQuestion) -> Option<BoxFuture<'static, Answer>> + Send + Sync>;

/// People who answer as a function says.
#[derive(Clone)]
pub struct FnPeople {
    ask: Asked,
}

impl fmt::Debug for FnPeople {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FnPeople")
    }
}

impl FnPeople {
    /// People who answer every question at once.
    pub fn new(answer: impl Fn(&OpenQuestion) -> Answer + Send + Sync + 'static) -> Self {
        Self::thinking(move |_, question| {
            let answer = answer(question);
            Some(Box::pin(async move { answer }))
        })
    }

    /// People who answer after a delay. `None`: such a question is not answered here.
    pub fn thinking(
        ask: impl Fn(&State, &OpenQuestion) -> Option<BoxFuture<'static, Answer>> + Send + Sync + 'static,
    ) -> Self {
        Self { ask: Arc::new(ask) }
    }
}

impl People for FnPeople {
    fn answers(&self, state: &State, question: &OpenQuestion) -> bool {
        (self.ask)(state, question).is_some()
    }

    fn ask<'p>(&'p self, state: &'p State, question: &'p OpenQuestion) -> BoxFuture<'p, Answer> {
        (self.ask)(state, question).unwrap_or_else(|| Box::pin(std::future::pending()))
    }
}
