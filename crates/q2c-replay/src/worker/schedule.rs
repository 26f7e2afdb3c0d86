//! The requests that a submitting thread has yet to submit, and which of them may go.

use super::submit::Flight;
use crate::feed::Delivery;
use crate::gate::{GateRule, RequestStream, ScheduledIo, StreamReadiness};
use q2c_model::replay::Count;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::TryRecvError;

/// In timed mode the thread takes deliveries, which costs time, only while fewer requests than this
/// wait in its streams. That is enough for some time ahead.
const MAX_QUEUED_TIMED: usize = 1 << 12;
/// The same limit in the other modes, which choose among all requests.
const MAX_QUEUED: usize = 1 << 18;

/// The order of a request and the earlier requests that it overlaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precedence {
    /// Every earlier request that it overlaps has been submitted.
    Kept,
    /// One of them has not been submitted, but the request goes: an inversion.
    Inverted,
    /// One of them has not been submitted, and the request waits for it.
    Waits,
}

/// The streams of one submitting thread. It sorts the reader's deliveries into them, and says which
/// request may go and when.
///
/// The caller gets a stream whose first request may go by [`Schedule::due_stream`], checks by
/// [`Schedule::precedence`] if the request may overtake others, and takes it by
/// [`Schedule::depart`]. Then it reports submission and completion. Times are ns from the start.
///
/// Invariants:
/// - A stream belongs to one thread, and its requests are submitted in the order in which they
///   came.
/// - `ready` holds a stream at most once ([`RequestStream::is_in_ready`]), and only while its first
///   request need not wait for a completion.
/// - `queued` is the number of requests in the queues of all streams.
/// - A stream's counter in `progress` goes up when its submission has returned, not before. A
///   thread that waits for an overlapping request therefore submits after it.
pub(crate) struct Schedule<'a, D> {
    rule: GateRule,
    count: Count,
    /// Takes the next delivery, if there is one.
    deliveries: D,
    /// True if the reader has closed the channel, so that no more deliveries come.
    ended: bool,
    streams: Vec<RequestStream>,
    indices: HashMap<u32, u32>,
    /// Time from which the first request of a ready stream may go, ns, and the stream's index.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    queued: usize,
    /// Number of requests submitted by all threads: [`crate::Shared::progress`].
    progress: &'a [AtomicU64],
}

impl<'a, D: FnMut() -> Delivery> Schedule<'a, D> {
    pub(crate) fn new(
        rule: GateRule,
        count: Count,
        deliveries: D,
        progress: &'a [AtomicU64],
    ) -> Self {
        Schedule {
            rule,
            count,
            deliveries,
            ended: false,
            streams: Vec::new(),
            indices: HashMap::new(),
            ready: BinaryHeap::new(),
            queued: 0,
            progress,
        }
    }

    pub(crate) fn is_timed(&self) -> bool {
        self.rule == GateRule::Timed
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ended && self.queued == 0
    }

    /// Takes available deliveries until enough requests wait for a timed replay.
    pub(crate) fn take_ahead(&mut self) {
        while self.queued < MAX_QUEUED_TIMED && self.take() {}
    }

    /// Takes one delivery into the streams, unless enough requests wait. True if it took one.
    pub(crate) fn take(&mut self) -> bool {
        let timed = self.is_timed();
        let limit = if timed { MAX_QUEUED_TIMED } else { MAX_QUEUED };
        if self.ended || self.queued >= limit {
            return false;
        }
        match (self.deliveries)() {
            Ok(requests) => {
                self.queued += requests.len();
                requests.into_iter().for_each(|one| self.enqueue(one));
                true
            }
            Err(error) => {
                self.ended = error == TryRecvError::Disconnected;
                false
            }
        }
    }

    fn enqueue(&mut self, request: ScheduledIo) {
        let new_index = self.streams.len() as u32;
        let index = *self.indices.entry(request.stream).or_insert(new_index);
        if index == new_index {
            self.streams.push(RequestStream {
                number: request.stream,
                ..RequestStream::default()
            });
        }
        let stream = &mut self.streams[index as usize];
        stream.queue.push_back(request);
        if stream.queue.len() == 1 {
            self.line_up(index);
        }
    }

    /// Puts a stream into `ready`, unless it is there or its first request waits for a completion.
    fn line_up(&mut self, index: u32) {
        let stream = &mut self.streams[index as usize];
        if stream.is_in_ready {
            return;
        }
        let ready_ns = match self.rule.ready(stream) {
            Some(StreamReadiness::At(ns)) => ns,
            Some(StreamReadiness::Now) => 0,
            Some(StreamReadiness::Waits) | None => return,
        };
        stream.is_in_ready = true;
        self.ready.push(Reverse((ready_ns, index)));
    }

    /// Time from which the first request of some stream may go, ns; `None` while all streams wait.
    pub(crate) fn next_due_ns(&self) -> Option<u64> {
        self.ready.peek().map(|Reverse((ready_ns, _))| *ready_ns)
    }

    /// True if the reader may soon deliver a request that may go before the queued ones.
    pub(crate) fn expects_delivery(&self) -> bool {
        let may_take = !self.ended && self.queued < MAX_QUEUED;
        may_take && (self.ready.is_empty() || !self.is_timed())
    }

    /// Index of a stream whose first request may go at `now_ns`; `None` if there is none.
    pub(crate) fn due_stream(&self, now_ns: u64) -> Option<u32> {
        let Reverse((ready_ns, index)) = self.ready.peek().copied()?;
        (ready_ns <= now_ns).then_some(index)
    }

    /// Tells if a stream's first request would overtake earlier ones that it overlaps. Only timed
    /// mode waits for these; in other modes the request goes, which is an inversion.
    pub(crate) fn precedence(&self, index: u32) -> Precedence {
        let request = self.streams[index as usize].queue.front();
        let waits_for = request.and_then(|request| request.waits_for.as_deref());
        let is_missing = |(stream, count): &(u32, u64)| self.submitted_count(*stream) < *count;
        if !waits_for.unwrap_or(&[]).iter().any(is_missing) {
            Precedence::Kept
        } else if self.is_timed() {
            Precedence::Waits
        } else {
            Precedence::Inverted
        }
    }

    /// Number of a stream's requests that were submitted, or, in this thread, have departed.
    fn submitted_count(&self, stream: u32) -> u64 {
        match self.indices.get(&stream) {
            Some(index) => self.streams[*index as usize].submitted,
            None => self.progress[stream as usize % self.progress.len()].load(Ordering::Acquire),
        }
    }

    /// Takes the first request of a stream. Returns it, and the flight that the batch needs.
    pub(crate) fn depart(&mut self, index: u32, now_ns: u64) -> Option<(ScheduledIo, Flight)> {
        self.ready.pop();
        let stream = &mut self.streams[index as usize];
        stream.is_in_ready = false;
        let intended_ns = match self.rule.ready(stream) {
            Some(StreamReadiness::At(ns)) => ns,
            // The request could have gone since the stream's last submission or completion.
            _ => stream.completed_ns.max(stream.submitted_ns).unwrap_or(0),
        };
        let request = stream.queue.pop_front()?;
        let weight = self.count.amount_of(u64::from(request.io.length));
        stream.in_flight += 1;
        stream.load += weight;
        stream.submitted += 1;
        stream.submitted_ns = Some(now_ns);
        self.queued -= 1;
        self.line_up(index);
        let flight = Flight {
            io: request.io,
            stream: index,
            weight,
            intended_ns,
            submit_ns: now_ns,
            submit_end_ns: 0,
        };
        Some((request, flight))
    }

    /// Notes that the submission of a departed request has returned; it began at `submit_ns`.
    pub(crate) fn note_submitted(&mut self, index: u32, submit_ns: u64) {
        let stream = &mut self.streams[index as usize];
        stream.submitted_ns = Some(submit_ns);
        self.progress[stream.number as usize % self.progress.len()]
            .store(stream.submitted, Ordering::Release);
    }

    pub(crate) fn note_completed(&mut self, index: u32, weight: u64, now_ns: u64) {
        let stream = &mut self.streams[index as usize];
        stream.in_flight -= 1;
        stream.load -= weight;
        stream.completed_ns = Some(now_ns);
        self.line_up(index);
    }
}
