//! Answers that need several cells: robust choices, sensitivity to parameters, stability.

use q2c_policy::PolicySpec;

/// The best configuration over several traces, in two senses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RobustChoice {
    /// The index of the configuration with the highest mean share, and that mean.
    pub on_average: (usize, f64),
    /// Index of the configuration whose lowest share over the traces is highest, and that share.
    pub worst_case: (usize, f64),
}

/// Finds the best configuration over several traces. `scores[trace][configuration]` is positive;
/// `None` means beyond the limits. A share is the score over the trace's best score. Only
/// configurations within the limits on every trace count; on a tie, the first wins.
pub fn robust(scores: &[Vec<Option<f64>>]) -> Option<RobustChoice> {
    let highest = |scores: &Vec<Option<f64>>| {
        let scores = scores.iter().flatten().copied();
        scores.fold(f64::NEG_INFINITY, f64::max)
    };
    let best: Vec<f64> = scores.iter().map(highest).collect();
    let mut winners: Option<RobustChoice> = None;
    for c in 0..scores.first()?.len() {
        let traces = scores.iter().zip(&best);
        let shares = traces.map(|(scores, best)| Some(scores[c]? / best));
        let Some(shares) = shares.collect::<Option<Vec<f64>>>() else {
            continue;
        };
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let min = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let current = winners.get_or_insert(RobustChoice {
            on_average: (c, mean),
            worst_case: (c, min),
        });
        if mean > current.on_average.1 {
            current.on_average = (c, mean);
        }
        if min > current.worst_case.1 {
            current.worst_case = (c, min);
        }
    }
    winners
}

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

/// Neighbours of `policies[center]` with one parameter one grid step lower or higher, lower first.
pub fn sensitivity(
    policies: &[PolicySpec],
    center: usize,
    score: impl Fn(usize) -> f64,
) -> Vec<GridNeighbour> {
    let params = policies[center].params();
    let mut neighbours = Vec::new();
    for (index, &(param, value)) in params.iter().enumerate() {
        let others = policies.iter().enumerate();
        let others = others.filter(|(_, other)| differs_only_in(&policies[center], other, index));
        let valued: Vec<(usize, f64)> = others.map(|(i, p)| (i, p.params()[index].1)).collect();
        let by_value = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
        let lower = valued.iter().filter(|(_, v)| *v < value).max_by(by_value);
        let higher = valued.iter().filter(|(_, v)| *v > value).min_by(by_value);
        neighbours.extend(lower.into_iter().chain(higher).map(|&(cell, _)| {
            let share = score(cell) / score(center);
            GridNeighbour { param, cell, share }
        }));
    }
    neighbours
}

fn differs_only_in(a: &PolicySpec, b: &PolicySpec, index: usize) -> bool {
    let (of_a, of_b) = (a.params(), b.params());
    a.rule().name == b.rule().name
        && of_a.len() == of_b.len()
        && (0..of_a.len()).all(|i| (of_a[i] == of_b[i]) != (i == index))
}

/// From this share of the latency on, `d / (1 - r)` counts as near the bound of [`Stability`].
const NEAR_SHARE: f64 = 0.7;

/// The recovery of a rule once every I/O has overslept.
///
/// A rule that sleeps `r` times a statistic of *observed* times learns from its own oversleep. Once
/// every I/O of a window oversleeps, the next sleep is `r (s + d)`, with `s` the sleep and `d` the
/// wake-up delay; its fixed point is `r d / (1 - r)`. If `d / (1 - r) >= L`, with `L` the device's
/// latency, the rule never recovers. This bound was derived here for the closed loop, and checked
/// against the simulator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stability {
    /// The rule recovers, with a margin.
    Safe,
    /// The rule recovers now, but not on a slightly faster device or with a slightly longer delay.
    Near {
        /// `d / (1 - r)` over the latency.
        share: f64,
    },
    /// Oversleep is permanent once every I/O of a window has overslept.
    Permanent {
        /// `d / (1 - r)` over the latency: 1 or more, infinite from a ratio of 1 on.
        share: f64,
    },
}

/// The stability of a rule of this ratio, for a wake-up `delay` and a device `latency` in ns.
pub fn stability(ratio: f64, delay: f64, latency: f64) -> Stability {
    let share = if ratio < 1.0 {
        delay / (1.0 - ratio) / latency
    } else {
        f64::INFINITY
    };
    match share {
        s if s >= 1.0 => Stability::Permanent { share },
        s if s >= NEAR_SHARE => Stability::Near { share },
        _ => Stability::Safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Drive, LaneRecording, Waiting, simulate};
    use q2c_model::{CostModel, Nanos};
    use q2c_policy::Io;

    /// Two traces and the configurations a, b, c and d. The shares are 1.0 and 0.5 for a, 0.7 and
    /// 0.7 for b, 0.95 and 0.56 for d; c is out of limits on the first trace.
    #[test]
    fn average_and_worst_case_may_differ() {
        let scores = [
            vec![Some(10.0), Some(7.0), None, Some(9.5)],
            vec![Some(5.0), Some(7.0), Some(10.0), Some(5.6)],
        ];
        let winners = robust(&scores).unwrap();
        // Mean shares: a 0.75, b 0.7, d (0.95 + 0.56) / 2 = 0.755. Lowest: a 0.5, b 0.7, d 0.56.
        assert_eq!(winners.on_average.0, 3);
        assert!((winners.on_average.1 - 0.755).abs() < 1e-12);
        assert_eq!(winners.worst_case, (1, 0.7));
    }

    #[test]
    fn nothing_keeps_the_limits_everywhere() {
        let apart = [vec![Some(1.0), None], vec![None, Some(1.0)]];
        assert_eq!(robust(&apart), None);
        assert_eq!(robust(&[]), None);
    }

    #[test]
    fn one_step_each_way_and_no_diagonal() {
        let texts = [
            "min:50%,10ms",  // 0: the center
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
        let got = neighbours.iter().map(|n| (n.param, n.cell, n.share));
        let expected = [("ratio", 1, 0.9), ("ratio", 3, 0.8), ("period", 4, 1.1)];
        assert_eq!(got.collect::<Vec<_>>(), expected);
    }

    /// The published table for a delay of 2 us: 50 % fails up to 4 us, 75 % up to 8 us, 90 % up to
    /// 20 us.
    #[test]
    fn the_table() {
        for (ratio, limit) in [(0.5, 4.0), (0.75, 8.0), (0.9, 20.0)] {
            let judge = |latency: f64| stability(ratio, 2.0, latency);
            assert!(matches!(judge(limit * 0.99), Stability::Permanent { .. }));
            assert!(matches!(judge(limit * 1.01), Stability::Near { .. }));
            assert_eq!(judge(limit * 2.0), Stability::Safe);
        }
        let full_ratio = stability(1.0, 1.0, 1e9);
        assert!(matches!(full_ratio, Stability::Permanent { .. }));
    }

    /// The device starts slowly, then has a constant latency. The simulated rule recovers exactly
    /// where the bound says so.
    #[test]
    fn the_simulator_agrees() {
        let recovers = |latency: f32| {
            let mut lane = LaneRecording::default();
            let io = Io::READ_4K;
            (0..200).for_each(|_| lane.push(io, 0.0, 100_000.0, 0.0));
            (0..20_000).for_each(|_| lane.push(io, 0.0, latency, 0.0));
            let rule: PolicySpec = "min:75%,1ms".parse().unwrap();
            let cost = CostModel::delayed(Nanos(2_000));
            let drive = Drive {
                warm_up: Nanos::from_millis(80),
                measure: Nanos::from_millis(30),
                seed: 1,
            };
            let out = simulate(&[lane], &cost, Waiting::rules(rule.build(1)), drive);
            out.gives.rates.miss_rate < 0.5
        };
        assert!(!recovers(7_000.0), "d / (1 - r) = 8 us");
        assert!(recovers(9_000.0));
    }
}
