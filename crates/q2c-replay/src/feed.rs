//! The reader: it turns the trace into scheduled requests and passes them to submitting threads.

use crate::map::Mapper;
use crate::order::ConflictIndex;
use crate::{GateRule, ReplayError, ReplayFacts, ReplayPlan, ScheduledIo, TargetIo, WindowSeries};
use q2c_engine::engine::Operation;
use q2c_model::replay::{Changes, Count, LaneBy, Mode, ShareBy, Writes};
use q2c_sys::clock::thread_cpu_ns;
use q2c_trace::span::{NONE, NONE_32};
use q2c_trace::{Span, TraceReader};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};

/// The most records between two deliveries, so that a thread does not wait long for the next one.
pub(crate) const BATCH_RECORDS: usize = 64;
/// Most deliveries in a channel; the reader waits if it is full.
pub(crate) const MAX_QUEUED_BATCHES: usize = 1024;
/// Most requests that wait in [`Deliveries`]. Simulated threads that need others then wait.
const MAX_UNDELIVERED: usize = 1 << 18;

/// The next requests for a submitting thread, or why there are none now.
pub(crate) type Delivery = Result<Vec<ScheduledIo>, TryRecvError>;

/// The reader's deliveries to threads of a world. These are one thread of the system, so they share
/// one channel: a thread that needs requests takes those of the others from it, too.
pub(crate) struct Deliveries {
    from: Receiver<(usize, Vec<ScheduledIo>)>,
    /// By thread, what has come for it.
    waiting: Vec<VecDeque<Vec<ScheduledIo>>>,
    undelivered: usize,
}

impl Deliveries {
    pub(crate) fn new(from: Receiver<(usize, Vec<ScheduledIo>)>, threads: usize) -> Self {
        Deliveries {
            from,
            waiting: vec![VecDeque::new(); threads],
            undelivered: 0,
        }
    }

    /// Waits for requests of this thread. That takes no simulated time, so the result does not
    /// depend on the reader's speed. [`TryRecvError::Empty`] if too many of other threads wait.
    pub(crate) fn next(&mut self, thread: usize) -> Delivery {
        loop {
            if let Some(requests) = self.waiting[thread].pop_front() {
                self.undelivered -= requests.len();
                return Ok(requests);
            }
            if self.undelivered >= MAX_UNDELIVERED {
                return Err(TryRecvError::Empty);
            }
            let delivery = self.from.recv();
            let (receiver, requests) = delivery.map_err(|_| TryRecvError::Disconnected)?;
            self.undelivered += requests.len();
            self.waiting[receiver].push_back(requests);
        }
    }
}

#[derive(Debug)]
pub(crate) struct FeedResult {
    pub changed: Changes,
    /// Windows of the recorded times; `None` in modes that do not use these times.
    pub recorded: Option<WindowSeries>,
    pub cpu_ns: u64,
}

/// Hands requests to a submitting thread, by its number. False if that thread takes no more.
pub(crate) type SendRequests<'a> = dyn FnMut(usize, Vec<ScheduledIo>) -> bool + 'a;

/// Reads until the trace ends, a flag is raised, or no thread takes more. Counts records in `read`.
pub(crate) fn feed(
    plan: &ReplayPlan,
    facts: &ReplayFacts,
    trace: &TraceReader,
    windows: Option<WindowSeries>,
    send: &mut SendRequests<'_>,
    [stop, failed]: [&AtomicBool; 2],
    read: &AtomicU64,
) -> Result<FeedResult, ReplayError> {
    let mut reader = FeedReader::new(plan, facts, windows)?;
    let mut filter = plan.selection.filter();
    'trace: for records in trace.records(&plan.selection.scan())? {
        for batch in records?.chunks(BATCH_RECORDS) {
            let spans = batch.iter().filter_map(|record| filter.select(record));
            spans.for_each(|span| reader.take(&span));
            read.fetch_add(batch.len() as u64, Ordering::Relaxed);
            let is_over = stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
            if is_over || !reader.deliver(send) {
                break 'trace;
            }
        }
    }
    reader.deliver(send);
    Ok(FeedResult {
        changed: reader.mapper.changed,
        recorded: reader.windows,
        cpu_ns: thread_cpu_ns(),
    })
}

struct FeedReader<'a> {
    plan: &'a ReplayPlan,
    facts: &'a ReplayFacts,
    ready: Vec<Vec<ScheduledIo>>,
    mapper: Mapper,
    /// One index for each target that is written to; `None` if the order needs no check.
    orders: Vec<Option<ConflictIndex>>,
    profiles: Vec<InFlightProfile>,
    windows: Option<WindowSeries>,
    /// By key and target of a lane: its number, and start and end of its last request, ns.
    lanes: HashMap<u64, (u32, u64, u64)>,
    previous_ns: u64,
    index: u64,
    has_completions: bool,
    /// The unit in which the amount in flight is counted.
    count: Count,
}

impl<'a> FeedReader<'a> {
    fn new(
        plan: &'a ReplayPlan,
        facts: &'a ReplayFacts,
        windows: Option<WindowSeries>,
    ) -> Result<Self, ReplayError> {
        // A single thread in timed mode submits all requests in the order of the trace.
        let in_order = matches!(plan.mode, Mode::Timed { .. }) && plan.submitters == 1;
        let keep_order = plan.permits.writes == Writes::Allow && facts.writes > 0 && !in_order;
        let orders = plan.targets.iter();
        let orders = orders.map(|_| keep_order.then(ConflictIndex::default));
        let profiles = facts.devices.iter().map(|_| InFlightProfile::default());
        let ready = (0..plan.threads()).map(|_| Vec::with_capacity(BATCH_RECORDS));
        Ok(FeedReader {
            mapper: Mapper::new(plan, facts)?,
            plan,
            facts,
            ready: ready.collect(),
            orders: orders.collect(),
            profiles: profiles.collect(),
            count: GateRule::from_mode(&plan.mode).1,
            windows,
            lanes: HashMap::new(),
            previous_ns: 0,
            index: 0,
            has_completions: facts.has_completions(),
        })
    }

    fn deliver(&mut self, send: &mut SendRequests<'_>) -> bool {
        let mut has_receiver = false;
        for (worker, items) in self.ready.iter_mut().enumerate() {
            has_receiver |= items.is_empty() || {
                let batch = std::mem::replace(items, Vec::with_capacity(BATCH_RECORDS));
                send(worker, batch)
            };
        }
        has_receiver
    }

    fn take(&mut self, span: &Span) {
        let start_ns = span.first_ns().max(self.previous_ns);
        let start_ns = start_ns.max(self.facts.first.0);
        self.previous_ns = start_ns;
        let index = self.index;
        self.index += 1;
        let by_number = |device: &crate::TraceDevice| (device.dev.major, device.dev.minor);
        let number = (span.device.major, span.device.minor);
        let Ok(device) = self.facts.devices.binary_search_by_key(&number, by_number) else {
            return;
        };
        if let Some((target, io)) = self.mapper.map(device, span) {
            self.schedule(span, start_ns, target, TargetIo { index, ..io });
        }
    }

    fn schedule(&mut self, span: &Span, start_ns: u64, target: usize, mut io: TargetIo) {
        // The profile counts requests as they are replayed: aligned, and without those left out.
        let profile = &mut self.profiles[io.device as usize];
        let before = profile.advance(start_ns);
        let end_ns = (span.end_ns != NONE).then(|| span.end_ns.max(start_ns));
        if let Some(end_ns) = end_ns.filter(|_| self.has_completions) {
            profile.begin(end_ns, self.count, io.length.into());
        }
        let due_ns = self.due_ns(start_ns);
        let due_end_ns = end_ns.map(|end_ns| self.due_ns(end_ns));
        if let Some(windows) = &mut self.windows {
            windows.add_begin(due_ns, 0);
            if let Some(end_ns) = due_end_ns.filter(|_| self.has_completions) {
                windows.add_flight(due_ns, end_ns);
            }
        }
        let (lane, think_ns, after_submission) =
            self.lane_and_wait(span, target, start_ns, end_ns, before.idle_ns);
        io.lane = lane;
        let (worker, stream) = self.worker_and_stream(span, target, &io);
        let order = self.orders[target].as_mut();
        let writes = !matches!(io.operation, Operation::Read | Operation::Flush);
        let waits_for = order.and_then(|o| o.add(io.offset, io.length.into(), writes, stream));
        let in_flight_before = self.has_completions.then_some(before.requests);
        self.ready[worker].push(ScheduledIo {
            io,
            due_ns,
            stream,
            in_flight_before: in_flight_before.unwrap_or(ScheduledIo::UNKNOWN),
            load_before: before.load,
            think_ns,
            after_submission,
            waits_for,
        });
    }

    fn due_ns(&self, time_ns: u64) -> u64 {
        let since_ns = time_ns - self.facts.first.0;
        match self.plan.mode {
            Mode::Timed { speed } if speed != 1.0 => (since_ns as f64 / speed).round() as u64,
            _ => since_ns,
        }
    }

    /// Returns the lane, the wait of its request in ns, and [`ScheduledIo::after_submission`].
    fn lane_and_wait(
        &mut self,
        span: &Span,
        target: usize,
        start_ns: u64,
        end_ns: Option<u64>,
        idle_ns: u64,
    ) -> (u32, u64, bool) {
        let Mode::Closed { lane } = self.plan.mode else {
            return (span.lane, idle_ns, false);
        };
        let key = match lane {
            LaneBy::Lane => span.lane,
            LaneBy::Pid => span.pid,
            LaneBy::Cpu => span.cpu_submit,
            LaneBy::Device => span.device.minor ^ span.device.major << 20,
        };
        // A lane with requests for two targets becomes two lanes, which wait separately.
        let new_number = self.lanes.len() as u32;
        let key = u64::from(key) | (target as u64) << 32;
        let previous = self.lanes.get(&key).copied();
        let number = previous.map_or(new_number, |(number, ..)| number);
        self.lanes
            .insert(key, (number, start_ns, end_ns.unwrap_or(NONE)));
        match previous {
            None => (number, 0, false),
            Some((_, last_ns, NONE)) => (number, start_ns - last_ns, true),
            Some((_, _, last_end_ns)) => (number, start_ns.saturating_sub(last_end_ns), false),
        }
    }

    /// Returns the index of the thread that submits the request, and the request's stream.
    fn worker_and_stream(&self, span: &Span, target: usize, io: &TargetIo) -> (usize, u32) {
        let threads = self.plan.submitters;
        let first_worker = target * threads;
        match self.plan.mode {
            Mode::Timed { .. } => {
                let key = match self.plan.share {
                    ShareBy::Cpu if span.cpu_submit != NONE_32 => u64::from(span.cpu_submit),
                    ShareBy::Hctx if span.hctx != NONE_32 => u64::from(span.hctx),
                    // Requests of the same MiB go to one thread; the golden ratio spreads them.
                    _ => (io.offset >> 20).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32,
                };
                let worker = first_worker + (key % threads as u64) as usize;
                (worker, worker as u32)
            }
            Mode::Outstanding { .. } => (first_worker + io.device as usize % threads, io.device),
            Mode::Closed { .. } => (first_worker + io.lane as usize % threads, io.lane),
        }
    }
}

/// The amount that was in flight in the trace just before each request.
#[derive(Default)]
struct InFlightProfile {
    /// End in ns of each request in flight, and its part of `load`; the earliest end first.
    ends: BinaryHeap<Reverse<(u64, u64)>>,
    load: u64,
    /// The latest completion so far, in the trace's time; `None` before the first.
    last_end_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InFlightState {
    requests: u32,
    /// The amount in flight, in the unit of [`Count`].
    load: u64,
    /// Time since the latest completion; 0 before the first, and while something is in flight.
    idle_ns: u64,
}

impl InFlightProfile {
    /// The state before a request at `start_ns`; ends at that time count. Times must not go back.
    pub(crate) fn advance(&mut self, start_ns: u64) -> InFlightState {
        while let Some(Reverse((end_ns, weight))) = self.ends.peek().copied()
            && end_ns <= start_ns
        {
            self.ends.pop();
            self.load -= weight;
            self.last_end_ns = Some(end_ns);
        }
        let idle_ns = match (self.ends.len(), self.last_end_ns) {
            (0, Some(end_ns)) => start_ns - end_ns,
            _ => 0,
        };
        InFlightState {
            requests: u32::try_from(self.ends.len()).unwrap_or(u32::MAX - 1),
            load: self.load,
            idle_ns,
        }
    }

    pub(crate) fn begin(&mut self, end_ns: u64, count: Count, bytes: u64) {
        let weight = count.amount_of(bytes);
        self.load += weight;
        self.ends.push(Reverse((end_ns, weight)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_by_hand() {
        let mut profile = InFlightProfile::default();
        let before = |requests, load, idle_ns| InFlightState {
            requests,
            load,
            idle_ns,
        };
        assert_eq!(profile.advance(0), before(0, 0, 0));
        profile.begin(10, Count::Bytes, 512);
        assert_eq!(profile.advance(5), before(1, 512, 0));
        profile.begin(8, Count::Bytes, 4096);
        assert_eq!(profile.advance(8), before(1, 512, 0), "the other is over");
        assert_eq!(profile.advance(9), before(1, 512, 0));
        assert_eq!(profile.advance(12), before(0, 0, 2));
        profile.begin(13, Count::Bytes, 1);
        assert_eq!(profile.advance(12), before(1, 1, 0));
    }

    /// Thread 0 needs a request that lies behind too many of thread 1. It gets it when thread 1 has
    /// taken some of its own.
    #[test]
    fn few_requests_wait_for_simulated_threads() {
        let batches = MAX_UNDELIVERED / 64;
        let (sender, from) = std::sync::mpsc::sync_channel(batches + 1);
        let batch = |number| {
            let request = ScheduledIo {
                io: TargetIo::default(),
                due_ns: 0,
                stream: number as u32,
                in_flight_before: 0,
                load_before: 0,
                think_ns: 0,
                after_submission: false,
                waits_for: None,
            };
            (number, vec![request; 64])
        };
        (0..batches).for_each(|_| sender.send(batch(1)).unwrap());
        sender.send(batch(0)).unwrap();
        drop(sender);
        let mut deliveries = Deliveries::new(from, 2);
        assert_eq!(deliveries.next(0), Err(TryRecvError::Empty));
        assert_eq!(deliveries.next(1).unwrap().len(), 64);
        assert_eq!(deliveries.next(0).unwrap()[0].stream, 0);
        assert_eq!(deliveries.next(0), Err(TryRecvError::Disconnected));
    }

    #[test]
    fn blocks_are_begun_ones() {
        let blocks = [1, 4096, 4097].map(|bytes| Count::Blocks.amount_of(bytes));
        assert_eq!(blocks, [1, 1, 2]);
        let others = [Count::Requests, Count::Bytes].map(|count| count.amount_of(9));
        assert_eq!(others, [1, 9]);
    }
}
