//! Owns the parts of a reply's content: texts, thoughts, images and refusals, however servers nest them.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use windlass_core::message::{Media, MediaSource};

use crate::wires::json::compact;

/// The most blocks of reasoning that one piece of a reply may have, and the most bytes of them together.
const MAX_DETAILS: usize = 4096;
const MAX_DETAIL_BYTES: usize = 4 * 1024 * 1024;

/// A part of a reply's content.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    /// Mistral's `{"type":"thinking","thinking":[{"type":"text","text":…}]}`.
    Thinking(String),
    Refusal(String),
    Image(Media),
}

/// Content that comes as a string, as `null`, as a list of parts, as one part, or (against the API) as another value, whose JSON is
/// its text.
#[derive(Debug)]
pub(super) enum Pieces {
    Text(String),
    Parts(Box<[Piece]>),
}

impl Default for Pieces {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// The types of parts, which tell a part from an object that the model made.
const PARTS: [&str; 5] = ["text", "output_text", "thinking", "refusal", "image_url"];

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Words,
    thinking: Words,
    refusal: Words,
    image_url: Option<Address>,
}

/// The address of an image: a text, or a map with it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Address {
    Plain(String),
    Within { url: String },
}

impl Part {
    fn piece(self) -> Option<Piece> {
        if let Some(address) = self.image_url {
            let (Address::Plain(url) | Address::Within { url }) = address;
            return image(&url).map(Piece::Image);
        }
        if self.kind.as_deref() == Some("thinking") {
            return Some(Piece::Thinking(self.thinking.0));
        }
        if !self.refusal.0.is_empty() {
            return Some(Piece::Refusal(self.refusal.0));
        }
        (!self.text.0.is_empty()).then_some(Piece::Text(self.text.0))
    }
}

/// An element of a list: a part, or (against the API) a text, or another value, whose JSON is its text.
fn element(raw: &RawValue) -> Option<Piece> {
    let json = raw.get();
    let text = match json.as_bytes().first() {
        Some(b'{') => {
            let part: Part = serde_json::from_str(json).unwrap_or_default();
            let is_part = part.kind.is_some();
            match part.piece() {
                // What nobody knows among the parts is none of the text.
                None if !is_part => compact(json),
                piece => return piece,
            }
        }
        Some(b'"') => serde_json::from_str(json).ok()?,
        Some(b'n') | None => return None,
        Some(_) => compact(json),
    };
    (!text.is_empty()).then_some(Piece::Text(text))
}

/// An image by its address, which may hold its bytes (RFC 2397).
fn image(url: &str) -> Option<Media> {
    if url.is_empty() {
        return None;
    }
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let (media_type, source) = match inline {
        Some((kind, data)) => (kind.split(';').next().unwrap_or_default(), MediaSource::Base64(data.into())),
        None => ("", MediaSource::Url(url.into())),
    };
    // Servers that name no type send PNG.
    let media_type = if media_type.is_empty() { "image/png" } else { media_type };
    Some(Media { media_type: media_type.into(), name: None, source })
}

impl<'de> Deserialize<'de> for Pieces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Pieces;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("content")
            }
            fn visit_unit<E>(self) -> Result<Pieces, E> {
                Ok(Pieces::default())
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Pieces, E> {
                self.visit_string(text.to_owned())
            }
            fn visit_string<E>(self, text: String) -> Result<Pieces, E> {
                Ok(Pieces::Text(text))
            }
            fn visit_bool<E: serde::de::Error>(self, flag: bool) -> Result<Pieces, E> {
                self.visit_string(flag.to_string())
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Pieces, E> {
                self.visit_string(number.to_string())
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Pieces, E> {
                self.visit_string(number.to_string())
            }
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Pieces, E> {
                self.visit_string(Value::from(number).to_string())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Pieces, A::Error> {
                let mut pieces: Vec<Piece> = Vec::new();
                while let Some(part) = items.next_element::<&RawValue>()? {
                    match (pieces.last_mut(), element(part)) {
                        (Some(Piece::Text(text)), Some(Piece::Text(more))) => text.push_str(&more),
                        (_, piece) => pieces.extend(piece),
                    }
                }
                Ok(Pieces::Parts(pieces.into()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Pieces, A::Error> {
                let object = Map::deserialize(MapAccessDeserializer::new(map))?;
                let is_part = object.get("type").is_some_and(|kind| PARTS.iter().any(|part| kind == part));
                if is_part && let Ok(part) = serde_json::from_value::<Part>(Value::Object(object.clone())) {
                    return Ok(Pieces::Parts(part.piece().into_iter().collect()));
                }
                self.visit_string(Value::Object(object).to_string())
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Text that comes as a string, as `null`, or as a list of `{"type":"text","text":…}`; anything else counts as absent.
#[derive(Debug, Default)]
pub(super) struct Words(pub(super) String);

#[derive(Default, Deserialize)]
#[serde(default)]
struct TextPart {
    text: Option<String>,
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Words;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a list of text parts or null")
            }
            fn visit_unit<E>(self) -> Result<Words, E> {
                Ok(Words::default())
            }
            fn visit_str<E>(self, text: &str) -> Result<Words, E> {
                Ok(Words(text.to_owned()))
            }
            fn visit_string<E>(self, text: String) -> Result<Words, E> {
                Ok(Words(text))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Words, E> {
                Ok(Words::default())
            }
            fn visit_u64<E>(self, _: u64) -> Result<Words, E> {
                Ok(Words::default())
            }
            fn visit_i64<E>(self, _: i64) -> Result<Words, E> {
                Ok(Words::default())
            }
            fn visit_f64<E>(self, _: f64) -> Result<Words, E> {
                Ok(Words::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Words, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Words::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Words, A::Error> {
                let mut all = String::new();
                while let Some(part) = items.next_element::<TextPart>()? {
                    all.push_str(part.text.as_deref().unwrap_or_default());
                }
                Ok(Words(all))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// One block of reasoning, its keys sorted: a stream names them in another order than a whole reply.
pub(super) type Detail = BTreeMap<String, Value>;

/// Blocks of reasoning. Anything that is no list of objects counts as absent.
#[derive(Debug, Default)]
pub(super) struct Details(pub(super) Vec<Detail>);

impl<'de> Deserialize<'de> for Details {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = Some(raw.get()).filter(|text| text.len() <= MAX_DETAIL_BYTES);
        let read = text.and_then(|text| serde_json::from_str::<Option<Vec<Detail>>>(text).ok());
        let mut details = read.flatten().unwrap_or_default();
        details.truncate(MAX_DETAILS);
        Ok(Self(details))
    }
}
