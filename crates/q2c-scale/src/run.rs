//! Extracts the evidence from a run of `q2c bench --stages`.

use crate::evidence::{CurveEvidence, EvidencePoint};
use crate::machine::QueueTags;
use crate::predict::MIN_POINTS;
use q2c_model::{Bytes, Fault};
use q2c_policy::Method;
use q2c_result::Machine;
use q2c_result::bench::{BenchCell, BenchPoint, BenchResult, PointStages};

/// Fewest physical cores of a measured machine; runs on fewer show no contention.
pub(crate) const MIN_CORES: u32 = 4;

/// Selects curves of a run; `None` accepts any value.
#[derive(Clone, Debug, Default)]
pub struct CurveSelection {
    /// The engine.
    pub engine: Option<String>,
    /// The method.
    pub method: Option<Method>,
    /// Requests in flight per job.
    pub depth: Option<u16>,
    /// Bytes of a request.
    pub bs: Option<Bytes>,
    /// The access pattern, such as `randread`.
    pub rw: Option<String>,
}

impl CurveSelection {
    fn accepts(&self, point: &BenchPoint) -> bool {
        point.background.is_empty()
            && self.engine.as_ref().is_none_or(|e| *e == point.engine)
            && self.method.as_ref().is_none_or(|m| *m == point.method)
            && self.depth.is_none_or(|d| d == point.depth)
            && self.bs.is_none_or(|bs| bs == point.bs)
            && self.rw.as_ref().is_none_or(|rw| *rw == point.rw)
    }
}

/// A curve of a run: its points in rising order of the number of jobs.
#[derive(Clone, Debug)]
pub(crate) struct BenchCurve<'a> {
    /// The points that have trials.
    pub cells: Vec<&'a BenchCell>,
    /// Physical cores of the machine.
    pub physical_cores: u32,
}

/// Number of physical cores of a machine. If its threads per core are unknown, each CPU counts.
pub(crate) fn physical_cores(machine: &Machine) -> u32 {
    machine.cpus_online.len() as u32 / machine.threads_per_core.unwrap_or(1).max(1)
}

fn curves<'a>(result: &'a BenchResult, selection: &CurveSelection) -> Vec<BenchCurve<'a>> {
    let mut curves: Vec<BenchCurve<'a>> = Vec::new();
    let is_measured = |cell: &&BenchCell| cell.iops.trials > 0 && cell.iops.median > 0.0;
    for cell in result.cells.iter().filter(is_measured) {
        if !selection.accepts(&cell.point) {
            continue;
        }
        let jobs = cell.point.jobs;
        let is_same_curve = |curve: &&mut BenchCurve<'a>| {
            let point = curve.cells[0].point.clone();
            BenchPoint { jobs, ..point } == cell.point
        };
        match curves.iter_mut().find(is_same_curve) {
            Some(curve) => curve.cells.push(cell),
            None => curves.push(BenchCurve {
                cells: vec![cell],
                physical_cores: physical_cores(&result.machine),
            }),
        }
    }
    for curve in &mut curves {
        curve.cells.sort_by_key(|cell| cell.point.jobs);
        curve.cells.dedup_by_key(|cell| cell.point.jobs);
    }
    curves
}

fn curve_name(point: &BenchPoint) -> String {
    let (engine, method, bs, rw) = (&point.engine, &point.method, &point.bs, &point.rw);
    format!("{engine} {method} depth {} {bs} {rw}", point.depth)
}

fn no_curve(run: &str, found: &str) -> Fault {
    let text = format!(
        "predict from {run}: expected a curve with stages at {MIN_POINTS} numbers of jobs or more, one core for each job, found {found}; run q2c bench --jobs 1..8 --stages"
    );
    Fault::input(text)
}

impl<'a> BenchCurve<'a> {
    /// Returns the only curve of `result` that `selection` accepts. Curves that suffice for a fit
    /// go first.
    ///
    /// # Errors
    /// Fails if there is no such curve, or more than one.
    pub(crate) fn from_result(
        result: &'a BenchResult,
        selection: &CurveSelection,
        run: &str,
    ) -> Result<BenchCurve<'a>, Fault> {
        let mut candidates = curves(result, selection);
        let suffices = |curve: &BenchCurve<'_>| curve.fit_cells().len() >= MIN_POINTS;
        if candidates.iter().any(suffices) {
            candidates.retain(suffices);
        }
        let names = candidates.iter().map(|c| curve_name(&c.cells[0].point));
        let names: Vec<String> = names.collect();
        match (candidates.pop(), candidates.is_empty()) {
            (Some(curve), true) => Ok(curve),
            (None, _) => Err(no_curve(run, "none")),
            (Some(_), false) => {
                let text = format!(
                    "predict from {run}: expected one curve, found {}; choose by --engine, --method, --depth, --bs or --rw",
                    names.join("; ")
                );
                Err(Fault::usage(text))
            }
        }
    }

    /// The points whose stages are known and whose jobs have one core each.
    fn fit_cells(&self) -> Vec<&'a BenchCell> {
        let is_usable = |cell: &&&BenchCell| {
            let has_cores = cell.point.jobs <= self.physical_cores && !cell.oversubscribed;
            has_cores && stages(cell).is_some()
        };
        self.cells.iter().filter(is_usable).copied().collect()
    }

    /// Returns the measured points for a fit.
    ///
    /// # Errors
    /// Fails if the machine has too few cores, or the curve too few points with stages.
    pub(crate) fn evidence(&self, result: &BenchResult, run: &str) -> Result<CurveEvidence, Fault> {
        if self.physical_cores < MIN_CORES {
            let text = format!(
                "predict from {run}: expected a run on at least {MIN_CORES} physical cores, found {}: so few show no contention; run q2c bench --stages on a larger machine, or name the parameters with --parameters FILE",
                self.physical_cores
            );
            return Err(Fault::environment(text));
        }
        let fitted = self.fit_cells();
        if fitted.len() < MIN_POINTS {
            let usable = format!("{} of {}", fitted.len(), self.cells.len());
            return Err(no_curve(run, &usable));
        }
        let points = fitted.iter().filter_map(|cell| point(cell));
        Ok(CurveEvidence {
            depth: u32::from(fitted[0].point.depth.max(1)),
            tags: tags(result),
            points: points.collect(),
        })
    }
}

fn stages(cell: &BenchCell) -> Option<&q2c_result::bench::StageRun> {
    match cell.stages.as_ref()? {
        PointStages::Seen(run) => {
            let d2c = run.stages.get("D2C")?;
            (d2c.n > 0 && d2c.mean_ns > 0.0).then_some(run.as_ref())
        }
        PointStages::Unseen(_) => None,
    }
}

fn point(cell: &BenchCell) -> Option<EvidencePoint> {
    Some(EvidencePoint {
        jobs: cell.point.jobs,
        iops: cell.iops,
        cpu_ns: cell.cpu.ns_per_io.median,
        stages: stages(cell)?.stages.clone(),
    })
}

fn tags(result: &BenchResult) -> Option<QueueTags> {
    let device = result.target.device.as_ref()?;
    let per_queue = u32::try_from(device.nr_requests?).ok()?;
    let queues = device.hw_queues?;
    (queues > 0 && per_queue > 0).then_some(QueueTags { queues, per_queue })
}
