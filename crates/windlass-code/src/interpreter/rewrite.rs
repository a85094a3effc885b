//! The intent of models and the meaning of Python are not quite the same: the source is changed at a few places before it is
//! compiled. No line is added or removed before its end, so that errors name the lines of the original.
//!
//! - A host function returns its result at once. `await` in front of a call of one is taken away, but not inside `async def`:
//!   there the call is *deferred* (it returns a future), so that several coroutines wait for their calls together.
//! - Calls written as arguments of `gather(...)` or `parallel(...)`, or collected in a list that is passed to one, are deferred.
//! - `ToolError` is `RuntimeError`, the exception that host calls raise.
//! - A module that assigns `result` and reaches its end without `return` returns `result`.

mod facts;

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, ModModule, Stmt};
use ruff_python_parser::parse_module;
use ruff_text_size::{Ranged, TextRange, TextSize};

use facts::Facts;

/// Prefix of the names of deferred functions.
pub(super) const LATER: &str = "__later_";
/// The name of the function that makes several calls at once.
pub(super) const PARALLEL: &str = "parallel";
/// Maximum depth to which a tree is looked at. The interpreter refuses deeper ones.
const MOST_DEPTH: u16 = 300;
/// The lines that are added to a source that assigns `result`.
const RETURN_RESULT: &str = "\ntry:\n    return result\nexcept NameError:\n    pass\n";

/// The source as it is compiled. One with syntax errors stays as it is.
pub(super) fn rewrite(source: &str, functions: &BTreeSet<&str>) -> String {
    let Ok(parsed) = parse_module(source) else { return source.to_owned() };
    let module = parsed.syntax();
    let facts = Facts::of(module, functions);
    let mut text = Editor::edit(source, module, &facts);
    if facts.assigns_result {
        text.push_str(RETURN_RESULT);
    }
    text
}

/// The number of call expressions in a source, of whatever functions, as Session 10 counts them. One with syntax errors has none.
pub(super) fn calls_in(source: &str) -> u32 {
    let Ok(parsed) = parse_module(source) else { return 0 };
    let mut counter = Counter::default();
    counter.visit_body(&parsed.syntax().body);
    counter.calls
}

/// Counts call expressions.
#[derive(Default)]
struct Counter {
    calls: u32,
    depth: u16,
}

impl Counter {
    fn within(&mut self, visit: impl FnOnce(&mut Self)) {
        if self.depth < MOST_DEPTH {
            self.depth += 1;
            visit(self);
            self.depth -= 1;
        }
    }
}

impl<'a> Visitor<'a> for Counter {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.within(|counter| walk_stmt(counter, stmt));
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.calls = self.calls.saturating_add(u32::from(expr.is_call_expr()));
        self.within(|counter| walk_expr(counter, expr));
    }
}

/// The function that an expression names, if it is a plain name.
fn name_of(expr: &Expr) -> Option<&str> {
    if let Expr::Name(name) = expr { Some(name.id.as_str()) } else { None }
}

/// Whether a call collects calls that are made together.
fn collects(call: &ExprCall) -> bool {
    if let Expr::Attribute(attribute) = &*call.func {
        return attribute.attr.as_str() == "gather";
    }
    matches!(name_of(&call.func), Some("gather" | PARALLEL))
}

/// Calls `each` with the expressions whose values an argument of `gather` holds: itself, or the items of a list.
fn collected<'a>(argument: &'a Expr, each: &mut impl FnMut(&'a Expr)) {
    if let Expr::Starred(starred) = argument {
        return collected(&starred.value, each);
    }
    if let Expr::List(list) = argument {
        list.elts.iter().for_each(|item| collected(item, each));
    } else if let Expr::Tuple(tuple) = argument {
        tuple.elts.iter().for_each(each);
    } else if let Expr::ListComp(list) = argument {
        each(&list.elt);
    } else if let Expr::Generator(generator) = argument {
        each(&generator.elt);
    } else if let Expr::If(choice) = argument {
        each(&choice.body);
        each(&choice.orelse);
    } else {
        each(argument);
    }
}

struct Editor<'a> {
    facts: &'a Facts<'a>,
    edits: Vec<(TextRange, String)>,
    /// Starts of the names of calls that are deferred.
    deferred: BTreeSet<TextSize>,
    depth: u16,
    /// Whether the innermost function is `async def`.
    in_async: bool,
}

impl<'a> Editor<'a> {
    fn edit(source: &str, module: &'a ModModule, facts: &'a Facts<'a>) -> String {
        let mut editor =
            Self { facts, edits: Vec::new(), deferred: BTreeSet::new(), depth: 0, in_async: false };
        editor.visit_body(&module.body);
        let mut edits = editor.edits;
        edits.sort_by_key(|(range, _)| (range.start(), range.end()));
        let mut text = String::with_capacity(source.len() + 64);
        let mut at = 0;
        for (range, replacement) in edits {
            let (start, end) = (range.start().to_usize(), range.end().to_usize());
            text.push_str(source.get(at..start).unwrap_or_default());
            text.push_str(&replacement);
            at = end.max(at);
        }
        text.push_str(source.get(at..).unwrap_or_default());
        text
    }

    /// Whether an expression calls a host function: where its name stands.
    fn host_call(&self, expr: &Expr) -> Option<TextRange> {
        let Expr::Call(call) = expr else { return None };
        name_of(&call.func).filter(|name| self.facts.functions.contains(name)).map(|_| call.func.range())
    }

    fn defer(&mut self, expr: &Expr) {
        if let Some(range) = self.host_call(expr)
            && self.deferred.insert(range.start())
        {
            self.edits.push((TextRange::empty(range.start()), LATER.to_owned()));
        }
    }

    fn visit_await(&mut self, whole: TextRange, operand: &Expr) {
        let host = self.host_call(operand).is_some();
        let parallel = matches!(operand, Expr::Call(call) if name_of(&call.func) == Some(PARALLEL));
        if parallel || (host && !self.in_async) {
            // Parentheses keep the operand together, over lines too.
            let keyword = TextRange::at(whole.start(), TextSize::of("await"));
            self.edits.push((keyword, "(".to_owned()));
            self.edits.push((TextRange::empty(whole.end()), ")".to_owned()));
        } else {
            self.defer(operand);
        }
    }

    fn visit_call(&mut self, call: &'a ExprCall) {
        if collects(call) {
            for argument in &call.arguments.args {
                collected(argument, &mut |item| self.defer(item));
            }
        }
        // `asyncio.run(search(..))`: the result is there already.
        if let (Expr::Attribute(attribute), [only]) = (&*call.func, &*call.arguments.args)
            && attribute.attr.as_str() == "run"
            && name_of(&attribute.value) == Some("asyncio")
            && (self.host_call(only).is_some()
                || matches!(only, Expr::Call(inner) if name_of(&inner.func) == Some(PARALLEL)))
        {
            self.edits.push((call.func.range(), String::new()));
        }
        // `tasks.append(search(..))`, where `gather(*tasks)` follows.
        if let (Expr::Attribute(attribute), [item]) = (&*call.func, &*call.arguments.args)
            && attribute.attr.as_str() == "append"
            && name_of(&attribute.value).is_some_and(|name| self.facts.collections.contains(name))
        {
            self.defer(item);
        }
    }
}

impl<'a> Visitor<'a> for Editor<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if self.depth >= MOST_DEPTH {
            return;
        }
        self.depth += 1;
        let outer = self.in_async;
        if let Stmt::FunctionDef(function) = stmt {
            self.in_async = function.is_async;
        } else if let Stmt::Assign(assign) = stmt {
            let names = || assign.targets.iter().filter_map(name_of);
            if names().any(|name| self.facts.collections.contains(name)) {
                collected(&assign.value, &mut |item| self.defer(item));
            }
            if names().any(|name| self.facts.awaited.contains(name)) {
                self.defer(&assign.value);
            }
        }
        walk_stmt(self, stmt);
        self.in_async = outer;
        self.depth -= 1;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if self.depth >= MOST_DEPTH {
            return;
        }
        self.depth += 1;
        let outer = self.in_async;
        if let Expr::Await(awaiting) = expr {
            self.visit_await(awaiting.range, &awaiting.value);
        } else if let Expr::Call(call) = expr {
            self.visit_call(call);
        } else if let Expr::Lambda(_) = expr {
            self.in_async = false;
        } else if name_of(expr) == Some("ToolError") && self.facts.tool_error_is_free {
            self.edits.push((expr.range(), "RuntimeError".to_owned()));
        }
        walk_expr(self, expr);
        self.in_async = outer;
        self.depth -= 1;
    }
}

#[cfg(test)]
mod tests;
