//! A second small implementation of timed and outstanding replay on a simulated device, by a loop
//! over events. It shares nothing with the submitting thread but the draws of service times.

use q2c_model::replay::{Count, Idle};
use q2c_model::{Direction, IoRecord, Op};
use q2c_policy::Io;
use q2c_service::{Draws, ServiceTimes};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// A request of the trace. Times are from the trace's first request, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedRequest {
    pub at: u64,
    pub end: Option<u64>,
    pub minor: u32,
    pub io: Io,
}

/// The requests of these records; a time that goes back is that of the previous request.
pub(crate) fn requests(records: &[IoRecord]) -> Vec<RecordedRequest> {
    let start = |r: &IoRecord| r.queue_ns.or(r.submit_ns).expect("a time").0;
    let zero = records.first().map_or(0, start);
    let mut at = 0;
    let request = |record: &IoRecord| {
        at = start(record).saturating_sub(zero).max(at);
        let end = record.complete_ns.or(record.reap_ns);
        let is_read = record.op == Op::Read;
        RecordedRequest {
            at,
            end: end.map(|end| (end.0 - zero).max(at)),
            minor: record.device.minor,
            io: Io {
                direction: [Direction::Write, Direction::Read][usize::from(is_read)],
                bytes: record.bytes.0 as u32,
            },
        }
    };
    records.iter().map(request).collect()
}

/// Servers behind one queue.
pub(crate) struct ReferenceDevice {
    free_at: Vec<u64>,
    draws: Draws,
}

impl ReferenceDevice {
    pub(crate) fn new(servers: usize, times: ServiceTimes, seed: u64) -> Self {
        ReferenceDevice {
            free_at: vec![0; servers],
            draws: Draws::new(times, seed),
        }
    }

    /// The completion of a request that arrives now.
    fn serve(&mut self, now: u64, io: Io) -> u64 {
        let service = self.draws.next(io).0;
        self.free_at.sort_unstable();
        self.free_at[0] = self.free_at[0].max(now) + service;
        self.free_at[0]
    }
}

/// Sums over all requests, ns, and the last completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplaySums {
    pub requests: u64,
    pub u2c: u128,
    pub end: u64,
}

impl ReplaySums {
    fn add(&mut self, begin: u64, end: u64) {
        self.requests += 1;
        self.u2c += u128::from(end - begin);
        self.end = self.end.max(end);
    }

    pub(crate) fn join(self, other: ReplaySums) -> ReplaySums {
        ReplaySums {
            requests: self.requests + other.requests,
            u2c: self.u2c + other.u2c,
            end: self.end.max(other.end),
        }
    }
}

/// Each request goes at its time, or when one of `most` in flight is complete.
pub(crate) fn timed(
    requests: &[RecordedRequest],
    mut device: ReferenceDevice,
    most: usize,
) -> ReplaySums {
    let (mut sums, mut now, mut flying) = (ReplaySums::default(), 0, BinaryHeap::new());
    for request in requests {
        now = request.at.max(now);
        while flying.peek().is_some_and(|Reverse(end)| *end <= now) || flying.len() == most {
            let Some(Reverse(end)) = flying.pop() else {
                break;
            };
            now = now.max(end);
        }
        let end = device.serve(now, request.io);
        flying.push(Reverse(end));
        sums.add(now, end);
    }
    sums
}

/// A request with what was in flight on its device just before it in the trace, and for how long
/// nothing had been.
struct PlannedRequest {
    io: Io,
    amount: u64,
    before: u64,
    idle: u64,
}

#[derive(Default)]
struct ReferenceStream {
    queue: VecDeque<PlannedRequest>,
    flying: u32,
    amount: u64,
    last_end: Option<u64>,
}

fn plan(requests: &[RecordedRequest], count: Count) -> Vec<ReferenceStream> {
    let mut number_of: BTreeMap<u32, usize> = BTreeMap::new();
    let mut streams: Vec<ReferenceStream> = Vec::new();
    let mut flying: Vec<Vec<(u64, u64)>> = Vec::new();
    let mut last_end: Vec<Option<u64>> = Vec::new();
    for request in requests {
        let number = *number_of.entry(request.minor).or_insert(streams.len());
        if number == streams.len() {
            streams.push(ReferenceStream::default());
            flying.push(Vec::new());
            last_end.push(None);
        }
        let (done, left): (Vec<_>, Vec<_>) = flying[number]
            .iter()
            .partition(|(end, _)| *end <= request.at);
        last_end[number] = last_end[number].max(done.iter().map(|(end, _)| *end).max());
        let amount = match count {
            Count::Requests => 1,
            Count::Bytes => request.io.bytes.into(),
            Count::Blocks => u64::from(request.io.bytes).div_ceil(4096),
        };
        let idle = last_end[number].map_or(0, |end| request.at - end);
        streams[number].queue.push_back(PlannedRequest {
            io: request.io,
            amount,
            before: left.iter().map(|(_, amount)| amount).sum(),
            idle: if left.is_empty() { idle } else { 0 },
        });
        flying[number] = left;
        flying[number].extend(request.end.map(|end| (end, amount)));
    }
    streams
}

/// The time from which a stream's next request may go; `None` if it waits for a completion.
fn ready(stream: &ReferenceStream, idle: Idle) -> Option<u64> {
    let next = stream.queue.front()?;
    let keeps = idle == Idle::Keep && stream.flying == 0 && next.idle > 0;
    let after_idle = || stream.last_end.map_or(0, |end| end + next.idle);
    (stream.amount <= next.before).then(|| if keeps { after_idle() } else { 0 })
}

/// Each request goes when no more is in flight on its device of the trace than was before it.
pub(crate) fn outstanding(
    requests: &[RecordedRequest],
    mut device: ReferenceDevice,
    (count, idle): (Count, Idle),
) -> ReplaySums {
    let mut streams = plan(requests, count);
    let (mut sums, mut now) = (ReplaySums::default(), 0);
    let mut flying: BinaryHeap<Reverse<(u64, usize, u64)>> = BinaryHeap::new();
    loop {
        while let Some(&Reverse((end, number, amount))) = flying.peek()
            && end <= now
        {
            flying.pop();
            let stream = &mut streams[number];
            (stream.flying, stream.last_end) = (stream.flying - 1, Some(end));
            stream.amount -= amount;
        }
        let ready_streams = streams.iter().enumerate();
        let ready_streams = ready_streams.filter_map(|(n, s)| Some((ready(s, idle)?, n)));
        let first = ready_streams.min();
        if let Some((_, number)) = first.filter(|(at, _)| *at <= now) {
            let stream = &mut streams[number];
            let request = stream.queue.pop_front().expect("it is ready");
            (stream.flying, stream.amount) = (stream.flying + 1, stream.amount + request.amount);
            let end = device.serve(now, request.io);
            flying.push(Reverse((end, number, request.amount)));
            sums.add(now, end);
            continue;
        }
        let next_end = flying.peek().map(|Reverse((end, ..))| *end);
        match first.map(|(at, _)| at).into_iter().chain(next_end).min() {
            Some(next) => now = next,
            None => return sums,
        }
    }
}
