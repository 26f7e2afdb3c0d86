//! What a run leaves behind.

use crate::engine::Facts;
use crate::sample::{Fault, Sample};
use crate::tally::Tally;
use q2c_sys::thread::Switches;
use std::ops::Range;

/// A moment in a lane's life, read by the lane itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// On the run's clock.
    pub t_ns: u64,
    /// Thread CPU so far.
    pub cpu_ns: u64,
    /// CPU so far of the kernel thread that works for the lane's engine alone (SQPOLL); 0 without one.
    pub helper_cpu_ns: u64,
    /// Context switches so far.
    pub switches: Switches,
}

/// One phase of one lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseData {
    /// At its begin.
    pub begin: Mark,
    /// At its end.
    pub end: Mark,
    /// I/Os.
    pub ios: u64,
    /// Which of the lane's samples belong to it.
    pub samples: Range<usize>,
    /// All of its I/Os in classes, where the job asked for that.
    pub tally: Option<Box<Tally>>,
}

/// What a lane leaves behind.
#[derive(Debug, Default)]
pub struct LaneData {
    /// Name from the plan.
    pub name: String,
    /// What its engine was.
    pub facts: Facts,
    /// Its phases; fewer than planned when it was stopped.
    pub phases: Vec<PhaseData>,
    /// Its samples, in the order of reaping.
    pub samples: Vec<Sample>,
    /// I/Os in all; more than samples when the capacity was too small or 0.
    pub ios: u64,
    /// Failed I/Os.
    pub faults: u64,
    /// The first of them.
    pub first_fault: Option<Fault>,
    /// The sampler's readings: instant on the run's clock, thread CPU, both ns.
    pub cpu_readings: Vec<(u64, u64)>,
}

/// What a run leaves behind.
#[derive(Debug, Default)]
pub struct RunData {
    /// In the order of the plan.
    pub lanes: Vec<LaneData>,
    /// The common start on the run's clock.
    pub start_ns: u64,
    /// It was stopped before its end.
    pub stopped: bool,
}

impl LaneData {
    /// The samples of phase number `phase`.
    ///
    /// # Panics
    /// When the lane has no such phase.
    #[must_use]
    pub fn phase_samples(&self, phase: usize) -> &[Sample] {
        &self.samples[self.phases[phase].samples.clone()]
    }
}
