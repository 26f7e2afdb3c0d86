//! One configuration in a group. Events interrupt its kernel: window ends, and bounds of what
//! counts.

use super::FAR;
use super::totals::{BatchTotals, Snapshot};
use crate::outcome::SimOutcome;
use q2c_policy::form::{Sensitivity, WindowForm};

pub(super) const NEVER: i64 = i64::MAX;
/// [`LaneState::end`] without an open window: past, so the next completion opens one.
pub(super) const IDLE: i64 = i64::MIN;

#[derive(Clone, Copy, Debug)]
pub(super) enum LaneRule {
    /// The sleep never changes: a fixed sleep, a lane without configuration, or one that is done.
    Still,
    Windowed(WindowForm),
    Pas(Sensitivity),
}

impl LaneRule {
    /// In ns; 0 for a rule without windows.
    pub(crate) fn period(&self) -> u64 {
        match self {
            LaneRule::Windowed(form) => form.period.0,
            _ => 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LaneStage {
    WarmUp,
    Counting,
    Done,
}

#[derive(Clone, Debug)]
pub(super) struct LaneState {
    pub rule: LaneRule,
    /// The next event: the kernel stops at the first completion at or after this time.
    pub event: i64,
    /// When the open window ends; [`IDLE`] without an open window, [`NEVER`] without windows.
    pub end: i64,
    /// The stage changes with the first I/O whose submission begins at or after this time.
    pub mark: i64,
    pub stage: LaneStage,
    /// Number in the trace of the first I/O of the open window.
    pub opened: u64,
    pub flushed: u64,
    /// A time at or before the last flush; how long sums may have grown is judged by it.
    pub flushed_at: i64,
    pub taken: i64,
    pub waited: i64,
    pub totals: BatchTotals,
    pub before: Snapshot,
    pub outcome: SimOutcome,
}

impl LaneState {
    pub(crate) fn new(rule: LaneRule, warm_up: i64) -> Self {
        LaneState {
            rule,
            event: 0,
            end: match rule {
                LaneRule::Windowed(_) => IDLE,
                _ => NEVER,
            },
            mark: warm_up,
            stage: LaneStage::WarmUp,
            opened: 0,
            flushed: 0,
            flushed_at: 0,
            taken: 0,
            waited: 0,
            totals: BatchTotals::default(),
            before: Snapshot::default(),
            outcome: SimOutcome::default(),
        }
    }

    pub(crate) fn empty() -> Self {
        LaneState {
            stage: LaneStage::Done,
            ..LaneState::new(LaneRule::Still, NEVER)
        }
    }

    /// Sets the next event, at most [`FAR`] after `now`. Returns by how much the event moved, ns.
    pub(crate) fn next_event(&mut self, now: i64) -> i64 {
        let next = self.end.min(self.mark).min(now + i64::from(FAR));
        let moved = next - self.event;
        self.event = next;
        moved
    }
}
