//! Finds the law closest to the points, by linear least squares with three unknowns, of which the
//! second and third must not be negative.

use super::Usl;
use crate::stats::mean;

const MAX_STEPS: usize = 300;
/// Damping of the first step, relative to each column's size.
const FIRST_DAMPING: f64 = 1e-3;
/// The largest damping; beyond it, a step hardly moves the parameters.
const MAX_DAMPING: f64 = 1e6;
/// A step counts as an improvement only if it lowers the cost by more than this share.
const MIN_GAIN: f64 = 1e-12;

/// Fits the law to points (N, X) by relative residuals, with sigma and kappa at 0 or above.
pub(super) fn fit_curve(data: &[(f64, f64)]) -> Option<Usl> {
    // y is divided by its mean, so that the unit of X does not matter.
    let y: Vec<f64> = data.iter().map(|(n, x)| n / x).collect();
    let unit = mean(&y);
    let relative = data.iter().zip(&y).map(|(&(n, _), y)| (n, y / unit));
    let data: Vec<(f64, f64)> = relative.collect();
    let row = |&(n, y): &(f64, f64)| (terms(n).map(|t| t / y), 1.0);
    let start: Vec<WeightedRow> = data.iter().map(row).collect();
    let [a, b, c] = refine(&data, solve_non_negative(&start)?);
    Some(Usl {
        lambda: 1.0 / (a * unit),
        sigma: b / a,
        kappa: c / a,
    })
}

fn terms(n: f64) -> [f64; 3] {
    [1.0, n - 1.0, n * (n - 1.0)]
}

fn law_at(p: &[f64; 3], n: f64) -> f64 {
    dot(&terms(n), p)
}

/// Sum of the squared relative residuals: (X - law) / X = 1 - y / law.
fn cost(data: &[(f64, f64)], p: &[f64; 3]) -> f64 {
    let residual = |&(n, y): &(f64, f64)| 1.0 - y / law_at(p, n);
    data.iter().map(|point| residual(point).powi(2)).sum()
}

/// Makes Levenberg-Marquardt steps on 1 - y / law until none helps, with more damping after a step
/// that did not help. A long step may leave the positive parameters and lead back to its start, so
/// the refinement ends only if short steps do not help either.
fn refine(data: &[(f64, f64)], start: [f64; 3]) -> [f64; 3] {
    let (mut p, mut p_cost, mut damping) = (start, cost(data, &start), FIRST_DAMPING);
    for _ in 0..MAX_STEPS {
        let next = step(data, &p, damping).map(|q| (q, cost(data, &q)));
        match next.filter(|(_, q_cost)| p_cost - q_cost > MIN_GAIN * p_cost) {
            Some((q, q_cost)) => (p, p_cost, damping) = (q, q_cost, damping / 8.0),
            None if damping > MAX_DAMPING => break,
            None => damping = (damping * 4.0).max(FIRST_DAMPING),
        }
    }
    p
}

/// The next parameters. The slope of 1 - y/m, with m the law's value, is (y / m^2) terms, so they
/// solve (y / m^2) terms p = 2 y / m - 1. Damping pulls each to its old value, by column size.
fn step(data: &[(f64, f64)], p: &[f64; 3], damping: f64) -> Option<[f64; 3]> {
    let row = |&(n, y): &(f64, f64)| {
        let m = law_at(p, n);
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
    solve_non_negative(&rows)
}

/// An equation: the factors of the three unknowns, and the right side.
type WeightedRow = ([f64; 3], f64);

/// Sets of unknowns that may differ from 0. Of the solutions without a negative number, the best is
/// the constrained one: the problem is convex, and every face is tried.
const SETS: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];

/// The solution with all unknowns at 0 or above and the first above 0, if there is one.
fn solve_non_negative(rows: &[WeightedRow]) -> Option<[f64; 3]> {
    let feasible = |x: &[f64; 3]| x[0] > 0.0 && x.iter().all(|&v| v >= 0.0 && v.is_finite());
    let solutions = SETS.iter().filter_map(|set| solve(rows, set));
    let feasible = solutions.filter(feasible);
    feasible.min_by(|a, b| squared_error(rows, a).total_cmp(&squared_error(rows, b)))
}

fn squared_error(rows: &[WeightedRow], x: &[f64; 3]) -> f64 {
    let off = |(f, y): &WeightedRow| dot(f, x) - y;
    rows.iter().map(|row| off(row).powi(2)).sum()
}

/// Solves for the unknowns in `set`; the others are 0. Uses modified Gram-Schmidt and back
/// substitution, each pass twice, because the columns for many jobs are nearly parallel.
fn solve(rows: &[WeightedRow], set: &[usize]) -> Option<[f64; 3]> {
    let column = |&c: &usize| rows.iter().map(|(f, _)| f[c]).collect();
    let mut columns: Vec<Vec<f64>> = set.iter().map(column).collect();
    let mut residual: Vec<f64> = rows.iter().map(|(_, y)| *y).collect();
    let mut upper = [[0.0; 3]; 3];
    let mut right_side = [0.0; 3];
    for i in 0..columns.len() {
        let (orthogonal, remaining) = columns.split_at_mut(i);
        let column = &mut remaining[0];
        let size = norm(column);
        for _ in 0..2 {
            for j in 0..i {
                upper[j][i] += remove_component(&orthogonal[j], column);
            }
        }
        let length = norm(column);
        if length <= 1e-12 * size {
            return None;
        }
        upper[i][i] = length;
        column.iter_mut().for_each(|v| *v /= length);
        right_side[i] = remove_component(column, &mut residual);
    }
    let mut solution = [0.0; 3];
    let mut unknowns = [0.0; 3];
    for i in (0..set.len()).rev() {
        let known: f64 = (i + 1..set.len()).map(|j| upper[i][j] * unknowns[j]).sum();
        unknowns[i] = (right_side[i] - known) / upper[i][i];
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

fn remove_component(direction: &[f64], v: &mut [f64]) -> f64 {
    let length = dot(direction, v);
    let pairs = v.iter_mut().zip(direction);
    pairs.for_each(|(v, d)| *v -= length * d);
    length
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
        let x = solve_non_negative(&rows).unwrap();
        let mut off = x.iter().zip([1.0, 2.0, 3.0]).map(|(a, b)| (a - b).abs());
        assert!(off.all(|off| off < 1e-12), "{x:?}");
    }

    #[test]
    fn a_falling_line_has_no_slope_left() {
        // The best line is 4 - x. With the slope held at 0, the mean of 4, 3, 2 is best.
        let row = |x| ([1.0, f64::from(x), 0.0], 4.0 - f64::from(x));
        let rows: Vec<WeightedRow> = (0..3).map(row).collect();
        let x = solve_non_negative(&rows).unwrap();
        assert!((x[0] - 3.0).abs() < 1e-12 && x[1] == 0.0, "{x:?}");
    }
}
