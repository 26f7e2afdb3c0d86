//! The plan of a replay: what is replayed, by which rule, and where.

use crate::{Permits, ReplaySelection};
use q2c_engine::engines::Memory;
use q2c_engine::{EngineSpec, Medium};
use q2c_model::replay::{Fit, Mode, OnError, ShareBy};
use q2c_model::{Bytes, CpuId};

/// A place that requests are replayed on.
#[derive(Clone, Debug)]
pub struct ReplayTarget {
    /// The file or device that the engine is opened on.
    pub medium: Medium,
    /// The engine, opened once in each submitting thread.
    pub engine: EngineSpec,
    /// Bytes that the replay may use, from the target's start.
    pub size: Bytes,
    /// Offsets and lengths are multiples of this number of bytes, a power of two.
    pub align: Bytes,
    /// Devices of the trace that go to it, by their index in [`crate::ReplayFacts::devices`].
    pub devices: Vec<usize>,
}

/// The plan of [`crate::replay()`], which also needs the [`crate::ReplayFacts`] of the trace.
#[derive(Clone, Debug)]
pub struct ReplayPlan {
    /// The rule that decides when a request is submitted.
    pub mode: Mode,
    /// The targets, each with its own submitting threads.
    pub targets: Vec<ReplayTarget>,
    /// The treatment of offsets beyond a device's region of the target.
    pub fit: Fit,
    /// The treatment of writes and discards.
    pub permits: Permits,
    /// Submitting threads of each target; at least 1.
    pub submitters: usize,
    /// How the submitting threads of a target share its requests in timed mode.
    pub share: ShareBy,
    /// CPUs of the submitting threads, used in turn. Empty: the kernel chooses; in a world the
    /// threads' steps take no time.
    pub cpus: Vec<CpuId>,
    /// Number of CPUs for all threads. If it is at most [`ReplayPlan::threads`], no thread polls.
    pub room: usize,
    /// True if the submitting threads never sleep: each takes a whole CPU.
    pub spin: bool,
    /// The most requests that each submitting thread has in flight, 1 to 32768.
    pub in_flight: u16,
    /// The buffers that requests read into and write from, with [`ReplayPlan::in_flight`] slots.
    pub memory: Memory,
    /// The reaction to a failed request.
    pub on_error: OnError,
    /// Seed of simulated devices; each submitting thread adds its number.
    pub seed: u64,
    /// Number of windows in a timed replay's expected time; none is shorter than 1 ms.
    pub windows: usize,
    /// The requests that are replayed.
    pub selection: ReplaySelection,
}

impl ReplayPlan {
    /// Number of submitting threads for all targets.
    pub fn threads(&self) -> usize {
        self.targets.len() * self.submitters
    }
}

/// Refuses engines that wait in submissions: they cannot keep a schedule. The error says why.
pub fn check_keeps_schedule(engine: &EngineSpec) -> Result<(), String> {
    let reason = engine.keeps_no_schedule();
    reason.map_or(Ok(()), |reason| {
        let engine = engine.plain();
        Err(format!(
            "replay with {engine}: {reason}; use io_uring or libaio"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_that_wait_in_submissions_are_refused() {
        let keeps = |text: &str| check_keeps_schedule(&text.parse().unwrap());
        assert_eq!(keeps("fault:eio@9:null"), Ok(()));
        let refused = keeps("fault:eio@9:pvsync2").unwrap_err();
        assert!(refused.ends_with("use io_uring or libaio"), "{refused}");
    }
}
