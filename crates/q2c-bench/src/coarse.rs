//! Chooses the numbers of jobs to measure if there are too many. A coarse grid comes first, then
//! the middle of each gap next to knee, peak and collapse. The choice depends only on the measured
//! figures, so a resumed run makes the same choice.

use q2c_model::stats::scaling::{ScalingPoint, ScalingShape};
use std::collections::BTreeSet;

/// Largest number of points of a run for which all are measured.
pub(super) const MAX_FULL_SETUPS: usize = 200;
/// How many numbers of jobs the coarse grid has per curve.
const GRID_POINTS: usize = 8;

/// The coarse grid over `all`, which ascends: its ends, and evenly spaced numbers between them.
pub(super) fn first_grid(all: &[u32]) -> BTreeSet<u32> {
    let places = GRID_POINTS.min(all.len());
    let place = |at: usize| all[at * (all.len() - 1) / (places - 1).max(1)];
    (0..places).map(place).collect()
}

/// The next numbers of jobs to measure among `all`, which ascends; empty if the search is over.
pub(super) fn next_grid(all: &[u32], measured: &[ScalingPoint]) -> BTreeSet<u32> {
    let Ok(shape) = ScalingShape::from_points(measured) else {
        return BTreeSet::new();
    };
    let steps: Vec<u32> = shape.steps.iter().map(|step| step.jobs).collect();
    let falls = [shape.collapse, shape.unconfirmed];
    let marks = [shape.knee, Some(shape.peak)].into_iter().chain(falls);
    let places = marks.flatten();
    let places = places.filter_map(|mark| steps.iter().position(|&jobs| jobs == mark));
    // The gain over a gap is a mean, so a knee may also lie in the gap before.
    let nearby = places.flat_map(|at| [at.checked_sub(2), at.checked_sub(1), Some(at)]);
    let gaps: BTreeSet<usize> = nearby.flatten().collect();
    let middle = |at: usize| {
        let (from, to) = (*steps.get(at)?, *steps.get(at + 1)?);
        let inside = all.iter().copied().filter(|&n| from < n && n < to);
        let inside: Vec<u32> = inside.collect();
        inside.get(inside.len() / 2).copied()
    };
    gaps.into_iter().filter_map(middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The shape by the points that the search measures, their number, and the shape by all.
    fn search_shapes(grid: &[u32], x: impl Fn(u32) -> f64) -> (ScalingShape, usize, ScalingShape) {
        let point = |&jobs: &u32| ScalingPoint::new(jobs, &[x(jobs), x(jobs), x(jobs)]);
        let shape = |points: &[ScalingPoint]| ScalingShape::from_points(points).unwrap();
        let mut measured: Vec<ScalingPoint> = first_grid(grid).iter().map(point).collect();
        loop {
            let more = next_grid(grid, &measured);
            if more.is_empty() {
                let full: Vec<ScalingPoint> = grid.iter().map(point).collect();
                return (shape(&measured), measured.len(), shape(&full));
            }
            measured.extend(more.iter().map(point));
        }
    }

    fn near(grid: &[u32], a: Option<u32>, b: Option<u32>) -> bool {
        let place = |n: Option<u32>| n.and_then(|n| grid.iter().position(|&x| x == n));
        match (place(a), place(b)) {
            (Some(a), Some(b)) => a.abs_diff(b) <= 1,
            (a, b) => a == b,
        }
    }

    #[test]
    fn the_coarse_grid_has_both_ends_and_even_places() {
        let grid: Vec<u32> = (1..=24).map(|n| 5 * n).collect();
        let first: Vec<u32> = first_grid(&grid).into_iter().collect();
        assert_eq!(first, [5, 20, 35, 50, 70, 85, 100, 120]);
        assert_eq!(super::first_grid(&[1, 2, 4]).len(), 3);
    }

    #[test]
    fn nothing_is_left_where_all_is_measured() {
        let grid = [1, 2, 3, 4];
        let points: Vec<ScalingPoint> = grid.map(|n| ScalingPoint::new(n, &[f64::from(n)])).into();
        assert!(next_grid(&grid, &points).is_empty());
        assert!(next_grid(&grid, &[]).is_empty());
    }

    proptest! {
        /// Curves that rise evenly up to one number of jobs, stay level, and fall from another.
        #[test]
        fn knee_and_collapse_of_a_trapezium_are_those_of_the_full_grid(
            top in 2u32..100, flat in 0u32..60, fall in 0.002f64..0.03, step in 1u32..6,
        ) {
            let grid: Vec<u32> = (1..=120).step_by(step as usize).collect();
            let x = |n: u32| {
                let down = f64::from(n.saturating_sub(top + flat)) * fall;
                f64::from(n.min(top)) * (1.0 - down).max(0.1)
            };
            let (shape, measured, full) = search_shapes(&grid, x);
            prop_assert!(near(&grid, shape.knee, full.knee), "{:?} {:?}", shape.knee, full.knee);
            prop_assert!(near(&grid, shape.collapse, full.collapse), "{:?} {:?}", shape.collapse, full.collapse);
            prop_assert!(measured <= grid.len());
        }

        /// Curves of the universal scalability law.
        #[test]
        fn knee_and_collapse_of_a_smooth_curve_are_those_of_the_full_grid(
            sigma in 0.0f64..0.2, kappa in 0.00005f64..0.01,
        ) {
            let grid: Vec<u32> = (1..=120).collect();
            let x = |n: u32| {
                let n = f64::from(n);
                n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
            };
            let (shape, measured, full) = search_shapes(&grid, x);
            prop_assert!(near(&grid, shape.knee, full.knee), "{:?} {:?}", shape.knee, full.knee);
            prop_assert!(near(&grid, Some(shape.peak), Some(full.peak)), "{:?} {:?}", shape.peak, full.peak);
            prop_assert!(near(&grid, shape.collapse, full.collapse), "{:?} {:?}", shape.collapse, full.collapse);
            prop_assert!(measured < 60, "{measured} of 120 points");
        }
    }
}
