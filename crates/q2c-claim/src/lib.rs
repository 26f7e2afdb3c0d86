//! Claims of published experiments: expressions over what was seen, and verdicts on them.
//!
//! An [expression](expr) such as `steady.miss_rate > 10 %` names figures of an experiment's
//! windows, phases, jobs and axes. It is [checked](scope) against the names that the experiment has
//! before anything runs, [evaluated](mod@eval) trial by trial, and [judged](mod@judge) by the
//! interval over the trials. Nothing here measures: everything is a computation over
//! [`Point`](q2c_result::reproduce::Point)s.

pub mod chart;
pub mod eval;
pub mod expr;
pub mod judge;
pub mod parse;
pub mod quantity;
pub mod scope;
