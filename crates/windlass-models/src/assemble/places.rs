//! Places of calls by a key of theirs, so that a piece finds its call without a search.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// A map whose first entry takes no memory of its own: most replies have one call.
#[derive(Clone, Debug)]
pub(crate) struct Places<K> {
    first: Option<(K, usize)>,
    more: BTreeMap<K, usize>,
}

impl<K> Default for Places<K> {
    fn default() -> Self {
        Self { first: None, more: BTreeMap::new() }
    }
}

impl<K: Ord> Places<K> {
    /// The place of a key.
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        match &self.first {
            Some((first, place)) if first.borrow() == key => Some(*place),
            _ => self.more.get(key).copied(),
        }
    }

    /// Sets the place of a key.
    pub(crate) fn insert(&mut self, key: K, place: usize) {
        match &mut self.first {
            None => self.first = Some((key, place)),
            Some((first, at)) if *first == key => *at = place,
            Some(_) => {
                self.more.insert(key, place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn the_last_place_of_a_key_counts_wherever_it_is_kept() {
        let mut places = Places::default();
        assert_eq!(places.get(&1), None);
        for (key, place) in [(1, 0), (2, 1), (1, 2), (3, 3), (2, 4)] {
            places.insert(key, place);
        }
        assert_eq!([1, 2, 3, 4].map(|key| places.get(&key)), [Some(2), Some(4), Some(3), None]);
    }
}
