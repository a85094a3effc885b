//! What the derive makes of the forms of its attribute.

use std::error::Error as _;

use windlass_error::{Diagnostic, Kind, in_full};

#[derive(Debug, thiserror::Error, Diagnostic)]
enum Inner {
    #[error("no book {title} on shelf {_1}", _1 = .shelf)]
    #[diagnostic(kind = NotFound, code = "inner.no_book", help = "order {title}; shelf {shelf} has {{room}}")]
    NoBook { title: String, shelf: u8 },
    #[error("too many: {0}")]
    #[diagnostic(kind = Exhausted, code = "inner.many", help = (*_0 > 9).then(|| format!("give back {}", _0 - 9)))]
    Many(u8),
    #[error("closed")]
    #[diagnostic(kind = Unavailable, code = "inner.closed", help = "come back tomorrow")]
    Closed,
    #[error("as it came: {code}")]
    #[diagnostic(kind = by_code(code), code = code)]
    Other { code: &'static str },
}

fn by_code(code: &str) -> Kind {
    if code == "other.bug" { Kind::Internal } else { Kind::Invalid }
}

#[derive(Debug, thiserror::Error, Diagnostic)]
enum Outer {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Alone(#[from] Inner),
    #[error("reader {reader} is sent away")]
    #[diagnostic(transparent)]
    Sourced { reader: u8, source: Box<Inner> },
    #[error("reader {reader} waits")]
    #[diagnostic(transparent, kind = Conflict, help = "reader {reader} comes first")]
    Changed { reader: u8, source: Inner },
    #[error("from {cause}")]
    #[diagnostic(transparent = cause, code = "outer.named")]
    Named { reader: u8, cause: Inner },
    #[error("nothing more")]
    #[diagnostic(kind = Forbidden, code = "outer.help_of_source", help = source.help())]
    HelpOnly { source: Inner },
}

#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("line {line}")]
#[diagnostic(kind = Invalid, code = "line.bad", help = "look at line {line}")]
struct Line {
    line: u32,
}

#[derive(Debug, thiserror::Error, Diagnostic)]
#[error(transparent)]
#[diagnostic(transparent)]
struct Wrapped(Inner);

fn said(error: &dyn Diagnostic) -> (Kind, &'static str, Option<String>) {
    (error.kind(), error.code(), error.help().map(std::borrow::Cow::into_owned))
}

fn no_book() -> Inner {
    Inner::NoBook { title: "Emma".to_owned(), shelf: 3 }
}

#[test]
fn kind_code_and_help_stand_beside_the_variant() {
    let help = Some("order Emma; shelf 3 has {room}".to_owned());
    assert_eq!(said(&no_book()), (Kind::NotFound, "inner.no_book", help.clone()));
    assert_eq!(said(&Inner::Many(9)), (Kind::Exhausted, "inner.many", None));
    assert_eq!(said(&Inner::Many(11)).2.as_deref(), Some("give back 2"));
    assert_eq!(said(&Inner::Closed).2.as_deref(), Some("come back tomorrow"));
    assert_eq!(said(&Inner::Other { code: "other.bug" }), (Kind::Internal, "other.bug", None));
    assert_eq!(said(&Inner::Other { code: "other.file" }).0, Kind::Invalid);
    assert_eq!(said(&Line { line: 7 }), (Kind::Invalid, "line.bad", Some("look at line 7".to_owned())));
    assert_eq!(said(&Wrapped(no_book())), (Kind::NotFound, "inner.no_book", help));
}

#[test]
fn a_transparent_variant_says_what_its_cause_says_unless_it_knows_better() {
    assert_eq!(said(&Outer::from(Inner::Closed)), said(&Inner::Closed));
    assert_eq!(said(&Outer::Sourced { reader: 1, source: Box::new(no_book()) }), said(&no_book()));
    let changed = Outer::Changed { reader: 1, source: no_book() };
    assert_eq!(said(&changed), (Kind::Conflict, "inner.no_book", Some("reader 1 comes first".to_owned())));
    let named = Outer::Named { reader: 1, cause: Inner::Closed };
    assert_eq!(said(&named), (Kind::Unavailable, "outer.named", Some("come back tomorrow".to_owned())));
    let help_only = Outer::HelpOnly { source: no_book() };
    assert_eq!(said(&help_only).2, said(&no_book()).2);
    assert!(help_only.source().is_some());
    assert_eq!(in_full(&help_only), "nothing more: no book Emma on shelf 3");
}

#[test]
fn the_names_of_kinds_are_stable() {
    let names: Vec<_> = Kind::ALL.iter().map(ToString::to_string).collect();
    let stable = ["invalid", "not_found", "conflict", "forbidden", "exhausted", "unavailable", "internal"];
    assert_eq!(names, stable);
}
