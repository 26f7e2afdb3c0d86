//! The Pareto front: configurations that no other beats in both IOPS and CPU.

use crate::outcome::SimOutcome;

/// [`pareto_front`] of the outcomes.
#[must_use]
pub fn pareto_front_of(outcomes: &[SimOutcome]) -> Vec<usize> {
    let rates = outcomes.iter().map(|outcome| &outcome.gives.rates);
    let points: Vec<(f64, f64)> = rates.map(|rates| (rates.iops, rates.cpu_pct)).collect();
    pareto_front(&points)
}

/// Indices of the points (IOPS, CPU) that no other beats, ascending by CPU; the first of equals.
#[must_use]
pub fn pareto_front(points: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| {
        let by_cpu = points[a].1.total_cmp(&points[b].1);
        by_cpu.then(points[b].0.total_cmp(&points[a].0))
    });
    let mut best = f64::NEG_INFINITY;
    order.retain(|&i| {
        let better = points[i].0 > best;
        best = best.max(points[i].0);
        better
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn three_of_five() {
        let points = [
            (10.0, 100.0),
            (9.0, 50.0),
            (8.0, 60.0),
            (5.0, 20.0),
            (9.0, 50.0),
        ];
        assert_eq!(pareto_front(&points), [3, 1, 0]);
    }

    proptest! {
        #[test]
        fn the_definition(points in prop::collection::vec((0u8..20, 0u8..20), 0..40)) {
            let points: Vec<(f64, f64)> = points.iter().map(|&(a, b)| (a.into(), b.into())).collect();
            let beaten = |p: (f64, f64)| points.iter().any(|q| q.0 >= p.0 && q.1 <= p.1 && *q != p);
            let mut wanted: Vec<(f64, f64)> = points.iter().copied().filter(|&p| !beaten(p)).collect();
            wanted.sort_by(|a, b| a.1.total_cmp(&b.1));
            wanted.dedup();
            let front: Vec<(f64, f64)> = pareto_front(&points).iter().map(|&i| points[i]).collect();
            prop_assert_eq!(front, wanted);
        }
    }
}
