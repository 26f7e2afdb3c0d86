//! Answers that need several cells: how safe a choice is, what neighbours lose, several traces.

mod robust;
mod sensitivity;
mod stability;

pub use robust::robust;
pub use sensitivity::{GridNeighbour, sensitivity};
pub use stability::{Stability, stability};
