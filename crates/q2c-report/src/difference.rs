//! Two results of one kind, figure by figure: the ratio of each with an interval, what else
//! changed, and whether limits are broken, also those on the values of one result. They read tables
//! of figures and know no kind of result: a kind is a line in the table of `measured`.

mod compare;
mod facts;
mod judge;
mod limit;
mod measured;

pub use compare::diff;
pub use judge::{check, judge};
pub use limit::{Limit, LimitError, LimitFault};
pub use measured::{ComparableResult, NamedFigure, declared, measured, read};
