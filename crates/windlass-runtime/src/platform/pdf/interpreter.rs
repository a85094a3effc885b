//! Follows the operators of pages that place text (ISO 32000-1, 8.4, 8.10 and 9.4).

use std::collections::HashMap;
use std::rc::Rc;

use hayro_syntax::content::UntypedIter;
use hayro_syntax::object::{Array, Dict, Name, Number, Object, Stream};
use hayro_syntax::page::{Page, Resources};

use super::expansion::MAX_STREAM_BYTES;
use super::font::Font;
use super::lines::{Lines, Point};
use super::{MAX_TEXT_BYTES, Stop};
use crate::platform::error::pdf::PdfError;

/// Maximum number of operators of a file.
const MAX_OPERATORS: u64 = 50_000_000;
/// Maximum number of bytes that are decompressed to read the pages of a file.
const MAX_CONTENT_BYTES: u64 = 1024 * 1024 * 1024;
/// Maximum depth of forms within forms.
const MAX_FORM_DEPTH: usize = 12;
/// Maximum depth of saved graphics states.
const MAX_STATES: usize = 512;
/// How often a reader looks whether it is to stop.
const CHECK_EVERY: u64 = 1024;

type Matrix = [f64; 6];
const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// `first`, then `second`.
fn combined(first: Matrix, second: Matrix) -> Matrix {
    let [xx, xy, yx, yy, x, y] = second;
    let moved = |along: f64, across: f64| (along * xx + across * yx, along * xy + across * yy);
    let (x_axis, y_axis, origin) =
        (moved(first[0], first[1]), moved(first[2], first[3]), moved(first[4], first[5]));
    [x_axis.0, x_axis.1, y_axis.0, y_axis.1, origin.0 + x, origin.1 + y]
}

/// The state that `q` saves and `Q` restores.
#[derive(Clone)]
struct Graphics {
    page: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    character_spacing: f64,
    word_spacing: f64,
    scale: f64,
    leading: f64,
    rise: f64,
}

/// Reads the pages of one file, within bounds for all of them together.
pub(super) struct Interpreter<'s> {
    stop: &'s Stop,
    operators: u64,
    content: u64,
    /// By the bytes of their dictionaries, which lie where the file does.
    fonts: HashMap<(usize, usize), Rc<Font>>,
}

/// A page that is being read.
struct Drawing {
    state: Graphics,
    saved: Vec<Graphics>,
    text: Matrix,
    line: Matrix,
    lines: Lines,
    most: usize,
}

impl<'s> Interpreter<'s> {
    pub(super) fn new(stop: &'s Stop) -> Self {
        Self { stop, operators: 0, content: 0, fonts: HashMap::new() }
    }

    /// The text of a page, of at most about `most` bytes.
    pub(super) fn page(&mut self, page: &Page<'_>, most: usize) -> Result<String, PdfError> {
        self.stop.check()?;
        let content = self.contents(page)?;
        let state = Graphics {
            page: IDENTITY,
            font: None,
            size: 0.0,
            character_spacing: 0.0,
            word_spacing: 0.0,
            scale: 1.0,
            leading: 0.0,
            rise: 0.0,
        };
        let mut drawing = Drawing {
            state,
            saved: Vec::new(),
            text: IDENTITY,
            line: IDENTITY,
            lines: Lines::default(),
            most,
        };
        self.follow(&content, page.resources(), &mut drawing, 0)?;
        Ok(drawing.lines.finish())
    }

    /// The content of a page: one stream or several, which go on in each other. One that cannot be read is left out.
    fn contents(&mut self, page: &Page<'_>) -> Result<Vec<u8>, PdfError> {
        let mut content = Vec::new();
        match page.raw().get::<Object<'_>>("Contents") {
            Some(Object::Stream(stream)) => self.add(&stream, &mut content)?,
            Some(Object::Array(streams)) => {
                for stream in streams.iter::<Stream<'_>>() {
                    self.add(&stream, &mut content)?;
                }
            }
            _ => {}
        }
        Ok(content)
    }

    fn add(&mut self, stream: &Stream<'_>, content: &mut Vec<u8>) -> Result<(), PdfError> {
        self.stop.check()?;
        if let Ok(data) = stream.decoded_data() {
            self.content += data.len() as u64;
            if self.content > MAX_CONTENT_BYTES || (content.len() + data.len()) as u64 > MAX_STREAM_BYTES {
                return Err(PdfError::Expands { most: MAX_STREAM_BYTES });
            }
            content.extend_from_slice(&data);
            content.push(b'\n');
        }
        Ok(())
    }

    fn follow(
        &mut self,
        content: &[u8],
        resources: &Resources<'_>,
        drawing: &mut Drawing,
        depth: usize,
    ) -> Result<(), PdfError> {
        let floor = drawing.saved.len();
        let mut instructions = UntypedIter::new(content);
        while let Some(instruction) = instructions.next() {
            self.operators += 1;
            if self.operators > MAX_OPERATORS {
                return Err(PdfError::TooSlow);
            }
            if self.operators.is_multiple_of(CHECK_EVERY) {
                self.stop.check()?;
            }
            if drawing.lines.len() > drawing.most {
                return Err(PdfError::TooLong { most: MAX_TEXT_BYTES });
            }
            let operands: Vec<&Object<'_>> = instruction.operands().collect();
            let operator: &[u8] = instruction.operator;
            match (operator, operands.as_slice()) {
                (b"Tf", [Object::Name(name), Object::Number(size)]) => {
                    drawing.state.font = resources.get_font(name).map(|dict| self.font(&dict));
                    drawing.state.size = size.as_f64();
                }
                (b"Do", [Object::Name(name)]) if depth < MAX_FORM_DEPTH => {
                    if let Some(form) = resources.get_x_object(name) {
                        self.form(&form, resources, drawing, depth)?;
                    }
                }
                (b"Q", _) if drawing.saved.len() <= floor => {}
                (operator, operands) => drawing.carry_out(operator, operands),
            }
        }
        // What a form has saved and not restored ends with it.
        drawing.saved.truncate(floor);
        Ok(())
    }

    /// A form: content of its own, drawn by a page or another form.
    fn form(
        &mut self,
        form: &Stream<'_>,
        outer: &Resources<'_>,
        drawing: &mut Drawing,
        depth: usize,
    ) -> Result<(), PdfError> {
        let dict = form.dict();
        let is_form = dict.get::<Name<'_>>("Subtype").as_deref() == Some(b"Form");
        if !is_form {
            return Ok(());
        }
        let mut content = Vec::new();
        self.add(form, &mut content)?;
        let before = drawing.state.clone();
        if let Some(matrix) = dict.get::<Array<'_>>("Matrix").and_then(|array| {
            let numbers: Vec<f64> = array.iter::<Number>().map(|number| number.as_f64()).collect();
            Matrix::try_from(numbers).ok()
        }) {
            drawing.state.page = combined(matrix, drawing.state.page);
        }
        let done = match dict.get::<Dict<'_>>("Resources") {
            Some(own) => self.follow(&content, &Resources::new(own), drawing, depth + 1),
            None => self.follow(&content, outer, drawing, depth + 1),
        };
        drawing.state = before;
        done
    }

    fn font(&mut self, dict: &Dict<'_>) -> Rc<Font> {
        let data = dict.data();
        let key = (data.as_ptr().addr(), data.len());
        self.fonts.entry(key).or_insert_with(|| Rc::new(Font::new(dict))).clone()
    }
}

impl Drawing {
    fn carry_out(&mut self, operator: &[u8], operands: &[&Object<'_>]) {
        let numbers: Vec<f64> = operands
            .iter()
            .filter_map(
                |operand| if let Object::Number(number) = operand { Some(number.as_f64()) } else { None },
            )
            .collect();
        match (operator, operands, numbers.as_slice()) {
            (b"q", ..) if self.saved.len() < MAX_STATES => self.saved.push(self.state.clone()),
            (b"Q", ..) => {
                if let Some(saved) = self.saved.pop() {
                    self.state = saved;
                }
            }
            (b"cm", _, matrix) if let Ok(matrix) = Matrix::try_from(matrix) => {
                self.state.page = combined(matrix, self.state.page);
            }
            (b"BT", ..) => (self.text, self.line) = (IDENTITY, IDENTITY),
            (b"Tc", _, &[spacing]) => self.state.character_spacing = spacing,
            (b"Tw", _, &[spacing]) => self.state.word_spacing = spacing,
            (b"Tz", _, &[percent]) => self.state.scale = percent / 100.0,
            (b"TL", _, &[leading]) => self.state.leading = leading,
            (b"Ts", _, &[rise]) => self.state.rise = rise,
            (b"Td", _, &[x, y]) => self.next_line(x, y),
            (b"TD", _, &[x, y]) => {
                self.state.leading = -y;
                self.next_line(x, y);
            }
            (b"Tm", _, matrix) if let Ok(matrix) = Matrix::try_from(matrix) => {
                (self.line, self.text) = (matrix, matrix);
            }
            (b"T*", ..) => self.next_line(0.0, -self.state.leading),
            (b"Tj", [Object::String(text)], _) => self.show(text),
            (b"'", [Object::String(text)], _) => {
                self.next_line(0.0, -self.state.leading);
                self.show(text);
            }
            (b"\"", [_, _, Object::String(text)], &[word, character]) => {
                (self.state.word_spacing, self.state.character_spacing) = (word, character);
                self.next_line(0.0, -self.state.leading);
                self.show(text);
            }
            (b"TJ", [Object::Array(pieces)], _) => {
                for piece in pieces.iter::<Object<'_>>() {
                    match piece {
                        Object::String(text) => self.show(&text),
                        Object::Number(back) => {
                            let moved = -back.as_f64() / 1000.0 * self.state.size * self.state.scale;
                            self.text = combined([1.0, 0.0, 0.0, 1.0, moved, 0.0], self.text);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.line = combined([1.0, 0.0, 0.0, 1.0, x, y], self.line);
        self.text = self.line;
    }

    fn show(&mut self, bytes: &[u8]) {
        let Some(font) = self.state.font.clone() else { return };
        let from = self.pen();
        let (mut piece, mut moved) = (String::new(), 0.0);
        for code in font.codes(bytes) {
            piece.push_str(&code.text);
            let spacing =
                self.state.character_spacing + if code.is_word_end { self.state.word_spacing } else { 0.0 };
            moved += (code.width / 1000.0 * self.state.size + spacing) * self.state.scale;
        }
        self.text = combined([1.0, 0.0, 0.0, 1.0, moved, 0.0], self.text);
        self.lines.push(&piece, from, self.pen(), self.height());
    }

    /// Where the pen is on the page.
    fn pen(&self) -> Point {
        let [.., x, y] =
            combined(combined([1.0, 0.0, 0.0, 1.0, 0.0, self.state.rise], self.text), self.state.page);
        (x, y)
    }

    /// The height of letters on the page.
    fn height(&self) -> f64 {
        let [_, _, c, d, ..] = combined(self.text, self.state.page);
        self.state.size.abs() * c.hypot(d)
    }
}
