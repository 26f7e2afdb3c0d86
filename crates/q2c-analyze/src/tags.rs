//! Tags (the block layer's request structures) in use while I/Os wait for one: they show whether a
//! queue ran out of them.

use crate::state::InexactMarks;
use q2c_model::DevId;
use q2c_result::analyze::{InexactFigure, InexactReason, Tags};
use q2c_trace::Span;
use q2c_trace::span::{NONE, NONE_32};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A queue's requests in use, and the waits for one. `q2g_at_most` sums the waits that began while
/// the largest number so far was in use. A new largest number resets it.
#[derive(Clone, Default, Serialize, Deserialize)]
struct TagQueue {
    /// (G, C) of requests that are allocated after `now`, ns.
    to_come: BinaryHeap<Reverse<(u64, u64)>>,
    /// C of the requests in use, ns.
    in_use: BinaryHeap<Reverse<u64>>,
    most: u64,
    q2g: u64,
    q2g_at_most: u64,
    /// The time from which the queue is counted, ns; `None` before the first I/O.
    start: Option<u64>,
    /// The time up to which everything is counted, ns.
    now: u64,
    /// True if an I/O was added since the state was taken over from an earlier part.
    counted: bool,
}

impl TagQueue {
    fn add(&mut self, queue_ns: u64, getrq_ns: u64, end_ns: u64) {
        self.start.get_or_insert(queue_ns);
        self.counted = true;
        self.advance(queue_ns);
        let wait_ns = getrq_ns.saturating_sub(queue_ns);
        let in_use = self.in_use.len() as u64;
        self.q2g = self.q2g.saturating_add(wait_ns);
        if in_use >= self.most && in_use > 0 {
            self.q2g_at_most = self.q2g_at_most.saturating_add(wait_ns);
        }
        self.to_come.push(Reverse((getrq_ns, end_ns)));
    }

    fn advance(&mut self, until: u64) {
        while let Some(&Reverse((getrq, complete))) =
            self.to_come.peek().filter(|Reverse((g, _))| *g <= until)
        {
            self.to_come.pop();
            self.release_until(getrq);
            self.in_use.push(Reverse(complete));
            let in_use = self.in_use.len() as u64;
            // With a new largest number, all earlier waits began below the largest number.
            if in_use > self.most {
                (self.most, self.q2g_at_most) = (in_use, 0);
            }
        }
        self.release_until(until);
        self.now = self.now.max(until);
    }

    fn release_until(&mut self, until: u64) {
        while self.in_use.peek().is_some_and(|end| end.0 <= until) {
            self.in_use.pop();
        }
    }

    /// A queue that continues from here and has counted nothing yet.
    fn into_next(self) -> TagQueue {
        TagQueue {
            most: self.in_use.len() as u64,
            start: Some(self.now),
            now: self.now,
            to_come: self.to_come,
            in_use: self.in_use,
            ..TagQueue::default()
        }
    }

    /// (G, C) of the requests in use, with 0 for G, and of those allocated later.
    fn tail(&self) -> Vec<(u64, u64)> {
        let to_come = self.to_come.iter().map(|request| request.0);
        let in_use = self.in_use.iter().map(|end| (0, end.0));
        to_come.chain(in_use).collect()
    }

    /// Continues with a later part; `tail` holds (G, C) of what was in flight before the part's
    /// I/Os. Returns the reason if the result is inexact.
    fn join(&mut self, tail: &[(u64, u64)], later: TagQueue) -> Option<InexactReason> {
        let start = later.start.filter(|_| later.counted)?;
        let mut inexact = None;
        if self.now > start {
            inexact = Some(InexactReason::Order);
        } else {
            self.advance(start);
            let lasts = |(getrq, complete): &(u64, u64)| *getrq.max(complete) > start;
            if tail.iter().any(lasts) {
                inexact = Some(InexactReason::LongIo);
            }
        }
        self.q2g = self.q2g.saturating_add(later.q2g);
        if later.most > self.most {
            (self.most, self.q2g_at_most) = (later.most, later.q2g_at_most);
        } else if later.most == self.most {
            self.q2g_at_most = self.q2g_at_most.saturating_add(later.q2g_at_most);
        }
        self.now = self.now.max(later.now);
        (self.to_come, self.in_use) = (later.to_come, later.in_use);
        for (getrq, complete) in tail.iter().copied() {
            if getrq > self.now {
                self.to_come.push(Reverse((getrq, complete)));
            } else if complete > self.now {
                self.in_use.push(Reverse(complete));
            }
        }
        self.counted = true;
        inexact
    }
}

/// (G, C) of the requests that have not ended, by device and hardware queue.
pub(crate) type TagsTail = BTreeMap<(DevId, u32), Vec<(u64, u64)>>;

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct AllTags {
    queues: BTreeMap<(DevId, u32), TagQueue>,
    /// True if an I/O was left out because there were too many queues.
    pub(crate) full: bool,
}

impl AllTags {
    /// Most queues that are counted; I/Os of any further queue are left out.
    const MAX_QUEUES: usize = 4096;

    pub(crate) fn add(&mut self, span: &Span) {
        let lacks_times = [span.begin_ns, span.getrq_ns, span.end_ns].contains(&NONE);
        if lacks_times || span.merged_into != NONE {
            return;
        }
        let key = (span.device, span.hctx);
        if self.queues.len() >= Self::MAX_QUEUES && !self.queues.contains_key(&key) {
            self.full = true;
            return;
        }
        let queue = self.queues.entry(key).or_default();
        queue.add(span.begin_ns, span.getrq_ns, span.end_ns);
    }

    pub(crate) fn tags(&mut self) -> Vec<Tags> {
        let tags = |(&(device, hctx), queue): (&(DevId, u32), &mut TagQueue)| {
            queue.advance(u64::MAX);
            Tags {
                device: device.to_string(),
                hctx: (hctx != NONE_32).then_some(hctx),
                most: queue.most,
                q2g_ns: queue.q2g,
                q2g_at_most_ns: queue.q2g_at_most,
            }
        };
        self.queues.iter_mut().map(tags).collect()
    }

    pub(crate) fn into_next(self) -> AllTags {
        let queues = self.queues.into_iter();
        AllTags {
            queues: queues.map(|(key, tags)| (key, tags.into_next())).collect(),
            full: false,
        }
    }

    pub(crate) fn tail(&self) -> TagsTail {
        let queues = self.queues.iter();
        queues.map(|(key, tags)| (*key, tags.tail())).collect()
    }

    /// Continues with a later part of the trace, or adds a part of other devices.
    pub(crate) fn join(&mut self, tail: &TagsTail, later: AllTags, marks: &mut InexactMarks) {
        self.full |= later.full;
        for (key, later_queue) in later.queues {
            let tail = tail.get(&key).map_or(&[][..], Vec::as_slice);
            if let Some(queue) = self.queues.get_mut(&key) {
                if let Some(reason) = queue.join(tail, later_queue) {
                    marks.add(InexactFigure::Tags, reason);
                }
            } else if self.queues.len() < Self::MAX_QUEUES {
                self.queues.insert(key, later_queue);
            } else {
                self.full = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four requests of 100 ns each: the last four of eight I/Os wait until one is free.
    #[test]
    fn waits_with_all_requests_in_use_are_at_the_most() {
        let mut queue = TagQueue::default();
        for round in 0..10 {
            let at = round * 1000;
            for k in 0..4 {
                queue.add(at + k, at + k, at + 100 + k);
            }
            for k in 4..8 {
                queue.add(at + 50 + k, at + 100 + k, at + 200 + k);
            }
        }
        queue.advance(u64::MAX);
        assert_eq!(queue.most, 4);
        assert_eq!(queue.q2g, 10 * 4 * 50);
        assert_eq!(queue.q2g_at_most, queue.q2g);
    }

    #[test]
    fn waits_with_free_requests_are_not() {
        let mut queue = TagQueue::default();
        for k in 0..8 {
            queue.add(k, k, 100 + k);
        }
        // Seven of the eight requests are free at 106 ns.
        queue.add(106, 150, 200);
        queue.advance(u64::MAX);
        assert_eq!((queue.most, queue.q2g, queue.q2g_at_most), (8, 44, 0));
    }
}
