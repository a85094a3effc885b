//! Files that are sent with an input: text and images, as parts of its message.

use std::path::{Path, PathBuf};

use clap::Args;
use data_encoding::BASE64;
use windlass_core::message::{Media, MediaSource, Part};
use windlass_runtime::agent_file::files;

use crate::failure::{Exit, Failure};
use crate::home::quoted;

/// Maximum number of attachments of an input.
const MAX_FILES: usize = 32;
/// The most bytes that the attachments of an input may have together: 16 MiB.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The attachments of an input.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AttachArgs {
    /// Send this file with the input: text, or an image as PNG, JPEG, GIF or WebP (may be repeated)
    #[arg(short = 'a', long = "attach", value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl AttachArgs {
    /// Reads the files, each as one part of a message.
    pub(crate) fn read(&self) -> Result<Vec<Part>, Failure> {
        if self.files.len() > MAX_FILES {
            let given = self.files.len();
            return Err(Failure::new(
                Exit::Usage,
                format!("{given} attachments were given; the limit is {MAX_FILES}"),
            ));
        }
        let mut left = MAX_BYTES;
        self.files.iter().map(|path| read(path, &mut left)).collect()
    }
}

fn read(path: &Path, left: &mut u64) -> Result<Part, Failure> {
    let shown = path.display();
    let unreadable = |cause: String| {
        Failure::new(Exit::BadFile, format!("cannot read the attachment {shown}")).cause(cause)
    };
    if path.is_dir() {
        return Err(unreadable("it is a folder".to_owned()).hint("attach its files one by one"));
    }
    let bytes = files::read(path, *left).map_err(|error| {
        if error.kind() == std::io::ErrorKind::FileTooLarge {
            too_large(path)
        } else {
            unreadable(error.to_string())
        }
    })?;
    if bytes.is_empty() {
        return Err(Failure::new(Exit::BadFile, format!("the attachment {shown} is empty")));
    }
    *left = left.saturating_sub(bytes.len() as u64);
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    match image_type(&bytes) {
        Some(media_type) => Ok(Part::Image(Media {
            media_type: media_type.into(),
            name: Some(name.into()),
            source: MediaSource::Base64(BASE64.encode(&bytes).into()),
        })),
        None => text(path, &name, bytes),
    }
}

/// A text file between marks with its name, so that the model can tell files and question apart.
fn text(path: &Path, name: &str, bytes: Vec<u8>) -> Result<Part, Failure> {
    let is_pdf = bytes.starts_with(b"%PDF-");
    let text = String::from_utf8(bytes).ok().filter(|text| !is_pdf && !text.contains('\0'));
    let Some(text) = text else { return Err(unknown_kind(path, is_pdf)) };
    let name = name.replace('"', "'");
    let text = text.trim_end_matches(['\n', '\r']);
    Ok(Part::Text { text: format!("<attachment name=\"{name}\">\n{text}\n</attachment>").into() })
}

fn unknown_kind(path: &Path, is_pdf: bool) -> Failure {
    let shown = path.display().to_string();
    let failure = Failure::new(
        Exit::BadFile,
        format!("cannot attach {shown}: expected text in UTF-8, or an image as PNG, JPEG, GIF or WebP"),
    );
    if is_pdf {
        let file = quoted(&shown);
        return failure.hint(format!("send its text: `pdftotext {file} - | windlass \"your question\"`"));
    }
    failure.hint("convert the file to one of these forms first")
}

fn too_large(path: &Path) -> Failure {
    let bytes = std::fs::metadata(path).map_or(0, |data| data.len());
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    Failure::new(
        Exit::BadFile,
        format!(
            "the attachments are too large: {} has {:.1} MiB, and all together may have {:.0} MiB",
            path.display(),
            mib(bytes),
            mib(MAX_BYTES)
        ),
    )
    .hint("attach a smaller image, or a part of the text")
}

/// The media type of an image that models take, known by its first bytes.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
    ];
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let found = known.iter().find(|(first, _)| bytes.starts_with(first)).map(|(_, media_type)| *media_type);
    found.or(is_webp.then_some("image/webp"))
}
