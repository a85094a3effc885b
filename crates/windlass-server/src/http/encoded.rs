//! Appends as JSON: written once, and shared by all who read them at the moment (E69).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use windlass_core::RunId;

/// How many entries there are when those that nobody reads any more are forgotten.
const SWEPT: usize = 1_024;

/// An append in one of its forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Of {
    pub(crate) run: RunId,
    /// The number of its first event that is sent.
    pub(crate) first: u64,
    /// Whether its cause is sent, too.
    pub(crate) with_cause: bool,
}

/// The appends that are being sent.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    known: Mutex<HashMap<Of, Weak<Vec<u8>>>>,
}

impl Encoded {
    /// The bytes of an append, as somebody else reads them now, or made anew.
    pub(crate) fn get(&self, of: Of, make: impl FnOnce() -> Vec<u8>) -> Bytes {
        let found =
            self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&of).and_then(Weak::upgrade);
        let shared = found.unwrap_or_else(|| {
            // Made without the lock: two that come at one moment make it twice.
            let made = Arc::new(make());
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= SWEPT {
                known.retain(|_, bytes| bytes.strong_count() > 0);
            }
            known.insert(of, Arc::downgrade(&made));
            made
        });
        Bytes::from_owner(Shared(shared))
    }
}

struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e69_readers_of_one_append_share_its_bytes() {
        let (encoded, of) =
            (Encoded::default(), Of { run: RunId::from_number(1), first: 3, with_cause: false });
        let first = encoded.get(of, || b"events".to_vec());
        let second = encoded.get(of, || panic!("it is there"));
        assert_eq!((first.as_ptr(), &*first), (second.as_ptr(), &b"events"[..]));
        drop((first, second));
        assert_eq!(encoded.get(of, || b"anew".to_vec()), "anew", "nothing is kept for nobody");
    }
}
