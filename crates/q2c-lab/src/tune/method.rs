//! How a cell waits.

use q2c_policy::PolicySpec;

/// A cell's method, parsed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CellMethod {
    Interrupt,
    Poll,
    Hybrid(PolicySpec),
}
