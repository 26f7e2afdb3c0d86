//! One trial of one point: all jobs run together, in slices of time, and the machine's counters are
//! read at each boundary.

use super::interface::Interface;
use super::media::Media;
use super::spdk;
use super::spec::Spot;
use super::steady::{Window, window};
use q2c_engine::engine::EngineFacts;
use q2c_engine::{
    Activity, EngineSpec, JobPlan, LaneData, Observer, RunData, RunError, RunPlan, Tally, Wait, run,
};
use q2c_host::block::{DiskStats, Interrupts};
use q2c_host::cpu_time::{CpuBusy, CpuTimes, Helper, HelperKind, helpers};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::method::Means;
use q2c_sys::Clock;
use q2c_workbench::workload::{Site, first_fault};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// Length of a slice.
const SLICE: Nanos = Nanos::from_millis(250);
/// Least number of measured slices: the search for a trend looks at four of them.
const LEAST: usize = 4;

/// The figures of one trial, as the run's journal keeps them. All figures but `warm_up_s` are of
/// the counted part, which comes after the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchTrial {
    /// Length of the counted part, seconds.
    pub wall_s: f64,
    /// Length of the warm-up before it, seconds.
    pub warm_up_s: f64,
    /// Whether throughput had no trend any more when the counted part began.
    pub steady: bool,
    /// I/Os of all jobs.
    pub ios: u64,
    /// Latency: mean, p50, p99, p99.9, ns.
    pub lat_ns: [f64; 4],
    /// CPU seconds of the jobs' threads.
    pub job_cpu_s: f64,
    /// CPU seconds of the kernel threads that work for the jobs.
    pub helper_cpu_s: f64,
    /// Number of these kernel threads: SQPOLL threads, and workers (io-wq).
    pub helpers: (u32, u32),
    /// Busy CPU seconds of the machine; `None` when they cannot be read.
    pub busy_s: Option<f64>,
    /// Interrupt and softirq seconds of the machine, as the kernel's tick accounting has them;
    /// `None` when they cannot be read.
    pub softirq_s: Option<f64>,
    /// Softirq time over busy time, 0..1; `None` when it cannot be read.
    pub softirq_share: Option<f64>,
    /// Time stolen by the hypervisor over all CPU time, 0..1; `None` when it cannot be read.
    pub steal_share: Option<f64>,
    /// Interrupts of the device; `None` when they cannot be counted.
    pub interrupts: Option<u64>,
    /// Requests that the device completed, by the disk's statistics; `None` when they are not
    /// counted there.
    pub requests: Option<u64>,
    /// Voluntary context switches of the jobs' threads.
    pub switches: u64,
    /// I/Os handled by a sleep rule, I/Os that slept, and misses.
    pub slept: [u64; 3],
    /// Sum of sleeps asked, ns.
    pub asked_ns: u64,
    /// Where the engine looked for completions.
    pub polls_by: Option<Means>,
    /// Ring flags in force.
    pub flags: String,
}

/// Where and how all trials of a run are made.
pub(super) struct Place<'a> {
    pub media: &'a Media,
    pub span: Bytes,
    pub cpus: &'a [CpuId],
    pub site: &'a Site,
    pub clock: Clock,
    pub seconds: f64,
    pub warm_up_s: f64,
    pub rate: Option<f64>,
}

/// Why a trial has no figures.
pub(super) enum NoTrial {
    /// The engine or a thread failed: this point cannot run.
    Run(RunError),
    /// The external program (SPDK's tool) failed: this point cannot run.
    Program(String),
    /// The device failed a request.
    Fault(String),
    /// The run was stopped.
    Stopped,
}

/// The machine's counters at one moment.
struct Moment {
    cpu: Option<CpuTimes>,
    interrupts: Option<Interrupts>,
    disk: Option<DiskStats>,
    helpers: Vec<Helper>,
}

struct Moments<'a> {
    site: &'a Site,
    all: Vec<Moment>,
}

impl Observer for Moments<'_> {
    fn boundary(&mut self, _phase: usize) {
        let (roots, target_disk) = (&self.site.roots, self.site.target_disk.as_ref());
        self.all.push(Moment {
            cpu: CpuTimes::read(roots).ok(),
            interrupts: target_disk
                .and_then(|target_disk| Interrupts::read(roots, target_disk).ok()),
            disk: target_disk.and_then(|target_disk| DiskStats::read(&target_disk.disk.dir).ok()),
            helpers: helpers(roots).unwrap_or_default(),
        });
    }
}

impl Place<'_> {
    /// The most slices of warm-up, and the number of slices that count.
    fn slices(&self) -> (usize, usize) {
        let of = |seconds: f64| (seconds / SLICE.as_secs_f64()).round() as usize;
        (of(self.warm_up_s).max(1), of(self.seconds).max(LEAST))
    }

    /// Expected length of a trial, seconds.
    pub fn expected_s(&self) -> f64 {
        let (warm_up, measured) = self.slices();
        (warm_up + measured) as f64 * SLICE.as_secs_f64() + 0.1
    }

    pub fn trial(&self, spot: &Spot, seed: u64, stop: &AtomicBool) -> Result<BenchTrial, NoTrial> {
        match (&spot.way.interface, &self.media.spdk) {
            (Interface::Engine(engine), _) => self.by_engine(engine, spot, seed, stop),
            (Interface::Spdk, Ok(site)) => spdk::trial(self, site, spot, stop),
            (Interface::Spdk, Err(why)) => Err(NoTrial::Program(why.clone())),
        }
    }

    fn by_engine(
        &self,
        engine: &EngineSpec,
        spot: &Spot,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<BenchTrial, NoTrial> {
        let (warm_up, measured) = self.slices();
        let phases = vec![SLICE; warm_up + measured];
        let mut moments = Moments {
            site: self.site,
            all: Vec::with_capacity(phases.len() + 1),
        };
        let plan = RunPlan {
            jobs: self.jobs(engine, spot, seed, phases.len()),
            phases,
            interval: SLICE,
            sampler_cpu: self.spare(spot),
            clock: self.clock,
        };
        let data = run(plan, &mut moments, stop).map_err(NoTrial::Run)?;
        if let Some(fault) = first_fault(&data) {
            let cause = cause(&data);
            return Err(NoTrial::Fault(format!("{fault}{cause}")));
        }
        if data.stopped {
            return Err(NoTrial::Stopped);
        }
        let iops: Vec<f64> = (0..warm_up + measured)
            .map(|n| slice_iops(&data, n))
            .collect();
        let window = window(&iops, warm_up, measured);
        let mut trial = gathered(&data, &moments.all, &window);
        if spot.way.interface.sends_commands() {
            // The disk's statistics do not count commands from outside the block layer.
            trial.requests = None;
        }
        Ok(trial)
    }

    fn jobs(&self, engine: &EngineSpec, spot: &Spot, seed: u64, phases: usize) -> Vec<JobPlan> {
        let jobs = spot.point.jobs as usize;
        let cpus: Vec<CpuId> = (0..jobs)
            .map(|job| self.cpus[job % self.cpus.len()])
            .collect();
        let helper = |job: usize| self.cpus[(jobs + job) % self.cpus.len()];
        let waits = spot.way.waits.build_on(&cpus);
        let medium = self.media.of(engine);
        let plan = |(job, wait): (usize, Wait)| JobPlan {
            name: format!("job {job}"),
            engine: engine.clone().with_helper_on(helper(job).0),
            medium: medium.clone(),
            pattern: spot.pattern,
            bs: spot.point.bs,
            span: self.span,
            depth: spot.point.depth,
            cpu: cpus[job],
            seed: seed.wrapping_add(job as u64 * 7919),
            activities: std::iter::once(Activity::Start(wait))
                .chain((1..phases).map(|_| Activity::Continue))
                .collect(),
            capacity: 0,
            tally: true,
            rate: self.rate,
            stop_on_fault: true,
        };
        waits.into_iter().enumerate().map(plan).collect()
    }

    /// The last CPU in the order that has no job and no helper thread, for the sampler.
    fn spare(&self, spot: &Spot) -> Option<CpuId> {
        let each = if spot.way.interface.has_helper() {
            2
        } else {
            1
        };
        let taken = spot.point.jobs as usize * each;
        self.cpus.get(taken..).and_then(|rest| rest.last().copied())
    }
}

/// A remark when the engine's own options explain the first failed request, else nothing.
fn cause(data: &RunData) -> String {
    let lane = data.lanes.iter().find(|lane| lane.first_fault.is_some());
    let known = lane.and_then(|lane| lane.facts.cause(lane.first_fault?.result));
    known.map_or(String::new(), |cause| format!("; {cause}"))
}

fn slice_iops(data: &RunData, slice: usize) -> f64 {
    let of_lane = |lane: &LaneData| {
        let phase = &lane.phases[slice];
        let length = (phase.end.t_ns - phase.begin.t_ns) as f64;
        phase.ios as f64 / length * 1e9
    };
    data.lanes.iter().map(of_lane).sum()
}

fn gathered(data: &RunData, moments: &[Moment], window: &Window) -> BenchTrial {
    let (mut all, mut trial) = (Tally::default(), BenchTrial::default());
    let (mut wall, mut warm_up) = (0.0, 0.0);
    for lane in &data.lanes {
        let phases = &lane.phases[window.slices.clone()];
        let (first, last) = (&phases[0].begin, &phases[phases.len() - 1].end);
        wall += (last.t_ns - first.t_ns) as f64 / 1e9;
        warm_up += (first.t_ns - lane.phases[0].begin.t_ns) as f64 / 1e9;
        trial.job_cpu_s += (last.cpu_ns - first.cpu_ns) as f64 / 1e9;
        trial.switches += last.switches.voluntary - first.switches.voluntary;
        for phase in phases {
            trial.ios += phase.ios;
            phase.tally.iter().for_each(|tally| all.merge(tally));
        }
    }
    let lanes = data.lanes.len() as f64;
    (trial.wall_s, trial.warm_up_s) = (wall / lanes, warm_up / lanes);
    trial.steady = window.steady;
    let latencies = &all.latencies;
    let at = |q| latencies.percentile(q);
    trial.lat_ns = [latencies.mean(), at(0.5), at(0.99), at(0.999)];
    trial.slept = [all.sleeps.handled, all.sleeps.slept, all.sleeps.misses];
    trial.asked_ns = all.sleeps.asked_ns;
    if let Some(EngineFacts {
        polls_by, flags, ..
    }) = data.lanes.first().map(|lane| &lane.facts)
    {
        (trial.polls_by, trial.flags) = (Some(*polls_by), (*flags).to_owned());
    }
    let slices = &window.slices;
    machine(&mut trial, &moments[slices.start], &moments[slices.end]);
    let helpers = |moment: &Moment| moment.helpers.clone();
    let seen: Vec<Vec<Helper>> = moments[slices.start..=slices.end]
        .iter()
        .map(helpers)
        .collect();
    helped(&mut trial, &seen);
    trial
}

fn machine(trial: &mut BenchTrial, begin: &Moment, end: &Moment) {
    let irqs = begin.interrupts.as_ref().zip(end.interrupts.as_ref());
    trial.interrupts = irqs.map(|(b, e)| e.since(b).total());
    let disk = begin.disk.as_ref().zip(end.disk.as_ref());
    let done = disk.map(|(b, e)| e.since(b));
    trial.requests = done.map(|d| d.read.requests + d.write.requests);
    if let Some((begin, end)) = begin.cpu.as_ref().zip(end.cpu.as_ref()) {
        let busy = end.busy_since(begin);
        let seconds = |of: fn(&CpuBusy) -> Nanos| {
            busy.cpus
                .iter()
                .map(|cpu| of(cpu).as_secs_f64())
                .sum::<f64>()
        };
        trial.busy_s = (busy.window > Nanos::ZERO).then(|| seconds(|cpu| cpu.busy));
        trial.softirq_s = Some(seconds(|cpu| cpu.irq) + seconds(|cpu| cpu.softirq));
        trial.softirq_share = busy.softirq_share();
        trial.steal_share = busy.steal_share();
    }
}

/// Adds up the CPU time of helper threads from slice to slice, since they come and go. The CPU time
/// of a helper in the slice in which it ends is not seen.
fn helped(trial: &mut BenchTrial, seen: &[Vec<Helper>]) {
    let mut kinds = BTreeMap::new();
    for slice in seen.windows(2) {
        for helper in &slice[1] {
            let same = |other: &&Helper| other.times.tid == helper.times.tid;
            let before = slice[0].iter().find(same);
            let used = match before {
                Some(before) => helper.times.since(&before.times).cpu,
                None => helper.times.cpu,
            };
            trial.helper_cpu_s += used.as_secs_f64();
            kinds.insert(helper.times.tid, helper.kind);
        }
    }
    let of = |kind| kinds.values().filter(|&&k| k == kind).count() as u32;
    trial.helpers = (of(HelperKind::Submission), of(HelperKind::Worker));
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_host::cpu_time::TaskTimes;

    fn worker(tid: u32, cpu_ms: u64) -> Helper {
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

    /// Worker 1 had used 10 ms before, uses 20 ms more and ends. Worker 2 begins and uses 7 ms.
    /// Worker 3 stays idle.
    #[test]
    fn workers_that_come_and_go_are_charged() {
        let seen = [
            vec![worker(1, 10), worker(3, 4)],
            vec![worker(1, 30), worker(3, 4)],
            vec![worker(2, 5), worker(3, 4)],
            vec![worker(2, 7), worker(3, 4)],
        ];
        let mut trial = BenchTrial::default();
        helped(&mut trial, &seen);
        assert!((trial.helper_cpu_s - 0.027).abs() < 1e-12);
        assert_eq!(trial.helpers, (0, 3));
    }
}
