//! A priority queue that tells which of several files has the next event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Up to this number, keys are looked through one by one. For as many files as most machines have
/// CPUs that is faster than a heap, whose branches the CPU cannot predict.
const FEW: usize = 24;

/// Set of different keys with cheap access to the smallest.
#[derive(Default)]
pub(super) struct Queue {
    /// Up to [`FEW`] keys, in no order.
    few: Vec<u128>,
    /// The keys for which `few` had no room.
    many: BinaryHeap<Reverse<u128>>,
}

impl Queue {
    #[inline]
    pub(super) fn push(&mut self, key: u128) {
        if self.few.len() < FEW {
            self.few.push(key);
        } else {
            self.many.push(Reverse(key));
        }
    }

    /// Takes the smallest key. The second value is the smallest key that is left, [`u128::MAX`]
    /// when none is.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u128, u128)> {
        let (mut first, mut second, mut at) = (u128::MAX, u128::MAX, usize::MAX);
        for (i, key) in self.few.iter().enumerate() {
            if *key < first {
                (second, first, at) = (first, *key, i);
            } else if *key < second {
                second = *key;
            }
        }
        if let Some(Reverse(key)) = self.many.peek().copied() {
            if key < first {
                self.many.pop();
                let next = self.many.peek().map_or(u128::MAX, |key| key.0);
                return Some((key, first.min(next)));
            }
            second = second.min(key);
        }
        if at == usize::MAX {
            return None;
        }
        self.few.swap_remove(at);
        Some((first, second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Few or many keys, pushed and popped in any order, come out as from a sorted set.
        #[test]
        fn the_smallest_comes_first(steps in prop::collection::vec(prop::option::weighted(0.7, 0..1000u128), 0..200)) {
            let (mut queue, mut set) = (Queue::default(), BTreeSet::new());
            for step in steps {
                match step {
                    Some(key) if set.insert(key) => queue.push(key),
                    Some(_) => {}
                    None => {
                        let first = set.pop_first();
                        let wanted = first.map(|first| (first, set.first().copied().unwrap_or(u128::MAX)));
                        prop_assert_eq!(queue.pop(), wanted);
                    }
                }
            }
        }
    }
}
