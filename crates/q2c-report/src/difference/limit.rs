//! Limits on figures. `p99>+5%` is broken if p99 is more than 5 % above another result's and the
//! trials show a rise. `p99>+5% sure` is broken if the whole interval is more than 5 % above.
//! `p99>200us` is broken if p99 is above 200 us.

use crate::difference::compare::{compare, find};
use crate::difference::{ComparableResult, NamedFigure};
use crate::phrase::listed_if_any;
use q2c_model::parse_duration;
use q2c_result::diff::{BrokenFigure, FigureChange, JudgedLimit};
use q2c_result::figures::{Figure, FigureUnit};
use std::collections::BTreeSet;
use std::str::FromStr;
use thiserror::Error;

/// A limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub(crate) asked: String,
    pub(crate) figure: String,
    /// True if a figure above the bound breaks the limit, false if one below does.
    pub(crate) above: bool,
    pub(crate) bound: Bound,
    /// True if the whole interval of a change must lie beyond the bound to break the limit.
    pub(crate) sure: bool,
}

/// The value with which a figure is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// A multiple of another result's figure.
    Ratio(f64),
    /// A time, ns.
    Time(f64),
    Percent(f64),
    /// A number without a unit.
    Number(f64),
}

/// A limit that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "expected a limit on a change such as p99>+5%, iops<-3% or p99>+5% sure, or on a value such as \
     p99>200us, iops<50000 or miss_rate>5%, found `{}`",
    .0.escape_debug()
)]
pub struct LimitError(String);

/// A limit that cannot be judged: its figure does not exist, its unit differs from the figure's, or
/// it is on a change and there is no result to compare with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("keep the limit {asked}: {mismatch}")]
pub struct LimitFault {
    asked: String,
    mismatch: String,
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        Limit::parse(text).ok_or_else(|| LimitError(text.to_owned()))
    }
}

/// Reads `+5%` as the ratio 1.05.
fn ratio_bound(change: &str, above: bool) -> Option<Bound> {
    let percent: f64 = change.strip_suffix('%')?.trim().parse().ok()?;
    // Even an unchanged figure would break `p99>-5%`.
    let is_valid =
        percent.is_finite() && percent > -100.0 && (percent == 0.0 || (percent > 0.0) == above);
    is_valid.then_some(Bound::Ratio(1.0 + percent / 100.0))
}

fn value_bound(text: &str) -> Option<Bound> {
    let number = |text: &str| {
        let number: f64 = text.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    let time = || Some(Bound::Time(parse_duration(text).ok()?.0 as f64));
    match text.strip_suffix('%') {
        Some(percent) => number(percent).map(Bound::Percent),
        None => number(text).map(Bound::Number).or_else(time),
    }
}

impl Limit {
    fn parse(text: &str) -> Option<Limit> {
        let at = text.find(['<', '>'])?;
        let (figure, bound) = (text[..at].trim(), text[at + 1..].trim());
        let above = text[at..].starts_with('>');
        let (bound, sure) = match bound.strip_suffix("sure") {
            Some(bound) => (bound.trim_end(), true),
            None => (bound, false),
        };
        let bound = if bound.starts_with(['+', '-']) {
            ratio_bound(bound, above)
        } else {
            value_bound(bound).filter(|_| !sure)
        };
        (!figure.is_empty()).then_some(Limit {
            asked: text.to_owned(),
            figure: figure.to_owned(),
            above,
            bound: bound?,
            sure,
        })
    }

    /// True for a limit on a change, which needs a result to compare with.
    pub(crate) fn is_of_change(&self) -> bool {
        matches!(self.bound, Bound::Ratio(_))
    }

    /// The bound on values in this unit; `None` if it has another unit, or limits a change.
    pub(crate) fn value_in(&self, unit: FigureUnit) -> Option<f64> {
        use FigureUnit::{Nanoseconds, Percent, Seconds, Share};
        match (self.bound, unit) {
            (Bound::Time(ns), Nanoseconds) => Some(ns),
            (Bound::Time(ns), Seconds) => Some(ns / 1e9),
            (Bound::Percent(percent), Share) => Some(percent / 100.0),
            (Bound::Percent(percent), Percent) => Some(percent),
            (_, Nanoseconds | Seconds | Share | Percent) => None,
            (Bound::Number(number), _) => Some(number),
            _ => None,
        }
    }

    /// Refuses a bound on values whose unit differs from the figure's.
    pub(crate) fn check_unit(&self, unit: FigureUnit) -> Result<(), LimitFault> {
        if self.is_of_change() || self.value_in(unit).is_some() {
            return Ok(());
        }
        let (what, value) = match unit {
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
        Err(self.fault(format!(
            "expected {what}, as in {figure}{sign}{value}, or a change, as in {figure}{sign}{change}, \
             found another unit"
        )))
    }

    fn fault(&self, mismatch: impl Into<String>) -> LimitFault {
        LimitFault {
            asked: self.asked.clone(),
            mismatch: mismatch.into(),
        }
    }

    pub(crate) fn no_baseline(&self) -> LimitFault {
        self.fault("expected a run to compare with, found none; name one with --baseline RUN")
    }

    pub(crate) fn missing_figure<'a>(
        &self,
        whose: &str,
        existing: impl IntoIterator<Item = &'a str>,
    ) -> LimitFault {
        let existing = listed_if_any(existing);
        let existing = existing.as_deref().unwrap_or("none");
        self.fault(format!("expected a figure of {whose}, found {existing}"))
    }

    /// True if a value breaks a bound.
    pub(crate) fn breaks(&self, value: f64, bound: f64) -> bool {
        if self.above {
            value > bound
        } else {
            value < bound
        }
    }

    /// Judges a limit on values. A figure breaks it if all its trials lie beyond the bound.
    fn judge_values(&self, result: &ComparableResult) -> Result<JudgedLimit, LimitFault> {
        let matching: Vec<&NamedFigure> = self.matching_figures(result).collect();
        if matching.is_empty() {
            return Err(self.missing_figure("the result", figure_names(&result.figures)));
        }
        let mut broken = Vec::new();
        for figure in &matching {
            self.check_unit(figure.figure.unit)?;
            let nearest = self.nearest_end((figure.value.min, figure.value.max));
            let bound = self.value_in(figure.figure.unit);
            if bound.is_some_and(|bound| self.breaks(nearest, bound)) {
                broken.push(figure.breach(None));
            }
        }
        Ok(self.judgement(matching.len(), broken))
    }

    /// Judges a limit on changes. A figure of several trials breaks it only if they show a change.
    /// With `sure`, the whole interval must lie beyond the bound; a single value has no interval.
    fn judge_changes(
        &self,
        result: &ComparableResult,
        baseline: Option<&ComparableResult>,
    ) -> Result<JudgedLimit, LimitFault> {
        let baseline = baseline.ok_or_else(|| self.no_baseline())?;
        let matching = self.matching_figures(result);
        let pairs = matching.filter_map(|b| Some((find(baseline, b)?, b)));
        let pairs: Vec<(&NamedFigure, &NamedFigure)> = pairs.collect();
        if pairs.is_empty() {
            let in_both = result.figures.iter();
            let in_both = in_both.filter(|figure| find(baseline, figure).is_some());
            return Err(self.missing_figure("both results", figure_names(in_both)));
        }
        let broken = pairs.iter();
        let broken = broken.filter_map(|(a, b)| Some(b.breach(Some(self.breaking_change(a, b)?))));
        Ok(self.judgement(pairs.len(), broken.collect()))
    }

    fn judgement(&self, figures: usize, broken: Vec<BrokenFigure>) -> JudgedLimit {
        JudgedLimit {
            asked: self.asked.clone(),
            figures,
            broken,
        }
    }

    /// The end of the interval that is nearest to keeping the limit.
    fn nearest_end(&self, (low, high): (f64, f64)) -> f64 {
        if self.above { low } else { high }
    }

    /// The change from `a` to `b`, if it breaks the limit.
    fn breaking_change(&self, a: &NamedFigure, b: &NamedFigure) -> Option<FigureChange> {
        let Bound::Ratio(bound) = self.bound else {
            return None;
        };
        let change = compare(a, b);
        let (ratio, interval, baseline) = (change.ratio?, change.interval, a.value);
        let nearest = interval.map(|ends| self.nearest_end(ends));
        let breaks = if self.sure {
            nearest.is_some_and(|nearest| self.breaks(nearest, bound))
        } else {
            self.breaks(ratio, bound) && nearest.is_none_or(|nearest| self.breaks(nearest, 1.0))
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

/// Checks limits before any measurement, against the figures that are `declared` for results of
/// their kind. `has_baseline` says whether there is a result to compare with.
///
/// # Errors
/// Returns a fault if no such result has the figure of a limit, if its unit is not the figure's, or
/// if it is on a change without a baseline.
pub fn check(limits: &[Limit], declared: &[Figure], has_baseline: bool) -> Result<(), LimitFault> {
    for limit in limits {
        let figure = declared.iter().find(|it| it.name == limit.figure);
        let compared = declared.iter().filter(|it| it.compared);
        let names = compared.map(|it| it.name.as_ref());
        let figure = figure.ok_or_else(|| limit.missing_figure("such a run", names))?;
        limit.check_unit(figure.unit)?;
        if limit.is_of_change() && !has_baseline {
            return Err(limit.no_baseline());
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

impl NamedFigure {
    fn breach(&self, change: Option<FigureChange>) -> BrokenFigure {
        BrokenFigure {
            of: self.of.clone(),
            unit: self.figure.unit,
            value: self.value,
            change,
        }
    }
}

fn figure_names<'a>(figures: impl IntoIterator<Item = &'a NamedFigure>) -> BTreeSet<&'a str> {
    let names = figures.into_iter();
    names.map(|figure| figure.figure.name.as_ref()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::compare::tests::{grown_pair, result_of};
    use crate::difference::declared_figures;
    use q2c_result::figures::Better::{Less, More};
    use q2c_result::tune;

    #[test]
    fn limits_are_read() {
        for (text, above, bound) in [
            ("p99>+5%", true, Bound::Ratio(1.05)),
            ("iops < -3 %", false, Bound::Ratio(0.97)),
            ("p99>+0%", true, Bound::Ratio(1.0)),
            ("p99>200us", true, Bound::Time(200_000.0)),
            ("completion > 2 s", true, Bound::Time(2e9)),
            ("iops<50000", false, Bound::Number(50_000.0)),
            ("iops<5e4", false, Bound::Number(50_000.0)),
            ("miss_rate>5%", true, Bound::Percent(5.0)),
        ] {
            let limit: Limit = text.parse().unwrap();
            assert_eq!((limit.above, limit.bound), (above, bound), "{text}");
            assert_eq!(limit.is_of_change(), text.contains(['+', '-']), "{text}");
            assert!(!limit.sure);
        }
        let sure: Limit = "p99>+5% sure".parse().unwrap();
        assert!(sure.sure && sure.bound == Bound::Ratio(1.05));
        let changes = ["p99>-5%", "iops<+3%", "p99<-100%", "p99>+nan%", "p99>+5us"];
        let values = ["p99>x%", "p99>nan%", "p99>5 parsecs", "p99>inf", "iops<-5"];
        let parts = ["", "p99", ">5%", "p99>", "p99>200us sure"];
        for wrong in [changes, values, parts].into_iter().flatten() {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bound_has_the_units_that_fit_it() {
        for (text, unit, value) in [
            ("completion>10ms", FigureUnit::Nanoseconds, Some(1e7)),
            ("completion>10ms", FigureUnit::Seconds, Some(0.01)),
            ("completion>10ms", FigureUnit::PerSecond, None),
            ("miss_rate>5%", FigureUnit::Share, Some(0.05)),
            ("miss_rate>5%", FigureUnit::Percent, Some(5.0)),
            ("miss_rate>5%", FigureUnit::Nanoseconds, None),
        ] {
            let limit: Limit = text.parse().unwrap();
            assert_eq!(limit.value_in(unit), value, "{text} {unit:?}");
        }
    }

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
        let run = result_of(&[
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
        let (a, b) = grown_pair();
        let judgement = |asked| judge(&limits(&[asked]), &b, Some(&a)).unwrap().remove(0);
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
            assert_eq!(broken_by(&judgement(asked)), (1, broken), "{asked}");
        }
        let change = judgement("p99>+5%").broken[0].change.unwrap();
        let (low, high) = change.interval.unwrap();
        assert!((change.ratio - 1.2).abs() < 1e-12 && change.baseline.median == 100.0);
        assert!((low - 115.0 / 105.0).abs() < 1e-12 && (high - 125.0 / 95.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_judged_is_told() {
        let measured_with =
            |name| result_of(&[("x", name, Less, &[1.0]), ("x", "iops", More, &[1.0])]);
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
        let declared = &declared_figures(tune::SCHEMA);
        let checked = |asked: &str, has_baseline| check(&limits(&[asked]), declared, has_baseline);
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
