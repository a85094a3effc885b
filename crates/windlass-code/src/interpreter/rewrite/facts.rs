//! Facts that have to be known of a whole module before any part of it is changed.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{
    Visitor, walk_comprehension, walk_except_handler, walk_expr, walk_parameter, walk_stmt,
};
use ruff_python_ast::{
    Alias, Comprehension, ExceptHandler, Expr, ExprContext, Identifier, ModModule, Parameter, Stmt,
};

use super::{MOST_DEPTH, collected, collects, name_of};

/// Facts about a module.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    /// Host functions whose names the code does not take for something else.
    pub(super) functions: BTreeSet<&'a str>,
    /// Variables that hold lists of calls for `gather` or `parallel`.
    pub(super) collections: BTreeSet<&'a str>,
    /// Variables that are awaited, or passed to `gather` or `parallel` by themselves.
    pub(super) awaited: BTreeSet<&'a str>,
    /// Whether the module itself assigns `result`.
    pub(super) assigns_result: bool,
    /// Whether `ToolError` is not a name of the code's own.
    pub(super) tool_error_is_free: bool,
}

impl<'a> Facts<'a> {
    pub(super) fn of(module: &'a ModModule, functions: &BTreeSet<&'a str>) -> Self {
        let mut finder = Finder::default();
        finder.visit_body(&module.body);
        Self {
            functions: functions.difference(&finder.bound).copied().collect(),
            collections: finder.collections,
            awaited: finder.awaited,
            assigns_result: finder.assigns_result,
            tool_error_is_free: !finder.bound.contains("ToolError"),
        }
    }
}

#[derive(Default)]
struct Finder<'a> {
    bound: BTreeSet<&'a str>,
    collections: BTreeSet<&'a str>,
    awaited: BTreeSet<&'a str>,
    assigns_result: bool,
    /// Scopes around the current place that are not the module's.
    scopes: u16,
    depth: u16,
}

impl<'a> Finder<'a> {
    fn bind(&mut self, name: &'a str) {
        self.bound.insert(name);
        self.assigns_result |= name == "result" && self.scopes == 0;
    }

    /// Arguments of `gather` or `parallel`. One name, `parallel(tasks)`, may be a list or a call.
    fn collect(&mut self, arguments: &'a [Expr]) {
        for argument in arguments {
            let list = if let Expr::Starred(starred) = argument { &starred.value } else { argument };
            self.collections.extend(name_of(list));
            collected(argument, &mut |item| self.awaited.extend(name_of(item)));
        }
    }

    fn within(&mut self, walk: impl FnOnce(&mut Self)) {
        self.scopes += 1;
        walk(self);
        self.scopes -= 1;
    }
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if self.depth >= MOST_DEPTH {
            return;
        }
        self.depth += 1;
        if let Stmt::FunctionDef(function) = stmt {
            self.bound.insert(&function.name);
            self.within(|finder| walk_stmt(finder, stmt));
        } else if let Stmt::ClassDef(class) = stmt {
            self.bound.insert(&class.name);
            self.within(|finder| walk_stmt(finder, stmt));
        } else {
            walk_stmt(self, stmt);
        }
        self.depth -= 1;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if self.depth >= MOST_DEPTH {
            return;
        }
        self.depth += 1;
        if let Expr::Name(name) = expr {
            if name.ctx != ExprContext::Load {
                self.bind(&name.id);
            }
        } else if let Expr::Await(awaiting) = expr {
            self.awaited.extend(name_of(&awaiting.value));
        } else if let Expr::Call(call) = expr
            && collects(call)
        {
            self.collect(&call.arguments.args);
        }
        walk_expr(self, expr);
        self.depth -= 1;
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        self.within(|finder| walk_comprehension(finder, comprehension));
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        self.bind(alias.asname.as_ref().unwrap_or(&alias.name));
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.bound.insert(&parameter.name);
        walk_parameter(self, parameter);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(caught) = handler;
        self.bound.extend(caught.name.as_ref().map(Identifier::as_str));
        walk_except_handler(self, handler);
    }
}
