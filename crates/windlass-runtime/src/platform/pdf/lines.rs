//! Where spaces and line ends belong: pages place pieces of text, and seldom say which of them are words.

/// A gap between two pieces on a line is a space from this part of the font's height on.
const SPACE: f64 = 0.18;
/// A piece is on another line if it is offset across the direction of writing by more than this part of the height.
const LINE: f64 = 0.5;
/// Lines further apart than so many heights are paragraphs.
const PARAGRAPH: f64 = 2.2;

/// A place on a page.
pub(super) type Point = (f64, f64);

/// The text of a page in the order in which it is drawn.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    /// Where the last piece ended.
    end: Option<Point>,
}

impl Lines {
    /// Adds a piece that goes from one place to another, in letters of that height.
    pub(super) fn push(&mut self, piece: &str, from: Point, to: Point, height: f64) {
        if piece.is_empty() {
            return;
        }
        if let Some(gap) = self.gap(from, to, height)
            && !self.text.is_empty()
        {
            let is_spaced = self.text.ends_with([' ', '\n']) || piece.starts_with(' ');
            match gap {
                " " if is_spaced => {}
                " " => self.text.push(' '),
                line_end => {
                    self.text.truncate(self.text.trim_end().len());
                    self.text.push_str(line_end);
                }
            }
        }
        self.text.push_str(piece);
        self.end = Some(to);
    }

    /// The characters between the last piece and the next one.
    fn gap(&self, from: Point, to: Point, height: f64) -> Option<&'static str> {
        let end = self.end?;
        let height = if height.is_finite() && height > 0.0 { height } else { 1.0 };
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy);
        // A piece without width is taken to be written from left to right.
        let (ux, uy) = if length > 0.0 { (dx / length, dy / length) } else { (1.0, 0.0) };
        let (mx, my) = (from.0 - end.0, from.1 - end.1);
        let (along, across) = (mx * ux + my * uy, (mx * uy - my * ux).abs());
        if across > PARAGRAPH * height {
            Some("\n\n")
        } else if across > LINE * height || along < -height {
            Some("\n")
        } else if along > SPACE * height {
            Some(" ")
        } else {
            None
        }
    }

    /// The length so far, in bytes.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The text without blanks at its ends.
    pub(super) fn finish(self) -> String {
        self.text.trim().to_owned()
    }
}
