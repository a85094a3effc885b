//! Owns the parser of event streams (HTML Living Standard, 9.2), fed with bytes cut anywhere.

/// The most bytes of an event that has not ended.
const EVENT_BYTES: usize = 256 << 20;

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Its name; empty: it has none.
    pub(crate) name: String,
    /// The last id that the stream had by then.
    pub(crate) id: String,
    /// Its data lines, joined with LF.
    pub(crate) data: String,
}

/// An event is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// A parser: bytes go in with [`push`](Self::push), whole events come out of [`next`](Self::next). An event that was cut before the
/// empty line at its end is none.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    buffer: Vec<u8>,
    /// Start of the first line that was not taken.
    line: usize,
    /// Up to where the end of that line was searched for.
    searched: usize,
    begun: bool,
    name: String,
    id: String,
    data: Option<String>,
}

impl SseParser {
    /// Adds bytes as they came.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        self.buffer.drain(..self.line);
        self.searched -= self.line;
        self.line = 0;
        let held = self.buffer.len() + self.data.as_ref().map_or(0, String::len);
        if held + bytes.len() > EVENT_BYTES {
            return Err(TooLong);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// The next whole event; `None`: more bytes are needed.
    pub(crate) fn next(&mut self) -> Option<SseEvent> {
        while let Some((start, end)) = self.next_line() {
            let line = self.buffer.get(start..end).unwrap_or_default();
            let line = String::from_utf8_lossy(line).into_owned();
            let line = if std::mem::replace(&mut self.begun, true) {
                &*line
            } else {
                line.trim_start_matches('\u{feff}')
            };
            if line.is_empty() {
                let name = std::mem::take(&mut self.name);
                let Some(data) = self.data.take() else { continue };
                return Some(SseEvent { name, id: self.id.clone(), data });
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut self.name),
                "id" if !value.contains('\0') => value.clone_into(&mut self.id),
                "data" => match &mut self.data {
                    Some(data) => data.extend(["\n", value]),
                    None => self.data = Some(value.to_owned()),
                },
                // Comments, and fields of other protocols.
                _ => {}
            }
        }
        None
    }

    /// The next line without its end, as a range of the buffer. One that ends in CR is whole once the byte after it is there, which
    /// may be an LF.
    fn next_line(&mut self) -> Option<(usize, usize)> {
        let rest = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(found) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.searched = self.buffer.len();
            return None;
        };
        let (start, end) = (self.line, self.searched + found);
        let after = match (self.buffer.get(end), self.buffer.get(end + 1)) {
            (Some(b'\r'), Some(b'\n')) => end + 2,
            (Some(b'\r'), None) => {
                self.searched = end;
                return None;
            }
            _ => end + 1,
        };
        (self.line, self.searched) = (after, after);
        Some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}: hello\nid: 3\nevent: text\ndata: {\"a\":\ndata:1}\r\n\r\n\n:\n\ndata\r\rid: 4.é\nretry: 5\nother: x\n\
                          event: end\ndata: last\n\nid: 9\ndata: cut";

    fn event(name: &str, id: &str, data: &str) -> SseEvent {
        SseEvent { name: name.to_owned(), id: id.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn a_stream_is_the_same_wherever_it_is_cut_and_a_cut_event_is_none() {
        let expected = [event("text", "3", "{\"a\":\n1}"), event("", "3", ""), event("end", "4.é", "last")];
        for at in 0..=STREAM.len() {
            let mut parser = SseParser::default();
            let mut events = Vec::new();
            for part in [&STREAM.as_bytes()[..at], &STREAM.as_bytes()[at..]] {
                parser.push(part).unwrap();
                events.extend(std::iter::from_fn(|| parser.next()));
            }
            assert_eq!(events, expected, "cut at {at}");
        }
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        for byte in STREAM.as_bytes() {
            parser.push(&[*byte]).unwrap();
            events.extend(std::iter::from_fn(|| parser.next()));
        }
        assert_eq!(events, expected, "byte by byte");
    }
}
