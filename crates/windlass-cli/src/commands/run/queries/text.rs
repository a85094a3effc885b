//! The text of a query file, whatever program saved it.

/// The text of a file: UTF-8, or UTF-16 as spreadsheets and Windows save it. A byte order mark is no part of it.
///
/// # Errors
/// It is no text, in words.
pub(super) fn decoded(bytes: &[u8]) -> Result<String, String> {
    let text = match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            return Err("it is UTF-32; save it as UTF-8".to_owned());
        }
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest)?,
        [first, 0, ..] if *first != 0 => utf16(bytes, u16::from_le_bytes)?,
        [0, second, ..] if *second != 0 => utf16(bytes, u16::from_be_bytes)?,
        _ => utf8(bytes)?,
    };
    if text.contains('\0') {
        return Err("it is no text: it holds a zero byte".to_owned());
    }
    Ok(text)
}

fn utf8(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        format!("line {line}: it is not valid UTF-8; save it as UTF-8")
    })?;
    Ok(text.to_owned())
}

fn utf16(bytes: &[u8], read: fn([u8; 2]) -> u16) -> Result<String, String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let text = char::decode_utf16(pairs.iter().map(|pair| read(*pair))).collect::<Result<String, _>>();
    text.ok().filter(|_| rest.is_empty()).ok_or_else(|| "it is not valid UTF-16; save it as UTF-8".to_owned())
}
