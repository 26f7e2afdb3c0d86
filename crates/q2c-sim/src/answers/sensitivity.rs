//! How much is lost when a parameter is one step of the grid off.

use q2c_policy::PolicySpec;

/// A cell of the grid that differs from a configuration in one parameter by one step.
#[derive(Clone, Debug, PartialEq)]
pub struct GridNeighbour {
    /// The parameter that differs.
    pub param: &'static str,
    /// Index of the neighbouring cell.
    pub cell: usize,
    /// The neighbour's score over the configuration's: 0.97 loses 3 %.
    pub share: f64,
}

/// Cells of the same rule with one parameter one step of the grid off, the lower first.
#[must_use]
pub fn sensitivity(
    policies: &[PolicySpec],
    center: usize,
    score: impl Fn(usize) -> f64,
) -> Vec<GridNeighbour> {
    let params = policies[center].params();
    let mut neighbours = Vec::new();
    for (k, &(name, value)) in params.iter().enumerate() {
        let others =
            (0..policies.len()).filter(|&i| differs_only_in(&policies[center], &policies[i], k));
        let valued: Vec<(usize, f64)> = others.map(|i| (i, policies[i].params()[k].1)).collect();
        let by = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
        let lower = valued.iter().filter(|(_, v)| *v < value).max_by(by);
        let higher = valued.iter().filter(|(_, v)| *v > value).min_by(by);
        neighbours.extend(
            lower
                .into_iter()
                .chain(higher)
                .map(|&(cell, _)| GridNeighbour {
                    param: name,
                    cell,
                    share: score(cell) / score(center),
                }),
        );
    }
    neighbours
}

fn differs_only_in(a: &PolicySpec, b: &PolicySpec, k: usize) -> bool {
    let (x, y) = (a.params(), b.params());
    a.rule().name == b.rule().name
        && x.len() == y.len()
        && (0..x.len()).all(|i| (x[i].1 == y[i].1) != (i == k))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_each_way_and_no_diagonal() {
        let texts = [
            "min:50%,10ms",  // 0: the one
            "min:45%,10ms",  // 1
            "min:40%,10ms",  // 2: two steps
            "min:55%,10ms",  // 3
            "min:50%,20ms",  // 4
            "min:55%,20ms",  // 5: diagonal
            "mean:55%,10ms", // 6: another rule
        ];
        let policies: Vec<PolicySpec> = texts.iter().map(|t| t.parse().unwrap()).collect();
        let scores = [10.0, 9.0, 5.0, 8.0, 11.0, 1.0, 1.0];
        let neighbours = sensitivity(&policies, 0, |i| scores[i]);
        let seen: Vec<(&str, usize, f64)> = neighbours
            .iter()
            .map(|n| (n.param, n.cell, n.share))
            .collect();
        assert_eq!(
            seen,
            [("ratio", 1, 0.9), ("ratio", 3, 0.8), ("period", 4, 1.1)]
        );
    }
}
