//! Runs the threads of a trial through its phases, and collects their slices.

use super::kernel::KernelPolling;
use super::lanes::{JobWorker, TrialJob, activities, plans};
use super::series::SliceLog;
use q2c_engine::{Live, LiveAnswer, LivePlan, RunError, live};
use q2c_model::{CpuId, Nanos};
use q2c_workbench::workload::{Boundary, Site, first_fault};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) struct LiveTrial<'a> {
    pub jobs: &'a [TrialJob],
    pub workers: &'a [JobWorker],
    pub phases: &'a [Nanos],
    pub slice: Nanos,
    /// CPU of the thread that collects slices.
    pub listener: Option<CpuId>,
    pub site: &'a Site,
    pub seed: u64,
    pub stop: &'a AtomicBool,
}

pub(crate) struct LiveOutcome {
    pub log: SliceLog,
    /// The machine's counters at the start of each phase and at the end.
    pub boundaries: Vec<Boundary>,
    /// The number of the order of each phase, which slices carry.
    pub orders: Vec<u64>,
    pub fault: Option<String>,
    /// Threads that reported nothing of the last phase until long after its end.
    pub silent_threads: usize,
    pub stopped: bool,
    pub setting_error: Option<String>,
}

/// Most samples of a thread in a slice; further I/Os are counted but not sampled.
const MAX_SAMPLES: f64 = 40_000.0;
/// Fewest samples of a thread in a slice for which memory is reserved.
const MIN_SAMPLES: f64 = 256.0;
/// Largest expected IOPS of a CPU.
const IOPS_PER_CPU: f64 = 600e3;
/// A thread's last slice may be this late at the end of the run, ns.
const MAX_LATE_NS: u64 = 300_000_000;

impl LiveTrial<'_> {
    pub fn run(&self, kernel: &mut KernelPolling) -> Result<LiveOutcome, RunError> {
        let capacity = |cpu: CpuId| {
            let sharing = self.workers.iter().filter(|worker| worker.cpu == cpu);
            let sharing = sharing.count().max(1) as f64;
            let expected = self.slice.as_secs_f64() * IOPS_PER_CPU / sharing;
            expected.clamp(MIN_SAMPLES, MAX_SAMPLES) as usize
        };
        let plan = LivePlan {
            jobs: plans(self.workers, self.jobs, capacity, self.seed),
            slice: self.slice,
            listener_cpu: self.listener,
            time: self.site.time.clone(),
            samples: false,
        };
        let listen = |live_run: &mut Live<'_>| self.listen(live_run, kernel);
        let (heard, data) = live(plan, self.stop, listen)?;
        let fault = first_fault(&data);
        let mut ran = heard?;
        ran.stopped =
            data.stopped || (fault.is_none() && ran.boundaries.len() <= self.phases.len());
        ran.fault = fault;
        Ok(ran)
    }

    fn slices(&self, phase: usize) -> u64 {
        ((self.phases[phase].0 + self.slice.0 / 2) / self.slice.0).max(1)
    }

    fn new_outcome(&self, live_run: &Live<'_>) -> LiveOutcome {
        let whole = (0..self.phases.len()).map(|phase| self.slices(phase)).sum();
        let mut log = SliceLog::new(self.workers.len(), self.slice, whole);
        log.start_ns = live_run.start_ns();
        log.tids = live_run.tids().to_vec();
        LiveOutcome {
            log,
            silent_threads: 0,
            boundaries: vec![Boundary::read(self.site)],
            orders: vec![0],
            fault: None,
            stopped: false,
            setting_error: None,
        }
    }

    fn listen(
        &self,
        live_run: &mut Live<'_>,
        kernel: &mut KernelPolling,
    ) -> Result<LiveOutcome, RunError> {
        let start = live_run.start_ns();
        let mut ran = self.new_outcome(live_run);
        kernel.start(start, self.slice);
        let mut end = 0;
        for phase in 0..self.phases.len() {
            end += self.slices(phase);
            let next = phase + 1;
            let cut = start + end * self.slice.0;
            if next < self.phases.len() {
                // An order takes effect at the next cut that all threads can reach. So it is given
                // within the last slice of the phase.
                let time = cut - self.slice.0 + self.slice.0 / 4;
                if !self.take_slices_until(time, live_run, &mut ran.log, kernel) {
                    return Ok(ran);
                }
                let order = live_run.order(activities(self.workers, self.jobs, next))?;
                ran.orders.push(order);
            }
            if !self.take_slices_until(cut, live_run, &mut ran.log, kernel) {
                return Ok(ran);
            }
            ran.boundaries.push(Boundary::read(self.site));
            if next < self.phases.len() && ran.setting_error.is_none() {
                ran.setting_error = kernel.enter(next).err();
            }
        }
        let late = start + end * self.slice.0 + MAX_LATE_NS;
        while ran.log.late_threads(end) > 0 && self.site.time.now() < late {
            let time = self.site.time.now() + self.slice.0 / 4;
            if !self.take_slices_until(time, live_run, &mut ran.log, kernel) {
                break;
            }
        }
        let last_phase = self.phases.len().saturating_sub(1);
        ran.silent_threads = ran.log.late_threads(end - self.slices(last_phase) + 1);
        Ok(ran)
    }

    /// Takes slices until the clock shows `until` (ns). False if the run has ended.
    fn take_slices_until(
        &self,
        until: u64,
        live_run: &mut Live<'_>,
        log: &mut SliceLog,
        kernel: &mut KernelPolling,
    ) -> bool {
        loop {
            let now = self.site.time.now();
            let due = kernel.read_if_due(now).unwrap_or(until);
            let left = until.saturating_sub(now);
            if left == 0 {
                return true;
            }
            let left = left.min(due.saturating_sub(now));
            match live_run.hear(Duration::from_nanos(left)) {
                LiveAnswer::Slice(slice) => log.take(&slice),
                LiveAnswer::Nothing => {}
                LiveAnswer::End => return false,
            }
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
        }
    }
}
