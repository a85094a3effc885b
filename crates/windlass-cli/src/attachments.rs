//! Files that are sent with an input, as parts of its message: texts, and images, documents, sound and film in place, at an address or under
//! the id that a provider gave them.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use data_encoding::BASE64;
use windlass_core::message::{Content, Media, MediaSource, Part, media_type};
use windlass_runtime::agent_file::files;

use crate::failure::{Exit, Failure};
use crate::stdin;

/// Maximum number of attachments of an input.
const MAX_FILES: usize = 32;
/// The most bytes that the attachments of an input may have together: 16 MiB.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The beginning of a text file as it is sent.
const MARK: &str = "<attachment name=\"";

/// The attachments of an input.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AttachArgs {
    /// Send this file with the message: text, an image, a PDF, sound or film; `-` is what comes on stdin. Also an address that the
    /// provider reads (`https://…`), or the id of a file that it has (`TYPE=id:ID`) (may be repeated)
    #[arg(short = 'a', long = "attach", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Keep the message through every compaction of the conversation, in later runs of the session, too
    #[arg(long)]
    pub(crate) pin: bool,
}

impl AttachArgs {
    /// These files.
    pub(crate) fn of(files: Vec<PathBuf>) -> Self {
        Self { files, pin: false }
    }

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
    if let Some(elsewhere) = path.to_str().and_then(elsewhere) {
        return elsewhere;
    }
    let bytes = if is_stdin(path) { stdin::bytes(*left) } else { files::read(path, *left) };
    let bytes = bytes.map_err(|error| unreadable(path, &error))?;
    if bytes.is_empty() {
        return Err(Failure::new(Exit::BadFile, format!("the attachment {} is empty", path.display())));
    }
    *left = left.saturating_sub(bytes.len() as u64);
    let name =
        if is_stdin(path) { Some("stdin".into()) } else { path.file_name().map(OsStr::to_string_lossy) };
    let name = name.unwrap_or_default();
    match media_type(&bytes) {
        Some(media_type) => {
            Ok(media(media_type, Some(&name), MediaSource::Base64(BASE64.encode(&bytes).into())))
        }
        None => text(path, &name, bytes),
    }
}

fn media(media_type: &str, name: Option<&str>, source: MediaSource) -> Part {
    let media = Media { media_type: media_type.into(), name: name.map(Into::into), source };
    if media_type.starts_with("image/") { Part::Image(media) } else { Part::File(media) }
}

/// A part that lies elsewhere: `https://…`, `TYPE=https://…` or `TYPE=id:ID`. `None`: it is the path of a file.
fn elsewhere(given: &str) -> Option<Result<Part, Failure>> {
    let is_address = |text: &str| text.starts_with("https://") || text.starts_with("http://");
    if is_address(given) {
        let path = given.split(['?', '#']).next().unwrap_or_default();
        let name = path.rsplit('/').next().filter(|name| !name.is_empty());
        let ending =
            name.and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending.to_ascii_lowercase());
        let known = ending.and_then(|ending| ENDINGS.iter().find(|(known, _)| *known == ending));
        return Some(match known {
            Some((_, media_type)) => Ok(media(media_type, name, MediaSource::Url(given.into()))),
            None => Err(Failure::new(Exit::Usage, format!("{given} does not say of which kind it is"))
                .hint(format!("say so: `-a image/png={given}`"))),
        });
    }
    let (media_type, place) = given.split_once('=').filter(|(kind, _)| kind.contains('/'))?;
    let source = match place.strip_prefix("id:") {
        Some(id) if !id.is_empty() => MediaSource::ProviderFile(id.into()),
        _ if is_address(place) => MediaSource::Url(place.into()),
        _ => return None,
    };
    Some(Ok(media(media_type, None, source)))
}

/// Media types by the ending of an address.
const ENDINGS: [(&str, &str); 15] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("heic", "image/heic"),
    ("pdf", "application/pdf"),
    ("wav", "audio/wav"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
    ("mp4", "video/mp4"),
    ("mov", "video/quicktime"),
    ("webm", "video/webm"),
];

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

/// The words of a message, and the names of the files that came with it.
pub(crate) fn apart(content: &Content) -> (String, Vec<String>) {
    let Content::Parts(parts) = content else { return (content.text().into_owned(), Vec::new()) };
    let (mut words, mut names) = (Vec::new(), Vec::new());
    for part in parts {
        match (part, name_of(part)) {
            (_, Some(name)) => names.push(name),
            (Part::Text { text }, None) => words.push(&**text),
            (Part::Image(_) | Part::File(_) | Part::Stored(_), None) => {}
        }
    }
    (words.join("\n"), names)
}

fn name_of(part: &Part) -> Option<String> {
    match part {
        Part::Text { text } => Some(text.strip_prefix(MARK)?.split_once("\">\n")?.0.to_owned()),
        Part::Image(media) | Part::File(media) => media.name.as_deref().map(str::to_owned),
        Part::Stored(_) => None,
    }
}

/// A text file between marks with its name, so that the model can tell files and question apart.
fn text(path: &Path, name: &str, bytes: Vec<u8>) -> Result<Part, Failure> {
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let Some(text) = text else { return Err(unknown_kind(path)) };
    let name = name.replace('"', "'");
    let text = text.trim_end_matches(['\n', '\r']);
    Ok(Part::Text { text: format!("{MARK}{name}\">\n{text}\n</attachment>").into() })
}

fn unknown_kind(path: &Path) -> Failure {
    let message = format!(
        "cannot attach {}: expected text in UTF-8, an image (PNG, JPEG, GIF, WebP), a PDF, sound (WAV, MP3, Ogg, FLAC, M4A) or film (MP4, \
         QuickTime, WebM)",
        path.display()
    );
    Failure::new(Exit::BadFile, message).hint("convert the file to one of these forms first")
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
