//! A formula in use, and the counts of its answers.

use super::{Formula, FormulaResult, Statistic};
use q2c_model::Nanos;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// How often a formula was calculated, and how often the result was no time. Counts are over all
/// lanes that were built from one specification and its clones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormulaCounts {
    /// Windows for which the formula was calculated; each bucket counts on its own.
    pub windows: u64,
    /// Those of `windows` with a negative time, after which the rule does not sleep.
    pub negative: u64,
    /// Those of `windows` whose result is no number; the rule does not sleep after them.
    pub undefined: u64,
}

#[derive(Debug, Default)]
struct SharedCounts {
    windows: AtomicU64,
    negative: AtomicU64,
    undefined: AtomicU64,
}

#[derive(Clone, Debug)]
pub(crate) struct Written {
    formula: Arc<Formula>,
    counts: Arc<SharedCounts>,
}

impl Written {
    pub(crate) fn new(formula: Formula) -> Self {
        Written {
            formula: Arc::new(formula),
            counts: Arc::default(),
        }
    }

    pub(crate) fn anew(&self) -> Self {
        Written {
            formula: Arc::clone(&self.formula),
            counts: Arc::default(),
        }
    }

    pub(crate) fn formula(&self) -> &Formula {
        &self.formula
    }

    pub(crate) fn tally(&self) -> FormulaCounts {
        FormulaCounts {
            windows: self.counts.windows.load(Relaxed),
            negative: self.counts.negative.load(Relaxed),
            undefined: self.counts.undefined.load(Relaxed),
        }
    }

    /// The sleep after a window, which is counted; zero when the formula gives no time.
    pub(crate) fn sleep(&self, of: impl Fn(Statistic) -> f64) -> Nanos {
        let SharedCounts {
            windows,
            negative,
            undefined,
        } = &*self.counts;
        windows.fetch_add(1, Relaxed);
        match self.formula.answer(of) {
            FormulaResult::Sleep(time) => return time,
            FormulaResult::Negative => negative.fetch_add(1, Relaxed),
            FormulaResult::Undefined => undefined.fetch_add(1, Relaxed),
        };
        Nanos::ZERO
    }
}
