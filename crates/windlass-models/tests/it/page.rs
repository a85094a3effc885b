//! Tables of docs/models.md that are made of requests.

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models.md");

/// The head of a table with a column for each of these wires, behind a first one.
pub fn head<'n>(first: &str, wires: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<_> = wires.collect();
    format!("| {first} | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()))
}

/// Checks that the page has this table, or writes it there with `WINDLASS_UPDATE`. `test` is the name of the test that calls.
pub fn has(table: &str, test: &str) {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let first = table.split(" |").next().expect("the first cell");
    let start = page.find(&format!("{first} |")).expect("the table");
    let end = start + page[start..].find("\n\n").expect("its end");
    if std::env::var_os("WINDLASS_UPDATE").is_some() {
        let page = format!("{}{table}{}", &page[..start], &page[end..]);
        return std::fs::write(PAGE, page).expect("the page");
    }
    assert_eq!(
        &page[start..end],
        table,
        "docs/models.md is old: WINDLASS_UPDATE=1 cargo nextest run -p windlass-models {test}"
    );
}
