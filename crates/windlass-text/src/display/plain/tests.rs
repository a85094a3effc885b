use super::*;

#[test]
fn e12_text_that_steers_a_terminal_is_shown_as_escapes() {
    for (text, shown) in [
        ("plain text, grüße, 日本語\n\tnext", "plain text, grüße, 日本語\n\tnext"),
        ("\x1b[31mred\x1b[0m", "\\u{1b}[31mred\\u{1b}[0m"),
        ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
        ("\x1b]52;c;aGk=\x1b\\", "\\u{1b}]52;c;aGk=\\u{1b}\\"),
        ("\u{9b}2J one byte CSI", "\\u{9b}2J one byte CSI"),
        ("over\rwritten", "over\\u{d}written"),
        ("dos\r\nlines\r\n", "dos\nlines\n"),
        ("back\x08space del\x7f nul\0", "back\\u{8}space del\\u{7f} nul\\u{0}"),
        ("evil\u{202e}txt.exe\u{2066}", "evil\\u{202e}txt.exe\\u{2066}"),
        ("a\u{2028}b\u{2029}c\u{200b}d\u{feff}", "a\\u{2028}b\\u{2029}c\\u{200b}d\\u{feff}"),
        ("tag\u{e0041}", "tag\\u{e0041}"),
        ("\u{180e}\u{115f}\u{3164}\u{ffa0}", "\\u{180e}\\u{115f}\\u{3164}\\u{ffa0}"),
        ("soft\u{ad}hyphen \u{34f}\u{e0100}", "soft\\u{ad}hyphen \\u{34f}\\u{e0100}"),
        // A family, a heart in its colour, and a word that needs its joiner.
        ("👨\u{200d}👩 ❤\u{fe0f} می\u{200c}خواهم", "👨\u{200d}👩 ❤\u{fe0f} می\u{200c}خواهم"),
    ] {
        assert_eq!(plain(text), shown);
        assert_eq!(plain(shown), shown, "showing twice changes nothing");
    }
    assert!(matches!(plain("as it is"), Cow::Borrowed("as it is")));
}

#[test]
fn a_line_of_the_log_is_one_line() {
    assert_eq!(on_one_line("a\nWARN forged\ttab"), "a\\u{a}WARN forged\\u{9}tab");
    assert!(matches!(on_one_line("as it is"), Cow::Borrowed("as it is")));
}

#[test]
fn json_means_the_same_and_steers_nothing() {
    let value =
        serde_json::json!({ "k\u{202e}": "\x1b[2J \u{9b} \x7f \u{e0041} \u{2028} 👨\u{200d}👩 \"\\\n" });
    let shown = in_json(&value.to_string()).into_owned();
    assert!(!shown.contains(steers), "{shown}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    assert!(matches!(in_json("{\"a\":1}"), Cow::Borrowed("{\"a\":1}")));
}
