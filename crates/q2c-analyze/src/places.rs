//! Tallies that are found by a key.

use crate::stage::StageTally;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::Hash;

/// A key keeps its place for good: the place of its tally.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "StoredPlaces<K>", into = "StoredPlaces<K>")]
#[serde(bound(
    serialize = "K: Copy + Serialize",
    deserialize = "K: Copy + Eq + Hash + Deserialize<'de>"
))]
pub(crate) struct Places<K> {
    pub(crate) keys: Vec<K>,
    pub(crate) tallies: Vec<StageTally>,
    /// Places of the keys from number [`Places::SCANNED`] on.
    places: HashMap<K, usize>,
}

/// The serialised form: each key with its tally, in the order of their places.
#[derive(Serialize, Deserialize)]
struct StoredPlaces<K>(Vec<(K, StageTally)>);

impl<K> From<Places<K>> for StoredPlaces<K> {
    fn from(of: Places<K>) -> Self {
        StoredPlaces(of.keys.into_iter().zip(of.tallies).collect())
    }
}

impl<K: Copy + Eq + Hash> TryFrom<StoredPlaces<K>> for Places<K> {
    type Error = &'static str;

    fn try_from(stored: StoredPlaces<K>) -> Result<Self, &'static str> {
        let mut made = Places::default();
        for (key, tally) in stored.0 {
            if made.known(key).is_some() || made.keys.len() == Self::MOST {
                return Err("groups that no I/Os have");
            }
            let place = made.add(key);
            made.tallies[place] = tally;
        }
        Ok(made)
    }
}

impl<K> Default for Places<K> {
    fn default() -> Self {
        Places {
            keys: Vec::new(),
            tallies: Vec::new(),
            places: HashMap::new(),
        }
    }
}

impl<K: Copy + Eq + Hash> Places<K> {
    pub(crate) const MOST: usize = 512;
    /// The first keys, up to this number, are found by comparing with each, without a hash.
    const SCANNED: usize = 32;

    #[inline]
    pub(crate) fn known(&self, key: K) -> Option<usize> {
        let scanned = &self.keys[..self.keys.len().min(Self::SCANNED)];
        let place = scanned.iter().position(|known| *known == key);
        if self.places.is_empty() {
            place
        } else {
            place.or_else(|| self.places.get(&key).copied())
        }
    }

    pub(crate) fn add(&mut self, key: K) -> usize {
        let new = self.keys.len();
        self.keys.push(key);
        self.tallies.push(StageTally::default());
        if new >= Self::SCANNED {
            self.places.insert(key, new);
        }
        new
    }
}
