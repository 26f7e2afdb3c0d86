//! The engine of a submitting thread, its slots, and the batch that is submitted next.

use crate::{TargetIo, ThreadClock};
use q2c_engine::engine::{Engine, EngineError, Request, RingCompletion};
use q2c_sys::thread::switches;

/// The most requests in a batch.
const BATCH: usize = 32;
/// A submission that takes longer than this, ns, may have slept in the kernel.
const LONG_NS: u64 = 1_000_000;

/// A request in the batch or in flight. Points in time are ns from the replay's start.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flight {
    pub io: TargetIo,
    pub stream: u32,
    /// The weight of the request in its stream's load, in the unit of [`crate::Count`].
    pub weight: u64,
    /// The time at which the mode wanted it submitted, ns.
    pub intended_ns: u64,
    /// Begin and end of its submission, ns.
    pub submit_ns: u64,
    pub submit_end_ns: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub begin_ns: u64,
    pub end_ns: u64,
    /// True if the thread left its CPU in the call for long: the kernel had no free requests.
    pub slept: bool,
}

/// Submits batches of requests and takes their completions.
///
/// A batch begins with [`EngineSubmitter::begin_batch`]. It grows by [`EngineSubmitter::add`] while
/// [`EngineSubmitter::has_room`] and a slot is free; [`EngineSubmitter::submit`] submits it. The
/// engine belongs to the thread that has opened it.
///
/// Invariants:
/// - A slot is either in `free`, or names the entry of `flights` that is in flight. So something is
///   in flight exactly while `free` is shorter than `flights`.
/// - `full` is set when a due request finds no free slot, and cleared by the next batch that finds
///   one.
pub(crate) struct EngineSubmitter {
    engine: Box<dyn Engine>,
    /// True if a submission to this engine may sleep in the kernel, as with libaio.
    may_sleep: bool,
    flights: Vec<Flight>,
    free: Vec<u16>,
    batch: Vec<Request>,
    /// True if a due request waits for a slot.
    pub(super) full: bool,
    /// When `full` was cleared or a call's sleep ended, ns: what was due before was held up.
    free_again_ns: u64,
    /// Time of the last submission or completion, ns.
    pub(super) last_ns: u64,
}

impl EngineSubmitter {
    pub(crate) fn new(engine: Box<dyn Engine>, may_sleep: bool, slots: u16) -> Self {
        EngineSubmitter {
            engine,
            may_sleep,
            flights: vec![Flight::default(); usize::from(slots)],
            free: (0..slots).rev().collect(),
            batch: Vec::with_capacity(BATCH),
            full: false,
            free_again_ns: 0,
            last_ns: 0,
        }
    }

    pub(crate) fn engine(&mut self) -> &mut dyn Engine {
        self.engine.as_mut()
    }

    pub(crate) fn in_flight(&self) -> bool {
        self.free.len() < self.flights.len()
    }

    pub(crate) fn begin_batch(&mut self, now_ns: u64) {
        self.batch.clear();
        if self.full && !self.free.is_empty() {
            self.full = false;
            self.free_again_ns = now_ns;
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.batch.len() < BATCH
    }

    pub(crate) fn has_slot(&self) -> bool {
        !self.free.is_empty()
    }

    /// Notes that a due request found no free slot. True if it is the first since one was free.
    pub(crate) fn fill_up(&mut self) -> bool {
        !std::mem::replace(&mut self.full, true)
    }

    /// Adds a request to the batch. Panics if no slot is free.
    pub(crate) fn add(&mut self, flight: Flight) {
        let slot = self.free.pop().expect("the caller has seen a free slot");
        self.flights[usize::from(slot)] = flight;
        self.batch.push(Request {
            operation: flight.io.operation,
            offset: flight.io.offset,
            length: flight.io.length,
            slot,
        });
    }

    pub(crate) fn batch_len(&self) -> usize {
        self.batch.len()
    }

    /// Submits the batch. All its requests get the same submission time.
    pub(crate) fn submit(&mut self, time: &impl ThreadClock) -> Result<Call, EngineError> {
        let before = self.may_sleep.then(|| switches().voluntary);
        let begin_ns = time.now_ns();
        self.engine.submit(&self.batch)?;
        let end_ns = time.now_ns();
        self.last_ns = end_ns;
        let long = end_ns - begin_ns > LONG_NS;
        let slept = before.is_some_and(|before| long && switches().voluntary > before);
        Ok(Call {
            begin_ns,
            end_ns,
            slept,
        })
    }

    /// Notes the call that submitted request number `at` of the batch. Returns the request, and
    /// whether the limit in flight, or an earlier call that slept, held it up.
    pub(crate) fn submitted(&mut self, at: usize, call: Call) -> (&Flight, bool) {
        let slot = usize::from(self.batch[at].slot);
        let flight = &mut self.flights[slot];
        (flight.submit_ns, flight.submit_end_ns) = (call.begin_ns, call.end_ns);
        (flight, flight.intended_ns < self.free_again_ns)
    }

    /// Notes that a call that slept has ended. It held up the requests that were due before.
    pub(crate) fn woke(&mut self, call: Call) {
        self.free_again_ns = call.end_ns;
    }

    pub(crate) fn complete(&mut self, done: RingCompletion, now_ns: u64) -> Flight {
        self.last_ns = now_ns;
        self.free.push(done.slot);
        self.flights[usize::from(done.slot)]
    }
}
