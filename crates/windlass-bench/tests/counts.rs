//! Counts of a turn, a piece, an append and a run in flight, compared with the table `counts.txt`.

use std::path::Path;
use std::process::Command;

/// A figure may rise by so much without notice: a table grew, or a library counts otherwise.
const TOLERANCE: f64 = 1.02;

type Row = (String, f64);

fn rows(text: &str) -> Vec<Row> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let row = |line: &str| {
        let (name, value) = line.split_once(' ').unwrap();
        (name.to_owned(), value.trim().parse().unwrap())
    };
    lines.map(row).collect()
}

/// The difference between today's figures and the table, as lines for people; `None`: there is none.
fn differences(table: &[Row], today: &[Row]) -> Option<String> {
    let names = |rows: &[Row]| rows.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    if names(table) != names(today) {
        return Some(format!("the table has {:?}, counted were {:?}", names(table), names(today)));
    }
    let pairs = table.iter().zip(today);
    let words = |((name, before), (_, now)): (&Row, &Row)| {
        if *now > before * TOLERANCE {
            Some(format!("{name} rose from {before} to {now}: find what a turn pays for and does not use"))
        } else if now * TOLERANCE < *before {
            Some(format!("{name} fell from {before} to {now}: write it down with WINDLASS_UPDATE=1"))
        } else {
            None
        }
    };
    let found: Vec<String> = pairs.filter_map(words).collect();
    (!found.is_empty()).then(|| found.join("\n"))
}

#[test]
fn a_turn_costs_no_more_than_the_table_says() {
    let output = Command::new(env!("CARGO_BIN_EXE_windlass-bench-counts")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let today = rows(&String::from_utf8(output.stdout).unwrap());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.txt");
    let text = std::fs::read_to_string(&file).unwrap();
    let table = rows(&text);
    if std::env::var_os("WINDLASS_UPDATE").is_some() {
        let comments: String =
            text.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        let old =
            |name: &str| table.iter().find(|(known, _)| known == name).map_or(f64::MAX, |(_, value)| *value);
        // The table only falls by itself; somebody who raises a figure writes it by hand, with the reason in the commit.
        let lines: String =
            today.iter().map(|(name, value)| format!("{name} {:.1}\n", value.min(old(name)))).collect();
        std::fs::write(&file, comments + &lines).unwrap();
        return;
    }
    if let Some(words) = differences(&table, &today) {
        panic!("{words}");
    }
}

#[test]
fn a_rise_a_fall_and_a_figure_that_is_missing_are_told() {
    let table = rows("# a comment\nturn.bytes 100.0\nturn.allocations 10.0\n");
    let with = |bytes: f64| vec![("turn.bytes".to_owned(), bytes), ("turn.allocations".to_owned(), 10.0)];
    assert_eq!(differences(&table, &with(102.0)), None);
    assert!(differences(&table, &with(102.1)).unwrap().starts_with("turn.bytes rose from 100 to 102.1"));
    assert!(differences(&table, &with(98.0)).unwrap().starts_with("turn.bytes fell from 100 to 98"));
    assert!(differences(&table, &with(100.0)[..1]).unwrap().contains("the table has"));
}
