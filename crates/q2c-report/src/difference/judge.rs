//! Judges limits: a limit on values by one result, a limit on changes by two.

use crate::difference::compare::{compared, find};
use crate::difference::limit::{Bound, LimitFault};
use crate::difference::{ComparableResult, Limit, NamedFigure};
use q2c_result::diff::{BrokenFigure, FigureChange, JudgedLimit};
use q2c_result::figures::Figure;
use std::collections::BTreeSet;

/// Checks limits before any measurement, against the figures that results of their kind can have.
/// `has_baseline` says whether there is a result to compare with.
///
/// # Errors
/// Returns a fault if no such result has the figure of a limit, if its unit is not the figure's, or
/// if it is on a change without a baseline.
pub fn check(limits: &[Limit], kinds: &[Figure], has_baseline: bool) -> Result<(), LimitFault> {
    for limit in limits {
        let figure = kinds.iter().find(|kind| kind.name == limit.figure);
        let compared = kinds.iter().filter(|kind| kind.compared);
        let names = compared.map(|kind| kind.name.as_ref());
        let figure = figure.ok_or_else(|| limit.missing("such a run", names))?;
        limit.fits(figure.unit)?;
        if limit.is_of_change() && !has_baseline {
            return Err(limit.without_baseline());
        }
    }
    Ok(())
}

/// Judges limits on a result. Limits on changes compare it with `baseline`.
pub fn judge(
    limits: &[Limit],
    result: &ComparableResult,
    baseline: Option<&ComparableResult>,
) -> Result<Vec<JudgedLimit>, LimitFault> {
    let judged = limits.iter().map(|limit| {
        if limit.is_of_change() {
            limit.judge_changes(result, baseline)
        } else {
            limit.judge_values(result)
        }
    });
    judged.collect()
}

impl Limit {
    /// Judges a limit on values. A figure breaks it if all its trials lie beyond the bound.
    fn judge_values(&self, result: &ComparableResult) -> Result<JudgedLimit, LimitFault> {
        let named: Vec<&NamedFigure> = self.matching_figures(result).collect();
        if named.is_empty() {
            return Err(self.missing("the result", names(&result.figures)));
        }
        let mut broken = Vec::new();
        for figure in &named {
            self.fits(figure.figure.unit)?;
            let nearest = self.nearest((figure.value.min, figure.value.max));
            let bound = self.value_in(figure.figure.unit);
            if bound.is_some_and(|bound| self.beyond(nearest, bound)) {
                broken.push(figure.broken(None));
            }
        }
        Ok(self.judged(named.len(), broken))
    }

    /// Judges a limit on changes. A figure of several trials breaks it only if they show a change.
    /// With `sure`, the whole interval must lie beyond the bound; a single value has no interval.
    fn judge_changes(
        &self,
        result: &ComparableResult,
        baseline: Option<&ComparableResult>,
    ) -> Result<JudgedLimit, LimitFault> {
        let baseline = baseline.ok_or_else(|| self.without_baseline())?;
        let named = self.matching_figures(result);
        let pairs = named.filter_map(|b| Some((find(baseline, b)?, b)));
        let pairs: Vec<(&NamedFigure, &NamedFigure)> = pairs.collect();
        if pairs.is_empty() {
            let both = result.figures.iter();
            let both = both.filter(|figure| find(baseline, figure).is_some());
            return Err(self.missing("both results", names(both)));
        }
        let broken = pairs.iter();
        let broken = broken.filter_map(|(a, b)| Some(b.broken(Some(self.breaking_change(a, b)?))));
        Ok(self.judged(pairs.len(), broken.collect()))
    }

    fn judged(&self, figures: usize, broken: Vec<BrokenFigure>) -> JudgedLimit {
        JudgedLimit {
            asked: self.asked.clone(),
            figures,
            broken,
        }
    }

    /// The end of the interval that is nearest to keeping the limit.
    fn nearest(&self, (low, high): (f64, f64)) -> f64 {
        if self.above { low } else { high }
    }

    /// The change from `a` to `b`, if it breaks the limit.
    fn breaking_change(&self, a: &NamedFigure, b: &NamedFigure) -> Option<FigureChange> {
        let Bound::Ratio(bound) = self.bound else {
            return None;
        };
        let change = compared(a, b);
        let (ratio, interval, baseline) = (change.ratio?, change.interval, a.value);
        let nearest = interval.map(|ends| self.nearest(ends));
        let breaks = if self.sure {
            nearest.is_some_and(|nearest| self.beyond(nearest, bound))
        } else {
            self.beyond(ratio, bound) && nearest.is_none_or(|nearest| self.beyond(nearest, 1.0))
        };
        breaks.then_some(FigureChange {
            baseline,
            ratio,
            interval,
        })
    }

    fn matching_figures<'a>(
        &'a self,
        result: &'a ComparableResult,
    ) -> impl Iterator<Item = &'a NamedFigure> {
        let figures = result.figures.iter();
        figures.filter(|figure| figure.figure.name == self.figure)
    }
}

impl NamedFigure {
    fn broken(&self, change: Option<FigureChange>) -> BrokenFigure {
        BrokenFigure {
            of: self.of.clone(),
            unit: self.figure.unit,
            value: self.value,
            change,
        }
    }
}

fn names<'a>(figures: impl IntoIterator<Item = &'a NamedFigure>) -> BTreeSet<&'a str> {
    let names = figures.into_iter();
    names.map(|figure| figure.figure.name.as_ref()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::compare::tests::{grown, measured};
    use crate::difference::declared;
    use q2c_result::figures::Better::{Less, More};
    use q2c_result::tune;

    fn limits(texts: &[&str]) -> Vec<Limit> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// The number of figures that a limit covers, and the things whose figures break it.
    fn broken_by(limit: &JudgedLimit) -> (usize, Vec<&str>) {
        let broken = limit.broken.iter().map(|broken| broken.of.as_str());
        (limit.figures, broken.collect())
    }

    /// `x` has trials from 95 to 105, `y` the single value 120.
    #[test]
    fn a_value_breaks_a_limit_with_all_of_its_trials() {
        let run = measured(&[
            ("x", "iops", More, &[95.0, 100.0, 105.0]),
            ("y", "iops", More, &[120.0]),
        ]);
        for (asked, broken) in [
            ("iops<106", vec!["x"]),
            ("iops<105", vec![]),
            ("iops<130", vec!["x", "y"]),
            ("iops>94", vec!["x", "y"]),
            ("iops>95", vec!["y"]),
            ("iops>119", vec!["y"]),
        ] {
            let judged = judge(&limits(&[asked]), &run, None).unwrap().remove(0);
            assert_eq!(broken_by(&judged), (2, broken), "{asked}");
            assert!(judged.broken.iter().all(|broken| broken.change.is_none()));
        }
    }

    #[test]
    fn a_change_that_the_trials_leave_open_breaks_nothing() {
        let (a, b) = grown();
        let judged = |asked| judge(&limits(&[asked]), &b, Some(&a)).unwrap().remove(0);
        for (asked, breaks) in [
            ("p99>+5%", true),
            ("p99>+30%", false),
            ("iops>+5%", false),
            ("p50>+5%", true),
            ("zero>+5%", false),
            // 115 / 105 is 1.095.
            ("p99>+9% sure", true),
            ("p99>+10% sure", false),
            ("p50>+5% sure", false),
        ] {
            let broken = if breaks { vec!["x"] } else { vec![] };
            assert_eq!(broken_by(&judged(asked)), (1, broken), "{asked}");
        }
        let change = judged("p99>+5%").broken[0].change.unwrap();
        let (low, high) = change.interval.unwrap();
        assert!((change.ratio - 1.2).abs() < 1e-12 && change.baseline.median == 100.0);
        assert!((low - 115.0 / 105.0).abs() < 1e-12 && (high - 125.0 / 95.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_judged_is_told() {
        let measured_with =
            |name| measured(&[("x", name, Less, &[1.0]), ("x", "iops", More, &[1.0])]);
        let fault = |asked: &str, baseline: Option<&ComparableResult>| {
            judge(&limits(&[asked]), &measured_with("p99"), baseline).unwrap_err()
        };
        for (asked, baseline, end) in [
            ("p98>2", None, "the result, found iops, p99"),
            ("p99>+5%", Some("p50"), "both results, found iops"),
            ("p99>+5%", None, "--baseline RUN"),
            ("iops<5us", None, "found another unit"),
        ] {
            let message = fault(asked, baseline.map(measured_with).as_ref()).to_string();
            assert!(message.ends_with(end), "{message}");
        }
    }

    #[test]
    fn limits_are_checked_before_there_is_a_result() {
        let kinds = &declared(tune::SCHEMA);
        let checked = |asked: &str, has_baseline| check(&limits(&[asked]), kinds, has_baseline);
        for good in ["p99>200us", "iops<5e4", "miss_rate>5%", "cpu>80%"] {
            assert_eq!(checked(good, false), Ok(()), "{good}");
        }
        assert_eq!(checked("p99>+5%", true), Ok(()));
        for (wrong, word) in [
            ("p99>+5%", "name one with --baseline RUN"),
            (
                "p98>5us",
                "iops, kiops_per_core, cpu, mean, p50, p99, p99.9",
            ),
            (
                "p99>5",
                "a time, as in p99>200us, or a change, as in p99>+5%",
            ),
            ("p99>5%", "expected a time, as in p99>200us"),
            ("iops<5%", "a number per second, as in iops<50000"),
            ("cpu>80", "expected a percentage, as in cpu>5%"),
        ] {
            let message = checked(wrong, false).unwrap_err().to_string();
            assert!(message.contains(word), "{wrong}: {message}");
        }
    }
}
