//! Makes numbers of samples: for a phase as a whole, and interval by interval.
//!
//! Definitions. *Miss*: the first poll after the wake-up already finds the completion. *Miss rate*:
//! misses / all I/Os that hybrid polling handled. *Effective sleep*: sum of sleeps asked (0 for
//! I/Os that did not sleep) / all I/Os handled. *Slept*: from the call of the sleep to its return,
//! as a mean over the I/Os that slept. Latencies are U2C. Every interval is counted from nothing.

mod interval;
mod phase;

pub use interval::{IntervalStats, intervals};
pub(crate) use phase::stats_of;
pub use phase::{PhaseStats, combine, in_turn, phase_stats};
