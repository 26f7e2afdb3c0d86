//! How a cell waits.

use super::outcome::Windows;
use q2c_capture::kernel_hybrid::Delay;
use q2c_policy::PolicySpec;

/// A cell's method, parsed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CellMethod {
    Interrupt,
    Poll,
    Hybrid(PolicySpec),
    /// The kernel's own: [`super::kernel`].
    Kernel(Delay),
}

impl CellMethod {
    /// What a formula made of the windows so far, in all lanes built from this method; `None` for a method without one.
    pub(super) fn windows(&self) -> Option<Windows> {
        let CellMethod::Hybrid(policy) = self else {
            return None;
        };
        policy.tally().map(|tally| Windows {
            all: tally.windows,
            negative: tally.negative,
            undefined: tally.undefined,
        })
    }
}
