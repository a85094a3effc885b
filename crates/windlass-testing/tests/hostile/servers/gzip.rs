//! A gzip file (RFC 1952) that is far larger than it looks: zeros, in one deflate block (RFC 1951).

/// Number of bytes that one reference of 13 bits expands to.
const RUN: u64 = 258;

/// A body that grows to so many zeros. Its checksum is not right: who gets there has unpacked it all.
pub(super) fn bomb(bytes: u64) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let mut bits = Bits { out: &mut out, free: 8 };
    // The last block, with the fixed codes.
    bits.add(0b110, 3);
    // A literal 0, which the references repeat.
    bits.add(0b0011_0000, 8);
    for _ in 0..bytes / RUN {
        // Length 258 is the code 285, distance 1 the code 0.
        bits.add(0b1100_0101, 8);
        bits.add(0, 5);
    }
    bits.add(0, 7);
    out.extend([0; 8]);
    out
}

/// Packs bits as deflate wants its codes: first bit first.
struct Bits<'o> {
    out: &'o mut Vec<u8>,
    free: u32,
}

impl Bits<'_> {
    fn add(&mut self, code: u32, length: u32) {
        for place in (0..length).rev() {
            if self.free == 8 {
                self.out.push(0);
                self.free = 0;
            }
            if let Some(last) = self.out.last_mut() {
                *last |= u8::from(code >> place & 1 == 1) << self.free;
            }
            self.free += 1;
        }
    }
}
