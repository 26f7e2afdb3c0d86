//! The engine of a submitting thread, its slots, and the batch that is submitted next.

use crate::{TargetIo, ThreadClock};
use q2c_engine::engine::{Engine, EngineError, Request, RingCompletion};
use q2c_sys::thread::switches;

const MAX_BATCH: usize = 32;
/// A submission that takes longer than this, ns, may have slept in the kernel.
const MIN_SLEPT_CALL_NS: u64 = 1_000_000;

/// A request in the batch or in flight. Points in time are ns from the replay's start.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flight {
    pub io: TargetIo,
    pub stream: u32,
    /// The weight of the request in its stream's load, in the unit of [`crate::Count`].
    pub weight: u64,
    /// The time at which the mode wanted the submission, ns.
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
/// - A slot is either in `free`, or names the entry of `flights` that is in flight; the entries of
///   free slots are `None`. So something is in flight exactly while `free` is shorter than
///   `flights`.
/// - `full` is set when a due request finds no free slot, and cleared by the next batch that finds
///   one.
pub(crate) struct EngineSubmitter<'a> {
    pub(super) engine: Box<dyn Engine + 'a>,
    /// True if a submission to this engine may sleep in the kernel, as with libaio.
    may_sleep: bool,
    flights: Vec<Option<Flight>>,
    pub(super) free: Vec<u16>,
    pub(super) batch: Vec<Request>,
    /// True if a due request waits for a slot.
    pub(super) full: bool,
    /// When `full` was cleared or a call's sleep ended, ns. Requests due before that are held up.
    held_up_until_ns: u64,
    /// Time of the last submission or completion, ns.
    pub(super) last_ns: u64,
}

impl<'a> EngineSubmitter<'a> {
    pub(crate) fn new(engine: Box<dyn Engine + 'a>, may_sleep: bool, slots: u16) -> Self {
        EngineSubmitter {
            engine,
            may_sleep,
            flights: vec![None; usize::from(slots)],
            free: (0..slots).rev().collect(),
            batch: Vec::with_capacity(MAX_BATCH),
            full: false,
            held_up_until_ns: 0,
            last_ns: 0,
        }
    }

    pub(crate) fn has_in_flight(&self) -> bool {
        self.free.len() < self.flights.len()
    }

    pub(crate) fn begin_batch(&mut self, now_ns: u64) {
        self.batch.clear();
        if self.full && !self.free.is_empty() {
            self.full = false;
            self.held_up_until_ns = now_ns;
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.batch.len() < MAX_BATCH
    }

    /// Notes that a due request found no free slot. Returns true for the first in a row.
    pub(crate) fn mark_full(&mut self) -> bool {
        !std::mem::replace(&mut self.full, true)
    }

    /// Adds a request to the batch. Panics if no slot is free.
    pub(crate) fn add(&mut self, flight: Flight) {
        let slot = self.free.pop().expect("the caller has seen a free slot");
        self.flights[usize::from(slot)] = Some(flight);
        self.batch.push(Request {
            operation: flight.io.operation,
            offset: flight.io.offset,
            length: flight.io.length,
            slot,
        });
    }

    /// Submits the batch. All its requests get the same submission time.
    pub(crate) fn submit(&mut self, time: &impl ThreadClock) -> Result<Call, EngineError> {
        let switches_before = self.may_sleep.then(|| switches().voluntary);
        let begin_ns = time.now_ns();
        self.engine.submit(&self.batch)?;
        let end_ns = time.now_ns();
        self.last_ns = end_ns;
        let is_long = end_ns - begin_ns > MIN_SLEPT_CALL_NS;
        let slept = switches_before.is_some_and(|n| is_long && switches().voluntary > n);
        Ok(Call {
            begin_ns,
            end_ns,
            slept,
        })
    }

    /// Notes the call that submitted request number `index` of the batch. Returns the request,
    /// and true if the limit in flight, or an earlier call that slept, held it up.
    pub(crate) fn note_submitted(&mut self, index: usize, call: Call) -> (&Flight, bool) {
        let slot = usize::from(self.batch[index].slot);
        let flight = self.flights[slot].as_mut();
        let flight = flight.expect("the batch is in flight");
        (flight.submit_ns, flight.submit_end_ns) = (call.begin_ns, call.end_ns);
        (flight, flight.intended_ns < self.held_up_until_ns)
    }

    /// Notes that a call that slept has ended. It held up the requests that were due before.
    pub(crate) fn note_wake_up(&mut self, call: Call) {
        self.held_up_until_ns = call.end_ns;
    }

    pub(crate) fn complete(
        &mut self,
        done: RingCompletion,
        now_ns: u64,
    ) -> Result<Flight, EngineError> {
        let flight = self.flights[usize::from(done.slot)].take();
        let flight = flight.ok_or(EngineError::CompletedTwice(done.slot))?;
        self.last_ns = now_ns;
        self.free.push(done.slot);
        Ok(flight)
    }

    /// Fails if a completion is left, or still to come, although nothing is in flight. A completion
    /// that came twice may have been taken for that of a later request in its slot.
    pub(super) fn check_idle(&mut self) -> Result<(), EngineError> {
        let left = match self.engine.next_due() {
            Some(_) => Some(self.engine.wait()?),
            None => self.engine.poll()?,
        };
        left.map_or(Ok(()), |done| Err(EngineError::CompletedTwice(done.slot)))
    }
}
