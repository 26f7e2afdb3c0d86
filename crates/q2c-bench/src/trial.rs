//! One trial of one point. All jobs run together, in slices of time, and the machine's counters are
//! read at each boundary.

use super::background::{BACKGROUND_SLICES, BackgroundTrial, TrialBackgrounds, phase_slices};
use super::spdk;
use super::timetable::{SteadyWindow, Timetable, steady_window};
use super::validity::{InvalidTrial, check_delays, check_trial, longest_delay};
use crate::{BenchSettings, Interface, Media, PointSetup};
use q2c_engine::{EngineSpec, IoTally, JobPlan, LaneData, RunData, RunError, RunPlan, Wait, run};
use q2c_host::cpu_time::{CpuBusy, Helper, HelperKind, helpers};
use q2c_model::{Bytes, CpuId, Latencies, Nanos};
use q2c_policy::Method;
use q2c_policy::method::Means;
use q2c_result::Exit;
use q2c_result::bench::{PointDevice, TrialSlice};
use q2c_watch::kernel::{KernelSleeps, run_with_probe};
use q2c_workbench::kinds::{KindTrial, kind_trials};
use q2c_workbench::workload::{Boundary, Site, first_fault};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Length of a slice of a trial, at whose ends counters are read.
pub(super) const SLICE: Nanos = Nanos::from_millis(250);
/// Fewest measured slices, since the search for a trend looks at four of them.
const MIN_MEASURED_SLICES: usize = 4;

/// One phase of a trial, as the run's journal keeps it. All figures except `warm_up_s` and `course`
/// are about the counted part, which follows the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchTrial {
    pub wall_s: f64,
    pub warm_up_s: f64,
    /// True if the throughput was steady when the counted part began.
    pub steady: bool,
    pub ios: u64,
    pub latencies: Latencies<f64>,
    /// Figures by kind of request; empty for a pattern with requests of one kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindTrial>,
    pub job_cpu_s: f64,
    pub helper_cpu_s: f64,
    /// True if helper threads were unreadable at some boundary: their figures are then too low.
    pub helpers_unread: bool,
    /// Numbers of kernel threads that worked for the jobs: SQPOLL threads, and io-wq workers.
    pub helpers: (u32, u32),
    pub busy_s: Option<f64>,
    /// Mean number of CPUs on which other programs ran in user mode.
    pub other_programs: Option<f64>,
    /// Softirq and interrupt time of the machine by the kernel's tick accounting, seconds.
    pub softirq_s: Option<f64>,
    /// Softirq time over busy time, 0..1.
    pub softirq_share: Option<f64>,
    /// Time stolen by the hypervisor over all CPU time, 0..1.
    pub steal_share: Option<f64>,
    pub interrupts: Option<u64>,
    /// The longest delay of a reading of the machine's counters, by a thread without I/O, seconds.
    pub late_s: f64,
    /// Requests that the device completed, from the disk's statistics.
    pub requests: Option<u64>,
    pub switches: u64,
    /// I/Os handled by a sleep rule, I/Os that slept, and misses.
    pub slept: [u64; 3],
    /// I/Os that a sleep rule left to the interrupt.
    pub left_to_interrupt: u64,
    pub asked_ns: u64,
    /// Sum of sleeps from the call to its return, ns.
    pub slept_ns: u64,
    /// Sleeps in the kernel, counted by a probe in a second run; `None` for every other method.
    pub kernel_sleeps: Option<KernelSleeps>,
    /// Figures of the background; `None` without one.
    pub background: Option<BackgroundTrial>,
    /// The slices of the phase with its warm-up, if backgrounds are phases; else empty.
    pub course: Vec<TrialSlice>,
    pub polls_by: Option<Means>,
    pub flags: String,
    /// The block device as it was when the trial began; `None` without one.
    pub device: Option<PointDevice>,
}

/// The inputs of every trial of a run: settings, target, CPUs, clock and counters.
#[derive(Clone, Copy)]
pub(super) struct TrialPlace<'a> {
    pub spec: &'a BenchSettings,
    pub media: &'a Media,
    pub span: Bytes,
    pub cpus: &'a [CpuId],
    pub site: &'a Site,
    pub stop: &'a AtomicBool,
}

/// The machine's counts are valid for a trial if they cover at least this share of its time. The
/// shares of softirqs and of stolen time are valid for any covered part.
const MIN_COUNTED_SHARE: f64 = 0.9;

pub(super) enum TrialError {
    /// The engine or a thread failed: this point cannot run.
    Run(RunError),
    /// The external program (SPDK's tool) failed: this point cannot run.
    Program(String),
    /// The CPUs of background jobs cannot be chosen: this point cannot run.
    Cpus(String),
    /// The device failed a request.
    Fault(String),
    /// The trial did not measure what it should; with its raw figures as text, if any.
    Invalid(InvalidTrial, String),
    Stopped,
}

impl TrialError {
    /// The exit code if nothing was measured; `None` for a stopped trial. A failed setup is the
    /// machine's fault: a limit on memory, files, AIO contexts or threads.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match self {
            Self::Run(error) if is_device_error(error) => Some(Exit::Device),
            Self::Invalid(InvalidTrial::NoRequest { .. }, _) => Some(Exit::Device),
            Self::Run(_) | Self::Cpus(_) | Self::Invalid(..) => Some(Exit::Environment),
            Self::Program(_) | Self::Fault(_) => Some(Exit::Device),
            Self::Stopped => None,
        }
    }
}

/// EIO, ENXIO, ENODEV, ENODATA and EREMOTEIO come from a failing device.
fn is_device_error(error: &RunError) -> bool {
    let first: &dyn std::error::Error = error;
    let mut causes = std::iter::successors(Some(first), |cause| cause.source());
    causes.any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>();
        let number = io.and_then(std::io::Error::raw_os_error);
        matches!(number, Some(5 | 6 | 19 | 61 | 121))
    })
}

/// A boundary between slices, at which the machine's counters were read.
#[derive(Default)]
pub(super) struct Moment {
    pub t_ns: u64,
    pub counters: Boundary,
    /// `None` if they could not be read.
    pub helpers: Option<Vec<Helper>>,
}

impl Moment {
    fn read(site: &Site) -> Self {
        Moment {
            t_ns: site.time.now(),
            counters: Boundary::read(site),
            helpers: match site.time.world() {
                Some(_) => Some(Vec::new()),
                None => helpers(&site.roots).ok(),
            },
        }
    }
}

impl TrialPlace<'_> {
    pub(super) fn timetable(&self, setup: &PointSetup) -> Timetable {
        let slices = |seconds: f64| (seconds / SLICE.as_secs_f64()).round() as usize;
        Timetable {
            background_only: usize::from(!setup.phases[0].background.0.is_empty()),
            warm_up: slices(self.spec.warm_up).max(1),
            measured: slices(self.spec.seconds).max(MIN_MEASURED_SLICES),
            phases: setup.phases.len(),
        }
    }

    pub(crate) fn expected_s(&self, setup: &PointSetup) -> f64 {
        let backgrounds = setup.phases.iter();
        let alone = backgrounds.filter(|phase| !phase.background.0.is_empty());
        // The kernel's own sleeps are counted in a second run.
        let runs = 1 + usize::from(setup.path.kernel.is_some());
        let slices = self.timetable(setup).slices() * runs + alone.count() * BACKGROUND_SLICES;
        slices as f64 * SLICE.as_secs_f64() + 0.1
    }

    pub fn run_trial(&self, setup: &PointSetup, seed: u64) -> Result<Vec<BenchTrial>, TrialError> {
        match (&setup.path.interface, &self.media.spdk) {
            (Interface::Engine(engine), _) => self.run_engine_trial(engine, setup, seed),
            (Interface::Spdk, Ok(site)) => Ok(vec![spdk::trial(self, site, setup)?]),
            (Interface::Spdk, Err(reason)) => Err(TrialError::Program(reason.clone())),
        }
    }

    fn run_engine_trial(
        &self,
        engine: &EngineSpec,
        setup: &PointSetup,
        seed: u64,
    ) -> Result<Vec<BenchTrial>, TrialError> {
        let times = self.timetable(setup);
        let backgrounds = TrialBackgrounds::new(self, setup, seed)?;
        let alone = backgrounds.measure_alone()?;
        let run = || {
            let mut jobs = self.jobs(engine, setup, seed, &times);
            jobs.extend(backgrounds.plans(&times));
            self.run(setup, jobs, times.slices())
        };
        let (data, moments) = run()?;
        let kernel_sleeps = self.count_kernel_sleeps(setup, &times, || run().map(drop))?;
        let (job_lanes, background_lanes) = data.lanes.split_at(setup.point.jobs as usize);
        let phase = |n: usize| {
            let slices = times.phase(n);
            let iops: Vec<f64> = slices.clone().map(|s| slice_iops(job_lanes, s)).collect();
            let window = steady_window(&iops, times.warm_up, times.measured);
            let window = window.shifted_by(slices.start);
            let mut trial = sum_lanes(job_lanes, &moments, &window, &setup.point.method);
            trial.late_s = longest_delay(data.start_ns, &moments).as_secs_f64();
            if setup.path.interface.sends_commands() {
                // The disk's statistics do not count I/O that bypasses the block layer.
                trial.requests = None;
            }
            trial.kernel_sleeps.clone_from(&kernel_sleeps);
            let background = backgrounds.lanes(background_lanes, n);
            let figures = |alone| backgrounds.figures(n, alone, background, &window);
            trial.background = alone[n].as_ref().map(figures);
            if times.phases > 1 {
                let jobs_start = times.background_only;
                trial.course = phase_slices(job_lanes, background, jobs_start, slices, &window);
            }
            match check_trial(job_lanes, &moments, &window, &trial, &setup.point) {
                Ok(()) => Ok(trial),
                Err(invalid) => Err(TrialError::Invalid(invalid, raw_figures(&trial))),
            }
        };
        (0..times.phases).map(phase).collect()
    }

    /// Counts the kernel's sleeps in a second run with a probe; `None` for methods without them.
    fn count_kernel_sleeps(
        &self,
        setup: &PointSetup,
        times: &Timetable,
        rerun: impl FnOnce() -> Result<(), TrialError>,
    ) -> Result<Option<KernelSleeps>, TrialError> {
        let (Some(_), Some(target)) = (&setup.path.kernel, &self.site.target_disk) else {
            return Ok(None);
        };
        if times.phases > 1 {
            let reason = "the probe counts all phases of a trial together";
            return Ok(Some(KernelSleeps::Unseen(reason.to_owned())));
        }
        let slice = Duration::from_nanos(SLICE.0);
        let (sleeps, _) = run_with_probe(&self.site.roots, &target.disk, slice, rerun)?;
        Ok(Some(sleeps))
    }

    pub(super) fn run(
        &self,
        setup: &PointSetup,
        jobs: Vec<JobPlan>,
        slices: usize,
    ) -> Result<(RunData, Vec<Moment>), TrialError> {
        let mut moments = Vec::with_capacity(slices + 1);
        let plan = RunPlan {
            jobs,
            phases: vec![SLICE; slices],
            interval: SLICE,
            sampler_cpu: self.sampler_cpu(setup),
            time: self.site.time.clone(),
        };
        let site = self.site;
        let data = run(plan, &mut |_| moments.push(Moment::read(site)), self.stop);
        let data = data.map_err(TrialError::Run)?;
        if let Some(fault) = first_fault(&data) {
            let lane = data.lanes.iter().find(|lane| lane.first_fault.is_some());
            let cause = lane.and_then(|lane| lane.facts.cause(lane.first_fault?.result));
            let cause = cause.map_or(String::new(), |cause| format!("; {cause}"));
            return Err(TrialError::Fault(format!("{fault}{cause}")));
        }
        if data.stopped {
            return Err(TrialError::Stopped);
        }
        check_delays(&data, &moments).map_err(|e| TrialError::Invalid(e, String::new()))?;
        Ok((data, moments))
    }

    pub(super) fn jobs(
        &self,
        engine: &EngineSpec,
        setup: &PointSetup,
        seed: u64,
        times: &Timetable,
    ) -> Vec<JobPlan> {
        let jobs = setup.point.jobs as usize;
        let cpu = |nth: usize| self.cpus[nth % self.cpus.len()];
        let cpus: Vec<CpuId> = (0..jobs).map(cpu).collect();
        let waits = setup.path.waits.build_on(&cpus);
        let medium = self.media.medium_for(engine);
        let plan = |(job, wait): (usize, Wait)| JobPlan {
            name: format!("job {job}"),
            engine: engine.clone().with_helper_on(cpu(jobs + job).0),
            medium: medium.clone(),
            pattern: setup.pattern,
            bs: setup.point.bs,
            base: Bytes(0),
            span: self.span,
            depth: setup.point.depth,
            cpu: cpus[job],
            roams_on: Vec::new(),
            seed: seed.wrapping_add(job as u64 * 7919),
            activities: times.measured_job(wait),
            capacity: 0,
            tally: true,
            rate: self.spec.rate,
            think: None,
            stop_on_fault: true,
        };
        waits.into_iter().enumerate().map(plan).collect()
    }

    pub(super) fn job_cpus(&self, setup: &PointSetup) -> &[CpuId] {
        &self.cpus[..thread_count(setup).min(self.cpus.len())]
    }

    /// The last CPU that has neither a job nor a helper thread, for the sampler.
    pub(super) fn sampler_cpu(&self, setup: &PointSetup) -> Option<CpuId> {
        let free = self.cpus.get(thread_count(setup)..);
        free.and_then(|cpus| cpus.last().copied())
    }
}

/// The figures of an invalid trial as text, for the error message.
fn raw_figures(trial: &BenchTrial) -> String {
    if trial.ios == 0 || trial.wall_s <= 0.0 {
        return String::new();
    }
    let iops = trial.ios as f64 / trial.wall_s;
    let latencies = trial.latencies.map(|ns| Nanos(ns.max(0.0) as u64));
    let (p50, p99) = (latencies.p50_ns, latencies.p99_ns);
    format!(
        "; its raw numbers, which are invalid: {} I/Os in {:.3} s, {iops:.0} IOPS, latency p50 {p50}, p99 {p99}",
        trial.ios, trial.wall_s
    )
}

fn thread_count(setup: &PointSetup) -> usize {
    let threads_per_job = 1 + usize::from(setup.path.interface.has_helper());
    setup.point.jobs as usize * threads_per_job
}

pub(super) fn slice_iops(lanes: &[LaneData], slice: usize) -> f64 {
    let phases = lanes.iter().map(|lane| &lane.phases[slice]);
    let iops = phases.map(|p| p.ios as f64 / (p.end.t_ns - p.begin.t_ns) as f64 * 1e9);
    // The sum of an empty iterator is -0.0; adding 0.0 removes the sign.
    iops.sum::<f64>() + 0.0
}

fn sum_lanes(
    lanes: &[LaneData],
    moments: &[Moment],
    window: &SteadyWindow,
    method: &Method,
) -> BenchTrial {
    let (mut sum, mut trial) = (IoTally::default(), BenchTrial::default());
    let (mut wall, mut warm_up) = (0.0, 0.0);
    for lane in lanes {
        let phases = &lane.phases[window.slices.clone()];
        let (first, last) = (&phases[0].begin, &phases[phases.len() - 1].end);
        wall += (last.t_ns - first.t_ns) as f64 / 1e9;
        let begin = lane.phases[window.begin].begin.t_ns;
        warm_up += (first.t_ns - begin) as f64 / 1e9;
        trial.job_cpu_s += (last.cpu_ns - first.cpu_ns) as f64 / 1e9;
        trial.switches += last.switches.voluntary - first.switches.voluntary;
        for phase in phases {
            trial.ios += phase.ios;
            phase.tally.iter().for_each(|tally| sum.merge(tally));
        }
    }
    let count = lanes.len() as f64;
    (trial.wall_s, trial.warm_up_s) = (wall / count, warm_up / count);
    trial.steady = window.steady;
    let percentile_ns = |share| sum.latencies.percentile(share);
    trial.latencies = Latencies::from_percentiles(sum.latencies.mean(), percentile_ns);
    trial.kinds = kind_trials(sum.kinds.as_deref(), trial.wall_s);
    trial.slept = [sum.sleeps.handled, sum.sleeps.slept, sum.sleeps.misses];
    trial.left_to_interrupt = sum.sleeps.interrupted;
    (trial.asked_ns, trial.slept_ns) = (sum.sleeps.asked_ns, sum.sleeps.slept_ns);
    if let Some(facts) = lanes.first().map(|lane| &lane.facts) {
        let flags = facts.flags_of(method == &Method::INTERRUPT);
        (trial.polls_by, trial.flags) = (Some(facts.polls_by), flags.to_owned());
    }
    let slices = &window.slices;
    let (first, last) = (&moments[slices.start], &moments[slices.end]);
    // A job does an I/O in each slice, however long it takes, so its time may exceed the machine's.
    let machine_s = (last.t_ns - first.t_ns) as f64 / 1e9;
    set_machine_figures(&mut trial, &first.counters, &last.counters);
    if machine_s < trial.wall_s * MIN_COUNTED_SHARE {
        (trial.busy_s, trial.softirq_s) = (None, None);
        (trial.interrupts, trial.requests) = (None, None);
    }
    let counted = moments[slices.start..=slices.end].iter();
    let readings: Vec<_> = counted.map(|moment| moment.helpers.clone()).collect();
    set_helper_figures(&mut trial, &readings);
    trial
}

fn set_machine_figures(trial: &mut BenchTrial, begin: &Boundary, end: &Boundary) {
    let seen = end.since(begin);
    (trial.interrupts, trial.requests) = (seen.interrupts, seen.requests);
    trial.other_programs = seen.other_programs;
    if let Some((begin, end)) = begin.cpu.as_ref().zip(end.cpu.as_ref()) {
        let busy = end.busy_since(begin);
        let seconds = |time: fn(&CpuBusy) -> Nanos| -> f64 {
            busy.cpus.iter().map(|cpu| time(cpu).as_secs_f64()).sum()
        };
        trial.busy_s = (busy.window > Nanos::ZERO).then(|| seconds(|cpu| cpu.busy));
        trial.softirq_s = Some(seconds(|cpu| cpu.irq) + seconds(|cpu| cpu.softirq));
        trial.softirq_share = busy.softirq_share();
        trial.steal_share = busy.steal_share();
    }
}

/// Sums the CPU time of helper threads. The time of a thread in the slice in which it ends is lost.
fn set_helper_figures(trial: &mut BenchTrial, readings: &[Option<Vec<Helper>>]) {
    let mut kinds = BTreeMap::new();
    trial.helpers_unread = readings.iter().any(Option::is_none);
    for slice in readings.windows(2) {
        let [Some(begin), Some(end)] = slice else {
            continue;
        };
        for helper in end {
            let mut earlier = begin.iter().map(|helper| &helper.times);
            let earlier = earlier.find(|times| times.tid == helper.times.tid);
            let cpu = earlier.map_or(helper.times.cpu, |times| helper.times.since(times).cpu);
            trial.helper_cpu_s += cpu.as_secs_f64();
            kinds.insert(helper.times.tid, helper.kind);
        }
    }
    let count = |kind| kinds.values().filter(|&&k| k == kind).count() as u32;
    trial.helpers = (count(HelperKind::Submission), count(HelperKind::Worker));
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use q2c_host::cpu_time::TaskTimes;

    pub(crate) fn worker(tid: u32, cpu_ms: u64) -> Helper {
        Helper {
            kind: HelperKind::Worker,
            owner: None,
            times: TaskTimes {
                tid,
                comm: String::new(),
                cpu: Nanos::from_millis(cpu_ms),
                run_delay: Nanos::ZERO,
                voluntary: 0,
                involuntary: 0,
                coarse: false,
            },
        }
    }

    #[test]
    fn what_does_not_count_is_told_as_it_was_counted() {
        let trial = BenchTrial {
            ios: 500,
            wall_s: 0.25,
            latencies: Latencies {
                p50_ns: 80e3,
                p99_ns: 200e3,
                ..Latencies::default()
            },
            ..BenchTrial::default()
        };
        let text = raw_figures(&trial);
        let rate = "500 I/Os in 0.250 s, 2000 IOPS, latency p50 80.0 us, p99 200.0 us";
        assert!(text.contains(rate), "{text}");
        assert_eq!(raw_figures(&BenchTrial::default()), "");
    }

    /// Worker 1 had used 10 ms before, uses 20 ms more and ends. Worker 2 starts and uses 7 ms.
    /// Worker 3 stays idle.
    #[test]
    fn workers_that_come_and_go_are_charged() {
        let seen = [
            vec![worker(1, 10), worker(3, 4)],
            vec![worker(1, 30), worker(3, 4)],
            vec![worker(2, 5), worker(3, 4)],
            vec![worker(2, 7), worker(3, 4)],
        ];
        let mut seen = seen.map(Some);
        let charged = |seen: &[Option<Vec<Helper>>]| {
            let mut trial = BenchTrial::default();
            set_helper_figures(&mut trial, seen);
            let cpu_us = (trial.helper_cpu_s * 1e6).round();
            (cpu_us, trial.helpers, trial.helpers_unread)
        };
        assert_eq!(charged(&seen), (27e3, (0, 3), false));
        // A failed reading must not count as one without helpers. Else worker 2 would have used 7
        // ms within the last slice.
        seen[2] = None;
        let (cpu_us, _, unread) = charged(&seen);
        assert_eq!((cpu_us, unread), (20e3, true));
    }
}
