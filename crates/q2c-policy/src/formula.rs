//! A rule as the user writes it: a formula over one window's statistics that gives a sleep, such as
//! `0.7 * min` or `if(p01 > 40us, p01 - 4us, 0)`. The grammar is in `docs/policies/rule.md`.
//!
//! A formula is checked when it is read, units included: times are added to times and compared with
//! times, and the whole gives a time. At run time only arithmetic can go wrong: a division by zero
//! or an overflow gives no number, and the rule then does not sleep.

mod error;
mod expr;
mod kind;
mod node;
mod parse;
mod statistic;
mod written;

pub use error::FormulaError;
pub use statistic::Statistic;
pub use written::FormulaCounts;

pub(crate) use error::Mistake;
pub(crate) use written::Written;

use crate::SpecError;
use expr::FormulaExpr;
use q2c_model::Nanos;
use std::fmt;
use std::str::FromStr;

/// A checked formula over the statistics of one window that gives a sleep.
#[derive(Clone, Debug)]
pub struct Formula {
    text: String,
    expr: FormulaExpr,
}

/// The result of a formula for one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormulaResult {
    /// Sleep this long, rounded to the nearest nanosecond, halves up. Zero is possible.
    Sleep(Nanos),
    /// The formula gave a negative time: no sleep.
    Negative,
    /// The formula gave no number, by a division by zero or an overflow: no sleep.
    Undefined,
}

impl Formula {
    pub(crate) fn read(text: &str) -> Result<Self, Mistake> {
        let expr = parse::formula(text)?;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Formula { text, expr })
    }

    /// The result for a window in which each statistic has the value of `of`, times in ns.
    #[must_use]
    pub fn answer(&self, of: impl Fn(Statistic) -> f64) -> FormulaResult {
        match self.expr.value(&of) {
            None => FormulaResult::Undefined,
            Some(ns) if ns < 0.0 => FormulaResult::Negative,
            Some(ns) => FormulaResult::Sleep(Nanos(ns.round() as u64)),
        }
    }

    /// The statistics that the formula reads, each once, in the order of [`Statistic`].
    #[must_use]
    pub fn statistics(&self) -> Vec<Statistic> {
        let mut statistics = Vec::new();
        self.expr.statistics(&mut statistics);
        statistics.sort();
        statistics.dedup();
        statistics
    }
}

impl FromStr for Formula {
    type Err = SpecError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Formula::read(text).map_err(|mistake| SpecError::formula(text, 0, mistake))
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
