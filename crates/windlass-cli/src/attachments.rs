//! Files that are sent with an input: text and images, as parts of its message.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use data_encoding::BASE64;
use windlass_core::message::{Media, MediaSource, Part};
use windlass_runtime::agent_file::files;

use crate::failure::{Exit, Failure};
use crate::home::quoted;
use crate::stdin;

/// Maximum number of attachments of an input.
const MAX_FILES: usize = 32;
/// The most bytes that the attachments of an input may have together: 16 MiB.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The attachments of an input.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AttachArgs {
    /// Send this file with the input: text, or an image as PNG, JPEG, GIF or WebP; `-` is what comes on stdin (may be
    /// repeated)
    #[arg(short = 'a', long = "attach", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Keep the input through every compaction of the conversation, in later runs of the session, too
    #[arg(long)]
    pub(crate) pin: bool,
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
        self.files.iter().map(|path| part(path, &mut left)).collect()
    }

    /// Whether what comes on stdin is attached.
    pub(crate) fn takes_stdin(&self) -> bool {
        self.files.iter().any(|path| is_stdin(path))
    }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn part(path: &Path, left: &mut u64) -> Result<Part, Failure> {
    let bytes = if is_stdin(path) { stdin::bytes(*left) } else { files::read(path, *left) };
    let bytes = bytes.map_err(|error| unreadable(path, &error))?;
    if bytes.is_empty() {
        return Err(Failure::new(Exit::BadFile, format!("the attachment {} is empty", path.display())));
    }
    *left = left.saturating_sub(bytes.len() as u64);
    let name =
        if is_stdin(path) { Some("stdin".into()) } else { path.file_name().map(OsStr::to_string_lossy) };
    let name = name.unwrap_or_default();
    match image_type(&bytes) {
        Some(media_type) => Ok(Part::Image(Media {
            media_type: media_type.into(),
            name: Some(name.into()),
            source: MediaSource::Base64(BASE64.encode(&bytes).into()),
        })),
        None => text(path, &name, bytes),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::FileTooLarge {
        return too_large(path);
    }
    let failure = Failure::new(Exit::BadFile, format!("cannot read the attachment {}", path.display()));
    if path.is_dir() {
        return failure.cause("it is a folder").hint("attach its files one by one");
    }
    failure.cause(error.to_string())
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
    let display_path = path.display().to_string();
    let failure = Failure::new(
        Exit::BadFile,
        format!(
            "cannot attach {display_path}: expected text in UTF-8, or an image as PNG, JPEG, GIF or WebP"
        ),
    );
    if is_pdf {
        let file = quoted(&display_path);
        return failure.hint(format!("send its text: `pdftotext {file} - | windlass \"your question\"`"));
    }
    failure.hint("convert the file to one of these forms first")
}

fn too_large(path: &Path) -> Failure {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let size =
        std::fs::metadata(path).map(|data| format!(" ({:.1} MiB)", mib(data.len()))).unwrap_or_default();
    let (file, most) = (path.display(), mib(MAX_BYTES));
    let message =
        format!("{file}{size} cannot be attached: the limit is {most:.0} MiB for all attachments together");
    Failure::new(Exit::BadFile, message).hint("attach a smaller image, or a part of the text")
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
