//! A rule that the user writes: a formula from the statistics of one window to a sleep, such as
//! `0.7 * min` or `if(p01 > 40us, p01 - 4us, 0)`. The grammar is in `docs/policies/rule.md`.
//!
//! A formula is checked when it is read, units included: times can only be added to times and
//! compared with times, and the result must be a time. At run time only arithmetic can go wrong: a
//! division by zero or an overflow gives no number, and the rule then does not sleep.

mod expr;
mod node;
mod parse;

pub use expr::Statistic;

use crate::SpecError;
use expr::FormulaExpr;
use q2c_model::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A checked formula over the statistics of one window that gives a sleep.
#[derive(Clone, Debug)]
pub struct Formula {
    text: String,
    expr: FormulaExpr,
}

/// The result of a formula for one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormulaResult {
    /// Sleep this long, rounded to the nearest nanosecond, halves up. It may be zero.
    Sleep(Nanos),
    /// The formula gave a negative time: no sleep.
    Negative,
    /// The formula gave no number, because of a division by zero or an overflow: no sleep.
    Undefined,
}

/// A mistake in a formula; `at` is its byte offset in the text.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub(crate) at: usize,
    pub(crate) error: String,
}

impl Formula {
    pub(crate) fn read(text: &str) -> Result<Self, Mistake> {
        let expr = parse::formula(text)?;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Formula { text, expr })
    }

    /// Returns the result for a window; `value_of` gives the value of each statistic, times in ns.
    pub fn sleep_for(&self, value_of: impl Fn(Statistic) -> f64) -> FormulaResult {
        match self.expr.value(&value_of) {
            None => FormulaResult::Undefined,
            Some(ns) if ns < 0.0 => FormulaResult::Negative,
            Some(ns) => FormulaResult::Sleep(Nanos(ns.round() as u64)),
        }
    }

    /// The statistics that the formula reads, each once, in the order of [`Statistic`].
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

/// How often a formula was calculated, and how often its result was not a usable time. All lanes
/// that were built from one specification and its clones count together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormulaCounts<T = u64> {
    /// Windows for which the formula was calculated; each bucket counts on its own.
    #[serde(rename = "all")]
    pub windows: T,
    /// How many of `windows` gave a negative time, after which the rule does not sleep.
    pub negative: T,
    /// How many of `windows` gave no number; the rule does not sleep after them either.
    pub undefined: T,
}

q2c_model::each_field! { FormulaCounts, windows, negative, undefined }

#[derive(Clone, Debug)]
pub(crate) struct CountedFormula {
    pub(crate) formula: Arc<Formula>,
    counts: Arc<FormulaCounts<AtomicU64>>,
}

impl CountedFormula {
    pub(crate) fn new(formula: impl Into<Arc<Formula>>) -> Self {
        CountedFormula {
            formula: formula.into(),
            counts: Arc::default(),
        }
    }

    pub(crate) fn with_new_counts(&self) -> Self {
        CountedFormula::new(Arc::clone(&self.formula))
    }

    pub(crate) fn tally(&self) -> FormulaCounts {
        self.counts.each_ref().map(|count| count.load(Relaxed))
    }

    /// Returns the sleep after a window and counts the window; zero if the formula gives no time.
    pub(crate) fn sleep(&self, value_of: impl Fn(Statistic) -> f64) -> Nanos {
        self.counts.windows.fetch_add(1, Relaxed);
        match self.formula.sleep_for(value_of) {
            FormulaResult::Sleep(time) => return time,
            FormulaResult::Negative => self.counts.negative.fetch_add(1, Relaxed),
            FormulaResult::Undefined => self.counts.undefined.fetch_add(1, Relaxed),
        };
        Nanos::ZERO
    }
}
