//! Sources that break parsers: generated, because they are long.

use std::fmt::Write as _;

use proptest::prelude::*;
use windlass_code::{FailureKind, Limits, Program};

use crate::support::run_with;

/// A pattern, repeated so that it fills a source of the maximum size.
fn filled(before: &str, part: &str, after: &str) -> String {
    let most = Limits::default().source_bytes;
    let times = most.saturating_sub(before.len()) / (part.len() + after.len());
    format!("{before}{}1{}", part.repeat(times), after.repeat(times)).chars().take(most).collect()
}

/// Numbered parts.
fn numbered(times: usize, part: fn(usize) -> String) -> String {
    (0..times).map(part).collect::<Vec<_>>().concat()
}

#[tokio::test]
async fn no_source_breaks_the_child() {
    let mut sources = vec![
        ("parentheses", filled("", "(", ")")),
        ("open parentheses", filled("", "(", "")),
        ("lists", filled("x = ", "[", "]")),
        ("dicts", filled("x = ", "{0:", "}")),
        ("sets in text", filled("x = f'", "{", "}")),
        ("signs", filled("x = ", "-", "")),
        ("nots", filled("x = ", "not ", "")),
        ("awaits", filled("x = ", "await ", "")),
        ("sums", filled("x = ", "1+", "")),
        ("powers", filled("x = ", "1**", "")),
        ("comparisons", filled("x = ", "1<", "")),
        ("ands", filled("x = ", "1 and ", "")),
        ("conditions", filled("x = ", "1 if 1 else ", "")),
        ("lambdas", filled("x = ", "lambda:", "")),
        ("walruses", filled("", "(x:=", ")")),
        ("attributes", filled("x", ".a", "")),
        ("calls", filled("x", "()", "")),
        ("calls in calls", filled("", "add(", ")")),
        ("subscripts", filled("x", "[0]", "")),
        ("subscripts in subscripts", filled("", "x[", "]")),
        ("stars", filled("print(", "*", ")")),
        ("starred", filled("x = ", "*", "")),
        ("chained assignment", filled("", "x=", "")),
        ("elifs", format!("if 1: pass\n{}", "elif 1: pass\n".repeat(4000))),
        ("decorators", format!("{}def f(): pass", "@f\n".repeat(20_000))),
        ("one name", "x".repeat(60_000)),
        ("one number", "9".repeat(60_000)),
        ("one text", format!("'{}'", "x".repeat(60_000))),
        ("texts side by side", "'x'".repeat(20_000)),
        ("escapes", format!("'{}'", "\\x41".repeat(15_000))),
        ("named characters", format!("'{}'", "\\N{BULLET}".repeat(5_000))),
        ("many names", numbered(9_000, |i| format!("a{i}=1\n"))),
        ("many functions", numbered(4_000, |i| format!("def f{i}():0\n"))),
        ("many arguments", format!("print({})", "1,".repeat(30_000))),
        ("many keywords", format!("dict({})", numbered(6_000, |i| format!("a{i}=1,")))),
        ("many parameters", format!("def f({}): pass", numbered(8_000, |i| format!("a{i},")))),
        ("many targets", format!("{}=x", "a,".repeat(30_000))),
        ("many loops in a comprehension", format!("[0 {}]", "for x in y ".repeat(5_000))),
        ("nested comprehensions", filled("", "[0 for x in ", "]")),
        ("many strings in f-strings", format!("f'{}'", "{1}".repeat(20_000))),
        ("semicolons", "1;".repeat(30_000)),
        ("empty lines", "\n".repeat(65_000)),
        ("backslashes", "\\\n".repeat(30_000)),
        ("tabs", format!("if 1:\n{}1", "\t".repeat(60_000))),
        ("a zero byte", "x = 1\0\nimport os".to_owned()),
        ("only a zero byte", "\0".to_owned()),
        ("a byte order mark in the middle", "x\u{feff} = 1".to_owned()),
        ("line separators", "x = 1\u{2028}y = 2\u{85}z = 3".to_owned()),
        ("carriage returns", "x = 1\ry = 2\r\nreturn x + y".to_owned()),
        ("form feeds", "\x0c\x0cimport math\x0c".to_owned()),
        ("escape sequences", "print('\x1b[2J')".to_owned()),
        ("lone surrogates", "'\\ud800'".to_owned()),
    ];
    for keyword in ["if 1", "while 1", "for x in y", "try", "with x", "def f()", "class A", "async def f()"] {
        let mut nested = String::new();
        for depth in 0..300 {
            let _ = writeln!(nested, "{}{keyword}:", " ".repeat(depth));
        }
        let _ = write!(nested, "{}pass", " ".repeat(300));
        sources.push((keyword, nested));
    }
    let limits = Limits { seconds: 1.0, ..Limits::default() };
    for (name, source) in sources {
        let program = Program::new(source).function(windlass_code::Function::new("add", ["a", "b"]));
        let ran = run_with(&limits, program).await;
        if let Err(failure) = &ran.ended {
            assert_ne!(failure.kind, FailureKind::Crashed, "{name}: {}", failure.message);
            assert!(failure.message.len() < 50_000, "{name}: {} bytes", failure.message.len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_bytes_as_source_end_in_a_value_or_a_failure(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let source = String::from_utf8_lossy(&bytes).into_owned();
        let limits = Limits { seconds: 1.0, ..Limits::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ran = runtime.block_on(run_with(&limits, Program::new(source)));
        if let Err(failure) = ran.ended {
            prop_assert_ne!(failure.kind, FailureKind::Crashed, "{}", failure.message);
        }
    }
}
