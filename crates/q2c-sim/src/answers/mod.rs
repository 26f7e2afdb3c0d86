//! What a sweep's cells mean together: how safe a choice is, what its neighbours lose, what holds for several traces.

mod robust;
mod sensitivity;
mod stability;

pub use robust::{Robust, robust};
pub use sensitivity::{Neighbour, sensitivity};
pub use stability::{Stability, stability};
