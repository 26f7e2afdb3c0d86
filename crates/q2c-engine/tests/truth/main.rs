//! Tests of the engine on devices whose true times are known: it must measure these times.
//!
//! Time is simulated, so the expected values are exact; tests that need the machine are in `real`.

mod deep;
mod ends;
mod faults;
mod interrupts;
mod live;
mod live_seeds;
mod paced;
mod phases;
mod plan;
mod real;
mod reference;
mod sleeps;
mod thinks;
