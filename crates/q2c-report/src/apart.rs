//! How surely the trials tell one point of a benchmark from another. All sentences that compare
//! points use this.

use q2c_model::stats::{CLEAR_TRIALS, Interval};
use q2c_result::bench::{BenchCell, BenchMeasure};

/// What the trials say of a point whose median is at least as high as another point's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Apart {
    /// All trials of the first point lie above all trials of the second.
    Told,
    /// As `Told`, but with so few trials that two equal points would show it with this probability.
    Few(f64),
    Overlap,
    /// One of the two points has a single trial.
    Single,
    /// One figure divides by the machine's busy CPUs, the other by the CPU time of threads.
    Unlike,
}

impl Apart {
    /// Compares `a` with `b` by a figure that both have.
    pub(crate) fn compare(a: &BenchCell, b: &BenchCell, measure: BenchMeasure) -> Apart {
        if measure == BenchMeasure::KiopsPerCore && a.per_core != b.per_core {
            return Apart::Unlike;
        }
        apart(&a.figure(measure), &b.figure(measure))
    }

    /// True if all trials of the first point lie above all of the second's, however few they are.
    pub(crate) fn is_above(self) -> bool {
        matches!(self, Apart::Told | Apart::Few(_))
    }

    pub(crate) fn in_short(self) -> String {
        match self {
            Apart::Told => "clearly".to_owned(),
            Apart::Few(chance) => format!(
                "too few trials: by chance in {:.0} % of cases",
                chance * 100.0
            ),
            Apart::Overlap | Apart::Single | Apart::Unlike => "not clearly".to_owned(),
        }
    }

    pub(crate) fn words(self) -> String {
        let sentence = match self {
            Apart::Told => "All trials of the first are above all of these",
            Apart::Few(chance) => {
                return format!(
                    "All trials of the first are above all of these, but with so few that happens by chance in {:.0} % \
                     of cases",
                    chance * 100.0
                );
            }
            Apart::Overlap => "Their trials overlap",
            Apart::Single => "Single trials have no interval",
            Apart::Unlike => "One is for each busy CPU, the other for the threads' CPU time",
        };
        sentence.to_owned()
    }
}

fn apart(a: &Interval, b: &Interval) -> Apart {
    match a.trials.min(b.trials) {
        0 | 1 => Apart::Single,
        _ if !a.above(b) => Apart::Overlap,
        few if few < CLEAR_TRIALS => Apart::Few(a.above_by_chance(b)),
        _ => Apart::Told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_that_overlap_or_are_few_tell_nothing_apart() {
        let interval = |min: f64, max: f64, trials| Interval {
            median: (min + max) / 2.0,
            min,
            max,
            trials,
        };
        let a = interval(90.0, 110.0, 5);
        assert_eq!(apart(&a, &interval(70.0, 89.0, 5)), Apart::Told);
        assert_eq!(apart(&a, &interval(70.0, 91.0, 5)), Apart::Overlap);
        assert_eq!(apart(&a, &interval(1.0, 1.0, 1)), Apart::Single);
        let three = apart(&interval(90.0, 110.0, 3), &interval(70.0, 89.0, 3));
        assert!(three.is_above() && three.words().contains("chance in 10 %"));
    }
}
