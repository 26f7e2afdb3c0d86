//! The simulator compared with arithmetic on paper, a second implementation and published results.

mod alone;
mod batch;
mod block;
mod by_hand;
mod cases;
mod lanes;
mod parts;
mod properties;
mod second;
