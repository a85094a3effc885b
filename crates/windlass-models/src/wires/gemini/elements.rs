//! Owns how a list of JSON objects is cut into them, without reading them.

use windlass_core::text::steps;

/// The objects of a list, one after another. The brackets of the list, commas and anything else between objects are passed over.
#[derive(Debug)]
pub(super) struct Elements<'l> {
    list: &'l [u8],
    /// Up to where the list was read.
    read: usize,
}

impl<'l> Elements<'l> {
    pub(super) fn of(list: &'l [u8]) -> Self {
        Self { list, read: 0 }
    }
}

impl<'l> Iterator for Elements<'l> {
    type Item = &'l [u8];

    /// The next whole object. One that is not closed is none.
    fn next(&mut self) -> Option<&'l [u8]> {
        let (mut start, mut depth, mut in_text, mut escaped) = (0, 0_usize, false, false);
        for (at, byte) in self.list.iter().enumerate().skip(self.read) {
            steps::add(1);
            self.read = at + 1;
            match byte {
                _ if in_text => {
                    in_text = escaped || *byte != b'"';
                    escaped = !escaped && *byte == b'\\';
                }
                b'"' if depth > 0 => in_text = true,
                b'{' => {
                    if depth == 0 {
                        start = at;
                    }
                    depth += 1;
                }
                b'}' if depth > 0 => {
                    depth -= 1;
                    if depth == 0 {
                        return self.list.get(start..=at);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
