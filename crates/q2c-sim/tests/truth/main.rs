//! Compares the simulator with arithmetic on paper, with a second implementation, and with
//! published results.

mod alone;
mod arrivals;
mod batch;
mod block;
mod by_hand;
mod cases;
mod known;
mod lanes;
mod parts;
mod properties;
mod second;
