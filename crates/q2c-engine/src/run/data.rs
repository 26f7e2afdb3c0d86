use crate::{EngineFacts, FailedIo, IoTally, Sample};
use q2c_sys::thread::ContextSwitches;
use std::ops::Range;

/// The state of a lane at one moment, read by the lane itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Time on the run's clock.
    pub t_ns: u64,
    /// Thread CPU since the thread began, ns.
    pub cpu_ns: u64,
    /// CPU so far of the kernel thread that works for the lane's engine alone (SQPOLL), ns; 0
    /// without one.
    pub helper_cpu_ns: u64,
    /// Context switches since the thread began.
    pub switches: ContextSwitches,
}

/// The data of one lane in one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseData {
    /// The lane's state at the phase's begin.
    pub begin: Mark,
    /// The lane's state at the phase's end.
    pub end: Mark,
    /// Number of I/Os.
    pub ios: u64,
    /// Indices of the phase's samples among those of the lane.
    pub samples: Range<usize>,
    /// Counts and histogram of all its I/Os; `None` unless
    /// [`JobPlan::tally`](super::JobPlan::tally) asked for it.
    pub tally: Option<Box<IoTally>>,
}

/// The data of one lane.
#[derive(Debug, Default)]
pub struct LaneData {
    /// Name from the plan.
    pub name: String,
    /// Id of its thread, as the kernel has it; 0 when the run never began.
    pub tid: u32,
    /// The facts that its engine told at the end.
    pub facts: EngineFacts,
    /// Its phases; fewer than planned when the run was stopped.
    pub phases: Vec<PhaseData>,
    /// Its samples, in the order of reaping.
    pub samples: Vec<Sample>,
    /// Number of I/Os; more than samples when the capacity was too small or 0.
    pub ios: u64,
    /// Number of I/Os that failed or were short.
    pub faults: u64,
    /// The first of the `faults`.
    pub first_fault: Option<FailedIo>,
    /// The sampler's readings: time on the run's clock and thread CPU, both in ns.
    pub cpu_readings: Vec<(u64, u64)>,
}

/// The data of a run.
#[derive(Debug, Default)]
pub struct RunData {
    /// The lanes in the order of the plan.
    pub lanes: Vec<LaneData>,
    /// The common start on the run's clock.
    pub start_ns: u64,
    /// Whether it was stopped before its planned end.
    pub stopped: bool,
}

impl LaneData {
    /// The samples of phase number `phase`.
    pub fn phase_samples(&self, phase: usize) -> &[Sample] {
        &self.samples[self.phases[phase].samples.clone()]
    }
}
