//! Targets that are simulated: they have a name and a size, and nothing is opened.

use q2c_model::Bytes;
use q2c_result::{Target, TargetKind};

/// Size of a simulated target.
pub const SIMULATED_SIZE: Bytes = Bytes(1 << 30);

/// The facts of the simulated device that is named `target`, such as `sim:50us`.
#[must_use]
pub fn simulated(target: &str) -> Target {
    Target {
        path: target.to_owned(),
        kind: TargetKind::Simulated,
        size: SIMULATED_SIZE,
        unproved: vec!["interrupts and requests are not counted".to_owned()],
        ..Target::default()
    }
}
