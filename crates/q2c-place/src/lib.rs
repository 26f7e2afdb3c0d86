//! Placement of polling tasks (P) beside computing tasks (C) on SMT cores.
//!
//! A [predictor](predictor::Predictor) of two bits says of each task whether it polls. The
//! [rules](rules) say which task a CPU takes over from which other CPU, so that polling tasks are
//! spread over the physical cores (scatter) and stay on one logical CPU of each (colocate). The
//! [simulator](sim) runs tasks under the rules, under a balancer that is blind to polling, and in
//! [fixed placements](placement), with a [table](table) of what a neighbour costs.
//!
//! The simulator, the daemon and the scheduler use the same rules. Everything here is a
//! computation: the topology is a [map](map::SmtMap) that its caller fills.

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
