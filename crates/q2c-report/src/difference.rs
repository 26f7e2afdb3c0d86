//! Compares two results of one kind figure by figure: ratios with intervals, changed facts, and
//! limits, also limits on the values of one result. The modules read tables of figures and know no
//! kind of result; a new kind is a line in the table of `measured`.

mod compare;
mod facts;
mod judge;
mod limit;
mod measured;

pub use compare::diff;
pub use judge::{check, judge};
pub use limit::{Limit, LimitError, LimitFault};
pub use measured::{ComparableResult, NamedFigure, declared, measured, read};
