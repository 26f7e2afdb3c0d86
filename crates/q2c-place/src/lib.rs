//! Placement of polling tasks (P) beside computing tasks (C) on SMT cores.
//!
//! A [predictor](predictor::Predictor) of two bits says of each task whether it polls. The
//! [rules](rules) say which task a CPU takes over from which other CPU. By them, polling tasks
//! spread over the physical cores (scatter) and stay on one logical CPU of each (colocate). The
//! [simulator](sim) runs tasks under the rules, under a balancer that is blind to polling, and in
//! [fixed placements](placement), with [speeds](speed) that say what a neighbour costs.
//!
//! The simulator, the daemon and the scheduler use the same rules. The rules only compute: their
//! topology is a [map](map::SmtMap) that the caller fills.

pub mod corun;
pub mod latency;
pub mod map;
pub mod placement;
pub mod predictor;
pub mod rules;
pub mod scheduler;
pub mod sim;
pub mod speed;
pub mod speeds_file;
pub mod study;
