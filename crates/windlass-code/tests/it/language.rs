//! What there is of Python: the cases of `tests/python`, and the table of `docs/code.md` that is made of them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use windlass_code::FailureKind;

use crate::cases::{cases, check, files};

const START: &str =
    "<!-- made by a test: WINDLASS_UPDATE=1 cargo nextest run -p windlass-code language -->\n";
const END: &str = "<!-- end -->\n";

#[tokio::test]
async fn python_is_as_the_cases_say() {
    check("python", |case, ran| {
        if let Err(failure) = &ran.ended {
            assert_ne!(failure.kind, FailureKind::Crashed, "{}: {}", case.name, failure.message);
        }
    })
    .await;
}

/// A row: the feature, and that it works or its error.
fn row(name: &str, outcome: &str) -> String {
    let said = outcome.split(" | ").next().unwrap_or_default();
    let cell = match said.split_once(": ") {
        Some((head, error)) if !head.starts_with("done") => {
            let (error, hint) = error.split_once(" (hint: ").unwrap_or((error, ")"));
            let hint = match hint.split_once(". Modules:") {
                Some((hint, _)) => hint,
                None => hint.strip_suffix(')').unwrap_or(hint),
            };
            let hint = if hint.is_empty() { String::new() } else { format!(". *{hint}*") };
            format!("{error}{hint}").replace('|', "\\|")
        }
        _ => "works".to_owned(),
    };
    format!("| {} | {cell} |\n", name.replace('|', "\\|"))
}

#[test]
fn the_page_lists_all_cases() {
    let mut table = String::new();
    for file in files("python") {
        let title = file.file_stem().unwrap().to_str().unwrap();
        let title = title[..1].to_uppercase() + &title[1..];
        let _ = write!(table, "\n### {title}\n\n| of Python | here |\n|---|---|\n");
        for case in cases(&file) {
            table.push_str(&row(&case.name, &case.outcome));
        }
    }
    table.push('\n');
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/code.md");
    let text = fs::read_to_string(&page).unwrap();
    let (head, rest) = text.split_once(START).unwrap();
    let (found, tail) = rest.split_once(END).unwrap();
    if std::env::var_os("WINDLASS_UPDATE").is_some() {
        fs::write(&page, format!("{head}{START}{table}{END}{tail}")).unwrap();
    } else {
        assert_eq!(
            found, table,
            "make the page anew: WINDLASS_UPDATE=1 cargo nextest run -p windlass-code language"
        );
    }
}
