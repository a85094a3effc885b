//! Markdown (CommonMark with tables, strikethrough and task lists of GFM) as rows.
//!
//! Soft line ends are kept: models write lines as they are to be read. HTML is shown as it stands.

mod code;
mod stream;
mod table;

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use crate::rows::{Cut, Margin, wrapped};
use code::Within;
use table::Table;

pub use stream::Stream;

/// The least columns that text has, however deep it is nested.
const LEAST_COLUMNS: usize = 8;

/// How it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The columns of a row.
    pub columns: usize,
    /// Whether marks may be other than ASCII.
    pub unicode: bool,
    /// Whether there are colours: where they are missing, code keeps its marks.
    pub colours: bool,
}

impl Look {
    fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// A text as rows.
pub fn rendered(source: &str, look: Look) -> Vec<Line<'static>> {
    rendered_from(source, look, Within::Code).0
}

/// The same, where the first block of code goes on with what is open in it; also what its last block of code leaves open.
fn rendered_from(source: &str, look: Look, within: Within) -> (Vec<Line<'static>>, Within) {
    let mut writer = Writer::new(look);
    writer.within = within;
    let parser = Parser::new_ext(source, options());
    let mut references: Vec<_> = parser
        .reference_definitions()
        .iter()
        .map(|(_, definition)| definition.span.clone())
        .filter_map(|span| Some((span.start, source.get(span)?.trim().to_owned())))
        .collect();
    references.sort();
    parser.for_each(|event| writer.event(event));
    writer.flush();
    // What they refer to may be given out already, without its address.
    for (_, definition) in references {
        writer.gap();
        writer.inline.push(Span::styled(definition, Style::new().add_modifier(Modifier::DIM)));
        writer.flush();
    }
    (writer.rows, writer.within)
}

/// How a block ends that stands in no other block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// With its line.
    Line,
    /// With a blank line.
    Blank,
    /// With the next block. Its items end with the next item.
    List,
    /// With the next block, or as it says itself.
    Else,
}

/// Where the blocks of the text begin and end that stand in no other block.
fn blocks(source: &str) -> Vec<(Range<usize>, Ends)> {
    let (mut blocks, mut depth) = (Vec::new(), 0_usize);
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    blocks.push((range, ends(&tag)));
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => blocks.push((range, Ends::Line)),
            _ if depth == 0 => blocks.push((range, Ends::Else)),
            _ => {}
        }
    }
    blocks
}

fn ends(tag: &Tag<'_>) -> Ends {
    match tag {
        Tag::Heading { .. } => Ends::Line,
        Tag::Paragraph | Tag::BlockQuote(_) | Tag::Table(_) => Ends::Blank,
        Tag::List(_) => Ends::List,
        _ => Ends::Else,
    }
}

/// A list that is being written.
#[derive(Debug)]
struct List {
    /// The number of the next item; `None`: the items have no numbers.
    number: Option<u64>,
    /// Whether an item had blocks of its own: blank rows stand between such items.
    loose: bool,
    items: usize,
}

/// Rows in the making.
#[derive(Debug)]
struct Writer {
    look: Look,
    rows: Vec<Line<'static>>,
    /// The text of the block, up to here.
    inline: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// The margins before the next row, and before further ones, from the outside in.
    margins: Vec<(Option<Span<'static>>, Span<'static>)>,
    /// The columns of these.
    side: usize,
    lists: Vec<List>,
    /// Whether the next block stands apart from what is above.
    apart: bool,
    /// The row before the next block.
    blank: Option<Line<'static>>,
    /// The language and the text of a block of code.
    code: Option<(String, String)>,
    /// The construct that goes on in a block of code.
    within: Within,
    table: Option<Table>,
    /// The addresses of links whose text is being read, and where that text begins.
    links: Vec<(String, usize)>,
}

impl Writer {
    fn new(look: Look) -> Self {
        Self {
            look,
            rows: Vec::new(),
            inline: Vec::new(),
            styles: vec![Style::new()],
            margins: Vec::new(),
            side: 0,
            lists: Vec::new(),
            apart: false,
            blank: None,
            code: None,
            within: Within::Code,
            table: None,
            links: Vec::new(),
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(code) => self.code_span(&code),
            Event::Html(text) | Event::InlineHtml(text) => {
                let dim = self.style().add_modifier(Modifier::DIM);
                self.inline.push(Span::styled(text.into_string(), dim));
            }
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.gap();
                let rule = self.look.pick("─", "-").repeat(self.columns().min(40));
                self.inline.push(Span::styled(rule, Style::new().add_modifier(Modifier::DIM)));
                self.flush();
                self.apart = true;
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => {
                if let Some(list) = self.lists.last_mut().filter(|_| matches!(tag, Tag::Paragraph)) {
                    list.loose = true;
                }
                self.gap();
            }
            Tag::Heading { level, .. } => {
                self.gap();
                self.styles.push(heading(level));
            }
            Tag::BlockQuote(_) => {
                self.gap();
                let bar = Span::styled(self.look.pick("│ ", "> "), Style::new().add_modifier(Modifier::DIM));
                self.nest(None, bar);
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(number) => {
                if self.lists.is_empty() {
                    self.gap();
                } else {
                    self.flush();
                }
                self.lists.push(List { number, loose: false, items: 0 });
            }
            Tag::Item => self.item(),
            Tag::Table(aligned) => {
                self.gap();
                self.table = Some(Table::new(aligned));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.weigh(Modifier::ITALIC),
            Tag::Strong => self.weigh(Modifier::BOLD),
            Tag::Strikethrough => self.weigh(Modifier::CROSSED_OUT),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.inline.len()));
                self.weigh(Modifier::UNDERLINED);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.leave();
                self.apart = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.apart = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                self.leave();
            }
            TagEnd::Table => self.end_table(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                self.end_link();
            }
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn weigh(&mut self, weight: Modifier) {
        self.styles.push(self.style().add_modifier(weight));
    }

    fn text(&mut self, text: &str) {
        self.inline.push(Span::styled(text.to_owned(), self.style()));
    }

    fn code_span(&mut self, code: &str) {
        let style = self.style().fg(Color::Cyan);
        let code = if self.look.colours { code.to_owned() } else { format!("`{code}`") };
        self.inline.push(Span::styled(code, style));
    }

    /// An address stands behind its text, unless it is the text.
    fn end_link(&mut self) {
        let Some((address, from)) = self.links.pop() else { return };
        let text: String = self.inline.iter().skip(from).map(|span| &*span.content).collect();
        let bare = address.strip_prefix("mailto:").unwrap_or(&address);
        if !address.is_empty() && text != bare {
            let dim = Style::new().add_modifier(Modifier::DIM);
            self.inline.push(Span::styled(format!(" ({address})"), dim));
        }
    }

    fn columns(&self) -> usize {
        self.look.columns.saturating_sub(self.side).max(LEAST_COLUMNS)
    }

    /// The text that follows stands further in, as long as there is room.
    fn nest(&mut self, first: Option<Span<'static>>, rest: Span<'static>) {
        let fits = self.side + rest.width() + LEAST_COLUMNS <= self.look.columns;
        let margin = if fits { (first, rest) } else { (None, Span::default()) };
        self.side += margin.1.width();
        self.margins.push(margin);
    }

    fn leave(&mut self) {
        self.side -= self.margins.pop().map_or(0, |(_, rest)| rest.width());
    }

    /// Takes the margin of the next rows.
    fn margin(&mut self) -> Margin {
        let rest: Vec<_> = self.margins.iter().map(|(_, rest)| rest.clone()).collect();
        let first = self.margins.iter_mut().map(|(first, rest)| first.take().unwrap_or_else(|| rest.clone()));
        Margin { first: first.collect(), rest }
    }

    /// A block begins: one that stands apart has a blank row before it.
    fn gap(&mut self) {
        self.flush();
        if std::mem::take(&mut self.apart) && !self.rows.is_empty() {
            let bars = self.margins.iter().filter(|(first, _)| first.is_none()).map(|(_, rest)| rest.clone());
            self.blank = Some(Line::from(bars.collect::<Vec<_>>()));
        }
    }

    /// Adds rows of a block, with the blank row before it.
    fn add(&mut self, rows: impl IntoIterator<Item = Line<'static>>) {
        let blank = self.blank.take();
        self.rows.extend(blank.into_iter().chain(rows));
    }

    fn end_block(&mut self) {
        self.flush();
        self.apart = true;
    }

    /// Writes the text of the block.
    fn flush(&mut self) {
        while self.inline.last().is_some_and(|span| span.content.trim_end_matches('\n').is_empty()) {
            self.inline.pop();
        }
        if self.inline.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.inline);
        let margin = self.margin();
        let columns = self.look.columns.max(LEAST_COLUMNS);
        self.add(wrapped(&text, columns, &margin, Cut::Words));
    }

    fn item(&mut self) {
        self.flush();
        let depth = self.lists.len();
        let Some(list) = self.lists.last_mut() else { return };
        self.apart &= list.loose && list.items > 0;
        list.items += 1;
        let mark = match &mut list.number {
            Some(number) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            None => self.look.pick(if depth % 2 == 1 { "• " } else { "◦ " }, "- ").to_owned(),
        };
        self.gap();
        let rest = " ".repeat(crate::rows::width(&mark));
        self.nest(Some(Span::raw(mark)), Span::raw(rest));
    }

    fn end_code(&mut self) {
        let Some((language, text)) = self.code.take() else { return };
        if text.is_empty() {
            return;
        }
        self.nest(None, Span::raw("  "));
        let margin = self.margin();
        let columns = self.look.columns.max(LEAST_COLUMNS);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let mut margin = margin;
        for line in code::highlighted(&language, text, &mut self.within) {
            self.add(wrapped(&line, columns, &margin, Cut::Anywhere));
            margin.first.clone_from(&margin.rest);
        }
        self.leave();
        self.apart = true;
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let columns = self.columns();
        for row in table.rendered(columns, self.look) {
            let mut margin = self.margin().first;
            margin.extend(row.spans);
            self.add([Line::from(margin)]);
        }
        self.apart = true;
    }
}

fn heading(level: HeadingLevel) -> Style {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    match level {
        HeadingLevel::H1 => bold.add_modifier(Modifier::UNDERLINED).fg(Color::Magenta),
        HeadingLevel::H2 => bold.fg(Color::Magenta),
        _ => bold,
    }
}

#[cfg(test)]
mod tests;
