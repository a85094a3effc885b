use proptest::prelude::*;

use super::*;

fn texts(rows: &[Line<'_>]) -> Vec<String> {
    rows.iter().map(|row| row.spans.iter().map(|span| &*span.content).collect()).collect()
}

fn cut(text: &str, columns: usize) -> Vec<String> {
    texts(&wrapped(&[Span::raw(text)], columns, &Margin::default(), Cut::Words))
}

#[test]
fn rows_are_cut_at_words_by_display_width() {
    assert_eq!(cut("one two three", 8), ["one two", "three"]);
    assert_eq!(cut("one  two", 4), ["one", "two"]);
    assert_eq!(cut("", 8), [""]);
    assert_eq!(cut("a\n\nb", 8), ["a", "", "b"]);
    // A word that is longer than a row is cut.
    assert_eq!(cut("ab abcdefghij", 4), ["ab", "abcd", "efgh", "ij"]);
    // Wide characters take two columns, and may be cut anywhere (UAX 14).
    assert_eq!(cut("東京都庁", 5), ["東京", "都庁"]);
    // A family of several characters is one, and so is a letter with its accents.
    assert_eq!(cut("👨\u{200d}👩\u{200d}👧👨\u{200d}👩\u{200d}👧", 3).len(), 2);
    assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), ["e\u{301}e\u{301}", "e\u{301}"]);
    assert_eq!(cut("a\tb", 20), ["a    b"]);
}

#[test]
fn text_to_copy_from_is_cut_at_spaces() {
    let cut = |text: &str, indent: usize, columns: usize| {
        let margin = Margin { first: Vec::new(), rest: vec![Span::raw(" ".repeat(indent))] };
        texts(&wrapped(&[Span::raw(text)], columns, &margin, Cut::Spaces))
    };
    assert_eq!(cut("a bc def", 2, 80), ["a bc def"]);
    assert_eq!(cut("a bc def", 2, 6), ["a bc", "  def"]);
    assert_eq!(cut("a bc def", 2, 4), ["a bc", "  def"]);
    assert_eq!(cut("  ollama  serve it", 4, 12), ["  ollama", "    serve it"]);
    assert_eq!(cut("", 2, 10), [""]);
    // A path or an option is no place to break; a word that is too long stays whole, unless its script breaks without spaces.
    assert_eq!(cut("at a/b-c/d", 1, 8), ["at", " a/b-c/d"]);
    assert_eq!(cut("a abcdefgh b", 1, 4), ["a", " abcdefgh", " b"]);
    assert_eq!(cut("東京 x", 0, 4), ["東京", "x"]);
    assert_eq!(cut("x 東京都庁", 0, 5), ["x 東", "京都", "庁"]);
    // A command stays on a row if it fits on one.
    assert_eq!(cut("type `a b c` now", 2, 12), ["type `a b c`", "  now"]);
    assert_eq!(cut("type `a b c` now", 2, 10), ["type", "  `a b c`", "  now"]);
    let long = "`a b c d e f` or `g h`";
    assert_eq!(cut("type `a b c` now", 2, 8), ["type `a", "  b c`", "  now"]);
    assert_eq!(cut(long, 0, 8), ["`a b c d", "e f` or", "`g h`"]);
    let whole = texts(&wrapped(&[Span::raw(long)], 8, &Margin::default(), Cut::Commands));
    assert_eq!(whole, ["`a b c d e f`", "or `g h`"]);
    // A mark that nothing closes holds nothing together.
    assert_eq!(cut("one ` two three", 0, 8), ["one `", "two", "three"]);
}

#[test]
fn margins_stand_before_rows_and_styles_stay_with_their_text() {
    let margin = Margin { first: vec![Span::raw("- ")], rest: vec![Span::raw("  ")] };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let rows = wrapped(&[Span::raw("one "), Span::styled("two three", bold)], 8, &margin, Cut::Words);
    assert_eq!(texts(&rows), ["- one", "  two", "  three"]);
    assert_eq!(encoded(&rows[1], true), "  \u{1b}[1mtwo\u{1b}[0m");
    let code = wrapped(&[Span::raw("let x = 1;")], 6, &Margin::default(), Cut::Anywhere);
    assert_eq!(texts(&code), ["let x ", "= 1;"]);
}

#[test]
fn colours_are_left_out_where_there_are_none_and_weights_stay() {
    let style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);
    let row = Line::from(vec![Span::styled("x", style), Span::styled("y", Style::new().fg(Color::Red))]);
    assert_eq!(encoded(&row, true), "\u{1b}[1;36mx\u{1b}[0m\u{1b}[31my\u{1b}[0m");
    assert_eq!(encoded(&row, false), "\u{1b}[1mx\u{1b}[0my");
}

#[test]
fn e12_no_text_steers_the_terminal() {
    let hostile = "a\u{1b}]0;title\u{7}b\u{202e}c\u{9b}2J";
    let shown = encoded(&wrapped(&[Span::raw(hostile)], 200, &Margin::default(), Cut::Words)[0], true);
    assert_eq!(shown, "a\\u{1b}]0;title\\u{7}b\\u{202e}c\\u{9b}2J");
    assert_eq!(encoded(&Line::from(hostile), true), shown);
    assert_eq!(fitted("a\u{1b}[2J\nb", 20), "a\\u{1b}[2J b");
}

#[test]
fn a_text_is_fitted_with_a_mark_for_the_rest() {
    assert_eq!(fitted("waiting", 7), "waiting");
    assert_eq!(fitted("waiting", 5), "wait…");
    assert_eq!(fitted("東京都", 4), "東…");
    assert_eq!(fitted("ab", 0), "");
}

proptest! {
    #[test]
    fn no_row_is_too_wide_and_nothing_but_spaces_is_lost(text in "[ a-z東\u{301}👩\u{200d}-]{0,60}", columns in 2_usize..30) {
        let rows = cut(&text, columns);
        for row in &rows {
            // What belongs together stays so, even where it is wider than a row.
            let one = row.graphemes(true).count() == 1;
            prop_assert!(width(row) <= columns || one, "{row:?}");
        }
        let kept = |text: &str| text.chars().filter(|char| *char != ' ').collect::<String>();
        prop_assert_eq!(kept(&rows.concat()), kept(&text));
    }
}
