//! Runs the threads of a trial through its phases, and collects their slices.

use super::kernel::KernelPolling;
use super::lanes::{Course, Strand, activities, plans};
use super::series::Heap;
use q2c_engine::{Live, LiveAnswer, LivePlan, RunError, live};
use q2c_model::{CpuId, Nanos};
use q2c_workbench::workload::{Boundary, Site, first_fault};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) struct LiveTrial<'a> {
    pub courses: &'a [Course],
    pub strands: &'a [Strand],
    pub phases: &'a [Nanos],
    pub slice: Nanos,
    /// CPU of the thread that collects slices.
    pub listener: Option<CpuId>,
    pub site: &'a Site,
    pub seed: u64,
    pub stop: &'a AtomicBool,
}

pub(crate) struct LiveOutcome {
    pub heap: Heap,
    /// The machine's counters at the start of each phase and at the end.
    pub boundaries: Vec<Boundary>,
    /// The number of the order of each phase, which slices carry.
    pub orders: Vec<u64>,
    pub fault: Option<String>,
    /// Threads that reported nothing of the last phase until long after its end.
    pub unheard: usize,
    pub stopped: bool,
    pub unset: Option<String>,
}

/// Most samples of a thread in a slice; further I/Os are counted but not sampled.
const MOST_SAMPLES: f64 = 40_000.0;
/// Fewest samples of a thread in a slice for which memory is reserved.
const LEAST_SAMPLES: f64 = 256.0;
/// Largest expected IOPS of a CPU.
const IOPS_PER_CPU: f64 = 600e3;
/// A thread's last slice may be this late at the end of the run, ns.
const PATIENCE: u64 = 300_000_000;

impl LiveTrial<'_> {
    pub fn run(&self, kernel: &mut KernelPolling) -> Result<LiveOutcome, RunError> {
        let capacity = |cpu: CpuId| {
            let sharing = self.strands.iter().filter(|strand| strand.cpu == cpu);
            let sharing = sharing.count().max(1) as f64;
            let expected = self.slice.as_secs_f64() * IOPS_PER_CPU / sharing;
            expected.clamp(LEAST_SAMPLES, MOST_SAMPLES) as usize
        };
        let plan = LivePlan {
            jobs: plans(self.strands, self.courses, capacity, self.seed),
            slice: self.slice,
            listener_cpu: self.listener,
            time: self.site.time.clone(),
            samples: false,
        };
        let listen = |ears: &mut Live<'_>| self.listen(ears, kernel);
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

    fn begun(&self, ears: &Live<'_>) -> LiveOutcome {
        let whole = (0..self.phases.len()).map(|phase| self.slices(phase)).sum();
        let mut heap = Heap::new(self.strands.len(), self.slice, whole);
        heap.start_ns = ears.start_ns();
        heap.tids = ears.tids().to_vec();
        LiveOutcome {
            heap,
            unheard: 0,
            boundaries: vec![Boundary::read(self.site)],
            orders: vec![0],
            fault: None,
            stopped: false,
            unset: None,
        }
    }

    fn listen(
        &self,
        ears: &mut Live<'_>,
        kernel: &mut KernelPolling,
    ) -> Result<LiveOutcome, RunError> {
        let start = ears.start_ns();
        let mut ran = self.begun(ears);
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
                if !self.hear_until(time, ears, &mut ran.heap, kernel) {
                    return Ok(ran);
                }
                let order = ears.order(activities(self.strands, self.courses, next))?;
                ran.orders.push(order);
            }
            if !self.hear_until(cut, ears, &mut ran.heap, kernel) {
                return Ok(ran);
            }
            ran.boundaries.push(Boundary::read(self.site));
            if next < self.phases.len() && ran.unset.is_none() {
                ran.unset = kernel.enter(next).err();
            }
        }
        let late = start + end * self.slice.0 + PATIENCE;
        while ran.heap.late(end) > 0 && self.site.time.now() < late {
            let time = self.site.time.now() + self.slice.0 / 4;
            if !self.hear_until(time, ears, &mut ran.heap, kernel) {
                break;
            }
        }
        let last_phase = self.phases.len().saturating_sub(1);
        ran.unheard = ran.heap.late(end - self.slices(last_phase) + 1);
        Ok(ran)
    }

    /// Takes slices until the clock shows `until` (ns). False if the run has ended.
    fn hear_until(
        &self,
        until: u64,
        ears: &mut Live<'_>,
        heap: &mut Heap,
        kernel: &mut KernelPolling,
    ) -> bool {
        loop {
            let now = self.site.time.now();
            let due = kernel.look(now).unwrap_or(until);
            let left = until.saturating_sub(now);
            if left == 0 {
                return true;
            }
            let left = left.min(due.saturating_sub(now));
            match ears.hear(Duration::from_nanos(left)) {
                LiveAnswer::Slice(slice) => heap.take(&slice),
                LiveAnswer::Nothing => {}
                LiveAnswer::End => return false,
            }
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
        }
    }
}
