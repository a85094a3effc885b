use super::*;

fn shown(source: &str, columns: usize) -> String {
    let look = Look { columns, unicode: true, colours: true };
    let rows = rendered(source, look);
    rows.iter()
        .map(|row| row.spans.iter().map(|span| &*span.content).collect::<String>().trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn headings_paragraphs_and_lists() {
    insta::assert_snapshot!(shown(
        "# Title\nText with **bold**, *slanted* and `code`, which is longer than a row.\n\n\
         - one\n- two, which is longer than a row, too\n  1. first\n  2. second\n- three\n\n\
         3. third\n4. fourth\n\n- [x] done\n- [ ] open\n",
        40,
    ));
}

#[test]
fn loose_lists_quotes_and_nested_code() {
    insta::assert_snapshot!(shown(
        "- one\n\n  more of one\n\n- two\n\n  ```sh\n  ls -l\n  ```\n\n> quoted\n> - in a list\n>\n> twice\n\nafter\n",
        30,
    ));
}

#[test]
fn tables_by_display_width_and_as_lists_where_there_is_no_room() {
    let table = "| Town | Inhabitants | Remark |\n|:--|--:|:-:|\n| 東京 | 14000000 | a long remark that wraps |\n| Bergen | 290000 | `rain` |\n";
    insta::assert_snapshot!("table_80", shown(table, 80));
    insta::assert_snapshot!("table_40", shown(table, 40));
    insta::assert_snapshot!("table_16", shown(table, 16));
}

#[test]
fn links_show_their_address_once() {
    assert_eq!(shown("[text](https://a.b/c)", 60), "text (https://a.b/c)");
    assert_eq!(shown("<https://a.b/c>", 60), "https://a.b/c");
    assert_eq!(shown("![alt](i.png)", 60), "alt (i.png)");
    assert_eq!(shown("<ann@a.b>", 60), "ann@a.b");
}

#[test]
fn soft_line_ends_stay_and_html_is_shown() {
    assert_eq!(shown("Roses are red,\nviolets are blue.", 60), "Roses are red,\nviolets are blue.");
    assert_eq!(shown("a <b>c</b>\n\n<div>\nx\n</div>", 60), "a <b>c</b>\n\n<div>\nx\n</div>");
}

#[test]
fn without_unicode_and_colours_marks_are_ascii() {
    let look = Look { columns: 40, unicode: false, colours: false };
    let rows = rendered("- a `b`\n\n> c\n\n| x | y |\n|--|--|\n| 1 | 2 |\n\n---\n", look);
    let text: Vec<String> =
        rows.iter().map(|row| row.spans.iter().map(|span| &*span.content).collect()).collect();
    assert!(text.iter().all(|row| row.is_ascii()), "{text:?}");
    assert_eq!(text[0], "- a `b`");
}

#[test]
fn code_has_its_parts_apart() {
    let mut within = code::Within::Code;
    let lines = code::highlighted("rust", "let x = \"a\"; // b\n/* c\nd */ 7", &mut within);
    let parts: Vec<Vec<(&str, bool)>> = lines
        .iter()
        .map(|line| line.iter().map(|span| (&*span.content, span.style != Style::new())).collect())
        .collect();
    assert_eq!(parts[0], [("let", true), (" x = ", false), ("\"a\"", true), ("; ", false), ("// b", true)]);
    assert_eq!(parts[1], [("/* c", true)]);
    assert_eq!(parts[2], [("d */", true), (" ", false), ("7", true)]);
    let diff = code::highlighted("diff", "+a\n-b\n c", &mut code::Within::Code);
    assert_eq!(diff.len(), 3);
    assert_ne!(diff[0][0].style, diff[1][0].style);
}

#[test]
fn e12_entities_do_not_steer_the_terminal() {
    let look = Look { columns: 60, unicode: true, colours: true };
    for row in rendered("a&#27;[2Jb &#x202e;c `\u{1b}[1m` [x](\u{1b}]8;;y)", look) {
        let encoded = crate::rows::encoded(&row, false);
        assert!(
            !encoded
                .replace("\u{1b}[2m", "")
                .replace("\u{1b}[4m", "")
                .replace("\u{1b}[0m", "")
                .contains('\u{1b}'),
            "{encoded:?}"
        );
        assert!(!encoded.contains('\u{202e}'));
    }
}
