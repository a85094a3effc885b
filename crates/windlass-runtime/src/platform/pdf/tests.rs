use miniz_oxide::deflate::compress_to_vec_zlib;

use super::{MAX_PAGES, Stop, pages};
use crate::platform::error::pdf::PdfError;
use written::{Pdf, stream};

mod written;

fn read(bytes: Vec<u8>) -> Result<Vec<String>, PdfError> {
    pages(bytes, &Stop::default())
}

/// A file with one page for each content, in Helvetica.
fn plain(contents: &[&str]) -> Vec<u8> {
    let mut pdf = Pdf::default();
    let font = pdf.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>");
    for content in contents {
        let content = pdf.add_bytes(stream("", content.as_bytes()));
        pdf.page(&format!("/Resources << /Font << /F1 {font} 0 R >> >> /Contents {content} 0 R"));
    }
    pdf.finish("")
}

/// A file with one page whose font and content are given.
fn in_font(font: impl FnOnce(&mut Pdf) -> usize, content: &str) -> Vec<u8> {
    let mut pdf = Pdf::default();
    let font = font(&mut pdf);
    let content = pdf.add_bytes(stream("", content.as_bytes()));
    pdf.page(&format!("/Resources << /Font << /F1 {font} 0 R >> >> /Contents {content} 0 R"));
    pdf.finish("")
}

#[test]
fn pages_are_read_in_order() {
    let page = |text: &str| format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
    let (first, second) = (page("Annual report"), page("Caf\\351 \\200 20"));
    let read = read(plain(&[&first, "", &second])).unwrap();
    assert_eq!(read, ["Annual report", "", "Café € 20"]);
}

#[test]
fn gaps_are_spaces_and_moves_down_are_line_ends() {
    let content = "BT /F1 10 Tf 14 TL 72 700 Td [(Hel) 20 (lo) -400 (world)] TJ T* (second line) Tj \
        0 -40 Td (a paragraph) Tj ET BT /F1 10 Tf 1 0 0 1 72 600 Tm (left) Tj 1 0 0 1 300 600 Tm (right) Tj ET";
    let text = read(plain(&[content])).unwrap().remove(0);
    assert_eq!(text, "Hello world\nsecond line\n\na paragraph\n\nleft right");
}

#[test]
fn a_mapping_to_unicode_is_used_where_a_font_has_one() {
    let map = "/CIDInit /ProcSet findresource begin begincmap\n1 begincodespacerange <0000> <FFFF> endcodespacerange\n\
        1 beginbfrange <0003> <0005> <0416> endbfrange\n2 beginbfchar <0010> <00660066> <0011> <D83DDE00> endbfchar\nendcmap";
    let font = |pdf: &mut Pdf| {
        let map = pdf.add_bytes(stream("/Filter /FlateDecode", &compress_to_vec_zlib(map.as_bytes(), 6)));
        let below =
            pdf.add("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 500 /W [3 [600 600] 5 9 700] >>");
        pdf.add(&format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [{below} 0 R] /ToUnicode {map} 0 R >>"
        ))
    };
    let text =
        read(in_font(font, "BT /F1 10 Tf <000300040005> Tj <00100011> Tj <0099> Tj ET")).unwrap().remove(0);
    assert_eq!(text, "ЖЗИff😀\u{fffd}");
}

#[test]
fn glyphs_that_differ_from_an_encoding_are_read_by_their_names() {
    let font = |pdf: &mut Pdf| {
        pdf.add(
            "<< /Type /Font /Subtype /Type1 /BaseFont /X /Encoding << /BaseEncoding /MacRomanEncoding \
             /Differences [65 /Alpha /f_i /uni20AC /eacute.alt /nonsense 200 /germandbls] >> >>",
        )
    };
    let text = read(in_font(font, "BT /F1 10 Tf (ABCDE\\310\\212) Tj ET")).unwrap().remove(0);
    assert_eq!(text, "Αfi€é\u{fffd}ßä");
}

#[test]
fn texts_of_forms_are_part_of_their_page() {
    let mut pdf = Pdf::default();
    let font = pdf.add("<< /Type /Font /Subtype /TrueType /BaseFont /Arial >>");
    let resources =
        format!("/Resources << /Font << /F1 {font} 0 R >> /XObject << /Own {} 0 R >> >>", pdf.next());
    // It draws itself, which ends.
    let form = pdf.add_bytes(stream(
        &format!("/Type /XObject /Subtype /Form {resources}"),
        b"BT /F1 10 Tf 0 20 Td (within) Tj ET /Own Do",
    ));
    let content = pdf.add_bytes(stream("", b"q 1 0 0 1 0 300 cm /Form Do Q"));
    pdf.page(&format!("/Resources << /XObject << /Form {form} 0 R >> >> /Contents {content} 0 R"));
    assert!(read(pdf.finish("")).unwrap()[0].starts_with("within"));
}

#[test]
fn compressed_objects_and_streams_in_base_85_are_read() {
    assert_eq!(read(written::with_object_streams("In an object stream")).unwrap(), ["In an object stream"]);
    let mut pdf = Pdf::default();
    let font = pdf.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
    let data = compress_to_vec_zlib(b"BT /F1 10 Tf (in base 85) Tj ET", 6);
    let content =
        pdf.add_bytes(stream("/Filter [/ASCII85Decode /FlateDecode]", written::ascii85(&data).as_bytes()));
    pdf.page(&format!("/Resources << /Font << /F1 {font} 0 R >> >> /Contents {content} 0 R"));
    assert_eq!(read(pdf.finish("")).unwrap(), ["in base 85"]);
}

#[test]
fn an_encrypted_file_is_refused() {
    let mut pdf = Pdf::default();
    pdf.page("");
    let encryption = "/Encrypt << /Filter /Standard /V 1 /R 2 /O (a) /U (b) /P -4 >> /ID [<00> <00>]";
    assert_eq!(read(pdf.clone().finish(encryption)), Err(PdfError::Encrypted));
    assert_eq!(read(pdf.finish(&encryption.replace("/Encrypt", "/E#6ecrypt"))), Err(PdfError::Encrypted));
}

#[test]
fn a_scan_is_refused_as_it_has_no_text() {
    let mut pdf = Pdf::default();
    let image = pdf.add_bytes(stream(
        "/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray /Filter /DCTDecode",
        b"\xff\xd8\xff\xe0not quite a photo",
    ));
    for _ in 0..3 {
        let content = pdf.add_bytes(stream("", b"q 100 0 0 100 0 0 cm /Im Do Q"));
        pdf.page(&format!("/Resources << /XObject << /Im {image} 0 R >> >> /Contents {content} 0 R"));
    }
    assert_eq!(read(pdf.finish("")), Err(PdfError::NoText { pages: 3 }));
}

#[test]
fn a_text_of_unknown_characters_alone_counts_as_none() {
    let font = |pdf: &mut Pdf| {
        let below = pdf.add("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X >>");
        pdf.add(&format!(
            "<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [{below} 0 R] >>"
        ))
    };
    assert_eq!(read(in_font(font, "BT /F1 10 Tf <00010002> Tj ET")), Err(PdfError::NoText { pages: 1 }));
}

#[test]
fn a_file_of_the_most_pages_is_read_and_one_more_is_refused() {
    let contents = |count: usize| vec!["BT /F1 10 Tf (page) Tj ET"; count];
    assert_eq!(read(plain(&contents(MAX_PAGES))).map(|pages| pages.len()), Ok(MAX_PAGES));
    let too_many = PdfError::TooManyPages { pages: MAX_PAGES + 1, most: MAX_PAGES };
    assert_eq!(read(plain(&contents(MAX_PAGES + 1))), Err(too_many));
}

#[test]
fn a_file_cut_or_changed_at_any_byte_is_text_or_an_error() {
    let whole = [
        plain(&["BT /F1 10 Tf (some words) Tj ET", "BT /F1 10 Tf (more) Tj ET"]),
        written::with_object_streams("packed"),
    ];
    for whole in &whole {
        for end in 0..whole.len() {
            match read(whole[..end].to_vec()) {
                Ok(pages) => assert!(pages.concat().len() < 100, "cut at {end}: {pages:?}"),
                Err(error) => assert!(
                    matches!(error, PdfError::Broken | PdfError::NoText { .. }),
                    "cut at {end}: {error}"
                ),
            }
            let mut changed = whole.clone();
            changed[end] = changed[end].wrapping_add(1 + (end % 250) as u8);
            assert!(read(changed).map_or(0, |pages| pages.concat().len()) < 100, "changed at {end}");
        }
    }
    assert_eq!(read(Vec::new()), Err(PdfError::Broken));
    assert_eq!(read(b"%PDF-1.7\nno objects".to_vec()), Err(PdfError::Broken));
}

#[test]
fn what_decompresses_to_too_much_is_refused_before_it_is_decompressed() {
    let zeros = compress_to_vec_zlib(&vec![b' '; 65 * 1024 * 1024], 9);
    assert!(zeros.len() < 100_000);
    let twice = compress_to_vec_zlib(&zeros, 9);
    let mut damaged = zeros.clone();
    damaged[20_000] ^= 0xff;
    let bombs = [
        ("/Filter /FlateDecode", zeros.clone()),
        ("/Filter /Fl#61teDecode", zeros.clone()),
        ("/Filter [/ASCII85Decode /FlateDecode]", written::ascii85(&zeros).into_bytes()),
        ("/Filter [/FlateDecode /FlateDecode]", twice),
        ("/Filter 99 0 R", zeros.clone()),
        ("/Filter /FlateDecode % obj <<\n", zeros.clone()),
        ("/Type /ObjStm /N 1 /First 5 /Filter /FlateDecode", zeros),
        ("/Filter /FlateDecode", damaged),
        ("/Filter /LZWDecode", vec![0x80; 60_000]),
        ("/Filter /RunLengthDecode", [129, b' '].repeat(1_000_000)),
    ];
    for (filter, data) in bombs {
        let mut pdf = Pdf::default();
        let content = pdf.add_bytes(stream(filter, &data));
        pdf.page(&format!("/Contents {content} 0 R"));
        assert!(matches!(read(pdf.finish("")), Err(PdfError::Expands { .. })), "{filter}");
    }
}

#[test]
fn a_stream_that_a_page_names_again_and_again_is_bounded() {
    let mut pdf = Pdf::default();
    let data = compress_to_vec_zlib(&vec![b' '; 4 * 1024 * 1024], 6);
    let content = pdf.add_bytes(stream("/Filter /FlateDecode", &data));
    pdf.page(&format!("/Contents [{}]", format!("{content} 0 R ").repeat(1_000)));
    assert!(matches!(read(pdf.finish("")), Err(PdfError::Expands { .. })));
}

#[test]
fn a_text_beyond_the_bound_is_refused() {
    let line = format!("({}) Tj ", "a".repeat(1_000));
    let content = format!("BT /F1 10 Tf {} ET", line.repeat(1_000));
    let data = compress_to_vec_zlib(content.as_bytes(), 6);
    let mut pdf = Pdf::default();
    let font = pdf.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
    let content = pdf.add_bytes(stream("/Filter /FlateDecode", &data));
    for _ in 0..9 {
        pdf.page(&format!("/Resources << /Font << /F1 {font} 0 R >> >> /Contents {content} 0 R"));
    }
    assert!(matches!(read(pdf.finish("")), Err(PdfError::TooLong { .. })));
}

#[test]
fn nesting_without_end_is_no_overflow() {
    for content in ["[".repeat(200_000), "<<".repeat(200_000), "q ".repeat(200_000), "(".repeat(200_000)] {
        let content = format!("BT /F1 10 Tf (before) Tj ET {content}");
        assert_eq!(read(plain(&[&content])).unwrap(), ["before"]);
    }
    let mut pdf = Pdf::default();
    pdf.page(&format!("/Deep {}", "[".repeat(200_000)));
    assert!(read(pdf.finish("")).is_err());
}

#[test]
fn a_reader_that_is_asked_to_stop_says_that_it_took_too_long() {
    let stop = Stop::default();
    stop.set();
    assert_eq!(pages(plain(&["BT /F1 10 Tf (words) Tj ET"]), &stop), Err(PdfError::TooSlow));
}
