//! The unsafe crate, small: rings, aligned buffers, clocks, sleeping, affinity.
//!
//! Everything public here is safe to call. Each `unsafe` block names why it is sound.

pub mod buffer;
pub mod clock;
pub mod fiemap;
pub mod ring;
pub mod signal;
pub mod thread;

pub use buffer::Buffers;
pub use clock::Clock;
pub use ring::{Done, Ring, RingError, RingFlags, Transfer};
