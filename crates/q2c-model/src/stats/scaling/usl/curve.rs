//! Finds the law nearest to the points.

use super::Usl;
use super::least_squares::{WeightedRow, non_negative};
use crate::stats::mean;

const MOST_STEPS: usize = 300;
/// Damping of the first step, as a share of each column's size.
const FIRST_DAMPING: f64 = 1e-3;
/// The largest damping: beyond it a step moves the parameters by nothing that matters.
const MOST_DAMPING: f64 = 1e6;
/// A step that gains less than this share of the cost does not help.
const LEAST_GAIN: f64 = 1e-12;

/// By relative residuals, among the laws with costs at 0 or above.
pub(super) fn curve(data: &[(f64, f64)]) -> Option<Usl> {
    // y is taken in units of its mean, so that the unit of X does not matter.
    let y: Vec<f64> = data.iter().map(|(n, x)| n / x).collect();
    let unit = mean(&y);
    let relative = data.iter().zip(&y).map(|(&(n, _), y)| (n, y / unit));
    let data: Vec<(f64, f64)> = relative.collect();
    let row = |&(n, y): &(f64, f64)| (terms(n).map(|t| t / y), 1.0);
    let start: Vec<WeightedRow> = data.iter().map(row).collect();
    let [a, b, c] = refined(&data, non_negative(&start)?);
    Some(Usl {
        lambda: 1.0 / (a * unit),
        sigma: b / a,
        kappa: c / a,
    })
}

fn terms(n: f64) -> [f64; 3] {
    [1.0, n - 1.0, n * (n - 1.0)]
}

fn model(p: &[f64; 3], n: f64) -> f64 {
    terms(n).iter().zip(p).map(|(t, p)| t * p).sum()
}

/// Sum of the squared relative residuals: (X - model) / X = 1 - y / model(y).
fn cost(data: &[(f64, f64)], p: &[f64; 3]) -> f64 {
    let residual = |&(n, y): &(f64, f64)| 1.0 - y / model(p, n);
    data.iter().map(|point| residual(point).powi(2)).sum()
}

/// Levenberg-Marquardt steps on 1 - y/m until none helps, more damped after one that did not. A
/// long step may lead out of the positive parameters and back to where it began, so the refinement
/// ends only where short ones do not help either.
fn refined(data: &[(f64, f64)], start: [f64; 3]) -> [f64; 3] {
    let (mut p, mut now, mut damping) = (start, cost(data, &start), FIRST_DAMPING);
    for _ in 0..MOST_STEPS {
        let better = step(data, &p, damping).map(|q| (q, cost(data, &q)));
        match better.filter(|(_, cost)| now - cost > LEAST_GAIN * now) {
            Some((q, cost)) => (p, now, damping) = (q, cost, damping / 8.0),
            None if damping > MOST_DAMPING => break,
            None => damping = (damping * 4.0).max(FIRST_DAMPING),
        }
    }
    p
}

/// The slope of 1 - y/m is (y / m^2) terms, so the undamped next point solves (y / m^2) terms p = 2
/// y / m - 1; damping asks each parameter, in its column's size, to stay.
fn step(data: &[(f64, f64)], p: &[f64; 3], damping: f64) -> Option<[f64; 3]> {
    let row = |&(n, y): &(f64, f64)| {
        let m = model(p, n);
        (terms(n).map(|t| t * y / (m * m)), 2.0 * y / m - 1.0)
    };
    let mut rows: Vec<WeightedRow> = data.iter().map(row).collect();
    for i in 0..p.len() {
        let size: f64 = rows.iter().take(data.len()).map(|(f, _)| f[i] * f[i]).sum();
        let weight = (damping * size).sqrt();
        let mut factors = [0.0; 3];
        factors[i] = weight;
        rows.push((factors, weight * p[i]));
    }
    non_negative(&rows)
}
