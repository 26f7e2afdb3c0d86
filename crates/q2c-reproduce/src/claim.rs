//! Claims of published experiments: expressions over measured figures, and verdicts on them.
//!
//! An expression such as `steady.miss_rate > 10 %` is checked against the experiment's names before
//! anything runs, evaluated trial by trial, and judged by the interval over the trials.

pub(crate) mod chart;
pub(crate) mod eval;
mod expr;
pub mod judge;
pub(crate) mod parse;
pub(crate) mod scope;
