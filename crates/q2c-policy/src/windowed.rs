//! The engine of the windowed rules. A windowed rule is a function from the statistics of one
//! window and one bucket to a decision.
//!
//! # Windows
//! Windows are those of Linux 4.12 to 6.3 (block/blk-stat.c, blk-mq.c). The first completion seen
//! while no window is open opens a window of one period and counts in it; so on an idle device
//! there are gaps between windows. When the window is over, every bucket with a sample gets the
//! decision that the rule makes from its statistics; a bucket without a sample keeps its old
//! decision. No I/O sleeps before the first window is over. A sample is the observed time, the
//! caller's own oversleep included.
//!
//! Linux closes a window by a timer. Here the first call at or after the window's end closes it
//! before that call is answered, so no I/O can see a difference. Two things are left out on
//! purpose. Linux rounds the end up to a timer tick (1 to 10 ms by kernel configuration), which
//! belongs to its timers and not to the rule. And Linux does not sample the one I/O whose polling
//! turned the statistics on; here every completion counts.
//!
//! # Threads
//! All lanes of one [`build`](crate::PolicySpec::build) share one device. Each lane adds its
//! samples to a slot that only it writes. The lane that finds the window over claims it by
//! compare-exchange, merges all slots and stores the decisions, one atomic word per bucket: a
//! decision reads one of these words, so it never sees half a table. No lane waits for the merging
//! one. Other lanes go on with the old decisions, also when the merging lane loses its CPU, which
//! makes that window longer. A sample that races with the merge counts in the next window; no
//! sample is lost or counted twice.

mod open_window;
mod slot;
mod times;

pub use open_window::{BucketWindow, OpenWindow, WindowTotals};

use crate::bucket::{BUCKETS, bucket_of};
use crate::{Decision, Io, Lane, MAX_SLEEP, Outcome, Token};
use q2c_model::Nanos;
use slot::{LaneSlot, SlotMerger};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The statistics that a rule's windows gather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gather {
    /// Counts, sums and extremes.
    Totals,
    /// Also bins of all times for [`BucketWindow::quantile`]: 116 KiB per lane and per device.
    Quantiles,
}

/// [`DecisionBoard::end`] while no window is open: in the past, so the next completion opens one.
const IDLE: u64 = 0;
/// [`DecisionBoard::end`] while a lane merges: in the future, so no other call closes the window.
const CLOSING: u64 = u64::MAX;

#[repr(align(128))]
struct DecisionBoard {
    /// End of the open window, ns on the callers' clock; or [`IDLE`] or [`CLOSING`].
    end: AtomicU64,
    decisions: [AtomicU64; BUCKETS],
    /// Mean of each bucket's last window, ns; 0 before the first.
    means: [AtomicU64; BUCKETS],
}

/// [`Decision::Poll`] in [`DecisionBoard::decisions`]. All values except this one and [`INTERRUPT`]
/// are sleeps, ns.
const POLL: u64 = 0;
const INTERRUPT: u64 = u64::MAX;

fn word_of(decision: Decision) -> u64 {
    match decision {
        Decision::Poll => POLL,
        Decision::Interrupt => INTERRUPT,
        Decision::Sleep(time) => time.min(MAX_SLEEP).0,
    }
}

fn decision_of(word: u64) -> Decision {
    match word {
        POLL => Decision::Poll,
        INTERRUPT => Decision::Interrupt,
        ns => Decision::Sleep(Nanos(ns)),
    }
}

struct WindowedDevice {
    board: DecisionBoard,
    merger: SlotMerger,
    rule: WindowRule,
}

impl WindowedDevice {
    #[cold]
    fn close_if_over(&self, now: u64, end: u64) {
        if end != IDLE && now >= end && self.claim(end) {
            self.publish(end);
            self.board.end.store(IDLE, Ordering::Release);
        }
    }

    /// Closes the window if it is over at `now`, opens one if none is open, and returns its end.
    #[cold]
    fn open_or_join(&self, now: u64, mut end: u64) -> u64 {
        let next_end = now.saturating_add(self.rule.period.0).min(CLOSING - 1);
        loop {
            if end != IDLE && now < end {
                return end;
            }
            let replacement = if end == IDLE { next_end } else { CLOSING };
            let end_word = &self.board.end;
            match end_word.compare_exchange(end, replacement, Ordering::AcqRel, Ordering::Acquire) {
                Err(current) => end = current,
                Ok(IDLE) => return next_end,
                Ok(closing) => {
                    self.publish(closing);
                    end_word.store(next_end, Ordering::Release);
                    return next_end;
                }
            }
        }
    }

    /// Claims the closing of the window; false if another lane was first.
    fn claim(&self, end: u64) -> bool {
        let end_word = &self.board.end;
        let exchange = end_word.compare_exchange(end, CLOSING, Ordering::AcqRel, Ordering::Relaxed);
        exchange.is_ok()
    }

    /// Publishes the decisions. Only the lane that claimed the window ending at `end` may call it.
    fn publish(&self, end: u64) {
        let board = &self.board;
        self.merger.close_windows(end, &board.means, |window| {
            let word = word_of(self.rule.decide(window));
            board.decisions[window.bucket].store(word, Ordering::Relaxed);
        });
    }
}

struct WindowedLane {
    device: Arc<WindowedDevice>,
    slot: Arc<LaneSlot>,
}

impl Lane for WindowedLane {
    fn decide(&mut self, io: Io, now: Nanos) -> (Decision, Token) {
        let board = &self.device.board;
        let end = board.end.load(Ordering::Acquire);
        if now.0 >= end {
            self.device.close_if_over(now.0, end);
        }
        let word = bucket_of(io).map_or(POLL, |b| board.decisions[b].load(Ordering::Relaxed));
        (decision_of(word), Token::default())
    }

    fn complete(&mut self, io: Io, _: Token, outcome: Outcome, now: Nanos) {
        let board = &self.device.board;
        let mut end = board.end.load(Ordering::Acquire);
        if now.0 >= end {
            end = self.device.open_or_join(now.0, end);
        }
        if let Some(bucket) = bucket_of(io) {
            let mean_before = board.means[bucket].load(Ordering::Relaxed);
            self.slot.add(bucket, end, outcome, now, mean_before);
        }
    }
}

type Decide = dyn Fn(&BucketWindow<'_>) -> Decision + Send + Sync;

/// A rule whose decision for a bucket is a function of that bucket's last window. Cheap to clone.
#[derive(Clone)]
pub struct WindowRule {
    /// Length of a window, at least 1 ns.
    pub period: Nanos,
    /// The statistics that the windows gather.
    pub gather: Gather,
    /// I/Os of this many bytes or more are left to the interrupt, and their times not used.
    pub interrupts_from: Option<u64>,
    pub(crate) decide: Arc<Decide>,
}

impl WindowRule {
    pub(crate) fn new<R, D>(decide: R, gather: Gather, period: Nanos) -> Self
    where
        R: Fn(&BucketWindow<'_>) -> D + Send + Sync + 'static,
        D: Into<Decision>,
    {
        WindowRule {
            period: Nanos(period.0.max(1)),
            gather,
            interrupts_from: None,
            decide: Arc::new(move |window| decide(window).into()),
        }
    }

    /// The decision for a bucket after `window`.
    pub fn decide(&self, window: &BucketWindow<'_>) -> Decision {
        match (self.decide)(window) {
            Decision::Sleep(time) => time.min(MAX_SLEEP).into(),
            other => other,
        }
    }

    /// True if `io` is left to the interrupt because of its length.
    pub fn is_large(&self, io: Io) -> bool {
        let bytes = u64::from(io.bytes);
        self.interrupts_from.is_some_and(|from| bytes >= from)
    }

    pub(crate) fn build(&self, lanes: usize) -> Vec<Box<dyn Lane>> {
        let slot = |_| Arc::new(LaneSlot::new(self.gather));
        let slots: Vec<Arc<LaneSlot>> = (0..lanes).map(slot).collect();
        let device = Arc::new(WindowedDevice {
            board: DecisionBoard {
                end: AtomicU64::new(IDLE),
                decisions: Default::default(),
                means: Default::default(),
            },
            merger: SlotMerger::new(slots.clone()),
            rule: self.clone(),
        });
        let lane = |slot| -> Box<dyn Lane> {
            let device = Arc::clone(&device);
            let (inner, rule) = (Box::new(WindowedLane { device, slot }), self.clone());
            match self.interrupts_from {
                Some(_) => Box::new(LargeIoFilter { inner, rule }),
                None => inner,
            }
        };
        slots.into_iter().map(lane).collect()
    }
}

/// Hides large I/Os from the rule, because their time contains the interrupt's delay.
struct LargeIoFilter {
    inner: Box<dyn Lane>,
    rule: WindowRule,
}

impl Lane for LargeIoFilter {
    fn decide(&mut self, io: Io, now: Nanos) -> (Decision, Token) {
        if self.rule.is_large(io) {
            return (Decision::Interrupt, Token::default());
        }
        self.inner.decide(io, now)
    }

    fn complete(&mut self, io: Io, token: Token, outcome: Outcome, now: Nanos) {
        if !self.rule.is_large(io) {
            self.inner.complete(io, token, outcome, now);
        }
    }
}

#[cfg(test)]
mod tests;
