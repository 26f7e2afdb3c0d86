//! Makes reports from results alone: it uses no device, no clock and no network.
//!
//! - [`terminal`]: tables for the user who ran the command;
//! - [`html`]: one self-contained page with charts, to keep and to hand on;
//! - [`csv`]: the figures, for other programs;
//! - [`stored_results`]: a result of any kind, read back from its JSON;
//! - [`advice`]: a recommendation in words, the same in terminal and page;
//! - [`diff`]: judged limits, for systems that run builds;
//! - [`program`]: a recorded program and the workload that copies it, in words;
//! - [`prometheus`]: the totals of a live view, for Prometheus.
//!
//! Any string in a result may come from outside (device names, paths, file contents). Each report
//! makes it harmless: control characters for the terminal, markup for HTML.

pub mod advice;
mod analysis;
mod bench;
mod bottleneck;
mod compare;
mod conclusion;
pub mod diff;
pub mod difference;
mod document;
mod facts;
mod fs;
pub mod html;
mod interpretation;
mod kernel_tune;
mod kinds;
mod label;
mod late_time;
mod metric;
pub mod mode;
mod note;
mod phrase;
mod place;
mod plot;
mod plots;
mod poll_study;
pub mod program;
pub mod prometheus;
mod quantity;
mod rates;
mod replay;
pub mod reproduce;
mod scale;
mod sim;
mod stages;
pub mod stored_results;
mod sweep;
pub mod terminal;
mod tune_jobs;
mod validity;

pub use document::{Document, DocumentAnswer, Reported, count_settings};
pub use facts::service_times;
pub use label::cpu_trials;
pub use phrase::counted;
pub use replay::not_captured;
pub use stored_results::csv;
