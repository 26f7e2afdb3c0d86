//! Fits a lock or a cache line to the stage that grows most with the number of jobs.

use super::{MIN_GAIN, deviation, gain};
use crate::evidence::{CurveEvidence, EvidenceRow, SHARED_STAGES};
use crate::machine::Lock;

/// Least growth of a stage, from the first to the last point, that is not taken for noise.
const MIN_GROWTH: f64 = 1.05;
/// For a cache line, median and least time must grow by this share of the mean's growth, because
/// every I/O pays. A lock is free for some I/Os.
const MIN_LINE_SHARE: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentionKind {
    Lock,
    CacheLine,
}

pub(super) fn find(evidence: &CurveEvidence) -> Option<(String, ContentionKind)> {
    let stage = growing_stage(evidence)?;
    let rows = evidence.rows(Some(stage));
    let means: Vec<f64> = rows.iter().filter_map(|row| row.shared_ns).collect();
    let (first, last) = (means.first()?, means.last()?);
    if means.len() < 3 || means.len() < rows.len() || *last < MIN_GROWTH * first {
        return None;
    }
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let mean_squares: f64 = means.iter().map(|ns| (ns / mean - 1.0).powi(2)).sum();
    let kind = kind(evidence, stage)?;
    let n = rows.len();
    let (error, parameters) = match kind {
        ContentionKind::Lock => (fit_lock(&rows, evidence.deviation_ns(stage), None).error, 3),
        ContentionKind::CacheLine => (fit_line(&rows).1, 2),
    };
    let fit_squares = error.powi(2) * n.saturating_sub(parameters).max(1) as f64;
    (gain(mean_squares, fit_squares, n, parameters) > MIN_GAIN).then(|| (stage.to_owned(), kind))
}

/// The stage that grows most from first to last point. If tags run out, Q2G is the wait for one.
pub(super) fn growing_stage(evidence: &CurveEvidence) -> Option<&'static str> {
    let (first, last) = (evidence.points.first()?, evidence.points.last()?);
    let mut points = evidence.points.iter();
    let enough = points.all(|p| evidence.tags_suffice(p.jobs));
    let stages = SHARED_STAGES.into_iter().filter(|s| enough || *s != "Q2G");
    let growths = stages.filter_map(|s| Some((s, last.mean_ns(s)? - first.mean_ns(s)?)));
    let largest = growths.max_by(|a, b| a.1.total_cmp(&b.1));
    largest.filter(|(_, ns)| *ns > 0.0).map(|(stage, _)| stage)
}

/// Decides by who pays: I/Os that find a lock free do not, but a shared line costs every I/O.
fn kind(evidence: &CurveEvidence, stage: &str) -> Option<ContentionKind> {
    let first = evidence.points.first()?.stages.get(stage)?;
    let last = evidence.points.last()?.stages.get(stage)?;
    let mean = last.mean_ns - first.mean_ns;
    let min = (last.min_ns as f64 - first.min_ns as f64) / mean;
    let median = (last.p50_ns - first.p50_ns) / mean;
    if min.min(median) >= MIN_LINE_SHARE {
        Some(ContentionKind::CacheLine)
    } else {
        Some(ContentionKind::Lock)
    }
}

pub(super) struct FittedLock {
    pub lock: Lock,
    pub error: f64,
}

pub(super) fn fit_lock(rows: &[EvidenceRow], deviation_ns: f64, start: Option<Lock>) -> FittedLock {
    let times = rows.iter().filter_map(|row| row.shared_ns);
    let max_hold = times.fold(f64::INFINITY, f64::min);
    let lock_from = |[hold, growth]: [f64; 2]| Lock {
        hold_ns: hold,
        growth,
        // All variation in the stage is attributed to the lock.
        cv: (deviation_ns / hold).clamp(MIN_CV, MAX_CV),
    };
    let try_point = |point: [f64; 2]| (squares(rows, lock_from(point)), point);
    let better = |a: (f64, [f64; 2]), b: (f64, [f64; 2])| if b.0 < a.0 { b } else { a };
    let coarse = (0..24).flat_map(|i| GROWTHS.map(|growth| [max_hold * 0.8_f64.powi(i), growth]));
    let worst = (f64::INFINITY, [0.0, 0.0]);
    let (mut best, mut step) = match start {
        Some(lock) => (try_point([lock.hold_ns.min(max_hold), lock.growth]), 0.05),
        None => (coarse.map(try_point).fold(worst, better), 0.2),
    };
    for _ in 0..MAX_STEPS {
        if step < MIN_STEP {
            break;
        }
        let [hold, growth] = best.1;
        let further = step * (0.05 + growth);
        let (shorter, longer) = (hold * (1.0 - step), (hold * (1.0 + step)).min(max_hold));
        let (less, more) = ((growth - further).max(0.0), growth + further);
        let around = [
            [shorter, growth],
            [longer, growth],
            [hold, less],
            [hold, more],
            [shorter, more],
            [longer, less],
        ];
        let nearby = around.map(try_point).into_iter().fold(best, better);
        if nearby.0 < best.0 {
            best = nearby;
        } else {
            step /= 2.0;
        }
    }
    FittedLock {
        lock: lock_from(best.1),
        error: deviation(best.0, rows.len(), 3),
    }
}

const MAX_STEPS: u32 = 100;
/// The search ends when its relative step is below this.
const MIN_STEP: f64 = 0.002;
const MIN_CV: f64 = 0.05;
const MAX_CV: f64 = 1.0;

/// Growths of a lock from which the search starts, as shares per waiting job.
const GROWTHS: [f64; 6] = [0.0, 0.03, 0.1, 0.3, 1.0, 3.0];

/// Sum of the squared relative deviations from a model with `lock` and a constant time.
fn squares(rows: &[EvidenceRow], lock: Lock) -> f64 {
    let visit = |row: &EvidenceRow| {
        let shared = row.shared_ns?;
        // A thread does one thing at a time, so it is elsewhere for the rest of its cycle.
        let other = (f64::from(row.jobs) / row.per_ns - shared).max(0.01 * shared);
        // The mean time of a visit, including the wait.
        let visit_ns = f64::from(row.jobs) / lock.rate(row.jobs as usize, other) - other;
        Some((shared, visit_ns))
    };
    let visits: Vec<(f64, f64)> = rows.iter().filter_map(visit).collect();
    let weight: f64 = visits.iter().map(|(shared, _)| shared.powi(-2)).sum();
    let gap = |(shared, visit_ns): &(f64, f64)| (shared - visit_ns) / shared.powi(2);
    let constant_ns = (visits.iter().map(gap).sum::<f64>() / weight).max(0.0);
    let square =
        |(shared, visit_ns): &(f64, f64)| ((visit_ns + constant_ns) / shared - 1.0).powi(2);
    visits.iter().map(square).sum()
}

/// The time that each further job adds, ns, by weighted least squares, and its relative error.
pub(super) fn fit_line(rows: &[EvidenceRow]) -> (f64, f64) {
    let point = |row: &EvidenceRow| Some((f64::from(row.jobs - 1), row.shared_ns?));
    let points: Vec<(f64, f64)> = rows.iter().filter_map(point).collect();
    let weight = |(_, ns): &(f64, f64)| ns.powi(-2);
    let total: f64 = points.iter().map(weight).sum();
    let x = points.iter().map(|p| weight(p) * p.0).sum::<f64>() / total;
    let y = points.iter().map(|p| weight(p) * p.1).sum::<f64>() / total;
    let covariance = points.iter().map(|p| weight(p) * (p.0 - x) * (p.1 - y));
    let variance = points.iter().map(|p| weight(p) * (p.0 - x).powi(2));
    let slope = (covariance.sum::<f64>() / variance.sum::<f64>()).max(0.0);
    let square = |p: &(f64, f64)| ((y + slope * (p.0 - x)) / p.1 - 1.0).powi(2);
    let squares: f64 = points.iter().map(square).sum();
    (slope, deviation(squares, points.len(), 2))
}
