//! A submitting thread: it waits for each request's moment, submits all due requests at once, reaps
//! and counts.

mod account;
mod schedule;
mod submit;

pub(crate) use account::ThreadAccount;
pub(crate) use schedule::Schedule;
pub(crate) use submit::EngineSubmitter;

use crate::feed::Delivery;
use crate::time::WaitSpec;
use crate::{ReplayCounts, RowSender, ScheduledIo, Shared, ThreadClock};
use q2c_engine::engine::{EngineError, RingCompletion};
use q2c_model::replay::OnError;
use schedule::Precedence;
use std::sync::atomic::Ordering;
use submit::Flight;

/// The longest wait, ns. After it the thread checks if the replay is to stop.
const MAX_WAIT_NS: u64 = 50_000_000;
/// The longest wait, ns, while the reader may still deliver a request that may go.
const DELIVERY_NS: u64 = 200_000;
/// While requests are in flight, the thread looks for completions until this long after the last
/// submission or completion, ns; then it sleeps. Waking up takes about 20 us, which would count as
/// the device's time; further requests would complete meanwhile, and fewer would be in flight than
/// in the trace.
const POLLING_NS: u64 = 1_000_000;

/// One submitting thread of a replay: the loop that connects its schedule, engine and account.
///
/// The thread creates its worker when its engine is open, and calls [`ReplayWorker::run`] once.
/// Schedule, submitter and account belong to this thread alone and do not know each other; all
/// threads share the counters in `shared`. The loop keeps them consistent:
/// - A request that leaves the schedule joins the batch at once, and the batch is submitted before
///   anything else happens. So every request that has left is in flight when the next round begins.
/// - A completion frees its slot, then its stream, then the counters in `shared`, before the thread
///   looks for further work.
/// - `shared.device_in_flight` and `shared.in_flight` go up when a request joins the batch and down
///   when its completion is seen.
pub(crate) struct ReplayWorker<'a, D, T> {
    pub schedule: Schedule<'a, D>,
    pub submitter: EngineSubmitter<'a>,
    pub account: ThreadAccount,
    pub shared: &'a Shared<'a>,
    pub on_error: OnError,
    /// True if looking for completions takes no CPU from another thread.
    pub may_poll: bool,
    /// True if the due request waits until another thread has submitted one that it overlaps.
    pub waits_for_others: bool,
    pub time: T,
}

impl<D: FnMut() -> Delivery, T: ThreadClock> ReplayWorker<'_, D, T> {
    /// Replays until the trace has ended or the replay is to stop, and nothing is in flight.
    pub(crate) fn run(mut self) -> Result<(ReplayCounts, Option<RowSender>), EngineError> {
        // Requests that arrive before the start are in their streams when the schedule begins.
        while self.time.wait_before_start() {
            self.schedule.take_ahead();
        }
        loop {
            self.reap()?;
            let taken = self.schedule.take();
            let stopped = self.shared.is_stopped();
            if !stopped && self.submit()? {
                continue;
            }
            if !self.submitter.has_in_flight() && (stopped || self.schedule.is_over()) {
                self.submitter.check_idle()?;
                return Ok(self.account.close());
            }
            if !taken {
                self.wait(stopped)?;
            }
        }
    }

    fn reap(&mut self) -> Result<(), EngineError> {
        while let Some(done) = self.submitter.engine.poll()? {
            self.complete(done)?;
        }
        Ok(())
    }

    fn submit(&mut self) -> Result<bool, EngineError> {
        let now_ns = self.time.now_ns();
        self.submitter.begin_batch(now_ns);
        self.waits_for_others = false;
        while self.submitter.has_room()
            && let Some(stream) = self.schedule.due_stream(now_ns)
        {
            if self.submitter.free.is_empty() {
                if self.submitter.mark_full() {
                    self.account.counts.capped += 1;
                }
                break;
            }
            match self.schedule.precedence(stream) {
                Precedence::Kept => {}
                Precedence::Inverted => self.account.counts.inversions += 1,
                Precedence::Waits => {
                    self.waits_for_others = true;
                    break;
                }
            }
            if let Some((request, flight)) = self.schedule.depart(stream, now_ns) {
                self.add_to_batch(&request, flight, now_ns);
            }
        }
        if self.submitter.batch.is_empty() {
            return Ok(false);
        }
        self.submit_batch()?;
        Ok(true)
    }

    fn add_to_batch(&mut self, request: &ScheduledIo, flight: Flight, now_ns: u64) {
        let device = &self.shared.device_in_flight[request.io.device as usize];
        let in_flight = device.fetch_add(1, Ordering::Relaxed);
        self.shared.in_flight.begin(now_ns);
        self.account.count_batched(request, in_flight, now_ns);
        self.submitter.add(flight);
    }

    fn submit_batch(&mut self) -> Result<(), EngineError> {
        let call = self.submitter.submit(&self.time)?;
        for index in 0..self.submitter.batch.len() {
            let (flight, held_up) = self.submitter.note_submitted(index, call);
            self.schedule.note_submitted(flight.stream, call.begin_ns);
            self.account.count_issued(call, flight.intended_ns, held_up);
        }
        self.account.count_call(call);
        self.time.note_progress();
        if call.slept {
            self.submitter.note_wake_up(call);
        }
        Ok(())
    }

    fn complete(&mut self, done: RingCompletion) -> Result<(), EngineError> {
        let now_ns = self.time.now_ns();
        let flight = self.submitter.complete(done, now_ns)?;
        let (stream, weight) = (flight.stream, flight.weight);
        self.schedule.note_completed(stream, weight, now_ns);
        self.shared.device_in_flight[flight.io.device as usize].fetch_sub(1, Ordering::Relaxed);
        self.shared.in_flight.end(now_ns);
        let moved_all = self.account.count_completed(&flight, now_ns, done.result);
        if !moved_all && self.on_error == OnError::Stop {
            self.shared.failed.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Waits for a completion, the due time of the next request, or the next delivery.
    fn wait(&mut self, stopped: bool) -> Result<(), EngineError> {
        let now_ns = self.time.now_ns();
        if self.submitter.has_in_flight() {
            self.account.begin_waiting(now_ns);
        }
        // The reader may deliver a request of another stream that may go at once, so the thread
        // soon checks for deliveries.
        let expects_delivery = self.schedule.expects_delivery();
        // In timed mode the thread does not sleep while it waits for the reader, because the next
        // request may be due at once.
        let polls_for_reader = expects_delivery && self.schedule.is_timed() && !stopped;
        let may_submit = !stopped && !self.submitter.full;
        let longest_ns = if expects_delivery {
            DELIVERY_NS
        } else {
            MAX_WAIT_NS
        };
        let wait = WaitSpec {
            due_ns: self.schedule.next_due_ns().filter(|_| may_submit),
            limit_ns: now_ns + longest_ns,
            polls: self.may_poll && (polls_for_reader || self.expects_completion(now_ns)),
            for_others: self.waits_for_others,
        };
        if let Some(done) = self.time.wait(self.submitter.engine.as_mut(), wait)? {
            self.complete(done)?;
        }
        Ok(())
    }

    /// True if a request in flight may complete so soon that sleeping would count as its time.
    fn expects_completion(&self, now_ns: u64) -> bool {
        self.submitter.has_in_flight() && now_ns.saturating_sub(self.submitter.last_ns) < POLLING_NS
    }
}
