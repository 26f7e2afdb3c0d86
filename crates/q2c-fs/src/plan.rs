//! The points of a benchmark as a plan of the runner.

use crate::disturbance::{FsMeasurement, measure};
use crate::files::{self, JobFile};
use crate::locks::{sum_samples, sum_waits};
use crate::readahead::ReadaheadGuard;
use crate::{BenchTarget, scan};
use q2c_capture::cpu_profile::CpuProfile;
use q2c_capture::lock_waits::LockWaits;
use q2c_engine::{
    Activity, EngineSpec, JobPlan, LaneData, Medium, Pattern, RunData, RunPlan, Wait,
};
use q2c_host::block::DiskStats;
use q2c_model::{CpuId, Direction, Nanos};
use q2c_result::fs::{Access, Caching, FsLocks, FsPoint, FsProfile};
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use q2c_sys::Clock;
use q2c_workbench::workload::first_fault;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Time between two readings of the threads' CPU time.
const SAMPLE_INTERVAL: Nanos = Nanos::from_millis(250);

/// The system's error text for a full file system.
const FULL_ERROR: &str = "No space left on device";

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FsTrial {
    pub iops: f64,
    /// Mean requests in flight at the device; `None` if its statistics could not be read.
    pub in_flight: Option<f64>,
    /// Bytes that the device read per byte that jobs read; `None` if that is not counted.
    pub from_device: Option<f64>,
}

pub(crate) struct FsPlan<'a> {
    pub target: BenchTarget<'a>,
    pub points: &'a [FsPoint],
    pub clock: Clock,
}

impl Plan for FsPlan<'_> {
    type Cell = FsPoint;
    type Outcome = FsMeasurement<FsTrial>;
    const UNIT: &'static str = "IOPS";
    const MAX_NUMBER: f64 = 1e24;

    fn cells(&self) -> Vec<CellPlan<FsPoint>> {
        let spec = self.target.bench.spec;
        let cell = |point: &FsPoint| CellPlan {
            key: label(point),
            label: label(point),
            seconds: spec.seconds + spec.warm_up + 0.1,
            cell: point.clone(),
        };
        self.points.iter().map(cell).collect()
    }

    fn owns(&self, key: &str) -> bool {
        !key.starts_with(LOCK_RUN_PREFIX)
    }

    fn metric(&self, trial: &Self::Outcome) -> f64 {
        trial.figures.iops
    }

    fn run(
        &mut self,
        cell: &CellPlan<FsPoint>,
        context: &mut Context<'_>,
    ) -> Result<Self::Outcome, CellError> {
        let roots = self.target.bench.roots;
        measure(roots, || Ok(self.run_trial(&cell.cell, context)?.0))
    }
}

impl FsPlan<'_> {
    /// Runs one trial. Also returns the time of all its jobs together, seconds.
    fn run_trial(
        &self,
        point: &FsPoint,
        context: &Context<'_>,
    ) -> Result<(FsTrial, f64), CellError> {
        let mounted = self.target.find(point.fs)?;
        let bench = self.target.bench;
        let setting = mounted.readahead.as_deref();
        let readahead =
            ReadaheadGuard::set(bench.roots, bench.restore_dir, setting, point.readahead);
        let readahead = readahead.map_err(CellError::Cell)?;
        let files = files::open(mounted.path(), point, bench.spec.file);
        let files = files.map_err(|error| CellError::Cell(error.to_string()))?;
        let outcome = if (point.access, point.caching) == (Access::Scan, Caching::Buffered) {
            let spec = bench.spec;
            let jobs_s = f64::from(point.jobs) * (spec.warm_up + spec.seconds);
            let outcome = scan::trial(&files, point.bs, spec, &mounted.statistics, context.cancel);
            outcome.map(|trial| (trial, jobs_s))
        } else {
            let jobs = self.job_plans(point, files, context.seed >> 1)?;
            self.run_jobs(jobs, &mounted.statistics, context)
        };
        readahead.restore().map_err(CellError::Trial)?;
        let removed = files::remove_logs(mounted.path(), point);
        removed.map_err(|error| CellError::Trial(error.to_string()))?;
        outcome.map_err(|error| match error {
            CellError::Trial(reason) if reason.contains(FULL_ERROR) => CellError::Trial(format!(
                "{reason}; files that are appended to grow for the whole trial: raise --size, or shorten --seconds"
            )),
            other => other,
        })
    }

    fn job_plans(
        &self,
        point: &FsPoint,
        files: Vec<JobFile>,
        seed: u64,
    ) -> Result<Vec<JobPlan>, CellError> {
        // One system call per I/O, as in programs that share files.
        let engine = "pvsync2".parse::<EngineSpec>();
        let engine = engine.map_err(|error| CellError::Cell(format!("{error}")))?;
        let cpus = &self.target.bench.spec.cpus;
        let plan = |(job, file): (usize, JobFile)| JobPlan {
            name: format!("job {job}"),
            engine: engine.clone(),
            medium: Medium::File(Arc::new(file.file)),
            pattern: pattern(point.access),
            bs: point.bs,
            base: file.base,
            span: file.span,
            depth: 1,
            cpu: CpuId(cpus[job % cpus.len()]),
            roams_on: Vec::new(),
            seed: seed.wrapping_add(job as u64 * 7919),
            activities: vec![Activity::Start(Wait::Interrupt), Activity::Continue],
            capacity: 0,
            tally: false,
            rate: None,
            think: None,
            stop_on_fault: true,
        };
        Ok(files.into_iter().enumerate().map(plan).collect())
    }

    fn run_jobs(
        &self,
        jobs: Vec<JobPlan>,
        statistics: &Path,
        context: &Context<'_>,
    ) -> Result<(FsTrial, f64), CellError> {
        let mut readings = DiskReadings {
            statistics,
            clock: self.clock,
            readings: Vec::with_capacity(3),
        };
        let spec = self.target.bench.spec;
        let lengths = [spec.warm_up.max(0.01), spec.seconds];
        let plan = RunPlan {
            phases: lengths.map(Nanos::from_secs_f64).to_vec(),
            jobs,
            interval: SAMPLE_INTERVAL,
            sampler_cpu: None,
            time: self.clock.into(),
        };
        let data = q2c_engine::run(plan, &mut |_| readings.read(), context.cancel);
        let data = data.map_err(|error| CellError::Trial(error.to_string()))?;
        if let Some(fault) = first_fault(&data) {
            return Err(CellError::Trial(fault));
        }
        if data.stopped {
            return Err(CellError::Cancelled);
        }
        let trial = FsTrial {
            iops: iops(&data).ok_or_else(|| {
                let seconds = spec.seconds;
                CellError::Trial(format!(
                    "measure: a job had no I/O that ended in the {seconds} s; raise --seconds"
                ))
            })?,
            in_flight: readings.in_flight(),
            from_device: None,
        };
        Ok((trial, thread_seconds(&data)))
    }
}

pub(crate) fn label(point: &FsPoint) -> String {
    let (p, jobs) = (point, point.jobs);
    let workload = format!(
        "{} {} {} {}, {}",
        p.fs, p.caching, p.access, p.bs, p.sharing
    );
    let ahead = p.readahead.map(|bytes| format!(", readahead {bytes}"));
    let (ahead, s) = (ahead.unwrap_or_default(), if jobs == 1 { "" } else { "s" });
    format!("{workload}{ahead}, {jobs} job{s}")
}

fn pattern(access: Access) -> Pattern {
    let random = matches!(access, Access::Read | Access::Write);
    let direction = match access {
        Access::Write | Access::Append => Direction::Write,
        _ => Direction::Read,
    };
    Pattern::new(random, direction)
}

/// I/Os per second of all lanes in the counted phase; `None` if a lane has no I/O in it.
fn iops(data: &RunData) -> Option<f64> {
    let lane_iops = |lane: &LaneData| {
        let phase = &lane.phases[1];
        let counted_ns = phase.end.t_ns - phase.begin.t_ns;
        (phase.ios > 0 && counted_ns > 0).then(|| phase.ios as f64 / counted_ns as f64 * 1e9)
    };
    data.lanes.iter().map(lane_iops).sum()
}

fn thread_seconds(data: &RunData) -> f64 {
    let lane_seconds = |lane: &LaneData| {
        let (first, last) = (&lane.phases[0].begin, &lane.phases[1].end);
        (last.t_ns - first.t_ns) as f64 / 1e9
    };
    data.lanes.iter().map(lane_seconds).sum()
}

/// Prefix of the keys of runs with the locks watched; no trial's key has it.
const LOCK_RUN_PREFIX: &str = "locks of ";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FsLockProfile {
    pub locks: FsLocks,
    pub profile: FsProfile,
}

/// One run of each point with locks and CPU time watched, which slows each wait.
pub(crate) struct LocksPlan<'p, 'a>(pub &'p FsPlan<'a>);

impl Plan for LocksPlan<'_, '_> {
    type Cell = FsPoint;
    type Outcome = FsLockProfile;
    const UNIT: &'static str = "share of time in locks";

    fn cells(&self) -> Vec<CellPlan<FsPoint>> {
        let named = |cell: CellPlan<FsPoint>| CellPlan {
            key: format!("{LOCK_RUN_PREFIX}{}", cell.key),
            label: format!("{LOCK_RUN_PREFIX}{}", cell.label),
            ..cell
        };
        self.0.cells().into_iter().map(named).collect()
    }

    fn owns(&self, key: &str) -> bool {
        key.starts_with(LOCK_RUN_PREFIX)
    }

    fn metric(&self, watched: &FsLockProfile) -> f64 {
        match &watched.locks {
            FsLocks::Seen(seen) => seen.sites.iter().map(|site| seen.share(site)).sum(),
            FsLocks::Unseen(_) => f64::NAN,
        }
    }

    fn run(
        &mut self,
        cell: &CellPlan<FsPoint>,
        context: &mut Context<'_>,
    ) -> Result<FsLockProfile, CellError> {
        let roots = self.0.target.bench.roots;
        let (locks, profile) = (LockWaits::attach(roots), CpuProfile::attach(roots));
        let mut thread_seconds = 0.0;
        if locks.is_ok() || profile.is_ok() {
            (_, thread_seconds) = self.0.run_trial(&cell.cell, context)?;
        }
        let locks = locks.and_then(|probe| probe.read());
        let locks = locks.map(|counts| sum_waits(&counts, thread_seconds));
        let profile = profile.and_then(|probe| probe.read());
        let profile = profile.map(|counts| sum_samples(&counts));
        let (locks, profile) = (locks.into(), profile.into());
        Ok(FsLockProfile { locks, profile })
    }
}

struct DiskReadings<'a> {
    statistics: &'a Path,
    clock: Clock,
    readings: Vec<(u64, Option<DiskStats>)>,
}

impl DiskReadings<'_> {
    fn read(&mut self) {
        let stats = DiskStats::read(self.statistics).ok();
        self.readings.push((self.clock.now(), stats));
    }

    /// Mean requests in flight in the counted phase, from the kernel's sum of request milliseconds.
    fn in_flight(&self) -> Option<f64> {
        let [.., (from, before), (to, after)] = self.readings.as_slice() else {
            return None;
        };
        let (before, after) = (before.as_ref()?, after.as_ref()?);
        let added = after.queue_ms.checked_sub(before.queue_ms)?;
        Some(added as f64 * 1e6 / (to - from) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(queue_ms: u64) -> Option<DiskStats> {
        Some(DiskStats {
            queue_ms,
            ..DiskStats::default()
        })
    }

    /// Two requests were in flight during the second that counts.
    #[test]
    fn requests_in_flight_are_those_of_the_counted_phase() {
        let mut readings = DiskReadings {
            statistics: Path::new("/nowhere"),
            clock: Clock::monotonic(),
            readings: vec![(0, stats(0)), (500_000_000, stats(900))],
        };
        readings.readings.push((1_500_000_000, stats(2900)));
        assert_eq!(readings.in_flight(), Some(2.0));
        readings.readings.push((2_500_000_000, None));
        assert_eq!(readings.in_flight(), None);
    }
}
