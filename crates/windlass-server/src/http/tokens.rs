//! Tokens: who may do what. A file holds their hashes, and is read anew once it has changed.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use windlass_core::{Owner, Text};
use windlass_runtime::{Environment as _, SystemEnvironment};

use super::verb::Verb;
use crate::error::Error;

/// The beginning of every token, by which scanners of secrets find one.
const PREFIX: &str = "wl";
/// The most bytes of the file: about 20,000 tokens.
const FILE_BYTES: u64 = 8 << 20;
/// The hexadecimal digits of an id.
const ID_DIGITS: usize = 8;

/// A token as the file holds it: its secret is not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its id, which is a part of the token's text and stands in audit lines.
    pub id: Text,
    /// SHA-256 of its secret, in lower-case hexadecimal. The secret has 256 random bits, so that a slow hash would protect nothing.
    sha256: Text,
    /// The owner that acts with it.
    pub owner: Owner,
    /// Whether it sees the runs of all owners.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sees_all: bool,
    /// The agents that it is for; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Text>,
    /// The verbs that it allows; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verbs: Vec<VerbName>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_at: u64,
    /// From when on it is refused; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

/// A verb by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "Text")]
pub struct VerbName(pub Verb);

impl TryFrom<Text> for VerbName {
    type Error = String;

    fn try_from(name: Text) -> Result<Self, String> {
        Verb::from_name(&name).map(Self).ok_or_else(|| format!("there is no verb `{name}`"))
    }
}

impl From<VerbName> for Text {
    fn from(verb: VerbName) -> Self {
        verb.0.name().into()
    }
}

/// A token to be made.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    /// The owner that acts with it.
    pub owner: Owner,
    /// Whether it sees the runs of all owners. The owner `local` does.
    pub sees_all: bool,
    /// The agents that it is for; empty: all.
    pub agents: Vec<Text>,
    /// The verbs that it allows; empty: all.
    pub verbs: Vec<Verb>,
    /// A name for people.
    pub name: Option<Text>,
    /// From when on it is refused.
    pub expires_at: Option<u64>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TokenFile {
    tokens: Vec<Token>,
}

/// The tokens of a file.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The file as it was read; `None`: it was not there.
    stamp: Option<Stamp>,
    tokens: Arc<BTreeMap<Text, Token>>,
}

/// The attributes that change with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(file: &std::fs::Metadata) -> Self {
        Self { inode: file.ino(), bytes: file.len(), changed: (file.mtime(), file.mtime_nsec()) }
    }
}

impl Tokens {
    /// The tokens of that file, which need not be there.
    pub fn of_file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), known: Mutex::default() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Tokens { path: self.path.clone(), source }
    }

    fn unwritten(&self, source: io::Error) -> Error {
        Error::TokensUnwritten { path: self.path.clone(), source }
    }

    /// All tokens by id, as the file has them now.
    ///
    /// # Errors
    /// The file cannot be read, or is none of tokens.
    pub fn all(&self) -> Result<Arc<BTreeMap<Text, Token>>, Error> {
        self.current().map_err(|source| self.failed(source))
    }

    fn current(&self) -> io::Result<Arc<BTreeMap<Text, Token>>> {
        let stamp = match std::fs::metadata(&self.path) {
            Ok(file) => Some(Stamp::of(&file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if stamp.is_none() || known.stamp != stamp {
            *known = self.read()?;
        }
        Ok(known.tokens.clone())
    }

    fn read(&self) -> io::Result<Known> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Known::default()),
            Err(error) => return Err(error),
        };
        let stamp = Stamp::of(&file.metadata()?);
        let mut text = Vec::new();
        file.take(FILE_BYTES + 1).read_to_end(&mut text)?;
        if text.len() as u64 > FILE_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it has more than {FILE_BYTES} bytes"),
            ));
        }
        let read: TokenFile = serde_json::from_slice(&text).map_err(io::Error::from)?;
        let tokens = read.tokens.into_iter().map(|token| (token.id.clone(), token)).collect();
        Ok(Known { stamp: Some(stamp), tokens: Arc::new(tokens) })
    }

    /// The token whose text that is.
    ///
    /// # Errors
    /// There is none, it has expired, or the file cannot be read.
    pub fn find(&self, text: &str, now: u64) -> Result<Token, Error> {
        let (id, secret) = split(text).ok_or(Error::UnknownToken)?;
        let all = self.all()?;
        let token =
            all.get(id).filter(|token| is_same(&token.sha256, &hash(secret))).ok_or(Error::UnknownToken)?;
        if token.expires_at.is_some_and(|end| end <= now) {
            return Err(Error::ExpiredToken { id: token.id.clone() });
        }
        Ok(token.clone())
    }

    /// Makes a token. Its text is given once, and is nowhere else.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn make(&self, new: NewToken) -> Result<(Token, String), Error> {
        let NewToken { owner, sees_all, agents, verbs, name, expires_at } = new;
        let (id, secret) = fresh().map_err(|source| self.unwritten(source))?;
        let token = Token {
            id: id.clone(),
            sha256: hash(&secret),
            sees_all: sees_all && !owner.is_local(),
            owner,
            agents,
            verbs: verbs.into_iter().map(VerbName).collect(),
            name,
            created_at: SystemEnvironment.now(),
            expires_at,
        };
        let made = token.clone();
        self.change(|tokens| tokens.push(made))?;
        Ok((token, written(&id, &secret)))
    }

    /// Takes a token back. From then on it is unknown. `false`: there was none with that id.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn revoke(&self, id: &str) -> Result<bool, Error> {
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|token| *token.id != *id);
            tokens.len() < before
        })
    }

    /// Makes a token with the rights of another one, which is refused from `old_until` on (at once: now). The new one is good until
    /// `expires_at`; `None`: for as long as the old one was made for. `None` is given if there is none with that id.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn rotate(
        &self,
        id: &str,
        old_until: u64,
        expires_at: Option<u64>,
    ) -> Result<Option<(Token, String)>, Error> {
        let (fresh_id, secret) = fresh().map_err(|source| self.unwritten(source))?;
        self.change(|tokens| {
            let old = tokens.iter_mut().find(|token| *token.id == *id)?;
            let (id, sha256, created_at) = (fresh_id.clone(), hash(&secret), SystemEnvironment.now());
            let as_long = || Some(created_at.saturating_add(old.expires_at?.saturating_sub(old.created_at)));
            let token =
                Token { id, sha256, created_at, expires_at: expires_at.or_else(as_long), ..old.clone() };
            old.expires_at = Some(old.expires_at.map_or(old_until, |end| end.min(old_until)));
            tokens.push(token.clone());
            Some((token, written(&fresh_id, &secret)))
        })
    }

    /// Changes the file: readers see the old one or the new one, whole. Two that change it wait for each other.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Token>) -> T) -> Result<T, Error> {
        let lock = self.locked().map_err(|source| self.unwritten(source))?;
        let known = self.read().map_err(|source| self.failed(source))?;
        let mut tokens: Vec<Token> = known.tokens.values().cloned().collect();
        let done = change(&mut tokens);
        tokens.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        self.write(tokens).map_err(|source| self.unwritten(source))?;
        drop(lock);
        Ok(done)
    }

    /// The path with an ending after its own.
    fn with_ending(&self, ending: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    }

    /// A lock on the file until it is dropped.
    fn locked(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let path = self.with_ending(".lock");
        let lock = match self.made(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
                OpenOptions::new().write(true).custom_flags(no_follow).open(&path)
            }
            made => made,
        }?;
        lock.lock()?;
        Ok(lock)
    }

    /// Replaces the file as a whole.
    fn write(&self, tokens: Vec<Token>) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(&TokenFile { tokens }).map_err(io::Error::from)?;
        let fresh = self.with_ending(".new");
        match std::fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = self.made(&fresh)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(&fresh, &self.path)
    }

    /// A file that was not there. One that root makes is given to whom the tokens belong: else the server, which is another user, could not
    /// read them any more. It is made anew, because a link that this user has laid there would lead root to any file.
    fn made(&self, path: &Path) -> io::Result<File> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        if rustix::process::geteuid().is_root() {
            self.give(&file)?;
        }
        Ok(file)
    }

    fn give(&self, file: &File) -> io::Result<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let there = std::fs::metadata(&self.path).or_else(|_| folder.unwrap_or(Path::new(".")).metadata())?;
        if file.metadata()?.uid() == there.uid() {
            return Ok(());
        }
        std::os::unix::fs::fchown(file, Some(there.uid()), Some(there.gid()))
    }
}

impl Token {
    /// Whether it allows a verb.
    pub fn allows(&self, verb: Verb) -> bool {
        self.verbs.is_empty() || self.verbs.contains(&VerbName(verb))
    }

    /// Whether it is for an agent.
    pub fn is_for(&self, agent: &str) -> bool {
        self.agents.is_empty() || self.agents.iter().any(|name| **name == *agent)
    }
}

/// A fresh id and secret.
fn fresh() -> io::Result<(Text, String)> {
    let (id, secret): ([u8; ID_DIGITS / 2], [u8; 32]) = (random()?, random()?);
    Ok((HEXLOWER.encode(&id).into(), URL_SAFE_NO_PAD.encode(secret)))
}

/// Bytes that nobody can guess.
fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

fn written(id: &str, secret: &str) -> String {
    format!("{PREFIX}_{id}_{secret}")
}

/// The id and the secret of a token's text.
fn split(text: &str) -> Option<(&str, &str)> {
    let (id, secret) = text.strip_prefix(PREFIX)?.strip_prefix('_')?.split_once('_')?;
    (id.len() == ID_DIGITS && !secret.is_empty()).then_some((id, secret))
}

fn hash(secret: &str) -> Text {
    HEXLOWER.encode(&Sha256::digest(secret)).into()
}

/// Compares two hashes in a time that does not depend on where they differ.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
