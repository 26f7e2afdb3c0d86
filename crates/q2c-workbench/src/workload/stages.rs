//! The stages of a run, in order of time.

use q2c_engine::Activity;
use q2c_model::{CpuId, Nanos};
use q2c_policy::LaneMethod;

/// The way in which foreground lanes wait for completions in a stage.
#[derive(Clone, Debug)]
pub enum Step {
    /// The lanes wait by this method. A rule starts without state.
    By(LaneMethod),
    /// The lanes wait as in the stage before; a rule keeps its state.
    Same,
    /// The lanes wait as before the last [`Step::By`]; that rule continues with its state.
    Resume,
    /// The lanes do no I/O.
    Rest,
}

impl Step {
    /// Classic polling.
    pub const POLL: Step = Step::By(LaneMethod::Poll);

    /// One activity per lane. A device's rule is shared by all lanes, a CPU's rule by those on it.
    pub fn activities(&self, cpus: &[CpuId]) -> Vec<Activity> {
        let on_each_cpu = |activity: fn() -> Activity| cpus.iter().map(|_| activity()).collect();
        match self {
            Step::Rest => on_each_cpu(|| Activity::Idle),
            Step::Same => on_each_cpu(|| Activity::Continue),
            Step::Resume => on_each_cpu(|| Activity::Resume),
            Step::By(method) => {
                let waits = method.build_on(cpus).into_iter();
                waits.map(Activity::Start).collect()
            }
        }
    }
}

/// A period of time with one way of waiting.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadStage {
    pub step: Step,
    pub length: Nanos,
}

/// Identifies a stage of [`Stages`], and its figures in [`WorkloadRun`](super::WorkloadRun).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StageId(usize);

impl StageId {
    /// The number of the stage, from 0. It is also the number of the engine's phase.
    pub fn index(self) -> usize {
        self.0
    }
}

/// The stages of a run in order of time. Ids of stages select figures.
#[derive(Clone, Debug, Default)]
pub struct Stages {
    all: Vec<WorkloadStage>,
}

impl Stages {
    /// Adds a stage at the end.
    pub fn push(&mut self, step: Step, length: Nanos) -> StageId {
        self.all.push(WorkloadStage { step, length });
        StageId(self.all.len() - 1)
    }

    /// The stages with their ids.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (StageId, &WorkloadStage)> {
        let numbered = self.all.iter().enumerate();
        numbered.map(|(n, stage)| (StageId(n), stage))
    }

    /// Planned length of all stages together, seconds.
    pub fn seconds(&self) -> f64 {
        self.all.iter().map(|s| s.length.as_secs_f64()).sum()
    }
}
