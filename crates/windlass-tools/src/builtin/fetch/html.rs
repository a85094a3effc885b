//! Reduces HTML to its visible text. It is not a full parser: any input terminates and gives text.

use windlass_core::text::steps;

/// Elements whose content is not text for readers.
const HIDDEN: [&str; 8] = ["script", "style", "noscript", "template", "svg", "iframe", "object", "head"];

/// Elements that stand on lines of their own.
const BLOCKS: [&str; 30] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "ul",
];

/// Maximum length of a tag in which quotes are respected, in bytes. Without it, unterminated tags would be read again and
/// again.
const MAX_QUOTED: usize = 4 * 1024;

/// Maximum number of open links that are tracked; links do not nest.
const MAX_LINKS: usize = 8;

/// The text of a page: the title first, headings marked with `#`, items with `-`, links followed by their address.
pub(super) fn text(html: &str) -> String {
    let mut page = Page { text: String::new(), links: Vec::new(), space: false, pre: false };
    steps::add(html.len());
    // Behind the last `>` nothing is a tag. It is looked for once: each look goes through the whole page.
    let last = html.rfind('>').unwrap_or(0);
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        let (before, after) = rest.split_at(open);
        if html.len() - after.len() > last && !after.starts_with("<!") {
            break;
        }
        page.words(before);
        rest = page.markup(after);
    }
    page.words(rest);
    page.text.trim().to_owned()
}

struct Page {
    text: String,
    /// Targets of the open links.
    links: Vec<String>,
    /// Whether the text before ended in space.
    space: bool,
    pre: bool,
}

impl Page {
    /// Takes what begins with `<`; gives what follows it.
    fn markup<'h>(&mut self, html: &'h str) -> &'h str {
        if let Some(comment) = html.strip_prefix("<!--") {
            return after(comment, "-->");
        }
        if html.starts_with("<!") || html.starts_with("<?") {
            return after(html, ">");
        }
        let Some(tag) = Tag::parse(html) else {
            // A `<` that begins no tag is text.
            self.words("<");
            return html.get(1..).unwrap_or("");
        };
        if !tag.closing && HIDDEN.contains(&tag.name.as_str()) {
            return self.hidden(&tag);
        }
        self.tag(&tag);
        tag.rest
    }

    /// Skips an element; of the head its title is kept.
    fn hidden<'h>(&mut self, tag: &Tag<'h>) -> &'h str {
        let end = find_closing(tag.rest, &tag.name);
        let (inner, rest) = tag.rest.split_at(end);
        if tag.name == "head"
            && let Some(title) = inner.to_ascii_lowercase().find("<title")
            && let Some(tag) = inner.get(title..).and_then(Tag::parse)
        {
            steps::add(inner.len());
            let title = tag.rest.get(..find_closing(tag.rest, "title")).unwrap_or("");
            self.block();
            self.words(title);
            self.block();
        }
        rest
    }

    fn tag(&mut self, tag: &Tag<'_>) {
        match tag.name.as_str() {
            "br" => self.text.push('\n'),
            "tr" | "option" => self.line(),
            "td" | "th" if !tag.closing => self.words(" "),
            "li" if !tag.closing => {
                self.line();
                self.text.push_str("- ");
            }
            "a" => self.link(tag),
            "img" => {
                if let Some(alt) = tag.attribute("alt") {
                    self.words(&alt);
                }
            }
            name if BLOCKS.contains(&name) => {
                self.block();
                self.pre = name == "pre" && !tag.closing;
                let level = name.strip_prefix('h').and_then(|level| level.parse::<usize>().ok());
                if let (Some(level), false) = (level, tag.closing) {
                    self.text.push_str(&"#".repeat(level));
                    self.text.push(' ');
                }
            }
            _ => {}
        }
    }

    fn link(&mut self, tag: &Tag<'_>) {
        if !tag.closing {
            if self.links.len() < MAX_LINKS {
                self.links.push(tag.attribute("href").unwrap_or_default());
            }
            return;
        }
        if let Some(address) = self.links.pop()
            && (address.starts_with("http") || address.starts_with('/'))
        {
            self.words(&format!(" ({address})"));
        }
    }

    /// Adds text, with its entities read and its spaces made one.
    fn words(&mut self, html: &str) {
        steps::add(html.len());
        for c in decoded(html).chars() {
            if c.is_whitespace() && !self.pre {
                self.space = true;
                continue;
            }
            if self.space && !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
                self.text.push(' ');
            }
            self.space = false;
            self.text.push(c);
        }
    }

    /// Starts a new line.
    fn line(&mut self) {
        self.space = false;
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Starts a new paragraph.
    fn block(&mut self) {
        self.line();
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}

struct Tag<'h> {
    name: String,
    closing: bool,
    /// The text after the name.
    attributes: &'h str,
    rest: &'h str,
}

impl<'h> Tag<'h> {
    /// A tag at the beginning of a text; `None` if what stands there is none, or never ends.
    fn parse(html: &'h str) -> Option<Self> {
        let inner = html.strip_prefix('<')?;
        let (closing, inner) = inner.strip_prefix('/').map_or((false, inner), |inner| (true, inner));
        if !inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let end = end_of_tag(inner)?;
        let (tag, rest) = (inner.get(..end)?, inner.get(end + 1..)?);
        let name_end = tag.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(tag.len());
        let (name, attributes) = tag.split_at(name_end);
        Some(Self { name: name.to_ascii_lowercase(), closing, attributes, rest })
    }

    fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            let end = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
            let (key, tail) = rest.split_at(end);
            if key.is_empty() && tail.is_empty() {
                return None;
            }
            let Some(value) = tail.trim_start().strip_prefix('=') else {
                rest = tail;
                continue;
            };
            let (value, tail) = value_of(value.trim_start());
            if key.eq_ignore_ascii_case(name) {
                return Some(decoded(value).trim().to_owned());
            }
            rest = tail;
        }
    }
}

/// The value that a text begins with, quoted or not, and what follows.
fn value_of(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            return inner.split_once(quote).unwrap_or((inner, ""));
        }
    }
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// Position of a tag's `>`, outside quoted values if the tag has a sane length.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in tag.bytes().take(MAX_QUOTED).enumerate() {
        steps::add(1);
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    // A quote that never ends: the first `>` will do.
    let end = tag.find('>');
    steps::add(end.unwrap_or(tag.len()));
    end
}

/// Position of the element's closing tag, or the end of the text.
fn find_closing(html: &str, name: &str) -> usize {
    let end = html
        .match_indices("</")
        .find(|(at, _)| {
            html.get(at + 2..at + 2 + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
        })
        .map_or(html.len(), |(at, _)| at);
    steps::add(end);
    end
}

fn after<'h>(html: &'h str, end: &str) -> &'h str {
    let rest = html.split_once(end).map_or("", |(_, rest)| rest);
    steps::add(html.len() - rest.len());
    rest
}

/// A text with its character references read; unknown ones stay as they are.
fn decoded(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find('&') {
        let (before, reference) = rest.split_at(at);
        text.push_str(before);
        // The longest name below has 6 letters, the longest number 8 digits.
        let end = reference.bytes().take(12).position(|byte| byte == b';');
        let known = end.and_then(|end| Some((reference.get(1..end)?, reference.get(end + 1..)?)));
        if let Some((c, tail)) = known.and_then(|(name, tail)| Some((character(name)?, tail))) {
            text.push(c);
            rest = tail;
        } else {
            text.push('&');
            rest = reference.get(1..).unwrap_or("");
        }
    }
    text.push_str(rest);
    text
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| *c != '\0');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "bull" => '•',
        "middot" => '·',
        "times" => '×',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "deg" => '°',
        "sect" => '§',
        "euro" => '€',
        "pound" => '£',
        "auml" => 'ä',
        "ouml" => 'ö',
        "uuml" => 'ü',
        "Auml" => 'Ä',
        "Ouml" => 'Ö',
        "Uuml" => 'Ü',
        "szlig" => 'ß',
        "eacute" => 'é',
        "egrave" => 'è',
        "agrave" => 'à',
        "ccedil" => 'ç',
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
