//! Judges limits: those on values by one result, those on changes by two.

use crate::difference::compare::{compared, find};
use crate::difference::limit::Bound;
use crate::difference::{ComparableResult, Limit, NamedFigure};
use q2c_result::diff::{BrokenFigure, FigureChange, JudgedLimit};
use q2c_result::figures::{Figure, FigureUnit};
use std::collections::BTreeSet;
use thiserror::Error;

/// A limit that cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LimitFault {
    /// The figure is not there: the limit would be kept by nothing.
    #[error("keep the limit {asked}: expected a figure of {whose}, found {there}")]
    NoFigure {
        /// The limit as asked.
        asked: String,
        /// What should have the figure.
        whose: &'static str,
        /// The names of the figures that there are.
        there: String,
    },
    /// The figure is measured in another unit.
    #[error("keep the limit {asked}: expected {expected}, found another unit")]
    Unit {
        /// The limit as asked.
        asked: String,
        /// Limits on this figure.
        expected: String,
    },
    /// A limit on a change, without a result to compare with.
    #[error(
        "keep the limit {asked}: expected a run to compare with, found none; name one with --baseline RUN"
    )]
    NoBaseline {
        /// The limit as asked.
        asked: String,
    },
}

/// Checks limits before there is a result, by the figures that results of its kind can have.
/// `has_baseline` tells whether there is a result to compare with.
///
/// # Errors
/// A limit on a figure that no such result has, one in another unit, or one on a change without a
/// result to compare with.
pub fn check(limits: &[Limit], kinds: &[Figure], has_baseline: bool) -> Result<(), LimitFault> {
    for limit in limits {
        let figure = kinds.iter().find(|kind| kind.name == limit.figure);
        let compared = kinds.iter().filter(|kind| kind.compared);
        let names = || compared.clone().map(|kind| kind.name.as_ref());
        let figure = figure.ok_or_else(|| missing(limit, "such a run", names()))?;
        limit.fits(figure.unit)?;
        if limit.is_of_change() && !has_baseline {
            let asked = limit.asked.clone();
            return Err(LimitFault::NoBaseline { asked });
        }
    }
    Ok(())
}

/// Judges limits on a result: those on changes beside `baseline`.
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
    /// The figures whose values break the limit: where broken, all trials lie beyond the bound.
    fn judge_values(&self, result: &ComparableResult) -> Result<JudgedLimit, LimitFault> {
        let named: Vec<&NamedFigure> = self.matching_figures(result).collect();
        if named.is_empty() {
            return Err(missing(self, "the result", names(&result.figures)));
        }
        let breaks = |figure: &&&NamedFigure| {
            let bound = self.value_in(figure.figure.unit);
            let nearest = if self.above {
                figure.value.min
            } else {
                figure.value.max
            };
            bound.is_some_and(|bound| self.beyond(nearest, bound))
        };
        named
            .iter()
            .try_for_each(|figure| self.fits(figure.figure.unit))?;
        let broken = named
            .iter()
            .filter(breaks)
            .map(|figure| broken(figure, None));
        Ok(JudgedLimit {
            asked: self.asked.clone(),
            figures: named.len(),
            broken: broken.collect(),
        })
    }

    /// The figures whose changes break the limit, of several trials not by an open one; with
    /// `sure`, the whole interval lies beyond, which a single value has not.
    fn judge_changes(
        &self,
        result: &ComparableResult,
        baseline: Option<&ComparableResult>,
    ) -> Result<JudgedLimit, LimitFault> {
        let baseline = baseline.ok_or_else(|| LimitFault::NoBaseline {
            asked: self.asked.clone(),
        })?;
        let pairs = self
            .matching_figures(result)
            .filter_map(|b| Some((find(baseline, b)?, b)));
        let pairs: Vec<(&NamedFigure, &NamedFigure)> = pairs.collect();
        if pairs.is_empty() {
            let both = result.figures.iter();
            let both = both.filter(|figure| find(baseline, figure).is_some());
            return Err(missing(self, "both results", names(both)));
        }
        let broken = pairs.iter().filter_map(|(a, b)| {
            let change = self.breaking_change(a, b)?;
            Some(broken(b, Some(change)))
        });
        Ok(JudgedLimit {
            asked: self.asked.clone(),
            figures: pairs.len(),
            broken: broken.collect(),
        })
    }

    /// The change from `a` to `b`, if it breaks the limit.
    fn breaking_change(&self, a: &NamedFigure, b: &NamedFigure) -> Option<FigureChange> {
        let Bound::Ratio(bound) = self.bound else {
            return None;
        };
        let comparison = compared(a, b);
        let ratio = comparison.ratio?;
        let nearest = comparison
            .interval
            .map(|(low, high)| if self.above { low } else { high });
        let breaks = if self.sure {
            nearest.is_some_and(|nearest| self.beyond(nearest, bound))
        } else {
            self.beyond(ratio, bound) && nearest.is_none_or(|nearest| self.beyond(nearest, 1.0))
        };
        breaks.then_some(FigureChange {
            baseline: a.value,
            ratio,
            interval: comparison.interval,
        })
    }

    fn matching_figures<'a>(
        &'a self,
        result: &'a ComparableResult,
    ) -> impl Iterator<Item = &'a NamedFigure> {
        let figures = result.figures.iter();
        figures.filter(|figure| figure.figure.name == self.figure)
    }

    /// Refuses a bound on a value in another unit than the figure's.
    fn fits(&self, unit: FigureUnit) -> Result<(), LimitFault> {
        if self.is_of_change() || self.value_in(unit).is_some() {
            return Ok(());
        }
        let (what, bound) = match unit {
            FigureUnit::PerSecond => ("a number per second", "50000"),
            FigureUnit::ThousandPerSecond => ("thousands per second", "50"),
            FigureUnit::Nanoseconds => ("a time", "200us"),
            FigureUnit::Seconds => ("a time", "10s"),
            FigureUnit::Share | FigureUnit::Percent => ("a percentage", "5%"),
            FigureUnit::Cpus => ("a number of CPUs", "2"),
            FigureUnit::Bytes => ("bytes", "4096"),
            FigureUnit::Number => ("a number", "2"),
        };
        let (figure, sign) = (&self.figure, if self.above { '>' } else { '<' });
        let change = if self.above { "+5%" } else { "-5%" };
        Err(LimitFault::Unit {
            asked: self.asked.clone(),
            expected: format!(
                "{what}, as in {figure}{sign}{bound}, or a change, as in {figure}{sign}{change}"
            ),
        })
    }
}

fn broken(figure: &NamedFigure, change: Option<FigureChange>) -> BrokenFigure {
    BrokenFigure {
        of: figure.of.clone(),
        unit: figure.figure.unit,
        value: figure.value,
        change,
    }
}

fn names<'a>(figures: impl IntoIterator<Item = &'a NamedFigure>) -> impl Iterator<Item = &'a str> {
    let names = figures
        .into_iter()
        .map(|figure| figure.figure.name.as_ref());
    names.collect::<BTreeSet<&str>>().into_iter()
}

fn missing<'a>(
    limit: &Limit,
    whose: &'static str,
    there: impl Iterator<Item = &'a str>,
) -> LimitFault {
    let there: Vec<&str> = there.collect();
    LimitFault::NoFigure {
        asked: limit.asked.clone(),
        whose,
        there: if there.is_empty() {
            "none".to_owned()
        } else {
            there.join(", ")
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::compare::tests::measured;
    use crate::difference::declared;
    use q2c_result::figures::Better::{Less, More};
    use q2c_result::tune;

    fn limits(texts: &[&str]) -> Vec<Limit> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// The number of figures that a limit is on, and the things whose figures break it.
    fn broken_by(limit: &JudgedLimit) -> (usize, Vec<&str>) {
        let broken = limit.broken.iter().map(|broken| broken.of.as_str());
        (limit.figures, broken.collect())
    }

    /// 95 to 105 of `x`, and the single 120 of `y`.
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

    /// 95 to 105 against 115 to 125: apart, from 115/105 to 125/95.
    #[test]
    fn a_change_that_the_trials_leave_open_breaks_nothing() {
        let a = measured(&[
            ("x", "p99", Less, &[95.0, 100.0, 105.0]),
            ("x", "iops", More, &[95.0, 100.0, 105.0]),
            ("x", "p50", Less, &[100.0]),
            ("x", "zero", Less, &[0.0, 0.0]),
        ]);
        let b = measured(&[
            ("x", "p99", Less, &[115.0, 120.0, 125.0]),
            ("x", "iops", More, &[104.0, 110.0, 120.0]),
            ("x", "p50", Less, &[120.0]),
            ("x", "zero", Less, &[1.0, 1.0]),
        ]);
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
        let there_are = |fault| match fault {
            LimitFault::NoFigure { there, .. } => there,
            other => panic!("{other}"),
        };
        assert_eq!(there_are(fault("p98>2", None)), "iops, p99");
        assert_eq!(
            there_are(fault("p99>+5%", Some(&measured_with("p50")))),
            "iops"
        );
        let alone = fault("p99>+5%", None);
        assert!(matches!(alone, LimitFault::NoBaseline { .. }), "{alone}");
        let unit = fault("iops<5us", None);
        assert!(matches!(unit, LimitFault::Unit { .. }), "{unit}");
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
