//! Limits on figures. `p99>+5%` is broken if p99 is more than 5 % above another result's and the
//! trials show a rise. `p99>+5% sure` is broken if the whole interval is more than 5 % above.
//! `p99>200us` is broken if p99 is above 200 us.

use crate::phrase::some_listed;
use q2c_model::parse_duration;
use q2c_result::figures::FigureUnit;
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

/// What a figure is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// A multiple of another result's figure.
    Ratio(f64),
    /// A time, ns.
    Time(f64),
    /// A percentage.
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
        Limit::read(text).ok_or_else(|| LimitError(text.to_owned()))
    }
}

/// Reads `+5%` as the ratio 1.05.
fn ratio(change: &str, above: bool) -> Option<Bound> {
    let percent: f64 = change.strip_suffix('%')?.trim().parse().ok()?;
    // Even an unchanged figure would break `p99>-5%`.
    let fits =
        percent.is_finite() && percent > -100.0 && (percent == 0.0 || (percent > 0.0) == above);
    fits.then_some(Bound::Ratio(1.0 + percent / 100.0))
}

fn value(text: &str) -> Option<Bound> {
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
    fn read(text: &str) -> Option<Limit> {
        let at = text.find(['<', '>'])?;
        let (figure, bound) = (text[..at].trim(), text[at + 1..].trim());
        let above = text[at..].starts_with('>');
        let (bound, sure) = match bound.strip_suffix("sure") {
            Some(bound) => (bound.trim_end(), true),
            None => (bound, false),
        };
        let bound = if bound.starts_with(['+', '-']) {
            ratio(bound, above)
        } else {
            value(bound).filter(|_| !sure)
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
    pub(crate) fn fits(&self, unit: FigureUnit) -> Result<(), LimitFault> {
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
        Err(self.fault(format!(
            "expected {what}, as in {figure}{sign}{bound}, or a change, as in {figure}{sign}{change}, \
             found another unit"
        )))
    }

    fn fault(&self, mismatch: impl Into<String>) -> LimitFault {
        LimitFault {
            asked: self.asked.clone(),
            mismatch: mismatch.into(),
        }
    }

    pub(crate) fn without_baseline(&self) -> LimitFault {
        self.fault("expected a run to compare with, found none; name one with --baseline RUN")
    }

    pub(crate) fn missing<'a>(
        &self,
        whose: &str,
        there: impl IntoIterator<Item = &'a str>,
    ) -> LimitFault {
        let there = some_listed(there);
        let there = there.as_deref().unwrap_or("none");
        self.fault(format!("expected a figure of {whose}, found {there}"))
    }

    /// True if a value breaks a bound.
    pub(crate) fn beyond(&self, value: f64, bound: f64) -> bool {
        if self.above {
            value > bound
        } else {
            value < bound
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
