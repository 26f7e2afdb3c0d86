//! Answers that need several cells: how safe a choice is, what neighbours lose, several traces.

mod robust;
mod sensitivity;
mod stability;

pub use robust::{Robust, robust};
pub use sensitivity::{Neighbour, sensitivity};
pub use stability::{Stability, stability};
