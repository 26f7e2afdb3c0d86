//! Two results of one kind, figure by figure: the ratio of each with an interval, what else
//! changed, and whether limits are broken. Each kind of result is a file in `kinds` and a line in
//! its registry.

mod compare;
mod facts;
mod kinds;
mod limit;

pub use compare::diff;
pub use kinds::{DiffFigure, Measured, ReadError, read};
pub use limit::{Limit, LimitError};
