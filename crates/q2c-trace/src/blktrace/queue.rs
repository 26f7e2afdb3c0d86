//! Which of several files comes next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// So many keys are looked through one by one: for as many files as most machines have CPUs that is faster than a heap, whose
/// branches nobody can foresee.
const FEW: usize = 24;

/// Keys that wait, all different.
#[derive(Default)]
pub(super) struct Queue {
    /// In no order.
    few: Vec<u128>,
    /// The others.
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

    /// The smallest, and the smallest that is left, [`u128::MAX`] when none is.
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
        /// Pushes and pops in any order, few and many: as a sorted set has them.
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
