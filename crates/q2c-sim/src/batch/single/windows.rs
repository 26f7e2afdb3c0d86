//! Rules whose sleeps change at the ends of windows, for lanes that share these windows.

use super::stretch;
use super::trace::{IoBuckets, LaneInFlight, LanePosition, LaneTrace};
use super::{PolicyPass, SingleSimulator};
use crate::batch::MAX_SLEEP_NS;
use crate::batch::priced::PricedSleep;
use crate::turns::Turns;
use fearless_simd::dispatch;
use q2c_model::Nanos;
use q2c_policy::windowed::{OpenWindow, WindowRule};
use q2c_policy::{BUCKETS, Decision, Outcome};

/// The end of the window for a rule without windows, which never changes its sleep.
pub(super) const NEVER: i64 = i64::MAX;
/// Time of the next event of a lane that has no more events.
const NO_EVENT: i64 = i64::MAX;
/// The end of the window while none is open.
pub(super) const IDLE: i64 = i64::MIN;

/// Each list has one entry per bucket and a last one for I/Os without a bucket, which are polled.
pub(super) struct Windows {
    pub rule: Option<WindowRule>,
    /// End of the open window, ns; [`IDLE`] without one, [`NEVER`] for a rule without windows.
    pub end: i64,
    pub sleeps: [PricedSleep; BUCKETS + 1],
    pub interrupt_buckets: u32,
    pub gathered: Vec<OpenWindow>,
    pub means: [Nanos; BUCKETS + 1],
}

impl Windows {
    pub(crate) fn constant(sleep: PricedSleep) -> Self {
        Windows {
            rule: None,
            end: NEVER,
            sleeps: [sleep; BUCKETS + 1],
            interrupt_buckets: 0,
            gathered: Vec::new(),
            means: [Nanos::ZERO; BUCKETS + 1],
        }
    }

    pub(crate) fn new(rule: WindowRule) -> Self {
        Windows {
            gathered: vec![OpenWindow::new(rule.gather); BUCKETS + 1],
            end: IDLE,
            rule: Some(rule),
            ..Windows::constant(PricedSleep::POLLING)
        }
    }

    /// True if the I/Os can go through the registers, because none waits for its interrupt.
    fn is_regular(&self, trace: &LaneTrace<'_>) -> bool {
        let from = self.rule.as_ref().and_then(|rule| rule.interrupts_from);
        let may_interrupt = match trace.rows {
            IoBuckets::One(row) => self.interrupt_buckets >> row & 1 == 1,
            IoBuckets::PerIo(_) => self.interrupt_buckets != 0,
        };
        !may_interrupt && from.is_none_or(|from| trace.largest_bytes < from)
    }

    fn is_large(&self, trace: &LaneTrace<'_>, i: usize) -> bool {
        let large = |rule: &WindowRule| rule.is_large(trace.io(i));
        self.rule.as_ref().is_some_and(large)
    }

    fn close(&mut self, pass: &mut PolicyPass<'_>) {
        self.end = IDLE;
        let Some(rule) = &self.rule else {
            return;
        };
        for bucket in 0..BUCKETS {
            let gathered = &mut self.gathered[bucket];
            if gathered.totals.samples == 0 {
                continue;
            }
            let window = gathered.window(bucket, self.means[bucket]);
            let decision = rule.decide(&window);
            self.means[bucket] = window.mean();
            gathered.clear();
            self.interrupt_buckets &= !(1 << bucket);
            match decision {
                Decision::Interrupt => self.interrupt_buckets |= 1 << bucket,
                Decision::Poll => self.sleeps[bucket] = PricedSleep::POLLING,
                Decision::Sleep(asked) => {
                    pass.counts.too_long |= asked.0 > MAX_SLEEP_NS;
                    if self.sleeps[bucket].asked as u64 != asked.0 {
                        self.sleeps[bucket] = pass.machine.price(asked);
                    }
                }
            }
        }
    }

    fn submit(&self, lane: &mut LanePosition, pass: &mut PolicyPass<'_>) {
        let machine = pass.machine;
        let trace = &machine.traces[lane.lane];
        let (i, columns) = (lane.index, &trace.columns);
        let (wait, recorded) = (columns.wait[i] as i32, columns.submit[i] as i32);
        let row = trace.rows.row_of(i);
        let interrupt = self.interrupt_buckets >> row & 1 == 1 || self.is_large(trace, i);
        let sleep = &self.sleeps[row];
        let (end, asked, submit) = if interrupt {
            (machine.costs.interrupt_end(wait, recorded), 0, recorded)
        } else {
            let end = sleep.end(wait, machine.draws.draws_at(lane.draw), &machine.costs);
            (end, sleep.asked, sleep.submission(recorded))
        };
        pass.add(lane, &end, asked, submit);
        lane.flight = Some(LaneInFlight {
            done_at: lane.start + i64::from(submit) + i64::from(end.observed),
            observed: end.observed,
            missed: end.missed,
        });
    }

    fn complete(
        &mut self,
        lane: &mut LanePosition,
        flight: LaneInFlight,
        pass: &mut PolicyPass<'_>,
    ) {
        let trace = &pass.machine.traces[lane.lane];
        let row = trace.rows.row_of(lane.index);
        if self.rule.is_some() && !self.is_large(trace, lane.index) {
            let outcome = Outcome::new(flight.observed.max(0) as u64, flight.missed);
            let now = Nanos(flight.done_at as u64);
            self.gathered[row].add(outcome, now, self.means[row]);
        }
        lane.flight = None;
        pass.counts.last_end = pass.counts.last_end.max(lane.finish(flight.done_at, trace));
    }

    /// Runs a lane, without any change of the sleeps, up to its first event at or after `end`.
    fn advance(&mut self, lane: &mut LanePosition, end: i64, pass: &mut PolicyPass<'_>) {
        let machine = pass.machine;
        let trace = &machine.traces[lane.lane];
        let regular = self.is_regular(trace);
        loop {
            if let Some(flight) = lane.flight {
                if flight.done_at >= end {
                    return;
                }
                self.complete(lane, flight, pass);
            }
            if regular && !machine.is_over(lane) {
                let level = machine.level;
                dispatch!(level, simd => stretch::run(simd, self, lane, end, pass));
            }
            if machine.is_over(lane) || lane.return_time(trace) >= end {
                return;
            }
            self.submit(lane, pass);
        }
    }

    fn handle_event(&mut self, lane: &mut LanePosition, pass: &mut PolicyPass<'_>) {
        let trace = &pass.machine.traces[lane.lane];
        let learns = !self.is_large(trace, lane.index);
        match lane.flight {
            None => {
                if learns && self.has_ended_at(lane.return_time(trace)) {
                    self.close(pass);
                }
                self.submit(lane, pass);
            }
            Some(flight) => {
                if learns && self.has_ended_at(flight.done_at) {
                    self.close(pass);
                }
                if learns && self.end == IDLE {
                    let period = self.rule.as_ref().map_or(0, |rule| rule.period.0);
                    self.end = flight.done_at.saturating_add_unsigned(period);
                }
                self.complete(lane, flight, pass);
            }
        }
    }

    fn has_ended_at(&self, now: i64) -> bool {
        self.end != IDLE && self.end <= now
    }
}

fn next_event(lane: &LanePosition, machine: &SingleSimulator<'_>) -> Option<i64> {
    match lane.flight {
        Some(flight) => Some(flight.done_at),
        None if machine.is_over(lane) => None,
        None => Some(lane.return_time(&machine.traces[lane.lane])),
    }
}

/// Returns true if events remain after `horizon`. Lanes advance one by one up to a window's end,
/// then take turns event by event until a completion opens the next window.
pub(super) fn run(
    windows: &mut Windows,
    lanes: &mut [LanePosition],
    pass: &mut PolicyPass<'_>,
    horizon: i64,
) -> bool {
    let machine = pass.machine;
    let event = |lane: &LanePosition| next_event(lane, machine).unwrap_or(NO_EVENT);
    let mut turns = Turns::new(lanes.len(), NO_EVENT);
    loop {
        if windows.end != IDLE {
            let end = windows.end.min(horizon);
            for lane in lanes.iter_mut() {
                windows.advance(lane, end, pass);
            }
        }
        turns.fill(lanes.iter().map(event));
        loop {
            let (next, event_at) = (turns.next(), turns.next_time());
            if event_at >= horizon {
                return event_at != NO_EVENT;
            }
            windows.handle_event(&mut lanes[next], pass);
            if windows.end > event_at {
                break;
            }
            turns.set(next, event(&lanes[next]));
        }
    }
}
