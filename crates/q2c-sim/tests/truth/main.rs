//! The simulator against arithmetic on paper, a second implementation, and what is published.

mod arrivals;
mod batch;
mod by_hand;
mod cases;
mod known;
mod lanes;
mod properties;
mod second;
