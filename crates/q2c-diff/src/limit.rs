//! Limits on how much a figure may change: `p99>+5%` is broken where the second p99 is more than
//! 5 % above the first.

use q2c_result::diff::{ComparedFigure, JudgedLimit};
use std::str::FromStr;
use thiserror::Error;

/// A limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    asked: String,
    figure: String,
    /// Whether a figure that grows breaks it; else one that shrinks does.
    above: bool,
    /// The ratio from which on it is broken.
    ratio: f64,
}

/// A limit that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected a limit such as p99>+5% or iops<-3%, found `{}`", found.escape_debug())]
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
        let (figure, change) = (text[..at].trim(), text[at + 1..].trim());
        let above = text[at..].starts_with('>');
        let percent = change.strip_suffix('%').ok_or_else(wrong)?;
        let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
        // `p99>-5%` would be broken by no change at all.
        let fits =
            percent.is_finite() && percent > -100.0 && (percent == 0.0 || (percent > 0.0) == above);
        if figure.is_empty() || !fits {
            return Err(wrong());
        }
        Ok(Limit {
            asked: text.to_owned(),
            figure: figure.to_owned(),
            above,
            ratio: 1.0 + percent / 100.0,
        })
    }
}

impl Limit {
    /// The figures that break the limit. A change that the trials leave open breaks nothing; a
    /// single value has no interval, and its ratio alone counts.
    pub(crate) fn judge(&self, figures: &[ComparedFigure]) -> JudgedLimit {
        let named = figures
            .iter()
            .enumerate()
            .filter(|(_, of)| of.figure == self.figure);
        let breaks = |of: &ComparedFigure| {
            let sure = of.interval.is_none_or(|(low, high)| match self.above {
                true => low > 1.0,
                false => high < 1.0,
            });
            let over = of.ratio.is_some_and(|ratio| match self.above {
                true => ratio > self.ratio,
                false => ratio < self.ratio,
            });
            sure && over
        };
        JudgedLimit {
            asked: self.asked.clone(),
            figures: named.clone().count(),
            broken: named
                .filter(|(_, of)| breaks(of))
                .map(|(at, _)| at)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let limit: Limit = "p99>+5%".parse().unwrap();
        assert!(limit.above && (limit.ratio - 1.05).abs() < 1e-12);
        let limit: Limit = "iops < -3 %".parse().unwrap();
        assert!(!limit.above && (limit.ratio - 0.97).abs() < 1e-12);
        for wrong in [
            "",
            "p99",
            "p99>5",
            ">5%",
            "p99>-5%",
            "iops<3%",
            "p99>x%",
            "p99<-100%",
            "p99>nan%",
        ] {
            let told = wrong.parse::<Limit>().unwrap_err().to_string();
            assert!(
                told.starts_with("expected a limit such as p99>+5%"),
                "{told}"
            );
        }
    }
}
