//! Two results of one kind, figure by figure: the ratio of each with an interval, what else
//! changed, and whether limits are broken, also those on the values of one result. Each kind of
//! result is a file in `kinds` and a line in its registry.

mod compare;
mod facts;
mod judge;
mod kinds;
mod limit;

pub use compare::diff;
pub use judge::{LimitFault, check, judge};
pub use kinds::{DiffFigure, FigureKind, Measured, ReadError, figures, measured, read};
pub use limit::{Limit, LimitError};
