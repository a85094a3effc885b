use windlass_core::text::steps::{Shape, doubling, taken};

use super::text;

#[test]
fn a_page_becomes_what_a_reader_sees() {
    let page = r#"<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>Bees &amp; Hives</title><style>p { color: red }</style></head>
<body class='a>b'>
<!-- not <b>this</b> -->
<h1>About   bees</h1>
<p>They make <b>honey</b>,
 don&#39;t they?<br>Yes &mdash; <a href="https://example.org/a?b&amp;c">read on</a> or <a href="?q=1">not</a>.</p>
<ul><li>one<li>two <i>2</i></ul>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<script>if (a < b) { alert("</p>") }</script>
<pre>x
  y</pre>
<img src=x alt="A hive"/> 3 < 4 &unknown; &#x1F41D;
</body></html>"#;
    assert_eq!(
        text(page),
        "Bees & Hives\n\n# About bees\n\nThey make honey, don't they?\nYes — read on (https://example.org/a?b&c) or not.\n\n\
         - one\n- two 2\n\na b\n1 2\n\nx\n  y\n\nA hive 3 < 4 &unknown; 🐝"
    );
}

#[test]
fn broken_markup_ends_in_text() {
    assert_eq!(text("a <b"), "a <b");
    assert_eq!(text("a <b x=\"y"), "a <b x=\"y");
    assert_eq!(text("<p title=\"x>inside"), "inside");
    assert_eq!(text("<script>never closed"), "");
    assert_eq!(text("<!-- never closed"), "");
    assert_eq!(text("a <> b </ > c"), "a <> b </ > c");
    assert_eq!(text("ä&#xD800;&#0;&;&"), "ä&#xD800;&#0;&;&");
    assert_eq!(text("</p></p>x"), "x");
}

#[test]
fn a_page_that_is_made_to_be_slow_is_not() {
    // Were each tag read to the end of the page, this would take minutes.
    for piece in ["<a '", "<a \"", "<", "<!", "&", "<script", "</", "<p x='"] {
        let page = piece.repeat(200_000 / piece.len());
        assert!(text(&format!("{page}>end")).len() <= page.len() + 4, "{piece}");
        assert!(text(&page).len() <= page.len(), "{piece}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(html in "[<>/!?a\"'=&#;x \\-ä\n1pbrescit]{0,80}") {
        let _ = text(&html);
    }
}

#[test]
fn reducing_a_page_costs_its_length() {
    // Each byte may be looked at a few times, and quotes are minded for 4 KiB of a tag.
    let shapes: [Shape; 12] = [
        ("words", |n| "word ".repeat(n)),
        ("tags", |n| "<p>x</p>".repeat(n)),
        ("beginnings of tags", |n| "<a".repeat(n)),
        ("open quotes", |n| format!("{}>", "<a href=\"".repeat(n))),
        ("open quotes, closed tags", |n| "<a href=\">".repeat(n)),
        ("comments", |n| "<!-- x -->".repeat(n)),
        ("comments without an end", |n| format!("{}>", "<!--".repeat(n))),
        ("scripts", |n| "<script>x</script>".repeat(n)),
        ("scripts without an end", |n| "<script>".repeat(n)),
        ("wrong ends", |n| format!("<script>{}", "</scrap>".repeat(n))),
        ("heads", |n| "<head><title>x</head>".repeat(n)),
        ("references", |n| "&amp;&#99;&&".repeat(n)),
    ];
    for (what, shape) in shapes {
        let cost = |n| {
            let page = shape(8 * n);
            taken(|| text(&page))
        };
        doubling(cost).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    }
}
