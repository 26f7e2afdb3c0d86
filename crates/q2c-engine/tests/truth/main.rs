//! Tests of the engine on devices of known truth: it measures what the device was told to do.
//!
//! Bounds from below are exact, because nothing completes or wakes early. Bounds from above leave
//! room for a scheduler that has other work: a lane may lose its CPU for milliseconds now and then,
//! so medians are bounded and not maxima.

mod deep;
mod disk;
mod ends;
mod engines;
mod faults;
mod interrupts;
mod intervals;
mod live;
mod methods;
mod paced;
mod phases;
mod plan;
mod recorded;
mod sleeps;
mod thinks;
