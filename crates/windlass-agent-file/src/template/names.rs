//! The names that a template reads: those that nothing will give it are known before it is rendered.

use std::collections::HashSet;

use minijinja::machinery::ast::{Expr, Stmt};
use minijinja::machinery::parse;
use minijinja::syntax::SyntaxConfig;
use windlass_core::text::Steps;

use super::NAME;
use super::check::{Fault, parts};

/// The parts of the input that a template needs (`lang` of `{{ input.lang }}`), each once, in order.
///
/// # Errors
/// It reads a name that is none of `known`, and that it neither sets itself, nor asks about (`is defined`), nor replaces
/// (`default`).
pub(super) fn read(text: &str, known: &[&str], steps: &Steps) -> Result<Vec<String>, Fault> {
    steps.add(text.len());
    let template = parse(text, NAME, SyntaxConfig::default())?;
    let mut own = Own { names: HashSet::from(["range"]), steps };
    own.statement(&template);
    let mut reads = Reads { known, own: own.names, of_input: Vec::new(), steps };
    reads.statement(&template)?;
    Ok(reads.of_input)
}

/// The statements and expressions within a statement.
fn inner<'t, 's>(one: &'t Stmt<'s>) -> (Vec<&'t Expr<'s>>, Vec<&'t Stmt<'s>>) {
    match one {
        Stmt::Template(template) => (Vec::new(), template.children.iter().collect()),
        Stmt::EmitRaw(_) => (Vec::new(), Vec::new()),
        Stmt::EmitExpr(emit) => (vec![&emit.expr], Vec::new()),
        Stmt::ForLoop(each) => (
            std::iter::once(&each.iter).chain(&each.filter_expr).collect(),
            each.body.iter().chain(&each.else_body).collect(),
        ),
        Stmt::IfCond(cond) => (vec![&cond.expr], cond.true_body.iter().chain(&cond.false_body).collect()),
        Stmt::WithBlock(with) => {
            (with.assignments.iter().map(|(_, value)| value).collect(), with.body.iter().collect())
        }
        Stmt::Set(set) => (vec![&set.expr], Vec::new()),
        // These are refused before.
        Stmt::SetBlock(_) | Stmt::AutoEscape(_) | Stmt::FilterBlock(_) | Stmt::Do(_) => {
            (Vec::new(), Vec::new())
        }
    }
}

/// Names that a template gives itself or asks about. Where it does so is not looked at.
struct Own<'t, 'c> {
    names: HashSet<&'t str>,
    steps: &'c Steps,
}

impl<'t> Own<'t, '_> {
    fn statement<'s: 't>(&mut self, one: &'t Stmt<'s>) {
        self.steps.add(1);
        match one {
            Stmt::ForLoop(each) => {
                self.names.insert("loop");
                self.target(&each.target);
            }
            Stmt::WithBlock(with) => with.assignments.iter().for_each(|(target, _)| self.target(target)),
            Stmt::Set(set) => self.target(&set.target),
            Stmt::SetBlock(_)
            | Stmt::Template(_)
            | Stmt::EmitRaw(_)
            | Stmt::EmitExpr(_)
            | Stmt::IfCond(_)
            | Stmt::AutoEscape(_)
            | Stmt::FilterBlock(_)
            | Stmt::Do(_) => {}
        }
        let (expressions, statements) = inner(one);
        for value in expressions {
            self.expression(value);
        }
        for one in statements {
            self.statement(one);
        }
    }

    fn target<'s: 't>(&mut self, target: &'t Expr<'s>) {
        self.steps.add(1);
        if let Expr::Var(name) = target {
            self.names.insert(name.id);
        }
        for part in parts(target) {
            self.target(part);
        }
    }

    fn expression<'s: 't>(&mut self, value: &'t Expr<'s>) {
        self.steps.add(1);
        if let Expr::Test(test) = value
            && ["defined", "undefined"].contains(&test.name)
            && let Expr::Var(name) = &test.expr
        {
            self.names.insert(name.id);
        }
        for part in parts(value) {
            self.expression(part);
        }
    }
}

struct Reads<'t, 'c> {
    known: &'c [&'c str],
    own: HashSet<&'t str>,
    of_input: Vec<String>,
    steps: &'c Steps,
}

impl Reads<'_, '_> {
    fn statement(&mut self, one: &Stmt<'_>) -> Result<(), Fault> {
        self.steps.add(1);
        let (expressions, statements) = inner(one);
        expressions.into_iter().try_for_each(|value| self.expression(value))?;
        statements.into_iter().try_for_each(|one| self.statement(one))
    }

    fn expression(&mut self, value: &Expr<'_>) -> Result<(), Fault> {
        self.steps.add(1);
        if let Expr::Var(name) = value {
            return self.name(name.id, value);
        }
        if let Expr::GetAttr(of) = value
            && matches!(&of.expr, Expr::Var(name) if name.id == "input")
            && !self.own.contains("input")
            && !self.of_input.iter().any(|other| other == of.name)
        {
            self.of_input.push(of.name.to_owned());
        }
        parts(value).into_iter().skip(may_be_missing(value)).try_for_each(|part| self.expression(part))
    }

    fn name(&self, name: &str, value: &Expr<'_>) -> Result<(), Fault> {
        if self.known.contains(&name) || self.own.contains(name) {
            return Ok(());
        }
        let known: Vec<String> = self.known.iter().map(|known| format!("`{known}`")).collect();
        let reason = format!("there is no value `{name}`, only {}", known.join(", "));
        Err(Fault::at(value.span(), reason))
    }
}

/// How many of an expression's first parts may be missing: what `default` replaces or a test asks about.
fn may_be_missing(value: &Expr<'_>) -> usize {
    let direct = |of: &Expr<'_>| {
        matches!(of, Expr::Var(_))
            || matches!(of, Expr::GetAttr(of) if matches!(of.expr, Expr::Var(ref name) if name.id == "input"))
    };
    let missing = match value {
        Expr::Filter(filter) => {
            ["default", "d"].contains(&filter.name) && filter.expr.as_ref().is_some_and(direct)
        }
        Expr::Test(test) => ["defined", "undefined"].contains(&test.name) && direct(&test.expr),
        Expr::Var(_)
        | Expr::Const(_)
        | Expr::Slice(_)
        | Expr::UnaryOp(_)
        | Expr::BinOp(_)
        | Expr::Compare(_)
        | Expr::IfExpr(_)
        | Expr::GetAttr(_)
        | Expr::GetItem(_)
        | Expr::Call(_)
        | Expr::List(_)
        | Expr::Tuple(_)
        | Expr::Map(_) => false,
    };
    usize::from(missing)
}
