//! Answers that need several cells of a sweep: how safe a choice is, what its neighbours lose,
//! which choice holds for several traces.

mod robust;
mod sensitivity;
mod stability;

pub use robust::{Robust, robust};
pub use sensitivity::{Neighbour, sensitivity};
pub use stability::{Stability, stability};
