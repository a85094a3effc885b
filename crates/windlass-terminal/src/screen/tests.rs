use std::num::NonZero;

use super::*;

fn size(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).unwrap()
}

/// A terminal of that size, and what it shows with what has gone to its scrollback.
struct Seen {
    terminal: vt100::Parser,
    screen: Screen,
}

impl Seen {
    fn new(rows: u16, columns: u16) -> Self {
        Self { terminal: vt100::Parser::new(size(rows), size(columns), 1_000), screen: Screen::default() }
    }

    fn frame(&mut self, above: &str, rows: &[&str], cursor: Option<(usize, usize)>) {
        let columns = usize::from(self.columns());
        let rows = rows.iter().map(|row| ((*row).to_owned(), row.len())).collect();
        let frame = self.screen.frame(above, Tail { rows, cursor }, columns);
        self.terminal.process(frame.as_bytes());
    }

    fn columns(&self) -> u16 {
        self.terminal.screen().size().1.get()
    }

    fn rows(&self) -> Vec<String> {
        let columns = self.columns();
        let mut rows: Vec<String> = self.terminal.screen().rows(0, columns).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// All rows that have left the screen, from the oldest on.
    fn scrollback(&mut self) -> Vec<String> {
        let columns = self.columns();
        self.terminal.screen_mut().set_scrollback(usize::MAX);
        let mut left = Vec::new();
        for back in (1..=self.terminal.screen().scrollback()).rev() {
            self.terminal.screen_mut().set_scrollback(back);
            left.extend(self.terminal.screen().rows(0, columns).next());
        }
        self.terminal.screen_mut().set_scrollback(0);
        left
    }
}

#[test]
fn finished_text_goes_above_the_tail_once() {
    let mut seen = Seen::new(6, 20);
    seen.frame("", &["> typing", "status"], Some((0, 8)));
    seen.frame("one\ntwo\n", &["> typing", "status"], Some((0, 8)));
    assert_eq!(seen.rows(), ["one", "two", "> typing", "status"]);
    assert_eq!(seen.terminal.screen().cursor_position(), (2, 8));
    for number in 0..20 {
        seen.frame(&format!("line {number}\n"), &["> typing", "status"], Some((0, 8)));
    }
    assert_eq!(seen.rows(), ["line 16", "line 17", "line 18", "line 19", "> typing", "status"]);
    let scrollback = seen.scrollback();
    assert_eq!(scrollback.len(), 18);
    assert!(!scrollback.iter().any(|row| row.contains("typing") || row.contains("status")), "{scrollback:?}");
}

#[test]
fn the_tail_grows_and_shrinks_in_place() {
    let mut seen = Seen::new(8, 20);
    seen.frame("text", &["a"], None);
    seen.frame("", &["a", "b", "c"], Some((1, 1)));
    assert_eq!(seen.rows(), ["text", "a", "b", "c"]);
    seen.frame("", &["x", "c"], Some((1, 0)));
    assert_eq!(seen.rows(), ["text", "x", "c"]);
    seen.frame("", &[], None);
    assert_eq!(seen.rows(), ["text"]);
    seen.frame("more", &["z"], None);
    assert_eq!(seen.rows(), ["text", "more", "z"]);
}

#[test]
fn only_rows_that_have_changed_are_written() {
    let mut screen = Screen::default();
    let tail = |first: &str| Tail {
        rows: vec![(first.to_owned(), 1), ("status".to_owned(), 6)],
        cursor: Some((0, 1)),
    };
    let _first = screen.frame("", tail("a"), 80);
    let second = screen.frame("", tail("b"), 80);
    assert!(second.contains('b') && !second.contains("status"), "{second:?}");
    assert!(second.starts_with(BEGIN) && second.ends_with(END));
    assert!(!second.contains("\x1b[J"), "nothing is cleared that would flicker: {second:?}");
}

#[test]
fn a_narrower_terminal_wraps_the_tail_and_it_is_drawn_anew_over_all_its_rows() {
    // What a terminal that wraps anew shows after the change: the row of 12 columns takes two of 8.
    let mut seen = Seen::new(8, 8);
    seen.screen.frame(
        "",
        Tail { rows: vec![("123456789012".to_owned(), 12), ("st".to_owned(), 2)], cursor: Some((1, 2)) },
        20,
    );
    seen.terminal.process(b"text\r\n12345678\r\n9012\r\nst");
    seen.frame("", &["12345678", "9012", "st"], Some((2, 2)));
    assert_eq!(seen.rows(), ["text", "12345678", "9012", "st"]);
}

#[test]
fn leaving_takes_the_tail_away_and_shows_the_cursor() {
    let mut seen = Seen::new(6, 20);
    seen.frame("text\n", &["> typing", "status"], None);
    assert!(seen.terminal.screen().hide_cursor());
    let left = seen.screen.leave("", 20);
    seen.terminal.process(left.as_bytes());
    assert_eq!(seen.rows(), ["text"]);
    assert_eq!(seen.terminal.screen().cursor_position(), (1, 0));
    assert!(!seen.terminal.screen().hide_cursor());
}
