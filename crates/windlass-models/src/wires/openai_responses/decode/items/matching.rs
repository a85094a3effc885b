//! Owns which streamed item an element of a whole output is.

use super::{Items, Kind};

/// Which items were streamed and are not found in the whole output yet: ids may repeat, so each is found once.
#[derive(Debug)]
pub(in super::super) struct Unmatched(pub(super) Vec<bool>);

impl Unmatched {
    /// The streamed item that an element of the whole output is: by its id, else by its place.
    pub(in super::super) fn take(
        &mut self,
        items: &Items,
        kind: Kind,
        id: Option<&str>,
        place: usize,
    ) -> Option<usize> {
        let id = id.filter(|id| !id.is_empty());
        let by_id = id.and_then(|id| items.by_id.get(id)).copied();
        let fits = |at: &usize| self.0.get(*at) == Some(&true) && items.kind(*at) == Some(kind);
        let here = Some(place).filter(fits);
        let same = here.filter(|at| items.all.get(*at).is_some_and(|item| item.id.as_deref() == id));
        let at = same.or(by_id.filter(fits)).or(here)?;
        if let Some(free) = self.0.get_mut(at) {
            *free = false;
        }
        Some(at)
    }
}
