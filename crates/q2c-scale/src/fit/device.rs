//! Fits the device: the service time of a request, and the number of requests served at once.

use super::{MIN_GAIN, deviation, gain};
use crate::evidence::{CurveEvidence, EvidenceRow};
use crate::machine::DeviceModel;
use crate::network::mean_stay;

/// Least growth of D2C, from the first to the last point, that is not taken for noise.
const MIN_GROWTH: f64 = 1.03;

pub(super) fn is_limited(evidence: &CurveEvidence) -> bool {
    let rows = evidence.rows(None);
    let last = rows.last();
    let grows = last.is_some_and(|last| last.d2c_ns > MIN_GROWTH * rows[0].d2c_ns);
    if rows.len() < 3 || !grows {
        return false;
    }
    let mean_squares = squares_around_mean(&rows);
    let (device, fit_squares) = search(evidence, &rows);
    device.parallel.is_some() && gain(mean_squares, fit_squares, rows.len(), 2) > MIN_GAIN
}

pub(super) fn fit_unlimited(evidence: &CurveEvidence, rows: &[EvidenceRow]) -> (DeviceModel, f64) {
    let device = DeviceModel {
        service_ns: geometric_mean(rows),
        parallel: None,
        cv: evidence.device_cv(),
    };
    (device, deviation(squares_around_mean(rows), rows.len(), 1))
}

pub(super) fn fit(evidence: &CurveEvidence, rows: &[EvidenceRow]) -> (DeviceModel, f64) {
    let (device, squares) = search(evidence, rows);
    (device, deviation(squares, rows.len(), 2))
}

fn geometric_mean(rows: &[EvidenceRow]) -> f64 {
    let sum: f64 = rows.iter().map(|row| row.d2c_ns.ln()).sum();
    (sum / rows.len() as f64).exp()
}

fn squares_around_mean(rows: &[EvidenceRow]) -> f64 {
    let mean = geometric_mean(rows);
    let square = |row: &EvidenceRow| (row.d2c_ns / mean).ln().powi(2);
    rows.iter().map(square).sum()
}

struct DeviceEvidence {
    requests: usize,
    other_ns: f64,
    d2c_ns: f64,
}

fn search(evidence: &CurveEvidence, rows: &[EvidenceRow]) -> (DeviceModel, f64) {
    let loads: Vec<DeviceEvidence> = rows.iter().map(|row| load_at(evidence, row)).collect();
    let max_parallel = loads.iter().map(|p| p.requests).max().unwrap_or(1) as f64;
    let cv = evidence.device_cv();
    let fit_with = |parallel: f64| {
        let (service_ns, squares) = service(&loads, parallel, cv);
        (squares, parallel, service_ns)
    };
    let better = |a: (f64, f64, f64), b: (f64, f64, f64)| if b.0 < a.0 { b } else { a };
    let mut step = max_parallel.powf(1.0 / 12.0).max(1.05);
    let coarse = (0..=12).map(|i| fit_with(step.powi(i).min(max_parallel)));
    let mut best = coarse.fold((f64::INFINITY, max_parallel, 0.0), better);
    while step > 1.01 {
        step = step.sqrt();
        let around = [best.1 / step, best.1 * step].map(|p| fit_with(p.clamp(0.25, max_parallel)));
        best = around.into_iter().fold(best, better);
    }
    let (squares, parallel, service_ns) = best;
    let device = DeviceModel {
        service_ns,
        // If no point reaches a limit, no limit was seen.
        parallel: (parallel < max_parallel).then_some(parallel),
        cv,
    };
    (device, squares)
}

fn load_at(evidence: &CurveEvidence, row: &EvidenceRow) -> DeviceEvidence {
    let wanted = u64::from(row.jobs) * u64::from(evidence.depth);
    let tags = evidence.tags.map_or(u64::MAX, |t| t.reachable(row.jobs));
    let requests = wanted.min(tags) as usize;
    let cycle_ns = requests as f64 / row.per_ns;
    DeviceEvidence {
        requests,
        // By Little's law. The times were measured separately, so the difference may be too small.
        other_ns: (cycle_ns - row.d2c_ns).max(0.01 * row.d2c_ns),
        d2c_ns: row.d2c_ns,
    }
}

/// The service time with the best fit to all D2C with `parallel` at once, and its sum of squares.
fn service(loads: &[DeviceEvidence], parallel: f64, cv: f64) -> (f64, f64) {
    let times = loads.iter().map(|p| p.d2c_ns);
    let mut service_ns = times.fold(f64::INFINITY, f64::min);
    let mut logs = Vec::new();
    for _ in 0..4 {
        let device = DeviceModel {
            service_ns,
            parallel: Some(parallel),
            cv,
        };
        let log_error = |p: &DeviceEvidence| {
            let stays = mean_stay(p.requests, p.other_ns, |j| device.rate(j as f64));
            let predicted = service_ns + device.wait(stays - service_ns);
            (p.d2c_ns / predicted).ln()
        };
        logs = loads.iter().map(log_error).collect();
        service_ns *= (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    }
    (service_ns, logs.iter().map(|log| log * log).sum())
}
