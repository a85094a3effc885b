//! Rows in the cells of a terminal, as ratatui's buffer lays them out: a row that takes more columns than it says is cut there.

use ratatui_core::backend::TestBackend;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::terminal::Terminal;
use ratatui_core::text::Line;
use windlass_terminal::input::{Editor, History};
use windlass_terminal::markdown::{Look, rendered};

const WIDTHS: [u16; 3] = [40, 80, 200];

/// The rows in a terminal that is so wide, with a cursor, and what each row of cells holds.
fn cells(
    rows: &[Line<'_>],
    columns: u16,
    cursor: Option<(usize, usize)>,
) -> (Terminal<TestBackend>, Vec<String>) {
    let height = u16::try_from(rows.len()).unwrap();
    let mut terminal = Terminal::new(TestBackend::new(columns, height)).unwrap();
    terminal
        .draw(|frame| {
            for (at, row) in (0_u16..).zip(rows) {
                frame.render_widget(row, Rect::new(0, at, columns, 1));
            }
            if let Some((row, column)) = cursor {
                let place = (u16::try_from(column).unwrap(), u16::try_from(row).unwrap());
                frame.set_cursor_position(Position::from(place));
            }
        })
        .unwrap();
    let buffer = terminal.backend().buffer();
    let text = (0..height).map(|row| {
        let (mut text, mut column) = (String::new(), 0);
        while column < columns {
            let symbol = buffer[(column, row)].symbol();
            text.push_str(symbol);
            // A wide character takes the next cell, too.
            column += u16::try_from(windlass_terminal::rows::width(symbol)).unwrap().max(1);
        }
        text.trim_end().to_owned()
    });
    let text = text.collect();
    (terminal, text)
}

fn text(row: &Line<'_>) -> String {
    row.spans.iter().map(|span| &*span.content).collect::<String>().trim_end().to_owned()
}

/// Snapshots the text in the cells at each width, and holds that nothing is cut at the edge.
fn snapshot(name: &str, source: &str) {
    for columns in WIDTHS {
        let look = Look { columns: usize::from(columns), unicode: true, colours: true };
        let rows = rendered(source, look);
        let (_, shown) = cells(&rows, columns, None);
        assert_eq!(shown, rows.iter().map(text).collect::<Vec<_>>(), "{columns} columns");
        insta::assert_snapshot!(format!("{name}_{columns}"), shown.join("\n"));
    }
}

#[test]
fn wide_characters_stand_at_the_edge_and_are_not_halved() {
    let wide = "東京都庁".repeat(15);
    snapshot(
        "wide",
        &format!(
            "x{wide}\n\n- {wide}\n\n> {wide}\n\n```\nx{wide}\n```\n\n{}\n",
            "👨\u{200d}👩\u{200d}👧".repeat(45)
        ),
    );
}

#[test]
fn combining_marks_and_text_from_right_to_left_take_the_columns_that_they_show() {
    let marked = "e\u{301}a\u{308}o\u{302}".repeat(30);
    snapshot(
        "marks",
        &format!(
            "{marked}\n\nशुक्रवार को बारिश होगी, {}\n\nשלום עולם, {}\n\nمرحبا بالعالم\n",
            "नमस्ते ".repeat(8),
            "שלום ".repeat(16)
        ),
    );
}

#[test]
fn lists_within_lists_keep_their_margins() {
    snapshot(
        "lists",
        "1. One whose text is longer than the narrowest of these terminals has room for\n   - two, with `code` and a [link](https://example.org/a/long/path/to/a/page) that wraps\n     1. three, which stands three levels in and wraps there as well, as often as it has to\n        - four 東京都庁東京都庁東京都庁東京都庁\n\n          ```rust\n          let line = \"of code that is longer than forty columns\";\n          ```\n2. And on\n   > quoted within an item, over more than one row of a narrow terminal\n",
    );
}

#[test]
fn a_table_that_is_wider_than_the_terminal_keeps_every_cell() {
    snapshot(
        "table",
        "| Name | Town | Country | Inhabitants | Founded | Language | Remark |\n|:--|:-:|---|--:|--:|---|---|\n| 東京 | 東京都 | 日本 | 14000000 | 1457 | 日本語 | [capital](https://example.org/tokyo) with e\u{301}clat |\n| Bergen | Bergen | Norge | 290000 | 1070 | Norsk | `rain` on 239 days of a year, which this cell says at length |\n",
    );
}

#[test]
fn a_draft_is_laid_out_with_its_cursor() {
    for columns in WIDTHS {
        let mut editor = Editor::new(History::read("", 0));
        let wide = "東京都庁".repeat(12);
        editor.paste(&format!(
            "e\u{301}cole x{wide}\n\tשלום 👨\u{200d}👩\u{200d}👧 \u{1b}[2J\n{}",
            "word ".repeat(30)
        ));
        let (rows, cursor) = editor.rows("> ", usize::from(columns), 10);
        let (mut terminal, shown) = cells(&rows, columns, Some(cursor));
        assert_eq!(shown, rows.iter().map(text).collect::<Vec<_>>(), "{columns} columns");
        insta::assert_snapshot!(format!("draft_{columns}"), shown.join("\n"));
        let place = terminal.get_cursor_position().unwrap();
        assert!(place.x < columns, "the cursor stands beyond the edge: {place:?}");
        // It stands behind the last character, with its space.
        let last = windlass_terminal::rows::row_width(rows.last().unwrap());
        assert_eq!((usize::from(place.x), usize::from(place.y)), (last, rows.len() - 1));
    }
}
