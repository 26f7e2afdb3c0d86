//! The machine's counters at the boundaries of stages, and the differences between two boundaries.

use super::StageId;
use q2c_engine::measure::{PhaseStats, combine_lanes, combine_phases, phase_stats};
use q2c_engine::{Counters, IoTally, KindTallies, RunData, TimeSource};
use q2c_host::Roots;
use q2c_host::block::{DiskStats, Interrupts, TargetDisk};
use q2c_host::cpu_time::{Busy, CpuTimes};
use q2c_model::Nanos;
use q2c_model::stats::mean;

/// A machine: its clock, the folders of its counters, and its idle baseline.
#[derive(Clone, Debug)]
pub struct Site {
    /// Root folders of sysfs and procfs.
    pub roots: Roots,
    /// The disk under the target; `None` when the target has none.
    pub target_disk: Option<TargetDisk>,
    /// Number of busy CPUs while nothing is measured.
    pub idle_busy_cpus: f64,
    /// The source of all times.
    pub time: TimeSource,
}

impl Site {
    /// A machine without a disk under the target, and without other work.
    pub fn without_disk(roots: Roots, time: impl Into<TimeSource>) -> Self {
        Site {
            roots,
            target_disk: None,
            idle_busy_cpus: 0.0,
            time: time.into(),
        }
    }

    /// Busy and idle times of every CPU now; `None` if they cannot be read.
    pub fn cpu_times(&self) -> Option<CpuTimes> {
        let Some(world) = self.time.world() else {
            return CpuTimes::read(&self.roots).ok();
        };
        let Counters { now_ns, cpus } = world.counters();
        let spent = cpus.iter();
        let spent = spent.map(|cpu| [cpu.threads_ns, cpu.interrupts_ns].map(Nanos));
        Some(CpuTimes::simulated(Nanos(now_ns), spent))
    }

    /// Counts of the device's interrupts now; `None` if they cannot be read.
    pub fn interrupts(&self) -> Option<Interrupts> {
        match (self.time.world(), &self.target_disk) {
            (Some(world), _) => {
                let cpus = world.counters().cpus;
                Some(Interrupts::simulated(cpus.iter().map(|cpu| cpu.interrupts)))
            }
            (None, Some(disk)) => Interrupts::read(&self.roots, disk).ok(),
            (None, None) => None,
        }
    }
}

/// The machine's counters at one moment; `None` for those that cannot be read.
#[derive(Clone, Debug, Default)]
pub struct Boundary {
    /// Busy and idle times of every CPU.
    pub cpu: Option<CpuTimes>,
    /// Counts of the disk's interrupts.
    pub interrupts: Option<Interrupts>,
    /// Counts of the disk's requests.
    pub disk: Option<DiskStats>,
}

impl Boundary {
    /// Reads the counters now.
    pub fn read(site: &Site) -> Self {
        let target_disk = site.target_disk.as_ref();
        Boundary {
            cpu: site.cpu_times(),
            interrupts: site.interrupts(),
            disk: target_disk.and_then(|target_disk| DiskStats::read(&target_disk.disk.dir).ok()),
        }
    }

    /// The machine's activity since `begin`.
    pub fn since(&self, begin: &Boundary) -> StageActivity {
        let cpus = self.cpu.as_ref().zip(begin.cpu.as_ref());
        let busy = cpus.map(|(end, begin)| end.busy_since(begin));
        let irqs = self.interrupts.as_ref().zip(begin.interrupts.as_ref());
        let disk = self.disk.as_ref().zip(begin.disk.as_ref());
        let disk = disk.map(|(end, begin)| end.since(begin));
        StageActivity {
            busy_cpus: busy.as_ref().and_then(Busy::cpus_busy),
            other_programs: busy.as_ref().and_then(Busy::other_programs),
            interrupts: irqs.map(|(end, begin)| end.since(begin).total()),
            requests: disk.as_ref().map(|d| d.read.requests + d.write.requests),
            bytes: disk.map(|d| d.read.sectors.bytes().0 + d.write.sectors.bytes().0),
        }
    }
}

/// The outcome of a workload: the foreground lanes, and the counters at every boundary.
#[derive(Debug)]
pub struct WorkloadRun {
    /// Data of the foreground lanes only.
    pub data: RunData,
    /// Counters before each stage and after the last; fewer if the run was stopped.
    pub boundaries: Vec<Boundary>,
    /// Text of the first I/O of any job that failed or was short. It stopped the run.
    pub fault: Option<String>,
}

/// The machine's activity in one stage. A figure is `None` if its counter cannot be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StageActivity {
    /// Busy CPUs of the whole machine, including the idle baseline.
    pub busy_cpus: Option<f64>,
    /// Mean number of CPUs on which other programs ran in user mode.
    pub other_programs: Option<f64>,
    /// Number of interrupts of the disk.
    pub interrupts: Option<u64>,
    /// Number of requests that the disk completed.
    pub requests: Option<u64>,
    /// Bytes that those requests moved.
    pub bytes: Option<u64>,
}

impl WorkloadRun {
    /// Statistics of one stage over all foreground lanes. Panics if the run did not reach it.
    pub fn stats(&self, stage: StageId) -> PhaseStats {
        self.stats_over(&[stage])
    }

    /// Mean wall time of a stage over foreground lanes, ns. Panics if the run did not reach it.
    pub fn wall_ns(&self, stage: StageId) -> f64 {
        let lanes = self.data.lanes.iter();
        let phases = lanes.map(|lane| &lane.phases[stage.index()]);
        let walls: Vec<f64> = phases.map(|p| (p.end.t_ns - p.begin.t_ns) as f64).collect();
        mean(&walls)
    }

    /// Statistics like [`WorkloadRun::stats`] of several stages, joined in time within each lane.
    pub fn stats_over(&self, stages: &[StageId]) -> PhaseStats {
        let lane_stats = |lane| {
            let stats = stages.iter().map(|&stage| phase_stats(lane, stage.index()));
            combine_phases(&stats.collect::<Vec<_>>())
        };
        combine_lanes(&self.data.lanes.iter().map(lane_stats).collect::<Vec<_>>())
    }

    /// Tallies by kind of request of several stages, over all foreground lanes; `None` for a
    /// pattern with requests of one kind.
    pub fn kinds_over(&self, stages: &[StageId]) -> Option<Box<KindTallies>> {
        let mut sum = IoTally::default();
        for lane in &self.data.lanes {
            let phases = stages.iter().map(|stage| &lane.phases[stage.index()]);
            let tallies = phases.filter_map(|phase| phase.tally.as_ref());
            tallies.for_each(|tally| sum.merge(tally));
        }
        sum.kinds
    }

    /// Several stages together: busy CPUs weighted by length, and sums of counts, if all are known.
    pub fn span_over(&self, stages: &[StageId]) -> StageActivity {
        let spans = stages.iter();
        let spans = spans.map(|&stage| (self.span(stage), self.wall_ns(stage)));
        let spans: Vec<(StageActivity, f64)> = spans.collect();
        let wall: f64 = spans.iter().map(|(_, wall)| wall).sum();
        let sum = |get: fn(&StageActivity) -> Option<u64>| spans.iter().map(|(s, _)| get(s)).sum();
        let average = |cpus: fn(&StageActivity) -> Option<f64>| {
            let weighted = spans.iter().map(|(s, w)| Some(cpus(s)? * w));
            weighted.sum::<Option<f64>>().map(|sum| sum / wall)
        };
        StageActivity {
            busy_cpus: average(|s| s.busy_cpus),
            other_programs: average(|s| s.other_programs),
            interrupts: sum(|s| s.interrupts),
            requests: sum(|s| s.requests),
            bytes: sum(|s| s.bytes),
        }
    }

    /// Number of I/Os whose samples did not fit into memory.
    pub fn unrecorded(&self) -> u64 {
        let lanes = self.data.lanes.iter();
        lanes.map(|lane| lane.ios - lane.samples.len() as u64).sum()
    }

    /// The machine's activity in one stage; all fields are `None` if the run did not end it.
    pub fn span(&self, stage: StageId) -> StageActivity {
        let end = self.boundaries.get(stage.index() + 1);
        let begin = self.boundaries.get(stage.index());
        let activity = end.zip(begin).map(|(end, begin)| end.since(begin));
        activity.unwrap_or_default()
    }
}

/// Text about an I/O that failed or was short, from the first lane that has one.
pub fn first_fault(data: &RunData) -> Option<String> {
    let mut lanes = data.lanes.iter();
    let (lane, fault) = lanes.find_map(|lane| Some((lane, lane.first_fault?)))?;
    let (asked, result) = (fault.asked, fault.result);
    let outcome = match result {
        0.. => format!("moved {result} of {asked} bytes"),
        errno => format!("failed: {}", std::io::Error::from_raw_os_error(-errno)),
    };
    let name = &lane.name;
    let cause = lane.facts.cause(result);
    let cause = cause.unwrap_or("the kernel log (dmesg) may tell why");
    Some(format!(
        "do I/O: {name}, I/O {} of {asked} bytes at byte {} {outcome}; {cause}",
        fault.nth, fault.offset
    ))
}
