//! Invisible characters and characters that change how others are displayed.

/// Unicode's `Default_Ignorable_Code_Point`s, its format characters (`Cf`), and its separators of lines and paragraphs, in
/// order. A test compares them with the Unicode tables of the pattern engine.
const UNSEEN: [(char, char); 25] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether a character is invisible: default-ignorable, a format character, or a line or paragraph separator. Control
/// characters are excluded.
pub fn is_unseen(char: char) -> bool {
    let after = UNSEEN.partition_point(|(first, _)| *first <= char);
    after.checked_sub(1).and_then(|at| UNSEEN.get(at)).is_some_and(|(_, last)| char <= *last)
}

#[cfg(test)]
mod tests {
    use regex_syntax::hir::{Class, HirKind};

    use super::is_unseen;

    #[test]
    fn the_table_is_that_of_unicode() {
        let pattern = r"[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Zl}\p{Zp}]";
        let hir = regex_syntax::parse(pattern).expect("a pattern");
        let HirKind::Class(Class::Unicode(class)) = hir.kind() else { panic!("{hir:?}") };
        let of_unicode = |char: char| class.iter().any(|range| (range.start()..=range.end()).contains(&char));
        let differ = ('\0'..=char::MAX).filter(|char| is_unseen(*char) != of_unicode(*char));
        assert_eq!(
            differ.map(|char| char.escape_unicode().to_string()).collect::<Vec<_>>(),
            Vec::<String>::new()
        );
    }
}
