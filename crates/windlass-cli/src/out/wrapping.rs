//! Long lines on a terminal, broken between words.

use windlass_terminal::Span;
use windlass_terminal::rows::{Cut, Margin, encoded, width, wrapped};

/// Space between two cells of a row.
const GAP: usize = 2;
/// Minimum width of a second cell beside the first one.
const MIN_SECOND: usize = 20;

/// A text in lines of at most so many columns. Those after the first are indented.
pub(super) fn lines(text: &str, indent: usize, columns: usize) -> Vec<String> {
    behind(String::new(), text, indent, columns)
}

/// The same behind what stands before the first line.
fn behind(before: String, text: &str, indent: usize, columns: usize) -> Vec<String> {
    let margin = Margin { first: vec![Span::raw(before)], rest: indented(indent) };
    let rows = wrapped(&[Span::raw(text)], columns, &margin, Cut::Spaces);
    rows.iter().map(|row| encoded(row, false).trim_end().to_owned()).collect()
}

/// The same of a text with styles, whose commands are always whole.
pub(super) fn styled_lines(text: &[Span<'_>], indent: usize, columns: usize, colours: bool) -> Vec<String> {
    let margin = Margin { first: Vec::new(), rest: indented(indent) };
    wrapped(text, columns, &margin, Cut::Commands).iter().map(|row| encoded(row, colours)).collect()
}

fn indented(columns: usize) -> Vec<Span<'static>> {
    vec![Span::raw(" ".repeat(columns))]
}

/// Rows of two cells in lines of at most so many columns. A second cell breaks within its column, or stands below the first one where
/// that leaves too little room.
pub(super) fn pairs(rows: &[[String; 2]], indent: usize, columns: usize) -> Vec<String> {
    let widest = rows.iter().map(|[first, _]| width(first)).max().unwrap_or(0);
    let column = indent + widest + GAP;
    let in_row = column.saturating_add(MIN_SECOND) <= columns;
    let row = |[first, second]: &[String; 2]| {
        let head = format!("{}{first}", " ".repeat(indent));
        if in_row {
            let gap = " ".repeat(column - width(&head));
            return behind(head + &gap, second, column, columns);
        }
        let at = indent + GAP;
        std::iter::once(head).chain(behind(" ".repeat(at), second, at, columns)).collect()
    };
    rows.iter().flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_after_the_first_are_indented() {
        assert_eq!(lines("type `a b c` now", 2, 12), ["type `a b c`", "  now"]);
        assert_eq!(behind("> ".to_owned(), "a bc", 4, 5), ["> a", "    bc"]);
        let red = windlass_terminal::Style::new().fg(windlass_terminal::Color::Red);
        let text = [Span::styled("a ", red), Span::raw("bc `d e f`")];
        assert_eq!(styled_lines(&text, 2, 4, true), ["\u{1b}[31ma \u{1b}[0mbc", "  `d e f`"]);
    }

    #[test]
    fn a_second_cell_breaks_within_its_column_or_stands_below() {
        let rows = [["a", "one two three four five six"], ["bcd", "`x y`"]].map(|row| row.map(str::to_owned));
        assert_eq!(pairs(&rows, 2, 80), ["  a    one two three four five six", "  bcd  `x y`"]);
        let broken = ["  a    one two three four", "       five six", "  bcd  `x y`"];
        assert_eq!(pairs(&rows, 2, 27), broken);
        let below = ["  a", "    one two three four", "    five six", "  bcd", "    `x y`"];
        assert_eq!(pairs(&rows, 2, 26), below);
        assert_eq!(pairs(&[["\u{6771}".to_owned(), "x".to_owned()]], 0, 80), ["\u{6771}  x"]);
    }
}
