use crate::run::plan::Activity;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The place where the listener posts orders and lanes take them. A lane looks at one atomic word
/// for each slice, and locks only when this word has changed.
pub(super) struct Board {
    latest: AtomicU64,
    orders: Mutex<Orders>,
}

struct Orders {
    /// Number of the first slice that they hold for.
    from: u64,
    activities: Vec<Activity>,
}

impl Board {
    pub(crate) fn new(lanes: usize) -> Self {
        Board {
            latest: AtomicU64::new(0),
            orders: Mutex::new(Orders {
                from: 0,
                activities: (0..lanes).map(|_| Activity::Continue).collect(),
            }),
        }
    }

    /// Posts one activity for each lane, to hold from slice number `from`. Returns the order's
    /// number, from 1. An activity that a lane has not taken yet is replaced, unless the new one is
    /// [`Activity::Continue`].
    pub(crate) fn post(&self, from: u64, activities: Vec<Activity>) -> u64 {
        let mut orders = self.lock();
        orders.from = from;
        for (slot, new) in orders.activities.iter_mut().zip(activities) {
            if !matches!(new, Activity::Continue) {
                *slot = new;
            }
        }
        // Counted while the lock is held: a lane that sees the number also sees the order.
        self.latest.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The latest order for `lane`, with its number, if it holds for slice number `next`. `known`
    /// is the number of the last order that the lane took.
    pub(crate) fn take(&self, lane: usize, known: u64, next: u64) -> Option<(u64, Activity)> {
        if self.latest.load(Ordering::Acquire) == known {
            return None;
        }
        let mut orders = self.lock();
        if next < orders.from {
            return None;
        }
        let activity = std::mem::replace(&mut orders.activities[lane], Activity::Continue);
        Some((self.latest.load(Ordering::Acquire), activity))
    }

    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_policy::Wait;

    fn poll() -> Activity {
        Activity::Start(Wait::Poll)
    }

    #[test]
    fn an_order_waits_for_its_slice_and_is_taken_once() {
        let board = Board::new(1);
        assert!(board.take(0, 0, 9).is_none(), "nothing was posted");
        assert_eq!(board.post(5, vec![poll()]), 1);
        assert!(board.take(0, 0, 4).is_none(), "too early");
        assert!(matches!(
            board.take(0, 0, 7),
            Some((1, Activity::Start(Wait::Poll)))
        ));
        assert!(board.take(0, 1, 8).is_none());
    }

    #[test]
    fn a_later_order_replaces_what_was_not_taken_and_leaves_the_rest() {
        let board = Board::new(2);
        board.post(1, vec![poll(), poll()]);
        board.post(2, vec![Activity::Continue, Activity::Idle]);
        assert!(board.take(0, 0, 1).is_none());
        assert!(matches!(board.take(0, 0, 2), Some((2, Activity::Start(_)))));
        assert!(matches!(board.take(1, 0, 2), Some((2, Activity::Idle))));
    }
}
