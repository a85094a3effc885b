//! Files in PDF syntax, written object by object.

use std::fmt::Write as _;

use miniz_oxide::deflate::compress_to_vec_zlib;

/// The number of the catalog and that of the root of the pages.
const ROOTS: usize = 2;

/// A file with a table of its objects.
#[derive(Clone, Default)]
pub(super) struct Pdf {
    objects: Vec<Vec<u8>>,
    pages: Vec<usize>,
}

/// A stream with more entries in its dictionary.
pub(super) fn stream(entries: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = format!("<< /Length {} {entries} >>\nstream\n", data.len()).into_bytes();
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(b"\nendstream");
    bytes
}

impl Pdf {
    /// The number of the next object.
    pub(super) fn next(&self) -> usize {
        self.objects.len() + ROOTS + 1
    }

    pub(super) fn add(&mut self, object: &str) -> usize {
        self.add_bytes(object.as_bytes().to_vec())
    }

    pub(super) fn add_bytes(&mut self, object: Vec<u8>) -> usize {
        let number = self.next();
        self.objects.push(object);
        number
    }

    pub(super) fn page(&mut self, entries: &str) {
        let page = self.add(&format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {entries} >>"));
        self.pages.push(page);
    }

    /// The file, with more entries in its trailer.
    pub(super) fn finish(self, trailer: &str) -> Vec<u8> {
        let kids: String = self.pages.iter().map(|page| format!("{page} 0 R ")).collect::<Vec<_>>().concat();
        let roots = [
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            format!("<< /Type /Pages /Count {} /Kids [{kids}] >>", self.pages.len()).into_bytes(),
        ];
        let mut bytes = b"%PDF-1.7\n".to_vec();
        let mut table = String::from("0000000000 65535 f \n");
        for (at, object) in roots.iter().chain(&self.objects).enumerate() {
            writeln!(table, "{:010} 00000 n ", bytes.len()).unwrap();
            bytes.extend(format!("{} 0 obj\n", at + 1).bytes());
            bytes.extend_from_slice(object);
            bytes.extend_from_slice(b"\nendobj\n");
        }
        let (start, size) = (bytes.len(), self.objects.len() + ROOTS + 1);
        let end = format!(
            "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
        );
        bytes.extend(end.bytes());
        bytes
    }
}

/// A file of one page whose objects, except for its content, are compressed (ISO 32000-1, 7.5.7 and 7.5.8).
pub(super) fn with_object_streams(text: &str) -> Vec<u8> {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Count 1 /Kids [3 0 R] >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 4 0 R >> >> /Contents 5 0 R >>".to_owned(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let (mut index, mut packed) = (String::new(), String::new());
    for (at, object) in objects.iter().enumerate() {
        write!(index, "{} {} ", at + 1, packed.len()).unwrap();
        packed.push_str(object);
        packed.push(' ');
    }
    let mut bytes = b"%PDF-1.7\n".to_vec();
    let content = bytes.len();
    let flate = |data: &[u8]| compress_to_vec_zlib(data, 6);
    let add = |bytes: &mut Vec<u8>, number: usize, entries: &str, data: &[u8]| {
        bytes.extend(format!("{number} 0 obj\n").bytes());
        bytes.extend(stream(&format!("/Filter /FlateDecode {entries}"), &flate(data)));
        bytes.extend_from_slice(b"\nendobj\n");
    };
    add(&mut bytes, 5, "", format!("BT /F1 12 Tf ({text}) Tj ET").as_bytes());
    let packs = bytes.len();
    let entries = format!("/Type /ObjStm /N {} /First {}", objects.len(), index.len());
    add(&mut bytes, 6, &entries, (index + &packed).as_bytes());
    let start = bytes.len();
    let mut rows = vec![0, 0, 0, 0];
    for at in 0..4 {
        rows.extend([2, 0, 6, at]);
    }
    for offset in [content, packs, start] {
        rows.extend([1, (offset >> 8) as u8, offset as u8, 0]);
    }
    add(&mut bytes, 7, "/Type /XRef /Size 8 /W [1 2 1] /Root 1 0 R", &rows);
    bytes.extend(format!("startxref\n{start}\n%%EOF\n").bytes());
    bytes
}

/// Data in base 85 with its end mark.
pub(super) fn ascii85(data: &[u8]) -> String {
    let mut text = String::new();
    for group in data.chunks(4) {
        let mut padded = [0; 4];
        padded[..group.len()].copy_from_slice(group);
        let number = u32::from_be_bytes(padded);
        let digits = [85_u32.pow(4), 85_u32.pow(3), 85_u32.pow(2), 85, 1].map(|place| number / place % 85);
        text.extend(digits.iter().take(group.len() + 1).map(|digit| char::from(b'!' + *digit as u8)));
    }
    text + "~>"
}
