//! Requests in use while I/Os wait for one, which shows whether a queue's tags were exhausted.

use q2c_model::DevId;
use q2c_result::analyze::Tags;
use q2c_trace::Span;
use q2c_trace::span::{NONE, NONE_32};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A queue's requests in use, and the waits of I/Os for a request.
///
/// Each wait counts as one at the most when, at the time queued, as many requests were in use as
/// ever before. When a larger number is reached later, the earlier waits are no longer at the most.
#[derive(Default)]
struct Queue {
    /// G and C of requests that are allocated later.
    to_come: BinaryHeap<Reverse<(u64, u64)>>,
    /// C of the requests in use.
    in_use: BinaryHeap<Reverse<u64>>,
    most: u64,
    q2g: u64,
    q2g_at_most: u64,
}

impl Queue {
    fn add(&mut self, queue: u64, getrq: u64, complete: u64) {
        self.advance(queue);
        let waits = getrq.saturating_sub(queue);
        let in_use = self.in_use.len() as u64;
        self.q2g = self.q2g.saturating_add(waits);
        if in_use >= self.most && in_use > 0 {
            self.q2g_at_most = self.q2g_at_most.saturating_add(waits);
        }
        self.to_come.push(Reverse((getrq, complete)));
    }

    /// Takes note of the number in use. A number that was never reached before makes all earlier
    /// waits ones below the most.
    fn reached(&mut self) {
        let in_use = self.in_use.len() as u64;
        if in_use > self.most {
            self.most = in_use;
            self.q2g_at_most = 0;
        }
    }

    fn advance(&mut self, until: u64) {
        while let Some(Reverse((getrq, complete))) = self.to_come.peek().copied() {
            if getrq > until {
                break;
            }
            self.to_come.pop();
            self.free(getrq);
            self.in_use.push(Reverse(complete));
            self.reached();
        }
        self.free(until);
    }

    fn free(&mut self, until: u64) {
        while self.in_use.peek().is_some_and(|end| end.0 <= until) {
            self.in_use.pop();
        }
    }
}

/// The queues by device and hardware queue.
#[derive(Default)]
pub(crate) struct AllTags(BTreeMap<(DevId, u32), Queue>);

impl AllTags {
    /// Most queues that are told apart; I/Os of further ones are left out.
    const MOST: usize = 4096;

    pub(crate) fn add(&mut self, span: &Span) {
        let lacks = [span.begin_ns, span.getrq_ns, span.end_ns].contains(&NONE);
        if lacks || span.merged_into != NONE {
            return;
        }
        let key = (span.device, span.hctx);
        if self.0.len() >= Self::MOST && !self.0.contains_key(&key) {
            return;
        }
        let queue = self.0.entry(key).or_default();
        queue.add(span.begin_ns, span.getrq_ns, span.end_ns);
    }

    pub(crate) fn told(&mut self) -> Vec<Tags> {
        let queues = self.0.iter_mut();
        queues
            .map(|((device, hctx), queue)| {
                queue.advance(u64::MAX);
                Tags {
                    device: device.to_string(),
                    hctx: (*hctx != NONE_32).then_some(*hctx),
                    most: queue.most,
                    q2g_ns: queue.q2g,
                    q2g_at_most_ns: queue.q2g_at_most,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There are four requests, each in use for 100 ns. Of eight I/Os the last four are queued
    /// while the requests are in use, and wait until one is free.
    #[test]
    fn waits_with_all_requests_in_use_are_at_the_most() {
        let mut queue = Queue::default();
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
        let mut queue = Queue::default();
        for k in 0..8 {
            queue.add(k, k, 100 + k);
        }
        // Seven of the eight requests are free by then.
        queue.add(106, 150, 200);
        queue.advance(u64::MAX);
        assert_eq!((queue.most, queue.q2g, queue.q2g_at_most), (8, 44, 0));
    }
}
