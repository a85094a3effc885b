//! Steps of tools that ran at a provider, and the sources of a text, in lines.

use windlass_core::message::{Annotations, Citation, HostedStep, HostedTool, PassageUnit, Source};

use super::{Cuts, count, name};

/// Maximum number of characters of an address: one that is cut opens nothing.
const ADDRESS_CHARS: usize = 2_000;
/// Maximum number of pages of a source that are named.
const PAGES: usize = 8;

/// A step: `code (hosted) print(6*7): 42`.
pub fn step(step: &HostedStep, cuts: &Cuts) -> String {
    let own = step.name.as_deref().map(name);
    let tool = match (step.tool, own) {
        (HostedTool::Other, Some(own)) => own,
        (tool, Some(own)) => format!("{} {own}", tool.name()),
        (tool, None) => tool.name().to_owned(),
    };
    let input = step.input.as_deref().map(|input| format!(" {}", cuts.line(input))).unwrap_or_default();
    let found = step.sources.len() as u64;
    let output = match (step.output.as_deref(), found) {
        (Some(output), 0) => Some(cuts.line(output)),
        (Some(output), _) => Some(format!("{}; {}", count(found, "source"), cuts.line(output))),
        (None, 0) => None,
        (None, _) => Some(count(found, "source")),
    };
    let failed = if step.failed { ": failed" } else { "" };
    format!(
        "{tool} (hosted){input}{failed}{}",
        output.map(|output| format!(": {output}")).unwrap_or_default()
    )
}

/// The sources of a text, a line each, with their numbers: `[1] Windlass: https://example.com/windlass`.
pub fn sources(annotations: &Annotations, cuts: &Cuts) -> Vec<String> {
    let numbered = (1..).zip(annotations.sources());
    let mut lines: Vec<String> = numbered
        .map(|(number, source)| {
            let cited = annotations.citations.iter().filter(|citation| citation.source.is_same(source));
            format!("[{number}] {}{}", about(source, cuts), pages(cited))
        })
        .collect();
    let omitted = u64::from(annotations.omitted.citations);
    if omitted > 0 {
        lines.push(format!("({omitted} more are not kept)"));
    }
    lines
}

fn about(source: &Source, cuts: &Cuts) -> String {
    let title = source.title.as_deref().map(name);
    let place = source.url.as_deref().map(|url| cuts.chars(url, ADDRESS_CHARS));
    let place = place.or_else(|| source.file.as_deref().map(|file| format!("file {}", name(file))));
    [title, place].into_iter().flatten().collect::<Vec<_>>().join(": ")
}

/// The pages that are cited, in words.
fn pages<'c>(cited: impl Iterator<Item = &'c Citation>) -> String {
    let passages = cited.filter_map(|citation| citation.passage);
    let mut pages: Vec<u64> =
        passages.filter(|passage| passage.unit == PassageUnit::Page).map(|passage| passage.from).collect();
    pages.sort_unstable();
    pages.dedup();
    let more = if pages.len() > PAGES { ", …" } else { "" };
    let named: Vec<String> = pages.iter().take(PAGES).map(u64::to_string).collect();
    match &*named {
        [] => String::new(),
        [one] => format!(", page {one}"),
        _ => format!(", pages {}{more}", named.join(", ")),
    }
}

/// How many steps and sources a reply has: ` (2 hosted steps, 1 source)`; nothing for none.
pub(super) fn summary(annotations: Option<&Annotations>) -> String {
    let Some(annotations) = annotations else { return String::new() };
    let counts =
        [(annotations.steps.len() as u64, "hosted step"), (annotations.sources().len() as u64, "source")];
    let words: Vec<String> = counts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| count(number, what))
        .collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

#[cfg(test)]
mod tests {
    use windlass_core::message::Passage;

    use super::*;

    #[test]
    fn a_step_is_a_line_with_its_request_and_what_came_back() {
        let cuts = Cuts::default();
        let search = HostedStep {
            tool: HostedTool::WebSearch,
            input: Some("windlass\nanchor".into()),
            sources: vec![Source { url: Some("https://a".into()), ..Source::default() }],
            ..HostedStep::default()
        };
        assert_eq!(step(&search, &cuts), "web_search (hosted) windlass anchor: 1 source");
        let failed = HostedStep {
            output: Some("too \u{1b}[31mmany".into()),
            failed: true,
            sources: Vec::new(),
            ..search
        };
        let line = step(&failed, &cuts);
        assert!(line.starts_with("web_search (hosted) windlass anchor: failed: too "), "{line}");
        assert!(!line.contains('\u{1b}'), "{line}");
        let mcp =
            HostedStep { tool: HostedTool::Mcp, name: Some("dice.roll".into()), ..HostedStep::default() };
        assert_eq!(step(&mcp, &cuts), "mcp dice.roll (hosted)");
        let other = HostedStep { name: Some("advisor".into()), ..HostedStep::default() };
        assert_eq!(step(&other, &cuts), "advisor (hosted)");
    }

    #[test]
    fn sources_are_numbered_once_with_their_pages() {
        let page = |from| Some(Passage { unit: PassageUnit::Page, from, to: from + 1 });
        let file = Source { title: Some("Ships".into()), url: None, file: Some("file_01".into()) };
        let web = Source { url: Some("https://a\u{202e}".into()), ..Source::default() };
        let cited =
            |source: &Source, passage| Citation { source: source.clone(), passage, ..Citation::default() };
        let citations = vec![cited(&file, page(5)), cited(&web, None), cited(&file, page(2))];
        let mut all = Annotations { citations, ..Annotations::default() };
        all.omitted.citations = 3;
        let lines = sources(&all, &Cuts::default());
        assert_eq!(lines[0], "[1] Ships: file file_01, pages 2, 5");
        assert!(lines[1].starts_with("[2] https://a") && !lines[1].contains('\u{202e}'), "{}", lines[1]);
        assert_eq!(lines[2], "(3 more are not kept)");
        assert_eq!(summary(Some(&all)), " (2 sources)");
        assert_eq!(summary(None), "");
    }
}
