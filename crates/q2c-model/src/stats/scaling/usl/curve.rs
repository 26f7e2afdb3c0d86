//! Finds the law closest to the points, by linear least squares with three unknowns, of which the
//! second and third must not be negative.

use super::Usl;
use crate::stats::mean;

const MOST_STEPS: usize = 300;
/// Damping of the first step, relative to each column's size.
const FIRST_DAMPING: f64 = 1e-3;
/// The largest damping; beyond it, a step hardly moves the parameters.
const MOST_DAMPING: f64 = 1e6;
/// A step counts as an improvement only if it lowers the cost by more than this share.
const LEAST_GAIN: f64 = 1e-12;

/// Fits the law by relative residuals, with sigma and kappa at 0 or above.
pub(super) fn curve(data: &[(f64, f64)]) -> Option<Usl> {
    // y is divided by its mean, so that the unit of X does not matter.
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

/// Makes Levenberg-Marquardt steps on 1 - y/m until none helps, with more damping after a step that
/// did not help. A long step may leave the positive parameters and lead back to its start, so the
/// refinement ends only if short steps do not help either.
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
/// y / m - 1. Damping pulls each parameter to its old value, by its column's size.
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

type WeightedRow = ([f64; 3], f64);

/// Sets of unknowns that may differ from 0. Of the solutions without a negative number, the best is
/// the constrained one: the problem is convex, and every face is tried.
const SETS: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];

/// The solution with all unknowns at 0 or above and the first above 0, if there is one.
fn non_negative(rows: &[WeightedRow]) -> Option<[f64; 3]> {
    let feasible = |x: &[f64; 3]| x[0] > 0.0 && x.iter().all(|&v| v >= 0.0 && v.is_finite());
    let solutions = SETS.iter().filter_map(|set| solve(rows, set));
    let feasible = solutions.filter(feasible);
    feasible.min_by(|a, b| squares(rows, a).total_cmp(&squares(rows, b)))
}

fn squares(rows: &[WeightedRow], x: &[f64; 3]) -> f64 {
    let off = |(f, y): &WeightedRow| dot(f, x) - y;
    rows.iter().map(|row| off(row).powi(2)).sum()
}

/// Solves for the unknowns in `set`; the others are 0. Uses modified Gram-Schmidt and back
/// substitution, each pass twice, because the columns for many jobs are nearly parallel.
fn solve(rows: &[WeightedRow], set: &[usize]) -> Option<[f64; 3]> {
    let column = |&c: &usize| rows.iter().map(|(f, _)| f[c]).collect();
    let mut columns: Vec<Vec<f64>> = set.iter().map(column).collect();
    let mut rest: Vec<f64> = rows.iter().map(|(_, y)| *y).collect();
    let mut upper = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for i in 0..columns.len() {
        let size = norm(&columns[i]);
        for _ in 0..2 {
            for j in 0..i {
                let (done, open) = columns.split_at_mut(i);
                upper[j][i] += take_out(&done[j], &mut open[0]);
            }
        }
        upper[i][i] = norm(&columns[i]);
        if upper[i][i] <= 1e-12 * size {
            return None;
        }
        let length = upper[i][i];
        columns[i].iter_mut().for_each(|v| *v /= length);
        right[i] = take_out(&columns[i], &mut rest);
    }
    let mut solution = [0.0; 3];
    let mut unknowns = [0.0; 3];
    for i in (0..set.len()).rev() {
        let known: f64 = (i + 1..set.len()).map(|j| upper[i][j] * unknowns[j]).sum();
        unknowns[i] = (right[i] - known) / upper[i][i];
        solution[set[i]] = unknowns[i];
    }
    Some(solution)
}

fn norm(v: &[f64]) -> f64 {
    dot(v, v).sqrt()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn take_out(direction: &[f64], v: &mut [f64]) -> f64 {
    let along = dot(direction, v);
    let both = v.iter_mut().zip(direction);
    both.for_each(|(v, d)| *v -= along * d);
    along
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // y = 1 + 2 x + 3 x^2 at x = 0, 1, 2, 3.
        let y = [1.0, 6.0, 17.0, 34.0];
        let rows = [0.0, 1.0, 2.0, 3.0].into_iter().zip(y);
        let rows: Vec<WeightedRow> = rows.map(|(x, y)| ([1.0, x, x * x], y)).collect();
        let x = non_negative(&rows).unwrap();
        let mut off = x.iter().zip([1.0, 2.0, 3.0]).map(|(a, b)| (a - b).abs());
        assert!(off.all(|off| off < 1e-12), "{x:?}");
    }

    #[test]
    fn a_falling_line_has_no_slope_left() {
        // The best line is 4 - x. With the slope held at 0, the mean of 4, 3, 2 is best.
        let row = |x| ([1.0, f64::from(x), 0.0], 4.0 - f64::from(x));
        let rows: Vec<WeightedRow> = (0..3).map(row).collect();
        let x = non_negative(&rows).unwrap();
        assert!((x[0] - 3.0).abs() < 1e-12 && x[1] == 0.0, "{x:?}");
    }
}
