//! Serde access to the tree: items of lists, entries of maps, variants of enums.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::at::{AT, Kind};
use super::de::{Fault, Path, Reader};
use super::node::{Key, Node, NodeValue, Place};

/// The items of a list.
pub(super) struct Items<'n, 'p> {
    pub(super) items: std::iter::Enumerate<std::slice::Iter<'n, Node>>,
    pub(super) path: &'p Path<'p>,
}

impl<'n> SeqAccess<'n> for Items<'n, '_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some((at, node)) = self.items.next() else { return Ok(None) };
        let path = Path::Item(self.path, at);
        Reader::new(node, &path).placed(|reader| seed.deserialize(reader)).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The entries of a map.
pub(super) struct Entries<'n, 'p> {
    pub(super) left: std::slice::Iter<'n, (Key, Node)>,
    pub(super) value: Option<(&'n Key, &'n Node)>,
    pub(super) path: &'p Path<'p>,
}

impl<'n> MapAccess<'n> for Entries<'n, '_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'n>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        self.value = Some((key, value));
        read_key(key, self.path, seed).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'n>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let Some((key, value)) = self.value.take() else {
            return Err(Fault::Words("a value was asked for before its key".to_owned()));
        };
        let path = Path::Key(self.path, &key.name);
        Reader::new(value, &path).placed(|reader| seed.deserialize(reader))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// A key that does not fit is an unknown one.
fn read_key<'n, K: DeserializeSeed<'n>>(key: &'n Key, path: &Path<'_>, seed: K) -> Result<K::Value, Fault> {
    let name: StrDeserializer<'_, Fault> = key.name.as_str().into_deserializer();
    seed.deserialize(name)
        .map_err(|fault: Fault| fault.of_key().at(key.place(), path, &|| format!("{:?}", key.name)))
}

/// An enum that is written as one word.
pub(super) struct Word<'n> {
    pub(super) word: &'n str,
    pub(super) expected: String,
}

impl<'n> EnumAccess<'n> for Word<'n> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'n>>(self, seed: S) -> Result<(S::Value, Self), Fault> {
        let name: StrDeserializer<'_, Fault> = self.word.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'n> VariantAccess<'n> for Word<'n> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    /// A variant that can do without its value has none here.
    fn newtype_variant_seed<T: DeserializeSeed<'n>>(self, seed: T) -> Result<T::Value, Fault> {
        static NOTHING: Node = Node { value: NodeValue::Null, line: 1, column: 1, literal: false };
        let nothing = Reader::new(&NOTHING, &Path::Root(""));
        seed.deserialize(nothing).map_err(|_| Fault::Wrong { expected: self.expected })
    }

    fn tuple_variant<V: Visitor<'n>>(self, _: usize, _: V) -> Result<V::Value, Fault> {
        Err(Fault::Wrong { expected: self.expected })
    }

    fn struct_variant<V: Visitor<'n>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Fault> {
        Err(Fault::Wrong { expected: self.expected })
    }
}

/// An enum that is written as an entry of a map.
pub(super) struct Variant<'n, 'p> {
    pub(super) key: &'n Key,
    pub(super) value: &'n Node,
    pub(super) path: &'p Path<'p>,
}

impl<'n> EnumAccess<'n> for Variant<'n, '_> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'n>>(self, seed: S) -> Result<(S::Value, Self), Fault> {
        Ok((read_key(self.key, self.path, seed)?, self))
    }
}

impl<'n> Variant<'n, '_> {
    fn value<T>(self, read: impl FnOnce(Reader<'n, '_>) -> Result<T, Fault>) -> Result<T, Fault> {
        let path = Path::Key(self.path, &self.key.name);
        Reader::new(self.value, &path).placed(read)
    }
}

impl<'n> VariantAccess<'n> for Variant<'n, '_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        self.value(|reader| serde::Deserialize::deserialize(reader))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'n>>(self, seed: T) -> Result<T::Value, Fault> {
        self.value(|reader| seed.deserialize(reader))
    }

    fn tuple_variant<V: Visitor<'n>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.value(|reader| reader.deserialize_seq(visitor))
    }

    fn struct_variant<V: Visitor<'n>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.value(|reader| reader.deserialize_struct("", fields, visitor))
    }
}

/// The entries of a map, one by one: each is read as a map of its own.
pub(super) struct Singles<'n, 'p> {
    pub(super) entries: std::slice::Iter<'n, (Key, Node)>,
    pub(super) path: &'p Path<'p>,
}

impl<'n> SeqAccess<'n> for Singles<'n, '_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        seed.deserialize(Single(Variant { key, value, path: self.path })).map(Some)
    }
}

/// An entry of a map that is read as a map of its own. Its place is its key's.
struct Single<'n, 'p>(Variant<'n, 'p>);

impl<'n> Deserializer<'n> for Single<'n, '_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_enum(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'n>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name != AT {
            return visitor.visit_newtype_struct(self);
        }
        let Variant { key, path, .. } = &self.0;
        let (place, path) = (key.place(), Path::Key(path, &key.name).text());
        visitor.visit_seq(Located { place, path, literal: false, step: 0, value: Some(self) })
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'n>>
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

/// A value with its place: what [`At`](super::At) is read from.
pub(super) struct Located<D> {
    pub(super) place: Place,
    pub(super) path: String,
    pub(super) literal: bool,
    pub(super) step: u8,
    pub(super) value: Option<D>,
}

impl<'n, D: Deserializer<'n, Error = Fault>> SeqAccess<'n> for Located<D> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        self.step += 1;
        let number = |number: usize| IntoDeserializer::<Fault>::into_deserializer(number as u64);
        match self.step {
            1 => seed.deserialize(number(self.place.line)).map(Some),
            2 => seed.deserialize(number(self.place.column)).map(Some),
            3 => seed.deserialize(std::mem::take(&mut self.path).into_deserializer()).map(Some),
            4 => seed.deserialize(self.literal.into_deserializer()).map(Some),
            _ => self.value.take().map(|value| seed.deserialize(value)).transpose(),
        }
    }
}

/// A value behind its kind.
pub(super) struct OfKind<'n, 'p> {
    pub(super) kind: Option<Kind>,
    pub(super) node: &'n Node,
    pub(super) path: &'p Path<'p>,
}

impl<'n> SeqAccess<'n> for OfKind<'n, '_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        match self.kind.take() {
            Some(kind) => seed.deserialize((kind as u8).into_deserializer()).map(Some),
            None => Reader::new(self.node, self.path).placed(|reader| seed.deserialize(reader)).map(Some),
        }
    }
}
