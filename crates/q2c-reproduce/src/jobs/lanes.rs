//! The threads of a trial. If only a job's method changes from one phase to the next, its threads
//! and rings continue. Otherwise other threads take over, which have waited since the start of the
//! run with their rings open.

use super::PreparedJob;
use super::kernel::KernelPolling;
use super::series::SliceLog;
use q2c_engine::{Activity, JobPlan, Live, LiveAnswer, LivePlan, RunError, live};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::Wait;
use q2c_workbench::workload::{Boundary, Site, first_fault};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A job over the phases of a trial.
#[derive(Clone, Debug)]
pub(crate) struct TrialJob {
    pub name: String,
    /// The prepared job of each phase; `None` in a phase in which it does no I/O.
    pub phases: Vec<Option<PreparedJob>>,
}

pub(crate) struct JobWorker {
    pub job: usize,
    prepared: PreparedJob,
    pub cpu: CpuId,
    /// For each phase, true if the thread does I/O in it.
    pub works: Vec<bool>,
}

pub(crate) fn workers(jobs: &[TrialJob]) -> Vec<JobWorker> {
    let mut workers: Vec<JobWorker> = Vec::new();
    for (job, trial_job) in jobs.iter().enumerate() {
        let phases = trial_job.phases.iter().enumerate();
        for (phase, prepared) in phases.filter_map(|(n, prepared)| Some((n, prepared.as_ref()?))) {
            for &cpu in &prepared.cpus {
                let free_worker = workers.iter_mut().find(|worker| {
                    let is_free = worker.job == job && worker.cpu == cpu && !worker.works[phase];
                    is_free && worker.prepared.can_share_ring(prepared)
                });
                if let Some(worker) = free_worker {
                    worker.works[phase] = true;
                    continue;
                }
                workers.push(JobWorker {
                    job,
                    prepared: prepared.clone(),
                    cpu,
                    works: (0..trial_job.phases.len()).map(|n| n == phase).collect(),
                });
            }
        }
    }
    workers
}

pub(crate) fn activities(workers: &[JobWorker], jobs: &[TrialJob], phase: usize) -> Vec<Activity> {
    let mut activities: Vec<Activity> = workers.iter().map(|_| Activity::Idle).collect();
    for (job, trial_job) in jobs.iter().enumerate() {
        let Some(prepared) = &trial_job.phases[phase] else {
            continue;
        };
        let before = phase.checked_sub(1);
        let before = before.and_then(|before| trial_job.phases[before].as_ref());
        let waits_as_before = before.is_some_and(|before| before.waits == prepared.waits);
        let has_work = |worker: &JobWorker| worker.job == job && worker.works[phase];
        let continues = |worker: &JobWorker| waits_as_before && worker.works[phase - 1];
        let starts = |n: &usize| has_work(&workers[*n]) && !continues(&workers[*n]);
        let starting: Vec<usize> = (0..workers.len()).filter(starts).collect();
        let cpus: Vec<CpuId> = starting.iter().map(|&n| workers[n].cpu).collect();
        // Threads that start together share the state of their rule, like threads of one device.
        let waits: Vec<Wait> = prepared.waits.build_on(&cpus);
        for (n, worker) in workers.iter().enumerate() {
            if has_work(worker) {
                activities[n] = Activity::Continue;
            }
        }
        for (n, wait) in starting.into_iter().zip(waits) {
            activities[n] = Activity::Start(wait);
        }
    }
    activities
}

pub(crate) struct LiveTrial<'a> {
    pub jobs: &'a [TrialJob],
    pub workers: &'a [JobWorker],
    pub phases: &'a [Nanos],
    pub slice: Nanos,
    /// CPU of the thread that collects slices.
    pub listener: Option<CpuId>,
    /// CPUs of the run, among which the scheduler moves unpinned threads.
    pub cpus: &'a [CpuId],
    pub site: &'a Site,
    pub seed: u64,
    pub stop: &'a AtomicBool,
}

pub(crate) struct LiveOutcome {
    pub log: SliceLog,
    /// The machine's counters at the start of each phase and at the end.
    pub boundaries: Vec<Boundary>,
    /// The number of the order that started each phase. Slices carry the number of their order.
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
            jobs: self.plans(capacity),
            slice: self.slice,
            listener_cpu: self.listener,
            time: self.site.time.clone(),
            samples: false,
        };
        let listen = |live_run: &mut Live<'_>| self.listen(live_run, kernel);
        let (outcome, data) = live(plan, self.stop, listen)?;
        let fault = first_fault(&data);
        let mut outcome = outcome?;
        outcome.stopped =
            data.stopped || (fault.is_none() && outcome.boundaries.len() <= self.phases.len());
        outcome.fault = fault;
        Ok(outcome)
    }

    fn plans(&self, capacity: impl Fn(CpuId) -> usize) -> Vec<JobPlan> {
        let first = activities(self.workers, self.jobs, 0);
        let plan = |((n, worker), activity): ((usize, &JobWorker), Activity)| JobPlan {
            name: format!("{} thread {n}", self.jobs[worker.job].name),
            engine: worker.prepared.engine.clone(),
            medium: worker.prepared.medium.clone(),
            pattern: worker.prepared.settings.pattern,
            bs: worker.prepared.settings.bs,
            base: Bytes(0),
            span: worker.prepared.span,
            depth: worker.prepared.settings.depth,
            cpu: worker.cpu,
            roams_on: match worker.prepared.settings.cpus {
                Some(_) => Vec::new(),
                None => self.cpus.to_vec(),
            },
            seed: self.seed.wrapping_add(n as u64 * 7919),
            activities: vec![activity],
            capacity: capacity(worker.cpu),
            tally: false,
            rate: None,
            think: None,
            stop_on_fault: true,
        };
        self.workers
            .iter()
            .enumerate()
            .zip(first)
            .map(plan)
            .collect()
    }

    fn slices(&self, phase: usize) -> u64 {
        ((self.phases[phase].0 + self.slice.0 / 2) / self.slice.0).max(1)
    }

    fn listen(
        &self,
        live_run: &mut Live<'_>,
        kernel: &mut KernelPolling,
    ) -> Result<LiveOutcome, RunError> {
        let start = live_run.start_ns();
        let slices = (0..self.phases.len()).map(|phase| self.slices(phase)).sum();
        let mut log = SliceLog::new(self.workers.len(), self.slice, slices);
        log.start_ns = start;
        log.tids = live_run.tids().to_vec();
        let mut outcome = LiveOutcome {
            log,
            silent_threads: 0,
            boundaries: vec![Boundary::read(self.site)],
            orders: vec![0],
            fault: None,
            stopped: false,
            setting_error: None,
        };
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
                if !self.take_slices_until(time, live_run, &mut outcome.log, kernel) {
                    return Ok(outcome);
                }
                let order = live_run.order(activities(self.workers, self.jobs, next))?;
                outcome.orders.push(order);
            }
            if !self.take_slices_until(cut, live_run, &mut outcome.log, kernel) {
                return Ok(outcome);
            }
            outcome.boundaries.push(Boundary::read(self.site));
            if next < self.phases.len() && outcome.setting_error.is_none() {
                outcome.setting_error = kernel.enter(next).err();
            }
        }
        let latest = start + end * self.slice.0 + MAX_LATE_NS;
        while outcome.log.late_threads(end) > 0 && self.site.time.now() < latest {
            let time = self.site.time.now() + self.slice.0 / 4;
            if !self.take_slices_until(time, live_run, &mut outcome.log, kernel) {
                break;
            }
        }
        let last_phase = self.phases.len().saturating_sub(1);
        outcome.silent_threads = outcome.log.late_threads(end - self.slices(last_phase) + 1);
        Ok(outcome)
    }

    /// Takes slices until the clock shows `until` (ns). Returns false if the run has ended.
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
            let remaining = until.saturating_sub(now);
            if remaining == 0 {
                return true;
            }
            let wait_ns = remaining.min(due.saturating_sub(now));
            match live_run.hear(Duration::from_nanos(wait_ns)) {
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::file::JobSettings;
    use q2c_engine::{EngineSpec, Medium, Pattern};
    use q2c_policy::LaneMethod;

    pub(crate) fn job_on(method: &str, depth: u16, cpus: &[u32]) -> Option<PreparedJob> {
        let method: q2c_policy::Method = method.parse().unwrap();
        Some(PreparedJob {
            cpus: cpus.iter().copied().map(CpuId).collect(),
            engine: EngineSpec::Null,
            medium: Medium::None,
            span: Bytes(1 << 20),
            waits: method.lane().cloned().unwrap_or(LaneMethod::Poll),
            kernel: None,
            settings: JobSettings {
                device: "target".to_owned(),
                engine: None,
                methods: vec![method],
                pattern: Pattern::RANDREAD,
                bs: Bytes(4096),
                depth,
                threads: 1,
                cpus: Some(1),
            },
        })
    }

    pub(crate) fn trial_job(name: &str, phases: Vec<Option<PreparedJob>>) -> TrialJob {
        let name = name.to_owned();
        TrialJob { name, phases }
    }

    /// The activities of all threads in a phase by first letter: idle, start, continue, resume.
    fn letters(jobs: &[TrialJob], phase: usize) -> String {
        let letter = |activity: Activity| match activity {
            Activity::Idle => 'i',
            Activity::Start(_) => 's',
            Activity::Continue => 'c',
            Activity::Resume => 'r',
        };
        activities(&workers(jobs), jobs, phase)
            .into_iter()
            .map(letter)
            .collect()
    }

    #[test]
    fn a_change_of_method_keeps_the_thread_and_a_change_of_depth_takes_another() {
        let phases = vec![
            job_on("interrupt", 1, &[0]),
            job_on("poll", 1, &[0]),
            job_on("poll", 1, &[0]),
            job_on("poll", 4, &[0]),
            job_on("poll", 1, &[0]),
        ];
        let jobs = [trial_job("job", phases)];
        assert_eq!(workers(&jobs).len(), 2);
        let phase_letters: Vec<String> = (0..5).map(|phase| letters(&jobs, phase)).collect();
        assert_eq!(phase_letters, ["si", "si", "ci", "is", "si"]);
    }

    #[test]
    fn a_background_comes_grows_and_goes_while_the_foreground_goes_on() {
        let foreground = vec![job_on("poll", 1, &[0]); 4];
        let background = vec![
            None,
            job_on("interrupt", 1, &[1]),
            job_on("interrupt", 1, &[1, 2]),
            None,
        ];
        let jobs = [
            trial_job("foreground", foreground),
            trial_job("background", background),
        ];
        let phase_letters: Vec<String> = (0..4).map(|phase| letters(&jobs, phase)).collect();
        assert_eq!(phase_letters, ["sii", "csi", "ccs", "cii"]);
    }
}
