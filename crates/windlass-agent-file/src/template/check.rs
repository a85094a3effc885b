//! Checks of a template before it is compiled, because the compiler already evaluates constants.

use minijinja::machinery::ast::{BinOp, BinOpKind, CallArg, Expr, Stmt};
use minijinja::machinery::{Span, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;
use windlass_core::text::{Steps, did_you_mean, nearest};

use super::MAX_TEMPLATE_BYTES;
use super::filters::{FILTERS, TESTS};

/// The most tokens of one tag: the parser and the compiler go as deep as a tag is long.
const MAX_TAG_TOKENS: usize = 500;
/// The longest text or name within a tag, in bytes.
const MAX_LITERAL_BYTES: usize = 4096;
/// The longest line with tags, in bytes.
const MAX_LINE_BYTES: usize = 65_000;
/// The most `elif`s of a template: each is nested in the one before.
const MAX_ELIFS: usize = 100;

/// An error in a template, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) line: usize,
    pub(crate) reason: String,
}

impl Fault {
    pub(super) fn at(span: Span, reason: impl Into<String>) -> Self {
        Self { line: usize::from(span.start_line).max(1), reason: reason.into() }
    }
}

impl From<minijinja::Error> for Fault {
    fn from(error: minijinja::Error) -> Self {
        let reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        Self { line: error.line().unwrap_or(1), reason }
    }
}

/// Checks a template.
///
/// # Errors
/// The first fault: it is none, or beyond a bound.
pub(crate) fn check(text: &str) -> Result<(), Fault> {
    check_in_steps(text, &Steps::default())
}

/// Checks a template that is given values of these names. Gives the parts of `input` that it needs.
///
/// # Errors
/// As [`check`], or it reads a name that nothing gives a value.
pub(crate) fn check_reading(text: &str, known: &[&str]) -> Result<Vec<String>, Fault> {
    let steps = Steps::default();
    check_in_steps(text, &steps)?;
    super::names::read(text, known, &steps)
}

pub(super) fn check_in_steps(text: &str, steps: &Steps) -> Result<(), Fault> {
    if text.len() > MAX_TEMPLATE_BYTES {
        let reason = format!("it has {} bytes, at most {MAX_TEMPLATE_BYTES} are taken", text.len());
        return Err(Fault { line: 1, reason });
    }
    lines(text, steps)?;
    tags(text, steps)?;
    steps.add(text.len());
    let template = parse(text, super::NAME, SyntaxConfig::default())?;
    Walk(steps).statement(&template)
}

/// Checks the length of lines with tags: the reader counts columns in 16 bits, and one more for an error.
fn lines(text: &str, steps: &Steps) -> Result<(), Fault> {
    steps.add(text.len());
    let begins = |line: &str| ["{{", "{%", "{#"].iter().any(|begin| line.contains(begin));
    match text.split('\n').position(|line| line.len() > MAX_LINE_BYTES && begins(line)) {
        None => Ok(()),
        Some(at) => {
            let reason = format!("a line with tags has more than {MAX_LINE_BYTES} bytes");
            Err(Fault { line: at + 1, reason })
        }
    }
}

/// Checks the length of tags.
fn tags(text: &str, steps: &Steps) -> Result<(), Fault> {
    steps.add(text.len());
    let (mut tokens, mut elifs, mut begins) = (0, 0, false);
    for token in tokenize(text, false, SyntaxConfig::default()) {
        steps.add(1);
        let (token, span) = token.map_err(|error| begun(text, error.into()))?;
        let starts = matches!(token, Token::TemplateData(_) | Token::VariableStart | Token::BlockStart);
        tokens = if starts { 0 } else { tokens + 1 };
        elifs += usize::from(begins && matches!(token, Token::Ident("elif")));
        begins = matches!(token, Token::BlockStart);
        let literal = if let Token::Str(text) | Token::Ident(text) = &token {
            text.len()
        } else if let Token::String(text) = &token {
            text.len()
        } else {
            0
        };
        if tokens > MAX_TAG_TOKENS {
            return Err(Fault::at(span, format!("a tag has more than {MAX_TAG_TOKENS} words and signs")));
        }
        if literal > MAX_LITERAL_BYTES {
            return Err(Fault::at(
                span,
                format!("a text or name in a tag has more than {MAX_LITERAL_BYTES} bytes"),
            ));
        }
        if elifs > MAX_ELIFS {
            return Err(Fault::at(span, format!("there are more than {MAX_ELIFS} `elif`")));
        }
    }
    Ok(())
}

/// The fault of a comment without an end is where the comment begins, not where the text ends.
fn begun(text: &str, fault: Fault) -> Fault {
    if !fault.reason.contains("end of comment") {
        return fault;
    }
    let closed = text.rfind("#}").map_or(0, |at| at + 2);
    let open = text.get(closed..).and_then(|rest| rest.find("{#"));
    match open.and_then(|at| text.get(..closed + at)) {
        Some(before) => Fault {
            line: before.matches('\n').count() + 1,
            reason: "the comment that begins with `{#` has no end `#}`".to_owned(),
        },
        None => fault,
    }
}

/// Goes through a template. Its depth is bounded by [`tags`] and by the parser.
#[derive(Clone, Copy)]
struct Walk<'s>(&'s Steps);

impl Walk<'_> {
    fn statements(self, all: &[Stmt<'_>]) -> Result<(), Fault> {
        all.iter().try_for_each(|one| self.statement(one))
    }

    fn statement(self, one: &Stmt<'_>) -> Result<(), Fault> {
        self.0.add(1);
        let unknown = |span, what: &str| Err(Fault::at(span, format!("templates do not support {what}")));
        match one {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitRaw(_) => Ok(()),
            Stmt::EmitExpr(emit) => self.expression(&emit.expr),
            Stmt::ForLoop(each) => {
                if each.recursive {
                    return unknown(each.span(), "`recursive` loop");
                }
                self.expression(&each.iter)?;
                each.filter_expr.iter().try_for_each(|filter| self.expression(filter))?;
                self.statements(&each.body)?;
                self.statements(&each.else_body)
            }
            Stmt::IfCond(cond) => {
                self.expression(&cond.expr)?;
                self.statements(&cond.true_body)?;
                self.statements(&cond.false_body)
            }
            Stmt::WithBlock(with) => {
                with.assignments.iter().try_for_each(|(_, value)| self.assigned(value))?;
                self.statements(&with.body)
            }
            Stmt::Set(set) => self.assigned(&set.expr),
            Stmt::SetBlock(block) => unknown(block.span(), "block `set`: write {% set name = value %}"),
            Stmt::AutoEscape(block) => unknown(block.span(), "`autoescape`"),
            Stmt::FilterBlock(block) => unknown(block.span(), "block `filter`: write {{ value | filter }}"),
            Stmt::Do(call) => unknown(call.span(), "`do`"),
        }
    }

    /// A value that gets a name: it must not hold others, or it doubles with each name.
    fn assigned(self, value: &Expr<'_>) -> Result<(), Fault> {
        self.expression(value)?;
        let holds =
            |items: &[&[Expr<'_>]]| items.iter().any(|items| !items.iter().all(|item| self.is_literal(item)));
        let fault = match value {
            Expr::List(list) => holds(&[&list.items]),
            Expr::Tuple(tuple) => holds(&[&tuple.items]),
            Expr::Map(map) => holds(&[&map.keys, &map.values]),
            Expr::Var(_)
            | Expr::Const(_)
            | Expr::Slice(_)
            | Expr::UnaryOp(_)
            | Expr::BinOp(_)
            | Expr::Compare(_)
            | Expr::IfExpr(_)
            | Expr::Filter(_)
            | Expr::Test(_)
            | Expr::GetAttr(_)
            | Expr::GetItem(_)
            | Expr::Call(_) => self.has_list(value),
        };
        if fault {
            let reason = "a list or map with a name may hold texts, numbers and the like only";
            return Err(Fault::at(value.span(), reason));
        }
        Ok(())
    }

    fn expression(self, value: &Expr<'_>) -> Result<(), Fault> {
        self.0.add(1);
        match value {
            Expr::BinOp(of) => operation(of, value.span())?,
            Expr::Call(call) => {
                let of_loop = |value: &Expr<'_>| matches!(value, Expr::Var(name) if name.id == "loop");
                let known = matches!(&call.expr, Expr::Var(name) if name.id == "range")
                    || matches!(&call.expr, Expr::GetAttr(of)
                        if of_loop(&of.expr) && ["cycle", "changed"].contains(&of.name));
                if !known {
                    let reason =
                        "templates support only the functions `range`, `loop.cycle` and `loop.changed`";
                    return Err(Fault::at(call.span(), reason));
                }
                each_by_itself(&call.args)?;
            }
            Expr::Filter(filter) => {
                exists("filter", filter.name, FILTERS, value.span())?;
                if let Some((kind, all, at)) = named_within(filter.name)
                    && let Some(CallArg::Pos(Expr::Const(name))) = filter.args.get(at)
                    && let Some(name) = name.value.as_str()
                {
                    exists(kind, name, all, value.span())?;
                }
                each_by_itself(&filter.args)?;
            }
            Expr::Test(test) => {
                exists("test", test.name, TESTS, value.span())?;
                each_by_itself(&test.args)?;
            }
            Expr::Var(_)
            | Expr::Const(_)
            | Expr::Slice(_)
            | Expr::UnaryOp(_)
            | Expr::Compare(_)
            | Expr::IfExpr(_)
            | Expr::GetAttr(_)
            | Expr::GetItem(_)
            | Expr::List(_)
            | Expr::Tuple(_)
            | Expr::Map(_) => {}
        }
        parts(value).into_iter().try_for_each(|part| self.expression(part))
    }

    fn is_literal(self, value: &Expr<'_>) -> bool {
        self.0.add(1);
        let all = |items: &[Expr<'_>]| items.iter().all(|item| self.is_literal(item));
        if let Expr::List(list) = value {
            all(&list.items)
        } else if let Expr::Tuple(tuple) = value {
            all(&tuple.items)
        } else if let Expr::Map(map) = value {
            all(&map.keys) && all(&map.values)
        } else {
            matches!(value, Expr::Const(_))
        }
    }

    /// Whether a list, tuple or map stands anywhere in it that holds more than literals.
    fn has_list(self, value: &Expr<'_>) -> bool {
        let list = matches!(value, Expr::List(_) | Expr::Tuple(_) | Expr::Map(_));
        list && !self.is_literal(value) || parts(value).into_iter().any(|part| self.has_list(part))
    }
}

/// Refuses a filter or test that does not exist: rendering would only find out where it is reached.
fn exists(kind: &str, name: &str, all: &[&str], span: Span) -> Result<(), Fault> {
    if all.contains(&name) {
        return Ok(());
    }
    let near = did_you_mean(&nearest(name, all.iter().copied()));
    Err(Fault::at(span, format!("{kind} {name} is unknown{near}")))
}

/// The filters that take the name of another filter, or of a test, as an argument: its kind, all of them, and its place.
fn named_within(filter: &str) -> Option<(&'static str, &'static [&'static str], usize)> {
    match filter {
        "map" => Some(("filter", FILTERS, 0)),
        "select" | "reject" => Some(("test", TESTS, 0)),
        "selectattr" | "rejectattr" => Some(("test", TESTS, 1)),
        _ => None,
    }
}

/// Refuses `*` and `**` arguments: a list passed as a whole may have any length.
fn each_by_itself(args: &[CallArg<'_>]) -> Result<(), Fault> {
    let whole = args.iter().find_map(|arg| match arg {
        CallArg::PosSplat(value) | CallArg::KwargSplat(value) => Some(value),
        CallArg::Pos(_) | CallArg::Kwarg(..) => None,
    });
    let reason = "templates do not support `*` and `**` before arguments";
    whole.map_or(Ok(()), |value| Err(Fault::at(value.span(), reason)))
}

fn operation(operation: &BinOp<'_>, span: Span) -> Result<(), Fault> {
    let number = |side: &Expr<'_>| matches!(side, Expr::Const(value) if value.value.is_number());
    match operation.op {
        BinOpKind::Concat => Err(Fault::at(
            span,
            "templates do not support `~`: write one value after the other, {{ a }}{{ b }}",
        )),
        BinOpKind::Mul | BinOpKind::Pow => Err(Fault::at(span, "templates do not support `*` and `**`")),
        BinOpKind::Add if !number(&operation.left) && !number(&operation.right) => Err(Fault::at(
            span,
            "`+` takes a number on one side, as in {{ loop.index + 1 }}: write one value after the other, {{ a }}{{ b }}",
        )),
        BinOpKind::Eq
        | BinOpKind::Ne
        | BinOpKind::Lt
        | BinOpKind::Lte
        | BinOpKind::Gt
        | BinOpKind::Gte
        | BinOpKind::ScAnd
        | BinOpKind::ScOr
        | BinOpKind::Add
        | BinOpKind::Sub
        | BinOpKind::Div
        | BinOpKind::FloorDiv
        | BinOpKind::Rem
        | BinOpKind::In => Ok(()),
    }
}

/// The expressions that one is made of.
pub(super) fn parts<'e, 's>(expression: &'e Expr<'s>) -> Vec<&'e Expr<'s>> {
    let given = |args: &'e [CallArg<'s>]| {
        args.iter().map(|arg| match arg {
            CallArg::Pos(value)
            | CallArg::Kwarg(_, value)
            | CallArg::PosSplat(value)
            | CallArg::KwargSplat(value) => value,
        })
    };
    match expression {
        Expr::Var(_) | Expr::Const(_) => Vec::new(),
        Expr::Slice(slice) => {
            std::iter::once(&slice.expr).chain(&slice.start).chain(&slice.stop).chain(&slice.step).collect()
        }
        Expr::UnaryOp(operation) => vec![&operation.expr],
        Expr::BinOp(operation) => vec![&operation.left, &operation.right],
        Expr::Compare(compare) => {
            std::iter::once(&compare.expr).chain(compare.ops.iter().map(|one| &one.expr)).collect()
        }
        Expr::IfExpr(cond) => {
            [&cond.test_expr, &cond.true_expr].into_iter().chain(&cond.false_expr).collect()
        }
        Expr::Filter(filter) => filter.expr.iter().chain(given(&filter.args)).collect(),
        Expr::Test(test) => std::iter::once(&test.expr).chain(given(&test.args)).collect(),
        Expr::GetAttr(of) => vec![&of.expr],
        Expr::GetItem(of) => vec![&of.expr, &of.subscript_expr],
        Expr::Call(call) => std::iter::once(&call.expr).chain(given(&call.args)).collect(),
        Expr::List(list) => list.items.iter().collect(),
        Expr::Tuple(tuple) => tuple.items.iter().collect(),
        Expr::Map(map) => map.keys.iter().chain(&map.values).collect(),
    }
}
