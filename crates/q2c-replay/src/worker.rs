//! A submitting thread: it waits for each request's moment, submits at once all that is due, reaps
//! and counts.

use crate::calls::Calls;
use crate::gate::{Ready, Rule, Stream};
use crate::item::Item;
use crate::plan::{Count, OnError};
use crate::record::{Row, Rows};
use crate::shared::Shared;
use crate::tally::Tally;
use crate::time::{Time, Wait};
use q2c_engine::engine::{Act, Completion, Engine, EngineError, Request};
use q2c_sys::thread::switches;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError};

/// The most requests that one submission carries.
const BATCH: usize = 32;
/// In timed mode the thread takes a delivery from the reader while fewer requests than this wait in
/// its streams. Taking a delivery costs time, so the thread keeps enough requests for some time
/// ahead.
const SOON: usize = 1 << 12;
/// The same limit in the other modes. There streams do not wait for each other, and the requests
/// that may go are found among all that wait; so this limit is larger.
const WAITING: usize = 1 << 18;
/// The longest wait, ns. After it the thread looks whether the replay is to stop.
const LOOK: u64 = 50_000_000;
/// The longest wait while the reader may still deliver a request that could go, ns.
const NEXT: u64 = 200_000;
/// While requests are in flight the thread looks for a completion until this long after the last
/// submission or completion, ns; then it sleeps. Waking up takes some 20 us, which would count as
/// the device's time; further requests would complete meanwhile, and fewer would be in flight than
/// in the trace.
const EAGER: u64 = 1_000_000;
/// A submission that takes longer than this may have slept in the kernel, ns.
const LONG: u64 = 1_000_000;

/// A request in flight. Its times are ns from the replay's start.
#[derive(Clone, Copy, Default)]
struct Flight {
    index: u64,
    /// The moment at which the mode wanted it submitted.
    intended: u64,
    submit: u64,
    submit_end: u64,
    offset: u64,
    base: u64,
    length: u32,
    act: Act,
    device: u32,
    /// Index in [`Worker::streams`].
    stream: u32,
    lane: u32,
    load: u64,
}

/// Everything that a [`Worker`] needs. The thread puts it together when its engine is open.
pub struct Parts<'a> {
    pub engine: Box<dyn Engine>,
    /// Whether a submission to this engine may sleep in the kernel: true for libaio.
    pub sleeps: bool,
    pub rule: Rule,
    pub count: Count,
    pub on_error: OnError,
    /// Whether the thread has a CPU on which it can look for completions without taking it from
    /// another thread.
    pub look: bool,
    pub in_flight: u16,
    pub items: Receiver<Vec<Item>>,
    pub shared: &'a Shared<'a>,
    pub tally: Tally,
    pub rows: Option<Rows>,
}

/// One submitting thread's part of a replay.
///
/// The submitting thread owns it: it calls [`Worker::new`] after it has opened the engine, and
/// [`Worker::run`] once. Engine, streams and slots belong to this thread alone. Requests come
/// through [`Parts::items`]; the counters in [`Parts::shared`] are common to all threads.
///
/// Invariants:
/// - A stream belongs to one thread, and its requests are submitted in the order in which they
///   came.
/// - `ready` holds a stream at most once ([`Stream::queued`]), and only while its first request
///   need not wait for a completion.
/// - A slot is either in `free` or names the entry of `flights` that is in flight. So something is
///   in flight exactly while `free` is shorter than `flights`.
/// - `waiting` is the number of requests in the queues of all streams.
/// - A stream's counter in [`Shared::progress`] goes up when its submission has returned, not
///   before. A thread that waits for an overlapping request therefore submits after it.
pub struct Worker<'a, T> {
    parts: Parts<'a>,
    time: T,
    streams: Vec<Stream>,
    /// Indices in `streams` by the numbers of the streams.
    places: HashMap<u32, u32>,
    /// Streams whose first request may go: the time from which it may, and the stream's index.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    waiting: usize,
    /// The reader has closed the channel: no more items come.
    ended: bool,
    flights: Vec<Flight>,
    free: Vec<u16>,
    batch: Vec<Request>,
    /// `full`: a request is due and no slot is free. `free_again`: when that, or a submission that
    /// slept, last ended. Requests meant for an earlier time count as held up.
    full: bool,
    free_again: u64,
    calls: Calls,
    /// Time of the last submission or completion.
    last: u64,
    /// Since when there has been nothing to do but wait for the device; `None` while there is work
    /// or nothing is in flight.
    waiting_since: Option<u64>,
}

impl<'a, T: Time> Worker<'a, T> {
    pub fn new(parts: Parts<'a>, time: T) -> Self {
        let slots = parts.in_flight;
        Worker {
            parts,
            time,
            streams: Vec::new(),
            places: HashMap::new(),
            ready: BinaryHeap::new(),
            waiting: 0,
            ended: false,
            flights: vec![Flight::default(); usize::from(slots)],
            free: (0..slots).rev().collect(),
            batch: Vec::with_capacity(BATCH),
            full: false,
            free_again: 0,
            calls: Calls::default(),
            last: 0,
            waiting_since: None,
        }
    }

    /// Replays until the trace has ended or the replay is to stop. Nothing is in flight when it
    /// returns.
    ///
    /// # Errors
    /// The engine is broken.
    pub fn run(mut self) -> Result<(Tally, Option<Rows>), EngineError> {
        // Requests that arrive before the start are in their streams when the schedule begins.
        while self.time.before_start() {
            while self.waiting < SOON && self.take() {}
        }
        loop {
            self.reap()?;
            let taken = self.take();
            let stopped = self.parts.shared.stop.load(Ordering::Relaxed)
                || self.parts.shared.failed.load(Ordering::Relaxed);
            if !stopped && self.submit()? {
                continue;
            }
            if !self.in_flight() && (stopped || self.ended && self.waiting == 0) {
                break;
            }
            if !taken {
                self.wait(stopped)?;
            }
        }
        self.parts.tally.submission_ns = self.calls.total();
        if let Some(rows) = &mut self.parts.rows {
            rows.flush();
        }
        Ok((self.parts.tally, self.parts.rows))
    }

    fn reap(&mut self) -> Result<(), EngineError> {
        while let Some(done) = self.parts.engine.poll()? {
            self.complete(done);
        }
        Ok(())
    }

    /// Takes one delivery of the reader into the streams, unless enough requests wait there. False
    /// when nothing was taken.
    fn take(&mut self) -> bool {
        let most = match self.parts.rule {
            Rule::Timed => SOON,
            _ => WAITING,
        };
        if self.ended || self.waiting >= most {
            return false;
        }
        match self.parts.items.try_recv() {
            Ok(items) => {
                self.waiting += items.len();
                items.into_iter().for_each(|item| self.enqueue(item));
                return true;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => self.ended = true,
        }
        false
    }

    fn enqueue(&mut self, item: Item) {
        let fresh = self.streams.len() as u32;
        let place = *self.places.entry(item.stream).or_insert(fresh);
        if place == fresh {
            self.streams.push(Stream {
                number: item.stream,
                ..Stream::default()
            });
        }
        let stream = &mut self.streams[place as usize];
        stream.queue.push_back(item);
        if stream.queue.len() == 1 {
            self.line_up(place);
        }
    }

    /// Puts a stream into `ready`, unless it is there or its first request waits for a completion.
    fn line_up(&mut self, place: u32) {
        let stream = &mut self.streams[place as usize];
        if stream.queued {
            return;
        }
        let at = match self.parts.rule.ready(stream) {
            Some(Ready::At(at)) => at,
            Some(Ready::Now) => 0,
            Some(Ready::Waits) | None => return,
        };
        stream.queued = true;
        self.ready.push(Reverse((at, place)));
    }

    /// Submits up to [`BATCH`] requests that are due. False when nothing was submitted.
    fn submit(&mut self) -> Result<bool, EngineError> {
        let now = self.time.now();
        self.batch.clear();
        if self.full && !self.free.is_empty() {
            self.full = false;
            self.free_again = now;
        }
        while self.batch.len() < BATCH
            && let Some(Reverse((at, place))) = self.ready.peek().copied()
            && at <= now
        {
            if self.free.is_empty() {
                self.parts.tally.capped += u64::from(!self.full);
                self.full = true;
                break;
            }
            if !self.in_order(place) {
                break;
            }
            self.ready.pop();
            self.streams[place as usize].queued = false;
            self.add(place, now);
            self.line_up(place);
        }
        if self.batch.is_empty() {
            return Ok(false);
        }
        self.hand_over()?;
        Ok(true)
    }

    /// Whether the first request of a stream may go, because the earlier requests that it overlaps
    /// have been submitted. Only timed mode waits for them. In the other modes streams have no
    /// order among each other, so a request that goes before one of them is counted as an inversion
    /// and goes.
    fn in_order(&mut self, place: u32) -> bool {
        let item = self.streams[place as usize].queue.front();
        let after = item.and_then(|item| item.after.as_deref()).unwrap_or(&[]);
        let progress = &self.parts.shared.progress;
        // For a stream of this thread, requests that stand in the batch count as submitted.
        let submitted = |stream: u32| match self.places.get(&stream) {
            Some(place) => self.streams[*place as usize].count,
            None => progress[stream as usize % progress.len()].load(Ordering::Acquire),
        };
        let behind = |(stream, count): &&(u32, u64)| submitted(*stream) < *count;
        let behind = after.iter().filter(behind).count();
        if self.parts.rule == Rule::Timed {
            return behind == 0;
        }
        self.parts.tally.inversions += u64::from(behind > 0);
        true
    }

    /// Moves the first request of a stream into the batch.
    fn add(&mut self, place: u32, now: u64) {
        let stream = &mut self.streams[place as usize];
        let intended = match self.parts.rule.ready(stream) {
            Some(Ready::At(at)) => at,
            // It could have gone since the stream's last submission or completion.
            _ => stream.completed.max(stream.submitted).unwrap_or(0),
        };
        let (Some(item), Some(slot)) = (stream.queue.pop_front(), self.free.pop()) else {
            return;
        };
        self.waiting -= 1;
        let load = self.parts.count.of(u64::from(item.length));
        stream.in_flight += 1;
        stream.load += load;
        stream.count += 1;
        stream.submitted = Some(now);
        let device = &self.parts.shared.devices[item.device as usize];
        let before = device.fetch_add(1, Ordering::Relaxed);
        self.parts.shared.in_flight.begin(now);
        let tally = &mut self.parts.tally;
        tally.most_in_flight = tally.most_in_flight.max(u64::from(before) + 1);
        if item.before != Item::UNKNOWN {
            tally.off += u128::from(before.abs_diff(item.before));
            tally.base += u128::from(item.before);
        }
        let drift = (now as i64).saturating_sub_unsigned(item.due);
        tally.drift = tally.drift.max(Some((item.index, drift)));
        self.flights[usize::from(slot)] = Flight {
            index: item.index,
            intended,
            submit: now,
            submit_end: 0,
            offset: item.offset,
            base: item.base,
            length: item.length,
            act: item.act,
            device: item.device,
            stream: place,
            lane: item.lane,
            load,
        };
        self.batch.push(Request {
            act: item.act,
            offset: item.offset,
            length: item.length,
            slot,
        });
    }

    /// Submits the batch. All its requests get the same time of submission.
    fn hand_over(&mut self) -> Result<(), EngineError> {
        let before = self.parts.sleeps.then(|| switches().voluntary);
        let submit = self.time.now();
        self.parts.engine.submit(&self.batch)?;
        let submit_end = self.time.now();
        let progress = &self.parts.shared.progress;
        for at in 0..self.batch.len() {
            let slot = usize::from(self.batch[at].slot);
            let flight = &mut self.flights[slot];
            (flight.submit, flight.submit_end) = (submit, submit_end);
            let stream = &mut self.streams[flight.stream as usize];
            stream.submitted = Some(submit);
            progress[stream.number as usize % progress.len()]
                .store(stream.count, Ordering::Release);
            let late = submit.saturating_sub(flight.intended);
            let tally = &mut self.parts.tally;
            tally.issued += 1;
            tally.lateness.record(late);
            tally.windows.begin(submit, late);
            match flight.intended < self.free_again {
                true => {
                    tally.stalled += 1;
                    tally.stalled_ns += u128::from(late);
                }
                false => tally
                    .own
                    .record(late - self.calls.since(flight.intended).min(late)),
            }
        }
        self.calls.add(submit, submit_end);
        self.waited(submit);
        self.last = submit_end;
        // A long submission in which the thread gave up the CPU slept, because the kernel had no
        // free requests.
        let slept = |before: u64| submit_end - submit > LONG && switches().voluntary > before;
        if before.is_some_and(slept) {
            self.parts.tally.blocked += 1;
            self.free_again = submit_end;
        }
        Ok(())
    }

    fn complete(&mut self, done: Completion) {
        let now = self.time.now();
        self.waited(now);
        self.last = now;
        let flight = self.flights[usize::from(done.slot)];
        self.free.push(done.slot);
        let stream = &mut self.streams[flight.stream as usize];
        stream.in_flight -= 1;
        stream.load -= flight.load;
        stream.completed = Some(now);
        self.parts.shared.devices[flight.device as usize].fetch_sub(1, Ordering::Relaxed);
        self.parts.shared.in_flight.end(now);
        let tally = &mut self.parts.tally;
        let (u2c, intended) = (
            now - flight.submit,
            now - flight.intended.min(flight.submit),
        );
        tally.u2c.record(u2c);
        tally.intended.record(intended);
        tally.sum_u2c += u128::from(u2c);
        tally.sum_intended += u128::from(intended);
        tally.windows.flight(flight.submit, now);
        tally.end = tally.end.max(now);
        match done.result == flight.length as i32 {
            true => tally.bytes += u64::from(flight.length),
            false => self.failure(&flight, done.result),
        }
        if let Some(rows) = &mut self.parts.rows {
            rows.push(row(&flight, now, done.result));
        }
        self.line_up(flight.stream);
    }

    #[cold]
    fn failure(&mut self, flight: &Flight, result: i32) {
        let tally = &mut self.parts.tally;
        tally.errors += 1;
        if tally
            .first_error
            .as_ref()
            .is_none_or(|(index, _)| flight.index < *index)
        {
            let found = match result {
                0.. => format!("{result} bytes were moved"),
                errno => std::io::Error::from_raw_os_error(-errno).to_string(),
            };
            let Flight {
                act,
                length,
                offset,
                index,
                ..
            } = flight;
            let words = format!("request {index}, {act:?} of {length} bytes at {offset}: {found}");
            tally.first_error = Some((*index, words));
        }
        if self.parts.on_error == OnError::Stop {
            self.parts.shared.failed.store(true, Ordering::Relaxed);
        }
    }

    /// Waits until something may have changed: a completion, the due time of the next request, or
    /// more items.
    fn wait(&mut self, stopped: bool) -> Result<(), EngineError> {
        let now = self.time.now();
        if self.in_flight() {
            self.waiting_since.get_or_insert(now);
        }
        let due = match self.ready.peek() {
            Some(Reverse((at, _))) if !stopped && !self.full => Some(*at),
            _ => None,
        };
        // The reader may deliver a request of another stream that may go, so the thread asks it
        // again soon.
        let more = !self.ended && self.waiting < WAITING;
        let soon = more && (self.ready.is_empty() || self.parts.rule != Rule::Timed);
        let wait = Wait {
            due,
            limit: now + if soon { NEXT } else { LOOK },
            // In timed mode the thread does not sleep while it waits for the reader: the next
            // request may be due at once.
            look: self.looks(now)
                || self.parts.look && soon && self.parts.rule == Rule::Timed && !stopped,
        };
        if let Some(done) = self.time.wait(self.parts.engine.as_mut(), wait)? {
            self.complete(done);
        }
        Ok(())
    }

    fn in_flight(&self) -> bool {
        self.free.len() < self.flights.len()
    }

    fn looks(&self, now: u64) -> bool {
        self.parts.look && self.in_flight() && now.saturating_sub(self.last) < EAGER
    }

    /// Ends a time of waiting for the device at `now`, and counts it.
    fn waited(&mut self, now: u64) {
        if let Some(since) = self.waiting_since.take() {
            self.parts.tally.waited_ns += now.saturating_sub(since);
        }
    }
}

fn row(flight: &Flight, reap: u64, result: i32) -> Row {
    Row {
        index: flight.index,
        submit: flight.submit,
        submit_end: flight.submit_end,
        reap,
        offset: flight.offset - flight.base,
        length: flight.length,
        act: flight.act,
        device: flight.device,
        lane: flight.lane,
        result,
    }
}
