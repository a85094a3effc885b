//! Long lines, broken between words.

use super::waiting::columns_of;

/// Space between two cells of a row.
const GAP: usize = 2;
/// Minimum width of a second cell beside the first one.
const MIN_SECOND: usize = 20;

/// The words of a text, with the space after each. A command in backticks is one word: people copy it.
pub(super) fn words(text: &str) -> Vec<&str> {
    let mut within = false;
    let ends = |char: char| {
        within ^= char == '`';
        char == ' ' && !within
    };
    text.split_inclusive(ends).collect()
}

/// The words in lines of at most so many columns, but for words that are longer. Lines after the first are indented.
pub(super) fn wrapped(words: &[&str], indent: usize, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for word in words.iter().flat_map(|word| fitting(word, indent + width(word.trim_end()) <= columns)) {
        // Space at the beginning stays as it is.
        if !line.trim().is_empty() && used + width(word.trim_end()) > columns {
            lines.push(line.trim_end().to_owned());
            line = " ".repeat(indent);
            used = indent;
        }
        line.push_str(word);
        used += width(word);
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// Rows of two cells in lines of at most so many columns. A second cell breaks within its column, or stands below the first one where
/// that leaves too little room.
pub(super) fn pairs(rows: &[[String; 2]], indent: usize, columns: usize) -> Vec<String> {
    let widest = rows.iter().map(|[first, _]| width(first)).max().unwrap_or(0);
    let column = indent + widest + GAP;
    let in_row = column.saturating_add(MIN_SECOND) <= columns;
    let at = if in_row { column } else { indent + GAP };
    let row = |[first, second]: &[String; 2]| {
        let head = format!("{}{first}", " ".repeat(indent));
        let second = format!("{}{second}", " ".repeat(at));
        let mut lines = wrapped(&words(&second), at, columns);
        match lines.first_mut().filter(|_| in_row) {
            Some(line) => *line = format!("{head}{}", line.get(width(&head)..).unwrap_or_default()),
            None => lines.insert(0, head),
        }
        lines
    };
    rows.iter().flat_map(row).collect()
}

fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// The word as it is, or where it does not fit on a line, the words in it.
fn fitting(word: &str, fits: bool) -> Vec<&str> {
    if fits { vec![word] } else { word.split_inclusive(' ').collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, indent: usize, columns: usize) -> Vec<String> {
        wrapped(&words(text), indent, columns)
    }

    #[test]
    fn lines_break_between_words_and_fit() {
        assert_eq!(lines("a bc def", 2, 80), ["a bc def"]);
        assert_eq!(lines("a bc def", 2, 6), ["a bc", "  def"]);
        assert_eq!(lines("a bc def", 2, 4), ["a bc", "  def"]);
        assert_eq!(lines("  ollama  serve it", 4, 12), ["  ollama", "    serve it"]);
        // A word that is too long stays whole: a terminal breaks it.
        assert_eq!(lines("a abcdefgh b", 1, 4), ["a", " abcdefgh", " b"]);
        assert_eq!(lines("\u{6771}\u{4eac} x", 0, 4), ["\u{6771}\u{4eac}", "x"]);
        assert_eq!(lines("", 2, 10), [""]);
    }

    #[test]
    fn a_command_stays_on_a_line_if_it_fits_on_one() {
        assert_eq!(lines("type `a b c` now", 2, 12), ["type `a b c`", "  now"]);
        assert_eq!(lines("type `a b c` now", 2, 10), ["type", "  `a b c`", "  now"]);
        assert_eq!(lines("type `a b c` now", 2, 8), ["type `a", "  b c`", "  now"]);
        assert_eq!(wrapped(&["a B, ", "c D"], 2, 6), ["a B,", "  c D"]);
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
