//! Limits on figures: `p99>+5%` is broken where p99 is more than 5 % above that of another result
//! and above it for sure, `p99>+5% sure` where it is more than 5 % above it for sure, `p99>200us`
//! where it is above 200 us.

use q2c_model::parse_duration;
use q2c_result::figures::FigureUnit;
use std::str::FromStr;
use thiserror::Error;

/// A limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub(crate) asked: String,
    pub(crate) figure: String,
    /// Whether a figure above the bound breaks it; else one below does.
    pub(crate) above: bool,
    pub(crate) bound: Bound,
    /// Whether the whole interval of a change must lie beyond the bound to break the limit.
    pub(crate) sure: bool,
}

/// What a figure is set against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// So many times another result's figure.
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
    found.escape_debug()
)]
pub struct LimitError {
    found: String,
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let wrong = || LimitError {
            found: text.to_owned(),
        };
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
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
        match bound {
            Some(bound) if !figure.is_empty() => Ok(Limit {
                asked: text.to_owned(),
                figure: figure.to_owned(),
                above,
                bound,
                sure,
            }),
            _ => Err(wrong()),
        }
    }
}

/// The ratio of `+5%`.
fn ratio(change: &str, above: bool) -> Option<Bound> {
    let percent: f64 = change.strip_suffix('%')?.trim().parse().ok()?;
    // `p99>-5%` would be broken by no change at all.
    let fits =
        percent.is_finite() && percent > -100.0 && (percent == 0.0 || (percent > 0.0) == above);
    fits.then_some(Bound::Ratio(1.0 + percent / 100.0))
}

fn value(text: &str) -> Option<Bound> {
    let number = |text: &str| {
        let number: f64 = text.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    match text.strip_suffix('%') {
        Some(percent) => number(percent).map(Bound::Percent),
        None => number(text).map(Bound::Number).or_else(|| {
            let time = parse_duration(text).ok()?;
            Some(Bound::Time(time.0 as f64))
        }),
    }
}

impl Limit {
    /// Whether it limits a change, which needs a result to compare with.
    pub(crate) fn is_of_change(&self) -> bool {
        matches!(self.bound, Bound::Ratio(_))
    }

    /// The bound on values in this unit; `None` where it has another unit, or is on a change.
    pub(crate) fn value_in(&self, unit: FigureUnit) -> Option<f64> {
        match (self.bound, unit) {
            (Bound::Time(ns), FigureUnit::Nanoseconds) => Some(ns),
            (Bound::Time(ns), FigureUnit::Seconds) => Some(ns / 1e9),
            (Bound::Percent(percent), FigureUnit::Share) => Some(percent / 100.0),
            (Bound::Percent(percent), FigureUnit::Percent) => Some(percent),
            (
                Bound::Number(number),
                FigureUnit::PerSecond
                | FigureUnit::ThousandPerSecond
                | FigureUnit::Cpus
                | FigureUnit::Bytes
                | FigureUnit::Number,
            ) => Some(number),
            _ => None,
        }
    }

    /// Whether a value breaks a bound.
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
        let wrong = [
            "",
            "p99",
            ">5%",
            "p99>-5%",
            "iops<+3%",
            "p99>x%",
            "p99<-100%",
            "p99>nan%",
        ];
        let more = [
            "p99>+nan%",
            "p99>+5us",
            "p99>5 parsecs",
            "p99>inf",
            "p99>",
            "iops<-5",
        ];
        for wrong in wrong.into_iter().chain(more).chain(["p99>200us sure"]) {
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
