//! The choice of one configuration for several traces.

/// The best configuration over several traces, in two senses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Robust {
    /// The configuration with the highest mean of its shares, and that mean.
    pub on_average: (usize, f64),
    /// Index of the configuration whose lowest share over the traces is highest, and that share.
    pub worst_case: (usize, f64),
}

/// The best configuration over several traces; `scores[trace][configuration]` is positive, `None`
/// beyond the limits. A share is the score over the trace's best score. Only configurations within
/// the limits on every trace count; ties go to the first.
#[must_use]
pub fn robust(scores: &[Vec<Option<f64>>]) -> Option<Robust> {
    let best: Vec<f64> = scores
        .iter()
        .map(|trace_scores| highest(trace_scores))
        .collect();
    let configurations = scores.first()?.len();
    let mut winners: Option<Robust> = None;
    for c in 0..configurations {
        let lane_shares = scores
            .iter()
            .zip(&best)
            .map(|(trace_scores, best)| Some(trace_scores[c]? / best));
        let Some(shares) = lane_shares.collect::<Option<Vec<f64>>>() else {
            continue;
        };
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let now = winners.get_or_insert(Robust {
            on_average: (c, mean),
            worst_case: (c, least),
        });
        if mean > now.on_average.1 {
            now.on_average = (c, mean);
        }
        if least > now.worst_case.1 {
            now.worst_case = (c, least);
        }
    }
    winners
}

fn highest(scores: &[Option<f64>]) -> f64 {
    scores
        .iter()
        .flatten()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two traces and the configurations a, b, c and d. The shares are 1.0 and 0.5 for a, 0.7 and
    /// 0.7 for b, 0.95 and 0.56 for d; c is out of limits on the first trace.
    #[test]
    fn average_and_worst_case_may_differ() {
        let scores = [
            vec![Some(10.0), Some(7.0), None, Some(9.5)],
            vec![Some(5.0), Some(7.0), Some(10.0), Some(5.6)],
        ];
        let winners = robust(&scores).unwrap();
        // Means: a 0.75, b 0.7, d (0.95 + 0.56) / 2 = 0.755. Least: a 0.5, b 0.7, d 0.56.
        assert_eq!(winners.on_average.0, 3);
        assert!((winners.on_average.1 - 0.755).abs() < 1e-12);
        assert_eq!(winners.worst_case, (1, 0.7));
    }

    #[test]
    fn nothing_keeps_the_limits_everywhere() {
        assert_eq!(
            robust(&[vec![Some(1.0), None], vec![None, Some(1.0)]]),
            None
        );
        assert_eq!(robust(&[]), None);
    }
}
