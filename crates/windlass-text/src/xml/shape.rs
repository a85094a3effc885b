//! Structure of XML, checked before it is parsed: nesting depth and number of attributes.

use crate::steps::Scan;

/// Maximum nesting depth of elements.
const MOST_DEPTH: usize = 128;
/// Maximum number of attributes of an element.
const MOST_ATTRIBUTES: usize = 64;
/// Maximum number of namespaces that a document declares.
const MOST_NAMESPACES: usize = 64;

/// Passes over a document once. What is no XML is left to the parser.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut scan = Scan::new(text);
    let mut depth = 0_usize;
    let mut namespaces = 0_usize;
    while scan.until("<").is_some() {
        let other = [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>")];
        if let Some((_, end)) = other.into_iter().find(|(begin, _)| scan.take(begin)) {
            if scan.until(end).is_none() {
                return Ok(());
            }
            continue;
        }
        if scan.take("/") {
            depth = depth.saturating_sub(1);
            continue;
        }
        let Some(tag) = tag(&mut scan) else { return Ok(()) };
        namespaces += tag.namespaces;
        depth += tag.opens;
        if depth > MOST_DEPTH {
            return Err(format!("elements nest deeper than {MOST_DEPTH}"));
        }
        if tag.attributes > MOST_ATTRIBUTES {
            return Err(format!("an element has more than {MOST_ATTRIBUTES} attributes"));
        }
        if namespaces > MOST_NAMESPACES {
            return Err(format!("more than {MOST_NAMESPACES} namespaces are declared"));
        }
    }
    Ok(())
}

/// The text between `<` and `>`.
struct Tag {
    attributes: usize,
    namespaces: usize,
    /// Change in depth: 0 for a tag that ends in `/>`.
    opens: usize,
}

fn tag(scan: &mut Scan<'_>) -> Option<Tag> {
    let mut tag = Tag { attributes: 0, namespaces: 0, opens: 1 };
    loop {
        let before = scan.pass_while(|c| !matches!(c, '"' | '\'' | '>'));
        tag.attributes += before.matches('=').count();
        tag.namespaces += before.matches("xmlns").count();
        match scan.peek()? {
            '>' => {
                tag.opens = usize::from(!before.ends_with('/'));
                scan.pass(1)?;
                return Some(tag);
            }
            quote => {
                scan.pass(1)?;
                scan.until(if quote == '"' { "\"" } else { "'" })?;
            }
        }
    }
}
