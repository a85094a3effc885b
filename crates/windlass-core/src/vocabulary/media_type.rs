//! The kind of data by their first bytes.

/// The media type of an image, a document, sound or film that some models take, known by its first bytes (WHATWG, "MIME Sniffing").
///
/// ```
/// use windlass_core::message::media_type;
///
/// assert_eq!(media_type(b"%PDF-1.7\n"), Some("application/pdf"));
/// assert_eq!(media_type(b"some words"), None);
/// ```
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 12] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"%PDF-", "application/pdf"),
        (b"ID3", "audio/mpeg"),
        (b"\xff\xfb", "audio/mpeg"),
        (b"\xff\xf3", "audio/mpeg"),
        (b"\xff\xf2", "audio/mpeg"),
        (b"OggS", "audio/ogg"),
        (b"fLaC", "audio/flac"),
        (b"\x1a\x45\xdf\xa3", "video/webm"),
    ];
    if let Some((_, found)) = known.iter().find(|(first, _)| bytes.starts_with(first)) {
        return Some(found);
    }
    // Files of parts: what they hold stands behind the first part's length (RIFF; ISO 14496-12, 4.3).
    match (bytes.get(..4)?, bytes.get(4..8)?, bytes.get(8..12)?) {
        (b"RIFF", _, b"WEBP") => Some("image/webp"),
        (b"RIFF", _, b"WAVE") => Some("audio/wav"),
        (_, b"ftyp", b"M4A ") => Some("audio/mp4"),
        (_, b"ftyp", b"qt  ") => Some("video/quicktime"),
        (_, b"ftyp", b"heic" | b"heix" | b"mif1") => Some("image/heic"),
        (_, b"ftyp", _) => Some("video/mp4"),
        _ => None,
    }
}
