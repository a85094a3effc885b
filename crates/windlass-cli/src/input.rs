//! The input of a run as the command line gives it: words, stdin and attachments.

use std::io::IsTerminal;
use std::path::PathBuf;

use windlass_api::{AttachmentSource, InputPart};
use windlass_core::Message;
use windlass_core::message::{Content, Media, MediaSource, Part};
use windlass_runtime::RunMessages;
use windlass_runtime::agent_file::AgentFile;

use crate::attachments::AttachArgs;
use crate::failure::{Exit, Failure};
use crate::stdin;

/// Input of a run.
#[derive(Debug, Default)]
pub(crate) struct Input {
    text: String,
    attached: Vec<Part>,
    /// Names of files among them, for people.
    names: Vec<String>,
    pinned: bool,
}

impl Input {
    /// The words, else what is on stdin. `-` stands for stdin, too. `hint` says how to give an input.
    pub(crate) fn read(words: Option<String>, attach: &AttachArgs, hint: &str) -> Result<Self, Failure> {
        let attached = attach.read()?;
        let from_stdin = match &words {
            Some(text) => text == "-",
            None if attach.takes_stdin() || std::io::stdin().is_terminal() => {
                return Err(Failure::new(Exit::Usage, "no input given").hint(hint));
            }
            None => true,
        };
        let text = if from_stdin { on_stdin()? } else { words.unwrap_or_default() };
        if text.is_empty() && attached.is_empty() {
            let place = if from_stdin { "the input on stdin" } else { "the input" };
            return Err(Failure::new(Exit::Usage, format!("{place} is empty")).hint(hint));
        }
        Ok(Self { text, attached, pinned: attach.pin, ..Self::default() })
    }

    /// A message that was sent before.
    pub(crate) fn again(content: &Content) -> Self {
        let Content::Parts(parts) = content else {
            return Self { text: content.text().into_owned(), ..Self::default() };
        };
        let mut parts = parts.iter().cloned();
        let text = match parts.next() {
            Some(Part::Text { text }) => text.to_string(),
            Some(other) => {
                return Self { attached: std::iter::once(other).chain(parts).collect(), ..Self::default() };
            }
            None => String::new(),
        };
        Self { text, attached: parts.collect(), ..Self::default() }
    }

    /// The words.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The number of files beside the words.
    pub(crate) fn files(&self) -> usize {
        self.attached.len()
    }

    /// The names of its files, as they were typed.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Words as they were typed, and the files beside them.
    pub(crate) fn typed(words: &str, files: Vec<PathBuf>) -> Result<Self, Failure> {
        let names = files.iter().map(|file| file.display().to_string()).collect();
        let attached = AttachArgs::of(files).read()?;
        Ok(Self { text: words.to_owned(), attached, names, pinned: false })
    }

    /// The words, and after them what another program or a file gives on stdin.
    pub(crate) fn read_with_stdin(
        words: Option<String>,
        attach: &AttachArgs,
        hint: &str,
    ) -> Result<Self, Failure> {
        let words = match words {
            Some(words) if words != "-" => words,
            from_stdin => return Self::read(from_stdin, attach, hint),
        };
        let attached = attach.read()?;
        let piped = if stdin::is_given() && !attach.takes_stdin() { on_stdin()? } else { String::new() };
        let text = if piped.is_empty() { words } else { format!("{words}\n\n{piped}") };
        Ok(Self { text, attached, pinned: attach.pin, ..Self::default() })
    }

    /// Refuses attachments where the agent's input is a value: there is no place for them.
    pub(crate) fn check(&self, agent: &AgentFile) -> Result<(), Failure> {
        if self.attached.is_empty() || agent.input_schema.is_none() {
            return Ok(());
        }
        Err(Failure::new(
            Exit::Usage,
            format!("agent `{}` takes typed input, which has no attachments", agent.name),
        )
        .hint("put the file's content into a field of the input"))
    }

    /// The same for a server.
    pub(crate) fn for_server(self) -> Result<windlass_api::Input, Failure> {
        if self.pinned {
            return Err(Failure::new(Exit::Usage, "`--pin` works on a log, and not on a server"));
        }
        if self.attached.is_empty() {
            return Ok(windlass_api::Input::Text(self.text));
        }
        let text = InputPart::Text { text: self.text };
        let parts = std::iter::once(text).chain(self.attached.into_iter().filter_map(sent));
        Ok(windlass_api::Input::Parts(parts.collect()))
    }

    /// The messages that the run begins with.
    pub(crate) fn messages(self) -> RunMessages {
        let (pinned, mut parts) = (self.pinned, self.attached);
        let messages = if parts.is_empty() {
            RunMessages::from(self.text)
        } else {
            parts.insert(0, Part::Text { text: self.text.into() });
            vec![Message::User { content: Content::Parts(parts), pinned }].into()
        };
        if pinned { messages.pinned() } else { messages }
    }
}

/// An attachment as it is sent.
pub(crate) fn sent(part: Part) -> Option<InputPart> {
    let (is_image, Media { media_type, name, source }) = match part {
        Part::Text { text } => return Some(InputPart::Text { text: text.to_string() }),
        Part::Image(media) => (true, media),
        Part::File(media) => (false, media),
        Part::Stored(_) => return None,
    };
    let source = match source {
        MediaSource::Base64(data) => AttachmentSource::Base64(data.to_string()),
        MediaSource::Url(url) => AttachmentSource::Url(url.to_string()),
        MediaSource::ProviderFile(id) => AttachmentSource::ProviderFile(id.to_string()),
        MediaSource::Stored(_) => return None,
    };
    let (media_type, name) = (media_type.to_string(), name.map(|name| name.to_string()));
    Some(if is_image {
        InputPart::Image { media_type, name, source }
    } else {
        InputPart::File { media_type, name, source }
    })
}

fn on_stdin() -> Result<String, Failure> {
    let text = stdin::whole().map_err(|error| {
        let failure = Failure::new(Exit::BadFile, "cannot read the input on stdin").cause(error.to_string());
        let is_binary = error.kind() == std::io::ErrorKind::InvalidData;
        failure.maybe_hint(
            is_binary.then(|| "an image is attached: `-a FILE`, or `-a -` for the one on stdin".to_owned()),
        )
    })?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}
