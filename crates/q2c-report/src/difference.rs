//! Compares two results of one kind figure by figure: ratios with intervals, changed facts, and
//! limits, also limits on the values of one result. The modules read tables of figures and know no
//! kind of result; a new kind is a line in `KINDS` of `stored_results`.

mod comparable;
mod compare;
mod facts;
mod limit;

pub use comparable::{ComparableResult, NamedFigure, declared_figures, from_json, read};
pub use compare::diff;
pub use limit::{Limit, LimitError, LimitFault, check, judge};
